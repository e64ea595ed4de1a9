//! The reference of the study language, made from keys and the registry: a page of the book, held equal to it by a test.

use crate::curves::CURVES_KEYS;
use crate::histogram::HISTOGRAM_KEYS;
use crate::json_schema::sentence;
use inference::describe::{EntrySummary, Key, Limits, Otherwise, Registered, Registry, ValueKind};
use std::fmt::Write;

/// The kinds of study that learn nothing: title, a sentence, keys.
const OTHER_KINDS: [(&str, &str, &[Key]); 2] = [
    (
        "Histograms",
        "A file with `[histogram]` asks users for answers through a shuffler. It has these keys only.",
        HISTOGRAM_KEYS,
    ),
    ("Accounting figures", "A file with `[[curves]]` draws costs of plans. It has these keys only.", CURVES_KEYS),
];

/// The page: every table of a study, then every algorithm, solver, sampler, rule and model, then the other kinds of study.
pub fn page(study: &[Key], registry: &Registry) -> String {
    let mut text = String::from(
        "# Keys of a study\n\nThis page is generated from the program (`posterity schema study --markdown`); do not edit it.\n\n",
    );
    section(&mut text, "The file", study);
    nested(&mut text, "###", "", study);
    let kinds = [
        (Registered::Algorithm, "Algorithms", "`algorithm = …` of a `[[method]]`."),
        (Registered::Solver, "Solvers", "`solver = …` of `pvi` and `committee`."),
        (Registered::Sampler, "Samplers", "`sampler = …` in `chain`."),
        (Registered::Rule, "Rules of sufficient statistics", "`rule = …` in `statistics`."),
        (Registered::Model, "Models", "`kind = …` of `[model]`."),
    ];
    for (kind, title, about) in kinds {
        let _ = write!(text, "## {title}\n\n{about}\n\n");
        for entry in registry.of(kind) {
            described(&mut text, &entry.summary());
        }
    }
    for (title, about, keys) in OTHER_KINDS {
        let _ = write!(text, "## {title}\n\n{about}\n\n");
        rows(&mut text, keys);
        nested(&mut text, "###", "", keys);
    }
    text.trim_end().to_owned() + "\n"
}

fn described(text: &mut String, of: &EntrySummary) {
    let _ = write!(text, "### `{}`\n\n{}\n\n", of.name, of.about);
    if !of.also.is_empty() {
        let others: Vec<String> = of.also.iter().map(|name| format!("`{name}`")).collect();
        let _ = write!(text, "Also known as {}.\n\n", others.join(", "));
    }
    for limit in limits(&of.limits) {
        let _ = writeln!(text, "- {limit}");
    }
    if !limits(&of.limits).is_empty() {
        text.push('\n');
    }
    if !of.keys.is_empty() {
        rows(text, of.keys);
    }
    nested(text, "####", "", of.keys);
}

/// What does not go, and why.
fn limits(of: &Limits) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |what: &str, words: Vec<&'static str>, because: &str| {
        if !because.is_empty() {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            found.push(format!("{what}: {} only ({because}).", words.join(", ")));
        }
    };
    add("covariance", of.covariances.values.iter().map(|value| value.word()).collect(), of.covariances.because);
    add("schedule", of.schedules.values.iter().map(|value| value.word()).collect(), of.schedules.because);
    let own = &of.own_numbers;
    add("privacy.sites", own.values.iter().map(|value| value.word()).collect(), own.because);
    add("aggregator", of.trust.values.iter().map(|value| value.word()).collect(), of.trust.because);
    found.extend(of.needs.iter().map(|need| format!("The model must have {}.", need.offer.words())));
    found
}

fn section(text: &mut String, title: &str, keys: &[Key]) {
    let _ = write!(text, "## {title}\n\n");
    rows(text, keys);
}

/// Tables inside a table, each with a heading of its own.
fn nested(text: &mut String, level: &str, at: &str, keys: &[Key]) {
    for key in keys {
        let path = if at.is_empty() { key.name.to_owned() } else { format!("{at}.{}", key.name) };
        for inner in tables(&key.kind) {
            let _ = write!(text, "{level} `{path}`\n\n{}.\n\n", sentence(key.about));
            rows(text, inner);
            nested(text, level, &path, inner);
        }
    }
}

/// The tables that may stand as a value.
fn tables(kind: &ValueKind) -> Vec<&'static [Key]> {
    match kind {
        ValueKind::Table(keys) | ValueKind::Tables(keys) | ValueKind::Map(ValueKind::Table(keys)) => vec![*keys],
        ValueKind::Either(kinds) => kinds.iter().flat_map(tables).collect(),
        _ => Vec::new(),
    }
}

fn rows(text: &mut String, keys: &[Key]) {
    text.push_str("| key | meaning | values | default | example |\n|---|---|---|---|---|\n");
    for key in keys.iter().filter(|key| !key.is_refused()) {
        let values = match &key.kind {
            ValueKind::Table(_) => "a table, see below".to_owned(),
            ValueKind::Tables(_) => "a list of tables, see below".to_owned(),
            kind => kind.expected().replace('|', "\\|"),
        };
        let otherwise = match key.otherwise {
            Otherwise::Required => "**required**".to_owned(),
            other => other.words(),
        };
        let _ = writeln!(text, "| `{}` | {} | {values} | {otherwise} | `{}` |", key.name, key.about, key.example);
    }
    text.push('\n');
}
