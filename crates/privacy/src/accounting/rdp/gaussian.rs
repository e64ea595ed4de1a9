//! Rényi divergence of unsampled mechanisms in closed form: Gaussian, discrete Gaussian and its sums, Laplace.
//!
//! These are the curves without sampling: lines in α for Gaussian noise and its discrete kin, and the known formula for Laplace noise.

use crate::accounting::Interval;
use crate::accounting::special::exp_m1_minus;
use crate::{Event, Mechanism, Steps};

/// ρ with D_α ≤ ρα at every order α, for mechanisms whose divergence is bounded by a line; `None` for others.
///
/// Gaussian: ρ = 1/(2z²) (Mironov 2017, Corollary 3), exact. Discrete Gaussian: the same bound (Canonne, Kamath,
/// Steinke 2020, Theorem 4 and its multivariate form). Their sum: `discrete_sum`.
pub(crate) fn concentration(event: &Event) -> Option<f64> {
    let sampled = event.sampling().rate() < 1.0;
    match event.mechanism() {
        Mechanism::Gaussian { noise_multiplier: z } | Mechanism::DiscreteGaussian { noise_multiplier: z }
            if !sampled =>
        {
            Some(half_inverse_square(Interval::exact(z.get())).hi)
        }
        Mechanism::DiscreteGaussianSum { noise_multiplier: z, shares, share_deviation, dimension } => {
            let d = Interval::exact(dimension.get() as f64);
            Some(discrete_sum(Interval::exact(z.get()), *shares, share_deviation.get(), d))
        }
        _ => None,
    }
}

/// ρ = 1/(2z²) of Gaussian noise.
fn half_inverse_square(z: Interval) -> Interval {
    Interval::exact(0.5) / (z * z)
}

/// ρ = ½ε² of a sum of n discrete Gaussian shares of deviation σ ≥ ½ grid units on d coordinates.
///
/// Kairouz, Liu, Steinke 2021 (arXiv:2102.06387), Proposition 14: D_α ≤ αΔ²/(2nσ²) + τd and
/// D_α ≤ ½α(Δ/(√n σ) + τ√d)², with τ = 10 Σ_{k=1}^{n−1} e^{−2π²σ²k/(k+1)}. As α ≥ 1 both are at most ½ε²α for
/// ε = min{√(Δ²/(nσ²) + 2τd), Δ/(√n σ) + τ√d}. Δ/(√n σ) = 1/z.
fn discrete_sum(z: Interval, shares: Steps, sigma: f64, d: Interval) -> f64 {
    let exact = Interval::exact;
    let tau = sum_gap(shares.get(), sigma);
    let inverse = exact(1.0) / z;
    let first = (inverse * inverse + tau * d * exact(2.0)).sqrt();
    let second = inverse + tau * d.sqrt();
    let epsilon = exact(first.hi.min(second.hi));
    (epsilon * epsilon * exact(0.5)).hi
}

/// τ, with the terms after the thousandth bounded by it, since they decrease.
pub(crate) fn sum_gap(shares: u64, sigma: f64) -> Interval {
    let exact = Interval::exact;
    let rate = exact(2.0) * pi() * pi() * exact(sigma) * exact(sigma);
    let term = |k: u64| (-(rate * exact(k as f64) / exact((k + 1) as f64))).exp();
    let counted = (shares - 1).min(1000);
    let first = (1..=counted).fold(exact(0.0), |sum, k| sum + term(k));
    let rest = exact((shares - 1 - counted) as f64) * term(counted.max(1));
    exact(10.0) * (first + rest)
}

/// π, enclosed between neighbouring floats.
pub(crate) fn pi() -> Interval {
    Interval::new(std::f64::consts::PI, std::f64::consts::PI.next_up())
}

/// Upper bound of (α−1)·D_α of Laplace noise of scale s for sensitivity one.
///
/// Mironov 2017, Proposition 6: (α−1) D_α = log(α/(2α−1) e^{(α−1)/s} + (α−1)/(2α−1) e^{−α/s}). The weights sum to
/// one and the exponents to zero on average, so the argument is 1 + a weighted sum of e^x − 1 − x.
pub(super) fn laplace(s: f64, order: f64) -> f64 {
    let exact = Interval::exact;
    let (alpha, less, twice) = (exact(order), exact(order - 1.0), exact(2.0) * exact(order) - exact(1.0));
    let (up, down) = (less / exact(s), -(alpha / exact(s)));
    if up.hi > 1.0 {
        return (up + (alpha / twice + less / twice * (down - up).exp()).ln()).hi;
    }
    ((alpha * exp_m1_minus(up) + less * exp_m1_minus(down)) / twice).ln_1p().hi
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, NoiseMultiplier, Sampling, ShareDeviation, Unit};

    #[test]
    fn laplace_agrees_with_the_formula_where_it_is_stable() {
        for (s, a) in [(1.0, 2.0), (2.0, 1.5), (0.5, 8.0), (0.01, 30.0), (3.0, 3.9)] {
            let direct = a / (2.0 * a - 1.0) * f64::exp((a - 1.0) / s) + (a - 1.0) / (2.0 * a - 1.0) * f64::exp(-a / s);
            let value = laplace(s, a);
            let expected = if direct.is_finite() { direct.ln() } else { (a - 1.0) / s + (a / (2.0 * a - 1.0)).ln() };
            assert!((value / expected - 1.0).abs() < 1e-12, "{s} {a}: {value} against {expected}");
        }
        // To second order α(α−1)/(2s²), however large s is.
        assert!((laplace(1e6, 3.0) / 3e-12 - 1.0).abs() < 1e-5);
    }

    #[test]
    fn a_sum_of_shares_costs_a_little_more_than_one_discrete_gaussian() {
        let event = |sigma: f64, n: u64| {
            let mechanism = Mechanism::DiscreteGaussianSum {
                noise_multiplier: NoiseMultiplier::new(4.0).unwrap(),
                shares: Steps::new(n).unwrap(),
                share_deviation: ShareDeviation::new(sigma).unwrap(),
                dimension: Steps::new(100).unwrap(),
            };
            Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE).unwrap()
        };
        let rho = |sigma, n| concentration(&event(sigma, n)).unwrap();
        assert!(rho(2.0, 10) >= 1.0 / 32.0 && rho(2.0, 10) < 1.0 / 32.0 + 1e-12);
        // σ = ½, n = 2: τ = 10 e^{−π²/4}, ε = min{√(1/16 + 200τ), ¼ + 10τ}.
        let tau = 10.0 * f64::exp(-std::f64::consts::PI.powi(2) / 4.0);
        let epsilon = (0.0625 + 200.0 * tau).sqrt().min(0.25 + 10.0 * tau);
        assert!((rho(0.5, 2) / (0.5 * epsilon * epsilon) - 1.0).abs() < 1e-12);
        assert!(rho(2.0, 1_000_000_000) >= rho(2.0, 1_000_000));
        assert!(ShareDeviation::new(0.4).is_err(), "the theorem needs shares of at least half a grid unit");
    }
}
