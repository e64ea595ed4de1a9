//! Bounds from other numbers of steps: neither ε nor δ falls as steps are added, because a step can be forgotten.

use super::super::pair::Composition;
use super::{Evaluator, Question, meet};
use crate::accounting::Bounds;
use crate::{PrivacyError, Steps};

/// Relative width over which other numbers of steps are asked.
pub(super) const WIDE: f64 = 1e-4;

/// How often the steps are doubled.
const DOUBLINGS: u32 = 10;

/// A certified interval, narrowed if it is wide: by one step of each pair from below and by 2, 4, … times as many steps
/// from above, of which the first that the contour answers is the closest.
pub(super) fn narrowed(composition: &Composition, question: Question, found: Bounds) -> Result<Bounds, PrivacyError> {
    if found.relative_width() <= WIDE {
        return Ok(found);
    }
    let single = |pair| Evaluator::Closed.answer(&vec![(pair, Steps::ONE)], question);
    let singles = composition.iter().filter_map(|(pair, _)| single(pair.clone()).ok());
    let lower = singles.fold(0.0, |most: f64, one| most.max(one.lower));
    let upper = above(composition, question).unwrap_or(found.upper);
    meet(found, Bounds { lower, upper: upper.max(lower) })
}

/// The upper end at the least multiple of the steps that the contour answers.
fn above(composition: &Composition, question: Question) -> Option<f64> {
    if !Evaluator::Contour.suits(composition) {
        return None;
    }
    (1..=DOUBLINGS).find_map(|doublings| {
        let more = composition.iter().map(|(pair, steps)| {
            let count = steps.get().checked_mul(1 << doublings)?;
            Some((pair.clone(), Steps::new(count).ok()?))
        });
        Evaluator::Contour.answer(&more.collect::<Option<Composition>>()?, question).ok().map(|bounds| bounds.upper)
    })
}
