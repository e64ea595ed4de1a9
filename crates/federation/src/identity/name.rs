//! Roles and names of parties, as they stand in certificates.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a party is. A certificate is good for one role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartyRole {
    /// Keeps rows and answers questions about them.
    Site,
    /// Holds shares of a secure sum.
    Node,
    /// Coordinates runs.
    Server,
    /// Reads the dashboard.
    Viewer,
}

impl PartyRole {
    /// Every role.
    pub const ALL: [Self; 4] = [Self::Site, Self::Node, Self::Server, Self::Viewer];

    /// The word that stands in certificates.
    pub fn word(self) -> &'static str {
        match self {
            Self::Site => "site",
            Self::Node => "node",
            Self::Server => "server",
            Self::Viewer => "viewer",
        }
    }

    /// The role of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }
}

impl fmt::Display for PartyRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The name of a party: 1 to 64 letters, digits, `-`, `_` and `.`, the first of them a letter or a digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PartyName(String);

impl PartyName {
    /// A name, or an error that says what one is.
    pub fn new(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let first = text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if !first || text.len() > 64 || !text.chars().all(fits) {
            let expected = "1 to 64 letters, digits, '-', '_' and '.', the first a letter or a digit";
            return Err(format!("a party is named {text:?}, expected {expected}"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for PartyName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text)
    }
}

impl From<PartyName> for String {
    fn from(name: PartyName) -> Self {
        name.0
    }
}

impl fmt::Display for PartyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
