//! Yesterday's posterior as today's prior: where a study is opened, the numbers of the posterior file that its prior names take the
//! place of the name, so that everybody who reads the study's text has the same prior.

use super::fault::{Fault, StudyText};
use super::posterior::{Posterior, SCHEMA};
use crate::error::StudyError;
use inference::describe::{NOT_TOGETHER, Registry, UNREADABLE};
use inference::{EarlierPosterior, Intervals, Schema, encodings};
use std::ops::Range;
use std::path::Path;
use toml::Value;
use toml::de::{DeTable, DeValue};

/// The key that names the file.
const FROM: &str = "model.prior.from";

/// The text of a study's file, with the numbers of the posterior that its prior names.
///
/// # Errors
/// A file that cannot be read, and a posterior that cannot be a prior: one without numbers, one whose intervals ignore the privacy
/// noise where the study states no discount, and one under a prior that was fitted to the releases.
pub fn study_text(path: &Path) -> Result<String, StudyError> {
    let text = std::fs::read_to_string(path).map_err(|source| StudyError::file("cannot read", path, source))?;
    inlined(&path.display().to_string(), text, path.parent().unwrap_or(Path::new("")))
}

/// `from` in a text.
struct NamedFile {
    /// Where key and value stand.
    span: Range<usize>,
    /// The path.
    path: String,
    /// Whether the study states a discount.
    discounted: bool,
}

/// The same text where its prior names no file; else with the file's numbers.
fn inlined(file: &str, text: String, folder: &Path) -> Result<String, StudyError> {
    let Some(named) = named(&text) else { return Ok(text) };
    let path = folder.join(&named.path);
    let bytes = std::fs::read(&path).map_err(|source| StudyError::file("cannot read", &path, source))?;
    let source = StudyText::new(file.to_owned(), &text);
    let refused = |code, message: String, hint: &str| source.fault(FROM, code, message, hint);
    let posterior: Posterior = serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("{} is no posterior: {error}", path.display());
        refused(UNREADABLE, message, "name a file of the folder `posterior` of a run, a fit or a federation")
    })?;
    let earlier = earlier(&posterior, named.discounted, &refused)?;
    let numbers = format!("posterior = {}", Value::Table(earlier.table()));
    let (before, after) = (text.get(..named.span.start), text.get(named.span.end..));
    Ok([before.unwrap_or_default(), &numbers, after.unwrap_or_default()].concat())
}

/// Where a study's prior names a file; none where it does not, or the text is no study.
fn named(text: &str) -> Option<NamedFile> {
    let keys = DeTable::parse(text).ok()?;
    let mut prior = keys.get_ref();
    for step in ["model", "prior"] {
        let (_, value) = prior.iter().find(|(key, _)| key.get_ref() == step)?;
        let DeValue::Table(inner) = value.get_ref() else { return None };
        prior = inner;
    }
    let (key, value) = prior.iter().find(|(key, _)| key.get_ref() == "from")?;
    Some(NamedFile {
        span: key.span().start..value.span().end,
        path: value.get_ref().as_str()?.to_owned(),
        discounted: prior.iter().any(|(key, _)| key.get_ref() == "discount"),
    })
}

/// What to do instead of believing a posterior that is too sure of itself.
const SURER: &str = "name a posterior that counts the noise, such as that of \"noise-aware-levels\"; or state how much of its \
                     precision you believe: discount = 0.5";

/// A posterior as a prior. Intervals that ignore the noise are narrower than what is known: a prior of that precision would believe
/// yesterday's noise for good. A discount says that somebody thought of it.
fn earlier(
    posterior: &Posterior,
    discounted: bool,
    refused: &dyn Fn(&'static str, String, &str) -> Fault,
) -> Result<EarlierPosterior, StudyError> {
    let name = format!("{}, {}", posterior.study, posterior.method);
    if posterior.schema != SCHEMA {
        let message = format!("the posterior file has schema {}, expected {SCHEMA}", posterior.schema);
        return Err(refused(UNREADABLE, message, "write it again with this program").into());
    }
    if let Some(why) = &posterior.not_served {
        let message = format!("{name} left no posterior: {}", why.what);
        return Err(refused(NOT_TOGETHER, message, &why.hint).into());
    }
    let remark = match &posterior.intervals {
        Some(Intervals::WithoutNoise | Intervals::CountNoise { .. }) => "",
        Some(Intervals::FittedPrior) => {
            let message = format!("{name} was served under a prior that was fitted to its releases, for prediction");
            return Err(refused(NOT_TOGETHER, message, "serve it with levels = { prior = \"stated\" }").into());
        }
        Some(Intervals::DoNotHold { .. }) if discounted => "; its intervals did not hold where that was measured",
        Some(Intervals::IgnoreNoise) | None if discounted => "; it does not count the privacy noise",
        Some(Intervals::DoNotHold { measured }) => {
            let message = format!("{name} is too sure of itself for a prior: in simulations {measured}");
            return Err(refused(NOT_TOGETHER, message, SURER).into());
        }
        Some(Intervals::IgnoreNoise) | None => {
            let message = format!("{name} does not count the privacy noise: as a prior it would be too sure of itself");
            return Err(refused(NOT_TOGETHER, message, SURER).into());
        }
    };
    let schema = Schema::from_toml(&posterior.data_schema)
        .map_err(|error| refused(UNREADABLE, format!("the schema in {name} cannot be read: {error}"), error.hint()))?;
    let kind = posterior.model.get("kind").and_then(Value::as_str).unwrap_or_default();
    Ok(EarlierPosterior {
        source: format!("{name}{remark}"),
        released: posterior.is_released(),
        kind: kind.to_owned(),
        names: posterior.names(&Registry::standard())?,
        encoding: encodings(&schema),
        mean: posterior.posterior.mean.clone(),
        deviation: posterior.posterior.deviation.clone(),
        precision: posterior.posterior.precision.clone(),
    })
}

#[cfg(test)]
mod tests;
