//! For every term that a curve adds or subtracts, a law in which that term decides: without it the bound would be wrong.
//!
//! Laws are placed on the nodes by hand, so that their exact δ is known. `docs/maths/certified-pld.md` has the table of terms.

use super::super::discretise::Masses;
use super::super::fft::{RepeatedMasses, Settings, compose};
use super::*;
use crate::accounting::double::Double;
use realfft::RealFftPlanner;

const SETTINGS: Settings = Settings { tilt: 2.0, step: 0.125, size: 1024, start: -512 };

/// A window of losses from −½ to ½.
const NARROW: Settings = Settings { tilt: 2.0, step: 1.0 / 1024.0, size: 1024, start: -512 };

/// y_k at these nodes with M = 1 and no error at all.
fn placed(nodes: &[(i64, f64)], settings: Settings) -> ComposedMasses {
    let mut values = vec![0.0; settings.size];
    for &(k, y) in nodes {
        values[k.rem_euclid(settings.size as i64) as usize] += y;
    }
    let (log_scale, infinite) = (Interval::exact(0.0), Interval::exact(0.0));
    ComposedMasses { values, settings, log_scale, entry_error: 0.0, outside: (0.0, 0.0), infinite }
}

fn curve(composed: ComposedMasses) -> DeltaCurve {
    DeltaCurve::new(composed, Interval::exact(0.0), 0.0)
}

/// Σ y_k e^{−λkh} (1 − e^{ε−kh})₊, for M = 1.
fn exact(nodes: &[(i64, f64)], settings: Settings, epsilon: f64) -> f64 {
    let loss = |k: i64| k as f64 * settings.step;
    let term =
        |&(k, y): &(i64, f64)| y * libm::exp(-settings.tilt * loss(k)) * -libm::expm1(epsilon - loss(k)).min(0.0);
    nodes.iter().map(term).sum()
}

/// Values that are all too small by their error are made up for, and values that are too large are made smaller.
#[test]
fn the_error_of_the_values_is_added_and_subtracted() {
    let error = 1e-3;
    let off = |sign: f64, nodes: &[(i64, f64)]| {
        let mut composed = placed(nodes, SETTINGS);
        composed.values.iter_mut().for_each(|y| *y += sign * error);
        composed
    };
    let nodes: Vec<(i64, f64)> = (0..100).map(|k| (k, 0.01)).collect();
    for epsilon in [0.01, 1.0, 4.0] {
        let exact = exact(&nodes, SETTINGS, epsilon);
        let (small, large) = (off(-1.0, &nodes), off(1.0, &nodes));
        assert!(curve(off(-1.0, &nodes)).upper(epsilon) < exact && curve(off(1.0, &nodes)).lower(epsilon) > exact);
        let (small, large) = (
            curve(ComposedMasses { entry_error: error, ..small }),
            curve(ComposedMasses { entry_error: error, ..large }),
        );
        assert!(small.upper(epsilon) >= exact && large.lower(epsilon) <= exact, "{epsilon}");
        // Mass within ½ of ε, which the blurred bound asks for, where all of it is within the error of values that are 0.
        let unseen = curve(ComposedMasses { entry_error: error, ..placed(&[], SETTINGS) });
        let inside = |k: &i64| (*k as f64 * SETTINGS.step - epsilon).abs() <= 0.5;
        let mass: f64 = (-512..512).filter(inside).map(|k| error * libm::exp(-0.25 * k as f64)).sum();
        assert!(mass > 0.0 && unseen.mass_near(epsilon, 0.5) >= mass, "{epsilon}");
    }
}

/// A step of one loss, composed in a window that does not hold it.
fn outside(place: i64, upper: bool) -> DeltaCurve {
    let masses = Masses { finite: vec![(place, 1.0)], infinite: 0.0 };
    let factors = [RepeatedMasses { masses: &masses, count: 1 }];
    curve(compose(&factors, NARROW, upper, &mut RealFftPlanner::new()).unwrap())
}

/// All mass is above the window, and is wrapped to where it does not count: nothing but the bound on it is left.
#[test]
fn mass_beyond_the_window_is_added_from_above() {
    let place = NARROW.start + NARROW.size as i64 + 3;
    let law = outside(place, true);
    for epsilon in [-0.4, 0.0, 0.49] {
        let exact = -libm::expm1(epsilon - place as f64 * NARROW.step);
        assert!(law.upper(epsilon) >= exact, "{epsilon}: {} {exact}", law.upper(epsilon));
    }
    let unseen = curve(ComposedMasses { outside: (0.0, 0.0), ..law.composed });
    assert!(unseen.upper(0.0) < 1e-9, "without it nothing is left but the error of the values");
}

/// All mass is below or above the window, and is wrapped to where it counts for more than it is.
#[test]
fn mass_that_is_wrapped_into_the_window_is_subtracted_from_below() {
    let size = NARROW.size as i64;
    for (place, epsilon) in [(NARROW.start - 200, 0.0), (NARROW.start + size + 700, -0.1)] {
        let law = outside(place, false);
        let exact = (-libm::expm1(epsilon - place as f64 * NARROW.step)).max(0.0);
        assert!(law.lower(epsilon) <= exact, "{place}: {} {exact}", law.lower(epsilon));
        let unseen = curve(ComposedMasses { outside: (0.0, 0.0), ..law.composed });
        assert!(unseen.lower(epsilon) > exact + 0.01, "{place}: {} {exact}", unseen.lower(epsilon));
    }
}

/// The only mass has the weight e^{−62}, and is more blocks away than are summed.
#[test]
fn blocks_that_are_left_out_are_added_from_above() {
    let settings = Settings { step: 1.0 / 512.0, size: 1 << 15, ..SETTINGS };
    let nodes = [(64 * BLOCK as i64 + settings.start, 1.0)];
    let law = curve(placed(&nodes, settings));
    let (value, error) = law.value(0.0).unwrap();
    let exact = exact(&nodes, settings, 0.0);
    assert!(value == 0.0 && exact > 0.0 && error >= exact, "{value} {error:e} {exact:e}");
    assert!(law.upper(0.0) >= exact && law.lower(0.0) <= exact);
}

/// Losses of a million at a tilt of a thousand: t = kh − e has no more than ten digits left.
#[test]
fn the_rounding_of_weights_is_covered() {
    let settings = Settings { tilt: 1000.0, step: 1e-3 / 3.0, size: 1024, start: 3_000_000_000 };
    let (mut worst, left_out) = (0.0_f64, libm::exp(-59.0));
    for i in 0..200 {
        let k = settings.start + 300 + i;
        let law = curve(placed(&[(k, 1.0)], settings));
        let e = (settings.start + 290) as f64 * settings.step + 1e-5 * i as f64;
        let (value, error) = law.value(e).unwrap();
        let t = Double::of(k as f64).times(Double::of(settings.step)).minus(Double::of(e));
        let slow = Double::of(-settings.tilt).times(t).exp();
        let fast = Double::of(-settings.tilt - 1.0).times(t).exp();
        let off = slow.minus(fast).off(value).abs();
        assert!(off <= error, "{i}: {off:e} {error:e}");
        worst = worst.max(off / (left_out + 1e-13 * value));
    }
    assert!(worst > 1.0, "the rounding must show: {worst:e}");
}

/// log M is known to a tenth, and the product λe to a millionth: δ is known no better.
#[test]
fn the_scale_is_an_interval() {
    let nodes = [(10, 1.0)];
    let epsilon = 0.3;
    let middle = exact(&nodes, SETTINGS, epsilon);
    let law = curve(ComposedMasses { log_scale: Interval::new(-0.1, 0.1), ..placed(&nodes, SETTINGS) });
    assert!(law.upper(epsilon) >= middle * libm::exp(0.1) && law.lower(epsilon) <= middle * libm::exp(-0.1));
    let (tilt, e) = (1e6 + 0.1, 1e3 + 0.1);
    let settings = Settings { tilt, step: 1.0, size: 1024, start: 900 };
    let product = tilt * e;
    let law = curve(ComposedMasses { log_scale: Interval::exact(product), ..placed(&[(1001, 1.0)], settings) });
    let (rounded, scale) = (tilt.mul_add(e, -product), law.scale(e));
    assert!(rounded.abs() > 1e-9 && scale.lo <= libm::exp(-rounded) && libm::exp(-rounded) <= scale.hi);
}

/// Losses that may differ by η, an offset that is known to a tenth, and a probability of infinite loss.
#[test]
fn slack_offset_and_infinite_losses_move_both_ends() {
    let (nodes, epsilon) = ([(10, 1.0)], 0.3);
    // The node has the loss 1.25 and the mass e^{−λ·1.25}.
    let moved = |eta: f64| -libm::expm1(epsilon - eta - 1.25) * libm::exp(-2.5);
    let slack = DeltaCurve::new(placed(&nodes, SETTINGS), Interval::exact(0.0), 0.1);
    assert!(slack.upper(epsilon) >= moved(0.1) && slack.lower(epsilon) <= moved(-0.1));
    let offset = DeltaCurve::new(placed(&nodes, SETTINGS), Interval::new(-0.1, 0.1), 0.0);
    assert!(offset.upper(epsilon) >= moved(0.1) && offset.lower(epsilon) <= moved(-0.1));
    let infinite = curve(ComposedMasses { infinite: Interval::new(0.01, 0.02), ..placed(&nodes, SETTINGS) });
    assert!(infinite.upper(epsilon) >= moved(0.0) + 0.02 && infinite.lower(epsilon) <= moved(0.0) + 0.01);
    assert!(infinite.upper(-1e3) == 1.0 && infinite.lower(1e3) == 0.01, "outside of the window");
}
