//! Convergence along a grid: the pair that Algorithm 1 of Doroshenko et al. 2022 makes of a privacy profile at few places.
//!
//! Our pairs of sampled shuffles need no grid. This is for the figure that shows what a grid costs.

use super::typed::GridAsTyped;
use crate::error::StudyError;
use privacy::accounting::Enclosure;
use privacy::accounting::pair::{DominatingPair, directions};
use privacy::{Event, FinitePair, Mechanism, Steps};

/// What is added to each value of the profile, so that rounding below does not take from it.
const SLACK: f64 = 1e-14;

/// The same steps of the pair whose profile is that of the event at α = e^l, for l at equal steps from −reach to reach, with
/// straight lines between, from (0, 1) to the first and level after the last.
///
/// Connect the dots (Doroshenko et al. 2022, Algorithm 1): H_α is convex and falls, so chords are not under it, and a convex chain
/// P_∞ + Σ Qᵢ (αᵢ − α)₊ is the profile of the outcomes (αᵢQᵢ, Qᵢ), of P_∞ that Q cannot produce and of 1 − ΣQᵢ that P cannot.
pub(super) fn on_grid(event: &Event, grid: &GridAsTyped) -> Result<Event, StudyError> {
    let law = profile(event)?;
    let outcomes = chords(&|log| law.hockey_stick(log).upper, grid);
    let pair = Mechanism::Finite(FinitePair::new(summing_to_one(outcomes))?);
    let none = privacy::Sampling::None;
    Ok(Event::new(pair, event.adjacency(), event.unit(), none, event.steps())?)
}

/// The law of one step, where the accountant composes one: of shuffles and Barker tests.
fn profile(event: &Event) -> Result<Enclosure, StudyError> {
    let once = [event.repeated(Steps::ONE)];
    match directions("pld", &once)?.into_iter().flatten().next() {
        Some((DominatingPair::Enclosed(law), _)) => Ok(law),
        _ => Err(StudyError::usage(
            "a grid is for mechanisms whose privacy profile is a finite sum",
            "shuffle-clones, shuffle-krr or barker; leave `grid` out for others",
        )),
    }
}

/// Outcomes (P, Q) of the chain of chords, made from the last place down.
fn chords(profile: &dyn Fn(f64) -> f64, grid: &GridAsTyped) -> Vec<(f64, f64)> {
    let last = grid.points - 1;
    let log = |at: usize| grid.reach * (2.0 * at as f64 / last as f64 - 1.0);
    let value = |at: usize| (profile(log(at)) + SLACK).min(1.0);
    let (mut above, mut curve, mut total) = (log(last).exp(), value(last), 0.0);
    let mut outcomes = vec![(curve, 0.0)];
    for at in (0..=last).rev() {
        let (below, wanted) = if at == 0 { (0.0, 1.0) } else { (log(at - 1).exp(), value(at - 1)) };
        let width = above - below;
        let missing = ((wanted - curve) / width - total).max(0.0);
        outcomes.push((above * missing, missing));
        total += missing;
        curve += width * total;
        above = below;
    }
    outcomes.push((0.0, (1.0 - total).max(0.0)));
    outcomes
}

/// The outcomes with both columns summing to one: what rounding left over is moved to the most probable outcome, which comes last.
fn summing_to_one(mut outcomes: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let size = |outcome: &(f64, f64)| outcome.0.min(outcome.1);
    let Some(largest) = (0..outcomes.len()).max_by(|&a, &b| size(&outcomes[a]).total_cmp(&size(&outcomes[b]))) else {
        return outcomes;
    };
    outcomes.remove(largest);
    let sums = outcomes.iter().fold((0.0, 0.0), |sum, outcome| (sum.0 + outcome.0, sum.1 + outcome.1));
    outcomes.push((1.0 - sums.0, 1.0 - sums.1));
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;
    use privacy::accounting::Pld;
    use privacy::{Accountant, Adjacency, Delta, Epsilon, Sampling, Unit};

    fn shuffle(steps: u64) -> Event {
        let mechanism =
            Mechanism::ShuffleClones { users: Steps::new(100).unwrap(), local_epsilon: Epsilon::new(3.0).unwrap() };
        let sampling = Sampling::without_replacement_at(privacy::SamplingRate::new(0.01).unwrap()).unwrap();
        Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, Steps::new(steps).unwrap()).unwrap()
    }

    /// Each grid is above the exact pair, and finer ones are nearer.
    #[test]
    fn finer_grids_come_down_to_the_exact_pair() {
        let delta = Delta::new(1e-5).unwrap();
        let epsilon = |event: Event| Pld.epsilon(&[event], delta).unwrap();
        let exact = epsilon(shuffle(200));
        let of = |points| epsilon(on_grid(&shuffle(200), &GridAsTyped { reach: 0.25, points }).unwrap());
        let found = [20, 80, 320, 1280].map(of);
        assert!(found.iter().all(|bounds| bounds.upper >= exact.lower), "{found:?} {exact:?}");
        assert!(found.windows(2).all(|two| two[1].upper < two[0].upper), "{found:?}");
        assert!(found[3].upper < exact.upper * 1.01 && found[0].upper > exact.upper * 1.2, "{found:?} {exact:?}");
    }
}
