//! The rows of a site as its agent reads them: every line becomes a legal row, and nothing is said of any.

use super::builder::Studies;
use super::error::StudyRunError;
use super::run_parts::read_schema;
use crate::manifest::{Manifest, RunParts};
use inference::Method;
use inference::settings::Promise;
use inference::{RowReading, Shard, read};
use privacy::noise::Digest;
use privacy::{Adjacency, Unit};
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// A site's rows for a run.
pub struct SiteRows {
    /// The rows.
    pub shard: Shard,
    /// Digest of the file and the schema: noise is bound to it. It stays at the site.
    pub data_version: Digest,
}

impl Studies {
    /// Reads a site's file, gzipped or not, for a run that is proposed. To be done before the manifest is signed.
    pub fn open_rows(
        &self,
        path: &Path,
        manifest: &Manifest,
        parts: &RunParts,
        site: usize,
    ) -> Result<SiteRows, StudyRunError> {
        let bytes = std::fs::read(path).map_err(|source| StudyRunError::file("cannot read", path, source))?;
        let study = self.of(manifest)?;
        let schema = read_schema(&manifest.schema)?;
        let table = read(&bytes[..], &schema, study.model.intercept, &[], RowReading::Lenient);
        let in_file = |error| StudyRunError::data(path.display().to_string(), error);
        let shard = Shard::of(table.map_err(in_file)?, &parts.method).map_err(in_file)?;
        let declared = manifest.sites.get(site).map_or(0, |site| site.rows);
        let found = shard.count(parts.method.unit()).map_err(inference::RunError::from)?;
        check_declared(&parts.method, declared, found as u64)?;
        Ok(SiteRows { shard, data_version: version(&bytes, &manifest.schema) })
    }
}

/// Refuses another number of rows, or persons, than is declared, where that number is public: one is replaced by another.
///
/// Where a row is there or not, or all rows of a site are protected at once, the number is private, and never compared: a
/// site that did not sign would tell of it.
fn check_declared(method: &Method, declared: u64, found: u64) -> Result<(), StudyRunError> {
    if !is_public(method) || declared == found {
        return Ok(());
    }
    let units = if method.unit() == Unit::Person { "persons" } else { "rows" };
    let message = format!("the file has {found} {units}, but the manifest declares {declared} for this site");
    let hint = match method.unit() {
        Unit::Person => {
            "every id is a person, and every line without one; use the declared file, or ask the operator to declare this \
             number in the study"
        }
        Unit::Example | Unit::Client => {
            "every line after the header is a row; use the declared file, or ask the operator to declare this number in the study"
        }
    };
    Err(StudyRunError::refused("F105", message, hint))
}

/// Whether the number of rows is public: one row is replaced by another, so that neighbours have as many.
pub(crate) fn is_public(method: &Method) -> bool {
    let public = |p: &Promise| p.unit != Unit::Client && p.adjacency == Adjacency::Substitute;
    method.promise.as_ref().is_some_and(public)
}

/// SHA-256 of the file and the schema, each with its length before it.
pub(crate) fn version(file: &[u8], schema: &str) -> Digest {
    let mut digest = Sha256::new();
    for part in [file, schema.as_bytes()] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}
