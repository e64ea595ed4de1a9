//! `posterity simulate`: every method and seed that is not finished yet, then the results, the posteriors and the report.

use super::engine::{Engine, Work};
use super::likelihood;
use super::meant::{Likelihood, Study};
use super::pairs;
use super::posterior::{self, Posterior, StoredModel};
use super::state::Finished;
use super::store::{Store, file_name};
use super::summary;
use super::warnings::{self, Known};
use crate::failure::Failure;
use crate::provenance;
use crate::report;
use inference::Schema;
use inference::plan::{Costs, plan_with};
use inference::results::{DataSummary, OUTSIDE_EPSILON, Results, SCHEMA};
use std::path::Path;

/// File of the results in a run's directory.
const RESULTS: &str = "results.json";
/// File of the report.
const REPORT: &str = "report.html";

/// Runs the study into a directory, and gives what is printed at the end.
///
/// Results are written after all work is done, each file whole or not at all; finished work is kept as it comes, so
/// that a run that was stopped goes on from there.
pub(crate) fn run(study: &Study, engine: &dyn Engine, out: &Path, json: bool) -> Result<String, Failure> {
    let results = into(study, engine, out, json)?;
    if json {
        return Ok(format!("{}\n", serde_json::to_string(&results).unwrap_or_default()));
    }
    let mut table = report::table(&results, report::Terminal::found());
    table += &report::warnings(&results);
    let (kept, page) = (out.join(RESULTS), out.join(REPORT));
    Ok(format!("{table}\nresults: {}\nreport:  {}\n", kept.display(), page.display()))
}

/// Runs the study into a directory.
pub(crate) fn into(study: &Study, engine: &dyn Engine, out: &Path, json: bool) -> Result<Results, Failure> {
    let (data, schema) = (engine.summary()?, engine.data_schema());
    plannable(study, &data, schema.as_deref(), &engine.costs())?;
    let store = Store::open(out, &study.name, &study.text, &engine.data_digest())?;
    let names = likelihood::names(&study.model.kind, &data.inputs, schema.as_deref().unwrap_or_default());
    let mut methods = Vec::new();
    let known = Known::new(study, &names, schema.as_deref());
    let works: Vec<Work<'_>> = all(study).collect();
    for (work, runs) in works.iter().zip(pairs::run(&works, &study.seeds, engine, &store, json)?) {
        let work = *work;
        let of = runs.first().filter(|_| work.has_posterior()).zip(schema.clone());
        if let Some((first, schema)) = of {
            let stored = stored(study, work, first, &data.inputs, schema).unless(known.refused(work, first));
            store.write(&format!("posterior/{}.json", file_name(work.name())), &stored)?;
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
        provenance: Some(provenance::now(Some(engine.data_digest()))),
        warnings: about_data,
    };
    store.write(RESULTS, &results)?;
    store.write_text(REPORT, &report::html(&results))?;
    Ok(results)
}

/// Plans every method for the clients as they were dealt, so that what cannot be is refused before anything is run.
///
/// What they cost is known from then on.
pub(super) fn plannable(study: &Study, data: &DataSummary, schema: Option<&str>, costs: &Costs) -> Result<(), Failure> {
    let classes = schema.and_then(|text| Schema::from_toml(text).ok()).and_then(|schema| schema.classes());
    let parameters = likelihood::parameters(&study.model.kind, classes, data.inputs.len()).unwrap_or(1);
    let rows: Vec<u64> = data.clients.iter().map(|client| client.rows as u64).collect();
    for (index, method) in study.methods.iter().enumerate() {
        plan_with(costs, method, &rows, parameters).map_err(|error| study.in_method(index, error.into()))?;
    }
    Ok(())
}

/// The study's methods, then the three that every result is seen beside; of these the constant alone, where a study leaves
/// out what has to be fitted.
fn all(study: &Study) -> impl Iterator<Item = Work<'_>> {
    let classes = !matches!(study.model.kind, Likelihood::Linear { .. } | Likelihood::Mixture { .. });
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
        model: match run.outcome_variance {
            Some(noise_variance) => StoredModel::Linear { noise_variance },
            None => StoredModel::of(&study.model),
        },
        bias: study.model.bias,
        inputs: inputs.to_vec(),
        data_schema,
        posterior: run.posterior.clone(),
        not_served: None,
    }
}

#[cfg(test)]
mod tests;
