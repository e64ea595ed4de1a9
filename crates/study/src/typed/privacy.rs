//! `privacy` as typed: the words for what is promised to whom, and for noise and trust.

use serde::Deserialize;

/// `privacy`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrivacyAsTyped {
    pub(crate) unit: privacy::Unit,
    pub(crate) adjacency: privacy::Adjacency,
    pub(crate) epsilon: EpsilonAsTyped,
    pub(crate) delta: DeltaAsTyped,
    /// Needed by all but sums of statistics, whose bound follows from their rule.
    pub(crate) clip: Option<ClipAsTyped>,
    /// Noise deviation / sensitivity; found from ε where it is left out.
    pub(crate) noise_multiplier: Option<f64>,
    #[serde(default)]
    pub(crate) aggregator: AggregatorWord,
    /// secure-sum: compute nodes.
    pub(crate) nodes: Option<u32>,
    /// secure-sum: who adds the noise.
    pub(crate) noise: Option<SumNoiseWord>,
    /// secure-sum: clients that may tell their noise.
    pub(crate) colluders: Option<u64>,
    /// secure-sum: clients that may never arrive.
    pub(crate) dropouts: Option<u64>,
    #[serde(default)]
    pub(crate) accountant: AccountantWord,
}

/// `epsilon`
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a number such as 1.0, or a list such as [0.1, 1.0, 8.0]")]
pub(crate) enum EpsilonAsTyped {
    One(f64),
    /// A method for each.
    Each(Vec<f64>),
}

/// `delta`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a number such as 1e-5, or \"power-of-ten\"")]
pub(crate) enum DeltaAsTyped {
    Number(f64),
    Word(DeltaWord),
}

/// The largest power of ten that is not over one over the client's rows.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DeltaWord {
    PowerOfTen,
}

/// `clip`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a bound such as 2.0, or { times_rate = 75.0 }")]
pub(crate) enum ClipAsTyped {
    Bound(f64),
    TimesRate(TimesRateAsTyped),
}

/// `{ times_rate = 75.0 }`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimesRateAsTyped {
    pub(crate) times_rate: f64,
}

/// Who adds up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AggregatorWord {
    #[default]
    None,
    Curator,
    SecureSum,
}

/// Where the noise of a secure sum comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SumNoiseWord {
    Nodes,
    DiscreteGaussian,
    Skellam,
}

/// Whose number is claimed.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AccountantWord {
    #[default]
    Certified,
    Moments,
}
