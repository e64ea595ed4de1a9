//! Bounds from other numbers of steps: neither ε nor δ falls as steps are added, because a step can be forgotten.
//!
//! A certified ε of more steps bounds that of fewer from above, and the reverse from below. Only intervals
//! that are wide are narrowed in this way.

use super::super::pair::{Composition, DominatingPair};
use super::{CostQuestion, Evaluator, Interval, closed, closed_epsilon, meet};
use crate::accounting::Bounds;
use crate::{PrivacyError, Steps};

/// Relative width over which other numbers of steps are asked.
pub(super) const WIDE: f64 = 1e-4;

/// How often the steps are doubled.
const DOUBLINGS: u32 = 10;

/// A certified interval, narrowed if it is wide: by one step of each pair from below and by 2, 4, … times as many steps
/// from above, of which the first that the contour answers is the closest.
pub(super) fn narrowed(
    composition: &Composition,
    question: CostQuestion,
    found: Bounds,
) -> Result<Bounds, PrivacyError> {
    if found.relative_width() <= WIDE {
        return Ok(found);
    }
    let single = |pair| Evaluator::Closed.answer(&vec![(pair, Steps::ONE)], question);
    let singles = composition.iter().filter_map(|(pair, _)| single(pair.clone()).ok());
    let lower = singles.fold(0.0, |most: f64, one| most.max(one.lower));
    let jump = match question {
        CostQuestion::EpsilonAt(delta) => one_jump(composition, delta).unwrap_or(0.0),
        CostQuestion::DeltaAt(_) => 0.0,
    };
    let lower = lower.max(jump);
    let upper = above(composition, question).unwrap_or(found.upper);
    meet(found, Bounds { lower, upper: upper.max(lower) })
}

/// The upper end at the least multiple of the steps that the contour answers.
fn above(composition: &Composition, question: CostQuestion) -> Option<f64> {
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

/// ε at δ from below, where a single step decides: δ(ε) ≥ T P(L ≤ ε')^{T−1} δ₁(ε') with ε' = ε − (T−1) log(1−q).
///
/// The events that step i has a loss over ε' and the others do not are disjoint. On them the total loss is at least that of
/// step i and (T−1) log(1−q), because no loss of a row that is removed is below log(1−q). And P(L > ε') is at most
/// P(L > ε₁) ≤ δ₁(0)/(1 − e^{−ε₁}) for the ε₁ ≤ ε' of one step at δ.
fn one_jump(composition: &Composition, delta: f64) -> Option<f64> {
    let [(pair @ (DominatingPair::GaussianRemove { q, .. } | DominatingPair::LaplaceRemove { q, .. }), steps)] =
        composition.as_slice()
    else {
        return None;
    };
    let others = Interval::exact(steps.get() as f64 - 1.0);
    let one = vec![(pair.clone(), Steps::ONE)];
    let first = closed_epsilon(&one, delta).ok()?.lower;
    let jump = (closed::single(pair, 0.0) / -(-Interval::exact(first)).exp_m1()).hi;
    if !(first > 0.0 && jump < 1.0) {
        return None;
    }
    let quiet = (others * (-Interval::exact(jump)).ln_1p()).exp();
    let share = (Interval::exact(delta) / (Interval::exact(steps.get() as f64) * quiet)).hi;
    if share > delta {
        return None;
    }
    let found = Interval::exact(closed_epsilon(&one, share).ok()?.lower);
    Some((found + others * (-Interval::exact(*q)).ln_1p()).lo)
}
