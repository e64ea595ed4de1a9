//! Rényi divergence of the dominating pair of fixed-size batches under substitution, at every real order.
//!
//! The pair is Zhu, Dong, Wang 2022, Proposition 30 (`DominatingPair::GaussianFixed`). With t = (x − ½)/s, m = 1/s and
//! v(t) = log(1−q + q e^{mt}), its loss is ±v(t) for t > 0 and 0 else, so that
//! A = E_P[e^{(α−1)L}] = 1 + ∫_0^∞ φ(t + m/2) (e^{αv} − 1)(1 − e^{−(α−1)v}) dt: no cancellation.
//!
//! The pair is that of Proposition 30: a mixture against a normal law where the mixture is larger, and the mirror image elsewhere.
//! The accountant takes the smaller of this bound and of the theorem in `without_replacement.rs`.

use crate::accounting::Interval;
use crate::accounting::special::{PHI_AT_ZERO, ln_mixture};

/// Positive nodes and their weights of the 16-point Gauss-Legendre rule on [−1, 1].
const RULE: [(f64, f64); 8] = [
    (0.09501250983763744, 0.1894506104550685),
    (0.2816035507792589, 0.1826034150449236),
    (0.45801677765722737, 0.16915651939500254),
    (0.6178762444026438, 0.14959598881657674),
    (0.755404408355003, 0.12462897125553388),
    (0.8656312023878318, 0.09515851168249279),
    (0.9445750230732326, 0.062253523938647894),
    (0.9894009349916499, 0.027152459411754096),
];

/// Sum of the half axes of the Bernstein ellipse on which the integrand is bounded.
const RHO: f64 = 6.0;

/// (64/15) ρ^{−30}/(1 − ρ^{−2}), rounded up.
const RULE_ERROR: f64 = 2.0e-23;

/// Panels have a half width that is a multiple of this, so that they meet exactly.
const GRAIN: f64 = 1.0 / (1 << 20) as f64;

/// Above this many panels no answer is given: deviations so small that no budget meets them.
const MOST_PANELS: f64 = 2_000.0;

/// The pair, by its rate and inverse deviation.
#[derive(Debug, Clone, Copy)]
pub(super) struct FixedPair {
    q: f64,
    m: f64,
}

impl FixedPair {
    /// Rate q < 1 and noise deviation s. 1/s is rounded up, which is a pair of less noise.
    pub(super) fn new(q: f64, s: f64) -> Self {
        Self { q, m: (1.0 / s).next_up() }
    }

    /// Upper bound of log A = (α−1)·D_α, infinite where too many panels would be needed.
    ///
    /// Gauss-Legendre panels up to T, 13 beyond αm, plus ∫_T^∞ F ≤ F(T)/(T + m/2 − αm) with F = φ e^{αv}, since
    /// (log F)' ≤ αm − m/2 − t, plus the panels' errors.
    pub(super) fn cumulant(&self, order: f64) -> f64 {
        let exact = Interval::exact;
        let half = (1.0 / 6.0_f64).min(0.25 / self.m).min(2.0 / (order * self.m));
        let half = (half / GRAIN).floor() * GRAIN;
        let panels = ((order * self.m + 13.0) / (2.0 * half)).ceil();
        if half == 0.0 || panels > MOST_PANELS {
            return f64::INFINITY;
        }
        let centres = || (0..panels as u32).map(|k| half * f64::from(2 * k + 1));
        let peak = centres().map(|t| self.power(order, exact(t)).hi).fold(0.0, f64::max);
        let shift = if peak > 100.0 { peak } else { 0.0 };
        let mut sum = centres().fold(exact(0.0), |sum, t| sum + self.panel(order, t, half, shift));
        let end = 2.0 * half * panels;
        let slope = exact(end) + exact(self.m) * exact(0.5) - exact(order) * exact(self.m);
        sum = sum + (self.power(order, exact(end)) - exact(shift)).exp() / slope;
        let integral = sum * PHI_AT_ZERO;
        if shift == 0.0 {
            return integral.ln_1p().hi;
        }
        (exact(shift) + (integral + exact(-shift).exp()).ln()).hi
    }

    /// log F + ½ log 2π at t.
    fn power(&self, order: f64, t: Interval) -> Interval {
        let x = t + Interval::exact(self.m) * Interval::exact(0.5);
        let v = ln_mixture(self.q, Interval::exact(self.m) * t);
        Interval::exact(order) * v - x * x * Interval::exact(0.5)
    }

    /// The integrand at t ≥ 0, times √(2π) e^{−shift}: F (1 − e^{−αv})(1 − e^{−(α−1)v}).
    fn integrand(&self, order: f64, t: Interval, shift: f64) -> Interval {
        let v = ln_mixture(self.q, Interval::exact(self.m) * t).clamp_positive();
        let rise = |factor: f64| (-(-(Interval::exact(factor) * v)).exp_m1()).clamp_positive();
        (self.power(order, t) - Interval::exact(shift)).exp() * rise(order) * rise(order - 1.0)
    }

    /// ∫ over [t − H, t + H] by 16 nodes, with the error of the rule.
    ///
    /// Trefethen 2013, Theorem 19.3: the error of n + 1 nodes is at most H · (64/15) M ρ^{−2n}/(1 − ρ^{−2}), M the largest
    /// absolute value on the ellipse of foci t ± H and half axes H(ρ ± 1/ρ)/2.
    fn panel(&self, order: f64, centre: f64, half: f64, shift: f64) -> Interval {
        let (exact, around) = (Interval::exact, |x: f64| Interval::new(x.next_down(), x.next_up()));
        let sum = RULE.iter().fold(exact(0.0), |sum, &(node, weight)| {
            let offset = exact(half) * around(node);
            let at = |t: Interval| self.integrand(order, t.clamp_positive(), shift);
            sum + around(weight) * (at(exact(centre) - offset) + at(exact(centre) + offset))
        });
        exact(half) * (sum + exact(RULE_ERROR) * self.on_ellipse(order, centre, half, shift))
    }

    /// M: on the ellipse |φ(z)| ≤ φ(Re z) e^{(Im z)²/2}, a(Re z) cos(m Im z) ≤ |e^v| ≤ a(Re z), a = 1−q + q e^{mt}.
    fn on_ellipse(&self, order: f64, centre: f64, half: f64, shift: f64) -> Interval {
        let exact = Interval::exact;
        let (wide, high) = (0.5 * half * (RHO + 1.0 / RHO) + 1e-12, 0.5 * half * (RHO - 1.0 / RHO) + 1e-12);
        let (left, right) = (exact(centre - wide), exact(centre + wide));
        let ln_cosine = exact(libm::cos(self.m * high) - 1e-15).ln();
        let v = |t: Interval| ln_mixture(self.q, exact(self.m) * t);
        let x = (left + exact(self.m) * exact(0.5)).clamp_positive();
        let ln_phi = exact(high) * exact(high) * exact(0.5) - x * x * exact(0.5) - exact(shift);
        let term = |exponent: Interval| (ln_phi + exponent).exp();
        let (up, one) = (v(right), exact(0.0));
        let down = exact(1.0 - order) * (v(left) + ln_cosine);
        term(exact(order) * up) + term(up) + term(one) + term(down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // log A to 17 digits from a 30-digit integration.
    #[test]
    fn real_orders_agree_with_references() {
        for (q, s, order, expected) in [
            (0.02, 1.0, 3.7, 0.0055847513634305784),
            (0.1, 5.0, 32.0, 0.23984677528842535),
            (0.3, 0.5, 1.25, 0.1444163921743877),
            (0.001, 4.0, 150.5, 0.00086914048767877538),
        ] {
            let value = FixedPair::new(q, s).cumulant(order);
            assert!(value >= expected * (1.0 - 1e-14) && value <= expected * (1.0 + 1e-10), "{value} {expected}");
        }
    }

    #[test]
    fn it_stays_below_the_unsampled_mechanism_and_gives_up_by_infinity() {
        for order in [1.001, 2.0, 30.0] {
            assert!(FixedPair::new(0.999, 2.0).cumulant(order) <= order * (order - 1.0) / 8.0);
        }
        assert_eq!(FixedPair::new(0.5, 1e-6).cumulant(2.0), f64::INFINITY);
        // Large orders, where the integral overflows without its shift.
        let large = FixedPair::new(0.9, 0.5).cumulant(25.0);
        assert!(large.is_finite() && large > 1000.0 && large <= 1200.0, "{large}");
    }
}
