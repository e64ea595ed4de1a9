//! One analytic piece of a step's loss law: a range of x with density p(x) and privacy loss l(x).
//!
//! p(x) = (1−q) k(x) + q k(x−d) and l(x) = log w_d(x) − log w_e(x), where k is the noise density, d and e are the
//! shifts of P and Q, and w_d(x) = 1−q + q e^{t_d(x)} is the likelihood ratio of a mixture against the noise, with t_d
//! affine in x. A shift of 0 means w = 1. All of this is analytic in x, which is what the quadrature needs.
//!
//! On a segment the loss is monotone, and density and loss extend into the complex plane, which the quadrature bound needs.

/// Unit round-off of a double.
pub(super) const U: f64 = 1.0 / 9_007_199_254_740_992.0;

/// The noise density k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum NoiseDensity {
    /// The normal density N(0, s²).
    Gaussian,
    /// Laplace(0, s), on 0 ≤ x ≤ 1 only, where k(x) and k(x−1) are exponentials.
    Laplace,
}

/// A piece of a law on x = origin + unit·i, from ≤ i ≤ to. `unit` is a power of two, so that ends are exact.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    pub(super) kernel: NoiseDensity,
    /// Standard deviation or scale of the noise.
    pub(super) s: f64,
    /// Sampling rate; one means no sampling.
    pub(super) q: f64,
    /// d: shift of P.
    pub(super) p_shift: f64,
    /// e: shift of Q.
    pub(super) q_shift: f64,
    pub(super) origin: f64,
    pub(super) unit: f64,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// Density and loss at a point. Errors are in units of round-off: relative for the density, absolute for the loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct DensityPoint {
    pub(super) density: f64,
    pub(super) density_error: f64,
    pub(super) loss: f64,
    pub(super) loss_error: f64,
    /// |d/dx| of the two logarithms in the loss; each is monotone in x.
    pub(super) slopes: [f64; 2],
}

/// log w at t, with its absolute error in units of round-off and the share r = q e^t / w, the derivative in t.
#[derive(Debug, Clone, Copy)]
struct LogRatio {
    value: f64,
    error: f64,
    share: f64,
}

/// log(1−q + q e^t), given t within 3 units of round-off (relative).
///
/// Below t = 40 through expm1 and log1p; error 3 r|t| from t, 9 |w−1|/w from q·expm1, 8 |log w| from log1p.
/// Above, where e^t may overflow, as t + log q + log1p(((1−q)/q) e^{−t}), with 16 |log q| for what log q and e^{−t} add.
fn log_ratio(q: f64, t: f64) -> LogRatio {
    if q == 1.0 {
        LogRatio { value: t, error: 3.0 * t.abs(), share: 1.0 }
    } else if t > 40.0 {
        let rest = (1.0 - q) / q * libm::exp(-t);
        let value = t + libm::log(q) + libm::log1p(rest);
        LogRatio {
            value,
            error: 3.0 * t + 16.0 * libm::log(q).abs() + 2.0 * value.abs() + 24.0,
            share: 1.0 / (1.0 + rest),
        }
    } else {
        // e^t and e^t − 1, each without cancellation.
        let (whole, less) = if t < -1.0 {
            let e = libm::exp(t);
            (e, e - 1.0)
        } else {
            let e = libm::expm1(t);
            (e + 1.0, e)
        };
        let y = q * less;
        let w = 1.0 + y;
        let value = libm::log1p(y);
        let share = q * whole / w;
        LogRatio { value, error: 3.0 * share * t.abs() + 9.0 * y.abs() / w + 8.0 * value.abs(), share }
    }
}

/// w = 1−q + q e^{t+iθ'} on the rectangle t ∈ [low, high], |θ'| ≤ θ.
struct Rectangle {
    low: f64,
    high: f64,
    theta: f64,
}

/// The share r = ρ/(1+ρ) below which ρ = q e^t/(1−q) is at most 0.9.
const SMALL_SHARE: f64 = 0.47;

/// The share over which ρ is at least 1.2.
const LARGE_SHARE: f64 = 0.55;

impl Rectangle {
    /// log of a bound of |w| from above, and a bound of |arg w|; `None` where w may vanish.
    ///
    /// |w| ≤ w(t). |arg w| ≤ θ r for ρ ≤ 1, and ≤ θ for θ < π. For ρ > 1 factor e^{t+iθ} out: |arg w| ≤ θ + π/2.
    fn above(&self, q: f64) -> Option<(f64, f64)> {
        if q == 1.0 {
            return Some((self.high, self.theta));
        }
        let top = log_ratio(q, self.high);
        if top.share <= SMALL_SHARE {
            return Some((top.value, self.theta * top.share));
        }
        if self.theta <= 3.0 {
            return Some((top.value, self.theta));
        }
        (log_ratio(q, self.low).share >= LARGE_SHARE).then_some((top.value, self.theta + 1.6))
    }

    /// log of a bound of |w| from below, and a bound of |arg w|; `None` where w may vanish.
    ///
    /// |w|² = w(t)²(1 − 4r(1−r) sin²(θ'/2)), with 4r(1−r) increasing for r < ½. For ρ > 1, |w| ≥ w(t)(2r−1).
    fn below(&self, q: f64) -> Option<(f64, f64)> {
        if q == 1.0 {
            return Some((self.low, self.theta));
        }
        let (bottom, share) = (log_ratio(q, self.low), log_ratio(q, self.high).share);
        if share <= SMALL_SHARE {
            let half = libm::sin(0.5 * self.theta.min(std::f64::consts::PI));
            let least = bottom.value + 0.5 * libm::log1p(-4.0 * share * (1.0 - share) * half * half);
            return Some((least, self.theta * share));
        }
        if self.theta <= 3.0 {
            return Some((bottom.value + libm::log(libm::cos(0.5 * self.theta)), self.theta));
        }
        (bottom.share >= LARGE_SHARE).then(|| (bottom.value + libm::log(2.0 * bottom.share - 1.0), self.theta + 1.6))
    }
}

impl Segment {
    /// The position of index i, exactly.
    pub(super) fn at(&self, i: i64) -> f64 {
        self.origin + self.unit * i as f64
    }

    /// −log k(x−shift) up to its constant.
    fn exponent(&self, shift: f64, x: f64) -> f64 {
        match self.kernel {
            NoiseDensity::Gaussian => (x - shift) * (x - shift) / (2.0 * self.s * self.s),
            NoiseDensity::Laplace if shift == 0.0 => x / self.s,
            NoiseDensity::Laplace => (1.0 - x) / self.s,
        }
    }

    /// Smallest real part of the exponent on [x0, x1] + i[−y, y].
    fn least_exponent(&self, shift: f64, x0: f64, x1: f64, y: f64) -> f64 {
        let ends = self.exponent(shift, x0).min(self.exponent(shift, x1));
        match self.kernel {
            NoiseDensity::Laplace => ends,
            NoiseDensity::Gaussian => {
                let inside = x0 <= shift && shift <= x1;
                (if inside { 0.0 } else { ends }) - y * y / (2.0 * self.s * self.s)
            }
        }
    }

    /// |d/dx| of the exponent.
    fn exponent_slope(&self, shift: f64, x: f64) -> f64 {
        match self.kernel {
            NoiseDensity::Gaussian => (x - shift).abs() / (self.s * self.s),
            NoiseDensity::Laplace => 1.0 / self.s,
        }
    }

    /// The integral of e^{−exponent} over the line, by which k is divided.
    fn norm(&self) -> f64 {
        match self.kernel {
            NoiseDensity::Gaussian => self.s * 2.506_628_274_631_000_5,
            NoiseDensity::Laplace => 2.0 * self.s,
        }
    }

    /// t_d(x), with at most three roundings, all relative.
    fn tilt(&self, shift: f64, x: f64) -> f64 {
        match self.kernel {
            NoiseDensity::Gaussian => shift * (x - 0.5 * shift) / (self.s * self.s),
            NoiseDensity::Laplace => (2.0 * x - 1.0) / self.s,
        }
    }

    /// dt_d/dx, the slope of the tilt in the coordinate.
    pub(super) fn tilt_slope(&self, shift: f64) -> f64 {
        match self.kernel {
            NoiseDensity::Gaussian => shift / (self.s * self.s),
            NoiseDensity::Laplace => 2.0 * shift / self.s,
        }
    }

    /// The terms of p: (factor, shift).
    pub(super) fn terms(&self) -> [(f64, f64); 2] {
        if self.p_shift == 0.0 { [(1.0, 0.0), (0.0, 0.0)] } else { [(1.0 - self.q, 0.0), (self.q, self.p_shift)] }
    }

    /// Where the mixture of the given shift passes from one component to the other: t_d(x) = log((1−q)/q).
    pub(super) fn kink(&self, shift: f64) -> f64 {
        let level = libm::log((1.0 - self.q) / self.q);
        match self.kernel {
            NoiseDensity::Gaussian => 0.5 * shift + level / self.tilt_slope(shift),
            NoiseDensity::Laplace => 0.5 * (1.0 + self.s * level),
        }
    }

    /// Density and loss at x, where x itself may be off by `off` units of round-off (absolute).
    ///
    /// Exponent: at most 6 roundings, all relative; exp 8, norm 3, factors and sum 8; moving x by `off` moves the
    /// exponent by its slope. The loss is moved by its own slope.
    pub(super) fn point(&self, x: f64, off: f64) -> DensityPoint {
        let (mut density, mut error) = (0.0, 0.0);
        for (factor, shift) in self.terms().into_iter().filter(|t| t.0 > 0.0) {
            let exponent = self.exponent(shift, x);
            let term = factor * libm::exp(-exponent);
            density += term;
            error += term * (6.0 * exponent.abs() + 20.0 + self.exponent_slope(shift, x) * off);
        }
        let (mut loss, mut loss_error, mut slopes) = (0.0, 0.0, [0.0; 2]);
        let sides = [(1.0, self.p_shift), (-1.0, self.q_shift)];
        for (slope, (sign, shift)) in slopes.iter_mut().zip(sides).filter(|(_, side)| side.1 != 0.0) {
            let ratio = log_ratio(self.q, self.tilt(shift, x));
            let steep = ratio.share * self.tilt_slope(shift).abs();
            loss += sign * ratio.value;
            loss_error += ratio.error + ratio.value.abs() + steep * off;
            *slope = steep;
        }
        let density_error = if density > 0.0 { error / density } else { 0.0 };
        DensityPoint { density: density / self.norm(), density_error, loss, loss_error, slopes }
    }

    /// A lower bound of p on [x0, x1]: each term is log-concave, so its least value is at an end.
    pub(super) fn least_density(&self, x0: f64, x1: f64) -> f64 {
        let least = |(factor, shift): (f64, f64)| {
            if factor == 0.0 {
                0.0
            } else {
                factor * libm::exp(-self.exponent(shift, x0).max(self.exponent(shift, x1)))
            }
        };
        let [first, second] = self.terms();
        (least(first) + least(second)) / self.norm()
    }

    /// log of a bound of |p(z)| (|e^{(c+iu) l(z)}| + 1) over [x0, x1] + i[−y, y] and |u| ≤ u_max.
    pub(super) fn log_bound(&self, x0: f64, x1: f64, y: f64, c: f64, u_max: f64) -> f64 {
        let log_term = |(factor, shift): (f64, f64)| {
            if factor == 0.0 { f64::NEG_INFINITY } else { -self.least_exponent(shift, x0, x1, y) }
        };
        // A convex combination is at most its largest term.
        let [first, second] = self.terms().map(log_term);
        let rectangle = |shift: f64| {
            let (t0, t1) = (self.tilt(shift, x0), self.tilt(shift, x1));
            Rectangle { low: t0.min(t1), high: t0.max(t1), theta: self.tilt_slope(shift).abs() * y }
        };
        let one = Some((0.0, 0.0));
        let top = if self.p_shift == 0.0 { one } else { rectangle(self.p_shift).above(self.q) };
        let bottom = if self.q_shift == 0.0 { one } else { rectangle(self.q_shift).below(self.q) };
        let (Some((most, top_arg)), Some((least, bottom_arg))) = (top, bottom) else { return f64::INFINITY };
        let exponential = c * (most - least) + u_max * (top_arg + bottom_arg);
        let log = first.max(second) - libm::log(self.norm()) + exponential.max(0.0) + std::f64::consts::LN_2;
        if log.is_nan() { f64::INFINITY } else { log }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::double::{Double, TAU};

    fn segment(q: f64, s: f64, p_shift: f64, q_shift: f64) -> Segment {
        Segment { kernel: NoiseDensity::Gaussian, s, q, p_shift, q_shift, origin: 0.0, unit: 1.0, from: -9, to: 9 }
    }

    #[test]
    fn the_loss_is_the_log_ratio_of_densities() {
        for (q, s, d, e) in [(0.01, 1.0, 1.0, 0.0), (0.3, 0.7, 0.0, 1.0), (0.2, 2.0, 0.5, -0.5)] {
            let segment = segment(q, s, d, e);
            let mix = |shift: f64, x: f64| {
                let k = |x: f64| libm::exp(-x * x / (2.0 * s * s));
                if shift == 0.0 { k(x) } else { (1.0 - q) * k(x) + q * k(x - shift) }
            };
            for x in [-3.0, -0.4, 0.0, 0.5, 1.7, 4.0] {
                let point = segment.point(x, 0.0);
                assert!((point.loss - libm::log(mix(d, x) / mix(e, x))).abs() < 1e-13);
                assert!((point.density - mix(d, x) / segment.norm()).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn log_ratio_is_continuous_where_its_formula_changes() {
        for q in [1e-9, 0.5, 0.999_999] {
            let (below, above) = (log_ratio(q, 40.0), log_ratio(q, 40.0_f64.next_up()));
            assert!((below.value - above.value).abs() < 1e-13, "{q}");
            assert!((below.share - above.share).abs() < 1e-8, "{q}");
        }
        assert_eq!(log_ratio(1.0, 3.0).value, 3.0);
    }

    /// On a fine grid of the rectangle, the integrand stays under its bound.
    #[test]
    fn the_rectangle_bound_holds() {
        for (q, s, d, e) in [(0.01, 1.0, 1.0, 0.0), (0.3, 0.7, 0.0, 1.0), (0.2, 2.0, 0.5, -0.5), (0.9, 0.4, 1.0, 0.0)] {
            let segment = segment(q, s, d, e);
            let (c, u) = (7.0, 11.0);
            for (x0, x1, y) in [(-2.0, -1.0, 1.5), (0.2, 0.9, 0.4), (3.0, 5.0, 0.2)] {
                let bound = segment.log_bound(x0, x1, y, c, u);
                for i in 0..=20 {
                    let x = x0 + (x1 - x0) * f64::from(i) / 20.0;
                    let value = log_integrand(&segment, x, y, c, u);
                    assert!(value <= bound + 1e-9, "q {q} x {x}: {value} > {bound}");
                }
            }
        }
    }

    /// log |p(z) e^{(c±iu) l(z)}|, the larger sign, by following arg w up from the real line.
    fn log_integrand(segment: &Segment, x: f64, y: f64, c: f64, u: f64) -> f64 {
        let (q, s) = (segment.q, segment.s);
        let ratio = |shift: f64| {
            let (mut arg, mut abs) = (0.0, 0.0);
            let mut last = 0.0_f64;
            for k in 0..=1000 {
                let theta = segment.tilt_slope(shift) * y * f64::from(k) / 1000.0;
                let e = libm::exp(segment.tilt(shift, x));
                let (re, im) = (1.0 - q + q * e * libm::cos(theta), q * e * libm::sin(theta));
                let now = libm::atan2(im, re);
                let step = now - last;
                arg += step - 2.0 * std::f64::consts::PI * (step / (2.0 * std::f64::consts::PI)).round();
                last = now;
                abs = 0.5 * libm::log(re * re + im * im);
            }
            (abs, arg)
        };
        let (top, bottom) = (ratio(segment.p_shift), ratio(segment.q_shift));
        let density = -(x * x - y * y) / (2.0 * s * s) - libm::log(segment.norm());
        density
            + if segment.p_shift == 0.0 { 0.0 } else { top.0 }
            + c * (top.0 - bottom.0)
            + u * (top.1 - bottom.1).abs()
    }

    /// Density and loss of a Gaussian segment in about 106 bits.
    fn exact(segment: &Segment, x: Double) -> (Double, Double) {
        let number = Double::of;
        let (q, s) = (number(segment.q), number(segment.s));
        let rest = number(1.0).minus(q);
        let square = s.times(s);
        let noise = |shift: f64| {
            let away = x.minus(number(shift));
            away.times(away).over(square).times(number(-0.5)).exp()
        };
        let log_ratio = |shift: f64| {
            let tilt = number(shift).times(x.minus(number(0.5 * shift))).over(square);
            if shift == 0.0 { number(0.0) } else { rest.plus(q.times(tilt.exp())).ln() }
        };
        let terms = match segment.p_shift == 0.0 {
            true => noise(0.0),
            false => rest.times(noise(0.0)).plus(q.times(noise(segment.p_shift))),
        };
        let norm = s.times(TAU.ln().times(number(0.5)).exp());
        (terms.over(norm), log_ratio(segment.p_shift).minus(log_ratio(segment.q_shift)))
    }

    /// Densities and losses are within what is said of them, and are off by something.
    #[test]
    fn the_rounding_of_a_point_is_covered() {
        for (q, s, d, e) in [(0.01, 1.1, 1.0, 0.0), (0.3, 0.7, 0.0, 1.0), (0.2, 2.1, 0.5, -0.5), (1e-9, 0.3, 1.0, 0.0)]
        {
            let (segment, mut shown) = (segment(q, s, d, e), [0; 2]);
            for i in 0..300 {
                let x = -4.0 * s + (8.0 * s + 1.0) * f64::from(i) / 300.0;
                let point = segment.point(x, 0.0);
                let (density, loss) = exact(&segment, Double::of(x));
                let off = [density.off(point.density).abs() / density.0, loss.off(point.loss).abs()];
                let most = [U * point.density_error, U * point.loss_error];
                assert!(off[0] <= most[0] && off[1] <= most[1], "{q} {x}: {off:?} {most:?}");
                shown.iter_mut().zip(off).for_each(|(shown, off)| *shown += usize::from(off > 0.0));
            }
            assert!(shown.iter().all(|n| *n > 100), "{shown:?}: the rounding must show");
        }
    }

    /// Where q e^t is about 1, a rounding of t = 30 is more than all others of log w together.
    #[test]
    fn the_rounding_of_a_large_tilt_is_covered() {
        let (segment, mut shown) = (segment(1e-13, 0.9, 1.0, 0.0), 0);
        for i in 0..2000 {
            let x = 24.5 + 3.0 * f64::from(i) / 2000.0;
            let ratio = log_ratio(segment.q, segment.tilt(1.0, x));
            let tilted = 3.0 * ratio.share * segment.tilt(1.0, x).abs();
            let off = exact(&segment, Double::of(x)).1.off(ratio.value).abs() / U;
            assert!(off <= ratio.error, "{x}: {off} {}", ratio.error);
            shown += usize::from(off > ratio.error - tilted);
        }
        assert!(shown > 0, "no tilt was off by more than the other roundings of its logarithm");
    }

    /// A node that is not quite where it should be moves density and loss by their slopes.
    #[test]
    fn a_displaced_node_is_covered() {
        for (q, s, d, e) in [(0.01, 1.1, 1.0, 0.0), (0.3, 0.7, 0.0, 1.0), (0.2, 2.1, 0.5, -0.5)] {
            let segment = segment(q, s, d, e);
            for i in 0..60 {
                let x = -3.0 + 0.1 * f64::from(i);
                let (point, known) = (segment.point(x, 1e-5 / U), segment.point(x, 0.0));
                for moved in [x - 1e-5, x + 1e-5] {
                    let (density, loss) = exact(&segment, Double::of(moved));
                    assert!(loss.off(point.loss).abs() <= 1.001 * U * point.loss_error, "{q} {x}");
                    let off = density.off(point.density).abs() / density.0;
                    assert!(off <= 1.001 * U * point.density_error + 1e-9, "{q} {x}: {off:e}");
                    assert!(loss.off(point.loss).abs() > U * known.loss_error, "{q} {x}: it must show");
                }
            }
        }
    }
}
