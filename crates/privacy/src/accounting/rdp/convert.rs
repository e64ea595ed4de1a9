//! From Rényi divergence to (ε, δ): two conversions, at listed orders or at the best real order.
//!
//! Both ε(α) and log δ(α) below are unimodal in α: (α−1)D_α is convex in α, so is (α−1)log(α−1) − α log α, and a convex
//! function over the positive affine function α − 1 is quasi-convex. A search along log(α−1) finds the minimum; should
//! it stop early, its answer is still an upper bound, as every order's is.
//!
//! The conversion of Canonne, Kamath, Steinke 2020 is the default; that of Mironov 2017 is kept for published numbers.

use crate::accounting::Interval;
use crate::{Delta, Epsilon, Order};

/// Which theorem turns a divergence into (ε, δ).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conversion {
    /// ε = D_α + log(1/δ)/(α−1): Mironov 2017 (arXiv:1702.07476v3), Proposition 3.
    Mironov2017,
    /// ε = D_α + log((α−1)/α) − (log δ + log α)/(α−1): Canonne, Kamath, Steinke 2020 (arXiv:2004.00010), Proposition 12.
    #[default]
    Canonne2020,
}

/// The orders that are tried.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Orders {
    /// All real orders over one.
    #[default]
    Continuous,
    /// These orders only, as papers print them.
    Listed(Vec<Order>),
}

/// Natural logarithms of α − 1 between which the best order is sought.
const SEARCH: (f64, f64) = (-16.2, 16.2);

/// Width of log(α−1) at which the search stops: ε is flat there, so its relative error is of the order of the square.
const RESOLUTION: f64 = 5e-5;

impl Conversion {
    /// ε at order α from k ≥ (α−1)D_α, rounded up.
    fn epsilon_at(self, k: f64, order: f64, ln_delta: Interval) -> f64 {
        let (exact, less) = (Interval::exact, Interval::exact(order - 1.0));
        let epsilon = match self {
            Self::Mironov2017 => (exact(k) - ln_delta) / less,
            Self::Canonne2020 => {
                let alpha = exact(order);
                (exact(k) - ln_delta - alpha.ln()) / less + (-(exact(1.0) / alpha)).ln_1p()
            }
        };
        epsilon.hi
    }

    /// log δ at order α from k ≥ (α−1)D_α, rounded up: the inverse of `epsilon_at`.
    fn ln_delta_at(self, k: f64, order: f64, epsilon: f64) -> f64 {
        let (exact, less) = (Interval::exact, Interval::exact(order - 1.0));
        let mironov = exact(k) - less * exact(epsilon);
        let ln_delta = match self {
            Self::Mironov2017 => mironov,
            Self::Canonne2020 => {
                let alpha = exact(order);
                mironov + less * (-(exact(1.0) / alpha)).ln_1p() - alpha.ln()
            }
        };
        ln_delta.hi
    }
}

impl Orders {
    /// Smallest ε over the orders, given the curve α ↦ upper bound of (α−1)D_α; δ over 0.
    pub(crate) fn epsilon(&self, curve: &dyn Fn(f64) -> f64, conversion: Conversion, delta: Delta) -> f64 {
        let ln_delta = Interval::exact(delta.get()).ln();
        self.smallest(&|order| conversion.epsilon_at(curve(order), order, ln_delta)).max(0.0)
    }

    /// Smallest δ over the orders.
    pub(crate) fn delta(&self, curve: &dyn Fn(f64) -> f64, conversion: Conversion, epsilon: Epsilon) -> f64 {
        let ln_delta = self.smallest(&|order| conversion.ln_delta_at(curve(order), order, epsilon.get()));
        Interval::exact(ln_delta).exp().hi.min(1.0)
    }

    /// The least value of a function over the orders that may be used.
    fn smallest(&self, f: &dyn Fn(f64) -> f64) -> f64 {
        match self {
            Self::Continuous => smallest_unimodal(&|t| f(1.0 + libm::exp(t))),
            Self::Listed(orders) => orders.iter().map(|order| f(order.get())).fold(f64::INFINITY, f64::min),
        }
    }
}

/// Smallest value met of a unimodal function of t = log(α−1): unit steps downhill, then golden sections.
fn smallest_unimodal(f: &dyn Fn(f64) -> f64) -> f64 {
    let (mut t, mut best) = (2.5, f(2.5));
    let right = f(t + 1.0);
    let step = if right < best { 1.0 } else { -1.0 };
    loop {
        let next = t + step;
        if !(SEARCH.0..=SEARCH.1).contains(&next) {
            break;
        }
        let value = f(next);
        // Where no bound is known yet, orders closer to one may have one.
        if value >= best && best.is_finite() {
            break;
        }
        (t, best) = (next, value);
    }
    golden_section(f, t - 1.0, t + 1.0).min(best)
}

/// Golden-section search of a unimodal function between two points.
fn golden_section(f: &dyn Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_894_8;
    let (mut a, mut b) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut at_a, mut at_b) = (f(a), f(b));
    while high - low > RESOLUTION {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - RATIO * (high - low);
            at_a = f(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + RATIO * (high - low);
            at_b = f(b);
        }
    }
    at_a.min(at_b)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Gaussian mechanism of multiplier z: (α−1)D_α = α(α−1)/2z².
    fn gaussian(z: f64) -> impl Fn(f64) -> f64 {
        move |order| order * (order - 1.0) / (2.0 * z * z)
    }

    #[test]
    fn the_best_order_of_mironov_is_the_known_one() {
        // min over α of α/2z² + L/(α−1) is 1/2z² + √(2L)/z.
        for (z, delta) in [(1.0, 1e-5), (30.0, 1e-9), (0.01, 1e-5), (1000.0, 1e-5)] {
            let found = Orders::Continuous.epsilon(&gaussian(z), Conversion::Mironov2017, Delta::new(delta).unwrap());
            let expected = 0.5 / (z * z) + (2.0 * (1.0 / delta).ln()).sqrt() / z;
            assert!(found >= expected * (1.0 - 1e-14) && found <= expected * (1.0 + 1e-8), "{found} {expected}");
        }
    }

    #[test]
    fn a_curve_that_ends_at_a_small_order_is_found() {
        for largest in [1.001, 1.5, 4.0, 1e3] {
            let curve = |order: f64| if order <= largest { gaussian(1.0)(order) } else { f64::INFINITY };
            let found = Orders::Continuous.epsilon(&curve, Conversion::Mironov2017, Delta::new(1e-5).unwrap());
            let best = if largest > 10.0 {
                0.5 + (2.0 * 1e5_f64.ln()).sqrt()
            } else {
                largest / 2.0 + 1e5_f64.ln() / (largest - 1.0)
            };
            assert!(found >= best * (1.0 - 1e-12) && found <= best * (1.0 + 1e-4), "{largest}: {found} {best}");
        }
    }

    #[test]
    fn delta_inverts_epsilon() {
        for conversion in [Conversion::Mironov2017, Conversion::Canonne2020] {
            let delta = Delta::new(1e-6).unwrap();
            let epsilon = Orders::Continuous.epsilon(&gaussian(2.0), conversion, delta);
            let back = Orders::Continuous.delta(&gaussian(2.0), conversion, Epsilon::new(epsilon).unwrap());
            assert!((back / 1e-6 - 1.0).abs() < 1e-6, "{back}");
        }
    }

    #[test]
    fn the_newer_conversion_is_never_worse() {
        for order in [1.01, 2.0, 77.0] {
            let ln_delta = Interval::exact(1e-5).ln();
            assert!(
                Conversion::Canonne2020.epsilon_at(0.5, order, ln_delta)
                    < Conversion::Mironov2017.epsilon_at(0.5, order, ln_delta)
            );
        }
    }
}
