//! The certified accountant: two-sided bounds on ε and δ from the privacy loss distribution.
//!
//! Closed forms where they exist, else composition by FFT (`docs/maths/certified-pld.md`). A number that is returned is
//! enclosed by bounds that include every error made on the way; where that fails the answer is a refusal.

mod closed;
mod discretise;
mod estimate;
mod evaluate;
mod fft;
mod law;
mod lower;
mod problem;
mod solve;

use super::pair::{Composition, Pair, directions};
use super::{Accountant, Bounds, Interval};
use crate::{Delta, Epsilon, Event, PrivacyError, Steps};
use problem::{Problem, Side};
use solve::{Missed, crossing};

/// Relative width of ε at which directions are compared.
const COARSE: f64 = 1e-3;

/// Relative width of ε that is aimed at.
const FINE: f64 = 1e-6;

/// The name on the command line.
const NAME: &str = "pld";

/// The accountant of exact privacy loss distributions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pld;

/// How a composition is evaluated.
#[derive(PartialEq)]
enum Route {
    Closed,
    Fft,
}

/// Decides by the composition alone.
fn route(composition: &[(Pair, Steps)]) -> Route {
    match closed::covers(composition) {
        true => Route::Closed,
        false => Route::Fft,
    }
}

impl Accountant for Pld {
    fn name(&self) -> &'static str {
        NAME
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let all = directions(NAME, plan)?;
        if delta.get() == 0.0 {
            return worst(all.iter().map(pure));
        }
        narrowed(&all, |c, width, rough| enclosed(c, |c| epsilon_of(c, delta.get(), width, rough)))
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        narrowed(&directions(NAME, plan)?, |c, width, _| enclosed(c, |c| delta_of(c, epsilon.get(), width)))
    }
}

/// Coarse bounds of all directions, and fine ones of those that can still be the worst.
///
/// Errors fall with the square of the step: where the coarse bounds were wider than asked, the fine ones are asked for more.
fn narrowed(
    all: &[Composition],
    bounds: impl Fn(&Composition, f64, Option<Bounds>) -> Result<Bounds, PrivacyError>,
) -> Result<Bounds, PrivacyError> {
    let coarse: Vec<Bounds> = all.iter().map(|c| bounds(c, COARSE, None)).collect::<Result<_, _>>()?;
    let proved = coarse.iter().fold(0.0, |most: f64, b| most.max(b.lower));
    worst(all.iter().zip(coarse).map(|(c, rough)| match rough.upper > proved {
        true => bounds(c, FINE * (COARSE / rough.relative_width()).clamp(0.25, 1.0), Some(rough)),
        false => Ok(rough),
    }))
}

/// Bounds of a composition in which laws may be enclosed by two others: the upper end by the upper laws, the lower end by
/// the lower ones. Every other pair is both of its laws, and is evaluated once.
fn enclosed(
    composition: &Composition,
    bounds: impl Fn(&Composition) -> Result<Bounds, PrivacyError>,
) -> Result<Bounds, PrivacyError> {
    if route(composition) == Route::Closed || !composition.iter().any(|(p, _)| matches!(p, Pair::Enclosed(_))) {
        return bounds(composition);
    }
    let part = |law: fn(&Pair) -> Pair| composition.iter().map(|(pair, steps)| (law(pair), *steps)).collect();
    Ok(Bounds { lower: bounds(&part(Pair::lower))?.lower, upper: bounds(&part(Pair::upper))?.upper })
}

/// The worse of the directions; a refusal of one is a refusal.
fn worst(each: impl Iterator<Item = Result<Bounds, PrivacyError>>) -> Result<Bounds, PrivacyError> {
    each.into_iter().try_fold(Bounds::ZERO, |worst, one| Ok(worst.max(one?)))
}

/// ε at δ = 0: the largest loss of the composition.
fn pure(composition: &Composition) -> Result<Bounds, PrivacyError> {
    match closed::largest_loss(composition) {
        Some(loss) => Ok(Bounds::between(loss.lo, loss.hi)),
        None => Err(PrivacyError::Parameter {
            name: "delta",
            found: "0".into(),
            expected: "a number over 0, because the privacy loss of this plan is unbounded",
        }),
    }
}

fn epsilon_of(
    composition: &Composition,
    delta: f64,
    width: f64,
    rough: Option<Bounds>,
) -> Result<Bounds, PrivacyError> {
    match route(composition) {
        Route::Closed => closed_epsilon(composition, delta),
        Route::Fft => fft_epsilon(&Problem::new(composition)?, delta, width, rough),
    }
}

fn delta_of(composition: &Composition, epsilon: f64, width: f64) -> Result<Bounds, PrivacyError> {
    if closed::largest_loss(composition).is_some_and(|most| epsilon >= most.hi) {
        return Ok(Bounds::ZERO);
    }
    match route(composition) {
        Route::Closed => {
            let delta = closed::delta(composition, epsilon);
            Ok(Bounds::between(delta.lo, delta.hi))
        }
        Route::Fft => fft_delta(&Problem::new(composition)?, epsilon, width),
    }
}

/// Bisects the enclosing curve of a closed form at both ends.
fn closed_epsilon(composition: &Composition, delta: f64) -> Result<Bounds, PrivacyError> {
    let at = |epsilon: f64| closed::delta(composition, epsilon);
    let guess = closed::largest_loss(composition).map_or(1.0, |most| most.hi);
    let find = |curve: &dyn Fn(f64) -> f64| crossing(curve, delta, guess, 1e9, 1e-14).map_err(|_| no_epsilon(delta));
    let (upper, lower) = (find(&|e| at(e).hi)?, find(&|e| at(e).lo)?);
    Ok(Bounds::between(lower.last_above, upper.first_below))
}

/// Looks for ε where the rough law has it, and where the curve points if it is not there.
fn fft_epsilon(problem: &Problem, delta: f64, width: f64, rough: Option<Bounds>) -> Result<Bounds, PrivacyError> {
    let mut saddle = problem.saddle_at_delta(delta);
    if let Some(bounds) = rough {
        saddle.epsilon = 0.5 * (bounds.lower + bounds.upper);
    }
    for _ in 0..6 {
        saddle.epsilon = saddle.epsilon.max(0.0);
        saddle.log_delta = libm::log(delta);
        let mut prepared = problem.prepare(saddle, width)?;
        let reach = 0.5 * saddle.epsilon + 0.1;
        let mut found = [0.0; 2];
        let mut missed = None;
        for (side, slot) in [Side::Upper, Side::Lower].into_iter().zip(&mut found) {
            let curve = prepared.curve(side)?;
            let value = |e: f64| if side == Side::Upper { curve.upper(e) } else { curve.lower(e) };
            match crossing(value, delta, saddle.epsilon, reach, 0.01 * width) {
                Ok(c) => *slot = if side == Side::Upper { c.first_below } else { c.last_above },
                Err(m) => missed = Some(m),
            }
        }
        let Some(missed) = missed else { return Ok(Bounds::between(found[1], found[0])) };
        let next = if missed == Missed::Above { saddle.epsilon + reach } else { (saddle.epsilon - reach).max(0.0) };
        saddle = problem.saddle_at_epsilon(next, libm::log(delta));
    }
    Err(no_epsilon(delta))
}

fn fft_delta(problem: &Problem, epsilon: f64, width: f64) -> Result<Bounds, PrivacyError> {
    let first = problem.saddle_at_epsilon(epsilon, libm::log(1e-12));
    let saddle = problem.saddle_at_epsilon(epsilon, first.log_delta);
    let mut prepared = problem.prepare(saddle, width)?;
    let upper = prepared.curve(Side::Upper)?.upper(epsilon);
    let lower = prepared.curve(Side::Lower)?.lower(epsilon);
    Ok(Bounds::between(lower, upper))
}

/// A refusal, with what to do.
fn refuse(why: &str) -> PrivacyError {
    PrivacyError::Uncertified {
        accountant: NAME,
        why: why.into(),
        hint: "the `rdp` accountant gives an upper bound for any number of steps",
    }
}

fn no_epsilon(delta: f64) -> PrivacyError {
    refuse(&format!("no epsilon was found at which delta is certified to be {delta:e}"))
}
