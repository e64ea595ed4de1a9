//! `posterity predict`: predictions for new rows from the posterior that a run stored.

use crate::arguments::PredictArguments;
use crate::failure::Failure;
use crate::wording::in_flags;
use std::io::Write;
use std::path::Path;
use study::Posterior;

/// Predictions as CSV, one line for each row, or as one JSON object.
pub(crate) fn text(arguments: &PredictArguments, json: bool) -> Result<String, Failure> {
    let mut posterior = Posterior::open(&arguments.results, arguments.method.as_deref())?;
    let read = |path: &Path| std::fs::read(path).map_err(|source| Failure::file("cannot read", path, source));
    if let Some(schema) = &arguments.schema {
        posterior.data_schema = String::from_utf8_lossy(&read(schema)?).into_owned();
    }
    let site = arguments.site.as_deref();
    let posterior = posterior.at(site)?;
    let predictions = posterior.predict(&read(&arguments.data)?)?;
    if json {
        return Ok(format!("{}\n", predictions.json(&posterior, site)));
    }
    // What the numbers are goes to standard error, so that standard output is the table alone.
    let _ = writeln!(std::io::stderr(), "{}", in_flags(&posterior.about(site, &predictions)));
    Ok(predictions.csv(&posterior.levels()))
}
