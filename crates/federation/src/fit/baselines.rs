//! What is computed from the rows for their owner alone: scores, baselines and warnings, in a file that must not be published.

use super::prepare::{PreparedFit, lenient};
use super::{FitError, FitRequest};
use crate::identity::{HomeError, Readers, remove, replace};
use crate::studies::{StudyRunError, read_schema, served_posterior};
use inference::plan::Costs;
use inference::results::Coefficient;
use inference::warning::Warning;
use inference::warning::rows::{persons_differ, rows_differ, small_sites};
use inference::{Encoded, Linear, Model, RunError, Schema, Scores, Shard, Simulation, Site, scores};
use privacy::Unit;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use study::columns;

/// The file, beside the results.
pub const NOT_FOR_PUBLICATION: &str = "not-for-publication.json";

/// The first field of the file.
const WHY: &str = "Not for publication: these numbers are computed from the rows without noise, and no ε covers them.";

/// What the owner may look at.
#[derive(Serialize)]
struct OwnersView {
    not_for_publication: &'static str,
    study: String,
    method: String,
    /// Rows that were found in the table.
    rows: usize,
    /// Persons that were found in it, where its schema says whose the rows are.
    #[serde(skip_serializing_if = "Option::is_none")]
    persons: Option<usize>,
    /// What the scores are of.
    scored_on: &'static str,
    fitted: Scores<f64>,
    constant: Scores<f64>,
    non_private: Scores<f64>,
    /// Means and standard deviations of the non-private posterior.
    non_private_posterior: Vec<Coefficient>,
    warnings: Vec<Warning>,
    /// Cells that the schema does not allow, by column, and what they count as.
    mapped: Vec<String>,
}

/// Scores the posterior of this state and two baselines on the rows of the table, and writes them beside the results.
pub(super) fn write(request: &FitRequest<'_>, prepared: &PreparedFit, state: &[u8]) -> Result<PathBuf, FitError> {
    let schema = read_schema(&prepared.schema)?;
    let table = lenient(&prepared.csv, &schema, request.study, &prepared.table)?;
    let view = view(request, prepared, &schema, table, state)?;
    let path = request.out.join(NOT_FOR_PUBLICATION);
    let failed = |source| StudyRunError::file("cannot write", &path, source);
    let mut text = serde_json::to_vec_pretty(&view).map_err(|error| failed(std::io::Error::other(error)))?;
    text.push(b'\n');
    replace(&path, &text, Readers::Owner).map_err(HomeError::from)?;
    Ok(path)
}

/// Removes the file of an earlier fit, whose published files are gone: it would lie beside those of this one.
pub(super) fn remove_stale(out: &Path) -> Result<(), FitError> {
    Ok(remove(&out.join(NOT_FOR_PUBLICATION)).map_err(HomeError::from)?)
}

fn view(
    request: &FitRequest<'_>,
    prepared: &PreparedFit,
    schema: &Schema,
    table: Encoded,
    state: &[u8],
) -> Result<OwnersView, FitError> {
    let (study, parts) = (request.study, &prepared.parts);
    let seed = study.seeds.first().copied().unwrap_or(1);
    let model: Arc<dyn Model> = study.model.settings.build(schema.classes(), seed);
    let names = study.model.names(&table.inputs, Some(schema));
    let test = table.rows.clone();
    let shard = Shard::of(table, &parts.method).map_err(|error| StudyRunError::data(prepared.table.as_str(), error))?;
    let (persons, by_person) = (shard.person_count(), parts.method.unit() == Unit::Person);
    let found = shard.count(parts.method.unit()).map_err(RunError::from)? as u64;
    let sites = [Site { name: "owner".into(), shard, own: Vec::new() }];
    let simulation = Simulation {
        method: &parts.method,
        sites: &sites,
        test: &test,
        model: model.clone(),
        prior: columns::prior(study, schema)?,
        seed,
        data: prepared.data_version,
        costs: Arc::new(Costs::default()),
    };
    let q = served_posterior(parts, state)?;
    let predictions = match parts.built.protocol.outcome_variance(state)? {
        Some(noise_variance) => Linear::known(noise_variance).predict(&test, &q),
        None => model.predict(&test, &q),
    };
    let (constant, open) = (simulation.constant()?, simulation.non_private()?);
    let differ = if by_person { persons_differ } else { rows_differ };
    Ok(OwnersView {
        not_for_publication: WHY,
        study: study.name.clone(),
        method: parts.method.name.clone(),
        rows: test.len(),
        persons,
        scored_on: "the rows that were fitted, in units of the encoded outcome: no row was held out",
        fitted: scores(&predictions, test.outcomes()),
        constant: constant.scores,
        non_private: open.scores,
        non_private_posterior: Coefficient::named(
            &names,
            open.posterior.mean(),
            &open.posterior.deviations(),
            open.quantiles.as_deref(),
        ),
        warnings: differ("the table", prepared.rows, found)
            .into_iter()
            .chain(small_sites([("the table", test.len() as u64)]))
            .chain(prepared.repeated.clone())
            .collect(),
        mapped: prepared.mapped.clone(),
    })
}
