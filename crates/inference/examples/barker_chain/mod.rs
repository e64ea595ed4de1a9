//! The settings of a private Barker chain at one site, with δ = 1e-6.

use inference::settings::{
    Aggregator, Batching, Chain, Chart, Claim, Clip, Covariance, Damping, DeltaRule, FactorRule, Gradients, Local,
    Method, Noise, NoiseReading, Optimiser, Promise, Readout, Repair, Rounds, Sampler, Schedule, Scheme, Solver, Start,
    TestNoise,
};
use privacy::{Adjacency, Delta, Epsilon, NormBound, Unit};
use std::error::Error;

/// How long chains are, and how many.
pub(crate) struct Length {
    pub(crate) iterations: u64,
    pub(crate) chains: u32,
    pub(crate) warm_up: u64,
}

/// Barker's chain on batches of so many rows, of data that count as so many.
pub(crate) fn method(
    step: f64,
    noise: TestNoise,
    (batch, counts_as): (u64, u64),
    length: Length,
    epsilon: f64,
) -> Result<Method, Box<dyn Error>> {
    let Length { iterations, chains, warm_up } = length;
    let (sampler, start) = (Sampler::Barker { step, noise }, Start::Origin);
    let settings = Chain { sampler, iterations, chains, warm_up, counts_as: Some(counts_as), start };
    let local = Local {
        steps: 1,
        batch: Batching::WithoutReplacement(batch),
        optimiser: Optimiser::Sgd,
        learning_rate: 1.0,
        keep_state: false,
        chart: Chart::LogDeviation,
        gradients: Gradients::Full,
    };
    let promise = Promise {
        unit: Unit::Example,
        adjacency: Adjacency::Substitute,
        epsilon: Epsilon::new(epsilon)?,
        delta: DeltaRule::Fixed(Delta::new(1e-6)?),
        clip: Clip::Fixed(NormBound::new(1.0)?),
        noise: Noise::Calibrated,
        aggregator: Aggregator::None,
        accountant: Claim::Certified,
    };
    Ok(Method {
        name: "measured".into(),
        scheme: Scheme::Chain(settings),
        solver: Solver::DpOptimisation,
        schedule: Schedule::Synchronous,
        rounds: Rounds::Count(settings.rounds()),
        damping: Damping::new(1.0).ok_or("a damping")?,
        covariance: Covariance::Full,
        factor: FactorRule::Free,
        readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
        local,
        site_intercept: None,
        promise: Some(promise),
    })
}
