//! The top of the report: what was studied, what came out in plain words, and what to be warned of.

use super::differences;
use super::effects;
use super::numbers::{bound, count, fixed};
use super::page::{note, paragraph};
use super::promise::without_name;
use super::protection::Protection;
use super::scores::{self, in_text};
use super::standing::{Placed, Standing, spent};
use super::warnings;
use crate::svg::escape;
use inference::comparison::behind_constant;
use inference::results::PrivacyResult;
use inference::score::{MAIN, ScoreUnit};
use study::digits::shortest;

/// What results of a simulation are not. A served run has no such results: it has no held-out rows.
pub(super) const SIMULATION: &str = "This is a simulation: its noise follows from a published seed, so these results protect \
     nobody. The same study, served to sites, would protect their rows as stated.";

/// Name of the intercept among the inputs.
const INTERCEPT: &str = "intercept";

/// Title, paragraph, tiles and warnings.
pub(crate) fn section(standing: &Standing) -> String {
    let results = standing.results;
    format!(
        "<header>\n<p class=\"kind\">Study</p>\n<h1>{}</h1>\n<p class=\"facts\">{}</p>\n{}</header>\n{}{}",
        escape(&results.study),
        escape(&facts(standing)),
        opening(standing) + &simulated(standing),
        warnings::section(standing),
        tiles(standing)
    )
}

/// What was found in plain words, then how methods compare and what they promise.
fn opening(standing: &Standing) -> String {
    let plain = effects::plain(standing).map(|words| paragraph(&words)).unwrap_or_default();
    plain + &protected(standing).map(|words| paragraph(&words)).unwrap_or_default() + &paragraph(&words(standing))
}

/// What the best private method would promise, for a reader who knows nothing of privacy; none without one.
fn protected(standing: &Standing) -> Option<String> {
    let privacy = standing.best()?.method.privacy.as_ref()?;
    let protection = Protection {
        unit: &privacy.unit,
        adjacency: &privacy.adjacency,
        epsilon: privacy.epsilon,
        delta: privacy.delta,
        client: "all rows of a site",
    };
    Some(format!(
        "In a real study noise would protect {}: {}, {}.",
        protection.whom(),
        protection.difference(),
        protection.effect("nothing that is published")
    ))
}

/// The line that says what these results are not, where a method promises something.
fn simulated(standing: &Standing) -> String {
    let made_up = standing.results.data.made_up.as_deref().map(note).unwrap_or_default();
    if standing.private() { made_up + &note(SIMULATION) } else { made_up }
}

/// Data and seeds in one line.
fn facts(standing: &Standing) -> String {
    let data = &standing.results.data;
    let many = |number: usize, one: &str, more: &str| {
        format!("{} {}", count(number as f64), if number == 1 { one } else { more })
    };
    let persons = data.persons().map(|persons| format!(" of {}", many(persons, "person", "persons")));
    let outcome = data.outcome.as_ref().map(|outcome| format!("outcome: {outcome}"));
    let [first, rest @ ..] = [
        data.source.clone(),
        many(data.clients.len(), "site", "sites"),
        many(data.train_rows, "training row", "training rows") + &persons.unwrap_or_default(),
        format!("{} held out", count(data.test_rows as f64)),
        inputs(&data.inputs),
        many(standing.seeds(), "seed", "seeds"),
    ];
    std::iter::once(first).chain(outcome).chain(rest).collect::<Vec<_>>().join(" · ")
}

/// How many inputs there are; the intercept, which stands last, is not one.
fn inputs(names: &[String]) -> String {
    let (many, and) = match names.split_last() {
        Some((last, others)) if last == INTERCEPT => (others.len(), " and the intercept"),
        _ => (names.len(), ""),
    };
    format!("{} input{}{and}", count(many as f64), if many == 1 { "" } else { "s" })
}

/// The paragraph.
pub(crate) fn words(standing: &Standing) -> String {
    let mut words = match standing.best() {
        Some(best) => praise(standing, best),
        None => nothing_is_best(standing),
    };
    if standing.best().is_none() {
        for other in [standing.open(), standing.alone()].into_iter().flatten() {
            words += &format!(" {} reaches {}.", sentence(&other.method.name), level(other));
        }
    }
    match standing.seeds() {
        0 => words += " Nothing was scored.",
        1 => words += " One seed was run, so how much another run would differ is not known.",
        seeds => words += &format!(" All numbers are means over {seeds} seeds, on rows held out from training."),
    }
    words
}

/// Why no private method is marked.
fn nothing_is_best(standing: &Standing) -> String {
    let behind =
        |m: &Placed| m.method.privacy.is_some() && behind_constant(&standing.results.methods, m.number).is_some();
    match standing.constant().filter(|_| standing.methods().any(|m| behind(&m))) {
        Some(constant) => format!(
            "No private method is better than {}, which uses no input: {}.",
            constant.method.name,
            level(constant)
        ),
        None if standing.private() => "No private method has a score that could be compared.".into(),
        None => "No method of this study promises privacy.".into(),
    }
}

/// The best private method, and its differences to the baselines.
fn praise(standing: &Standing, best: Placed) -> String {
    let promised = best.method.privacy.as_ref().map(promised).unwrap_or_default();
    let whatever = if standing.best_of_each().len() > 1 { ", whatever its ε," } else { "" };
    let mut words = format!(
        "The best private method by held-out {}{whatever} is {}: {}, {promised}.",
        MAIN.label,
        best.method.name,
        level(best)
    );
    if let Some(differences) = differences::sentence(standing, best) {
        words += &format!(" {differences}");
    }
    for (epsilon, other) in standing.best_of_each().into_iter().filter(|(_, other)| other.number != best.number) {
        words += &format!(" At ε = {} the best is {}: {}.", shortest(epsilon), other.method.name, level(other));
    }
    if differ(standing) {
        words += " The private methods do not all promise the same; read the promises before comparing scores.";
    }
    words
}

/// A name at the beginning of a sentence.
pub(super) fn sentence(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// What is promised, in half a sentence.
fn promised(privacy: &PrivacyResult) -> String {
    let protected = match privacy.unit.as_str() {
        "client" => "all rows of a site",
        "person" => "every person with all their rows",
        _ => "every single row",
    };
    let trusted = match privacy.aggregator.as_str() {
        "curator" => ", provided that the aggregator can be trusted",
        "secure-sum" => {
            ", provided that one of the compute nodes is honest and no more clients collude than the study bears"
        }
        _ => "",
    };
    let (epsilon, delta) = (shortest(privacy.epsilon), shortest(privacy.delta));
    format!("while {protected} would be protected with ε = {epsilon} at δ = {delta}{trusted}")
}

/// How good a method is: its main score, and beside it what people know best.
fn level(placed: Placed) -> String {
    let value = fixed(placed.method.main_score(), MAIN.digits.text);
    let main = format!("a {} of {value}{}", MAIN.label, scores::behind(MAIN));
    match placed.method.scores.familiar() {
        Some((score, summary)) => format!("{main} ({})", scores::phrase(score, summary.mean)),
        None => main,
    }
}

/// True if private methods grant different things or trust different parties.
fn differ(standing: &Standing) -> bool {
    let mut promises = standing
        .methods()
        .filter_map(|m| Some((m.method.name.as_str(), m.method.privacy.as_ref()?)))
        .map(|(name, p)| (p.epsilon.to_bits(), p.delta.to_bits(), &p.unit, &p.adjacency, without_name(name, p)));
    let first = promises.next();
    promises.any(|other| Some(other) != first)
}

/// The three or four numbers to remember.
fn tiles(standing: &Standing) -> String {
    let mut tiles = String::new();
    let labels = [
        (standing.best(), standing.best_label(), "best"),
        (standing.open(), "non-private".to_owned(), ""),
        (standing.alone(), "each site alone".to_owned(), ""),
    ];
    for (placed, label, class) in labels {
        let Some(Placed { method, .. }) = placed else { continue };
        let main = method.scores.main().map(|summary| in_text(MAIN, summary)).unwrap_or_default();
        let of = if method.name == label { String::new() } else { format!(", of {}", method.name) };
        let [value, first, second] = match method.scores.familiar() {
            Some((score, summary)) => {
                let sign = if score.unit == ScoreUnit::Share { scores::behind(score) } else { String::new() };
                let beside = format!("{} {main}{}", MAIN.label, scores::behind(MAIN));
                [in_text(score, summary) + &sign, format!("{}{of}", score.label), beside]
            }
            None => [main, format!("{}{of}", scores::axis(MAIN)), String::new()],
        };
        tiles += &tile(class, &label, &value, &first, &second);
    }
    if let Some(privacy) = standing.best().and_then(|best| best.method.privacy.as_ref()) {
        let value = spent(privacy).map_or_else(|| shortest(privacy.epsilon), |(certified, _)| bound(certified));
        let granted = format!("granted ε = {}, δ = {}", shortest(privacy.epsilon), shortest(privacy.delta));
        tiles += &tile("", "ε spent, certified", &value, "at the site that spent most", &granted);
    }
    format!("<div class=\"tiles\">\n{tiles}</div>\n")
}

fn tile(class: &str, label: &str, value: &str, first: &str, second: &str) -> String {
    let class = format!("tile {class}");
    format!(
        "<div class=\"{}\"><span class=\"label\">{}</span><strong>{}</strong><span>{}</span><span>{}</span></div>\n",
        class.trim_end(),
        escape(label),
        escape(value),
        escape(first),
        escape(second)
    )
}
