//! exp and the normal distribution without branches, so that loops over slices become vector code.
//!
//! Only + − × ÷ and bit operations, in a fixed order and never fused: the same bits on every machine.

/// 1.5·2^52: a number added to it is rounded to an integer, which stands in its low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// log 2 in two parts; the first has so few digits that its product with a small integer is exact.
const LOG_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_588e-10];
/// Arguments beyond these would leave the normal numbers.
const EXPONENTS: [f64; 2] = [-708.0, 709.0];

/// eˣ with a relative error under 1e-11; x is held between −708 and 709, and NaN stays NaN.
///
/// x = k log 2 + r with |r| ≤ ½ log 2; eʳ by its Taylor polynomial of degree 9, whose rest is under 7e-12.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    exp_under(if x > EXPONENTS[1] { EXPONENTS[1] } else { x })
}

/// The same for x ≤ 709.
#[inline(always)]
pub(crate) fn exp_under(x: f64) -> f64 {
    let x = if x < EXPONENTS[0] { EXPONENTS[0] } else { x };
    let shifted = x * std::f64::consts::LOG2_E + ROUNDER;
    let k = shifted - ROUNDER;
    let r = (x - k * LOG_2[0]) - k * LOG_2[1];
    const C: [f64; 8] =
        [1.0 / 2.0, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0, 1.0 / 720.0, 1.0 / 5040.0, 1.0 / 40320.0, 1.0 / 362_880.0];
    // Estrin's scheme: short chains.
    let r2 = r * r;
    let r4 = r2 * r2;
    let low = (C[0] + C[1] * r) + (C[2] + C[3] * r) * r2;
    let high = (C[4] + C[5] * r) + (C[6] + C[7] * r) * r2;
    let e = 1.0 + (r + r2 * (low + high * r4));
    e * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
}

/// Coefficients of Q, with Φ(−x)·e^(x²/2) ≈ t·Q(t), t = 1/(1 + x/4), for x ≥ 0.
///
/// Interpolated at the nine Chebyshev points of 0 ≤ x ≤ 7 in 40 digits. Φ then errs by less than 1.5e-10; beyond 7
/// both sides are under 1.3e-12, and Q stays positive.
const MILLS: [f64; 9] = [
    0.100_003_314_684_987_84,
    0.095_595_291_787_839_186,
    0.121_519_523_672_578_63,
    -0.027_568_524_723_847_891,
    0.327_767_980_348_916_98,
    -0.370_285_363_402_564_67,
    0.427_626_029_643_687_84,
    -0.211_705_119_337_486_02,
    0.037_046_867_434_804_465,
];

/// Φ(x) and φ(x), both to 1e-9, from one exponential. NaN stays NaN.
#[inline(always)]
pub(crate) fn normal(x: f64) -> (f64, f64) {
    let bell = exp(-0.5 * x * x);
    let t = 1.0 / (1.0 + 0.25 * x.abs());
    let t2 = t * t;
    let t4 = t2 * t2;
    let low = (MILLS[0] + MILLS[1] * t) + (MILLS[2] + MILLS[3] * t) * t2;
    let high = (MILLS[4] + MILLS[5] * t) + (MILLS[6] + MILLS[7] * t) * t2;
    let tail = bell * t * (low + (high + MILLS[8] * t4) * t4);
    let cdf = if x > 0.0 { 1.0 - tail } else { tail };
    const DENSITY_AT_0: f64 = 0.398_942_280_401_432_68;
    (cdf, DENSITY_AT_0 * bell)
}

/// The logistic function, to 1e-11.
#[inline(always)]
pub(crate) fn sigmoid(a: f64) -> f64 {
    1.0 / (1.0 + exp(-a))
}

/// log(1 + e) for 0 ≤ e ≤ 1, with a relative error under 1e-13; NaN stays NaN.
#[inline(always)]
pub(crate) fn log_1p_of_unit(e: f64) -> f64 {
    twice_artanh(e / (2.0 + e))
}

/// log((1 + d)/(1 + e)) for d and e between 0 and 1, to 1e-13; NaN stays NaN.
#[inline(always)]
pub(crate) fn log_1p_over_1p(d: f64, e: f64) -> f64 {
    twice_artanh((d - e) / (2.0 + d + e))
}

/// Coefficients of P, with artanh z ≈ z·P(z²) for |z| ≤ ⅓: interpolated at the eight Chebyshev points of 0 ≤ z² ≤ 1/9 in
/// rational numbers, with a relative error of 6.8e-14 at most.
const ARTANH: [f64; 8] = [
    0.999_999_999_999_936_8,
    0.333_333_333_405_996_7,
    0.199_999_986_321_212_46,
    0.142_858_120_137_505_93,
    0.111_077_000_900_559_97,
    0.091_550_218_193_813_3,
    0.070_353_796_623_218_15,
    0.100_340_778_474_253_21,
];

/// log((1 + z)/(1 − z)) for |z| ≤ ⅓.
#[inline(always)]
fn twice_artanh(z: f64) -> f64 {
    let z2 = z * z;
    let z4 = z2 * z2;
    let low = (ARTANH[0] + ARTANH[1] * z2) + (ARTANH[2] + ARTANH[3] * z2) * z4;
    let high = (ARTANH[4] + ARTANH[5] * z2) + (ARTANH[6] + ARTANH[7] * z2) * z4;
    2.0 * z * (low + high * (z4 * z4))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers dense near zero and reaching to the ends of the floats.
    fn arguments() -> impl Iterator<Item = f64> {
        let near = (-400_000..=400_000).map(|i| f64::from(i) * 1e-4);
        let far = (0..2000).map(|i| libm::exp2(f64::from(i) - 1000.0).min(f64::MAX));
        near.chain(far.flat_map(|x| [x, -x])).chain([0.0, -0.0, 5e-324, f64::INFINITY, f64::NEG_INFINITY])
    }

    #[test]
    fn exp_is_that_of_libm() {
        for x in arguments().chain((-7080..=7090).map(|i| f64::from(i) * 0.1)) {
            let held = x.clamp(-708.0, 709.0);
            let error = exp(x) / libm::exp(held) - 1.0;
            assert!(error.abs() < 1e-11, "exp({x}) = {}, relative error {error}", exp(x));
        }
        assert!(exp(f64::NAN).is_nan());
    }

    #[test]
    fn the_normal_distribution_is_that_of_libm() {
        for x in arguments() {
            let (cdf, pdf) = normal(x);
            let expected = 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
            assert!((cdf - expected).abs() < 2e-10 && (0.0..=1.0).contains(&cdf), "Φ({x}) = {cdf}, not {expected}");
            let expected = libm::exp(-0.5 * x * x) / (2.0 * std::f64::consts::PI).sqrt();
            assert!((pdf - expected).abs() < 1e-11, "φ({x}) = {pdf}, not {expected}");
        }
        assert!(normal(f64::NAN).0.is_nan() && normal(f64::NAN).1.is_nan());
    }

    #[test]
    fn the_sigmoid_is_that_of_libm() {
        for a in arguments() {
            assert!((sigmoid(a) - 1.0 / (1.0 + libm::exp(-a))).abs() < 1e-11, "σ({a}) = {}", sigmoid(a));
        }
    }

    /// Bits, so that another machine or compiler that rounds differently shows itself.
    #[test]
    fn bits_are_the_same_everywhere() {
        let mut digest = 0_u64;
        for i in -3000..3000 {
            let x = f64::from(i) * 0.0123;
            for v in [exp(x), normal(x).0, normal(x).1, sigmoid(x)] {
                digest = digest.rotate_left(5).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ v.to_bits();
            }
        }
        assert_eq!(digest, 0x7937_0577_fdce_7d35, "{digest:#x}");
    }

    #[test]
    fn logarithms_near_one_are_right_to_the_last_digits() {
        for i in 0..=100_000 {
            let e = f64::from(i) * 1e-5;
            let (found, exact) = (log_1p_of_unit(e), libm::log1p(e));
            assert!((found - exact).abs() <= 1e-13 * exact, "{e}: {found} {exact}");
        }
        for e in [1e-300, 1e-20, 1e-9] {
            assert!((log_1p_of_unit(e) / libm::log1p(e) - 1.0).abs() < 1e-13);
        }
        assert!(log_1p_of_unit(f64::NAN).is_nan());
        for (i, j) in (0..=300).flat_map(|i| (0..=300).map(move |j| (i, j))) {
            let (d, e) = (f64::from(i) / 300.0, f64::from(j) / 300.0);
            let (found, exact) = (log_1p_over_1p(d, e), libm::log1p(d) - libm::log1p(e));
            assert!((found - exact).abs() <= 2e-13 * exact.abs() + 1e-15, "{d} {e}: {found} {exact}");
        }
        assert!(log_1p_over_1p(f64::NAN, 0.0).is_nan() && log_1p_over_1p(0.0, f64::NAN).is_nan());
    }
}
