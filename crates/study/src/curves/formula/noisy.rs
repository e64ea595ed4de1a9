//! What a noisy precision and a noisy product of precision and mean say of a normal law: closed forms.

use super::phi;
use std::f64::consts::{PI, TAU};

/// Natural parameters of a normal law, each with independent normal noise.
///
/// Released are Λ + sZ₁ and Λμ + sZ₂. Both are unbiased, and the mean and the variance that are read from them are not (Sharma 2019,
/// section 4.2.2 and Figure 4.3).
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Naturals {
    /// Λ.
    pub(super) precision: f64,
    /// Λμ.
    pub(super) product: f64,
    /// s.
    pub(super) deviation: f64,
}

impl Naturals {
    /// The density of (Λμ + sZ₂)/(Λ + sZ₁) at m.
    ///
    /// Hinkley 1969 (Biometrika 56), equation 1, for independent numbers of the same variance: with a² = (m² + 1)/s²,
    /// b = (Λμ·m + Λ)/s² and c = Λ²(μ² + 1)/s²,
    ///
    /// ```text
    /// f(m) = b e^{(b²/a² − c)/2} (2Φ(b/a) − 1) / (√(2π) s² a³) + e^{−c/2} / (π s² a²)
    /// ```
    pub(super) fn density_of_mean(&self, at: f64) -> f64 {
        let square = self.deviation * self.deviation;
        let a = ((at * at + 1.0) / square).sqrt();
        let b = (self.product * at + self.precision) / square;
        let c = (self.product * self.product + self.precision * self.precision) / square;
        let near =
            b * (0.5 * (b * b / (a * a) - c)).exp() * (2.0 * phi(b / a) - 1.0) / (TAU.sqrt() * square * a.powi(3));
        near + (-0.5 * c).exp() / (PI * square * a * a)
    }

    /// The density of 1/(Λ + sZ₁) at v: φ((1/v − Λ)/s)/(s v²).
    pub(super) fn density_of_variance(&self, at: f64) -> f64 {
        if at == 0.0 {
            return 0.0;
        }
        let off = (1.0 / at - self.precision) / self.deviation;
        (-0.5 * off * off).exp() / (TAU.sqrt() * self.deviation * at * at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Λ = 16.5, μ = 2, s = 4: about the numbers of the thesis' figure.
    const NATURALS: Naturals = Naturals { precision: 16.5, product: 33.0, deviation: 4.0 };

    fn integral(from: f64, to: f64, density: impl Fn(f64) -> f64) -> f64 {
        let step = (to - from) / 200_000.0;
        (0..200_000).map(|k| density(from + (f64::from(k) + 0.5) * step) * step).sum()
    }

    /// P(W ≤ m) for W = X/Y is P(X − mY ≤ 0, Y > 0) + P(X − mY ≥ 0, Y < 0); Y < 0 has probability 2e-5 here.
    #[test]
    fn the_mean_has_the_law_of_a_ratio() {
        let n = NATURALS;
        for at in [1.5, 2.0, 2.4] {
            let closed = phi((at * n.precision - n.product) / (n.deviation * (1.0 + at * at).sqrt()));
            let area = integral(-60.0, at, |m| n.density_of_mean(m));
            assert!((area - closed).abs() < 2e-3, "{at}: {area} {closed}");
        }
        assert!((integral(-200.0, 200.0, |m| n.density_of_mean(m)) - 1.0).abs() < 1e-3);
    }

    /// P(0 < V ≤ v) = P(Λ + sZ ≥ 1/v); the mode lies under 1/Λ, the mean over it.
    #[test]
    fn the_variance_has_the_law_of_an_inverse() {
        let n = NATURALS;
        let closed = phi((n.precision - 10.0) / n.deviation);
        let area = integral(1e-9, 0.1, |v| n.density_of_variance(v));
        assert!((area - closed).abs() < 1e-6, "{area} {closed}");
        let exact = 1.0 / n.precision;
        let (left, right) = (n.density_of_variance(0.9 * exact), n.density_of_variance(exact));
        assert!(left > right && integral(0.02, 1.0, |v| v * n.density_of_variance(v)) > exact);
    }
}
