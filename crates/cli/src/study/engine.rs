//! What a run needs from the inference room: the work of one method with one seed, and predictions from a posterior.

use super::posterior::Posterior;
use super::state::Finished;
use crate::failure::Failure;
use inference::results::DataSummary;
use inference::settings::Method;
use inference::{Observer, Prediction};

/// One thing to run for each seed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work<'a> {
    /// A method of the study.
    Method(&'a Method),
    /// Each client by itself, without privacy, beside this method.
    LocalOnly(&'a Method),
    /// All clients together, without privacy, beside this method.
    NonPrivate(&'a Method),
}

impl Work<'_> {
    /// The name in results.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Method(method) => &method.name,
            Self::LocalOnly(_) => "local only",
            Self::NonPrivate(_) => "non-private",
        }
    }
}

/// Opened data and the simulator.
pub(crate) trait Engine {
    /// SHA-256 of the rows and their schema: part of the key under which finished runs are kept.
    fn data_digest(&self) -> String;

    /// The data in public numbers.
    fn summary(&self) -> Result<DataSummary, Failure>;

    /// The schema of the rows, in TOML.
    fn data_schema(&self) -> String;

    /// Runs one piece of work with one seed.
    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, Failure>;
}

/// Predicts the rows of a CSV from a stored posterior.
pub(crate) type Predictor = dyn Fn(&Posterior, &[u8]) -> Result<Vec<Prediction>, Failure>;
