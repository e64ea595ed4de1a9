//! ε and δ of one composition by the FFT: discretised on a grid, tilted, composed, and bounded from both sides.

use super::no_epsilon;
use super::problem::{Problem, Side};
use super::solve::{Missed, crossing};
use crate::PrivacyError;
use crate::accounting::Bounds;
use crate::accounting::pair::Composition;

/// ε at δ, to about the relative `width`; `rough` bounds from an earlier search say where to look.
pub(super) fn epsilon(
    composition: &Composition,
    delta: f64,
    width: f64,
    rough: Option<Bounds>,
) -> Result<Bounds, PrivacyError> {
    search(&Problem::new(composition)?, delta, width, rough)
}

/// Looks for ε where the rough law has it, and where the curve points if it is not there.
fn search(problem: &Problem, delta: f64, width: f64, rough: Option<Bounds>) -> Result<Bounds, PrivacyError> {
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

/// δ at ε, to about the relative `width`.
pub(super) fn delta(composition: &Composition, epsilon: f64, width: f64) -> Result<Bounds, PrivacyError> {
    let problem = Problem::new(composition)?;
    let first = problem.saddle_at_epsilon(epsilon, libm::log(1e-12));
    let saddle = problem.saddle_at_epsilon(epsilon, first.log_delta);
    let mut prepared = problem.prepare(saddle, width)?;
    let upper = prepared.curve(Side::Upper)?.upper(epsilon);
    let lower = prepared.curve(Side::Lower)?.lower(epsilon);
    Ok(Bounds::between(lower, upper))
}
