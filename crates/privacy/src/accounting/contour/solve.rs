//! Certified δ(ε), ε(δ) and the question whether δ(ε) is small enough, each with a contour of its own choice.
//!
//! Each question chooses its own contour near its saddle point, evaluates, and chooses again if the interval is too wide.

use super::choose::{Saddle, log_chernoff};
use super::cumulant::Sketch;
use super::evaluate::{Contour, ContourRefusal};
use super::factor::chernoff;
use super::law::{Laws, largest_loss, variation};
use crate::accounting::Bounds;
use crate::accounting::pair::DominatingPair;
use crate::{Delta, Epsilon, PrivacyError, Steps};

/// Relative sizes of every error term that are tried in turn, with the share of δ that is cut away.
const TOLERANCES: [(f64, f64); 3] = [(1e-9, 1e-9), (1e-8, 3e-8), (1e-7, 1e-6)];

/// Relative width over which no answer is given.
const WIDEST: f64 = 1e-4;

/// Relative width at which no narrower interval is looked for.
const NARROW: f64 = 1e-7;

/// An answer that counts as zero, whatever its relative width: no δ or ε of this size matters.
const NEGLIGIBLE: f64 = 1e-30;

/// How often the contour is made.
const MOVES: u32 = 4;

/// A refusal of the contour; the caller may try another evaluator.
fn refuse(why: String) -> PrivacyError {
    PrivacyError::Uncertified {
        accountant: "pld",
        why,
        hint: "use the grid evaluator for few steps or discrete losses, or `rdp` for an upper bound",
    }
}

/// The same in words.
fn explain(refusal: ContourRefusal) -> PrivacyError {
    refuse(match refusal {
        ContourRefusal::Cancellation => "the contour integral cancels too many digits".to_owned(),
        ContourRefusal::Work => {
            "the contour integral decays too slowly for so few steps or so discrete a loss".to_owned()
        }
    })
}

/// A composition cut for a given δ, with its sketch.
struct Cut {
    laws: Laws,
    sketch: Sketch,
}

impl Cut {
    /// The loss laws of a composition, cut so that at most `mass` is left out.
    fn new(composition: &[(DominatingPair, Steps)], mass: f64) -> Self {
        let laws = Laws::new(composition, mass);
        let sketch = Sketch::new(&laws);
        Self { laws, sketch }
    }
}

/// Certified δ(ε) of one direction, or a refusal.
pub fn delta(composition: &[(DominatingPair, Steps)], epsilon: f64) -> Result<Bounds, PrivacyError> {
    Epsilon::new(epsilon)?;
    if largest_loss(composition) <= epsilon {
        return Ok(Bounds::ZERO);
    }
    narrowest(|tolerance, cut| delta_within(composition, epsilon, tolerance, cut))
}

/// The intersection of certified intervals at falling precision and rising robustness, until it is narrow.
fn narrowest(find: impl Fn(f64, f64) -> Result<Bounds, PrivacyError>) -> Result<Bounds, PrivacyError> {
    let mut best: Option<Bounds> = None;
    let mut refusal = None;
    for (tolerance, cut) in TOLERANCES {
        match find(tolerance, cut) {
            Ok(next) => {
                let both =
                    best.map_or(next, |b| Bounds { lower: b.lower.max(next.lower), upper: b.upper.min(next.upper) });
                if both.lower > both.upper {
                    return Err(refuse("two certified intervals contradict each other, which is a defect".to_owned()));
                }
                if both.relative_width() <= NARROW || both.upper <= NEGLIGIBLE {
                    return Ok(both);
                }
                best = Some(both);
            }
            Err(error) => refusal = Some(error),
        }
    }
    match (best, refusal) {
        (Some(bounds), _) if bounds.relative_width() <= WIDEST => Ok(bounds),
        (_, Some(error)) => Err(error),
        _ => Err(refuse("the certified interval is too wide to be of use".to_owned())),
    }
}

/// δ(ε) at one tolerance. What is cut away follows the δ that the saddle point promises.
fn delta_within(
    composition: &[(DominatingPair, Steps)],
    epsilon: f64,
    tolerance: f64,
    cut: f64,
) -> Result<Bounds, PrivacyError> {
    let mut size = 1e-10_f64;
    for _ in 0..4 {
        let law = Cut::new(composition, cut * size);
        let saddle = Saddle::for_epsilon(&law.sketch, epsilon)
            .ok_or_else(|| refuse(format!("no saddle point was found at epsilon {epsilon}")))?;
        let found = libm::exp(saddle.log_delta).clamp(1e-200, 1.0);
        if found >= 0.1 * size && found <= 1e4 * size || size <= 1e-200 {
            let saddle = Saddle { epsilon, ..saddle };
            let contour = Contour::new(&law.laws, &law.sketch, &saddle, tolerance).map_err(explain)?;
            return Ok(contour.bounds(epsilon));
        }
        size = found;
    }
    Err(refuse(format!("delta at epsilon {epsilon} could not be located")))
}

/// Certified ε(δ) of one direction, or a refusal: δ(lower) ≥ δ and δ(upper) ≤ δ for certain.
pub fn epsilon(composition: &[(DominatingPair, Steps)], delta: f64) -> Result<Bounds, PrivacyError> {
    Delta::new(delta)?;
    if variation(composition) <= delta {
        return Ok(Bounds::ZERO);
    }
    narrowest(|tolerance, cut| epsilon_within(composition, delta, tolerance, cut))
}

/// ε(δ) at one tolerance. The contour is moved to the answer if the saddle point's guess was far from it.
fn epsilon_within(
    composition: &[(DominatingPair, Steps)],
    delta: f64,
    tolerance: f64,
    cut: f64,
) -> Result<Bounds, PrivacyError> {
    let law = Cut::new(composition, cut * delta);
    let rest = delta - law.laws.infinite().1;
    if rest <= 0.0 {
        return Err(refuse(format!("a loss is infinite with a probability over delta {delta}")));
    }
    let mut saddle = Saddle::for_delta(&law.sketch, libm::log(rest))
        .ok_or_else(|| refuse(format!("no saddle point was found at delta {delta}")))?;
    for _ in 0..MOVES {
        let start = saddle.epsilon.max(0.0);
        let planned = Saddle { epsilon: start, log_delta: libm::log(rest), ..saddle };
        // An error of δ by a factor 1 + t moves ε by about t / c: a small ε needs a smaller tolerance.
        let finer = tolerance * (saddle.c * start).clamp(1e-3, 1.0);
        let contour = Contour::new(&law.laws, &law.sketch, &planned, finer).map_err(explain)?;
        let guess = newton(&contour, start, delta);
        // One contour serves an ε whose δ differs by a small factor.
        let near = (guess - start).abs() * saddle.c <= 2.0;
        match certify(&contour, guess, delta) {
            Some(bounds) if near => return Ok(bounds),
            None if near => break,
            _ => {}
        }
        let Some(moved) = Saddle::for_epsilon(&law.sketch, guess) else { break };
        saddle = Saddle { epsilon: guess, ..moved };
    }
    Err(refuse(format!("the ends of epsilon at delta {delta} could not be certified")))
}

/// Newton's method for log δ on one contour, from a guess, not below zero.
fn newton(contour: &Contour, start: f64, delta: f64) -> f64 {
    let mut epsilon = start;
    for _ in 0..30 {
        let (value, slope) = contour.estimate(epsilon);
        if value.is_nan() || value <= 0.0 || slope >= 0.0 {
            break;
        }
        let step = libm::log(value / delta) * value / -slope;
        let next = (epsilon + step.clamp(-0.5 * epsilon - 1e-3, 0.5 * epsilon + 1.0)).max(0.0);
        let settled = (next - epsilon).abs() <= 1e-15 * epsilon;
        epsilon = next;
        if settled {
            break;
        }
    }
    epsilon
}

/// Widens around a guess until both signs are certain.
fn certify(contour: &Contour, guess: f64, delta: f64) -> Option<Bounds> {
    let here = contour.bounds(guess);
    if guess == 0.0 && here.upper <= delta {
        return Some(Bounds::ZERO);
    }
    let slope = contour.estimate(guess).1.abs().max(f64::MIN_POSITIVE);
    let mut width = ((here.upper - here.lower) / slope).max(1e-15 * guess);
    let (mut lower, mut upper) = (None, None);
    for _ in 0..40 {
        let (low, high) = (guess - width, guess + width);
        if lower.is_none() && (low <= 0.0 || contour.bounds(low).lower >= delta) {
            lower = Some(low.max(0.0));
        }
        if upper.is_none() && contour.bounds(high).upper <= delta {
            upper = Some(high);
        }
        if let (Some(lower), Some(upper)) = (lower, upper) {
            return Some(Bounds { lower, upper });
        }
        width *= 1.5;
    }
    None
}

/// True if δ(ε) ≤ delta for certain; false if it is larger or the bounds do not tell.
///
/// Cheaper than `delta`: first the largest possible loss, then Chernoff's bound, then a contour of low precision.
pub fn within(composition: &[(DominatingPair, Steps)], epsilon: f64, delta: f64) -> Result<bool, PrivacyError> {
    Epsilon::new(epsilon)?;
    Delta::new(delta)?;
    if variation(composition) <= delta || largest_loss(composition) <= epsilon {
        return Ok(true);
    }
    for (tolerance, cut) in [(1e-3, 1e-4), (1e-9, 1e-9)] {
        let law = Cut::new(composition, cut * delta);
        let saddle = Saddle::for_epsilon(&law.sketch, epsilon)
            .ok_or_else(|| refuse(format!("no saddle point was found at epsilon {epsilon}")))?;
        let hopeful = law.sketch.k(saddle.c) - saddle.c * epsilon + log_chernoff(saddle.c) < libm::log(delta);
        if hopeful && chernoff(&law.laws, saddle.c, epsilon) <= delta {
            return Ok(true);
        }
        let saddle = Saddle { epsilon, log_delta: libm::log(delta), ..saddle };
        let contour = Contour::new(&law.laws, &law.sketch, &saddle, tolerance).map_err(explain)?;
        let bounds = contour.bounds(epsilon);
        if bounds.upper <= delta {
            return Ok(true);
        }
        if bounds.lower > delta {
            return Ok(false);
        }
    }
    Ok(false)
}
