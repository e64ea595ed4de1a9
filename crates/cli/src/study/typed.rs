//! A study as typed: the keys of `study.toml`, before anybody asks whether they fit together.

use super::hybrid::OpeningAsTyped;
use super::synthetic::SyntheticAsTyped;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudyAsTyped {
    /// Version of this shape, which was checked before the rest was read.
    #[serde(rename = "schema")]
    pub(crate) _schema: i64,
    pub(crate) study: About,
    pub(crate) data: DataAsTyped,
    pub(crate) partition: Option<PartitionAsTyped>,
    /// The partitions of a table with several columns, instead of one.
    #[serde(rename = "column", default)]
    pub(crate) columns: Vec<ColumnAsTyped>,
    pub(crate) model: ModelAsTyped,
    #[serde(rename = "method", default)]
    pub(crate) methods: Vec<MethodAsTyped>,
    /// Published numbers, to be shown beside.
    #[serde(default)]
    pub(crate) paper: Paper,
}

/// `[[column]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnAsTyped {
    pub(crate) name: String,
    pub(crate) partition: PartitionAsTyped,
    /// Of made-up data, in place of the study's number.
    pub(crate) rows_per_client: Option<usize>,
}

/// `[paper]`: published numbers by method and column.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paper {
    #[serde(default)]
    pub(crate) accuracy: Cells,
    #[serde(default)]
    pub(crate) log_likelihood: Cells,
    #[serde(default)]
    pub(crate) kl: Cells,
}

/// Method, then column.
pub(crate) type Cells = BTreeMap<String, BTreeMap<String, f64>>;

/// `[study]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) seeds: Vec<u64>,
}

/// `[data]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataAsTyped {
    /// A bundled or fetched name, or `csv:path`.
    pub(crate) source: String,
    /// The schema file of a CSV, where it is not beside it.
    pub(crate) schema: Option<PathBuf>,
    pub(crate) split: SplitAsTyped,
    /// Rows of the source, declared: of all clients together, or of each.
    pub(crate) declared_rows: Option<RowsAsTyped>,
    /// Inputs of a row after encoding, declared.
    pub(crate) declared_inputs: Option<usize>,
    pub(crate) synthetic: Option<SyntheticAsTyped>,
}

/// `declared_rows`
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a number of rows, or a list with the rows of each client")]
pub(crate) enum RowsAsTyped {
    All(u64),
    Each(Vec<u64>),
}

/// `split`: one of `{ test = 0.2 }`, `{ half = true }`, `{ column = "split", test_level = "test" }`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SplitAsTyped {
    pub(crate) test: Option<f64>,
    pub(crate) half: Option<bool>,
    pub(crate) column: Option<String>,
    pub(crate) test_level: Option<String>,
}

/// `[partition]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartitionAsTyped {
    pub(crate) kind: PartitionKind,
    pub(crate) clients: Option<u64>,
    pub(crate) rho: Option<f64>,
    pub(crate) kappa: Option<f64>,
    pub(crate) column: Option<String>,
}

/// How rows are dealt to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PartitionKind {
    Even,
    Column,
    Skewed,
}

/// `[model]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelAsTyped {
    pub(crate) kind: ModelKind,
    #[serde(default = "yes")]
    pub(crate) bias: bool,
    #[serde(default)]
    pub(crate) prior: PriorAsTyped,
    /// linear: variance of the outcome around its mean.
    pub(crate) noise_variance: Option<f64>,
    /// logistic: how E_q of the likelihood is taken.
    pub(crate) expectation: Option<ByDrawsOr<ExpectationWord>>,
    /// logistic: how predictions are made.
    pub(crate) predictive: Option<ByDrawsOr<PredictiveWord>>,
}

fn yes() -> bool {
    true
}

/// The likelihoods by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModelKind {
    Linear,
    Logistic,
}

/// `prior`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PriorAsTyped {
    pub(crate) precision: f64,
}

impl Default for PriorAsTyped {
    fn default() -> Self {
        Self { precision: 1.0 }
    }
}

/// A named closed form, or `{ draws = 100 }`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected the name of a closed form (\"mixture\"), or { draws = N }")]
pub(crate) enum ByDrawsOr<W> {
    Word(W),
    Draws(DrawsAsTyped),
}

/// `{ draws = 100 }`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrawsAsTyped {
    pub(crate) draws: u32,
}

/// Closed forms of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ExpectationWord {
    Mixture,
}

/// Closed forms of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PredictiveWord {
    Mixture,
    Probit,
}

/// `[[method]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodAsTyped {
    pub(crate) name: String,
    pub(crate) algorithm: AlgorithmWord,
    /// committee: the prior that its members start from.
    pub(crate) prior: Option<CommitteeWord>,
    pub(crate) solver: SolverWord,
    /// average, virtual: K.
    pub(crate) parts: Option<u32>,
    pub(crate) opening: Option<OpeningAsTyped>,
    #[serde(default)]
    pub(crate) schedule: ScheduleWord,
    /// asynchronous: how often clients come back.
    pub(crate) rates: Option<RatesWord>,
    pub(crate) rounds: Option<RoundsAsTyped>,
    /// Most rounds of a method that goes on until the budget is spent.
    pub(crate) at_most: Option<u64>,
    pub(crate) damping: Option<f64>,
    #[serde(default)]
    pub(crate) covariance: CovarianceWord,
    #[serde(default)]
    pub(crate) factor: FactorWord,
    #[serde(default)]
    pub(crate) readout: ReadoutAsTyped,
    pub(crate) local: LocalAsTyped,
    pub(crate) privacy: Option<PrivacyAsTyped>,
}

/// What is asked and folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AlgorithmWord {
    Pvi,
    Committee,
    GlobalVi,
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScheduleWord {
    #[default]
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CovarianceWord {
    #[default]
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

/// `privacy`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrivacyAsTyped {
    pub(crate) unit: privacy::Unit,
    pub(crate) adjacency: privacy::Adjacency,
    pub(crate) epsilon: f64,
    pub(crate) delta: DeltaAsTyped,
    pub(crate) clip: ClipAsTyped,
    /// Noise deviation / sensitivity; found from ε where it is left out.
    pub(crate) noise_multiplier: Option<f64>,
    #[serde(default)]
    pub(crate) aggregator: AggregatorAsTyped,
    #[serde(default)]
    pub(crate) accountant: AccountantWord,
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

/// `aggregator`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected \"none\", \"curator\" or { shares = { colluders = 0, dropouts = 0 } }")]
pub(crate) enum AggregatorAsTyped {
    Word(AggregatorWord),
    Shares(SharesAsTyped),
}

impl Default for AggregatorAsTyped {
    fn default() -> Self {
        Self::Word(AggregatorWord::None)
    }
}

/// Aggregators without numbers.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AggregatorWord {
    None,
    Curator,
}

/// `{ shares = { colluders = 1, dropouts = 1 } }`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharesAsTyped {
    pub(crate) shares: CohortAsTyped,
}

/// Clients that the noise must do without.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CohortAsTyped {
    #[serde(default)]
    pub(crate) colluders: u64,
    #[serde(default)]
    pub(crate) dropouts: u64,
}

/// Whose number is claimed.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AccountantWord {
    #[default]
    Certified,
    Moments,
}
