//! The report of a run: one HTML file that needs nothing else, and a table for the terminal.

mod beside;
mod budget;
mod calibration;
mod chains;
mod curves;
mod differences;
mod figures;
mod headline;
mod ledger;
mod numbers;
pub(crate) mod page;
mod posterior;
mod promise;
mod provenance;
mod sites;
mod standing;
mod summary;
mod terminal;
mod warnings;

use crate::arguments::Report;
use crate::failure::Failure;
use crate::study::unfinished;
use inference::results::{Results, SCHEMA};
use standing::Standing;
use std::path::Path;

pub(crate) use beside::{Beside, beside};
pub(crate) use curves::alone as errors_along_the_way;
pub(crate) use numbers::{divergence, error};
pub(crate) use terminal::{Terminal, table};
pub(crate) use warnings::lines as warnings;

/// The report as one HTML file, without scripts and without anything from the network. The same results give the same
/// bytes.
pub(crate) fn html(results: &Results) -> String {
    let standing = Standing::of(results);
    let sections = [
        summary::section(&standing),
        headline::section(&standing),
        promise::section(&standing),
        curves::section(&standing),
        sites::section(&standing),
        budget::section(&standing),
        posterior::section(&standing),
        chains::section(&standing),
        calibration::section(&standing),
        ledger::section(&standing),
        provenance::section(&standing),
    ];
    page::document(&results.study, &curves::toggles(&standing), &sections.concat(), &results.version)
}

/// Makes the report of a finished run again; what goes to standard output is returned.
pub(crate) fn run(asked: &Report, json: bool) -> Result<String, Failure> {
    let from = if asked.results.is_dir() { asked.results.join("results.json") } else { asked.results.clone() };
    if let Some(stopped) = unfinished(&asked.results) {
        return Err(stopped);
    }
    let results = read(&from)?;
    let page = html(&results);
    if asked.out.as_deref() == Some(Path::new("-")) {
        return Ok(page);
    }
    let to = asked.out.clone().unwrap_or_else(|| from.with_file_name("report.html"));
    std::fs::write(&to, page).map_err(|source| Failure::file("cannot write", &to, source))?;
    Ok(told(&results, &to, json))
}

/// The table and the path, or an object with the path.
fn told(results: &Results, to: &Path, json: bool) -> String {
    let path = to.display().to_string();
    if json {
        return format!("{}\n", serde_json::json!({ "report": path }));
    }
    format!("{}{}\nreport      {path}\n", table(results, Terminal::found()), warnings(results))
}

/// Reads results of this version of their shape.
fn read(path: &Path) -> Result<Results, Failure> {
    let text = std::fs::read_to_string(path).map_err(|source| Failure::file("cannot read", path, source))?;
    let wrong = |message: String| Failure::Results { path: path.display().to_string(), message };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if value.get("kind").is_some_and(|kind| kind == "federation") {
        return Err(wrong(
            "it is of a federation, which has no held-out rows to score; `posterity predict` reads its posterior"
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

#[cfg(test)]
mod tests;
