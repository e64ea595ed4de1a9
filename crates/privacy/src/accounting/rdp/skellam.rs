//! Rényi divergence of a sum of Skellam shares: at integer orders a theorem, between them a chord.
//!
//! Agarwal, Kairouz, Liu 2021 prove the bound at integer orders. (α−1)·D_α is convex in α, so a chord between integers is an upper
//! bound as well.

use super::curve::between_integers;
use crate::accounting::Interval;
use crate::{NoiseMultiplier, ShareDeviation, Steps};

/// Skellam noise of variance μ on integer vectors, in the units that its bound needs.
///
/// The sum of n independent Skellam variables of variance s² is Skellam of variance μ = n·s², exactly.
#[derive(Debug, Clone, Copy)]
pub(super) struct SkellamCurve {
    /// Δ₂²/μ = 1/z²: the term that Gaussian noise has too.
    squared: Interval,
    /// Δ₁/μ, from above: what Skellam noise costs more.
    absolute: f64,
    /// μ, in squared grid units.
    variance: Interval,
}

impl SkellamCurve {
    /// n shares of deviation s, of joint multiplier z = √(n·s²)/Δ₂, on d coordinates.
    ///
    /// Δ₁ ≤ √d·Δ₂; and Δ₁ ≤ Δ₂², since |v| ≤ v² for integers v.
    pub(super) fn new(z: NoiseMultiplier, shares: Steps, s: ShareDeviation, dimension: Steps) -> Self {
        let exact = Interval::exact;
        let variance = exact(shares.get() as f64) * exact(s.get()) * exact(s.get());
        let inverse = exact(1.0) / exact(z.get());
        let squared = inverse * inverse;
        let absolute = (exact(dimension.get() as f64) / variance).sqrt() * inverse;
        Self { squared, absolute: absolute.hi.min(squared.hi), variance }
    }

    /// Upper bound of (α−1)·D_α at any order.
    pub(super) fn cumulant(&self, order: f64) -> f64 {
        between_integers(order, |integer| {
            (Interval::exact(integer - 1.0) * Interval::exact(self.divergence(integer))).hi
        })
    }

    /// D_α ≤ αΔ₂²/(2μ) + min{((2α−1)Δ₂² + 6Δ₁)/(4μ²), 3Δ₁/(2μ)}, for an integer α ≥ 2.
    ///
    /// Agarwal, Kairouz, Liu 2021 (arXiv:2110.04995v2), Theorem 3.5 for one coordinate and Corollary 3.6 for a vector.
    /// μ: variance of the noise on each coordinate. Δ₁, Δ₂: bounds of the lengths of a difference of integer vectors.
    fn divergence(&self, order: f64) -> f64 {
        let exact = Interval::exact;
        let (alpha, absolute) = (exact(order), exact(self.absolute));
        let near = ((exact(2.0) * alpha - exact(1.0)) * self.squared + exact(6.0) * absolute) / self.variance;
        let gap = (near * exact(0.25)).hi.min((absolute * exact(1.5)).hi);
        (alpha * self.squared * exact(0.5) + exact(gap)).hi
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// log P(K = k) of Skellam noise of variance μ for |k| up to `most`, in no interval but to twelve digits.
    ///
    /// P(k) = e^{−μ} I_k(μ), whose ratios r_k = I_k/I_{k−1} = 1/(2k/μ + r_{k+1}) are stable downwards; they sum to one.
    struct SkellamLaw(Vec<f64>);

    impl SkellamLaw {
        fn new(variance: f64, most: usize) -> Self {
            let mut ratios = vec![0.0; most + 2];
            for k in (1..=most).rev() {
                ratios[k] = 1.0 / (2.0 * k as f64 / variance + ratios[k + 1]);
            }
            let mut logs = vec![0.0; most + 1];
            (1..=most).for_each(|k| logs[k] = logs[k - 1] + ratios[k].ln());
            let total = 1.0 + 2.0 * logs[1..].iter().map(|l| l.exp()).sum::<f64>();
            Self(logs.iter().map(|l| l - total.ln()).collect())
        }

        fn ln(&self, k: i64) -> f64 {
            self.0[k.unsigned_abs() as usize]
        }

        /// D_α between the noise and itself moved by Δ, summed over all that counts.
        fn divergence(&self, shift: i64, order: f64) -> f64 {
            let most = self.0.len() as i64 - 1 - shift;
            let term = |k: i64| order * self.ln(k) - (order - 1.0) * self.ln(k + shift);
            let top = (-most..=most).map(term).fold(f64::NEG_INFINITY, f64::max);
            assert!(term(-most) < top - 60.0 && term(most) < top - 60.0, "the sum was cut");
            (top + (-most..=most).map(|k| (term(k) - top).exp()).sum::<f64>().ln()) / (order - 1.0)
        }
    }

    /// The bound for shares of this variance in all, and a difference of these lengths.
    fn bound(variance: f64, shift: f64, dimension: u64) -> SkellamCurve {
        let z = NoiseMultiplier::new(variance.sqrt() / shift).unwrap();
        let s = ShareDeviation::new((variance / 4.0).sqrt()).unwrap();
        SkellamCurve::new(z, Steps::new(4).unwrap(), s, Steps::new(dimension).unwrap())
    }

    fn at(bound: &SkellamCurve, order: f64) -> f64 {
        bound.cumulant(order) / (order - 1.0)
    }

    #[test]
    fn the_bound_is_never_below_the_exact_divergence() {
        for variance in [1.0, 4.0, 40.0, 1e4] {
            let law = SkellamLaw::new(variance, 60_000);
            for shift in [1, 2, 5, 30, 200] {
                for order in [1.01, 1.5, 2.0, 2.5, 3.0, 8.0, 8.7, 20.0, 50.0] {
                    let (exact, found) = (law.divergence(shift, order), at(&bound(variance, shift as f64, 1), order));
                    assert!(found >= exact * (1.0 - 1e-9), "μ {variance} Δ {shift} α {order}: {found} under {exact}");
                    let integer = order == order.floor();
                    if integer && variance == 1e4 && order * shift as f64 <= 1e3 {
                        assert!(found <= 1.01 * exact, "μ {variance} Δ {shift} α {order}: {found} over {exact}");
                    }
                }
            }
        }
    }

    #[test]
    fn many_coordinates_cost_the_sum_of_each() {
        // Differences (3, 4), (5, 0) and (1, …, 1) of 25 coordinates are all of length 5.
        let law = SkellamLaw::new(50.0, 10_000);
        for shifts in [&[3, 4][..], &[5, 0], &[1; 25]] {
            for order in [2.0, 3.0, 40.0] {
                let exact: f64 = shifts.iter().filter(|s| **s > 0).map(|s| law.divergence(*s, order)).sum();
                let found = at(&bound(50.0, 5.0, shifts.len() as u64), order);
                assert!(
                    found >= exact && (order > 3.0 || found < 1.1 * exact),
                    "{shifts:?} α {order}: {found} against {exact}"
                );
            }
        }
    }

    #[test]
    fn it_is_the_formula_of_the_theorem() {
        // μ = 9, Δ₂ = 2, Δ₁ ≤ min{2√d, 4}, α = 3: 3·4/18 + min{(5·4 + 6Δ₁)/324, Δ₁/6}.
        for (dimension, absolute) in [(1, 2.0_f64), (2, 8.0_f64.sqrt()), (1000, 4.0)] {
            let expected = 2.0 / 3.0 + ((20.0 + 6.0 * absolute) / 324.0).min(absolute / 6.0);
            assert!((at(&bound(9.0, 2.0, dimension), 3.0) / expected - 1.0).abs() < 1e-12);
        }
        // The other side of the minimum: α over about 3μΔ₁/Δ₂².
        let expected = 100.0 * 4.0 / 18.0 + 2.0 / 6.0;
        assert!((at(&bound(9.0, 2.0, 1), 100.0) / expected - 1.0).abs() < 1e-12);
    }

    /// The mutant that takes αΔ²/2μ, as of Gaussian noise, at every real order.
    #[test]
    fn mutant_a_gaussians_line_for_skellam_noise_is_caught() {
        let (law, bound) = (SkellamLaw::new(1.0, 2000), bound(1.0, 1.0, 1));
        let exact = law.divergence(1, 1.01);
        assert!(exact > 1.05 * 1.01 / 2.0 && at(&bound, 1.01) >= exact, "{exact}");
    }
}
