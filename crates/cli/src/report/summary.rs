//! The top of the report: what was studied, what came out in plain words, and what to be warned of.

use super::numbers::{bound, count, fixed, percent, points, spread};
use super::page::paragraph;
use super::promise::without_name;
use super::standing::{Placed, Standing, score, spent};
use federation::digits::shortest;
use federation::svg::escape;
use inference::results::PrivacyResult;

/// Title, paragraph, tiles and warnings.
pub(crate) fn section(standing: &Standing) -> String {
    let results = standing.results;
    format!(
        "<header>\n<p class=\"kind\">Study</p>\n<h1>{}</h1>\n<p class=\"facts\">{}</p>\n{}</header>\n{}{}",
        escape(&results.study),
        escape(&facts(standing)),
        paragraph(&words(standing)),
        warnings(standing),
        tiles(standing)
    )
}

/// Data and seeds in one line.
fn facts(standing: &Standing) -> String {
    let data = &standing.results.data;
    let many = |number: usize, one: &str, more: &str| {
        format!("{} {}", count(number as f64), if number == 1 { one } else { more })
    };
    [
        data.source.clone(),
        many(data.clients.len(), "site", "sites"),
        many(data.train_rows, "training row", "training rows"),
        format!("{} held out", count(data.test_rows as f64)),
        many(data.inputs.len(), "input", "inputs"),
        many(standing.seeds(), "seed", "seeds"),
    ]
    .join(" · ")
}

/// The paragraph.
pub(crate) fn words(standing: &Standing) -> String {
    let mut words = match standing.best() {
        Some(best) => praise(standing, best),
        None if standing.private() => "No private method has a score that could be compared.".into(),
        None => "No method of this study promises privacy.".into(),
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

/// The best private method, what it costs against no privacy, and what it gains over sites alone.
fn praise(standing: &Standing, best: Placed) -> String {
    let promised = best.method.privacy.as_ref().map(promised).unwrap_or_default();
    let whatever = if standing.best_of_each().len() > 1 { ", whatever its ε," } else { "" };
    let mut words = format!("The best private method{whatever} is {}: {}, {promised}.", best.method.name, level(best));
    let compare = |other: Placed, whose: &str| format!("{} {whose} ({})", compared(best, other), level(other));
    let scored = |other: &Placed| score(other.method).is_finite();
    let open = standing.open().filter(scored).map(|other| compare(other, "what is reached without any privacy"));
    let alone = standing.alone().filter(scored).map(|other| compare(other, "what sites reach alone"));
    let both: Vec<String> = [open, alone].into_iter().flatten().collect();
    if !both.is_empty() {
        words += &format!(" That is {}.", both.join(", and "));
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
    let protected = if privacy.unit == "client" { "all rows of a site are" } else { "every single row is" };
    let trusted = match privacy.aggregator.as_str() {
        "curator" => ", provided that the aggregator can be trusted",
        "secure-sum" => {
            ", provided that one of the compute nodes is honest and no more clients collude than the study bears"
        }
        _ => "",
    };
    let (epsilon, delta) = (shortest(privacy.epsilon), shortest(privacy.delta));
    format!("while {protected} protected with ε = {epsilon} at δ = {delta}{trusted}")
}

/// How good a method is, in its main score.
fn level(placed: Placed) -> String {
    match (&placed.method.accuracy, &placed.method.absolute_error) {
        (Some(accuracy), _) => format!("{} accuracy", percent(accuracy.mean)),
        (None, Some(error)) => format!("a mean absolute error of {}", fixed(error.mean, 3)),
        (None, None) => format!("a log-likelihood of {} nats per row", fixed(placed.method.log_likelihood.mean, 3)),
    }
}

/// One method against another, in words.
fn compared(one: Placed, other: Placed) -> String {
    let (one, other) = (one.method, other.method);
    if let (Some(a), Some(b)) = (&one.accuracy, &other.accuracy) {
        return aside(a.mean - b.mean, &points(a.mean - b.mean), "above", "below");
    }
    if let (Some(a), Some(b)) = (&one.absolute_error, &other.absolute_error) {
        return aside(a.mean - b.mean, &fixed((a.mean - b.mean).abs(), 3), "more error than", "less error than");
    }
    let change = one.log_likelihood.mean - other.log_likelihood.mean;
    aside(change, &format!("{} nats", fixed(change.abs(), 3)), "above", "below")
}

/// A difference, shown as `size`, with its direction; one that is shown as zeros is none.
fn aside(change: f64, size: &str, over: &str, under: &str) -> String {
    if !size.contains(|letter| matches!(letter, '1'..='9')) {
        return "the same as".into();
    }
    format!("{size} {}", if change > 0.0 { over } else { under })
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
        let (value, unit) = match (&method.accuracy, &method.absolute_error) {
            (Some(accuracy), _) => (format!("{} %", spread(accuracy, 100.0, 1)), "accuracy"),
            (None, Some(error)) => (spread(error, 1.0, 3), "mean absolute error"),
            (None, None) => (spread(&method.log_likelihood, 1.0, 3), "log-likelihood"),
        };
        let name = if method.name == label { unit.to_owned() } else { format!("{unit} of {}", method.name) };
        let likelihood = format!("log-likelihood {}", fixed(method.log_likelihood.mean, 3));
        tiles += &tile(class, &label, &value, &name, &likelihood);
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

/// Warnings of all methods, those about a broken promise first; nothing without any.
fn warnings(standing: &Standing) -> String {
    let broken = standing.methods().filter_map(|m| Some((m, overspent(m.method.privacy.as_ref()?)?)));
    let told = standing.methods().flat_map(|m| m.method.warnings.iter().map(move |words| (m, words.clone())));
    let items: String = broken
        .chain(told)
        .map(|(m, words)| format!("<li><b>{}</b>: {}</li>\n", escape(&m.method.name), escape(&words)))
        .collect();
    if items.is_empty() {
        return String::new();
    }
    format!("<aside class=\"warnings\" role=\"note\">\n<h2>Warnings</h2>\n<ul>\n{items}</ul>\n</aside>\n")
}

/// A client whose certified ε is over what was granted.
fn overspent(privacy: &PrivacyResult) -> Option<String> {
    let over: Vec<_> = privacy.clients.iter().filter(|c| c.certified > privacy.epsilon).collect();
    let first = over.first()?;
    Some(format!(
        "The promise is not certified for {} of {} sites: {} may have spent ε = {}, granted were {}.",
        over.len(),
        privacy.clients.len(),
        first.name,
        bound(first.certified),
        shortest(privacy.epsilon)
    ))
}
