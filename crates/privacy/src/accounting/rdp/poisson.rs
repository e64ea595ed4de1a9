//! Rényi divergence of the Poisson-subsampled Gaussian at integer orders, by its binomial sum.
//!
//! At integer orders the divergence is a finite sum of positive terms: slower than quadrature, and a check on it.

use crate::accounting::Interval;
use crate::accounting::special::{ln_1p_sum_exp, ln_binomial};

/// Upper bound of (α−1)·D_α of Poisson sampling at rate q ≤ 1 and noise deviation s under add-remove, integer α ≥ 2.
///
/// Mironov, Talwar, Zhang 2019 (arXiv:1908.10530), section 3.3: A_α = Σ_k C(α, k) (1−q)^{α−k} q^k e^{k(k−1)/2s²};
/// their Theorem 5 and Corollary 7 show that the remove direction bounds both. The binomial weights sum to one, so
/// A_α − 1 = Σ_{k≥2} C(α, k) (1−q)^{α−k} q^k (e^{k(k−1)/2s²} − 1), without cancellation.
pub(crate) fn cumulant(q: f64, s: f64, order: u64) -> f64 {
    let exact = Interval::exact;
    let variance = exact(s) * exact(s);
    let half_square = |k: u64| exact(k as f64) * exact((k - 1) as f64) / (exact(2.0) * variance);
    if q >= 1.0 {
        return half_square(order).hi;
    }
    let (in_batch, outside) = (exact(q).ln(), (-exact(q)).ln_1p());
    let terms: Vec<Interval> = (2..=order)
        .map(|k| {
            let weight = ln_binomial(order, k) + exact((order - k) as f64) * outside + exact(k as f64) * in_batch;
            weight + ln_exp_m1(half_square(k))
        })
        .collect();
    ln_1p_sum_exp(&terms).hi
}

/// log(e^x − 1), for x > 0.
pub(super) fn ln_exp_m1(x: Interval) -> Interval {
    if x.hi < 1.0 { x.exp_m1().clamp_positive().ln() } else { x + (-((-x).exp())).ln_1p() }
}
