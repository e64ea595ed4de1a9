//! `algorithm = "chain"` as typed and as meant: its sampler, how long it runs, and the keys that it has no use for.

use super::fault::Fault;
use super::method::At;
use super::typed::FactorWord;
use inference::settings::{Batching, Chain, Chart, Covariance, Gradients, Local, Optimiser, Sampler, Start, TestNoise};
use serde::Deserialize;

/// C of Barker's test, and σ² of the noise in a penalised log-ratio, where a study does not say.
const TEST_VARIANCE: f64 = 2.0;
const PENALISED_VARIANCE: f64 = 1.0;

/// The share of the budget that log-ratios of the Hamiltonian sampler cost, where a study does not say.
const RATIO_SHARE: f64 = 0.3;

/// `chain`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChainAsTyped {
    sampler: SamplerWord,
    /// Of each chain.
    iterations: u64,
    /// Deviation of a proposal, or length of a step.
    step: f64,
    chains: Option<u32>,
    warm_up: Option<u64>,
    /// Rows of a batch; all rows where it is left out.
    batch: Option<u64>,
    /// As how many rows the data count.
    counts_as: Option<u64>,
    /// barker: C; penalty, hamiltonian: σ².
    variance: Option<f64>,
    /// barker: whether the batch's own spread is a part of C.
    noise: Option<TestNoiseWord>,
    /// hamiltonian: L.
    leaps: Option<u32>,
    /// hamiltonian: the share of log-ratios.
    share: Option<f64>,
    start: Option<StartAsTyped>,
}

/// How a chain moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SamplerWord {
    Barker,
    Penalty,
    Langevin,
    Hamiltonian,
}

/// Whose variance makes up the test's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TestNoiseWord {
    Completed,
    Fixed,
}

/// Where a chain starts: a word, or a variational posterior.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"prior\", \"origin\" or { rounds = 20, share = 0.2, learning_rate = 0.1 } (without share for hamiltonian)"
)]
enum StartAsTyped {
    Word(StartWord),
    Learnt(LearntAsTyped),
}

/// `start = { rounds = …, share = …, learning_rate = … }`; without a share for the Hamiltonian sampler
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct LearntAsTyped {
    rounds: u64,
    /// Of the budget; none where the sampler's own gradients lead to it.
    share: Option<f64>,
    learning_rate: f64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StartWord {
    Prior,
    Origin,
}

/// Its settings.
pub(super) fn settings(at: &At<'_>) -> Result<Chain, Fault> {
    let Some(typed) = &at.typed.chain else {
        let hint = "for example chain = { sampler = \"barker\", iterations = 20000, step = 0.1 }";
        return Err(at.fault("algorithm", "S011", "`chain`, how draws are made, is missing", hint));
    };
    stray(at, typed)?;
    let step = over_zero(at, "step", typed.step)?;
    let variance = |usual: f64| over_zero(at, "variance", typed.variance.unwrap_or(usual));
    let sampler = match typed.sampler {
        SamplerWord::Barker => Sampler::Barker { step, noise: test_noise(typed, variance(TEST_VARIANCE)?) },
        SamplerWord::Penalty => Sampler::Penalty { step, variance: variance(PENALISED_VARIANCE)? },
        SamplerWord::Langevin => Sampler::Langevin { step },
        SamplerWord::Hamiltonian => {
            let Some(leaps @ 1..) = typed.leaps else {
                let why = "leaps, the gradients of an iteration, is missing or 0";
                return Err(at.fault("chain", "S011", why, "for example leaps = 10"));
            };
            let share = share(at, "share", typed.share.unwrap_or(RATIO_SHARE))?;
            Sampler::Hamiltonian { step, leaps, variance: variance(PENALISED_VARIANCE)?, share }
        }
    };
    let start = match typed.start {
        None | Some(StartAsTyped::Word(StartWord::Prior)) => Start::Prior,
        Some(StartAsTyped::Word(StartWord::Origin)) => Start::Origin,
        Some(StartAsTyped::Learnt(learnt)) => {
            let (rounds, learning_rate) = (learnt.rounds, over_zero(at, "start.learning_rate", learnt.learning_rate)?);
            match (learnt.share, typed.sampler) {
                (None, SamplerWord::Hamiltonian) => Start::Climbed { rounds, learning_rate },
                (None, _) => {
                    let why = "start.share, the part of the budget that the start may cost, is missing";
                    return Err(at.fault("chain.start", "S011", why, "for example share = 0.5"));
                }
                (Some(given), _) => {
                    Start::Variational { rounds, share: share(at, "start.share", given)?, learning_rate }
                }
            }
        }
    };
    let (iterations, chains) = (typed.iterations, typed.chains.unwrap_or(1));
    let warm_up = typed.warm_up.unwrap_or(iterations / 10);
    let counts_as = typed.counts_as.filter(|rows| *rows > 0);
    if counts_as != typed.counts_as {
        return Err(at.fault("chain.counts_as", "S004", "counts_as is 0", "data count as at least one row"));
    }
    Ok(Chain { sampler, iterations, chains, warm_up, counts_as, start })
}

/// The batch's own spread is a part of the test's variance where one is drawn; all rows have none.
fn test_noise(typed: &ChainAsTyped, variance: f64) -> TestNoise {
    let usual = if typed.batch.is_some() { TestNoiseWord::Completed } else { TestNoiseWord::Fixed };
    match typed.noise.unwrap_or(usual) {
        TestNoiseWord::Completed => TestNoise::Completed { variance },
        TestNoiseWord::Fixed => TestNoise::Fixed { variance },
    }
}

fn share(at: &At<'_>, key: &str, share: f64) -> Result<f64, Fault> {
    if share > 0.0 && share < 1.0 {
        return Ok(share);
    }
    let why = format!("chain.{key} is {share}, expected a share of the budget between 0 and 1");
    Err(at.fault(&format!("chain.{key}"), "S004", &why, "for example 0.3"))
}

fn over_zero(at: &At<'_>, key: &str, value: f64) -> Result<f64, Fault> {
    if value.is_finite() && value > 0.0 {
        return Ok(value);
    }
    let why = format!("chain.{key} is {value}, expected a finite number over 0");
    Err(at.fault(&format!("chain.{key}"), "S004", &why, "for example chain = { sampler = \"barker\", step = 0.1, … }"))
}

/// Keys that have no meaning for the sampler, or for chains.
fn stray(at: &At<'_>, typed: &ChainAsTyped) -> Result<(), Fault> {
    let sampler = typed.sampler;
    let hamiltonian = sampler == SamplerWord::Hamiltonian;
    let own = [
        ("noise", typed.noise.is_some() && sampler != SamplerWord::Barker),
        ("variance", typed.variance.is_some() && sampler == SamplerWord::Langevin),
        ("leaps", typed.leaps.is_some() && !hamiltonian),
        ("share", typed.share.is_some() && !hamiltonian),
    ];
    if let Some((key, _)) = own.iter().find(|(_, stray)| *stray) {
        let why = format!("chain.{key} has no meaning for this sampler");
        return Err(at.fault(&format!("chain.{key}"), "S011", &why, &format!("leave {key} out")));
    }
    let method = at.typed;
    let other = [
        ("solver", method.solver.is_some()),
        ("local", method.local.is_some()),
        ("parts", method.parts.is_some()),
        ("opening", method.opening.is_some()),
        ("rounds", method.rounds.is_some()),
        ("damping", method.damping.is_some()),
        ("site_intercept", method.site_intercept.is_some()),
        ("readout", method.readout.average.is_some() || method.readout.repair.is_some()),
        ("factor", method.factor != FactorWord::Free),
    ];
    match other.iter().find(|(_, stray)| *stray) {
        Some((key, _)) => {
            let why = "a chain moves by tests of proposals: there is nothing of that kind to choose";
            Err(at.fault(key, "S011", why, &format!("leave {key} out; `chain` has what it needs")))
        }
        None => Ok(()),
    }
}

/// Whether the study states a bound of gradients: ratios are clipped to one that follows from the noise.
pub(super) fn clips_gradients(at: &At<'_>) -> bool {
    let gradients = |typed: &ChainAsTyped| {
        matches!(typed.sampler, SamplerWord::Langevin | SamplerWord::Hamiltonian)
            || matches!(typed.start, Some(StartAsTyped::Learnt(_)))
    };
    at.typed.chain.as_ref().is_some_and(gradients)
}

/// What stands where a local optimisation would: how rows are drawn.
pub(super) fn local(at: &At<'_>) -> (Local, Covariance) {
    let batch = at.typed.chain.as_ref().and_then(|typed| typed.batch);
    let batch = batch.map_or(Batching::All, Batching::WithoutReplacement);
    let (optimiser, chart, gradients) = (Optimiser::Sgd, Chart::LogDeviation, Gradients::Full);
    (Local { steps: 1, batch, optimiser, learning_rate: 1.0, keep_state: false, chart, gradients }, Covariance::Full)
}
