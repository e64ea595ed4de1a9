//! What kind of study a file holds, by the table that only that kind has.

use super::Fault;
use crate::error::StudyError;
use std::path::Path;

/// The kinds of study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudyKind {
    /// A posterior is learnt from rows at sites.
    Learning,
    /// Costs of plans, drawn as curves: `[[curves]]`.
    Curves,
    /// Answers through a shuffler: `[histogram]`.
    Histogram,
}

impl StudyKind {
    /// The kind of a text. What cannot be read is left to the reader of studies, which says why.
    pub fn of(text: &str) -> Self {
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        match (table.contains_key("curves"), table.contains_key("histogram")) {
            (true, _) => Self::Curves,
            (false, true) => Self::Histogram,
            (false, false) => Self::Learning,
        }
    }

    /// The kind of a file.
    pub fn of_file(path: &Path) -> Result<Self, StudyError> {
        let text = std::fs::read_to_string(path).map_err(|source| StudyError::file("cannot read", path, source))?;
        Ok(Self::of(&text))
    }
}

/// A command that has no meaning for the kind of this file, why, and one that has.
pub fn not_for(path: &Path, why: &str, instead: &str) -> StudyError {
    let place = path.display().to_string();
    let hint = format!("{instead} {place}");
    Fault { code: "S016", place, message: why.to_owned(), hint }.into()
}
