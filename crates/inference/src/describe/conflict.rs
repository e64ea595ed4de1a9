//! A refusal that knows its key: what does not fit, and what to do about it.

/// A key that is missing, or a value of another kind.
pub const UNREADABLE: &str = "S001";
/// A key or a word that nobody knows.
pub const UNKNOWN: &str = "S002";
/// A value outside its range.
pub const VALUE: &str = "S004";
/// Noise without privacy, or privacy without noise.
pub const PRIVACY_OR_NOT: &str = "S006";
/// Choices that do not go together.
pub const NOT_TOGETHER: &str = "S009";
/// A key that has no meaning here, or that another one needs.
pub const STRAY: &str = "S011";

/// What is refused, and where.
///
/// The reader of a file adds the line, Python raises it, a server refuses a manifest with it. The hint names keys and meanings,
/// never options of a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Conflict {
    /// The key, such as `privacy.epsilon`, from the table that was read.
    pub key: String,
    /// A stable code, which `posterity explain` explains.
    pub code: &'static str,
    /// What was found, and why that cannot be.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl Conflict {
    /// A refusal at a key.
    pub fn new(key: impl Into<String>, code: &'static str, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { key: key.into(), code, what: what.into(), hint: hint.into() }
    }

    /// The same refusal, seen from the table that holds this one under `prefix`.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        if !prefix.is_empty() {
            self.key = if self.key.is_empty() { prefix.to_owned() } else { format!("{prefix}.{}", self.key) };
        }
        self
    }

    /// A refusal of the privacy crate, at the key that caused it.
    pub fn of_privacy(key: &str, error: &privacy::PrivacyError) -> Self {
        Self::new(key, error.code(), error.to_string(), error.hint().unwrap_or_default())
    }
}
