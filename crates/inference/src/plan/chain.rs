//! Chains of draws: what of them is possible, and what their answers are.

use super::refuse;
use crate::RunError;
use crate::chain::Correction;
use crate::settings::{Aggregator, Batching, Chain, Method, Noise, Promise, Sampler, Schedule, Scheme, Solver, Start};
use privacy::{Adjacency, Mechanism, PrivacyError, Sampling, Steps, Unit, VarianceSlack};

/// Draws of a chain that can be told anything of.
const FEWEST_DRAWS: u64 = 4;

/// Questions of a run that ends.
const MOST_QUESTIONS: u64 = 1_000_000_000;

/// Refuses what no chain can do, private or not.
pub(super) fn is_possible(method: &Method) -> Result<(), RunError> {
    let Scheme::Chain(chain) = method.scheme else { return Ok(()) };
    if method.schedule != Schedule::Synchronous {
        return refuse("every step of a chain is asked of all sites at once: the schedule is synchronous");
    }
    if !matches!(method.solver, Solver::DpOptimisation | Solver::Clear) {
        return refuse("a chain has no solver of its own");
    }
    let Chain { sampler, iterations, chains, warm_up, .. } = chain;
    if chains == 0 {
        return refuse("chains is 0, expected one or more");
    }
    if iterations.saturating_sub(warm_up) < FEWEST_DRAWS {
        return refuse(&format!(
            "{iterations} iterations with a warm-up of {warm_up} leave fewer than {FEWEST_DRAWS} draws, which say nothing"
        ));
    }
    if chain.rounds() > MOST_QUESTIONS {
        return refuse(&format!(
            "{} questions of all chains together, expected at most {MOST_QUESTIONS}: fewer chains or iterations",
            chain.rounds()
        ));
    }
    numbers(&sampler)?;
    if let Sampler::Barker { noise, .. } = sampler
        && Correction::for_variance(noise.variance()).is_none()
    {
        return refuse("Barker's test is made up to a logistic one from noise of variance 1, 1.5 or 2");
    }
    let startable = match chain.start {
        Start::Origin | Start::Prior => true,
        Start::Variational { share, learning_rate, rounds } => {
            share > 0.0 && share < 1.0 && learning_rate > 0.0 && rounds > 0
        }
        Start::Climbed { learning_rate, rounds } => learning_rate > 0.0 && rounds > 0,
    };
    if !startable {
        return refuse(
            "a start that is learnt has rounds and a learning rate over 0, a variational one a share of the budget between 0 and 1",
        );
    }
    if matches!(chain.start, Start::Climbed { .. }) && !chain.alternates() {
        return refuse(
            "a start without a share of the budget is paid for as leaps are: the Hamiltonian sampler has them",
        );
    }
    let whole = !matches!(sampler, Sampler::Barker { .. } | Sampler::Langevin { .. });
    if whole && method.local.batch != Batching::All {
        return refuse("the penalty and Hamiltonian samplers ask all rows: no batch");
    }
    if matches!(sampler, Sampler::Barker { .. })
        && matches!(method.local.batch, Batching::Poisson(_) | Batching::PoissonOf { .. })
    {
        return refuse("Barker's test is proved for batches of a fixed size: state a batch, not a rate");
    }
    match &method.promise {
        Some(promise) => promise_is_possible(method, &chain, promise),
        None if method.local.batch != Batching::All && chain.completes() => refuse(
            "without privacy there is no noise that could make up a batch's own: ask all rows, or fix the noise, for a test that is too \
             wide by the batch's own variance",
        ),
        None => Ok(()),
    }
}

/// The event of one test on a batch, and the deviation of its noise at most, in units of a ratio's bound.
///
/// Σu has noise of variance b(1 + L − s²) at most b(1 + L), with L = 1: ratios are clipped to √(C/2)·√b/N₀.
pub(super) fn test(sampling: Sampling) -> Result<(Mechanism, f64), PrivacyError> {
    let Sampling::WithoutReplacement { batch, .. } = sampling else {
        return Err(PrivacyError::NoTheorem {
            what: "a test whose noise makes up the spread of a batch, on all rows".into(),
            why: "all rows have no spread from drawing them",
            hint: "draw a batch of fewer rows than there are, or fix the noise",
        });
    };
    let (slack, variance) = (VarianceSlack::new(1.0)?, 2.0 * batch as f64);
    Ok((Mechanism::BarkerTest { batch: Steps::new(batch)?, slack }, variance.sqrt()))
}

fn numbers(sampler: &Sampler) -> Result<(), RunError> {
    let over = |x: f64| x > 0.0 && x.is_finite();
    let fit = match *sampler {
        Sampler::Barker { step, noise } => over(step) && over(noise.variance()),
        Sampler::Penalty { step, variance } => over(step) && over(variance),
        Sampler::Langevin { step } => over(step),
        Sampler::Hamiltonian { step, leaps, variance, share } => {
            over(step) && leaps > 0 && over(variance) && share > 0.0 && share < 1.0
        }
    };
    if fit { Ok(()) } else { refuse("steps, variances and leaps of a sampler are over 0, and shares between 0 and 1") }
}

/// Refuses data that would count as more rows than there are.
pub(super) fn counts(method: &Method, clients: &[u64]) -> Result<(), RunError> {
    let rows = clients.iter().fold(0_u64, |sum, rows| sum.saturating_add(*rows));
    match method.scheme {
        Scheme::Chain(Chain { counts_as: Some(found), .. }) if found > rows => refuse(&format!(
            "data that count as {found} rows, expected at most the {rows} that there are: leave counts_as out for the posterior itself"
        )),
        _ => Ok(()),
    }
}

fn promise_is_possible(method: &Method, chain: &Chain, promise: &Promise) -> Result<(), RunError> {
    if promise.adjacency != Adjacency::Substitute || promise.unit != Unit::Example {
        return refuse("chains are accounted for one replaced row: unit example, adjacency substitute");
    }
    if promise.noise != Noise::Calibrated {
        return refuse("a chain's noise follows from ε and its iterations: no multiplier");
    }
    if chain.completes() && promise.aggregator != Aggregator::None {
        return refuse(
            "no site knows the variance of all sites' batches: under an aggregator the test's noise is fixed",
        );
    }
    if promise.aggregator.by_shares() && method.local.batch != Batching::All {
        return refuse("noise shares are charged for all rows: no amplification by sampling is claimed for them");
    }
    if matches!(chain.start, Start::Variational { .. }) && matches!(chain.sampler, Sampler::Hamiltonian { .. }) {
        return refuse(
            "the Hamiltonian sampler starts from the prior, the origin, or where gradients led: no share of the budget",
        );
    }
    Ok(())
}
