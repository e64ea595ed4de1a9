//! What a method promises: to whom, at what noise, and who adds up.

use privacy::{Adjacency, Delta, Epsilon, NoiseMultiplier, NormBound, ShareNoise, Unit};
use serde::Serialize;

/// What is promised, and the noise that keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Promise {
    /// Who is protected.
    pub unit: Unit,
    /// From what.
    pub adjacency: Adjacency,
    /// ε granted to each client.
    pub epsilon: Epsilon,
    /// δ.
    pub delta: DeltaRule,
    /// Clipping bound.
    pub clip: Clip,
    /// Noise.
    pub noise: Noise,
    /// Who adds up.
    pub aggregator: Aggregator,
    /// Who says how many updates fit, and what is claimed.
    pub accountant: Claim,
}

/// δ of a client.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum DeltaRule {
    /// This one.
    Fixed(Delta),
    /// 10^⌊log₁₀(1/N)⌋ for a client of N declared rows.
    PowerOfTenBelowRows,
}

/// C of a client.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Clip {
    /// This one.
    Fixed(NormBound),
    /// This, times the sampling rate: a bound on gradients that are scaled by rows / batch.
    TimesRate(NormBound),
}

/// Noise deviation divided by sensitivity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Noise {
    /// This one: the number of updates follows from ε.
    Multiplier(NoiseMultiplier),
    /// The smallest with which all rounds fit into ε.
    Calibrated,
}

/// Who adds up, and who adds noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Aggregator {
    /// Nobody is trusted: each client noises what it sends.
    None,
    /// One trusted party adds up and noises the total.
    Curator,
    /// Clients hand shares of their sums to compute nodes; only the noised total is opened.
    SecureSum(SecureSum),
}

/// Who takes part in a secure sum, and where its noise comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SecureSum {
    /// K: compute nodes, of which one is honest.
    pub nodes: u32,
    /// Where the noise comes from.
    pub noise: SecureNoise,
    /// T_c: clients that may tell the adversary their noise.
    pub colluders: u64,
    /// T_d: clients that may never arrive.
    pub dropouts: u64,
}

/// Where the noise of a secure sum comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum SecureNoise {
    /// Each node adds all of it.
    Nodes,
    /// Each client adds a share.
    Clients(ShareNoise),
}

impl Aggregator {
    /// True where clients noise their shares, which are charged for all rows.
    pub fn by_shares(&self) -> bool {
        matches!(self, Self::SecureSum(SecureSum { noise: SecureNoise::Clients(_), .. }))
    }
}

/// Whose number is claimed. The certified bound is always shown beside it, and never above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Claim {
    /// The certified loss distribution.
    Certified,
    /// The moments accountant of Abadi et al. 2016, as in the workshop paper.
    Moments,
}
