//! For every term of the enclosure a contour in which that term decides: without it the interval would miss the answer.
//!
//! Contours of plain Gaussian steps, whose δ has a closed form, on lines that nobody would choose; and contours made by hand.
//! `docs/maths/contour.md` has the table of terms.

use super::*;
use crate::Steps;
use crate::accounting::Interval;
use crate::accounting::double::{Double, TAU};
use crate::accounting::normal::gaussian_delta;
use crate::accounting::pair::DominatingPair;

/// One Gaussian step of deviation 1 on any line: abscissas c and r, period P, n points.
fn gaussian(c: f64, right: f64, period: f64, n: usize) -> Contour {
    let laws = Laws { laws: Vec::new(), gaussian: 1.0, gaussians: 1 };
    let line = ContourLine { c, right, period, cancellation: 0.0, log_moment: laws.gaussian_cumulant(c) };
    let du = 2.0 * std::f64::consts::PI / period;
    let mut contour = Contour::sample(&laws, &[], &line, du, n);
    contour.truncation = libm::exp(log_truncation(&laws, &[], du * (n as f64 - 1.0)));
    contour.right = (right, log_moment_above(&laws, &[], right));
    contour
}

/// δ of one Gaussian step of deviation 1.
fn exact(epsilon: f64) -> f64 {
    let delta = gaussian_delta(Interval::exact(1.0), Interval::exact(epsilon));
    0.5 * (delta.lo + delta.hi)
}

fn holds(contour: &Contour, epsilon: f64, delta: f64) -> bool {
    let bounds = contour.bounds(epsilon);
    bounds.lower <= delta * (1.0 + 1e-13) && delta * (1.0 - 1e-13) <= bounds.upper
}

/// The terms beyond the last are a tenth of the answer.
#[test]
fn a_sum_that_ends_early_knows_what_is_missing() {
    for (n, epsilon) in [(6, 1.0), (5, 0.5), (8, 2.0), (4, 1.5)] {
        let cut = gaussian(1.0, 3.0, 20.0, n);
        assert!(holds(&cut, epsilon, exact(epsilon)), "{n}: {:?} {}", cut.bounds(epsilon), exact(epsilon));
        assert!(!holds(&Contour { truncation: 0.0, ..cut }, epsilon, exact(epsilon)), "{n}: the end must show");
    }
}

/// A period of three: the neighbours on the left are a quarter of the answer, and one of them is not where δ is 1.
#[test]
fn aliases_on_the_left_are_subtracted_and_not_too_much() {
    let (short, epsilon) = (gaussian(1.0, 3.7, 3.0, 12), 1.0);
    assert!(holds(&short, epsilon, exact(epsilon)), "{:?} {}", short.bounds(epsilon), exact(epsilon));
    let (low, high) = short.left_aliases(epsilon);
    let left: f64 = (1..60).map(|m| libm::exp(-3.0 * f64::from(m)) * below(epsilon - 3.0 * f64::from(m))).sum();
    assert!(low <= left && left <= high, "{low} {left} {high}");
    let right: f64 = (1..9).map(|j| libm::exp(3.0 * f64::from(j)) * exact(epsilon + 3.0 * f64::from(j))).sum();
    assert!(left > short.right_aliases(epsilon) - right + 0.01, "without them the lower end would be over δ");
    assert!(1.0 / libm::expm1(3.0) - left > right + 0.005, "with δ = 1 at all of them the upper end would be under δ");
}

/// δ at a negative ε: 1 − e^ε + e^ε δ(−ε).
fn below(epsilon: f64) -> f64 {
    if epsilon >= 0.0 { exact(epsilon) } else { -libm::expm1(epsilon) + libm::exp(epsilon) * exact(-epsilon) }
}

/// A period of eighty and ε = 0, where all neighbours on the left have δ = 1: their sum is 1/(e^{cP} − 1).
#[test]
fn the_rounding_of_the_left_aliases_is_covered() {
    let mut shown = [0; 2];
    for i in 0..100 {
        let contour = Contour { du: 0.0785 - 1e-5 * f64::from(i), ..by_hand(&[], 0.1 + 0.01 * f64::from(i), 0.0) };
        let period = TAU.over(Double::of(contour.du));
        let exact = Double::of(1.0).over(period.times(Double::of(contour.c)).exp().minus(Double::of(1.0)));
        let (low, high) = contour.left_aliases(0.0);
        assert!(exact.off(low) <= 0.0 && exact.off(high) >= 0.0, "{i}: {low:e} {exact:?} {high:e}");
        let plain = 1.0 / libm::expm1(contour.c * (2.0 * std::f64::consts::PI / contour.du));
        shown[usize::from(exact.off(plain) > 0.0)] += 1;
    }
    assert!(shown.iter().all(|n| *n > 20), "{shown:?}: the rounding must show on both sides");
}

/// A line far to the right: the neighbours on the right are as large as the answer.
#[test]
fn aliases_on_the_right_are_subtracted() {
    let (far, epsilon) = (gaussian(2.5, 4.5, 3.0, 12), 1.0);
    assert!(holds(&far, epsilon, exact(epsilon)), "{:?} {}", far.bounds(epsilon), exact(epsilon));
    let right: f64 = (1..9).map(|j| libm::exp(7.5 * f64::from(j)) * exact(epsilon + 3.0 * f64::from(j))).sum();
    assert!(far.right_aliases(epsilon) >= right);
    let unseen = Contour { right: (4.5, -1e6), ..far };
    assert!(!holds(&unseen, epsilon, exact(epsilon)), "the right aliases must show");
}

/// A tenth of the mass is left out, or has an infinite loss: it may be anywhere, and there is less of everything else.
#[test]
fn mass_that_is_cut_or_infinite_counts_at_the_top_and_not_in_the_aliases() {
    for period in [3.0, 25.0] {
        for (lost, infinite) in [(0.1, 0.0), (0.0, 0.1)] {
            let whole = gaussian(1.0, 3.0, period, 80);
            let log_moment = whole.log_moment + libm::log(0.9);
            let right = (whole.right.0, whole.right.1 + libm::log(0.9));
            // Of the infinite part nothing is known from below: an upper end under the lower one would be noticed by itself.
            let part = Contour { log_moment, right, lost, infinite: (0.0, infinite), ..whole };
            for epsilon in [0.5, 1.0, 1.9] {
                let kept = 0.9 * exact(epsilon);
                assert!(holds(&part, epsilon, kept + 0.1), "{period} {lost}: {:?} {kept}", part.bounds(epsilon));
                assert!(holds(&part, epsilon, kept), "{period}: what was cut may count for nothing");
                let bare = Contour { lost: 0.0, infinite: (0.0, 0.0), ..part.clone() };
                assert!(!holds(&bare, epsilon, kept + 0.1), "{period}: the cut must show");
            }
            let (low, _) = part.left_aliases(1.0);
            let left: f64 = (1..60).map(|m| f64::from(m) * period).map(|x| libm::exp(-x) * below(1.0 - x)).sum();
            assert!(low <= 0.9 * left, "{period}: {low} {left}");
        }
    }
}

/// A contour of given terms a cos(θ − k du ε) and no error.
fn by_hand(terms: &[(f64, f64)], c: f64, log_moment: f64) -> Contour {
    Contour {
        c,
        du: 0.37,
        log_moment,
        log_moment_error: 0.0,
        amplitude: terms.iter().map(|t| t.0).collect(),
        angle: terms.iter().map(|t| t.1).collect(),
        error: 0.0,
        truncation: 0.0,
        right: (c + 1e3, -1e6),
        lost: 0.0,
        infinite: (0.0, 0.0),
    }
}

/// Σ a cos(θ − k du ε) in about 106 bits.
fn exact_value(contour: &Contour, epsilon: f64) -> Double {
    let mut sum = Double::of(0.0);
    for (k, (a, angle)) in contour.amplitude.iter().zip(&contour.angle).enumerate() {
        let phase = Double::of(k as f64).times(Double::of(contour.du)).times(Double::of(epsilon));
        let turn = Double::of(*angle).minus(phase);
        let whole = (turn.0 / std::f64::consts::TAU).round();
        let rest = turn.minus(TAU.times(Double::of(whole)));
        sum = sum.plus(rest.cos_sin().0.times(Double::of(*a)));
    }
    sum
}

/// Terms of size one that cancel to a billionth: what is left of phases, cosines and sums is rounding.
#[test]
fn the_rounding_of_the_sum_is_covered() {
    let (c, epsilon) = (8.0, 40.0);
    let (mut shown, mut seed) = (0, 5_u64);
    for _ in 0..20 {
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut terms: Vec<(f64, f64)> = (0..60).map(|_| (random(), 6.0 * random())).collect();
        // The first has no phase: it brings the sum to a billionth.
        terms[0] = (0.0, 0.0);
        terms[0].0 = 1e-9 - exact_value(&by_hand(&terms, c, 0.0), epsilon).0;
        let contour = by_hand(&terms, c, c * epsilon);
        let delta = exact_value(&contour, epsilon);
        let bounds = contour.bounds(epsilon);
        assert!(delta.off(bounds.lower) <= 0.0 && delta.off(bounds.upper) >= 0.0, "{bounds:?} {delta:?}");
        // What the other terms allow: 8u and the exponent's on a sum of a billionth.
        let others = U * 1e-9 * (8.0 + 3.0 * 640.0 + 32.0);
        shown += usize::from(delta.off(contour.value(epsilon).0).abs() > others);
    }
    assert!(shown > 15, "{shown}: the rounding must show");
}

/// K and cε of hundreds that cancel: their rounding, and what is not known of K, multiply all.
#[test]
fn the_error_of_the_exponent_is_covered() {
    let mut shown = 0;
    for i in 0..100 {
        let (c, epsilon) = (611.3 + 0.7 * f64::from(i), 1.01);
        let contour = by_hand(&[(0.5, 0.0)], c, (c * epsilon - 3.0).round());
        let exponent = Double::of(contour.log_moment).minus(Double::of(c).times(Double::of(epsilon)));
        let delta = exponent.exp().times(Double::of(0.5));
        let bounds = contour.bounds(epsilon);
        assert!(delta.off(bounds.lower) <= 0.0 && delta.off(bounds.upper) >= 0.0, "{i}: {bounds:?} {delta:?}");
        let plain = libm::exp(contour.log_moment - c * epsilon) * 0.5;
        // The sum of one term allows 28 units.
        shown += usize::from(delta.off(plain).abs() > 40.0 * U * delta.0);
        let vague = Contour { log_moment_error: 0.01, ..contour };
        let bounds = vague.bounds(epsilon);
        assert!(bounds.lower <= delta.0 * 0.9901 && delta.0 * 1.01 <= bounds.upper, "{bounds:?}");
    }
    assert!(shown > 20, "{shown}: the rounding must show");
}

/// What is said of the amplitudes is added as it is.
#[test]
fn the_error_of_the_integrand_is_added() {
    let contour = Contour { error: 0.01, ..by_hand(&[(0.5, 0.0)], 2.0, 0.0) };
    let bounds = contour.bounds(1.0);
    let delta = |value: f64| libm::exp(-2.0) * value;
    // But for aliases, which terms by hand do not have: e^{−cP} is under 1e-14.
    assert!(bounds.lower <= delta(0.490_001) && delta(0.509_999) <= bounds.upper, "{bounds:?}");
}

/// From logarithms to amplitudes: their error, and the roundings of what they are divided by.
#[test]
fn the_error_of_logarithms_becomes_that_of_amplitudes() {
    let laws = Laws::default();
    let sums =
        |error: f64, size: f64| [0.0, -3.0].map(|log_amplitude| FactorSum { log_amplitude, angle: 1.0, error, size });
    for (error, size) in [(0.01, 0.0), (0.0, 0.01 / (4.0 * U))] {
        let contour = Contour::from_sums(&laws, &sums(error, size), 1.5, 0.3, LogMoment { value: 0.0, error: 0.0 });
        let total: f64 = contour.amplitude.iter().sum();
        assert!(contour.error >= 0.01 * total, "{error} {size}: {:e} {total:e}", contour.error);
    }
    // Amplitudes and angles in about 106 bits.
    let (c, du) = (1.7, 0.3);
    let contour = Contour::from_sums(&laws, &sums(0.0, 0.0), c, du, LogMoment { value: 0.0, error: 0.0 });
    let mut off = 0.0;
    for (k, a) in contour.amplitude.iter().enumerate() {
        let u = Double::of(k as f64).times(Double::of(du));
        let square = |x: Double| x.times(x).plus(u.times(u));
        let modulus = square(Double::of(c)).times(square(Double::of(c).plus(Double::of(1.0))));
        let log = Double::of(-3.0 * k as f64).minus(modulus.ln().times(Double::of(0.5)));
        let pi = Double(TAU.0 / 2.0, TAU.1 / 2.0);
        let half = if k == 0 { 0.5 } else { 1.0 };
        let exact = log.exp().times(Double::of(half * du)).over(pi);
        off += exact.off(*a).abs();
    }
    assert!(off > 0.0 && off <= contour.error, "{off:e} {:e}", contour.error);
}

/// Many Gaussian steps of different deviations: the sum of T/s² is off by more than any one rounding.
#[test]
fn a_sum_of_many_gaussians_knows_its_rounding() {
    let one = |i: u32| (DominatingPair::Gaussian { s: 3.0 + 1e-3 * f64::from(i % 7) }, Steps::ONE);
    let composition: Vec<(DominatingPair, Steps)> = (0..100_000).map(one).collect();
    let laws = Laws::new(&composition, 0.0);
    let exact = composition.iter().fold(Double::of(0.0), |sum, (pair, _)| {
        let DominatingPair::Gaussian { s } = pair else { return sum };
        sum.plus(Double::of(1.0).over(Double::of(*s).times(Double::of(*s))))
    });
    let off = exact.off(laws.gaussian).abs();
    assert!(off <= U * laws.gaussian_units() * exact.0 && off > 10.0 * U * exact.0, "{:e}", off / exact.0);
    let line = ContourLine { c: 1.0, right: 2.0, period: 10.0, cancellation: 0.0, log_moment: 0.0 };
    let contour = Contour::sample(&laws, &[], &line, 0.01, 2);
    assert!(contour.log_moment_error >= U * laws.gaussian_units() * contour.log_moment);
    let relative = contour.error / contour.amplitude.iter().sum::<f64>();
    assert!(relative > 0.3 * U * laws.gaussian_units() * laws.gaussian * 0.01 * 1.5, "{relative:e}");
}
