//! Rényi divergence of sampled Gaussian pairs at every real order, by a trapezoid sum with a proved error.
//!
//! P = (1−q)N(0, 1) + qN(m, 1) and Q = (1−q)N(0, 1) + qN(−n, 1), in deviations of the noise. With m = 1/s and n = 0
//! this is the remove pair of Poisson sampling, with m = n = 1/(2s) the pair of Poisson sampling under substitution. `docs/maths/renyi.md` has the proofs of the three error terms.
//!
//! The integral has no closed form at real orders. Its integrand is analytic in a strip, so the trapezoid rule converges faster than
//! any power of the step, and the error has a bound that is added.

use crate::accounting::Interval;
use crate::accounting::special::{PHI_AT_ZERO, exp_m1_minus, ln_mixture};
use std::f64::consts::PI;

/// Above this many nodes the convexity bound is used: deviations so small that no budget meets them.
const MOST_NODES: f64 = 10_000.0;

/// Nodes are multiples of h, and h a multiple of this, so that every node is an exact float.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// A pair of two-component Gaussian mixtures.
#[derive(Debug, Clone, Copy)]
pub(super) struct MixturePair {
    q: f64,
    m: f64,
    n: f64,
}

/// The trapezoid rule of one order: step, half width η of the strip of analyticity, and first and last node.
struct TrapezoidRule {
    h: f64,
    eta: f64,
    first: i64,
    last: i64,
}

/// One node: log φ(y)√(2π), log a(y) and log b(y).
struct TrapezoidNode {
    base: Interval,
    ln_a: Interval,
    ln_b: Interval,
}

/// 1/s rounded up: a smaller deviation, whose divergence is not smaller (data processing).
fn inverse(s: f64) -> f64 {
    (1.0 / s).next_up()
}

impl MixturePair {
    /// A row is added or removed, Poisson rate q, noise deviation s: the direction in which the first data set has it.
    ///
    /// The other direction is not larger (Mironov, Talwar, Zhang 2019, arXiv:1908.10530, Theorem 5 and Corollary 7).
    pub(super) fn remove(q: f64, s: f64) -> Self {
        Self { q, m: inverse(s), n: 0.0 }
    }

    /// The row is replaced.
    pub(super) fn substitute(q: f64, s: f64) -> Self {
        Self { q, m: 0.5 * inverse(s), n: 0.5 * inverse(s) }
    }

    /// Upper bound of (α−1)·D_α(P ‖ Q) = log A, A = E[a(Y)^α b(Y)^{1−α}], Y standard normal.
    ///
    /// a(y) = 1−q + q e^{my − m²/2}, b(y) = 1−q + q e^{−ny − n²/2}. As E a = E b = 1, A − 1 = E[b g(a/b)] with
    /// g(w) = w^α − 1 − α(w−1) ≥ 0: a sum of positive terms, accurate also where A is nearly 1.
    pub(super) fn cumulant(&self, order: f64) -> f64 {
        let convex = self.by_convexity(order);
        let Some(grid) = self.grid(order) else { return convex };
        let value = self.by_quadrature(order, &grid);
        if value.is_nan() { convex } else { value.min(convex) }
    }

    /// A ≤ 1−q + q e^{α(α−1)(m+n)²/2}: joint convexity of A in (P, Q) (van Erven, Harremoës 2014, Theorem 13).
    fn by_convexity(&self, order: f64) -> f64 {
        let distance = Interval::exact(self.m) + Interval::exact(self.n);
        let alphas = Interval::exact(order) * Interval::exact(order - 1.0);
        ln_mixture(self.q, alphas * distance * distance * Interval::exact(0.5)).hi
    }

    /// Chooses the rule so that its errors are near 1e-16 of A − 1. Only accuracy depends on this choice.
    fn grid(&self, order: f64) -> Option<TrapezoidRule> {
        let distance = (self.m + self.n).min(1.0);
        let scale = 0.5 * order * (order - 1.0) * (self.q * distance) * (self.q * distance);
        let digits = 37.0 - libm::log(scale.min(1.0)) + libm::log(2.0 * order + 8.0);
        let angle = 1.0_f64.min(2.0 / order.sqrt());
        let eta = (0.9 * PI / self.m).min(angle / self.n).min((2.0 * digits).sqrt());
        let h = (2.0 * PI * eta / (digits + 0.5 * eta * eta + 3.0) / GRAIN).floor() * GRAIN;
        let reach = (2.0 * digits).sqrt() + 1.0;
        let (left, right) = (self.n + reach, self.centre(order) + reach);
        let fits = h >= 1e-3 && (left + right) / h < MOST_NODES;
        fits.then(|| TrapezoidRule { h, eta, first: -((left / h).ceil() as i64), last: (right / h).ceil() as i64 })
    }

    /// c = αm + (α−1)n: right of it the integrand falls at least as fast as a Gaussian centred at c.
    fn centre(&self, order: f64) -> f64 {
        (order * self.m + (order - 1.0) * self.n) * (1.0 + 4.0 * f64::EPSILON)
    }

    /// Base density and both mixtures at one node, as logarithms.
    fn node(&self, y: f64) -> TrapezoidNode {
        let (exact, half) = (Interval::exact, Interval::exact(0.5));
        let log_part = |shift: f64| ln_mixture(self.q, exact(shift) * exact(y) - exact(shift) * exact(shift) * half);
        let zero = exact(0.0);
        TrapezoidNode {
            base: -(exact(y) * exact(y) * half),
            ln_a: if self.m > 0.0 { log_part(self.m) } else { zero },
            ln_b: if self.n > 0.0 { log_part(-self.n) } else { zero },
        }
    }

    /// Trapezoid sum, plus the mass beyond its ends, plus the discretisation error.
    ///
    /// Theorem 5.1 of Trefethen and Weideman 2014: for f analytic in |Im y| < η with ∫|f(x + iη')|dx ≤ M, the error is
    /// at most 2M/(e^{2πη/h} − 1). Here |φ| grows by e^{η²/2}, |a| ≤ a(Re y) and |b| ≥ b(Re y) cos(nη), so
    /// M ≤ e^{η²/2}(C·A + 2α − 1), C = cos(nη)^{1−α}. A = 1 + integral stands on both sides: solved for the integral.
    fn by_quadrature(&self, order: f64, grid: &TrapezoidRule) -> f64 {
        let exact = Interval::exact;
        let nodes: Vec<TrapezoidNode> = (grid.first..=grid.last).map(|k| self.node(k as f64 * grid.h)).collect();
        let peak = nodes.iter().map(|x| x.power(order).hi).fold(0.0, f64::max);
        let shift = if peak > 100.0 { peak } else { 0.0 };
        let sum = nodes.iter().fold(exact(0.0), |sum, x| sum + x.term(order, shift));
        let weight = exact(grid.h) * PHI_AT_ZERO;
        let unit = exact(-shift).exp();
        let beyond = self.beyond(order, grid, &nodes, shift) * weight + self.beyond_b(order, grid) * unit;
        let (eta, h) = (exact(grid.eta), exact(grid.h));
        let turns = exact(2.0) * Interval::new(PI, PI.next_up()) * eta / h;
        let kappa = exact(2.0) * (eta * eta * exact(0.5)).exp() / turns.exp_m1();
        let cosine = exact(libm::cos(self.n * grid.eta) - 1e-15);
        let c = (exact(1.0 - order) * cosine.ln()).exp();
        let error = kappa * (c + exact(2.0 * order)) * unit;
        let integral = (sum * weight + beyond + error) / (exact(1.0) - kappa * c);
        if shift == 0.0 { integral.ln_1p().hi } else { (exact(shift) + (integral + unit).ln()).hi }
    }

    /// Σ F over the nodes beyond both ends, F = φ a^α b^{1−α}·√(2π), times e^{−shift}.
    ///
    /// (log F)' lies between −y and c − y, so F falls at least geometrically: by e^{−(y−c)h} to the right of the last
    /// node y > c, and by e^{−|y|h} to the left of the first node y < 0.
    fn beyond(&self, order: f64, grid: &TrapezoidRule, nodes: &[TrapezoidNode], shift: f64) -> Interval {
        let exact = Interval::exact;
        let tail = |node: Option<&TrapezoidNode>, slope: f64| match node {
            Some(node) => {
                let ratio = exact(slope * (1.0 - 4.0 * f64::EPSILON)) * exact(grid.h);
                (node.power(order) - exact(shift)).exp() / ratio.exp_m1()
            }
            None => exact(0.0),
        };
        let right = grid.last as f64 * grid.h - self.centre(order);
        tail(nodes.first(), -grid.first as f64 * grid.h) + tail(nodes.last(), right)
    }

    /// h Σ (α−1) φ b over the nodes beyond both ends: at most (α−1) e^{−R²/2}, R the distance of the nearer end.
    fn beyond_b(&self, order: f64, grid: &TrapezoidRule) -> Interval {
        let reach = (-grid.first as f64 * grid.h - self.n).min(grid.last as f64 * grid.h) - 1e-9;
        Interval::exact(order - 1.0) * (Interval::exact(-0.5 * reach) * Interval::exact(reach)).exp()
    }
}

impl TrapezoidNode {
    /// log F = log(φ a^α b^{1−α}√(2π)).
    fn power(&self, order: f64) -> Interval {
        self.base + Interval::exact(order) * self.ln_a + Interval::exact(1.0 - order) * self.ln_b
    }

    /// φ b g(a/b)·√(2π)·e^{−shift}, in the form that loses no digits: v = log(a/b).
    fn term(&self, order: f64, shift: f64) -> Interval {
        let (exact, alpha) = (Interval::exact, Interval::exact(order));
        let v = self.ln_a - self.ln_b;
        if order * v.hi <= 0.5 {
            let g = exp_m1_minus(alpha * v) - alpha * exp_m1_minus(v);
            return (self.base + self.ln_b - exact(shift)).exp() * g.clamp_positive();
        }
        let rest = if v.hi <= 1.0 {
            exact(1.0) - (-(alpha * v)).exp() * (exact(1.0) + alpha * v.exp_m1())
        } else {
            exact(1.0) - alpha * (exact(1.0 - order) * v).exp() + exact(order - 1.0) * (-(alpha * v)).exp()
        };
        (self.power(order) - exact(shift)).exp() * rest.clamp_positive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::rdp::poisson;

    #[test]
    fn integer_orders_agree_with_the_binomial_sum() {
        for (q, s) in [(0.01, 1.0), (1e-5, 5.0), (0.5, 0.3), (0.999, 2.0), (1e-3, 40.0)] {
            for order in [2, 3, 7, 40, 300] {
                let (sum, value) = (poisson::cumulant(q, s, order), MixturePair::remove(q, s).cumulant(order as f64));
                assert!((value - sum).abs() <= 1e-10 * sum, "q {q}, s {s}, order {order}: {value} against {sum}");
            }
        }
    }

    /// The direction that the accountant leaves out: the row is in the second data set.
    fn add(q: f64, s: f64) -> MixturePair {
        MixturePair { q, m: 0.0, n: inverse(s) }
    }

    // Divergences to 16 digits from a 30-digit integration of the same pairs.
    #[test]
    fn real_orders_agree_with_references() {
        for (q, s, order, substitute, added) in [
            (0.02, 2.0, 3.7, 0.0001848837612430142, 0.0002044202488245021),
            (0.1, 1.0, 20.5, 0.3379240454210772, 0.04701151870102458),
            (0.3, 0.5, 1.25, 0.1931893219091959, 0.1705191250838805),
            (0.001, 4.0, 150.5, 4.703276962362568e-6, 4.805464053941384e-6),
        ] {
            for (pair, expected) in [(MixturePair::substitute(q, s), substitute), (add(q, s), added)] {
                let value = pair.cumulant(order) / (order - 1.0);
                assert!(value >= expected * (1.0 - 1e-14) && value <= expected * (1.0 + 1e-10), "{value} {expected}");
            }
            assert!(MixturePair::remove(q, s).cumulant(order) > add(q, s).cumulant(order));
        }
    }

    #[test]
    fn no_order_exceeds_the_convexity_bound_or_fails() {
        for (q, s, order) in [(0.5, 1e-3, 1.5), (1e-9, 1e-6, 1.0001), (0.9, 1e6, 1e6), (1e-6, 1.0, 1e5)] {
            for pair in [MixturePair::remove(q, s), add(q, s), MixturePair::substitute(q, s)] {
                let value = pair.cumulant(order);
                assert!(value > 0.0 && value <= pair.by_convexity(order), "{q} {s} {order}: {value}");
            }
        }
    }
}
