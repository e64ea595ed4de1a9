//! Why a study cannot be served, or what a run left cannot be written.

use inference::{DataError, RunError};
use privacy::PrivacyError;
use std::path::Path;
use study::{Fault, Faults, StudyError};

/// What is wrong with a study, a file of rows or a folder of results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyRunError {
    /// A federation that cannot be, or a site that cannot take part.
    #[error("{message}")]
    Refused {
        /// Stable code.
        code: &'static str,
        /// What was found.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// The study itself, a schema, a file.
    #[error(transparent)]
    Study(#[from] StudyError),
}

impl StudyRunError {
    pub(crate) fn refused(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused { code, message: message.into(), hint: hint.into() }
    }

    pub(crate) fn file(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Study(StudyError::file(action, path, source))
    }

    pub(crate) fn data(file: impl Into<String>, error: DataError) -> Self {
        Self::Study(StudyError::data(file, error))
    }

    /// Stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused { code, .. } => code,
            Self::Study(error) => error.code(),
        }
    }

    /// Everything that is wrong, each with what to do about it, in one line.
    pub fn line(&self) -> String {
        match self {
            Self::Study(StudyError::Faults(faults)) => {
                let each: Vec<String> = faults.iter().map(|fault| format!("{fault} ({})", fault.hint)).collect();
                each.join("; ")
            }
            other => format!("{other} ({})", other.hint()),
        }
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            Self::Study(error) => error.hint(),
        }
    }
}

impl From<Fault> for StudyRunError {
    fn from(fault: Fault) -> Self {
        Self::Study(fault.into())
    }
}

impl From<Faults> for StudyRunError {
    fn from(faults: Faults) -> Self {
        Self::Study(faults.into())
    }
}

impl From<PrivacyError> for StudyRunError {
    fn from(error: PrivacyError) -> Self {
        Self::Study(error.into())
    }
}

impl From<RunError> for StudyRunError {
    fn from(error: RunError) -> Self {
        Self::Study(error.into())
    }
}
