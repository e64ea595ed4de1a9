//! A study as typed: the tables of `study.toml` that are not methods or models, before anybody asks whether they fit together.

mod federation;

pub(crate) use self::federation::*;

use super::agreement::DiffersAsTyped;
use super::data::ScoresIn;
use super::figure::FigureAsTyped;
use super::labels::LabelsAsTyped;
use super::regret::RegretAsTyped;
use super::schema_rows::SchemaRows;
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
    pub(crate) _schema: Option<i64>,
    #[serde(default)]
    pub(crate) study: StudyTableAsTyped,
    pub(crate) data: DataAsTyped,
    pub(crate) partition: Option<PartitionAsTyped>,
    /// The partitions of a table with several columns, instead of one.
    #[serde(rename = "column", default)]
    pub(crate) columns: Vec<TableColumnAsTyped>,
    /// Read by the descriptors of models.
    #[serde(rename = "model")]
    pub(crate) _model: toml::Table,
    #[serde(rename = "method", default)]
    /// Read by the descriptors of methods.
    pub(crate) _methods: Vec<toml::Table>,
    /// What methods leave out of their own `privacy`; without a method, the promise of the model's default one.
    #[serde(rename = "privacy")]
    pub(crate) _privacy: Option<toml::Table>,
    /// Published numbers, to be shown beside.
    #[serde(default)]
    pub(crate) paper: Paper,
    /// How far ours may be from a published number, by metric.
    #[serde(default)]
    pub(crate) tolerance: BTreeMap<String, f64>,
    /// Why numbers are not as published.
    #[serde(default)]
    pub(crate) differs: Vec<DiffersAsTyped>,
    /// Who takes part where the study is served.
    pub(crate) federation: Option<FederationAsTyped>,
    /// What of a table is drawn.
    #[serde(rename = "figure", default)]
    pub(crate) figures: Vec<FigureAsTyped>,
    /// Settings by hand, beside which derived ones are judged: laid out to methods before this is read.
    #[serde(rename = "regret", default)]
    pub(crate) regrets: Vec<RegretAsTyped>,
}

/// `[[column]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableColumnAsTyped {
    pub(crate) name: String,
    pub(crate) partition: PartitionAsTyped,
    /// In place of the study's.
    pub(crate) source: Option<String>,
    /// In place of the study's.
    pub(crate) split: Option<SplitAsTyped>,
    /// Of made-up data, in place of the study's number.
    pub(crate) rows_per_client: Option<usize>,
    /// Of made-up data, in place of the study's law.
    pub(crate) synthetic: Option<SyntheticAsTyped>,
    /// In place of the study's `[data]`: read again with a study of its own.
    pub(crate) data: Option<toml::Table>,
    /// In place of the study's `[model]`: the same.
    pub(crate) model: Option<toml::Table>,
    /// Added to the study's `[privacy]`, key by key.
    pub(crate) privacy: Option<toml::Table>,
}

impl TableColumnAsTyped {
    /// Whether it states a part of `[data]` by a key of its own.
    pub(crate) fn has_parts_of_data(&self) -> bool {
        let rows = self.rows_per_client.is_some() || self.synthetic.is_some();
        self.source.is_some() || self.split.is_some() || rows
    }
}

/// `[paper]`: published numbers by method and column.
///
/// Which scores may be named is checked with the other keys of a study, before this is read.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Paper(BTreeMap<String, Cells>);

/// Method, then column.
type Cells = BTreeMap<String, BTreeMap<String, f64>>;

impl Paper {
    /// The number of a method in a column.
    pub(crate) fn published(&self, metric: &str, method: &str, column: &str) -> Option<f64> {
        self.0.get(metric)?.get(method)?.get(column).copied()
    }
}

/// `[study]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StudyTableAsTyped {
    /// Without it, that of the file.
    pub(crate) name: Option<String>,
    #[serde(default = "five")]
    pub(crate) seeds: Vec<u64>,
    /// Whether sites alone and all rows in one place are fitted beside the methods.
    #[serde(default = "yes")]
    pub(crate) baselines: bool,
    /// Which table `reproduce` prints: scores, or steps between values of ε.
    #[serde(default)]
    pub(crate) table: ShownTable,
}

/// `table` of `[study]`: what `reproduce` shows of the results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShownTable {
    /// Every method with its scores; its coverage, where coefficients are known.
    #[default]
    Scores,
    /// What every ε of a list gains on the one before it.
    EpsilonSteps,
}

impl Default for StudyTableAsTyped {
    fn default() -> Self {
        Self { name: None, seeds: five(), baselines: yes(), table: ShownTable::default() }
    }
}

/// `[data]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataAsTyped {
    /// A bundled or fetched name, or `csv:path`.
    pub(crate) source: String,
    /// The schema file of a CSV, where it is not beside it.
    pub(crate) schema: Option<PathBuf>,
    /// A fifth of the rows where a study that is simulated leaves it out.
    pub(crate) split: Option<SplitAsTyped>,
    /// Rows of the source, declared: of all clients together, or of each.
    pub(crate) declared_rows: Option<RowsAsTyped>,
    /// Persons whose rows the source has, declared: of all clients together, or of each.
    pub(crate) declared_persons: Option<RowsAsTyped>,
    /// Inputs of a row after encoding, declared.
    pub(crate) declared_inputs: Option<usize>,
    pub(crate) synthetic: Option<SyntheticAsTyped>,
    /// The law of rows that are drawn from the schema.
    pub(crate) drawn: Option<SchemaRows>,
    /// Real inputs, drawn labels.
    pub(crate) labels: Option<LabelsAsTyped>,
    #[serde(default)]
    pub(crate) scores_in: ScoresIn,
}

/// `declared_rows`
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a number, or a list with the number of each client")]
pub(crate) enum RowsAsTyped {
    All(u64),
    Each(Vec<u64>),
}

/// `split`: one of `{ test = 0.2 }`, `{ test_rows = 500 }`, `{ half = true }`, `{ column = "split", test_level = "test" }`;
/// the first three may have a seed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SplitAsTyped {
    pub(crate) test: Option<f64>,
    pub(crate) test_rows: Option<usize>,
    pub(crate) half: Option<bool>,
    pub(crate) column: Option<String>,
    pub(crate) test_level: Option<String>,
    /// Draws the split, instead of each run's own seed.
    pub(crate) seed: Option<u64>,
}

/// `[partition]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PartitionAsTyped {
    /// Without it, what the other keys belong to.
    pub(crate) kind: Option<PartitionKind>,
    pub(crate) clients: Option<u64>,
    pub(crate) rho: Option<f64>,
    pub(crate) kappa: Option<f64>,
    pub(crate) column: Option<String>,
    /// column: training rows that some clients have at most.
    pub(crate) at_most: Option<BTreeMap<String, u64>>,
}

/// How rows are dealt to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PartitionKind {
    Even,
    Column,
    Skewed,
}

fn yes() -> bool {
    true
}

/// The seeds of a study that names none.
fn five() -> Vec<u64> {
    (1..=5).collect()
}
