//! From a study and a table to everything that a fit needs before its first charge.

use super::{FitError, FitRequest};
use crate::identity::{IdentityKey, PartyName};
use crate::manifest::{self, Manifest, Pace, RunParts, SiteMember};
use crate::studies::{self, StudyRunError, build, check_rows, is_public};
use inference::settings::Aggregator;
use inference::warning::Warning;
use inference::warning::rows::repeated_persons;
use inference::{Encoded, Method, RowReading, Schema, Shard, examine, read};
use privacy::noise::Digest;
use privacy::{Grant, Unit};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use study::{DeclaredRows, Study, columns, datasets};

/// The name of the only site: ledger and manifest carry it.
const OWNER: &str = "owner";

/// What a fit is made of, read and checked. Nothing was charged for it.
pub(super) struct PreparedFit {
    pub(super) parts: Arc<RunParts>,
    pub(super) schema: String,
    pub(super) shard: Arc<Shard>,
    /// Digest of the table and its schema: it stays in the home.
    pub(super) data_version: Digest,
    /// The public number of rows; of persons, where these are protected.
    pub(super) rows: u64,
    /// The table, for what is computed for its owner alone.
    pub(super) csv: Cow<'static, [u8]>,
    /// What the table is called in errors.
    pub(super) table: String,
    /// Persons with several rows where single rows are protected: for the owner alone.
    pub(super) repeated: Option<Warning>,
    /// Cells that the schema does not allow and gives a meaning, in a line for each column: for the owner alone.
    pub(super) mapped: Vec<String>,
}

impl PreparedFit {
    /// Reads the table and builds the method for it. A table whose cells would not mean what their owner thinks is refused here: the
    /// owner sees the refusal, and nothing was charged or written for it.
    pub(super) fn of(request: &FitRequest<'_>) -> Result<Self, FitError> {
        let study = request.study;
        check_rows(study)?;
        let method = choose(study, request.method)?;
        let (source, own) = (&study.data.source, study.data.schema.as_deref());
        let (schema, meant) = datasets::schema_of(source, own, request.folders)?;
        columns::check(study, &meant)?;
        let (table, csv) = table(request)?;
        let in_table = |error| StudyRunError::data(table.as_str(), error);
        let exam = examine(&csv[..], &meant).map_err(in_table)?;
        exam.check().map_err(in_table)?;
        let rows = lenient(&csv, &meant, study, &table)?;
        let repeated = repeated_persons(&rows.keys).filter(|_| method.unit() == Unit::Example);
        let shard = Shard::of(rows, method).map_err(in_table)?;
        let rows = public_number(study, method, &shard)?;
        let parts = Arc::new(build(study, &meant, method, vec![OWNER.to_owned()], &[rows])?);
        let data_version = studies::version(&csv, &schema);
        let (shard, mapped) = (Arc::new(shard), exam.notes());
        Ok(Self { parts, schema, shard, data_version, rows, csv, table, repeated, mapped })
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

/// The rows as an agent reads them: every line becomes a legal row. What it maps, [`examine`] has told.
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
    if !method.sites.is_empty() {
        return refuse(
            about("has promises of single sites, but there is one owner"),
            "leave [privacy.sites] out: epsilon, delta and clip of privacy are the owner's",
        );
    }
    if method.algorithm.site_intercept().is_some() {
        return refuse(about("has an intercept for each site, but there is one owner"), "leave site_intercept out");
    }
    Ok(method)
}

/// The number that a fit is planned for and publishes: rows, or persons where these are protected.
///
/// Only substitution of rows makes a count public that nobody declares. The number of rows is private where persons are
/// protected: a person is replaced with all rows, whatever their number.
fn public_number(study: &Study, method: &Method, shard: &Shard) -> Result<u64, FitError> {
    match method.unit() {
        Unit::Person => persons(study, method, shard),
        Unit::Example | Unit::Client if is_public(method) => Ok(shard.len() as u64),
        Unit::Example | Unit::Client => total(study, study.data.declared_rows.as_ref(), false).ok_or_else(|| {
            FitError::refused(
                "F123",
                "the number of rows is private under this relation and unit, and the study declares none",
                "add declared_rows = N to [data], a round number that you can publish; or use adjacency = \"substitute\"",
            )
        }),
    }
}

/// The declared number of persons. Where it is public, a table with another number is refused; where it is private, they are
/// never compared.
fn persons(study: &Study, method: &Method, shard: &Shard) -> Result<u64, FitError> {
    let Some(declared) = total(study, study.data.declared_persons.as_ref(), true) else {
        return Err(FitError::refused(
            "F123",
            "the method protects persons, and the study does not declare how many there are",
            "add declared_persons = N to [data]: every person_id is a person, and every row without one; the number is published",
        ));
    };
    let found = shard.count(Unit::Person).map_err(inference::RunError::from)? as u64;
    if is_public(method) && found != declared {
        return Err(FitError::refused(
            "F123",
            format!("the table has {found} persons, and the study declares {declared}"),
            format!("every person_id is a person, and every row without one; write declared_persons = {found}"),
        ));
    }
    Ok(declared)
}

/// A declared number of all sites together, from `[data]` or from the sites of a served study.
fn total(study: &Study, declared: Option<&DeclaredRows>, of_persons: bool) -> Option<u64> {
    match declared {
        Some(DeclaredRows::All(number)) => Some(*number),
        Some(DeclaredRows::Each(numbers)) => Some(numbers.iter().sum()),
        None => {
            let served = study.served.as_ref().filter(|served| served.by_person == of_persons);
            served.map(|served| served.rows().iter().sum())
        }
    }
}
