//! What a run needs from the inference room: the work of one method with one seed, and predictions from a posterior.

use super::Fault;
use super::meant::Study;
use super::posterior::Posterior;
use super::state::Finished;
use crate::failure::Failure;
use inference::results::DataSummary;
use inference::settings::Method;
use inference::{Observer, Prediction};
use std::path::Path;

/// One thing to run for each seed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work<'a> {
    /// A method of the study.
    Method(&'a Method),
    /// Each client by itself, without privacy.
    LocalOnly,
    /// All clients together, without privacy.
    NonPrivate,
}

impl Work<'_> {
    /// The name in results.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Method(method) => &method.name,
            Self::LocalOnly => "local only",
            Self::NonPrivate => "non-private",
        }
    }
}

/// Opened data and the simulator.
pub(crate) trait Engine {
    /// SHA-256 of the rows and their schema: part of the key under which finished runs are kept.
    fn data_digest(&self) -> String;

    /// The data in public numbers.
    fn summary(&self) -> DataSummary;

    /// The schema of the rows, in TOML.
    fn data_schema(&self) -> String;

    /// Runs one piece of work with one seed.
    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, Failure>;

    /// Writes the report of a finished study into its directory, and gives the file's name; none if there is none.
    fn report(&self, results: &inference::results::Results, into: &Path) -> Result<Option<String>, Failure>;
}

/// Predicts the rows of a CSV from a stored posterior.
pub(crate) type Predictor = dyn Fn(&Posterior, &[u8]) -> Result<Vec<Prediction>, Failure>;

fn later(what: &str) -> Failure {
    let hint = "`posterity check` and `posterity plan` read the same study";
    Fault { code: "S010", place: what.to_owned(), message: "not in this version".to_owned(), hint: hint.to_owned() }
        .into()
}

/// Opens a study's data; paths are relative to `base`.
pub(crate) fn open(_study: &Study, _base: &Path) -> Result<Box<dyn Engine>, Failure> {
    Err(later("the simulator"))
}

/// The predictor of the models of this version.
pub(crate) fn predictor() -> Box<Predictor> {
    Box::new(|_, _| Err(later("prediction")))
}
