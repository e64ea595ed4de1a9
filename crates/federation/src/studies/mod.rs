//! Studies that are served: how one becomes a run of its sites, what a site reads before it joins, and what a run leaves.
//!
//! [`Studies`] reads them with a registry of methods and models: a server, an agent and a node are built with one.

mod builder;
mod deal;
mod error;
mod outcome;
mod propose;
mod rows;
mod run_parts;
mod run_warnings;
mod spent;

pub use builder::Studies;
pub use deal::{SiteFile, SiteFiles, deal};
pub use error::StudyRunError;
pub use outcome::{EndedRun, check_room};
pub(crate) use outcome::{coefficients, served as served_posterior, stored};
pub(crate) use propose::rounds;
pub use propose::{MemberKeys, manifest, nonce, parts, served};
pub use rows::SiteRows;
pub(crate) use rows::{is_public, version};
pub use run_parts::read_schema;
pub(crate) use run_parts::{build, check_rows, named};
pub use run_warnings::{FinishedRun, RunWarnings, described, refused};
pub use spent::SpentCache;

#[cfg(test)]
mod tests;
