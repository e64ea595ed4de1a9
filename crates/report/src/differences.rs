//! What each method gains on the baselines: differences paired over seeds, as a table of the page, of the terminal, and in words.

use super::numbers::{NOTHING, fixed};
use super::page::{Table, note};
use super::scores;
use super::standing::{Placed, Standing};
use crate::svg::escape;
use inference::comparison::{BASELINES, Comparison, Difference, comparisons};
use inference::score::{Better, MAIN, Score, ScoreUnit};
use std::borrow::Cow;

/// Digits after the point.
const PLACES: usize = 4;

/// What is said of a difference under two standard errors.
const UNSEEN: &str = "no difference can be seen";

/// What is said where there is one seed.
pub(super) const ONE_SEED: &str = "a standard error needs two seeds";

/// The comparisons of one method, by the order of [`BASELINES`].
fn beside(standing: &Standing, placed: Placed) -> Vec<Comparison> {
    comparisons(&standing.results.methods, placed.number)
}

/// Methods that are compared: all but the baselines themselves, where anything can be compared with them.
fn rows<'a>(standing: &Standing<'a>) -> Vec<(Placed<'a>, Vec<Comparison>)> {
    let methods = standing.methods().filter(|m| !standing.reference(m.number));
    methods.map(|m| (m, beside(standing, m))).filter(|(_, compared)| !compared.is_empty()).collect()
}

/// The baselines that some method is compared with, with their names.
fn columns<'a>(rows: &'a [(Placed<'_>, Vec<Comparison>)]) -> Vec<(&'static str, &'a str)> {
    let named = |baseline: &'static str| {
        let found = rows.iter().flat_map(|(_, compared)| compared).find(|c| c.baseline == baseline)?;
        Some((baseline, found.to.as_str()))
    };
    BASELINES.into_iter().filter_map(named).collect()
}

/// The difference to one baseline in one score.
fn at(compared: &[Comparison], baseline: &str, score: &Score) -> Option<Difference> {
    compared.iter().find(|c| c.baseline == baseline)?.differences.get(score.name).copied()
}

/// The scores in which methods are compared, the main one first.
fn compared_in(rows: &[(Placed<'_>, Vec<Comparison>)]) -> Vec<&'static Score> {
    let mut found = vec![MAIN];
    for (score, _) in rows.iter().flat_map(|(_, compared)| compared).flat_map(|c| c.differences.iter()) {
        if !found.contains(&score) {
            found.push(score);
        }
    }
    found
}

/// What stands over the table of a score.
fn caption(score: &Score) -> String {
    let unit = match score.unit {
        ScoreUnit::Nats => scores::behind(score),
        ScoreUnit::Share | ScoreUnit::Outcome | ScoreUnit::Plain => String::new(),
    };
    let unit = if unit.is_empty() { unit } else { format!(", in{unit}") };
    let better = match score.better {
        Better::Higher => ": above 0 is better",
        Better::Lower => ": under 0 is better",
        Better::Near(_) => "",
    };
    format!("{} less that of the baselines{unit}{better}", scores::capital(score))
}

/// The tables of the page; nothing where nothing can be compared.
pub(super) fn tables(standing: &Standing) -> String {
    let rows = rows(standing);
    if rows.is_empty() {
        return String::new();
    }
    let html: String = compared_in(&rows).into_iter().map(|score| table(&rows, score)).collect();
    let seeds = standing.seeds();
    html + &note(&match seeds {
        0 | 1 => format!("One seed was run: {ONE_SEED}, so nothing says how far these differences would vary."),
        _ => format!(
            "Mean over {seeds} seeds ± its standard error. Differences are paired: both methods of a difference see the same \
             rows in a seed. Under two standard errors {UNSEEN}."
        ),
    })
}

fn table(rows: &[(Placed<'_>, Vec<Comparison>)], score: &Score) -> String {
    let columns = columns(rows);
    let names = columns.iter().map(|(_, name)| escape(&format!("less {name}")));
    let mut table = Table::new(&caption(score), ["method".to_owned()].into_iter().chain(names).collect());
    for (placed, compared) in rows {
        let name = format!("{} <span class=\"name\">{}</span>", placed.mark.swatch(), escape(&placed.method.name));
        let cells = columns.iter().map(|(baseline, _)| at(compared, baseline, score).map_or(NOTHING.into(), html_cell));
        table.push("", [name].into_iter().chain(cells).collect());
    }
    table.html()
}

pub(super) fn html_cell(difference: Difference) -> String {
    let error = difference.standard_error.map(|error| format!("<span class=\"sd\">± {}</span>", fixed(error, PLACES)));
    let unseen = (difference.seen == Some(false)).then(|| format!("<span class=\"how\">{UNSEEN}</span>"));
    format!("{}{}{}", signed(difference.mean), error.unwrap_or_default(), unseen.unwrap_or_default())
}

/// A column of the terminal's table: its heading, and a cell for each method.
pub(super) type DifferenceColumn = (Cow<'static, str>, Vec<String>);

/// Names and cells of the terminal's table, the baselines as headings; none where nothing can be compared.
pub(super) fn cells(standing: &Standing) -> Option<(Vec<String>, Vec<DifferenceColumn>)> {
    let rows = rows(standing);
    let heading = |baseline: &str| match baseline {
        "non-private" => "less non-private",
        "local-only" => "less local only",
        _ => "less constant",
    };
    let cell = |difference: Option<Difference>| difference.map_or(NOTHING.to_owned(), plain_cell);
    let column = |(baseline, _): (&'static str, &str)| {
        let cells = rows.iter().map(|(_, compared)| cell(at(compared, baseline, MAIN))).collect();
        (heading(baseline).into(), cells)
    };
    let names = rows.iter().map(|(placed, _)| placed.method.name.clone()).collect();
    (!rows.is_empty()).then(|| (names, columns(&rows).into_iter().map(column).collect()))
}

fn plain_cell(difference: Difference) -> String {
    let error = difference.standard_error.map(|error| format!(" ± {}", fixed(error, PLACES))).unwrap_or_default();
    let sign = if difference.seen == Some(false) { " ≈" } else { "" };
    format!("{}{error}{sign}", signed(difference.mean))
}

/// What the sign of the terminal's table means.
pub(super) fn legend(standing: &Standing) -> Option<String> {
    let rows = rows(standing);
    let first = rows.iter().flat_map(|(_, compared)| compared).next()?.main()?;
    Some(match first.standard_error {
        Some(_) => format!("less: difference in {}, paired over seeds ± its standard error; ≈ {UNSEEN}", MAIN.short),
        None => format!("less: difference in {}; {ONE_SEED}", MAIN.short),
    })
}

/// The differences of one method in a sentence; none where nothing can be compared.
pub(super) fn sentence(standing: &Standing, placed: Placed) -> Option<String> {
    let compared = beside(standing, placed);
    let first = compared.first()?.main()?;
    let parts: Vec<String> = compared.iter().filter_map(|c| Some(phrase(&c.to, c.main()?))).collect();
    Some(match first.standard_error {
        Some(_) => format!("Paired over {} seeds, it is {}.", first.seeds, parts.join("; ")),
        None => format!("It is {}; {ONE_SEED}.", parts.join("; ")),
    })
}

/// "0.0131 nats per row below non-private (standard error 0.0021)"
fn phrase(to: &str, difference: &Difference) -> String {
    let side = if difference.mean < 0.0 { "below" } else { "above" };
    let size = format!("{}{} {side} {to}", fixed(difference.mean.abs(), PLACES), scores::behind(MAIN));
    match difference.standard_error {
        None => size,
        Some(error) if difference.seen == Some(true) => format!("{size} (standard error {})", fixed(error, PLACES)),
        Some(error) => format!("{size} (standard error {}: {UNSEEN})", fixed(error, PLACES)),
    }
}

/// A number with its sign.
fn signed(value: f64) -> String {
    let text = fixed(value, PLACES);
    if value > 0.0 { format!("+{text}") } else { text }
}
