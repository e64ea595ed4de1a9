//! What exactly was promised, in one sentence for each method.

use super::page::{paragraph, section as titled};
use super::standing::Standing;
use crate::digits::{down, shortest};
use crate::svg::escape;
use inference::results::PrivacyResult;

/// A sentence for each method that promises something, and the names of those that do not.
pub(crate) fn section(standing: &Standing) -> String {
    let mut body = String::new();
    for placed in standing.methods() {
        if let Some(privacy) = &placed.method.privacy {
            let (name, sentence, terms) = (escape(&placed.method.name), escape(&privacy.promise), terms(privacy));
            body += &format!("<dt>{name}</dt>\n<dd>{sentence}<span class=\"terms\">{}</span></dd>\n", escape(&terms));
        }
    }
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
        down(privacy.noise_multiplier),
        shortest(privacy.clip),
        privacy.accountant
    )
}

/// Names with commas and an "and".
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
