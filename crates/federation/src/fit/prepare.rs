//! From a study and a table to everything that a fit needs before its first charge.

use super::{FitError, FitRequest};
use crate::identity::{IdentityKey, PartyName};
use crate::manifest::{self, Manifest, Pace, RunParts, SiteMember};
use crate::studies::{self, StudyRunError, build, check_rows, is_public};
use inference::settings::Aggregator;
use inference::{Encoded, Method, RowReading, Schema, Shard, read};
use privacy::noise::Digest;
use privacy::{Grant, Unit};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use study::{DeclaredRows, Study, datasets};

/// The name of the only site: ledger and manifest carry it.
const OWNER: &str = "owner";

/// What a fit is made of, read and checked. Nothing was charged for it.
pub(super) struct PreparedFit {
    pub(super) parts: Arc<RunParts>,
    pub(super) schema: String,
    pub(super) shard: Arc<Shard>,
    /// Digest of the table and its schema: it stays in the home.
    pub(super) data_version: Digest,
    /// The public number of rows.
    pub(super) rows: u64,
    /// The table, for what is computed for its owner alone.
    pub(super) csv: Cow<'static, [u8]>,
    /// What the table is called in errors.
    pub(super) table: String,
}

impl PreparedFit {
    /// Reads the table and builds the method for it.
    pub(super) fn of(request: &FitRequest<'_>) -> Result<Self, FitError> {
        let study = request.study;
        check_rows(study)?;
        let method = choose(study, request.method)?;
        let (source, own) = (&study.data.source, study.data.schema.as_deref());
        let (schema, meant) = datasets::schema_of(source, own, request.folders)?;
        let (table, csv) = table(request)?;
        let shard = Shard::of(lenient(&csv, &meant, study, &table)?, method);
        let shard = shard.map_err(|error| StudyRunError::data(table.as_str(), error))?;
        let rows = if is_public(method) { shard.len() as u64 } else { declared(study)? };
        let parts = Arc::new(build(study, &meant, method, &[rows])?);
        let data_version = studies::version(&csv, &schema);
        Ok(Self { parts, schema, shard: Arc::new(shard), data_version, rows, csv, table })
    }

    /// ε and δ that the fit is granted.
    pub(super) fn granted(&self) -> (f64, f64) {
        match self.parts.built.grants.first() {
            Some(Grant::Limited { epsilon, delta, .. }) => (epsilon.get(), delta.get()),
            Some(Grant::Unlimited) | None => (f64::INFINITY, 1.0),
        }
    }

    /// The manifest of the fit: its one member is both the site and the server.
    pub(super) fn manifest(&self, study: &Study, key: &IdentityKey, nonce: [u8; 16]) -> Result<Manifest, FitError> {
        let agreed = manifest::agreed(&self.parts.built)
            .map_err(|error| FitError::refused("F121", error.to_string(), "report this as a bug"))?;
        let name = PartyName::new(OWNER).map_err(|why| FitError::refused("F121", why, "report this as a bug"))?;
        Ok(Manifest {
            version: manifest::VERSION,
            nonce,
            study: study.text.clone(),
            schema: self.schema.clone(),
            method: self.parts.method.name.clone(),
            sites: vec![SiteMember { name, key: key.public(), rows: self.rows }],
            nodes: Vec::new(),
            server: key.public(),
            pace: Pace { rounds: studies::rounds(&self.parts), quorum: 1, deadline: None },
            agreed,
        })
    }
}

/// The rows as an agent reads them: every line becomes a legal row.
pub(super) fn lenient(csv: &[u8], schema: &Schema, study: &Study, table: &str) -> Result<Encoded, FitError> {
    let rows = read(csv, schema, study.model.intercept, &[], RowReading::Lenient);
    Ok(rows.map_err(|error| StudyRunError::data(table, error))?)
}

/// The bytes of the table: a file of its own, or the study's source.
fn table(request: &FitRequest<'_>) -> Result<(String, Cow<'static, [u8]>), FitError> {
    let read_file = |path: &Path| {
        let bytes = std::fs::read(path).map_err(|source| StudyRunError::file("cannot read", path, source))?;
        Ok((path.display().to_string(), bytes.into()))
    };
    if let Some(path) = request.table {
        return read_file(path);
    }
    let data = &request.study.data;
    let source = datasets::open(&data.source, data.schema.as_deref(), request.folders)?;
    Ok((source.name, source.csv))
}

/// The method of this name; without one, the first that promises privacy. One that a single owner cannot keep is refused.
fn choose<'a>(study: &'a Study, name: Option<&str>) -> Result<&'a Method, FitError> {
    let refuse = |message: String, hint: &str| Err(FitError::refused("F121", message, hint));
    let method = match name {
        Some(name) => studies::named(study, name)?,
        None => match study.methods.iter().find(|method| method.promise.is_some()) {
            Some(method) => method,
            None => return refuse("no method of the study is private".into(), "add privacy = { … } to one of them"),
        },
    };
    let about = |why: &str| format!("method {:?} {why}", method.name);
    let Some(promise) = &method.promise else {
        return refuse(
            about("is non-private, and a fit is a release"),
            "choose another method, or add privacy = { … }",
        );
    };
    if study.is_of_list(method) {
        return refuse(
            about("has a list of ε, but a fit spends one"),
            "write one number, epsilon = 1.0; `posterity simulate` compares several",
        );
    }
    if promise.aggregator != Aggregator::None {
        return refuse(
            about("has an aggregator, but a table of one owner has nobody to add up with"),
            "leave aggregator out of privacy: the owner adds the noise",
        );
    }
    if promise.unit == Unit::Person {
        return refuse(
            about(
                "protects persons, and a fit is planned, and published, by its number of rows, which is private then",
            ),
            "use unit = \"example\" or \"client\", or serve the study to a site, which declares its persons",
        );
    }
    if method.algorithm.site_intercept().is_some() {
        return refuse(about("has an intercept for each site, but there is one owner"), "leave site_intercept out");
    }
    Ok(method)
}

/// The rows that the study declares, all together.
fn declared(study: &Study) -> Result<u64, FitError> {
    let sites = study.served.as_ref().map(|served| served.rows().iter().sum());
    let rows = match &study.data.declared_rows {
        Some(DeclaredRows::All(rows)) => Some(*rows),
        Some(DeclaredRows::Each(rows)) => Some(rows.iter().sum()),
        None => sites,
    };
    rows.ok_or_else(|| {
        FitError::refused(
            "F123",
            "the number of rows is private under this relation and unit, and the study declares none",
            "add declared_rows = N to [data], a round number that you can publish; or use adjacency = \"substitute\"",
        )
    })
}
