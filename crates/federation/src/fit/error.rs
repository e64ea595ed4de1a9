//! Why a table was not fitted.

use crate::identity::HomeError;
use crate::log::LogError;
use crate::policy::PolicyError;
use crate::studies::StudyRunError;
use inference::RunError;
use study::StudyError;

/// Why a table was not fitted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The study, its table or the folder of the results cannot be used.
    #[error(transparent)]
    Study(#[from] StudyRunError),
    /// The home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The ledger of the home failed: the same call goes on from what the disk holds.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The limits of the home do not allow the fit.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The observer has asked for an end; the same call goes on where this one stopped.
    #[error("the fit was stopped; the same call resumes it")]
    Stopped,
}

impl FitError {
    pub(super) fn refused(code: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        StudyRunError::refused(code, message, hint).into()
    }

    /// Whether a disk failed, so that the same call may do better; anything else about a run that is over stays as it is.
    pub(super) fn is_of_disk(&self) -> bool {
        matches!(self, Self::Log(_) | Self::Home(_) | Self::Study(StudyRunError::Study(StudyError::File { .. })))
    }
}

impl From<RunError> for FitError {
    fn from(error: RunError) -> Self {
        Self::Study(error.into())
    }
}

impl From<StudyError> for FitError {
    fn from(error: StudyError) -> Self {
        Self::Study(error.into())
    }
}
