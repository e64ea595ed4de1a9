//! `posterity datasets`: what there is, what is in it, and one of them fetched.

use crate::failure::Failure;
use crate::terminal;
use crate::wording::in_flags;
use inference::Encoded;
use std::path::Path;
use study::datasets::{self, Fetched, KnownRows, SETS, Set, is_here, known, open};

/// All data sets.
pub(crate) fn list(json: bool) -> String {
    if json {
        let sets: Vec<_> = SETS.iter().map(object).collect();
        return format!("{}\n", serde_json::json!({ "datasets": sets }));
    }
    let line = |set: &Set| {
        let place = if set.is_bundled() { "bundled" } else { "to fetch" };
        format!("{:<16}{:>8}  {:<10}{place:<10}{}\n", set.name, set.rows, set.outcome, set.about)
    };
    let head = format!("{:<16}{:>8}  {:<10}{:<10}{}\n", "name", "rows", "outcome", "where", "about");
    head + &SETS.iter().map(line).collect::<String>()
}

fn object(set: &Set) -> serde_json::Value {
    let fetch = match &set.rows_from {
        KnownRows::Bundled(_) => None,
        KnownRows::Fetched { by_hand, .. } => Some(in_flags(by_hand)),
    };
    serde_json::json!({
        "name": set.name, "about": set.about, "rows": set.rows, "outcome": set.outcome, "sha256": set.sha256,
        "licence": set.licence, "citation": set.citation, "address": set.address, "bundled": set.is_bundled(),
        "fetch": fetch,
    })
}

/// What a data set or a file holds; a file is read and checked against its schema.
pub(crate) fn show(source: &str, schema: Option<&Path>, json: bool) -> Result<String, Failure> {
    let set = if source.starts_with("csv:") { None } else { Some(known(source)?) };
    let here = terminal::folders(Path::new(""));
    let is_here = set.is_none_or(|set| is_here(set, &here));
    let table = if is_here { Some(open(source, schema, &here)?.read(false, &[])?) } else { None };
    Ok(if json { shown_object(source, set, table.as_ref()) } else { shown_text(source, set, table.as_ref()) })
}

fn shown_object(source: &str, set: Option<&Set>, table: Option<&Encoded>) -> String {
    let mut shown = set.map_or_else(|| serde_json::json!({ "name": source }), object);
    shown["available"] = table.is_some().into();
    if let Some(table) = table {
        shown["rows_used"] = table.rows.len().into();
        shown["inputs"] = table.inputs.clone().into();
    }
    format!("{shown}\n")
}

fn shown_text(source: &str, set: Option<&Set>, table: Option<&Encoded>) -> String {
    let mut lines = vec![("source", source.to_owned())];
    if let Some(set) = set {
        lines.push(("about", set.about.to_owned()));
        lines.push(("outcome", set.outcome.to_owned()));
        lines.push(("rows", set.rows.to_string()));
        lines.push(("licence", set.licence.to_owned()));
        lines.push(("cite", set.citation.to_owned()));
        lines.push(("address", set.address.to_owned()));
        lines.push(("sha256", set.sha256.to_owned()));
    }
    match (table, set.map(|set| &set.rows_from)) {
        (Some(table), _) => {
            lines.push(("rows used", table.rows.len().to_string()));
            lines.push(("inputs", format!("{}: {}", table.inputs.len(), table.inputs.join(", "))));
        }
        (None, Some(KnownRows::Fetched { by_hand, .. })) => lines.push(("to fetch", in_flags(by_hand))),
        (None, _) => {}
    }
    lines.iter().map(|(label, text)| format!("{label:<12}{text}\n")).collect()
}

/// Gets a data set, checks it and stores it.
pub(crate) fn fetch(name: &str, from: Option<&Path>, to: Option<&Path>, json: bool) -> Result<String, Failure> {
    let Fetched { set, path, sha256, verified } = datasets::fetch(name, from, to, &terminal::folders(Path::new("")))?;
    if json {
        let shown = serde_json::json!({
            "name": set.name, "path": path, "rows": set.rows, "sha256": sha256, "verified": verified,
            "bundled": set.is_bundled(),
        });
        return Ok(format!("{shown}\n"));
    }
    let sure = if verified {
        "its text has the expected SHA-256"
    } else {
        "number of rows and all cells are as expected; its publisher names no SHA-256, so keep this one"
    };
    let mut lines = Vec::new();
    if set.is_bundled() {
        lines.push(("bundled", format!("{0} is in the program: a study names it as source = \"{0}\"", set.name)));
    }
    lines.extend(path.map(|path| ("stored", path.display().to_string())));
    lines.extend([("rows", set.rows.to_string()), ("sha256", sha256), ("checked", sure.to_owned())]);
    Ok(lines.iter().map(|(label, text)| format!("{label:<12}{text}\n")).collect())
}
