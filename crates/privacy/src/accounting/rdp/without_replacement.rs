//! Rényi divergence on batches of fixed size, under substitution, at integer orders; of Gaussian noise in particular.
//!
//! Wang, Balle, Kasiviswanathan 2019 (AISTATS; arXiv:1808.00087). Both theorems have the form
//! (α−1) D_α ≤ log(1 + C(α, 2) q² min{4(e^{ε(2)} − 1), 2e^{ε(2)}} + Σ_{j=3}^{α} C(α, j) q^j b_j), where ε(j) is the
//! divergence of the unsampled mechanism, for Gaussian noise (j−1) ε(j) = j(j−1)/2z², and ε(∞) = ∞.
//! Theorem 9: b_j = 2e^{(j−1)ε(j)}, for which a bound of ε(j) will do. Theorem 27, for Gaussian noise only: b_j = 4 √(B(2⌊j/2⌋) B(2⌈j/2⌉)), B(l) = E_Q[(P/Q − 1)^l] for even l.
//! Both hold for every j by itself, so the smaller b_j may be taken term by term.
//!
//! Wang, Balle, Kasiviswanathan 2019 bound the divergence of any mechanism on a batch of fixed size from its divergences on all rows.
//! For Gaussian noise a sharper term applies.

use super::curve::between_integers;
use super::poisson::ln_exp_m1;
use crate::accounting::Interval;
use crate::accounting::special::{PHI_AT_ZERO, ln_1p_sum_exp, ln_binomial};
use crate::{NoiseMultiplier, SamplingRate};

/// Largest integer order that is offered.
pub(super) const LARGEST_ORDER: f64 = 1024.0;

/// Largest l for which B(l) is computed; above it only Theorem 9 is used.
const LARGEST_MOMENT: u64 = 130;

/// Step of the trapezoid rule for B(l).
const STEP: f64 = 0.25;

/// The sampled mechanism, with its table of B.
#[derive(Debug, Clone)]
pub struct FixedBatch {
    q: f64,
    z: f64,
    /// log B(l) from above, for l = 2, 4, …
    moments: Vec<f64>,
}

/// Which theorem's terms are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theorem {
    /// Theorem 9: b_j = 2e^{(j−1)ε(j)}, for any mechanism.
    Nine,
    /// The smaller of Theorem 9's and Theorem 27's b_j.
    TwentySeven,
}

impl FixedBatch {
    /// q = batch / rows; z in units of the sensitivity under substitution.
    pub fn new(q: SamplingRate, z: NoiseMultiplier) -> Self {
        // Where l/z is large, B(l) is nearly e^{(l−1)ε(l)} and Theorem 9 has the smaller term.
        let largest = LARGEST_MOMENT.min((60.0 * z.get()) as u64);
        let moments = moments_about_one(z.get(), largest);
        Self { q: q.get(), z: z.get(), moments }
    }

    /// D_α at an integer order α ≥ 2, from above.
    pub fn divergence(&self, order: u64, theorem: Theorem) -> f64 {
        (Interval::exact(self.at_integer(order, theorem)) / Interval::exact((order - 1) as f64)).hi
    }

    /// (α−1) D_α from above at any order up to 1024.
    pub(super) fn cumulant(&self, order: f64) -> f64 {
        if order > LARGEST_ORDER {
            return f64::INFINITY;
        }
        between_integers(order, |integer| self.at_integer(integer as u64, Theorem::TwentySeven))
    }

    /// (α−1) D_α from above.
    fn at_integer(&self, order: u64, theorem: Theorem) -> f64 {
        // Amplification never costs more than the mechanism itself (quasi-convexity of D_α).
        amplified(self.q, order, &|j| self.ln_bound(j, theorem)).min(self.unsampled(order).hi)
    }

    /// log b_j, from above.
    fn ln_bound(&self, j: u64, theorem: Theorem) -> f64 {
        let any = ln_bound_of_any(j, self.unsampled(j));
        let moment = |l: u64| self.moments.get((l / 2 - 1) as usize).copied();
        match (theorem, moment(2 * (j / 2)), moment(2 * j.div_ceil(2))) {
            (Theorem::TwentySeven, Some(low), Some(high)) if j > 2 => {
                let mean = (Interval::exact(low) + Interval::exact(high)) * Interval::exact(0.5);
                any.min((Interval::exact(4.0).ln() + mean).hi)
            }
            _ => any,
        }
    }

    /// (j−1) ε(j) = j(j−1)/2z².
    fn unsampled(&self, j: u64) -> Interval {
        let (exact, z) = (Interval::exact, Interval::exact(self.z));
        exact(j as f64) * exact((j - 1) as f64) / (exact(2.0) * z * z)
    }
}

/// log(1 + Σ_{j=2}^{α} C(α, j) q^j b_j) from above, given log b_j from above.
pub(crate) fn amplified(q: f64, order: u64, ln_bound: &dyn Fn(u64) -> f64) -> f64 {
    let exact = Interval::exact;
    let ln_q = exact(q).ln();
    let term = |j: u64| ln_binomial(order, j) + exact(j as f64) * ln_q + exact(ln_bound(j));
    let terms: Vec<Interval> = (2..=order).map(term).collect();
    ln_1p_sum_exp(&terms).hi
}

/// log b_j of Theorem 9 for any mechanism, from above, given (j−1) ε(j); for j = 2 the first term of the sum.
pub(crate) fn ln_bound_of_any(j: u64, unsampled: Interval) -> f64 {
    let doubled = (Interval::exact(2.0).ln() + unsampled).hi;
    if j == 2 { doubled.min((Interval::exact(4.0).ln() + ln_exp_m1(unsampled)).hi) } else { doubled }
}

/// log B(l) from above for l = 2, 4, … ≤ largest: B(l) = E[(e^{r(Y)} − 1)^l], r(y) = y/z − 1/2z², Y standard normal.
///
/// A trapezoid sum of step h of an entire, positive integrand. Its error is at most
/// 2^l (1 + e^{l(l−1)/2z²}) e^{−2π²/h²} · 1.01 (Trefethen and Weideman 2014, Theorem 5.1, on the strip of half width
/// 2π/h, with |e^{r+iθ} − 1| ≤ e^r + 1 and (x+1)^l ≤ 2^{l−1}(x^l + 1)).
fn moments_about_one(z: f64, largest: u64) -> Vec<f64> {
    let exact = Interval::exact;
    let m = exact(1.0) / exact(z);
    let (left, right) = (reach(largest), largest as f64 / z + reach(largest));
    let nodes: Vec<(f64, f64, f64)> = (-((left / STEP).ceil() as i64)..=(right / STEP).ceil() as i64)
        .filter_map(|k| {
            let y = exact(k as f64 * STEP);
            let size = (m * y - m * m * exact(0.5)).exp_m1();
            let size = size.hi.max(-size.lo);
            (size > 0.0).then(|| (y.lo, (-(y * y) * exact(0.5)).hi, exact(size).ln().hi))
        })
        .collect();
    (1..=largest / 2).map(|half| ln_moment(z, 2 * half, &nodes)).collect()
}

/// How far beyond its outermost peak the integrand of B(l) is followed.
fn reach(l: u64) -> f64 {
    (l as f64).sqrt() + 14.0
}

/// log B(l) from the nodes (y, −y²/2, log|e^{r(y)} − 1|).
///
/// Beyond the ends: (log of the integrand)' is at most −y + (l/z)/(1 − e^{−r}) ≤ −y + l/z + l/(y − 1/2z) to the right
/// and at least |y| − l/|y| to the left, so over 14 away from the peaks each tail is less than its last node times
/// 1/(e^{4h} − 1) < 0.6.
fn ln_moment(z: f64, l: u64, nodes: &[(f64, f64, f64)]) -> f64 {
    let exact = Interval::exact;
    let (left, right) = (-reach(l) - STEP, l as f64 / z + reach(l) + 1.0 / z + STEP);
    let mut terms: Vec<Interval> = nodes
        .iter()
        .filter(|node| left <= node.0 && node.0 <= right)
        .map(|&(_, base, ln_size)| exact(base) + exact(l as f64) * exact(ln_size))
        .collect();
    let ends = [terms.first().copied(), terms.last().copied()];
    terms.extend(ends.into_iter().flatten());
    let top = terms.iter().map(|t| t.hi).fold(f64::NEG_INFINITY, f64::max);
    let sum = terms.iter().fold(exact(0.0), |sum, &t| sum + (t - exact(top)).exp());
    let value = exact(top) + (sum * exact(STEP) * PHI_AT_ZERO).ln();
    let exponent = exact(l as f64) * exact((l - 1) as f64) / (exact(2.0) * exact(z) * exact(z));
    let error = exact(l as f64 * 0.6931471805599454 + 0.01 - 19.7392 / (STEP * STEP)) + ln_1p_sum_exp(&[exponent]);
    crate::accounting::special::ln_add_exp(value, error).hi
}
