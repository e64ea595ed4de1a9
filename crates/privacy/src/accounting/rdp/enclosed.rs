//! Rényi divergence of a pair between two laws, such as a shuffle's, whose largest loss is known.
//!
//! Outcomes that were cut have no loss that is known exactly, but a largest one: their part of the moment is bounded by it.

use crate::accounting::{Enclosure, sum::CompensatedSum};

/// What is allowed for rounding in a sum of positive terms, relative: each is right to 2e-15, but for its exponent, which is
/// allowed for by itself.
const ROUNDING: f64 = 1e-14;

/// The dominating law and what it cut.
#[derive(Debug, Clone)]
pub(super) struct EnclosedCurve {
    /// (loss, P-probability) of every outcome that is kept.
    outcomes: Vec<(f64, f64)>,
    /// P-probability of the outcomes that were cut, of both signs of the loss.
    cut: f64,
    /// No outcome of the exact pair has more loss.
    largest: f64,
    /// The largest loss among the outcomes that were kept.
    farthest: f64,
}

impl EnclosedCurve {
    /// Of a pair that was drawn at this rate.
    ///
    /// The law counts what was cut, probability κ, as outcomes that Q cannot produce: κ before sampling and qκ after. With a
    /// largest loss l those outcomes have E_P[e^{(α−1)L}] ≤ κ e^{(α−1)l}, and so have their mirror images; sampling makes the
    /// P-probability of an outcome of positive loss no larger. So 2κ e^{(α−1)l} bounds what was cut, in either case.
    pub(super) fn new(law: &Enclosure, rate: f64) -> Self {
        let upper = law.upper();
        let largest = law.largest_loss() * (1.0 + 1e-14) + 1e-13;
        let farthest = upper.finite.iter().map(|outcome| outcome.0).fold(0.0, f64::max);
        Self { outcomes: upper.finite, cut: 2.0 * upper.infinite / rate, largest, farthest }
    }

    /// Upper bound of (α−1)·D_α = log E_P[e^{(α−1)L}].
    pub(super) fn cumulant(&self, order: f64) -> f64 {
        self.summed(order, self.cut).max(0.0)
    }

    /// The same of the outcomes that were kept alone: those that were cut are δ, of `cut` in each step.
    pub(super) fn kept(&self, order: f64) -> f64 {
        self.summed(order, 0.0)
    }

    /// P-probability of what was cut.
    pub(super) fn cut(&self) -> f64 {
        self.cut
    }

    /// log of Σ p e^{(α−1)l} over the dominating law and of `cut` at the largest loss.
    ///
    /// The dominating law has no less than the pair itself: x^α y^{1−α} grows with x, falls with y, and is convex, so that
    /// an outcome between two edges has less than the two (`docs/maths/shuffle.md`, what is merged).
    fn summed(&self, order: f64, cut: f64) -> f64 {
        let less = order - 1.0;
        let (most, top) = (less * self.largest, less * self.farthest);
        // The farthest outcome that was kept is within the range of a float, however large the order is: what underflows
        // beside it, with probabilities of 1e-40 and more, is lost in its rounding.
        let shift = (top - 500.0).max(0.0);
        let kept: CompensatedSum = self.outcomes.iter().map(|&(l, p)| p * libm::exp(less * l - shift)).collect();
        // Where nothing is cut, nothing is added: 0 times an exponential that overflows would be no number.
        let all = kept.get() + if cut > 0.0 { cut * libm::exp(most - shift) } else { 0.0 };
        shift + libm::log(all) + ROUNDING + top.max(most) * 1e-15
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::shuffle::{clones, strong, weak};

    /// D_α of the clones pair, written out by its definition for few users.
    fn by_definition(users: u64, local: f64, order: f64) -> f64 {
        let p = 1.0 / (local.exp() + 1.0);
        let choose = |n: u64, k: u64| (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64);
        let mut sum = 0.0;
        for c in 0..users {
            let weight = choose(users - 1, c) * (2.0 * p).powi(c as i32) * (1.0 - 2.0 * p).powi((users - 1 - c) as i32);
            let (m, h) = (c + 1, 1.0 - p);
            for a in 0..=m {
                let fair = choose(m, a) / 2.0_f64.powi(m as i32) * 2.0 / m as f64;
                let (a, b) = (a as f64, (m - a) as f64);
                let (x, y) = (fair * (h * a + p * b), fair * (p * a + h * b));
                sum += weight * x.powf(order) * y.powf(1.0 - order);
            }
        }
        sum.ln()
    }

    #[test]
    fn it_is_the_divergence_of_the_clones() {
        for (users, local, order) in [(2, 1.0, 2.0), (9, 2.5, 1.3), (30, 3.0, 17.5), (12, 4.0, 60.0)] {
            let (found, expected) = (
                EnclosedCurve::new(&clones(users, local).unwrap(), 1.0).cumulant(order),
                by_definition(users, local, order),
            );
            assert!(found >= expected - 1e-12 && found < expected * (1.0 + 1e-9) + 1e-10, "{found} {expected}");
        }
    }

    /// Mutant: what was cut counted once, or as if sampling had not thinned it.
    #[test]
    fn what_was_cut_counts_with_its_mirror_image_before_sampling() {
        let all = clones(1000, 3.0).unwrap();
        let cut = all.upper().infinite;
        assert!(cut > 0.0);
        let sampled = EnclosedCurve::new(&crate::accounting::symmetric::subsampled(&all, 0.125), 0.125);
        for found in [EnclosedCurve::new(&all, 1.0).cut(), sampled.cut()] {
            assert!((found / (2.0 * cut) - 1.0).abs() < 1e-9, "{found} {cut}");
        }
    }

    #[test]
    fn large_orders_stay_finite_and_under_the_largest_loss() {
        let law = EnclosedCurve::new(&weak(200, 4, 0.25).unwrap(), 1.0);
        for order in [1.0 + 1e-9, 2.0, 1e3, 1e6] {
            let divergence = law.cumulant(order) / (order - 1.0);
            assert!(
                divergence.is_finite() && (order < 1.1 || divergence <= law.largest + 1e-3),
                "{order}: {divergence}"
            );
        }
        // Losses that are kept are far below the largest one, which nobody sees: their sum must not underflow.
        let far = EnclosedCurve::new(&clones(10_000, 3.0).unwrap(), 1.0);
        for order in (1..16).map(|power| 1.0 + f64::from(power).exp()) {
            let (kept, whole) = (far.kept(order), far.cumulant(order));
            assert!(kept > 0.0 && kept.is_finite() && kept <= whole, "{order}: {kept} {whole}");
        }
        assert!(strong(100, 4, 0.25).unwrap().largest_loss().is_infinite());
    }
}
