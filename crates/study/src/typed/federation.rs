//! `[federation]` as typed: who takes part where a study is served.

use serde::Deserialize;

/// `[federation]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FederationAsTyped {
    /// In the order of clients.
    pub(crate) sites: Vec<SiteAsTyped>,
    /// secure-sum: names of the compute nodes.
    #[serde(default)]
    pub(crate) nodes: Vec<String>,
    /// Fewest sites with which a round goes on.
    pub(crate) quorum: Option<u64>,
    /// Seconds after which a round does without stragglers.
    pub(crate) deadline: Option<u64>,
}

/// `{ name = "cleveland", rows = 200 }`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SiteAsTyped {
    pub(crate) name: String,
    /// Declared, never counted.
    pub(crate) rows: Option<u64>,
    /// Declared in place of rows, for methods that protect persons.
    pub(crate) persons: Option<u64>,
}
