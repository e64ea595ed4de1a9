//! The posterior as encoded: means, with 95 % intervals where these are to be relied on, the surest effects first.

use super::numbers::fixed;
use super::page::{Table, figure, folded, note, section as titled};
use super::standing::{Placed, Standing};
use crate::svg::{Axis, Mark, RowPlot, Scale, Shown, SvgInterval, SvgRow, escape};
use inference::Intervals;
use inference::results::{Coefficient, NORMAL_95};

/// Coefficients in the figure.
pub(super) const DRAWN: usize = 30;
/// Rows of the table; a longer posterior is in the results only.
pub(super) const LISTED: usize = 500;
/// Two-sided 95 % quantile of the normal law.
pub(super) const REACH: f64 = NORMAL_95;

/// A figure of the leading methods and a table of all; nothing without a posterior.
pub(crate) fn section(standing: &Standing) -> String {
    let leading: Vec<Placed> = standing
        .leading()
        .into_iter()
        .filter(|m| !m.method.posterior.is_empty() && m.method.algorithm != "local-only")
        .collect();
    let Some(first) = leading.first() else { return String::new() };
    let order = order(&first.method.posterior);
    let names: Vec<&str> = leading.iter().map(|m| m.method.name.as_str()).collect();
    let caption = match order.len() {
        many if many > DRAWN => {
            format!("{}: the {DRAWN} of {many} farthest from 0, in standard deviations", names.join(" and "))
        }
        _ => names.join(" and "),
    };
    let legend: String =
        leading.iter().map(|m| format!("<span>{} {}</span>\n", m.mark.swatch(), escape(&m.method.name))).collect();
    let body = format!(
        "<div class=\"legend\">\n{legend}</div>\n<div class=\"figures single\">\n{}</div>\n{}{}",
        figure(
            &plot(&leading, &order).figure(
                "posterior-plot",
                &described(&first.method.posterior, &order, shows(first.method.intervals.as_ref()))
            ),
            &caption
        ),
        note(&remarks(&leading)),
        folded(
            &format!("All {} coefficients, every method", order.len()),
            &table(standing, &order, &first.method.posterior)
        )
    );
    beside_effects(first.method.effects.is_some(), "Posterior", &body)
}

/// The section of the coefficients; folded where the effects of columns say the same in a reader's units.
pub(super) fn beside_effects(effects: bool, otherwise: &str, body: &str) -> String {
    match effects {
        true => {
            titled("posterior", "For statisticians", &folded("The model\u{2019}s own coefficients, as encoded", body))
        }
        false => titled("posterior", otherwise, body),
    }
}

/// Whether intervals may be shown: where nothing is said of them they are not.
pub(super) fn shows(stated: Option<&Intervals>) -> bool {
    stated.is_some_and(Intervals::are_shown)
}

/// What to know when reading the figure.
fn remarks(leading: &[Placed]) -> String {
    let meaning = match has_quantiles(leading.iter().flat_map(|m| &m.method.posterior)) {
        true => OF_THE_OUTCOME,
        false => {
            "A coefficient of a number is the effect of one unit of (x − centre) / scale, with the centre and scale of the schema; \
             that of a level is the effect of the level."
        }
    };
    let mut words = format!("Points are posterior means of the first seed; lines are 95 % intervals. {meaning}");
    let silent: Vec<&str> =
        leading.iter().filter(|m| !shows(m.method.intervals.as_ref())).map(|m| m.method.name.as_str()).collect();
    if !silent.is_empty() {
        words += &format!(
            " {} has points alone: its intervals do not count the noise that was added for privacy, or did not hold where that was \
             measured.",
            silent.join(" and ")
        );
    }
    words
}

/// What parameters of a model without inputs are.
pub(super) const OF_THE_OUTCOME: &str = "They are parameters of the outcome, as the schema encodes it, and their intervals are quantiles of the exact posterior.";

/// Whether these are parameters of a posterior that is known by its quantiles, which only models without inputs have.
pub(super) fn has_quantiles<'a>(mut posterior: impl Iterator<Item = &'a Coefficient>) -> bool {
    posterior.next().is_some_and(|first| first.quantiles.is_some())
}

/// Places of the coefficients, the largest |mean| / deviation first.
pub(super) fn order(posterior: &[Coefficient]) -> Vec<usize> {
    let weight = |c: &Coefficient| if c.mean == 0.0 { 0.0 } else { c.mean.abs() / c.deviation };
    let mut order: Vec<usize> = (0..posterior.len()).collect();
    order.sort_by(|&a, &b| weight(&posterior[b]).total_cmp(&weight(&posterior[a])));
    order
}

fn plot(leading: &[Placed], order: &[usize]) -> RowPlot {
    let row = |&place: &usize| {
        let found = leading.iter().filter_map(|m| Some((m, m.method.posterior.get(place)?)));
        let intervals = found.clone().map(|(m, c)| point(c, shows(m.method.intervals.as_ref()), m.mark));
        let words: Vec<_> = found
            .map(|(m, c)| format!("{}: {}", m.method.name, estimate(c, shows(m.method.intervals.as_ref()))))
            .collect();
        let name = leading[0].method.posterior[place].name.clone();
        SvgRow { words: format!("{name}. {}", words.join("; ")), shown: Shown::Intervals(intervals.collect()), name }
    };
    let rows = order.iter().take(DRAWN).map(row).collect();
    RowPlot { title: "Posterior means".into(), axis: axis(leading, order), rows }
}

/// An axis with room around every interval that is drawn, so that each shows both of its ends.
fn axis(leading: &[Placed], order: &[usize]) -> Axis {
    axis_of(order.iter().take(DRAWN).flat_map(|&at| leading.iter().filter_map(move |m| m.method.posterior.get(at))))
}

/// An axis with room around the intervals of these coefficients.
pub(super) fn axis_of<'a>(drawn: impl Iterator<Item = &'a Coefficient>) -> Axis {
    let ends = drawn.map(Coefficient::ends).flat_map(|(low, high)| [low, high]);
    let (low, high) = ends
        .filter(|end| end.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)));
    let margin = 0.03 * (high - low);
    if low < high {
        Axis::between("coefficient", low - margin, high + margin)
    } else {
        Axis::new("coefficient", Scale::Linear)
    }
}

/// A coefficient in a figure.
pub(super) fn point(coefficient: &Coefficient, shown: bool, mark: Mark) -> SvgInterval {
    SvgInterval { at: coefficient.mean, ends: shown.then(|| coefficient.ends()), mark }
}

pub(super) fn described(posterior: &[Coefficient], order: &[usize], shown: bool) -> String {
    let one = |&place: &usize| format!("{} {}", posterior[place].name, estimate(&posterior[place], shown));
    format!("The three farthest from 0: {}.", order.iter().take(3).map(one).collect::<Vec<_>>().join("; "))
}

/// The mean, and the ends of its interval if that may be shown.
pub(super) fn estimate(coefficient: &Coefficient, shown: bool) -> String {
    let mean = fixed(coefficient.mean, 3);
    if !shown {
        return mean;
    }
    let (low, high) = coefficient.ends();
    format!("{mean} [{}, {}]", fixed(low, 3), fixed(high, 3))
}

/// All coefficients of all methods, in the order of the figure.
fn table(standing: &Standing, order: &[usize], names: &[Coefficient]) -> String {
    let methods: Vec<Placed> = standing.methods().filter(|m| m.method.posterior.len() == names.len()).collect();
    let mut head = vec!["coefficient".to_owned()];
    head.extend(methods.iter().map(|m| escape(&m.method.name)));
    let mut table = Table::new("Posterior means, with 95 % intervals where these are to be relied on", head);
    for &place in order.iter().take(LISTED) {
        let mut cells = vec![escape(&names[place].name)];
        cells.extend(methods.iter().map(|m| estimate(&m.method.posterior[place], shows(m.method.intervals.as_ref()))));
        table.push("", cells);
    }
    let rest = order.len().saturating_sub(LISTED);
    let more = if rest > 0 { note(&format!("And {rest} more, in results.json.")) } else { String::new() };
    table.html() + &more
}
