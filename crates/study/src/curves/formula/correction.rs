//! How near a corrected test is to Barker's.

use inference::chain::Correction;
use std::f64::consts::{LN_10, TAU};

/// |F(x) − S(x)|: by how much a proposal of log-ratio x is accepted too often or too seldom.
pub(super) fn acceptance_error(test: &Correction, at: f64) -> f64 {
    // By the tail, which does not cancel.
    let tail = -at.abs();
    (test.distribution(tail) - 1.0 / (1.0 + (-tail).exp())).abs()
}

/// log₁₀ of the density of V_cor; nothing where it is under 1e-300.
pub(super) fn log_density(test: &Correction, at: f64) -> Option<f64> {
    let one = |mean: f64, deviation: f64| {
        let off = (at - mean) / deviation;
        (-0.5 * off * off).exp() / (TAU.sqrt() * deviation)
    };
    let both =
        |c: &inference::chain::Component| 0.5 * c.weight * (one(c.mean, c.deviation) + one(-c.mean, c.deviation));
    let density: f64 = test.components().iter().map(both).sum();
    (density > 1e-300).then(|| density.ln() / LN_10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_even_and_small_and_the_density_is_that_of_the_mixture() {
        let test = Correction::for_variance(2.0).unwrap();
        assert_eq!(acceptance_error(&test, 1.3).to_bits(), acceptance_error(&test, -1.3).to_bits());
        let worst = (0..400).map(|k| acceptance_error(&test, 0.05 * f64::from(k))).fold(0.0, f64::max);
        assert!(worst > 1e-3 && worst < 1.17e-3, "{worst}");
        let step = 1e-3;
        let area: f64 = (-20_000..20_000)
            .filter_map(|k| log_density(&test, (f64::from(k) + 0.5) * step))
            .map(|log| step * (log * LN_10).exp())
            .sum();
        assert!((area - 1.0).abs() < 1e-6, "{area}");
    }
}
