//! Composition of discretised laws by a tilted FFT, with a bound for every error it makes.

use super::Interval;
use super::discretise::Masses;
use super::estimate::minimise;
use super::refuse;
use crate::PrivacyError;
use realfft::RealFftPlanner;
use rustfft::num_complex::Complex;

/// Unit round-off.
const U: f64 = f64::EPSILON / 2.0;

/// Below this a power of the spectrum is set to zero, and what it was counts as error.
const NEGLIGIBLE: f64 = 1e-40;

/// How a composition is computed: every choice is valid, a good one is narrow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    /// λ: masses are weighted with e^{λL} before they are transformed.
    pub(super) tilt: f64,
    /// h: distance of nodes.
    pub(super) step: f64,
    /// N: length of the transform, a power of two.
    pub(super) size: usize,
    /// First node of the window; the last is N − 1 further.
    pub(super) start: i64,
}

/// One law of a composition: its masses and how often it occurs.
pub(super) struct Factor<'a> {
    /// Masses of one step.
    pub(super) masses: &'a Masses,
    /// T.
    pub(super) count: u64,
}

/// The tilted masses y_k = e^{λkh} m_k / M of a composition in its window, up to errors that are bounded.
pub(super) struct Composed {
    /// y of node k at k mod N.
    pub(super) values: Vec<f64>,
    /// How it was computed.
    pub(super) settings: Settings,
    /// log M.
    pub(super) log_scale: Interval,
    /// Bound on the error of each value by rounding.
    pub(super) entry_error: f64,
    /// Bounds on the tilted mass below and above the window, which the transform wraps into it.
    pub(super) outside: (f64, f64),
    /// Mass of infinite loss.
    pub(super) infinite: Interval,
}

/// A law after tilting.
struct Tilted {
    values: Vec<(i64, f64)>,
    total: f64,
    count: f64,
}

/// The spectrum of a composition, bin by bin, with a bound on its error.
struct Spectrum {
    bins: Vec<Complex<f64>>,
    errors: Vec<f64>,
}

/// Bound on the error of one bin of a transform of length N, relative to Σ|x|.
///
/// Each of the log₂ N levels multiplies by a twiddle and adds: at most (√5 + 2)u of the sum of moduli on the way to a bin
/// (Higham 2002, section 24.1, componentwise). 8u a level leaves room for the twiddles and the real-to-complex step.
fn transform_error(size: usize) -> f64 {
    8.0 * U * f64::from(size.ilog2())
}

/// Composes; `upper` says to which side the tilted masses are rounded.
pub(super) fn compose(
    factors: &[Factor<'_>],
    settings: Settings,
    upper: bool,
    planner: &mut RealFftPlanner<f64>,
) -> Result<Composed, PrivacyError> {
    let mut spectrum: Option<Spectrum> = None;
    let (mut log_scale, mut tilted) = (Interval::exact(0.0), Vec::new());
    for factor in factors {
        let (law, log_m) = tilt(factor, &settings, upper);
        log_scale = log_scale + Interval::exact(factor.count as f64) * Interval::exact(log_m);
        let bins = transform(&law, settings.size, planner)?;
        let error = transform_error(settings.size) * law.total;
        let state = spectrum.take().unwrap_or_else(|| Spectrum::one(settings.size));
        spectrum = Some(state.times(bins, factor.count, error));
        tilted.push(law);
    }
    let spectrum = spectrum.unwrap_or_else(|| Spectrum::one(settings.size));
    let entry_error = spectrum.entry_error(settings.size);
    let values = inverse(spectrum.bins, settings.size, planner)?;
    let outside = (tail(&tilted, &settings, -1.0), tail(&tilted, &settings, 1.0));
    Ok(Composed { values, settings, log_scale, entry_error, outside, infinite: infinite_mass(factors) })
}

/// x_k = m_k e^{λkh}/M rounded to one side, and the log M that was used.
fn tilt(factor: &Factor<'_>, settings: &Settings, upper: bool) -> (Tilted, f64) {
    let masses = &factor.masses.finite;
    let exponent = |k: i64| settings.tilt * (k as f64 * settings.step);
    let most = masses.iter().filter(|m| m.1 > 0.0).fold(f64::NEG_INFINITY, |m: f64, n| m.max(exponent(n.0)));
    let most = if most.is_finite() { most } else { 0.0 };
    let sum: f64 = masses.iter().map(|&(k, mass)| mass * libm::exp(exponent(k) - most)).sum();
    let log_m = if sum > 0.0 { most + libm::log(sum) } else { most };
    let (lambda, step) = (Interval::exact(settings.tilt), Interval::exact(settings.step));
    let weigh = |&(k, mass): &(i64, f64)| {
        let factor = (lambda * (Interval::exact(k as f64) * step) - Interval::exact(log_m)).exp();
        let x = Interval::exact(mass) * factor;
        (k, if upper { x.hi } else { x.lo.max(0.0) })
    };
    let values: Vec<(i64, f64)> = masses.iter().filter(|m| m.1 > 0.0).map(weigh).collect();
    let total = values.iter().map(|v| v.1).sum::<f64>() * (1.0 + 2.0 * U * values.len() as f64);
    (Tilted { values, total, count: factor.count as f64 }, log_m)
}

fn transform(law: &Tilted, size: usize, planner: &mut RealFftPlanner<f64>) -> Result<Vec<Complex<f64>>, PrivacyError> {
    let mut input = vec![0.0; size];
    for &(k, x) in &law.values {
        input[k.rem_euclid(size as i64) as usize] += x;
    }
    let plan = planner.plan_fft_forward(size);
    let mut output = plan.make_output_vec();
    plan.process(&mut input, &mut output).map_err(|e| refuse(&e.to_string()))?;
    Ok(output)
}

fn inverse(
    mut bins: Vec<Complex<f64>>,
    size: usize,
    planner: &mut RealFftPlanner<f64>,
) -> Result<Vec<f64>, PrivacyError> {
    for end in [0, size / 2] {
        bins[end].im = 0.0;
    }
    let plan = planner.plan_fft_inverse(size);
    let mut values = plan.make_output_vec();
    plan.process(&mut bins, &mut values).map_err(|e| refuse(&e.to_string()))?;
    let scale = 1.0 / size as f64;
    values.iter_mut().for_each(|y| *y *= scale);
    Ok(values)
}

impl Spectrum {
    fn one(size: usize) -> Self {
        let bins = size / 2 + 1;
        Self { bins: vec![Complex::new(1.0, 0.0); bins], errors: vec![0.0; bins] }
    }

    /// Multiplies by φ^T, where φ is known up to `error` in every bin.
    ///
    /// With g = |φ̂| + error: |φ̂^T − φ^T| ≤ T error g^{T−1}, and T − 1 complex products add 3u each of g^T.
    fn times(mut self, factor: Vec<Complex<f64>>, count: u64, error: f64) -> Self {
        let t = count as f64;
        for ((bin, e), phi) in self.bins.iter_mut().zip(&mut self.errors).zip(factor) {
            let g = phi.norm_sqr().sqrt() * (1.0 + 8.0 * U) + error;
            let before = real_power(g, count - 1);
            let power = before * g;
            let size = bin.norm_sqr().sqrt() * (1.0 + 8.0 * U);
            if power * size < NEGLIGIBLE {
                (*bin, *e) = (Complex::new(0.0, 0.0), (size + *e) * power.max(NEGLIGIBLE));
                continue;
            }
            *e = *e * power + size * (t * error * before + (4.0 * t + 8.0) * U * power);
            *bin *= complex_power(phi, count);
        }
        self
    }

    /// Bound on the error of each entry of the inverse transform: that of the bins, and its own rounding.
    ///
    /// The last factor covers the rounding of this very sum and of the powers g^T (T ≤ 2^30).
    fn entry_error(&self, size: usize) -> f64 {
        let errors: f64 = self.errors.iter().sum();
        let moduli: f64 = self.bins.iter().map(|b| b.norm_sqr().sqrt()).sum();
        2.0 * (errors + transform_error(size) * moduli) / size as f64 * (1.0 + 1e-6)
    }
}

/// An upper bound on g^n by squaring, exact up to rounding unless it is negligible. If it stops early then g < 1.
fn real_power(mut g: f64, mut n: u64) -> f64 {
    let mut out = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            out *= g;
        }
        n >>= 1;
        if n > 0 && (out < 1e-80 || g < 1e-150) {
            return out.min(g);
        }
        g *= g;
    }
    out
}

fn complex_power(mut z: Complex<f64>, mut n: u64) -> Complex<f64> {
    let mut out = Complex::new(1.0, 0.0);
    while n > 0 {
        if n & 1 == 1 {
            out *= z;
        }
        z *= z;
        n >>= 1;
    }
    out
}

/// Tilted mass of the composition below (direction −1) or above (+1) the window, by Chernoff's bound.
///
/// P(L ≥ x) ≤ e^{Σ T log m(θ) − θx} with m(θ) = Σ x_k e^{θkh}, any θ > 0; below the window, θ < 0. Zero beyond the support.
fn tail(laws: &[Tilted], settings: &Settings, direction: f64) -> f64 {
    let edge = match direction > 0.0 {
        true => settings.start as f64 + settings.size as f64,
        false => settings.start as f64 - 1.0,
    };
    let reach: f64 = laws
        .iter()
        .map(|law| law.count * law.values.iter().map(|v| direction * v.0 as f64).fold(f64::NEG_INFINITY, f64::max))
        .sum();
    if reach < direction * edge {
        return 0.0;
    }
    let exponent = |theta: f64| {
        let slope = direction * theta * settings.step;
        laws.iter().map(|law| law.log_moment(slope)).sum::<f64>() - slope * edge
    };
    libm::exp(minimise(&exponent)) * (1.0 + 1e-6)
}

impl Tilted {
    /// T log Σ x_k e^{θkh}, rounded up: n additions, and exponents up to θ|k|h, each with error 4u.
    fn log_moment(&self, slope: f64) -> f64 {
        let ends = self.values.iter().fold((0.0_f64, 0.0_f64), |(low, high), v| {
            let exponent = slope * v.0 as f64;
            (low.min(exponent), high.max(exponent))
        });
        let sum: f64 = self.values.iter().map(|&(k, x)| x * libm::exp(slope * k as f64 - ends.1)).sum();
        let log = libm::log(sum.max(f64::MIN_POSITIVE)) + ends.1;
        let error = 4.0 * U * (self.values.len() as f64 + 800.0 + 2.0 * (ends.1 - ends.0));
        self.count * (log + error)
    }
}

/// Mass of infinite loss of the composition: Π (f + i)^T − Π f^T, with finite mass f and infinite mass i of each step.
fn infinite_mass(factors: &[Factor<'_>]) -> Interval {
    let (mut all, mut finite_share) = (Interval::exact(0.0), Interval::exact(0.0));
    if factors.iter().all(|f| f.masses.infinite == 0.0) {
        return all;
    }
    for factor in factors {
        let count = Interval::exact(factor.count as f64);
        let sum: f64 = factor.masses.finite.iter().map(|m| m.1).sum();
        let error = 2.0 * U * factor.masses.finite.len() as f64;
        let infinite = Interval::exact(factor.masses.infinite);
        let total = Interval::new(sum * (1.0 - error), sum * (1.0 + error)) + infinite;
        all = all + count * total.ln();
        finite_share = finite_share + count * (-(infinite / total)).ln_1p();
    }
    (all.exp() * -finite_share.exp_m1()).clamp_positive()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number as the sum of two, about 106 bits.
    #[derive(Clone, Copy)]
    struct Double(f64, f64);

    impl Double {
        fn plus(self, o: Self) -> Self {
            let sum = self.0 + o.0;
            let part = sum - self.0;
            let error = (self.0 - (sum - part)) + (o.0 - part) + self.1 + o.1;
            let high = sum + error;
            Self(high, error - (high - sum))
        }

        fn times(self, o: Self) -> Self {
            let product = self.0 * o.0;
            let error = self.0.mul_add(o.0, -product) + self.0 * o.1 + self.1 * o.0;
            let high = product + error;
            Self(high, error - (high - product))
        }

        fn over(self, n: f64) -> Self {
            let quotient = self.0 / n;
            let rest = (-quotient).mul_add(n, self.0) + self.1;
            let high = quotient + rest / n;
            Self(high, rest / n - (high - quotient))
        }
    }

    /// cos and sin of 2πm/n by their power series.
    fn twiddle(m: usize, n: usize) -> (Double, Double) {
        let turn = if 2 * m > n { m as f64 - n as f64 } else { m as f64 };
        let two_pi = Double(std::f64::consts::TAU, 2.449_293_598_294_706_4e-16);
        let angle = two_pi.times(Double(turn, 0.0)).over(n as f64);
        let (mut cos, mut sin, mut term) = (Double(1.0, 0.0), Double(0.0, 0.0), Double(1.0, 0.0));
        for i in 1..48 {
            term = term.times(angle).over(f64::from(i));
            let signed = if i % 4 >= 2 { Double(-term.0, -term.1) } else { term };
            if i % 2 == 0 {
                cos = cos.plus(signed);
            } else {
                sin = sin.plus(signed);
            }
        }
        (cos, sin)
    }

    fn random(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The assumption behind `transform_error`: accurate twiddles and one path per level.
    #[test]
    fn transforms_are_as_accurate_as_assumed() {
        let (mut planner, mut seed) = (RealFftPlanner::new(), 7_u64);
        for (size, bins) in [(1_usize << 10, 64), (1 << 14, 48), (1 << 18, 12)] {
            let x: Vec<f64> = (0..size).map(|_| random(&mut seed).powi(3) - 0.2).collect();
            let table: Vec<_> = (0..size).map(|m| twiddle(m, size)).collect();
            let plan = planner.plan_fft_forward(size);
            let mut output = plan.make_output_vec();
            plan.process(&mut x.clone(), &mut output).unwrap();
            let scale: f64 = x.iter().map(|v| v.abs()).sum();
            for i in 0..bins {
                let bin = if i == 0 { size / 2 } else { (random(&mut seed) * (size / 2) as f64) as usize };
                let (mut re, mut im) = (Double(0.0, 0.0), Double(0.0, 0.0));
                for (j, &v) in x.iter().enumerate() {
                    let (cos, sin) = table[j * bin % size];
                    re = re.plus(cos.times(Double(v, 0.0)));
                    im = im.plus(sin.times(Double(-v, 0.0)));
                }
                let error = (output[bin].re - re.0).hypot(output[bin].im - im.0);
                assert!(error <= 0.1 * transform_error(size) * scale, "{size} {bin}: {:e}", error / scale);
            }
        }
    }

    fn masses(seed: u64, count: usize, step: i64) -> Masses {
        let mut state = seed;
        let raw: Vec<f64> = (0..count).map(|_| random(&mut state)).collect();
        let total: f64 = raw.iter().sum::<f64>() / 0.98;
        let finite = raw.iter().enumerate().map(|(i, m)| ((i as i64 - 5) * step, m / total)).collect();
        Masses { finite, infinite: 0.02 }
    }

    /// All products of masses, by plain convolution.
    fn directly(factors: &[Factor<'_>]) -> Vec<f64> {
        let offset = 500_i64;
        let mut out = vec![0.0; 1001];
        out[offset as usize] = 1.0;
        for factor in factors {
            for _ in 0..factor.count {
                let mut next = vec![0.0; out.len()];
                for (i, &have) in out.iter().enumerate().filter(|h| *h.1 > 0.0) {
                    for &(k, m) in &factor.masses.finite {
                        next[(i as i64 + k) as usize] += have * m;
                    }
                }
                out = next;
            }
        }
        out
    }

    #[test]
    fn composition_is_the_convolution_within_its_error() {
        let (a, b) = (masses(1, 12, 1), masses(2, 7, 3));
        let factors = [Factor { masses: &a, count: 9 }, Factor { masses: &b, count: 4 }];
        let settings = Settings { tilt: 1.5, step: 0.02, size: 1024, start: -500 };
        let exact = directly(&factors);
        for upper in [false, true] {
            let got = compose(&factors, settings, upper, &mut RealFftPlanner::new()).unwrap();
            let total: f64 = exact.iter().sum();
            assert!((got.infinite.lo..=got.infinite.hi).contains(&(1.0 - total)), "{:?} {total}", got.infinite);
            for (i, &mass) in exact.iter().enumerate() {
                let k = i as i64 - 500;
                let y = mass * libm::exp(1.5 * 0.02 * k as f64 - 0.5 * (got.log_scale.lo + got.log_scale.hi));
                let error = (got.values[k.rem_euclid(1024) as usize] - y).abs();
                assert!(error <= got.entry_error + 1e-12 * y, "{k}: {error:e} {:e}", got.entry_error);
            }
            assert!(got.entry_error < 1e-13 && got.outside == (0.0, 0.0));
        }
    }

    #[test]
    fn mass_outside_a_window_is_bounded_and_wraps() {
        let a = masses(3, 12, 1);
        let factors = [Factor { masses: &a, count: 20 }];
        let whole = Settings { tilt: 2.0, step: 0.02, size: 1024, start: -500 };
        let small = Settings { size: 128, start: -52, ..whole };
        let mut planner = RealFftPlanner::new();
        let (all, part) = (
            compose(&factors, whole, true, &mut planner).unwrap(),
            compose(&factors, small, true, &mut planner).unwrap(),
        );
        let sum = |from: i64, to: i64| (from..to).map(|k| all.values[k.rem_euclid(1024) as usize]).sum::<f64>();
        let (below, above) = (sum(-500, -52), sum(76, 500));
        assert!(below > 1e-15 && below <= part.outside.0 && part.outside.0 < 1e3 * below, "{below} {:?}", part.outside);
        assert!(above > 1e-15 && above <= part.outside.1 && part.outside.1 < 1e3 * above, "{above} {:?}", part.outside);
    }

    #[test]
    fn powers_that_stop_early_are_upper_bounds() {
        for n in [0, 1, 2, 5, 1000, 99_999] {
            for g in [1e-200, 1e-30, 0.3, 0.99, 1.0] {
                let exact = libm::exp(n as f64 * libm::log(g));
                let got = real_power(g, n);
                assert!(got >= exact * (1.0 - 1e-9) && (got <= exact * (1.0 + 1e-9) || got < 1e-79), "{g}^{n}: {got}");
            }
        }
    }
}
