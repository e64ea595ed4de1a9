//! What exactly was promised, in one sentence for each method.

use super::page::{paragraph, section as titled};
use super::standing::{Placed, Standing};
use crate::svg::escape;
use inference::results::{ClientSpending, OUTSIDE_EPSILON, PrivacyResult};
use study::digits::{down, shortest};
use study::words;

/// A sentence for each method that promises something, and the names of those that do not.
pub(crate) fn section(standing: &Standing) -> String {
    let mut body: String = grouped(standing).iter().map(|(privacy, methods)| group(privacy, methods)).collect();
    if !body.is_empty() {
        body = format!("<dl class=\"promises\">\n{body}</dl>\n");
    }
    let open: Vec<&str> =
        standing.methods().filter(|m| m.method.privacy.is_none()).map(|m| m.method.name.as_str()).collect();
    match (open.is_empty(), body.is_empty()) {
        (false, true) => {
            body = paragraph("Nothing: no method of this study adds noise, and every message may tell about rows.")
        }
        (false, false) => body += &paragraph(&format!("No privacy guarantee: {}.", listed(&open))),
        (true, _) => {}
    }
    if standing.private() {
        body += &paragraph(OUTSIDE_EPSILON);
    }
    titled("promise", "What exactly was promised", &body)
}

/// Methods that promise the same in the same words on the same terms, in the order of their first.
fn grouped<'a>(standing: &Standing<'a>) -> Vec<(&'a PrivacyResult, Vec<Placed<'a>>)> {
    let mut groups: Vec<(&PrivacyResult, Vec<Placed>)> = Vec::new();
    for placed in standing.methods() {
        let Some(privacy) = &placed.method.privacy else { continue };
        let same = |(other, methods): &(&PrivacyResult, Vec<Placed>)| {
            let first = methods.first().map_or("", |first| first.method.name.as_str());
            without_name(first, other) == without_name(&placed.method.name, privacy) && terms(other) == terms(privacy)
        };
        match groups.iter_mut().find(|group| same(group)) {
            Some((_, methods)) => methods.push(placed),
            None => groups.push((privacy, vec![placed])),
        }
    }
    groups
}

/// What was promised, without the name of who promised it.
pub(super) fn without_name<'a>(name: &str, privacy: &'a PrivacyResult) -> &'a str {
    let rest = privacy.promise.strip_prefix(name).and_then(|rest| rest.strip_prefix(" promises "));
    rest.unwrap_or(&privacy.promise)
}

/// The sentence, its terms, and the noise of every method that keeps it.
fn group(privacy: &PrivacyResult, methods: &[Placed]) -> String {
    let names: Vec<&str> = methods.iter().map(|m| m.method.name.as_str()).collect();
    let line = |m: &Placed| {
        let kept = m.method.privacy.as_ref().map(kept).unwrap_or_default();
        format!("<li>{}: {}</li>", escape(&m.method.name), escape(&kept))
    };
    let lines = match methods {
        [_] => format!("<span class=\"terms\">{}</span>", escape(&kept(privacy))),
        several => format!("<ul class=\"terms\">{}</ul>", several.iter().map(line).collect::<String>()),
    };
    let sentence = without_name(names.first().unwrap_or(&""), privacy);
    let sentence = if sentence == privacy.promise { sentence.to_owned() } else { format!("Promised: {sentence}") };
    format!(
        "<dt>{}</dt>\n<dd>{}<span class=\"terms\">{}</span>{lines}{}</dd>\n",
        escape(&listed(&names)),
        escape(&sentence),
        escape(&terms(privacy)),
        of_sites(privacy)
    )
}

/// What every site promises for itself, and what rows at several of them add up to; nothing where all promise the same.
fn of_sites(privacy: &PrivacyResult) -> String {
    let own = |client: &ClientSpending| {
        let own = client.own.as_ref()?;
        let (epsilon, delta) = (tidy(own.epsilon), shortest(client.delta));
        let (clip, noise) = (tidy(own.clip), tidy(own.noise_multiplier));
        Some(format!("{}: ε = {epsilon} at δ = {delta}, clip {clip}, noise multiplier {noise}", client.name))
    };
    let sites = privacy.clients.iter().filter_map(own);
    let lines =
        sites.chain(words::several_sites(&privacy.several_sites)).map(|line| format!("<li>{}</li>", escape(&line)));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("<ul class=\"terms\">{lines}</ul>") }
}

/// The terms behind the sentence.
fn terms(privacy: &PrivacyResult) -> String {
    let aggregator = match privacy.aggregator.as_str() {
        "none" => "no aggregator is trusted".into(),
        "curator" => "one aggregator is trusted".into(),
        "secure-sum" => "one honest compute node is enough, and only noised sums are opened".into(),
        other => format!("aggregator: {other}"),
    };
    let (epsilon, delta) = (shortest(privacy.epsilon), shortest(privacy.delta));
    let (unit, adjacency) = (&privacy.unit, &privacy.adjacency);
    format!("unit: {unit} · neighbours: {adjacency} · ε = {epsilon} · δ = {delta} · {aggregator}")
}

/// What keeps the promise.
fn kept(privacy: &PrivacyResult) -> String {
    let noise = tidy(privacy.noise_multiplier);
    let bound = match privacy.bounded.as_str() {
        "" => format!("clipping bound {}", tidy(privacy.clip)),
        words => words.to_owned(),
    };
    format!("noise multiplier {noise}, {bound}, accountant {}", privacy.accountant)
}

/// A number as it was given, or cut where it is long.
fn tidy(value: f64) -> String {
    let given = shortest(value);
    if given.len() <= 7 { given } else { down(value) }
}

/// Names with commas and an "and".
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => {
            let between = if names.iter().any(|name| name.contains(',')) { "; " } else { ", " };
            format!("{} and {last}", first.join(between))
        }
    }
}
