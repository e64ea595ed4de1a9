//! Roles and names of parties, as they stand in certificates.

use serde::{Deserialize, Serialize};
use std::fmt;

pub use study::PartyName;

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
