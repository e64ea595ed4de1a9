//! ε from δ: a bracket whose two ends have certified signs.

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
    let log = |epsilon: f64| libm::log((curve(epsilon) / delta).max(1e-300));
    let mut radius = (guess * 1e-3).max(1e-6).min(reach);
    let (mut low, mut high);
    loop {
        (low, high) = ((guess - radius).max(0.0), guess + radius);
        let (at_low, at_high) = (log(low), log(high));
        if at_low > 0.0 && at_high <= 0.0 {
            return Ok(narrow(log, (low, at_low), (high, at_high), tolerance));
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

/// The Illinois variant of false position, on the logarithm, with bisection where it does not make progress.
fn narrow(log: impl Fn(f64) -> f64, mut low: (f64, f64), mut high: (f64, f64), tolerance: f64) -> Crossing {
    let (mut weight_low, mut weight_high) = (low.1, high.1);
    for turn in 0..MOST {
        let width = high.0 - low.0;
        if width <= tolerance * high.0 || width <= 4.0 * f64::EPSILON * high.0 {
            break;
        }
        let share = if turn % 3 == 2 { 0.5 } else { weight_low / (weight_low - weight_high) };
        // Aim a little past the root on both sides in turn, so that the bracket closes from both ends.
        let nudge = if turn % 2 == 0 { 0.25 } else { -0.25 } * tolerance * high.0;
        let middle = (low.0 + share * width + nudge).clamp(low.0 + 1e-3 * width, high.0 - 1e-3 * width);
        let value = log(middle);
        if value > 0.0 {
            (low, weight_low, weight_high) = ((middle, value), value, 0.5 * weight_high);
        } else {
            (high, weight_high, weight_low) = ((middle, value), value, 0.5 * weight_low);
        }
    }
    Crossing { last_above: low.0, first_below: high.0 }
}
