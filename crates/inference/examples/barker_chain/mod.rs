//! The settings of a private Barker chain at one site, with δ = 1e-6.

use inference::Method;
use inference::algorithm::chain::{BarkerSampler, ChainSettings, Start, TestNoise};
use inference::settings::{Aggregator, Batching, Claim, Covariance, DeltaRule, Noise, Promise, Schedule, SitePromises};
use privacy::{Adjacency, Delta, Epsilon, Unit};
use std::error::Error;
use std::sync::Arc;

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
    let settings = ChainSettings {
        sampler: Arc::new(BarkerSampler { step, noise }),
        iterations,
        chains,
        warm_up,
        counts_as: Some(counts_as),
        start: Start::Origin,
        batch: Batching::WithoutReplacement(batch),
        covariance: Covariance::Full,
    };
    let promise = Promise {
        unit: Unit::Example,
        adjacency: Adjacency::Substitute,
        epsilon: Epsilon::new(epsilon)?,
        delta: DeltaRule::Fixed(Delta::new(1e-6)?),
        clip: None,
        noise: Noise::Calibrated,
        aggregator: Aggregator::None,
        accountant: Claim::Certified,
    };
    Ok(Method {
        name: "measured".into(),
        algorithm: Arc::new(settings),
        schedule: Schedule::Synchronous,
        promise: Some(promise),
        sites: SitePromises::default(),
    })
}
