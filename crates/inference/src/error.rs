//! Errors of this room, in two kinds: data that do not fit, and a run that cannot go on.

use privacy::PrivacyError;

/// Data, schemas and partitions that do not fit together.
///
/// Meant for the owner of the data, at home: texts may name a line and a column, and what was found there. In an agent
/// these errors are shown locally, before joining, and never sent.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The shape of a row or table.
    #[error("expected rows of the declared width, found {found}")]
    Width {
        /// What was found.
        found: String,
    },
    /// A client without rows.
    #[error("a client has no rows, expected at least one")]
    EmptyClient,
}

/// Why a run stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A gate, ledger or accountant refused.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// A message or stored state that is not what was sent.
    #[error("a message does not decode: {what}")]
    Message {
        /// Which one.
        what: &'static str,
    },
    /// A method's settings do not fit together.
    #[error("{what}")]
    Settings {
        /// What does not fit, and what would.
        what: String,
    },
}
