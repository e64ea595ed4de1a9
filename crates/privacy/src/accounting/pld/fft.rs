//! Composition of discretised laws by a tilted FFT, with a bound for every error it makes.
//!
//! Exponential tilting moves the mass that matters to the middle of the window, so that rounding of the transform is relative to it
//! and not to one. Without it everything under δ = 1e-12 would be noise (`docs/maths/certified-pld.md`).

use super::Interval;
use super::discretise::Masses;
use super::estimate::minimise;
use super::refuse;
use crate::PrivacyError;
use realfft::RealFftPlanner;
use rustfft::num_complex::Complex;

/// Unit round-off of f64, 2^−53.
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
pub(super) struct RepeatedMasses<'a> {
    /// Masses of one step.
    pub(super) masses: &'a Masses,
    /// T: how often the law occurs.
    pub(super) count: u64,
}

/// The tilted masses y_k = e^{λkh} m_k / M of a composition in its window, up to errors that are bounded.
pub(super) struct ComposedMasses {
    /// y of node k at k mod N.
    pub(super) values: Vec<f64>,
    /// How it was computed.
    pub(super) settings: Settings,
    /// log M, the logarithm of the total mass under the tilt.
    pub(super) log_scale: Interval,
    /// Bound on the error of each value by rounding.
    pub(super) entry_error: f64,
    /// Bounds on the tilted mass below and above the window, which the transform wraps into it.
    pub(super) outside: (f64, f64),
    /// Mass of infinite loss.
    pub(super) infinite: Interval,
}

/// A law after tilting.
struct TiltedMasses {
    values: Vec<(i64, f64)>,
    total: f64,
    count: f64,
}

/// The spectrum of a composition, bin by bin, with a bound on its error.
struct Spectrum {
    bins: Vec<Complex<f64>>,
    errors: Vec<f64>,
}

/// Transforms of real numbers of one length, a power of two: to the first half of the bins and back, without scaling.
///
/// `rustfft` chooses its instructions when the program runs (AVX, SSE, NEON or plain ones). Tests put every choice that the
/// machine has in the place of the planner's.
pub(super) trait Transform {
    /// Σ_j x_j e^{−2πijk/N} for k = 0, …, N/2. The input is used up.
    fn forward(&mut self, input: &mut [f64]) -> Result<Vec<Complex<f64>>, PrivacyError>;
    /// N times the real numbers that have these bins. The bins are used up.
    fn backward(&mut self, bins: &mut [Complex<f64>], size: usize) -> Result<Vec<f64>, PrivacyError>;
}

impl Transform for RealFftPlanner<f64> {
    fn forward(&mut self, input: &mut [f64]) -> Result<Vec<Complex<f64>>, PrivacyError> {
        let plan = self.plan_fft_forward(input.len());
        let mut output = plan.make_output_vec();
        plan.process(input, &mut output).map_err(|e| refuse(&e.to_string()))?;
        Ok(output)
    }

    fn backward(&mut self, bins: &mut [Complex<f64>], size: usize) -> Result<Vec<f64>, PrivacyError> {
        let plan = self.plan_fft_inverse(size);
        let mut values = plan.make_output_vec();
        plan.process(bins, &mut values).map_err(|e| refuse(&e.to_string()))?;
        Ok(values)
    }
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
    factors: &[RepeatedMasses<'_>],
    settings: Settings,
    upper: bool,
    planner: &mut dyn Transform,
) -> Result<ComposedMasses, PrivacyError> {
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
    Ok(ComposedMasses { values, settings, log_scale, entry_error, outside, infinite: infinite_mass(factors) })
}

/// x_k = m_k e^{λkh}/M rounded to one side, and the log M that was used.
fn tilt(factor: &RepeatedMasses<'_>, settings: &Settings, upper: bool) -> (TiltedMasses, f64) {
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
    (TiltedMasses { values, total, count: factor.count as f64 }, log_m)
}

/// Forward transform of one tilted law, wrapped to the window.
fn transform(law: &TiltedMasses, size: usize, planner: &mut dyn Transform) -> Result<Vec<Complex<f64>>, PrivacyError> {
    let mut input = vec![0.0; size];
    for &(k, x) in &law.values {
        input[k.rem_euclid(size as i64) as usize] += x;
    }
    planner.forward(&mut input)
}

/// Inverse transform of the product.
fn inverse(mut bins: Vec<Complex<f64>>, size: usize, planner: &mut dyn Transform) -> Result<Vec<f64>, PrivacyError> {
    for end in [0, size / 2] {
        bins[end].im = 0.0;
    }
    let mut values = planner.backward(&mut bins, size)?;
    let scale = 1.0 / size as f64;
    values.iter_mut().for_each(|y| *y *= scale);
    Ok(values)
}

impl Spectrum {
    /// The transform of a loss of 0: the product of no laws.
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

/// z^n by squaring; its error is part of the bound of the composition.
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
fn tail(laws: &[TiltedMasses], settings: &Settings, direction: f64) -> f64 {
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

impl TiltedMasses {
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
fn infinite_mass(factors: &[RepeatedMasses<'_>]) -> Interval {
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
mod paths;
#[cfg(test)]
mod tests;
