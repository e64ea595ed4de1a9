//! A simulated run: every method and seed that is not finished yet, then the posteriors and the results.

use super::engine::{Engine, Work};
use super::fit_results::FIT;
use super::meant::Study;
use super::observer::RunObserver;
use super::pairs;
use super::posterior::{self, Posterior};
use super::state::Finished;
use super::store::{RESULTS, Store, file_name};
use super::summary;
use super::warnings::{self, StudyContext};
use crate::error::StudyError;
use inference::Schema;
use inference::plan::{Costs, plan_with};
use inference::results::{DataSummary, OUTSIDE_EPSILON, Provenance, Results, SCHEMA};
use std::collections::BTreeSet;
use std::path::Path;

/// Who makes results, and when: the caller has the clock, and knows which program it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// When, such as 2026-01-31T12:00:00Z.
    pub date: String,
    /// The commit that the program was built from, or `unknown`.
    pub commit: String,
}

impl Made {
    /// Of results that are written now. Only a simulation has a digest of its data to show: its reader has the rows anyway.
    pub fn provenance(&self, data_digest: Option<String>) -> Provenance {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Provenance { date: self.date.clone(), version, commit: self.commit.clone(), data_digest }
    }
}

/// Reads results of this version of their shape, from a run's directory or from their file.
pub fn read_results(path: &Path) -> Result<Results, StudyError> {
    let path = &if path.is_dir() { path.join(RESULTS) } else { path.to_owned() };
    let text = std::fs::read_to_string(path).map_err(|source| StudyError::file("cannot read", path, source))?;
    let wrong = |message: String| StudyError::Results { path: path.display().to_string(), message };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if value.get("kind").is_some_and(|kind| kind == "federation") {
        return Err(wrong(
            "it is of a federation, which has no held-out rows to score; predictions read its posterior".into(),
        ));
    }
    if value.get("kind").is_some_and(|kind| kind == FIT) {
        return Err(wrong(
            "it is of a fit, which has no scores; `posterity predict` reads its posterior, and `posterity report` rewrites its page"
                .into(),
        ));
    }
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        Some(schema) if schema == u64::from(SCHEMA) => {}
        Some(schema) => return Err(wrong(format!("schema is {schema}, expected {SCHEMA}"))),
        None => return Err(wrong(format!("there is no schema, expected {SCHEMA}"))),
    }
    serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
}

/// Runs the study into a directory.
pub(crate) fn into(
    study: &Study,
    engine: &dyn Engine,
    out: &Path,
    made: Option<&Made>,
    observer: &dyn RunObserver,
) -> Result<Results, StudyError> {
    let (data, schema) = (engine.summary()?, engine.data_schema());
    plannable(study, &data, schema.as_deref(), &engine.costs())?;
    let store = Store::open(out, &study.name, &study.text, &engine.data_digest())?;
    let parsed = schema.as_deref().and_then(|text| Schema::from_toml(text).ok());
    let names = study.model.names(&data.inputs, parsed.as_ref());
    let (mut methods, mut posteriors) = (Vec::new(), BTreeSet::new());
    let known = StudyContext::new(study, &names, schema.as_deref());
    let works: Vec<Work<'_>> = all(study).collect();
    for (work, runs) in works.iter().zip(pairs::run(&works, &study.seeds, engine, &store, observer)?) {
        let work = *work;
        let of = runs.first().filter(|_| work.has_posterior()).zip(schema.clone());
        if let Some((first, schema)) = of {
            let stored = stored(study, work, first, &data.inputs, schema).unless(known.refused(work, first));
            let path = format!("posterior/{}.json", file_name(work.name()));
            posteriors.insert(store.write(&path, &stored)?);
        }
        methods.push(summary::method(work, &runs, &names, &known));
    }
    summary::compare(&mut methods);
    warnings::compare(&mut methods);
    let about_data = warnings::of_data(study, &data).into_iter().chain(engine.warnings()).collect();
    let results = Results {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        study: study.name.clone(),
        study_toml: study.text.clone(),
        data,
        outside_epsilon: OUTSIDE_EPSILON.to_owned(),
        methods,
        provenance: made.map(|made| made.provenance(Some(engine.data_digest()))),
        warnings: about_data,
    };
    store.remove_stale(&results, &posteriors)?;
    store.write(RESULTS, &results)?;
    Ok(results)
}

/// Plans every method for the clients as they were dealt, so that what cannot be is refused before anything is run.
///
/// What they cost is known from then on.
pub(super) fn plannable(
    study: &Study,
    data: &DataSummary,
    schema: Option<&str>,
    costs: &Costs,
) -> Result<(), StudyError> {
    let classes = schema.and_then(|text| Schema::from_toml(text).ok()).and_then(|schema| schema.classes());
    let parameters = study.model.parameters(classes, data.inputs.len()).unwrap_or(1);
    for (index, method) in study.methods.iter().enumerate() {
        let rows: Vec<u64> = data.clients.iter().map(|client| client.count(method.unit()) as u64).collect();
        plan_with(costs, method, &rows, parameters).map_err(|error| study.in_method(index, error.into()))?;
    }
    Ok(())
}

/// The study's methods, then the three that every result is seen beside; of these the constant alone, where a study leaves
/// out what has to be fitted.
fn all(study: &Study) -> impl Iterator<Item = Work<'_>> {
    let classes = !study.model.settings.outcome().is_number();
    let baselines = study.methods.first().into_iter().flat_map(move |method| {
        let fitted = [Work::LocalOnly(method), Work::NonPrivate(method)].into_iter().filter(|_| study.baselines);
        [Work::Constant { beside: method, classes }].into_iter().chain(fitted)
    });
    study.methods.iter().map(Work::Method).chain(baselines)
}

/// The posterior of the first seed, ready to predict from.
fn stored(study: &Study, work: Work<'_>, run: &Finished, inputs: &[String], data_schema: String) -> Posterior {
    Posterior {
        outside_epsilon: OUTSIDE_EPSILON.to_owned(),
        schema: posterior::SCHEMA,
        study: study.name.clone(),
        method: work.name().to_owned(),
        seed: run.seed,
        model: posterior::stored_model(&study.model, run.outcome_variance),
        bias: study.model.intercept,
        inputs: inputs.to_vec(),
        data_schema,
        posterior: run.posterior.clone(),
        intervals: work.intervals(),
        not_served: None,
    }
}

#[cfg(test)]
mod tests;
