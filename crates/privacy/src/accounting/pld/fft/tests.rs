//! Composition by the FFT against plain sums, and for every error term a case in which it decides.

use super::*;
use crate::accounting::double::Double;

pub(super) fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

fn masses(seed: u64, count: usize, step: i64) -> Masses {
    let mut state = seed;
    let raw: Vec<f64> = (0..count).map(|_| random(&mut state)).collect();
    let total: f64 = raw.iter().sum::<f64>() / 0.98;
    let finite = raw.iter().enumerate().map(|(i, m)| ((i as i64 - 5) * step, m / total)).collect();
    Masses { finite, infinite: 0.02 }
}

/// All products of masses, by plain convolution.
fn directly(factors: &[RepeatedMasses<'_>]) -> Vec<f64> {
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
    let factors = [RepeatedMasses { masses: &a, count: 9 }, RepeatedMasses { masses: &b, count: 4 }];
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
    let factors = [RepeatedMasses { masses: &a, count: 20 }];
    let whole = Settings { tilt: 2.0, step: 0.02, size: 1024, start: -500 };
    let small = Settings { size: 128, start: -52, ..whole };
    let mut planner = RealFftPlanner::new();
    let (all, part) =
        (compose(&factors, whole, true, &mut planner).unwrap(), compose(&factors, small, true, &mut planner).unwrap());
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

/// φ is known to a millionth, and its thousandth power to a thousandth.
#[test]
fn the_error_of_a_bin_grows_with_its_power() {
    for (count, error) in [(1_u64, 1e-3), (1000, 1e-6), (1 << 20, 1e-9)] {
        let known = Complex::new(0.6, 0.8);
        let spectrum = Spectrum::one(2).times(vec![known; 2], count, error);
        let truth = known * (1.0 - error);
        let off = libm::pow(truth.norm_sqr(), 0.5 * count as f64) - 1.0;
        assert!(spectrum.errors[0] >= off.abs() && off.abs() > 1e-5 * spectrum.errors[0], "{count}: {off:e}");
        assert!(off.abs() > 1e6 * (4.0 * count as f64 + 8.0) * U, "the rounding of the power is not what is seen");
    }
    // What a product had before is carried on, at the size of the other factor.
    let first = Spectrum::one(2).times(vec![Complex::new(1.0, 0.0); 2], 1, 1e-3);
    let second = first.times(vec![Complex::new(3.0, 0.0); 2], 2, 0.0);
    assert!(second.errors[0] >= 9e-3, "{}", second.errors[0]);
}

/// A bin that is known exactly: what is off is the rounding of its power, by squaring.
#[test]
fn the_rounding_of_a_power_is_covered() {
    let times = |(a, b): (Double, Double), (c, d): (Double, Double)| {
        (a.times(c).minus(b.times(d)), a.times(d).plus(b.times(c)))
    };
    let mut seen = 0;
    for i in 1..40 {
        let angle = 0.07 * f64::from(i);
        let phi = Complex::new(libm::cos(angle), libm::sin(angle));
        let count = 700;
        let spectrum = Spectrum::one(2).times(vec![phi; 2], count, 0.0);
        let one = (Double::of(phi.re), Double::of(phi.im));
        let exact = (1..count).fold(one, |power, _| times(power, one));
        let off = exact.0.off(spectrum.bins[0].re).hypot(exact.1.off(spectrum.bins[0].im));
        assert!(off <= spectrum.errors[0], "{angle}: {off:e} {:e}", spectrum.errors[0]);
        seen += usize::from(off > 100.0 * U);
    }
    assert!(seen > 20, "{seen}: the rounding must show");
}

/// A power under 1e-40 is set to zero. All of its size counts as error.
#[test]
fn a_power_that_is_set_to_zero_counts_as_error() {
    for (phi, count) in [(1e-21, 2_u64), (0.9, 900), (1e-13, 4), (1e-200, 3)] {
        let size = libm::pow(phi, count as f64);
        let spectrum = Spectrum::one(2).times(vec![Complex::new(phi, 0.0); 2], count, 0.0);
        assert_eq!(spectrum.bins[0], Complex::new(0.0, 0.0), "{phi}^{count}");
        assert!(spectrum.errors[0] >= size, "{phi}^{count}: {:e} {size:e}", spectrum.errors[0]);
    }
    let before = Spectrum { bins: vec![Complex::new(0.0, 0.0); 2], errors: vec![1e-3; 2] };
    let after = before.times(vec![Complex::new(2.0, 0.0); 2], 3, 0.0);
    assert!(after.errors[0] >= 8e-3, "an error that was there stays: {:e}", after.errors[0]);
}

/// The budget lets a transform err by E₁ Σ|x| in every bin. Errors of all bins may meet in one entry, and so may those of the
/// way back: an entry can be off by E₁ Σx and E₁ Σ|bin|/N together.
#[test]
fn errors_of_all_bins_may_meet_in_one_entry() {
    let atom = Masses { finite: vec![(0, 1.0)], infinite: 0.0 };
    for size in [1_usize << 10, 1 << 14] {
        let settings = Settings { tilt: 1.0, step: 0.01, size, start: -100 };
        let factors = [RepeatedMasses { masses: &atom, count: 1 }];
        let got = compose(&factors, settings, true, &mut RealFftPlanner::new()).unwrap();
        // One atom: every bin has modulus 1, and Σx is 1.
        assert!(got.entry_error >= 2.0 * transform_error(size), "{size}: {:e}", got.entry_error);
        let twice = [RepeatedMasses { masses: &atom, count: 2 }];
        let got = compose(&twice, settings, true, &mut RealFftPlanner::new()).unwrap();
        assert!(got.entry_error >= 3.0 * transform_error(size), "{size}: {:e}", got.entry_error);
    }
}

#[test]
fn tilted_masses_are_rounded_to_the_side_that_is_asked_for() {
    let law = masses(4, 300, 7);
    let (settings, factor) =
        (Settings { tilt: 1.7, step: 0.03, size: 1024, start: 0 }, RepeatedMasses { masses: &law, count: 1 });
    let ((up, log_up), (down, log_down)) = (tilt(&factor, &settings, true), tilt(&factor, &settings, false));
    assert_eq!(log_up, log_down);
    let mut apart = 0;
    for ((&(k, mass), high), low) in law.finite.iter().zip(&up.values).zip(&down.values) {
        let loss = Double::of(k as f64).times(Double::of(settings.step));
        let exact = Double::of(settings.tilt).times(loss).minus(Double::of(log_up)).exp().times(Double::of(mass));
        assert!(exact.off(high.1) >= 0.0 && exact.off(low.1) <= 0.0, "{k}");
        let nearest = mass * libm::exp(settings.tilt * (k as f64 * settings.step) - log_up);
        apart += usize::from(exact.off(nearest) < 0.0);
    }
    assert!(apart > 50, "{apart}: plain products would be too small");
    let exact = up.values.iter().fold(Double::of(0.0), |sum, v| sum.plus(Double::of(v.1)));
    assert!(exact.off(up.total) >= 0.0);
}

/// 1 and 10^5 numbers under half a unit of it: plain sums stay at 1, and 2^30 steps make a percent of what is lost.
fn swallowed() -> (Masses, f64) {
    let (small, many) = (0.49 * f64::EPSILON, 100_000);
    let finite = std::iter::once((0, 1.0)).chain((0..many).map(|_| (0, small))).collect();
    (Masses { finite, infinite: 1e-10 }, small * f64::from(many))
}

#[test]
fn the_rounding_of_a_moment_is_covered() {
    let (law, lost) = swallowed();
    let count = (1_u64 << 30) as f64;
    let tilted = TiltedMasses { values: law.finite.clone(), total: 1.0 + lost, count };
    assert_eq!(law.finite.iter().map(|m| m.1).sum::<f64>(), 1.0);
    assert!(count * lost > 0.01 && tilted.log_moment(0.0) >= count * libm::log1p(lost));
}

#[test]
fn the_rounding_of_the_infinite_mass_is_covered() {
    let (law, lost) = swallowed();
    let count = 1_u64 << 30;
    let got = infinite_mass(&[RepeatedMasses { masses: &law, count }]);
    let t = count as f64;
    let exact = libm::exp(t * libm::log1p(lost)) * libm::expm1(t * libm::log1p(law.infinite / (1.0 + lost)));
    assert!(got.lo <= exact && exact <= got.hi, "{got:?} {exact}");
    assert!(exact > 1.005 * libm::expm1(t * libm::log1p(law.infinite)), "the rounding must show");
}
