//! Errors of the crates as Python exceptions: a code, what was found, and what to do.

use posterity::{PrivacyError, StudyError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// What ends a call without an answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The crates refused.
    Told {
        /// Stable code, as `posterity explain` knows it.
        code: &'static str,
        /// What was found.
        message: String,
        /// What to do next.
        hint: String,
        /// File, line and column of what is wrong in a study.
        place: Option<String>,
    },
    /// Python itself raised, in a function that was handed in or while a value was made.
    Python(PyErr),
}

/// The function of `posterity.errors` that chooses the exception of a code.
static EXCEPTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        let place = error.place().map(str::to_owned);
        Self::Told { code: error.code(), message: error.to_string(), hint: error.hint(), place }
    }
}

impl From<PrivacyError> for Failure {
    fn from(error: PrivacyError) -> Self {
        StudyError::from(error).into()
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            Failure::Told { code, message, hint, place } => Python::attach(|py| {
                let make = EXCEPTION
                    .get_or_try_init(py, || py.import("posterity.errors")?.getattr("exception_of").map(Bound::unbind));
                let made = make.and_then(|make| make.call1(py, (code, message, hint, place)));
                made.map_or_else(|error| error, |exception| Self::from_value(exception.into_bound(py)))
            }),
        }
    }
}
