//! What a run needs from the inference room: the work of one method with one seed, and predictions from a posterior.

use super::state::Finished;
use crate::error::StudyError;
use inference::plan::Costs;
use inference::public::PublicNumbers;
use inference::results::DataSummary;
use inference::warning::Warning;
use inference::{Intervals, Method, Observer, Prediction, Record};
use std::sync::Arc;

/// One thing to run for each seed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Work<'a> {
    /// A method of the study.
    Method(&'a Method),
    /// The same answer for every row, beside this method: the majority class, or the mean of a number.
    Constant { beside: &'a Method, classes: bool },
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
            Self::Constant { classes: true, .. } => "majority class",
            Self::Constant { classes: false, .. } => "mean of the target",
            Self::LocalOnly(_) => "local only",
            Self::NonPrivate(_) => "non-private",
        }
    }

    /// Prior precision of an intercept of each site's own, where the work has one.
    pub(crate) fn site_intercept(&self) -> Option<f64> {
        if let Self::Method(method) = self { method.algorithm.site_intercept() } else { None }
    }

    /// What the intervals of its posterior are worth; none where there is no posterior.
    pub(crate) fn intervals(&self) -> Option<Intervals> {
        match self {
            Self::Method(method) => Some(method.intervals()),
            Self::NonPrivate(_) => Some(Intervals::WithoutNoise),
            Self::Constant { .. } | Self::LocalOnly(_) => None,
        }
    }

    /// Whether what is left is one posterior: sites' own fits are many, and a constant has none.
    pub(crate) fn has_posterior(&self) -> bool {
        matches!(self, Self::Method(_) | Self::NonPrivate(_))
    }
}

/// Opened data and the simulator.
pub(crate) trait Engine: Sync {
    /// SHA-256 of the rows and their schema: part of the key under which finished runs are kept.
    fn data_digest(&self) -> String;

    /// The data in public numbers.
    fn summary(&self) -> Result<DataSummary, StudyError>;

    /// What settings that a study leaves out are derived from.
    fn public(&self) -> Result<PublicNumbers, StudyError>;

    /// What plans cost, as far as it is known: the same for all seeds.
    fn costs(&self) -> Arc<Costs> {
        Arc::default()
    }

    /// The schema of the rows, in TOML; none where there are no others to predict.
    fn data_schema(&self) -> Option<String>;

    /// What a look at the rows as a whole warns of; it is for the reader of a simulation.
    fn warnings(&self) -> Vec<Warning> {
        Vec::new()
    }

    /// Runs one piece of work with one seed, and keeps all of it.
    fn record(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Record, StudyError>;

    /// Runs one piece of work with one seed.
    fn run(&self, work: Work<'_>, seed: u64, observer: &mut dyn Observer) -> Result<Finished, StudyError>;
}

/// What a posterior says of new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// What is predicted: the outcome's column, with the level whose probability is given where it is that of one.
    pub of: String,
    /// One for each row.
    pub rows: Vec<Predicted>,
}

/// A prediction with its row.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// The row's number in the file, counted from one, the header apart.
    pub row: u64,
    /// What is predicted.
    pub prediction: Prediction,
    /// Of a probability the 95 % interval of the posterior, of a number that of the predictive; none of several classes
    /// and of networks.
    pub interval: Option<(f64, f64)>,
}
