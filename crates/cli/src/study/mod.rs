//! Studies: the file as typed and as meant, and the commands `check`, `plan`, `simulate` and `predict` around it.

mod assumed;
mod at_sites;
mod bounded;
mod chain;
mod check;
pub(crate) mod codes;
pub(crate) mod columns;
mod data;
mod dealt;
mod engine;
mod fault;
mod figure;
mod forecast;
mod guidance;
mod hybrid;
pub(crate) mod kind;
pub(crate) mod likelihood;
pub(crate) mod meant;
mod method;
mod noise_aware;
mod pairs;
mod plain;
pub(crate) mod posterior;
mod predict;
mod predictor;
mod progress;
mod promise;
mod reproduce;
mod run;
mod sample;
pub(crate) mod served;
pub(crate) mod simulator;
mod sites;
mod state;
mod statistics;
pub(crate) mod store;
mod summary;
mod synthetic;
mod table;
mod tables;
mod typed;
mod unroll;
pub(crate) mod warnings;
pub(crate) mod words;

pub(crate) use fault::{Fault, Source};
pub(crate) use figure::{Figure, Line, Point, Score};
pub(crate) use meant::{check_name, check_seeds, check_version};
pub(crate) use reproduce::Cell;
pub(crate) use store::{unfinished, write_whole};

use crate::arguments::{PredictArguments, ReproduceArguments, RunArguments};
use crate::curves::{self, Curves};
use crate::failure::Failure;
use crate::histogram::{self, Histogram};
use inference::Fits;
use kind::{Kind, not_for};
use meant::Study;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What to do with a study that is not simulated.
const SERVED: &str = "posterity serve; or add a [partition] and `split` in [data], to simulate it on rows of your own";

/// `posterity check`
pub(crate) fn check(path: &Path, json: bool) -> Result<String, Failure> {
    match Kind::of_file(path)? {
        Kind::Curves => Ok(curves::check(&Curves::open(path)?, json)),
        Kind::Histogram => Ok(histogram::check(&Histogram::open(path)?, json)),
        Kind::Learning => check::text(&Study::open(path)?, folder(path), json),
    }
}

/// `posterity plan`
pub(crate) fn plan(path: &Path, json: bool) -> Result<String, Failure> {
    match Kind::of_file(path)? {
        Kind::Learning => {}
        Kind::Histogram => return histogram::plan(&Histogram::open(path)?, json),
        Kind::Curves => {
            return Err(not_for(path, "a figure of accounting is nothing but costs", "posterity reproduce"));
        }
    }
    let study = Study::open(path)?;
    let parts = study.by_data();
    let of = |part: &Study| {
        let forecast = forecast::Forecast::of(part, folder(path))?;
        Ok(if json { forecast.json() } else { forecast.text() })
    };
    let plans = parts.iter().map(of).collect::<Result<Vec<String>, Failure>>()?;
    match plans.as_slice() {
        [one] => Ok(one.clone()),
        plans if json => {
            let plans: Vec<&str> = plans.iter().map(|plan| plan.trim_end()).collect();
            Ok(format!("{{\"columns\":[{}]}}\n", plans.join(",")))
        }
        plans => Ok(plans.join("\n")),
    }
}

/// `posterity simulate`
pub(crate) fn run(arguments: &RunArguments, json: bool) -> Result<String, Failure> {
    if Kind::of_file(&arguments.study)? == Kind::Histogram {
        let study = Histogram::open(&arguments.study)?.with_seed(arguments.seed);
        let out = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(study.name()));
        return histogram::run(&study, &out, json);
    }
    let (study, engine, out) = opened(arguments)?;
    run::run(&study, engine.as_ref(), &out, json)
}

/// `posterity sample`
pub(crate) fn sample(arguments: &RunArguments, json: bool) -> Result<String, Failure> {
    let (study, engine, out) = opened(arguments)?;
    sample::sample(&study, engine.as_ref(), &out.join("draws"), json)
}

/// A study of one data set and one partition, its engine, and where results go.
fn opened(arguments: &RunArguments) -> Result<(Study, Box<dyn engine::Engine>, PathBuf), Failure> {
    let path = &arguments.study;
    match Kind::of_file(path)? {
        Kind::Learning => {}
        Kind::Histogram => {
            return Err(not_for(path, "a histogram has no posterior to draw from", "posterity simulate"));
        }
        Kind::Curves => {
            return Err(not_for(path, "a figure of accounting has no data to run on", "posterity reproduce"));
        }
    }
    let mut study = Study::open(&arguments.study)?;
    if !study.simulated {
        let why = "the study has no [partition]: it is served to sites that have their rows";
        return Err(Fault { code: "F104", place: study.file, message: why.into(), hint: SERVED.into() }.into());
    }
    if let Some(seed) = arguments.seed {
        study.seeds = vec![seed];
    }
    if !study.columns.is_empty() {
        return Err(Failure::usage(
            format!("{} has several columns, and a run has one data set and one partition", study.file),
            format!("posterity reproduce {}", study.file),
        ));
    }
    let engine = open(&study, folder(&arguments.study), &Arc::default())?;
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(&study.name));
    Ok((study, engine, out))
}

/// The engine of a study: on rows of a file, or on made-up ones. Engines share what they fitted.
fn open(study: &Study, base: &Path, fits: &Arc<Fits>) -> Result<Box<dyn engine::Engine>, Failure> {
    Ok(match &study.data.synthetic {
        Some(made) => Box::new(synthetic::Made::open(study, made, fits)?),
        None => Box::new(simulator::Simulator::open(study, base, fits)?),
    })
}

/// The folder of a study, which its paths are relative to.
fn folder(study: &Path) -> &Path {
    study.parent().unwrap_or(Path::new("."))
}

/// `posterity predict`
pub(crate) fn predict(arguments: &PredictArguments, json: bool) -> Result<String, Failure> {
    predict::text(arguments, &predictor::predict, json)
}

/// `posterity reproduce`
pub(crate) fn reproduce(arguments: &ReproduceArguments, json: bool) -> Result<String, Failure> {
    reproduce::text(arguments, json)
}
