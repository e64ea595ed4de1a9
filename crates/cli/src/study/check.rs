//! `posterity check`: what a study would run, in plain words, with what its reader should know.

use super::forecast::{loose_delta, private_rows};
use super::meant::Study;
use super::sites::Sites;
use super::words::{self, row};
use crate::failure::Failure;
use inference::settings::{DeltaRule, Method};
use privacy::Unit;
use serde_json::json;

/// The study in words, or as one object.
pub(crate) fn text(study: &Study, as_json: bool) -> Result<String, Failure> {
    let warnings: Vec<String> = study.methods.iter().flat_map(|method| warnings(study, method)).collect();
    if as_json {
        return Ok(format!("{}\n", object(study, &warnings)));
    }
    let mut rows = vec![
        row("study", format!("{} is sound", study.name)),
        row("data", words::data(study)),
        row("clients", words::partition(&study.partition)),
        row("model", words::model(&study.model)),
        row("seeds", study.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    ];
    for method in &study.methods {
        rows.push(row("method", method.name.clone()));
        rows.extend(described(method).into_iter().map(|text| row("", text)));
    }
    rows.push(row("always", "for comparison: a constant answer, local only (each client by itself), non-private"));
    rows.extend(warnings.into_iter().map(|text| row("warning", text)));
    Ok(words::table(&rows))
}

/// A method in a few lines.
fn described(method: &Method) -> Vec<String> {
    let mut lines = vec![words::method(method), words::local(method)];
    lines.extend(words::readout(method));
    match &method.promise {
        None => lines.push("no privacy: an open gate, for comparison only".to_owned()),
        Some(promise) => lines.extend([words::promise(promise), words::noise(promise)]),
    }
    lines
}

fn object(study: &Study, warnings: &[String]) -> serde_json::Value {
    let methods: Vec<_> = study
        .methods
        .iter()
        .map(|m| {
            json!({
                "name": m.name,
                "algorithm": words::algorithm(m.scheme),
                "solver": words::solver(m.solver),
                "schedule": words::schedule(m.schedule),
                "private": m.promise.is_some(),
                "words": described(m),
            })
        })
        .collect();
    json!({ "study": study.name, "seeds": study.seeds, "methods": methods, "warnings": warnings })
}

/// What can be said without planning.
fn warnings(study: &Study, method: &Method) -> impl Iterator<Item = String> {
    private_rows(method).into_iter().chain(too_large(study, method))
}

/// A δ that is too large for the rows that are known to be there.
fn too_large(study: &Study, method: &Method) -> Option<String> {
    let sites = Sites::declared(study).ok().filter(|sites| sites.rows_known)?;
    let promise = method.promise.as_ref()?;
    let DeltaRule::Fixed(delta) = promise.delta else { return None };
    let among = match promise.unit {
        Unit::Example => sites.rows.iter().copied().min()?,
        Unit::Client => sites.rows.len() as u64,
    };
    loose_delta(&method.name, promise.unit, delta.get(), among)
}
