//! The posterior: means with 95 % intervals, the surest effects first.

use super::numbers::fixed;
use super::page::{Table, figure, folded, note, section as titled};
use super::standing::{Placed, Standing};
use crate::svg::{Axis, RowPlot, Scale, Shown, SvgInterval, SvgRow, escape};
use inference::results::Coefficient;

/// Coefficients in the figure.
pub(super) const DRAWN: usize = 30;
/// Rows of the table; a longer posterior is in the results only.
pub(super) const LISTED: usize = 500;
/// Two-sided 95 % quantile of the normal law.
pub(super) const REACH: f64 = 1.959_963_984_540_054;

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
        figure(&plot(&leading, &order).figure("posterior-plot", &described(&first.method.posterior, &order)), &caption),
        note(
            "Points are posterior means and lines are 95 % intervals, both of the first seed. A coefficient of a number is the effect of one unit of (x − centre) / scale, with the centre and scale of the schema; that of a level is the effect of the level. The intervals come from the fitted posterior and may ignore the noise that was added for privacy. Most methods ignore correlations between coefficients, which makes their intervals narrower than those of the baselines; do not compare the two."
        ),
        folded(
            &format!("All {} coefficients, every method", order.len()),
            &table(standing, &order, &first.method.posterior)
        )
    );
    titled("posterior", "Posterior", &body)
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
        let intervals =
            found.clone().map(|(m, c)| SvgInterval { at: c.mean, reach: REACH * c.deviation, mark: m.mark });
        let words: Vec<_> = found.map(|(m, c)| format!("{}: {}", m.method.name, interval(c))).collect();
        let name = leading[0].method.posterior[place].name.clone();
        SvgRow { words: format!("{name}. {}", words.join("; ")), shown: Shown::Intervals(intervals.collect()), name }
    };
    let rows = order.iter().take(DRAWN).map(row).collect();
    RowPlot { title: "Posterior means with 95 % intervals".into(), axis: axis(leading, order), rows }
}

/// An axis with room around every interval that is drawn, so that each shows both of its ends.
fn axis(leading: &[Placed], order: &[usize]) -> Axis {
    axis_of(order.iter().take(DRAWN).flat_map(|&at| leading.iter().filter_map(move |m| m.method.posterior.get(at))))
}

/// An axis with room around the intervals of these coefficients.
pub(super) fn axis_of<'a>(drawn: impl Iterator<Item = &'a Coefficient>) -> Axis {
    let ends = drawn.flat_map(|c| [-1.0, 1.0].map(|side| c.mean + side * REACH * c.deviation));
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

pub(super) fn described(posterior: &[Coefficient], order: &[usize]) -> String {
    let one = |&place: &usize| format!("{} {}", posterior[place].name, interval(&posterior[place]));
    format!("The three farthest from 0: {}.", order.iter().take(3).map(one).collect::<Vec<_>>().join("; "))
}

/// The mean and the ends of its interval.
pub(super) fn interval(coefficient: &Coefficient) -> String {
    let Coefficient { mean, deviation, .. } = coefficient;
    format!("{} [{}, {}]", fixed(*mean, 3), fixed(mean - REACH * deviation, 3), fixed(mean + REACH * deviation, 3))
}

/// All coefficients of all methods, in the order of the figure.
fn table(standing: &Standing, order: &[usize], names: &[Coefficient]) -> String {
    let methods: Vec<Placed> = standing.methods().filter(|m| m.method.posterior.len() == names.len()).collect();
    let mut head = vec!["coefficient".to_owned()];
    head.extend(methods.iter().map(|m| escape(&m.method.name)));
    let mut table = Table::new("Posterior mean and 95 % interval", head);
    for &place in order.iter().take(LISTED) {
        let mut cells = vec![escape(&names[place].name)];
        cells.extend(methods.iter().map(|m| interval(&m.method.posterior[place])));
        table.push("", cells);
    }
    let rest = order.len().saturating_sub(LISTED);
    let more = if rest > 0 { note(&format!("And {rest} more, in results.json.")) } else { String::new() };
    table.html() + &more
}
