//! `posterity report`: the report of a finished run, made again.

use crate::arguments::ReportArguments;
use crate::failure::Failure;
use crate::fit;
use crate::terminal;
use inference::results::Results;
use std::path::Path;
use study::{FitResults, read_results, unfinished};

/// Makes the report of a finished run again; what goes to standard output is returned.
pub(crate) fn run(asked: &ReportArguments, json: bool) -> Result<String, Failure> {
    let from = if asked.results.is_dir() { asked.results.join("results.json") } else { asked.results.clone() };
    if let Some(stopped) = unfinished(&asked.results) {
        return Err(stopped.into());
    }
    let (page, told) = match FitResults::open(&from)? {
        Some(results) => (report::fit(&results), fit::told(&results)),
        None => {
            let results = read_results(&from)?;
            (report::html(&results), told(&results))
        }
    };
    if asked.out.as_deref() == Some(Path::new("-")) {
        return Ok(page);
    }
    let to = asked.out.clone().unwrap_or_else(|| from.with_file_name("report.html"));
    std::fs::write(&to, page).map_err(|source| Failure::file("cannot write", &to, source))?;
    if json {
        return Ok(format!("{}\n", serde_json::json!({ "report": to.display().to_string() })));
    }
    Ok(format!("{told}\nreport      {}\n", to.display()))
}

/// The table of a run and its warnings, for this terminal.
pub(crate) fn told(results: &Results) -> String {
    report::table(results, terminal::found()) + &report::warnings(results, terminal::width())
}
