//! `[[method]]` as typed: the words for what is asked, how it is solved and when it ends.

use super::PrivacyAsTyped;
use crate::chain::ChainAsTyped;
use crate::hybrid::OpeningAsTyped;
use crate::statistics::StatisticsAsTyped;
use serde::Deserialize;

/// `[[method]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodAsTyped {
    pub(crate) name: String,
    pub(crate) algorithm: AlgorithmWord,
    /// committee: the prior that its members start from.
    pub(crate) prior: Option<CommitteeWord>,
    /// How a client solves; noise-aware PVI has no choice.
    pub(crate) solver: Option<SolverWord>,
    /// average, virtual: K.
    pub(crate) parts: Option<u32>,
    /// hybrid: its analytic updates.
    pub(crate) opening: Option<OpeningAsTyped>,
    /// Sequential, and synchronous for statistics and chains, where it is left out.
    pub(crate) schedule: Option<ScheduleWord>,
    /// asynchronous: how often clients come back.
    pub(crate) rates: Option<RatesWord>,
    pub(crate) rounds: Option<RoundsAsTyped>,
    /// Most rounds of a method that goes on until the budget is spent.
    pub(crate) at_most: Option<u64>,
    pub(crate) damping: Option<f64>,
    /// Mean-field, and full for statistics and chains, where it is left out.
    pub(crate) covariance: Option<CovarianceWord>,
    #[serde(default)]
    pub(crate) factor: FactorWord,
    #[serde(default)]
    pub(crate) readout: ReadoutAsTyped,
    pub(crate) local: Option<LocalAsTyped>,
    /// noise-aware: its rule and constants.
    pub(crate) noise_aware: Option<NoiseAwareAsTyped>,
    /// statistics: its rule and constants.
    pub(crate) statistics: Option<StatisticsAsTyped>,
    /// chain: its sampler and constants.
    pub(crate) chain: Option<ChainAsTyped>,
    /// An intercept of each site's own.
    pub(crate) site_intercept: Option<SiteInterceptAsTyped>,
    pub(crate) privacy: Option<PrivacyAsTyped>,
}

/// `site_intercept`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SiteInterceptAsTyped {
    /// Of its prior.
    pub(crate) precision: f64,
}

/// What is asked and folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AlgorithmWord {
    Pvi,
    Committee,
    GlobalVi,
    GlobalViAtClients,
    NoiseAware,
    Statistics,
    Chain,
}

/// `noise_aware`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoiseAwareAsTyped {
    #[serde(default)]
    pub(crate) curvature: CurvatureWord,
    /// moments: how often they are asked for.
    pub(crate) looks: Option<u32>,
    /// moments: bound of a row's squares.
    pub(crate) moment_bound: Option<f64>,
    /// every-round: what precisions are multiplied by before they are clipped.
    pub(crate) weight: Option<f64>,
    pub(crate) whitening: Option<f64>,
    pub(crate) floor: Option<f64>,
    pub(crate) caution: Option<f64>,
}

/// Where the data's precision is taken from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CurvatureWord {
    #[default]
    Moments,
    EveryRound,
}

/// `prior` of a committee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CommitteeWord {
    Same,
    Split,
}

/// How a client solves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SolverWord {
    Clear,
    DpOptimisation,
    Perturb,
    Average,
    Virtual,
    Analytic,
    Likelihood,
    Hybrid,
}

/// Who is asked when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScheduleWord {
    Sequential,
    Synchronous,
    Asynchronous,
}

/// How often asynchronous clients come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RatesWord {
    Equal,
    InverseRows,
}

/// `rounds`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a whole number of rounds, or \"until-spent\"")]
pub(crate) enum RoundsAsTyped {
    Count(u64),
    Word(RoundsWord),
}

/// The word for rounds without a number.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RoundsWord {
    UntilSpent,
}

/// Which Gaussians q may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CovarianceWord {
    MeanField,
    Full,
}

/// What a client does with a factor whose precision noise made negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FactorWord {
    #[default]
    Free,
    Project,
    Reset,
}

/// `readout`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadoutAsTyped {
    pub(crate) repair: Option<RepairAsTyped>,
    pub(crate) average: Option<u32>,
    #[serde(default)]
    pub(crate) noise: NoiseWord,
}

/// `noise` of a readout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoiseWord {
    #[default]
    Plain,
    Aware,
}

/// `repair`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected \"project\", or { floor = NUMBER }")]
pub(crate) enum RepairAsTyped {
    Word(RepairWord),
    Floor(FloorAsTyped),
}

/// The named repair.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RepairWord {
    Project,
}

/// `{ floor = 1e-3 }`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FloorAsTyped {
    pub(crate) floor: f64,
}

/// `local`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LocalAsTyped {
    #[serde(default = "one")]
    pub(crate) steps: u64,
    /// q: each row is in a step with this probability.
    pub(crate) rate: Option<f64>,
    /// The other ways to draw rows.
    pub(crate) batch: Option<BatchAsTyped>,
    /// Its name, still text: an unknown one is answered with the nearest.
    pub(crate) optimiser: String,
    #[serde(default = "unit_rate")]
    pub(crate) learning_rate: f64,
    #[serde(default)]
    pub(crate) keep_state: bool,
    #[serde(default)]
    pub(crate) chart: ChartWord,
    #[serde(default)]
    pub(crate) gradients: GradientsWord,
}

fn one() -> u64 {
    1
}

fn unit_rate() -> f64 {
    1.0
}

/// `batch`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"all\", { fraction = Q, at_least = N } or { rows = N, without_replacement = true }"
)]
pub(crate) enum BatchAsTyped {
    Word(BatchWord),
    Fraction(FractionAsTyped),
    Fixed(FixedAsTyped),
}

/// The word for every row.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BatchWord {
    All,
}

/// `{ fraction = 0.02, at_least = 20 }`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FractionAsTyped {
    pub(crate) fraction: f64,
    #[serde(default = "one")]
    pub(crate) at_least: u64,
}

/// `{ rows = 100, without_replacement = true }`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedAsTyped {
    pub(crate) rows: u64,
    pub(crate) without_replacement: bool,
}

/// Coordinates of the spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ChartWord {
    #[default]
    LogDeviation,
    LogVariance,
}

/// Which gradients are clipped and noised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum GradientsWord {
    #[default]
    Full,
    Aligned,
}
