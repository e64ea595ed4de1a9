//! Where to look: tilt, step and window by a saddle point of a rough law. Nothing here is certified, nothing needs to be.
//!
//! Saddle points of a rough law tell where the mass that decides δ lies. Window, step and tilt follow from that. Whatever they are, the
//! bounds that are computed afterwards hold.

use super::Interval;
use super::law::{LossLaw, LossRange};

/// Points by which the density part of a law is represented.
const POINTS: usize = 240;

/// Losses and masses of each step, roughly, and how often it occurs.
pub(super) struct Rough {
    steps: Vec<(Vec<(f64, f64)>, f64)>,
    /// Least and largest loss of the composition.
    ends: (f64, f64),
    /// By how much the largest loss of a step may be missed.
    margin: f64,
}

/// Derivatives 0, 1 and 2 of K(λ) = Σ T log E e^{λL}.
#[derive(Debug, Clone, Copy)]
pub(super) struct TiltedCumulants {
    pub(super) value: f64,
    mean: f64,
    variance: f64,
}

/// A tilt, the ε whose saddle point it is, and log δ there.
#[derive(Debug, Clone, Copy)]
pub(super) struct TiltedSaddle {
    pub(super) tilt: f64,
    pub(super) epsilon: f64,
    pub(super) log_delta: f64,
}

impl Rough {
    /// Points of every law between the ends that will be kept.
    pub(super) fn new(laws: &[(LossLaw, f64)], ranges: &[LossRange]) -> Self {
        let steps = laws.iter().zip(ranges).map(|((law, count), &range)| (points(law, range), *count)).collect();
        let (mut ends, mut margin) = ((0.0, 0.0), 0.0_f64);
        for ((law, count), &range) in laws.iter().zip(ranges) {
            let LossRange { low, high } = law.ends(range);
            // Points and cells miss the ends of a law by about a hundredth.
            let reach = 0.02 * (high - low);
            ends = (ends.0 + count * (low - reach), ends.1 + count * (high + reach));
            margin = margin.max(reach);
        }
        Self { steps, ends, margin }
    }

    /// K and its derivatives.
    pub(super) fn cumulants(&self, tilt: f64) -> TiltedCumulants {
        let mut sum = TiltedCumulants { value: 0.0, mean: 0.0, variance: 0.0 };
        for (points, count) in &self.steps {
            let most = points.iter().fold(f64::NEG_INFINITY, |m: f64, p| m.max(tilt * p.0));
            let (mut m0, mut m1, mut m2) = (0.0, 0.0, 0.0);
            for &(loss, mass) in points {
                let weight = mass * libm::exp(tilt * loss - most);
                m0 += weight;
                m1 += weight * loss;
                m2 += weight * loss * loss;
            }
            let mean = m1 / m0;
            sum.value += count * (libm::log(m0) + most);
            sum.mean += count * mean;
            sum.variance += count * (m2 / m0 - mean * mean).max(0.0);
        }
        sum
    }

    /// The saddle point of K(λ) − λε − log λ(λ+1) at tilt λ: the ε there, and log δ by Laplace's method.
    pub(super) fn saddle(&self, tilt: f64) -> TiltedSaddle {
        let k = self.cumulants(tilt);
        let epsilon = k.mean - 1.0 / tilt - 1.0 / (tilt + 1.0);
        let curvature = k.variance + 1.0 / (tilt * tilt) + 1.0 / ((tilt + 1.0) * (tilt + 1.0));
        let front = libm::log(tilt * (tilt + 1.0)) + 0.5 * libm::log(std::f64::consts::TAU * curvature);
        TiltedSaddle { tilt, epsilon, log_delta: k.value - tilt * epsilon - front }
    }

    /// The tilt from which on `reached` holds, by bisection.
    pub(super) fn find(&self, reached: impl Fn(&TiltedSaddle) -> bool) -> TiltedSaddle {
        let (mut low, mut high) = (-7.0_f64, 25.0_f64);
        for _ in 0..38 {
            let middle = 0.5 * (low + high);
            match reached(&self.saddle(libm::exp(middle))) {
                true => high = middle,
                false => low = middle,
            }
        }
        self.saddle(libm::exp(high))
    }

    /// Losses outside of which the tilted composition has at most mass e^{−depth} at either end, by Chernoff's bound.
    pub(super) fn window(&self, tilt: f64, depth: f64) -> (f64, f64) {
        let here = self.cumulants(tilt).value;
        let bound = |theta: f64| (self.cumulants(tilt + theta).value - here + depth) / theta;
        let high = (minimise(&bound) + self.margin).min(self.ends.1);
        let low = (-minimise(&|theta: f64| -bound(-theta)) - self.margin).max(self.ends.0);
        (low, high)
    }

    /// Root mean square distance of the loss of a step from the anchor under the tilt, for each law.
    pub(super) fn sizes(&self, tilt: f64, anchors: &[f64]) -> Vec<f64> {
        let of = |points: &[(f64, f64)], anchor: f64| {
            let most = points.iter().fold(f64::NEG_INFINITY, |m: f64, p| m.max(tilt * p.0));
            let (mut m0, mut m2) = (0.0, 0.0);
            for &(loss, mass) in points {
                let weight = mass * libm::exp(tilt * loss - most);
                m0 += weight;
                m2 += weight * (loss - anchor) * (loss - anchor);
            }
            (m2 / m0).sqrt()
        };
        self.steps.iter().zip(anchors).map(|((points, _), &anchor)| of(points, anchor)).collect()
    }

    /// E|L| of a step, on average over the composition: the scale of its bulk, whatever its tails.
    pub(super) fn typical_loss(&self) -> f64 {
        let (mut sum, mut total) = (0.0, 0.0);
        for (points, count) in &self.steps {
            sum += count * points.iter().map(|p| p.1 * p.0.abs()).sum::<f64>();
            total += count;
        }
        sum / total
    }
}

/// Least value of a function of θ > 0 that falls and then rises, over a wide range, by golden section in log θ.
pub(super) fn minimise(f: &dyn Fn(f64) -> f64) -> f64 {
    let ratio = 0.618_033_988_749_895;
    let (mut low, mut high) = (-7.0_f64, 22.0_f64);
    let at = |t: f64| f(libm::exp(t));
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut fa, mut fb) = (at(a), at(b));
    for _ in 0..17 {
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - ratio * (high - low);
            fa = at(a);
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + ratio * (high - low);
            fb = at(b);
        }
    }
    fa.min(fb)
}

/// A law as a few hundred points. Of many atoms, neighbours are taken together.
fn points(law: &LossLaw, range: LossRange) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = if law.is_dense() {
        let wide = law.atoms.len().div_ceil(2 * POINTS);
        law.atoms.chunks(wide).map(together).collect()
    } else {
        law.atoms.iter().map(|atom| together(std::slice::from_ref(atom))).collect()
    };
    if let Some(density) = &law.density {
        out.extend(density.sketch(range, POINTS));
    }
    out.retain(|p| p.1 > 0.0);
    out
}

/// Mean loss and mass of some atoms.
fn together(atoms: &[(Interval, Interval)]) -> (f64, f64) {
    let (mut sum, mut mass) = (0.0, 0.0);
    for (loss, p) in atoms {
        sum += 0.5 * (loss.lo + loss.hi) * p.hi;
        mass += p.hi;
    }
    (sum / mass.max(f64::MIN_POSITIVE), mass)
}
