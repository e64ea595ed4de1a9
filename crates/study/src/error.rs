//! What can go wrong with a study: a code, a message, a hint, and a place where there is one.

use crate::fault::{Fault, Faults};
use inference::{DataError, RunError};
use privacy::PrivacyError;
use std::io::ErrorKind;
use std::path::Path;

/// Everything that ends a question about a study without an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// The privacy library refused.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// Choices that do not fit together.
    #[error("{message}")]
    Usage {
        /// What was found.
        message: String,
        /// What would fit.
        hint: String,
    },
    /// A list of events that cannot be understood.
    #[error("{message}")]
    Events {
        /// What was found.
        message: String,
        /// What is expected.
        hint: String,
    },
    /// One entry of a list of events was refused.
    #[error("event {number} of the list: {error}")]
    Entry {
        /// Its place in the list, counted from one.
        number: usize,
        /// Why.
        error: Box<StudyError>,
    },
    /// A study that cannot be run, with its place.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// Everything that is wrong with a study, each with its place.
    #[error(transparent)]
    Faults(#[from] Faults),
    /// A file of results that cannot be understood.
    #[error("{path} is not a file of results: {message}")]
    Results {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// A run that cannot begin or go on.
    #[error(transparent)]
    Run(RunError),
    /// A method of a study was refused.
    #[error("{place}: method {name:?}: {error}")]
    Method {
        /// File, line and column.
        place: String,
        /// The method.
        name: String,
        /// Why.
        error: Box<StudyError>,
    },
    /// A line of a figure of accounting was refused.
    #[error("{place}: line {name:?}: {error}")]
    Line {
        /// File, line and column.
        place: String,
        /// The line.
        name: String,
        /// Why.
        error: Box<StudyError>,
    },
    /// A file cannot be read or written.
    #[error("{action} {path}: {source}")]
    File {
        /// What was tried, such as "cannot read".
        action: &'static str,
        /// The file.
        path: String,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A table, a schema, or what a study wants of them.
    #[error("{file}: {error}")]
    Data {
        /// The file or the data set.
        file: String,
        /// What does not fit.
        error: Box<DataError>,
    },
    /// A data set that is not known, not there, or not the right file.
    #[error("{message}")]
    Dataset {
        /// What was found.
        message: String,
        /// How to get it.
        hint: String,
    },
    /// A data set that cannot be downloaded.
    #[error("{message}")]
    Download {
        /// What failed.
        message: String,
        /// How to get it by hand.
        hint: String,
    },
    /// The observer asked the run to stop. What was finished is kept.
    #[error("the run was stopped")]
    Stopped,
}

impl From<RunError> for StudyError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Privacy(error) => Self::Privacy(error),
            RunError::Stopped => Self::Stopped,
            other => Self::Run(other),
        }
    }
}

impl StudyError {
    /// Choices that do not fit together, and what would fit.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: hint.into() }
    }

    /// A file that could not be used.
    pub fn file(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File { action, path: path.display().to_string(), source }
    }

    /// Data that do not fit, and the file or data set that they are in.
    pub fn data(file: impl Into<String>, error: DataError) -> Self {
        Self::Data { file: file.into(), error: Box::new(error) }
    }

    /// A data set that cannot be had.
    pub(crate) fn dataset(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Dataset { message: message.into(), hint: hint.into() }
    }

    /// A data set that did not come over the network.
    pub(crate) fn download(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Download { message: message.into(), hint: hint.into() }
    }

    /// The same error, with its place in a list of events (counted from zero).
    pub(crate) fn in_entry(self, index: usize) -> Self {
        Self::Entry { number: index + 1, error: Box::new(self) }
    }

    /// Stable code; [`codes`](crate::codes) explains those of studies.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Privacy(error) => error.code(),
            Self::Usage { .. } => "C001",
            Self::Events { .. } => "C002",
            Self::Entry { error, .. } | Self::Line { error, .. } | Self::Method { error, .. } => error.code(),
            Self::File { source, .. } if is_full(source) => "C004",
            Self::File { .. } => "C003",
            Self::Results { .. } => "C020",
            Self::Fault(fault) => fault.code,
            Self::Faults(faults) => faults.first().code,
            Self::Run(RunError::Conflict(conflict)) => conflict.code,
            Self::Run(RunError::Message { .. }) => "R001",
            Self::Run(_) => "R002",
            Self::Data { error, .. } => error.code(),
            Self::Dataset { .. } => "D009",
            Self::Download { .. } => "D010",
            Self::Stopped => "R003",
        }
    }

    /// File, line and column of what is wrong in a study; none where it is not a text that is wrong.
    pub fn place(&self) -> Option<&str> {
        match self {
            Self::Fault(fault) => Some(&fault.place),
            Self::Faults(faults) => Some(&faults.first().place),
            Self::Method { place, .. } | Self::Line { place, .. } => Some(place),
            _ => None,
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Privacy(PrivacyError::Budget { fits: 0, .. }) => {
                "not one step fits: use more noise (a calibration finds how much) or a larger budget".into()
            }
            Self::Privacy(error) => error.hint().unwrap_or_else(|| parameter_hint(error).to_owned()),
            Self::Usage { hint, .. }
            | Self::Events { hint, .. }
            | Self::Dataset { hint, .. }
            | Self::Download { hint, .. } => hint.clone(),
            Self::File { source, .. } if is_full(source) => ROOM.into(),
            Self::Data { error, .. } => error.hint().to_owned(),
            Self::Method { error, .. } => in_a_study(error).map_or_else(|| error.hint(), str::to_owned),
            Self::Entry { error, .. } | Self::Line { error, .. } => error.hint(),
            Self::Results { .. } => "name the directory of a finished run of this version of posterity".into(),
            Self::Fault(fault) => fault.hint.clone(),
            Self::Faults(faults) => faults.first().hint.clone(),
            Self::Run(RunError::Conflict(conflict)) => conflict.hint.clone(),
            Self::Run(RunError::Diverged) => "lower the learning rate".into(),
            Self::Run(RunError::Message { .. }) => "delete the run's directory `state` and run again".into(),
            Self::Run(_) => "change the study's method as the message says, then check it again".into(),
            Self::File { action, .. } if action.ends_with("the schema") => {
                "write one from the header of a table; [data] schema names it in a study".into()
            }
            Self::File { action, .. } if action.ends_with("the table") => {
                "a path after csv: is relative to the folder of the study; check that the file exists and that you may read it"
                    .into()
            }
            Self::File { action: "cannot read", path, source } if source.kind() == ErrorKind::IsADirectory => {
                format!("this is a folder; name a file in it, such as {}", Path::new(path).join("study.toml").display())
            }
            Self::File { path, source, .. } if source.kind() == ErrorKind::NotFound && path.ends_with("results.json") => {
                "name the directory of a finished run: the one that `simulate` printed, or its --out".into()
            }
            Self::File { .. } => "check that the path exists and that you may use it".into(),
            Self::Stopped => "run it again: it goes on after the work that is finished".into(),
        }
    }
}

/// What to do about a full disk.
pub const ROOM: &str = "make room on the disk of that path, then run the same command again: a run goes on where it stopped, and no file \
                        was left half written";

/// Whether all it needs is room: the disk or the user's share of it is full.
pub fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

/// What to do about a refusal of the library, in words of a study; none where its own hint says it.
fn in_a_study(error: &StudyError) -> Option<&'static str> {
    match error {
        StudyError::Privacy(PrivacyError::Budget { fits: 0, .. }) => Some(
            "not one update fits: leave noise_multiplier out to have it calibrated, or grant a larger epsilon in `privacy`",
        ),
        StudyError::Privacy(PrivacyError::Parameter { name: "cohort", .. }) => {
            Some("fewer colluders or dropouts in `privacy`, or more clients in [partition]")
        }
        StudyError::Privacy(PrivacyError::Parameter {
            name: "standard deviation of a noise share" | "noise multiplier",
            ..
        }) => Some("leave noise_multiplier out to have it calibrated; it is usually between 0.5 and 50"),
        _ => None,
    }
}

/// What to do about a parameter outside its range.
fn parameter_hint(error: &PrivacyError) -> &'static str {
    let PrivacyError::Parameter { name, .. } = error else { return "read the explanation of this code" };
    match *name {
        "rate" | "sampling rate" => {
            "`rate` is the share of the rows in a batch, such as 0.01; for every row leave `sampling` out"
        }
        "delta" | "step-delta" => {
            "take δ well under one over the number of people, such as 1e-6; 0 has a meaning only without Gaussian noise"
        }
        "epsilon" | "step-epsilon" | "local-epsilon" => "ε is usually between 0.1 and 10",
        "steps" => "write the number of uses in digits, such as 10000 or 1e4",
        "noise-multiplier" | "noise multiplier" => {
            "it is the standard deviation of the noise / sensitivity, usually between 0.5 and 10; a calibration finds it"
        }
        "gamma" => "γ is the probability of answering at random, such as 0.25",
        _ => "give a value in the named range",
    }
}
