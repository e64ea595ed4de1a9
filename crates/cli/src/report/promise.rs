//! What exactly was promised, in one sentence for each method.

use super::page::{paragraph, section as titled};
use super::standing::{Placed, Standing};
use crate::digits::{down, shortest};
use crate::svg::escape;
use inference::results::PrivacyResult;

/// A sentence for each method that promises something, and the names of those that do not.
pub(crate) fn section(standing: &Standing) -> String {
    let mut body: String = grouped(standing).iter().map(|(promise, methods)| group(promise, methods)).collect();
    if !body.is_empty() {
        body = format!("<dl class=\"promises\">\n{body}</dl>\n");
    }
    let open: Vec<&str> =
        standing.methods().filter(|m| m.method.privacy.is_none()).map(|m| m.method.name.as_str()).collect();
    match (open.is_empty(), body.is_empty()) {
        (false, true) => {
            body = paragraph("Nothing: no method of this study adds noise, and every message may tell about rows.")
        }
        (false, false) => body += &paragraph(&format!("Nothing is promised by {}.", listed(&open))),
        (true, _) => {}
    }
    titled("promise", "What exactly was promised", &body)
}

/// Methods that promise the same in the same words, in the order of their first.
fn grouped<'a>(standing: &Standing<'a>) -> Vec<(&'a str, Vec<Placed<'a>>)> {
    let mut groups: Vec<(&str, Vec<Placed>)> = Vec::new();
    for placed in standing.methods() {
        let Some(privacy) = &placed.method.privacy else { continue };
        match groups.iter_mut().find(|(promise, _)| *promise == privacy.promise) {
            Some((_, methods)) => methods.push(placed),
            None => groups.push((&privacy.promise, vec![placed])),
        }
    }
    groups
}

/// The sentence, and the terms of every method behind it.
fn group(promise: &str, methods: &[Placed]) -> String {
    let names: Vec<&str> = methods.iter().map(|m| m.method.name.as_str()).collect();
    let line = |m: &Placed| {
        let terms = m.method.privacy.as_ref().map(terms).unwrap_or_default();
        let name = if methods.len() > 1 { format!("{}: ", m.method.name) } else { String::new() };
        format!("<span class=\"terms\">{}</span>", escape(&(name + &terms)))
    };
    let terms: String = methods.iter().map(line).collect();
    format!("<dt>{}</dt>\n<dd>{}{terms}</dd>\n", escape(&listed(&names)), escape(promise))
}

/// The terms behind the sentence.
fn terms(privacy: &PrivacyResult) -> String {
    let aggregator = match privacy.aggregator.as_str() {
        "none" => "nobody is trusted".into(),
        "curator" => "one aggregator is trusted".into(),
        "shares" => "sums are trusted, single sites' messages stay hidden".into(),
        other => format!("aggregator: {other}"),
    };
    format!(
        "unit: {} · neighbours: {} · ε = {} · δ = {} · {aggregator} · noise multiplier {} · clipping bound {} · accountant: {}",
        privacy.unit,
        privacy.adjacency,
        shortest(privacy.epsilon),
        shortest(privacy.delta),
        tidy(privacy.noise_multiplier),
        tidy(privacy.clip),
        privacy.accountant
    )
}

/// A number as it was given, or cut where it is long.
fn tidy(value: f64) -> String {
    let given = shortest(value);
    if given.len() <= 7 { given } else { down(value) }
}

/// Names with commas and an "and".
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
