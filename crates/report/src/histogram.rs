//! The report of a histogram: estimates beside the truth, and what they cost by rounds.

use crate::page::{Table, document, figure, note, paragraph, section};
use crate::svg::{Axis, Mark, Plot, RowPlot, Scale, Series, Shown, SvgInterval, SvgRow, escape};
use study::digits::{shortest, up_to};
use study::histogram::{Category, Cost, Histogram, HistogramResults, percent};

/// From how many times the least ε on they are laid out by their logarithm.
const APART: f64 = 8.0;

/// The whole page.
pub fn html(study: &Histogram, found: &HistogramResults) -> String {
    let kind = "Histogram through a shuffler";
    let mut body = format!("<header>\n<p class=\"kind\">{kind}</p>\n<h1>{}</h1>\n</header>\n", escape(study.name()));
    body += &section("estimates", "Estimates beside the truth", &estimates(found));
    body += &section("privacy", "What it costs a user", &costs(study, found));
    document(study.name(), "", &body, env!("CARGO_PKG_VERSION"))
}

fn estimates(found: &HistogramResults) -> String {
    let rows = found.categories.iter().map(row).collect();
    let axis = Axis::new("share of the users, %", Scale::Linear);
    let plot = RowPlot { title: "Estimated shares with 95 % intervals, and the true ones".into(), axis, rows };
    let words: Vec<String> = found.categories.iter().map(described).collect();
    let svg = plot.figure("shares", &words.join("; "));
    let legend = [("estimate, 95 % interval", Mark::of(0)), ("truth", Mark::reference(0))];
    let legend: String = legend.iter().map(|(name, mark)| format!("<span>{} {name}</span>", mark.swatch())).collect();
    let mut html = format!("<div class=\"figures\">\n<div>\n{}", figure(&svg, "Shares of the categories"));
    html += &format!("<div class=\"legend\">{legend}</div>\n</div>\n</div>\n");
    let head = ["category", "truth %", "estimate %", "standard error", "95 % interval"];
    let mut table = Table::new("Shares of the users", head.map(escape).to_vec());
    for c in &found.categories {
        let [truth, estimate, error, low, high] = [c.truth, c.estimate, c.standard_error, c.low, c.high].map(percent);
        table.push("", vec![escape(&c.name), truth, estimate, error, format!("{low} to {high}")]);
    }
    html += &table.html();
    html += &note(&format!("Estimates of {}.", found.over_seeds()));
    html + &note(
        "Users answer the same in every round and randomise it anew, so rounds are averaged; intervals are about the shares \
         among these users, not among a population that they were drawn from. An estimate is unbiased, and may be under 0.",
    )
}

fn row(category: &Category) -> SvgRow {
    let at = |share: f64, reach: f64, mark| {
        let ends = Some((100.0 * (share - reach), 100.0 * (share + reach)));
        SvgInterval { at: 100.0 * share, ends, mark }
    };
    let half = (category.high - category.low) / 2.0;
    let shown = vec![at(category.estimate, half, Mark::of(0)), at(category.truth, 0.0, Mark::reference(0))];
    SvgRow { name: category.name.clone(), shown: Shown::Intervals(shown), words: described(category) }
}

fn described(c: &Category) -> String {
    let [truth, estimate, low, high] = [c.truth, c.estimate, c.low, c.high].map(percent);
    format!("{}: {estimate} % ({low} to {high}), truth {truth} %", c.name)
}

fn costs(study: &Histogram, found: &HistogramResults) -> String {
    let delta = shortest(study.delta().get());
    let drawn: Vec<&Cost> = found.costs.iter().filter(|cost| !cost.by_rounds.is_empty()).collect();
    let line = |(number, cost): (usize, &&Cost)| {
        let points = cost.by_rounds.iter().map(|&(rounds, upper, _)| (rounds as f64, upper)).collect();
        Series::line(cost.against, points, Mark::of(number))
    };
    let series: Vec<Series> = drawn.iter().enumerate().map(line).collect();
    let legend: String =
        series.iter().map(|s| format!("<span>{} {}</span>", s.mark.swatch(), escape(&s.name))).collect();
    let (x, y) = (Axis::new("rounds", Scale::Linear), Axis::new("ε of one user", scale(&series)));
    let plot = Plot { title: format!("ε by rounds at δ = {delta}"), x, y, series };
    let ends: Vec<String> = drawn.iter().map(|cost| format!("{}: up to {}", cost.against, cost.shown())).collect();
    let svg = plot.figure("costs", &ends.join("; "));
    let mut html = paragraph(&format!(
        "ε at δ = {delta} of one user whose answer is replaced by any other; certified. Every user's own ledger is charged \
         with the event that is marked, before the first answer."
    ));
    html += &format!("<div class=\"figures\">\n<div>\n{}", figure(&svg, "ε by rounds, from above"));
    html += &format!("<div class=\"legend\">{legend}</div>\n</div>\n</div>\n");
    html + &tabled(found)
}

fn scale(series: &[Series]) -> Scale {
    let heights = || series.iter().flat_map(|series| series.points.iter().map(|point| point.1));
    let (least, most) = (heights().fold(f64::INFINITY, f64::min), heights().fold(0.0, f64::max));
    if least > 0.0 && most >= APART * least { Scale::Log } else { Scale::Linear }
}

fn tabled(found: &HistogramResults) -> String {
    let rounds: Vec<u64> = found
        .costs
        .iter()
        .find(|cost| cost.charged)
        .map(|c| c.by_rounds.iter().map(|p| p.0).collect())
        .unwrap_or_default();
    let mut head = vec!["against".to_owned(), "who sees".to_owned()];
    head.extend(rounds.iter().map(|rounds| format!("ε, {rounds} {}", if *rounds == 1 { "round" } else { "rounds" })));
    head.push("charged".to_owned());
    let mut table = Table::new("ε of one user, from above", head.iter().map(|cell| escape(cell)).collect());
    for cost in &found.costs {
        let mut cells = vec![cost.against.to_owned(), cost.refused.clone().unwrap_or_else(|| cost.sees.to_owned())];
        let at = |index: usize| cost.by_rounds.get(index).map_or_else(|| "–".to_owned(), |point| up_to(point.1, 4));
        cells.extend((0..rounds.len()).map(at));
        cells.push(if cost.charged { "yes" } else { "" }.to_owned());
        table.push("", cells.iter().map(|cell| escape(cell)).collect());
    }
    table.html()
}
