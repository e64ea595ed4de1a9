//! The certified accountant: two-sided bounds on ε and δ from the privacy loss distribution.
//!
//! Closed forms where they exist, else the contour integral, else composition on a grid by FFT (`docs/maths/contour.md`,
//! `docs/maths/certified-pld.md`). A number that is returned is enclosed by bounds that include every error made on the
//! way; where that fails the answer is a refusal.

mod blur;
mod closed;
mod discretise;
mod estimate;
mod evaluate;
mod fft;
mod grid;
mod law;
mod lower;
mod merge;
mod monotone;
mod problem;
mod shares;
mod solve;

use super::pair::{Composition, DominatingPair, directions};
use super::{AboutAccountant, Accountant, Bounds, Interval, contour};
use crate::{Delta, Epsilon, Event, Mechanism, PrivacyError};
use shares::Ideal;
use solve::crossing;

/// Relative width of ε on a grid at which directions are compared.
const COARSE: f64 = 1e-3;

/// Relative width of ε on a grid that is aimed at.
const FINE: f64 = 5e-7;

/// The same where only the upper end is known: the law itself is further from the mechanism than this.
const FROM_ABOVE: f64 = 1e-5;

/// The same for a second attempt at finite laws.
const FINER: f64 = FINE / 40.0;

/// Noise of less than this, in units of the sensitivity, is evaluated in closed form only.
const LEAST_SCALE: f64 = 0.01;

/// A composition whose losses cannot exceed this costs that much and no more: nobody needs to know better.
const FREE: f64 = 1e-12;

/// Relative width at which the largest loss answers without an evaluator.
const KNOWN: f64 = 1e-12;

/// The name on the command line.
const NAME: &str = "pld";

/// The accountant of exact privacy loss distributions. It knows every event that has a dominating pair.
///
/// Of sums of discrete Gaussian shares it proves the upper end only: the Gaussian's, and what the difference adds. Of Barker
/// tests too: no pair of batches is known that reaches the law that dominates them all.
/// Does not support: discrete Gaussian noise of one party, whose one-dimensional law does not carry over to many
/// dimensions; Skellam shares; an answer without noise. δ = 0 has an answer only where losses are bounded.
///
/// # Examples
///
/// ```
/// use privacy::accounting::Pld;
/// use privacy::{Accountant, Adjacency, Delta, Event, Mechanism, NoiseMultiplier, Sampling, SamplingRate, Steps, Unit};
///
/// let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? };
/// let sampling = Sampling::Poisson { rate: SamplingRate::new(0.01)? };
/// let plan = [Event::new(mechanism, Adjacency::AddRemove, Unit::Example, sampling, Steps::new(1000)?)?];
/// let epsilon = Pld.epsilon(&plan, Delta::new(1e-5)?)?;
/// assert!(epsilon.relative_width() < 1e-5);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Pld;

/// The same, asked of two evaluators whose intervals must meet.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifiedPld;

/// How one composition is evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Evaluator {
    /// One step of any pair, or any number of Gaussian steps.
    Closed,
    /// Many steps of laws with a density.
    Contour,
    /// Any composition, to the width that memory allows.
    Grid,
}

/// In the order in which they are asked.
const EVALUATORS: [Evaluator; 3] = [Evaluator::Closed, Evaluator::Contour, Evaluator::Grid];

/// What is asked of a composition.
#[derive(Debug, Clone, Copy)]
enum CostQuestion {
    /// ε at this δ > 0.
    EpsilonAt(f64),
    /// δ at this ε.
    DeltaAt(f64),
}

impl Accountant for Pld {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: NAME,
            method: "privacy loss distribution",
            use_for: "the first choice, as tight as the theorem allows",
            published_only: false,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if let (Some(ideal), true) = (Ideal::of(plan)?, delta.get() > 0.0) {
            return ideal.epsilon(delta);
        }
        match delta.get() {
            _ if plan.is_empty() => Ok(Bounds::ZERO),
            0.0 => directions(NAME, plan)?.iter().map(pure).try_fold(Bounds::ZERO, |worst, one| Ok(worst.max(one?))),
            delta => worst(&directions(NAME, plan)?, CostQuestion::EpsilonAt(delta)),
        }
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if let Some(ideal) = Ideal::of(plan)? {
            return ideal.delta(epsilon);
        }
        Ok(worst(&directions(NAME, plan)?, CostQuestion::DeltaAt(epsilon.get()))?.at_most_one())
    }

    fn two_sided(&self, plan: &[Event]) -> bool {
        let from_above = |event: &Event| {
            matches!(event.mechanism(), Mechanism::DiscreteGaussianSum { .. } | Mechanism::BarkerTest { .. })
        };
        !plan.iter().any(from_above)
    }
}

impl Accountant for VerifiedPld {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: NAME,
            method: "privacy loss distribution by two evaluators",
            use_for: "to see that they agree",
            published_only: false,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        match delta.get() {
            0.0 => Pld.epsilon(plan, delta),
            delta => verified(plan, CostQuestion::EpsilonAt(delta)),
        }
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        Ok(verified(plan, CostQuestion::DeltaAt(epsilon.get()))?.at_most_one())
    }

    fn two_sided(&self, plan: &[Event]) -> bool {
        Pld.two_sided(plan)
    }
}

/// The worse of the directions; a refusal of one is a refusal. A direction that is surely not the worse one is dropped.
fn worst(all: &[Composition], question: CostQuestion) -> Result<Bounds, PrivacyError> {
    let mut worst = Bounds::ZERO;
    for composition in all {
        if !surely_below(composition, question, worst.lower) {
            worst = worst.max(answer(composition, question)?);
        }
    }
    Ok(worst)
}

/// True if the answer of this composition is proved not to exceed `proved`, at little cost.
fn surely_below(composition: &Composition, question: CostQuestion, proved: f64) -> bool {
    let (epsilon, delta) = match question {
        CostQuestion::EpsilonAt(delta) => (proved, delta),
        CostQuestion::DeltaAt(epsilon) => (epsilon, proved),
    };
    if closed::largest_loss(composition).is_some_and(|most| most.hi <= epsilon) {
        return true;
    }
    let cheap = proved > 0.0 && Evaluator::Contour.suits(composition);
    cheap && matches!(contour::within(composition, epsilon, delta), Ok(true))
}

/// What the evaluators say, within what is known from the largest possible loss and from other numbers of steps.
fn answer(composition: &Composition, question: CostQuestion) -> Result<Bounds, PrivacyError> {
    let top = closed::LargestLoss::of(composition).and_then(|top| match question {
        CostQuestion::EpsilonAt(delta) => top.epsilon(delta),
        CostQuestion::DeltaAt(epsilon) => top.delta(epsilon),
    });
    if let Some(known) = top.filter(|bounds| bounds.relative_width() <= KNOWN) {
        return Ok(known);
    }
    match (evaluated(composition, question), top) {
        (Ok(found), None) if is_from_above(composition) => Ok(found),
        (Ok(found), top) => meet(monotone::narrowed(composition, question, found)?, top.unwrap_or(found)),
        (Err(PrivacyError::Uncertified { .. }), Some(top)) if top.relative_width() <= monotone::WIDE => Ok(top),
        (refusal, _) => refusal,
    }
}

/// True if some law is known from above only: no lower end is then looked for.
fn is_from_above(composition: &Composition) -> bool {
    composition.iter().any(|(pair, _)| matches!(pair, DominatingPair::Enclosed(laws) if laws.is_from_above()))
}

/// What lies in both of two certified intervals, which must meet.
fn meet(a: Bounds, b: Bounds) -> Result<Bounds, PrivacyError> {
    let both = Bounds { lower: a.lower.max(b.lower), upper: a.upper.min(b.upper) };
    match both.lower <= both.upper {
        true => Ok(both),
        false => Err(refuse("two certified intervals contradict each other, which is a defect: please report it")),
    }
}

/// The first evaluator that answers.
fn evaluated(composition: &Composition, question: CostQuestion) -> Result<Bounds, PrivacyError> {
    let mut refusal = refuse("the noise is under a hundredth of the sensitivity, which leaves losses in the thousands");
    for evaluator in EVALUATORS.into_iter().filter(|e| e.suits(composition)) {
        match evaluator.answer(composition, question) {
            Err(error @ PrivacyError::Uncertified { .. }) => refusal = error,
            other => return other,
        }
    }
    Err(refusal)
}

/// The answers of all evaluators: at least two, and no two of them apart.
fn verified(plan: &[Event], question: CostQuestion) -> Result<Bounds, PrivacyError> {
    let mut worst = Bounds::ZERO;
    for composition in &directions(NAME, plan)? {
        let suited = EVALUATORS.into_iter().filter(|e| e.suits(composition));
        let answers: Vec<Bounds> = suited.filter_map(|e| e.answer(composition, question).ok()).collect();
        if answers.len() < 2 {
            return Err(refuse("only one evaluator answers, so there is nothing to compare it with"));
        }
        let both = answers.into_iter().try_fold(Bounds::at_most(f64::INFINITY), meet)?;
        worst = worst.max(both);
    }
    Ok(worst)
}

impl Evaluator {
    /// True if it is worth asking.
    ///
    /// Under a hundredth of the sensitivity, noise leaves losses in the thousands: no cost of that size is of use to
    /// anyone, and neither the contour nor a grid is made for it.
    fn suits(self, composition: &Composition) -> bool {
        let hopeless = composition.iter().any(|(pair, _)| pair.scale().is_some_and(|s| s < LEAST_SCALE));
        if self != Self::Closed && hopeless {
            return false;
        }
        let discrete = |pair: &DominatingPair| matches!(pair, DominatingPair::Finite(_) | DominatingPair::Enclosed(_));
        match self {
            Self::Closed => closed::covers(composition),
            Self::Contour => !composition.iter().all(|(pair, _)| discrete(pair)) && !is_from_above(composition),
            Self::Grid => true,
        }
    }

    /// Bounds of a composition in which laws may be enclosed by two others: the upper end by the upper laws, the lower
    /// end by the lower ones. Every other pair is both of its laws, and is evaluated once.
    fn answer(self, composition: &Composition, question: CostQuestion) -> Result<Bounds, PrivacyError> {
        let enclosed = composition.iter().any(|(pair, _)| matches!(pair, DominatingPair::Enclosed(_)));
        if self == Self::Closed || !enclosed {
            return self.evaluate(composition, question);
        }
        let part = |law: fn(&DominatingPair) -> DominatingPair| {
            composition.iter().map(|(pair, steps)| (law(pair), *steps)).collect()
        };
        let (low, high): (Composition, Composition) = (part(DominatingPair::lower), part(DominatingPair::upper));
        if let (Self::Grid, CostQuestion::EpsilonAt(delta)) = (self, question) {
            let rough = grid::epsilon(&high, delta, COARSE, None)?;
            if is_from_above(composition) {
                return Ok(Bounds::at_most(grid::upper(&high, delta, FROM_ABOVE, rough)?));
            }
            let upper = grid::upper(&high, delta, FINE, rough)?;
            let lower = |width: f64| grid::lower(&low, delta, width, rough, upper);
            // Few and far atoms are blurred on a finer grid.
            let first = lower(FINE)?;
            let wide = first < upper * (1.0 - 2.0 * FINE);
            return Ok(Bounds { lower: if wide { first.max(lower(FINER)?) } else { first }, upper });
        }
        if is_from_above(composition) {
            return Ok(Bounds::at_most(self.evaluate(&high, question)?.upper));
        }
        Ok(Bounds { lower: self.evaluate(&low, question)?.lower, upper: self.evaluate(&high, question)?.upper })
    }

    /// The answer of one evaluator for laws that are known exactly.
    fn evaluate(self, composition: &Composition, question: CostQuestion) -> Result<Bounds, PrivacyError> {
        // δ(0) ≤ 1 − e^{−max L} ≤ max L, so the largest loss bounds both answers.
        if let Some(most) = closed::largest_loss(composition).filter(|most| most.hi < FREE) {
            return Ok(Bounds::at_most(most.hi.max(0.0)));
        }
        match (self, question) {
            (_, CostQuestion::DeltaAt(epsilon)) if is_beyond(composition, epsilon) => Ok(Bounds::ZERO),
            (Self::Closed, CostQuestion::EpsilonAt(delta)) => closed_epsilon(composition, delta),
            (Self::Closed, CostQuestion::DeltaAt(epsilon)) => {
                let delta = closed::delta(composition, epsilon);
                Ok(Bounds::between(delta.lo, delta.hi))
            }
            (Self::Contour, CostQuestion::EpsilonAt(delta)) => contour::epsilon(composition, delta),
            (Self::Contour, CostQuestion::DeltaAt(epsilon)) => contour::delta(composition, epsilon),
            (Self::Grid, CostQuestion::EpsilonAt(delta)) => {
                let rough = grid::epsilon(composition, delta, COARSE, None)?;
                let found = grid::epsilon(composition, delta, FINE, Some(rough))?;
                Ok(grid::epsilon_of_jumps(composition, delta, found, 10.0 * FINE))
            }
            (Self::Grid, CostQuestion::DeltaAt(epsilon)) => grid::delta(composition, epsilon, FINE),
        }
    }
}

/// True if ε is over the largest loss, so that δ is 0.
fn is_beyond(composition: &Composition, epsilon: f64) -> bool {
    closed::largest_loss(composition).is_some_and(|most| epsilon >= most.hi)
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

/// Bisects the enclosing curve of a closed form at both ends.
fn closed_epsilon(composition: &Composition, delta: f64) -> Result<Bounds, PrivacyError> {
    let at = |epsilon: f64| closed::delta(composition, epsilon);
    let guess = closed::largest_loss(composition).map_or(1.0, |most| most.hi);
    let find = |curve: &dyn Fn(f64) -> f64| crossing(curve, delta, guess, 1e9, 1e-14).map_err(|_| no_epsilon(delta));
    let (upper, lower) = (find(&|e| at(e).hi)?, find(&|e| at(e).lo)?);
    Ok(Bounds::between(lower.last_above, upper.first_below))
}

/// A refusal, with what to do.
fn refuse(why: &str) -> PrivacyError {
    PrivacyError::Uncertified {
        accountant: NAME,
        why: why.into(),
        hint: "try another δ or ε, or use `rdp` or `basic` for an upper bound if they support the mechanism",
    }
}

/// A refusal where no ε was found for this δ.
fn no_epsilon(delta: f64) -> PrivacyError {
    refuse(&format!("no epsilon was found at which delta is certified to be {delta:e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Steps;

    /// The ends of ε are where the enclosing curve is certain: at the upper end δ is not over the one asked for, at the lower
    /// end it is not under it.
    #[test]
    fn ends_from_a_closed_form_have_certified_signs() {
        let (q, s) = (0.1, 0.9);
        let many = Steps::new(70).unwrap();
        let compositions = [
            vec![(DominatingPair::Gaussian { s }, Steps::ONE)],
            vec![(DominatingPair::Gaussian { s: 11.0 }, many), (DominatingPair::Gaussian { s: 3.0 }, Steps::ONE)],
            vec![(DominatingPair::GaussianRemove { q, s }, Steps::ONE)],
            vec![(DominatingPair::GaussianAdd { q, s }, Steps::ONE)],
            vec![(DominatingPair::GaussianSubstitute { q, s }, Steps::ONE)],
            vec![(DominatingPair::Laplace { s }, Steps::ONE)],
            vec![(DominatingPair::LaplaceRemove { q, s }, Steps::ONE)],
        ];
        for composition in compositions {
            for delta in [1e-2, 1e-5, 1e-9] {
                let found = closed_epsilon(&composition, delta).unwrap();
                let (above, below) =
                    (closed::delta(&composition, found.upper), closed::delta(&composition, found.lower));
                assert!(above.hi <= delta, "{composition:?} {delta}: {above:?} at {found:?}");
                assert!(below.lo > delta || found.lower == 0.0, "{composition:?} {delta}: {below:?} at {found:?}");
            }
        }
    }
}
