//! δ(ε) on a fixed contour, with every error term added to the interval.
//!
//! δ(ε) = (1/2πi) ∫ e^{K(s) − sε} / (s(s+1)) ds along Re s = c > 0. Sampled at s = c + iu, u = k·du, the infinite sum
//! equals Σ_j e^{cjP} δ(ε + jP) with P = 2π/du (Poisson summation). docs/maths/contour.md has the proofs.
//!
//! Errors that are added: truncation of the line, aliasing of the sampled integral, quadrature of each law, rounding of amplitudes and
//! angles, and the mass that was cut. `docs/maths/contour.md` derives each.

use super::choose::{ContourLine, Saddle, line, log_chernoff};
use super::cumulant::Sketch;
use super::factor::{Factor, FactorSum, log_moment_above, prepare};
use super::law::Laws;
use super::segment::U;
use super::slices::Slices;
use crate::accounting::Bounds;

/// log of the largest cancellation that is attempted.
const MOST_CANCELLATION: f64 = 22.0;

/// Grid points over which a contour is refused.
const MOST_POINTS: f64 = 1e6;

/// How far the sketch of M(c) may be off.
const MOMENT_MARGIN: f64 = 1.0 + 1e-6;

/// A sampled contour. One contour serves all ε near the one that it was made for.
#[derive(Debug, Clone)]
pub(super) struct Contour {
    c: f64,
    du: f64,
    /// K(c) and its absolute error.
    log_moment: f64,
    log_moment_error: f64,
    /// |F(k du)| du/π, half of it for k = 0.
    amplitude: Vec<f64>,
    /// arg F(k·du): the angle of the integrand at grid point k.
    angle: Vec<f64>,
    /// Σ amplitude · (relative error), without what depends on ε.
    error: f64,
    /// The bound of the terms with k ≥ n, relative to e^{K − cε}.
    truncation: f64,
    /// Abscissa and an upper bound of K for the aliases on the right.
    right: (f64, f64),
    /// T η, and bounds of the probability of an infinite loss.
    lost: f64,
    infinite: (f64, f64),
}

/// K(c), the logarithm of the moment on the line, and a bound of its error.
struct LogMoment {
    value: f64,
    error: f64,
}

/// Why no contour was made.
pub(super) enum ContourRefusal {
    /// The saddle point or the line was not found, or the cancellation is too large.
    Cancellation,
    /// The loss law is too discrete or the steps too few: the integrand does not decay in reach.
    Work,
}

/// The smallest U at which the truncation bound is below e^{log_target}, by bisection of log U.
fn truncation_point(laws: &Laws, slices: &[Slices], scale: f64, log_target: f64) -> Option<f64> {
    let excess = |u: f64| log_truncation(laws, slices, u) + scale - log_target;
    let (mut low, mut high) = (1e-9, 1e-6);
    while excess(high) > 0.0 {
        (low, high) = (high, high * 8.0);
        if high > 1e9 {
            return None;
        }
    }
    while high / low > 1.02 {
        let middle = libm::sqrt(low * high);
        (low, high) = if excess(middle) > 0.0 { (middle, high) } else { (low, middle) };
    }
    Some(high)
}

/// log of (1/(πU)) Π sup |φ_i|^{T_i} over u ≥ U: what the terms beyond U can add, relative to e^{K − cε}.
///
/// Σ_{k ≥ n} du / u² ≤ 1/U for U = (n−1) du, and |s(s+1)| ≥ u².
fn log_truncation(laws: &Laws, slices: &[Slices], u: f64) -> f64 {
    let decay: f64 = laws.laws.iter().zip(slices).map(|(law, slices)| law.steps * slices.log_bound(u)).sum();
    decay - 0.5 * laws.gaussian * u * u * (1.0 - U * laws.gaussian_units()) - libm::log(std::f64::consts::PI * u) + 1e-9
}

impl Contour {
    /// A contour for ε near the saddle's, with each error term near `tolerance`·δ if the saddle's δ is right.
    pub(super) fn new(laws: &Laws, sketch: &Sketch, saddle: &Saddle, tolerance: f64) -> Result<Self, ContourRefusal> {
        let log_target = saddle.log_delta + libm::log(tolerance);
        let line = line(sketch, saddle, log_target).ok_or(ContourRefusal::Cancellation)?;
        if line.cancellation > MOST_CANCELLATION {
            return Err(ContourRefusal::Cancellation);
        }
        let moments = sketch.log_moments(line.c);
        let slices: Vec<Slices> = (laws.laws.iter().zip(&moments))
            .map(|(law, log)| Slices::new(law, line.c, libm::exp(*log) * MOMENT_MARGIN))
            .collect();
        let scale = line.log_moment - line.c * saddle.epsilon.max(0.0);
        let u_max = truncation_point(laws, &slices, scale, log_target).ok_or(ContourRefusal::Work)?;
        let du = 2.0 * std::f64::consts::PI / line.period;
        let n = libm::ceil(u_max / du) + 2.0;
        if n.is_nan() || n > MOST_POINTS {
            return Err(ContourRefusal::Work);
        }
        let prepared = prepare(laws, &line, n, du, tolerance, &moments)?;
        // The slices were made before M(c) was known with a proof.
        if prepared.iter().zip(&moments).any(|(one, log)| one.moment.upper() > libm::exp(*log) * MOMENT_MARGIN) {
            return Err(ContourRefusal::Cancellation);
        }
        let mut contour = Self::sample(laws, &prepared, &line, du, n as usize);
        contour.truncation = libm::exp(log_truncation(laws, &slices, du * (n - 1.0)));
        contour.right = (line.right, log_moment_above(laws, &prepared, line.right));
        Ok(contour)
    }

    /// The integrand on the grid.
    fn sample(laws: &Laws, prepared: &[Factor], line: &ContourLine, du: f64, n: usize) -> Self {
        let c = line.c;
        let g = laws.gaussian;
        let mut sums: Vec<FactorSum> = (0..n)
            .map(|k| {
                let u = k as f64 * du;
                let (log_amplitude, angle) = (-0.5 * g * u * u, g * u * (c + 0.5));
                let size = log_amplitude.abs() + angle;
                FactorSum { log_amplitude, angle, error: U * laws.gaussian_units() * size, size }
            })
            .collect();
        let mut k = laws.gaussian_cumulant(c);
        let mut k_error = U * laws.gaussian_units() * k;
        let mut phi = vec![(0.0, 0.0); n];
        for one in prepared {
            let m = one.moment;
            let log = libm::log1p(m.excess);
            k += one.law.steps * log;
            let relative = m.error / (1.0 + m.excess - m.error).max(f64::MIN_POSITIVE);
            k_error += one.law.steps * (relative + 10.0 * U * log.abs());
            one.add_to(&mut sums, &mut phi, du, c);
        }
        k_error += U * (laws.laws.len() as f64 + 2.0) * k.abs();
        Self::from_sums(laws, &sums, c, du, LogMoment { value: k, error: k_error })
    }

    /// F = Π φ^T / (s(s+1)) from the sums of logarithms.
    fn from_sums(laws: &Laws, sums: &[FactorSum], c: f64, du: f64, moment: LogMoment) -> Self {
        let (mut amplitude, mut angle, mut error) = (Vec::new(), Vec::new(), 0.0);
        let many = laws.laws.len() as f64 + 4.0;
        for (k, sum) in sums.iter().enumerate() {
            let u = k as f64 * du;
            let half = if k == 0 { 0.5 } else { 1.0 };
            let modulus = libm::sqrt((c * c + u * u) * ((c + 1.0) * (c + 1.0) + u * u));
            let a = half * libm::exp(sum.log_amplitude) / modulus * du / std::f64::consts::PI;
            let turn = sum.angle - libm::atan2(u, c) - libm::atan2(u, c + 1.0);
            let relative = libm::expm1(sum.error + U * (many * sum.size + 2.0 * turn.abs() + 64.0));
            // The smallest normal number stands for an amplitude that underflows.
            error += a * relative + f64::MIN_POSITIVE * (1.0 + relative);
            amplitude.push(a);
            angle.push(turn);
        }
        Self {
            c,
            du,
            log_moment: moment.value,
            log_moment_error: moment.error,
            amplitude,
            angle,
            error,
            truncation: f64::INFINITY,
            right: (0.0, f64::INFINITY),
            lost: laws.lost(),
            infinite: laws.infinite(),
        }
    }

    /// The sampled sum V(ε) / e^{K − cε} and its derivative in ε, relative to the same factor.
    fn value(&self, epsilon: f64) -> (f64, f64) {
        let (mut value, mut slope) = (0.0, 0.0);
        for (k, (a, angle)) in self.amplitude.iter().zip(&self.angle).enumerate() {
            let u = k as f64 * self.du;
            let (sin, cos) = libm::sincos(angle - u * epsilon);
            value += a * cos;
            slope += a * (u * sin - self.c * cos);
        }
        (value, slope)
    }

    /// Bounds of the aliases on the left, Σ_{m≥1} e^{−cmP} δ(ε − mP), from 1 − Tη − p_∞ − e^{ε'} ≤ δ(ε') ≤ 1.
    fn left_aliases(&self, epsilon: f64) -> (f64, f64) {
        let period = 2.0 * std::f64::consts::PI / self.du;
        let slack = U * (40.0 + 16.0 * ((self.c + 1.0) * period + epsilon));
        let all = 1.0 / libm::expm1(self.c * period);
        // Σ e^{−cmP} e^{ε−mP}, three times, as the columns of a finite pair sum to one only within 1e-12 per step.
        let fall = (self.c + 1.0) * period;
        let missing = 3.0 * libm::exp(epsilon - fall) / -libm::expm1(-fall) * (1.0 + slack);
        let mass = 1.0 - self.lost - self.infinite.1;
        (((mass * all) * (1.0 - slack) - missing).max(0.0), all * (1.0 + slack))
    }

    /// A bound of the aliases on the right, Σ_{j≥1} e^{cjP} δ(ε + jP), by Chernoff's bound at an abscissa over c.
    fn right_aliases(&self, epsilon: f64) -> f64 {
        let (right, log_moment) = self.right;
        let period = 2.0 * std::f64::consts::PI / self.du * (1.0 - 4.0 * U);
        let log = log_moment - right * epsilon + log_chernoff(right);
        libm::exp(log + 1e-12 * (1.0 + log.abs() + right * epsilon)) / libm::expm1((right - self.c) * period) * 1.001
    }

    /// Certified bounds of δ(ε).
    pub(super) fn bounds(&self, epsilon: f64) -> Bounds {
        let scale = libm::exp(self.log_moment - self.c * epsilon);
        let value = self.value(epsilon).0;
        let total: f64 = self.amplitude.iter().sum();
        let n = self.amplitude.len() as f64;
        let phase = U * (3.0 * self.du * n * epsilon + n + 24.0);
        let relative = self.error + self.truncation + total * phase;
        let exponent = self.log_moment.abs() + self.c * epsilon;
        let wide = libm::expm1(self.log_moment_error + U * (3.0 * exponent + 16.0));
        let radius = scale * (relative * (1.0 + wide) + value.abs() * wide);
        let (left_low, left_high) = self.left_aliases(epsilon);
        let v = scale * value;
        let tiny = 8.0 * U * (v.abs() + left_high);
        let lower = v - radius - left_high - self.right_aliases(epsilon) - tiny + self.infinite.0;
        let upper = v + radius - left_low + tiny + self.lost + self.infinite.1;
        if lower <= upper { Bounds::between(lower, upper.min(1.0)) } else { Bounds::between(0.0, 1.0) }
    }

    /// The middle estimate of δ(ε) and its derivative, for Newton's method.
    pub(super) fn estimate(&self, epsilon: f64) -> (f64, f64) {
        let scale = libm::exp(self.log_moment - self.c * epsilon);
        let (value, slope) = self.value(epsilon);
        let (low, high) = self.left_aliases(epsilon);
        (scale * value - 0.5 * (low + high) + self.infinite.0, scale * slope)
    }
}

#[cfg(test)]
mod budget;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;
    use crate::accounting::pair::DominatingPair;

    /// Lines, lengths and panels differ with the tolerance; what they certify must have a point in common.
    #[test]
    fn contours_of_all_precisions_agree() {
        for (pair, steps, epsilon) in [
            (DominatingPair::GaussianRemove { q: 0.01, s: 1.0 }, 10_000, 6.0),
            (DominatingPair::GaussianAdd { q: 0.3, s: 0.7 }, 300, 40.0),
            (DominatingPair::GaussianSubstitute { q: 0.05, s: 0.6 }, 400, 5.0),
            (DominatingPair::GaussianFixed { q: 0.02, s: 1.0 }, 1000, 4.0),
            (DominatingPair::Gaussian { s: 10.0 }, 100, 5.0),
        ] {
            let laws = Laws::new(&[(pair.clone(), Steps::new(steps).unwrap())], 1e-24);
            let sketch = Sketch::new(&laws);
            let saddle = Saddle { epsilon, ..Saddle::for_epsilon(&sketch, epsilon).unwrap() };
            let mut common = Bounds { lower: 0.0, upper: 1.0 };
            for tolerance in [1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12] {
                let contour = Contour::new(&laws, &sketch, &saddle, tolerance).ok().unwrap();
                let bounds = contour.bounds(epsilon);
                assert!(bounds.intersects(&common), "{pair:?} at {tolerance}: {bounds:?} {common:?}");
                assert!(bounds.relative_width() < 10.0 * tolerance + 1e-9, "{pair:?} at {tolerance}: {bounds:?}");
                common = Bounds { lower: common.lower.max(bounds.lower), upper: common.upper.min(bounds.upper) };
            }
        }
    }

    /// However much is cut away, the interval holds the answer: what is lost is added at the top.
    #[test]
    fn a_rough_cut_widens_the_interval_and_keeps_the_answer() {
        let composition = [(DominatingPair::GaussianRemove { q: 1e-3, s: 0.6 }, Steps::new(10_000).unwrap())];
        let epsilon = 4.0;
        let at = |mass: f64| {
            let laws = Laws::new(&composition, mass);
            let sketch = Sketch::new(&laws);
            let saddle = Saddle { epsilon, ..Saddle::for_epsilon(&sketch, epsilon).unwrap() };
            Contour::new(&laws, &sketch, &saddle, 1e-9).ok().unwrap().bounds(epsilon)
        };
        let fine = at(1e-20);
        for mass in [1e-8, 1e-9, 1e-11] {
            let rough = at(mass);
            assert!(rough.lower <= fine.upper && fine.lower <= rough.upper, "{mass}: {rough:?} {fine:?}");
            assert!(rough.upper - rough.lower > 0.1 * mass, "{mass}: {rough:?}");
            assert!(rough.upper - rough.lower < 2.0 * mass + 1e-8 * fine.upper, "{mass}: {rough:?}");
        }
        assert!(at(1e-8).lower + 1e-10 < fine.lower, "the cut must matter for the test to mean anything");
    }
}
