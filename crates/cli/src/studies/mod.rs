//! The commands around studies: `check`, `plan`, `run`, `sample`, `predict` and `reproduce`.

mod at_sites;
mod predict;
mod progress;
mod reproduce;
mod sample;
mod table;

pub(crate) use predict::text as predict;
pub(crate) use reproduce::text as reproduce;
pub(crate) use sample::text as sample;

use crate::arguments::RunArguments;
use crate::failure::Failure;
use crate::{provenance, reports, terminal};
use inference::results::Results;
use progress::ProgressBars;
use std::path::{Path, PathBuf};
use study::curves::Curves;
use study::histogram::{self, Histogram};
use study::{Loaded, Study, StudyError, StudyKind, not_for, write_whole};

/// File of the report in a run's directory.
const REPORT: &str = "report.html";

/// `posterity check`
pub(crate) fn check(path: &Path, json: bool) -> Result<String, Failure> {
    let (object, text) = match StudyKind::of_file(path)? {
        StudyKind::Curves => {
            let curves = Curves::open(path)?;
            (curves.json(), terminal::rows(&curves.rows()))
        }
        StudyKind::Histogram => {
            let study = Histogram::open(path)?;
            (study.json(), study.text())
        }
        StudyKind::Learning => {
            let check = Study::open(path)?.check(&terminal::folders(path))?;
            (check.json(), terminal::rows(&check.rows()))
        }
    };
    Ok(if json { format!("{object}\n") } else { text })
}

/// `posterity plan`
pub(crate) fn plan(path: &Path, json: bool) -> Result<String, Failure> {
    match StudyKind::of_file(path)? {
        StudyKind::Learning => {}
        StudyKind::Histogram => return histogram_plan(&Histogram::open(path)?, json),
        StudyKind::Curves => {
            return Err(not_for(path, "a figure of accounting is nothing but costs", "posterity reproduce").into());
        }
    }
    let plans = Study::open(path)?.plan(&terminal::folders(path))?;
    let lines = |text: String| -> String { text.lines().map(|line| format!("{}\n", line.trim_end())).collect() };
    match plans.as_slice() {
        [one] if json => Ok(one.json()),
        plans if json => {
            let plans: Vec<String> = plans.iter().map(|plan| plan.json().trim_end().to_owned()).collect();
            Ok(format!("{{\"columns\":[{}]}}\n", plans.join(",")))
        }
        plans => Ok(plans.iter().map(|plan| lines(terminal::rows(&plan.rows()))).collect::<Vec<_>>().join("\n")),
    }
}

/// What a histogram would cost a user.
fn histogram_plan(study: &Histogram, json: bool) -> Result<String, Failure> {
    let costs = study.plan()?;
    if json {
        let object = serde_json::json!({ "study": study.name(), "delta": study.delta(), "costs": costs });
        return Ok(format!("{object}\n"));
    }
    Ok(format!("{}{}", study.described(), study.priced(&costs)))
}

/// `posterity simulate`
pub(crate) fn run(arguments: &RunArguments, json: bool) -> Result<String, Failure> {
    if StudyKind::of_file(&arguments.study)? == StudyKind::Histogram {
        return run_histogram(arguments, json);
    }
    let (loaded, out) = loaded(arguments)?;
    let results = simulated(loaded, &out, json)?;
    if json {
        return Ok(format!("{}\n", serde_json::to_string(&results).unwrap_or_default()));
    }
    let (kept, page) = (out.join("results.json"), out.join(REPORT));
    Ok(format!("{}\nresults: {}\nreport:  {}\n", reports::told(&results), kept.display(), page.display()))
}

/// Runs a study into a directory, and writes its report there.
fn simulated(loaded: Loaded, out: &Path, quiet: bool) -> Result<Results, Failure> {
    let progress = ProgressBars::kept(quiet);
    let results = match loaded.made_by(provenance::now()).simulate(out, &progress) {
        Err(StudyError::Stopped) => return Err(Failure::Stopped { line: progress.stopped() }),
        results => results?,
    };
    put(&out.join(REPORT), &report::html(&results))?;
    Ok(results)
}

fn put(path: &Path, text: &str) -> Result<(), Failure> {
    write_whole(path, text.as_bytes()).map_err(|source| Failure::file("cannot write", path, source))
}

/// A histogram, surveyed into a directory.
fn run_histogram(arguments: &RunArguments, json: bool) -> Result<String, Failure> {
    let study = Histogram::open(&arguments.study)?.with_seed(arguments.seed);
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(study.name()));
    let found = histogram::run(&study, &out)?;
    let (page, csv) = (out.join(REPORT), out.join("histogram.csv"));
    put(&page, &report::histogram::html(&study, &found))?;
    if json {
        return Ok(format!("{}\n", serde_json::to_string(&found).unwrap_or_default()));
    }
    let (told, cost) = (study.described(), study.priced(&found.costs));
    Ok(format!("{told}\n{}{cost}\nresults     {}\nreport      {}\n", found.table(), csv.display(), page.display()))
}

/// A study of one data set and one partition with its rows, and where results go.
fn loaded(arguments: &RunArguments) -> Result<(Loaded, PathBuf), Failure> {
    let path = &arguments.study;
    match StudyKind::of_file(path)? {
        StudyKind::Learning => {}
        StudyKind::Histogram => {
            return Err(not_for(path, "a histogram has no posterior to draw from", "posterity simulate").into());
        }
        StudyKind::Curves => {
            return Err(not_for(path, "a figure of accounting has no data to run on", "posterity reproduce").into());
        }
    }
    let mut study = Study::open(path)?;
    if let Some(seed) = arguments.seed {
        study.seeds = vec![seed];
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(&study.name));
    Ok((study.load(&terminal::folders(path))?, out))
}
