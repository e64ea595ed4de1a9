//! Rényi divergence of one release of a Barker test, on all rows or on batches drawn without replacement.
//!
//! The theorem is for both orders of the neighbours; batches without replacement are amplified by Wang et al. 2019.

use super::curve::between_integers;
use super::without_replacement::{LARGEST_ORDER, amplified, ln_bound_of_any};
use crate::accounting::Interval;

/// Least batch that Theorem 1 knows.
pub(super) const LEAST_BATCH: u64 = 7;

/// A release on b rows with slack L, drawn at rate q.
#[derive(Debug, Clone, Copy)]
pub(super) struct BarkerCurve {
    pub(super) batch: u64,
    pub(super) slack: f64,
    pub(super) rate: f64,
}

impl BarkerCurve {
    /// Upper bound of (α−1)·D_α. Sampled, at integer orders with chords between them, up to 1024.
    pub(super) fn cumulant(&self, order: f64) -> f64 {
        if self.rate >= 1.0 {
            return self.unsampled(order).hi;
        }
        if order > LARGEST_ORDER {
            return f64::INFINITY;
        }
        between_integers(order, |integer| {
            let bound = |j: u64| ln_bound_of_any(j, self.unsampled(j as f64));
            let whole = self.unsampled(integer).hi;
            // Amplification never costs more than the mechanism itself (quasi-convexity of D_α).
            if whole.is_finite() { amplified(self.rate, integer as u64, &bound).min(whole) } else { whole }
        })
    }

    /// (α−1)·D_α ≤ (α−1)·2αb/(Lb² − 4α²) for 1 < α ≤ (b−4)/2, b ≥ 7 and L ≥ 1; nothing is claimed of larger orders.
    ///
    /// Theorem 1 of `docs/maths/dp-mcmc.md`.
    fn unsampled(&self, order: f64) -> Interval {
        let (exact, b) = (Interval::exact, Interval::exact(self.batch as f64));
        if 2.0 * order > self.batch as f64 - 4.0 {
            return exact(f64::INFINITY);
        }
        let alpha = exact(order);
        let below = exact(self.slack) * b * b - exact(4.0) * alpha * alpha;
        exact(order - 1.0) * exact(2.0) * alpha * b / below
    }
}
