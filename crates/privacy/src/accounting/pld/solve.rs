//! ε from δ: a bracket whose two ends have certified signs.
//!
//! The bracket is closed from both sides, so that the end that is returned was itself evaluated.

/// Most evaluations of a curve in one search.
const MOST: usize = 80;

/// Two neighbours: δ(last_above) > δ ≥ δ(first_below).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Crossing {
    /// Largest ε found at which the curve is above δ. Negative if it is not above at 0.
    pub(super) last_above: f64,
    /// Smallest ε found at which it is not.
    pub(super) first_below: f64,
}

/// Which way a search ran out of its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Missed {
    /// The curve is above δ as far as was looked.
    Above,
    /// The curve is not above δ as far down as was looked.
    Below,
}

/// Narrows a bracket around `guess` until it is relatively `tolerance` wide. `curve` need not be exactly monotone.
///
/// The bracket is widened from `guess` by factors of four, at most to `reach` on either side.
pub(super) fn crossing(
    curve: impl Fn(f64) -> f64,
    delta: f64,
    guess: f64,
    reach: f64,
    tolerance: f64,
) -> Result<Crossing, Missed> {
    // A value that is not a number proves nothing: it counts as above.
    let log = |epsilon: f64| match curve(epsilon) {
        value if value.is_nan() => 10.0,
        value => libm::log((value / delta).max(1e-300)).clamp(-10.0, 10.0),
    };
    let mut radius = (guess * 1e-3).max(1e-6).min(reach);
    let (mut low, mut high);
    loop {
        (low, high) = ((guess - radius).max(0.0), guess + radius);
        let (at_low, at_high) = (log(low), log(high));
        if at_low > 0.0 && at_high <= 0.0 {
            return Ok(narrow(log, Abscissa { at: low, log: at_low }, Abscissa { at: high, log: at_high }, tolerance));
        }
        if at_low <= 0.0 && low == 0.0 {
            return Ok(Crossing { last_above: -1.0, first_below: 0.0 });
        }
        if radius >= reach {
            return Err(if at_low <= 0.0 { Missed::Below } else { Missed::Above });
        }
        radius = (4.0 * radius).min(reach);
    }
}

/// A point that was tried, and the logarithm of the curve there over what is looked for.
#[derive(Clone, Copy)]
struct Abscissa {
    at: f64,
    log: f64,
}

/// The Illinois variant of false position, on the logarithm: an end that stays loses half of its weight.
///
/// Each aim is moved by a little more than what is left of the tolerance, so that the bracket closes from both ends.
fn narrow(log: impl Fn(f64) -> f64, mut low: Abscissa, mut high: Abscissa, tolerance: f64) -> Crossing {
    let (mut weight_low, mut weight_high, mut last) = (low.log, high.log, 0);
    for turn in 0..MOST {
        let width = high.at - low.at;
        let goal = tolerance.max(4.0 * f64::EPSILON) * high.at;
        if width <= goal {
            break;
        }
        let share = if turn % 4 == 3 { 0.5 } else { weight_low / (weight_low - weight_high) };
        let aim = low.at + share * width + if last < 0 { 0.4 * goal } else { -0.4 * goal };
        let middle = aim.max(low.at + 0.4 * goal).min(high.at - 0.4 * goal);
        let value = log(middle);
        if value > 0.0 {
            weight_high *= if last < 0 { 0.5 } else { 1.0 };
            (low, weight_low, last) = (Abscissa { at: middle, log: value }, value, -1);
        } else {
            weight_low *= if last > 0 { 0.5 } else { 1.0 };
            (high, weight_high, last) = (Abscissa { at: middle, log: value }, value, 1);
        }
    }
    Crossing { last_above: low.at, first_below: high.at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_bracket_has_certified_signs_and_closes_quickly() {
        let calls = Cell::new(0);
        let curve = |e: f64| {
            calls.set(calls.get() + 1);
            libm::exp(-e * e / 3.0) / (1.0 + e)
        };
        for delta in [0.7, 1e-3, 1e-12] {
            for guess in [0.01, 2.0, 3.3] {
                calls.set(0);
                let found = crossing(curve, delta, guess, 50.0, 1e-9).unwrap();
                assert!(curve(found.last_above) > delta && curve(found.first_below) <= delta);
                assert!(found.first_below - found.last_above <= 1e-9 * found.first_below);
                assert!(calls.get() < 45, "{delta} {guess}: {} calls", calls.get());
            }
        }
    }

    #[test]
    fn a_curve_below_delta_costs_nothing_and_one_that_never_falls_is_missed() {
        let free = crossing(|_| 1e-9, 1e-3, 1.0, 10.0, 1e-9).unwrap();
        assert_eq!(free, Crossing { last_above: -1.0, first_below: 0.0 });
        assert_eq!(crossing(|_| 0.5, 1e-3, 1.0, 10.0, 1e-9), Err(Missed::Above));
        assert_eq!(crossing(|e| 1e-4 / (1.0 + e), 1e-3, 50.0, 10.0, 1e-9), Err(Missed::Below));
    }
}
