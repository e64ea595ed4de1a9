//! Where to put the contour: the saddle point, the abscissa c and the period P. Nothing here needs to be exact.
//!
//! A bad choice costs work or a wider interval, never a wrong answer: bounds are computed for whatever line was chosen.

use super::cumulant::Sketch;

/// The saddle point of e^{K(s) − sε} / (s(s+1)) on the positive line, and the δ that its expansion gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saddle {
    pub(super) c: f64,
    pub(super) epsilon: f64,
    pub(super) log_delta: f64,
}

impl Saddle {
    /// The ε whose saddle point is c, and log δ(ε) by the first term of the expansion.
    fn at(sketch: &Sketch, c: f64) -> Self {
        let k = sketch.cumulants(c);
        let epsilon = k.k1 - 1.0 / c - 1.0 / (c + 1.0);
        let curvature = k.k2 + 1.0 / (c * c) + 1.0 / ((c + 1.0) * (c + 1.0));
        let log_delta =
            k.k - c * epsilon - libm::log(c * (c + 1.0)) - 0.5 * libm::log(2.0 * std::f64::consts::PI * curvature);
        Self { c, epsilon, log_delta }
    }

    /// The saddle for a given log δ.
    pub(super) fn for_delta(sketch: &Sketch, log_delta: f64) -> Option<Self> {
        Self::solve(sketch, |saddle| log_delta - saddle.log_delta)
    }

    /// The saddle for a given ε.
    pub(super) fn for_epsilon(sketch: &Sketch, epsilon: f64) -> Option<Self> {
        Self::solve(sketch, |saddle| (saddle.epsilon - epsilon) * saddle.c)
    }

    /// The c where a miss in log δ changes its sign upwards, by bracketing in log c and then false position (Illinois).
    fn solve(sketch: &Sketch, miss: impl Fn(&Self) -> f64) -> Option<Self> {
        let at = |log_c: f64| {
            let saddle = Self::at(sketch, libm::exp(log_c));
            let value = miss(&saddle);
            (log_c, if value.is_nan() { f64::INFINITY } else { value }, saddle)
        };
        let (mut low, mut high) = (at(1.0), at(1.0));
        let mut reach = 1.0;
        while low.1 > 0.0 || high.1 < 0.0 {
            if low.1 > 0.0 {
                (high, low) = (low, at(low.0 - reach));
            } else {
                (low, high) = (high, at(high.0 + reach));
            }
            reach *= 1.5;
            if reach > 40.0 {
                return None;
            }
        }
        let (mut low_weight, mut high_weight) = (low.1, high.1);
        for _ in 0..40 {
            let share = if high_weight.is_finite() { low_weight / (low_weight - high_weight) } else { 0.5 };
            let middle = at(low.0 + (high.0 - low.0) * share.clamp(0.02, 0.98));
            if middle.1.abs() < 0.01 || high.0 - low.0 < 1e-4 {
                return Some(middle.2);
            }
            if middle.1 < 0.0 {
                (low, low_weight, high_weight) = (middle, middle.1, 0.5 * high_weight);
            } else {
                (high, high_weight, low_weight) = (middle, middle.1, 0.5 * low_weight);
            }
        }
        Some(high.2)
    }
}

/// A vertical line in the complex plane, sampled with period P in ε.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContourLine {
    /// Abscissa c > 0 of the line s = c + iu.
    pub(super) c: f64,
    /// Abscissa of the bound of the aliases on the right, over c.
    pub(super) right: f64,
    /// P = 2π / du.
    pub(super) period: f64,
    /// κ: log of the cancellation, the largest term against δ.
    pub(super) cancellation: f64,
    /// K(c), roughly: a guide for choices, never part of a bound.
    pub(super) log_moment: f64,
}

/// Candidates for c and for the right alias's abscissa, as multiples of the saddle point.
const MULTIPLES: [f64; 9] = [0.35, 0.45, 0.57, 0.7, 0.85, 1.02, 1.25, 1.6, 2.1];

/// log of the largest (1 − e^{−y}) e^{−cy} over y ≥ 0: c log c − (1+c) log(1+c), written without cancellation.
pub(super) fn log_chernoff(c: f64) -> f64 {
    -libm::log1p(c) - c * libm::log1p(1.0 / c)
}

/// The line with the smallest period whose aliases stay under e^{log_alias}, at a fair price for cancellation.
pub(super) fn line(sketch: &Sketch, saddle: &Saddle, log_alias: f64) -> Option<ContourLine> {
    let epsilon = saddle.epsilon.max(0.0);
    let table: Vec<(f64, f64)> = MULTIPLES.iter().map(|m| m * saddle.c).map(|c| (c, sketch.k(c))).collect();
    let mut best: Option<(f64, ContourLine)> = None;
    for (i, &(c, k)) in table.iter().enumerate().filter(|(_, t)| t.0 <= 1.05 * saddle.c) {
        let cancellation = k - c * epsilon - libm::log(c * (c + 1.0)) - saddle.log_delta;
        let left = (epsilon - log_alias) / (1.0 + c);
        for &(right, k_right) in &table[i + 1..] {
            let need = (k_right - right * epsilon + log_chernoff(right) - log_alias) / (right - c);
            let period = need.max(left).max(1.02 * epsilon);
            let cost = period * (1.0 + 0.5 * (cancellation - 7.0).max(0.0));
            if cost.is_finite() && best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, ContourLine { c, right, period, cancellation, log_moment: k }));
            }
        }
    }
    best.map(|(_, line)| line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;
    use crate::accounting::contour::law::Laws;
    use crate::accounting::pair::DominatingPair;

    fn sketch() -> Sketch {
        let steps = Steps::new(10_000).unwrap();
        Sketch::new(&Laws::new(&[(DominatingPair::GaussianRemove { q: 0.01, s: 1.0 }, steps)], 1e-15))
    }

    #[test]
    fn the_saddle_is_near_the_answer() {
        let saddle = Saddle::for_delta(&sketch(), libm::log(1e-5)).unwrap();
        assert!((saddle.epsilon - 6.187_712).abs() < 0.02, "{saddle:?}");
        let back = Saddle::for_epsilon(&sketch(), saddle.epsilon).unwrap();
        assert!((back.c / saddle.c - 1.0).abs() < 1e-2);
    }

    #[test]
    fn the_line_is_left_of_its_alias_bound_and_not_far_from_the_saddle() {
        let sketch = sketch();
        let saddle = Saddle::for_delta(&sketch, libm::log(1e-5)).unwrap();
        let line = line(&sketch, &saddle, libm::log(1e-15)).unwrap();
        assert!(line.c < line.right && line.period > saddle.epsilon && line.cancellation < 10.0, "{line:?}");
    }
}
