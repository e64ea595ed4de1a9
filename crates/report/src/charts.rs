//! Figures of a table that are not lines of scores: heat maps, and single runs of a model with one parameter.

use super::figures::{named, words};
use super::page::{figure, note};
use super::scores;
use crate::svg::{Axis, HeatCell, HeatMap, Mark, Plot, Scale, Series, escape};
use inference::OneParameter;
use inference::results::{Curve, CurvePoint};
use inference::score::ScoreUnit;
use std::f64::consts::TAU;
use study::{Cell, Chart, DrawsChart, FigureScore, HeatChart, Quantity, RunChart, Traced};

/// Places at which a density is drawn.
const PLACES: usize = 161;

/// How many standard deviations of each density are shown on either side.
const REACH: f64 = 4.0;

const EXACT: &str = "exact posterior";

/// All of them, one after the other; nothing without one.
pub(crate) fn charts(asked: &[Chart], cells: &[Cell], traced: &[Traced]) -> String {
    let (mut html, mut heat, mut dots) = (String::new(), String::new(), String::new());
    for (index, chart) in asked.iter().enumerate() {
        let id = format!("chart-{index}");
        match chart {
            Chart::HeatMap(map) => heat += &heat_map(&id, map, cells),
            Chart::Rounds(runs) => {
                let heading = format!("{} by rounds{}", name(runs.quantity), column(runs, traced));
                html += &panels(&id, runs, (&heading, RUNS), |seed| along(runs, seed, traced));
            }
            Chart::Posteriors(runs) => {
                let heading = format!("Densities of single runs{}", column(runs, traced));
                html += &panels(&id, runs, (&heading, DENSITIES), |seed| densities(runs, seed, traced));
            }
            Chart::Seeds(runs) => dots += &seeds(&id, runs, traced),
            Chart::Draws(drawn) => html += &draws(&id, drawn, traced),
        }
    }
    grid(&heat, HEAT) + &grid(&dots, SEEDS) + &html
}

/// Figures beside one another, and a remark; nothing without figures.
fn grid(figures: &str, remark: &str) -> String {
    if figures.is_empty() {
        String::new()
    } else {
        format!("<div class=\"figures\">\n{figures}</div>\n{}", note(remark))
    }
}

const HEAT: &str = "Differences of means over seeds, in the same colour for the same sign; a stronger colour is a larger difference. \
                    A blank place was not run.";
const RUNS: &str = "One run for each seed, not an average. q is what the server holds after each round; the exact posterior is that of \
                    all rows without privacy.";
const DENSITIES: &str = "One run for each seed. q has the mean natural parameters of its last ten rounds; the exact posterior is that of \
                         all rows without privacy.";
const SEEDS: &str =
    "A point for each seed, which draws the coefficient, the rows and the noise; means of its last ten rounds.";

const DRAWS: &str =
    "Draws of the first seed's chains after their warm-up, evenly thinned; all panels have the same axes.";

/// A panel of draws for each method, all with the same axes; nothing where no method drew two parameters.
fn draws(id: &str, asked: &DrawsChart, traced: &[Traced]) -> String {
    let of = |method: &String| traced.iter().find(|run| run.method == *method && run.column == asked.column);
    let shown: Vec<&Traced> = asked.methods.iter().filter_map(of).filter(|run| !run.draws.is_empty()).collect();
    let all = || shown.iter().flat_map(|run| &run.draws);
    let low = all().fold((f64::INFINITY, f64::INFINITY), |low, at| (low.0.min(at.0), low.1.min(at.1)));
    let high = all().fold((f64::NEG_INFINITY, f64::NEG_INFINITY), |high, at| (high.0.max(at.0), high.1.max(at.1)));
    let panel = |(number, run): (usize, &&Traced)| {
        // Lines of one place each stretch the axes of every panel to those of all.
        let corner = |at: (f64, f64)| Series::line("", vec![at, at], Mark::reference(0));
        let title = run.method.clone();
        let plot = Plot {
            title: title.clone(),
            x: Axis::new(&asked.along, Scale::Linear),
            y: Axis::new(&asked.up, Scale::Linear),
            series: vec![Series::dots(&run.method, run.draws.clone(), Mark::of(number)), corner(low), corner(high)],
        };
        figure(&plot.figure(&format!("{id}-{number}"), &described(&plot)), &title)
    };
    let figures: String = shown.iter().enumerate().map(panel).collect();
    let heading = format!("Draws of {} and {}", asked.along, asked.up);
    framed(&heading, "", &figures, DRAWS)
}

/// One heat map of the cells of a table.
fn heat_map(id: &str, map: &HeatChart, cells: &[Cell]) -> String {
    let score = |method: &str, column: &str| {
        let mut found = cells.iter().filter(|cell| cell.metric == map.score.metric());
        let cell = found.find(|cell| cell.row == method && cell.column == column)?;
        Some(if cell.shows_median() { cell.median } else { cell.ours })
    };
    let cell = |(at, up, column): &(f64, f64, String)| {
        let less = map.minus.as_ref().map_or(Some(0.0), |minus| score(minus, column))?;
        let value = score(&map.method, column)? - less;
        Some(HeatCell { at: *at, up: *up, value, words: written(map, value) })
    };
    let unit = match map.score {
        FigureScore::HeldOut(score) if score.unit == ScoreUnit::Share => ", percentage points".to_owned(),
        FigureScore::HeldOut(score) => scores::behind(score).replacen(' ', ", ", 1),
        FigureScore::Divergence => ", nats".to_owned(),
    };
    let what = map.minus.as_ref().map_or_else(|| map.method.clone(), |minus| format!("{} minus {minus}", map.method));
    let title = format!("{}: {what}{unit}", words(map.score).0);
    let cells = map.cells.iter().filter_map(cell).collect();
    let drawn = HeatMap { title: title.clone(), x: map.along.clone(), y: map.up.clone(), cells };
    figure(&drawn.figure(id), &title)
}

/// A number of a cell: a share in per cent, a difference with its sign.
fn written(map: &HeatChart, value: f64) -> String {
    let share = matches!(map.score, FigureScore::HeldOut(score) if score.unit == ScoreUnit::Share);
    match (share, map.minus.is_some()) {
        (true, true) => format!("{:+.1}", 100.0 * value),
        (true, false) => format!("{:.1}", 100.0 * value),
        (false, true) => format!("{value:+.3}"),
        (false, false) => format!("{value:.3}"),
    }
}

/// The column behind a heading, where there are several.
fn column(runs: &RunChart, traced: &[Traced]) -> String {
    let several = traced.iter().any(|run| run.column != runs.column);
    if several { format!(": {}", runs.column) } else { String::new() }
}

/// A panel for each seed under one heading and one legend.
fn panels(id: &str, runs: &RunChart, (heading, remark): (&str, &str), plot: impl Fn(u64) -> Option<Plot>) -> String {
    let (mut figures, mut legend) = (String::new(), String::new());
    for seed in &runs.seeds {
        let Some(plot) = plot(*seed) else { continue };
        legend = plot.series.iter().filter(|series| !series.name.is_empty()).map(named).collect();
        figures += &figure(&plot.figure(&format!("{id}-{seed}"), &ends(&plot)), &plot.title);
    }
    framed(heading, &legend, &figures, remark)
}

/// A heading, a legend, figures and a remark; nothing without figures.
fn framed(heading: &str, legend: &str, figures: &str, remark: &str) -> String {
    if figures.is_empty() {
        return String::new();
    }
    format!("<h3>{}</h3>\n<div class=\"legend\">{legend}</div>\n{}", escape(heading), grid(figures, remark))
}

/// Where each line ends, in words.
fn ends(plot: &Plot) -> String {
    let one = |series: &Series| {
        let (_, last) = series.points.last().filter(|_| !series.name.is_empty())?;
        Some(format!("{} ends at {last:.3}", series.name))
    };
    plot.series.iter().filter_map(one).collect::<Vec<_>>().join("; ") + "."
}

fn name(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Precision => "Precision of q",
        Quantity::PrecisionMean => "Precision times mean of q",
        Quantity::Kl => "KL(q ‖ exact posterior)",
        Quantity::Epsilon => "Certified ε",
        Quantity::PrecisionRatio => "Precision of q over that of the exact posterior",
    }
}

/// Along an axis, where there is less room.
fn axis(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::PrecisionRatio => "precision: q / exact posterior",
        other => name(other),
    }
}

/// The number of a point of a curve.
fn at(point: &CurvePoint, quantity: Quantity) -> Option<f64> {
    match quantity {
        Quantity::Precision => point.natural.map(|pair| pair[0]),
        Quantity::PrecisionMean => point.natural.map(|pair| pair[1]),
        Quantity::Kl => point.kl,
        Quantity::Epsilon => point.epsilon,
        Quantity::PrecisionRatio => None,
    }
}

/// The runs of a seed, in the order of the figure's methods: their number, their name, curve and parameter.
fn of_seed<'a>(
    runs: &'a RunChart,
    seed: u64,
    traced: &'a [Traced],
) -> impl Iterator<Item = (usize, &'a str, &'a Curve, &'a OneParameter)> {
    runs.methods.iter().enumerate().filter_map(move |(number, method)| {
        let found = traced.iter().find(|run| run.method == *method && run.column == runs.column)?;
        let curve = found.curves.iter().find(|curve| curve.seed == seed)?;
        let parameter = found.parameter.iter().find(|parameter| parameter.seed == seed)?;
        Some((number, method.as_str(), curve, parameter))
    })
}

/// A number of the runs of one seed along their rounds, and where it should end.
fn along(runs: &RunChart, seed: u64, traced: &[Traced]) -> Option<Plot> {
    let mut series = Vec::new();
    for (number, method, curve, _) in of_seed(runs, seed, traced) {
        let points = curve.points.iter().filter_map(|point| Some((point.round as f64, at(point, runs.quantity)?)));
        series.push(Series::line(method, points.collect(), Mark::of(number)));
    }
    let (_, _, curve, parameter) = of_seed(runs, seed, traced).next()?;
    let last = series.iter().flat_map(|series| &series.points).map(|point| point.0).fold(0.0, f64::max);
    let target = match runs.quantity {
        Quantity::Precision => Some(parameter.exact[0]),
        Quantity::PrecisionMean => Some(parameter.exact[1]),
        _ => None,
    };
    let level = |at| Series::line(EXACT, vec![(0.0, at), (last, at)], Mark::reference(1).level());
    series.extend(target.map(level));
    series.extend(runs.epsilon.and_then(|epsilon| upright(epsilon, curve, &series)));
    let scale = if runs.quantity == Quantity::Kl { Scale::Log } else { Scale::Linear };
    let (x, y) = (Axis::new(&runs.along, Scale::Linear), Axis::new(axis(runs.quantity), scale));
    Some(Plot { title: of_run(seed, parameter), x, y, series })
}

/// An upright line from the least to the largest height, where a run has spent this ε.
fn upright(epsilon: f64, curve: &Curve, series: &[Series]) -> Option<Series> {
    let spent = curve.points.iter().find(|point| point.epsilon.is_some_and(|spent| spent >= epsilon))?;
    let heights = || series.iter().flat_map(|series| series.points.iter().map(|point| point.1));
    let (low, high) = (heights().fold(f64::INFINITY, f64::min), heights().fold(f64::NEG_INFINITY, f64::max));
    let place = spent.round as f64;
    Some(Series::line(format!("ε = {epsilon} spent"), vec![(place, low), (place, high)], Mark::reference(0).level()))
}

/// The seed, and the coefficient that its rows were drawn with.
fn of_run(seed: u64, parameter: &OneParameter) -> String {
    parameter.truth.map_or_else(|| format!("seed {seed}"), |truth| format!("seed {seed}: θ = {truth:.2}"))
}

/// The densities of the runs of one seed, and the exact posterior's.
fn densities(runs: &RunChart, seed: u64, traced: &[Traced]) -> Option<Plot> {
    let (_, _, _, parameter) = of_seed(runs, seed, traced).next()?;
    let mut shown = vec![(EXACT, parameter.exact, Mark::reference(1).level())];
    shown
        .extend(of_seed(runs, seed, traced).map(|(number, method, _, q)| (method, q.served, Mark::of(number).level())));
    shown.retain(|(_, pair, _)| pair[0] > 0.0 && pair.iter().all(|number| number.is_finite()));
    let ends = |side: f64| {
        shown.iter().map(move |(_, [precision, product], _)| product / precision + side * REACH / precision.sqrt())
    };
    let (low, high) = (ends(-1.0).fold(f64::INFINITY, f64::min), ends(1.0).fold(f64::NEG_INFINITY, f64::max));
    let place = |index: usize| low + (high - low) * index as f64 / (PLACES - 1) as f64;
    let line = |(name, pair, mark): &(&str, [f64; 2], Mark)| {
        Series::line(*name, (0..PLACES).map(|index| (place(index), density(*pair, place(index)))).collect(), *mark)
    };
    let series = shown.iter().map(line).collect();
    let (x, y) = (Axis::new(&runs.along, Scale::Linear), Axis::new("density", Scale::Linear));
    Some(Plot { title: of_run(seed, parameter), x, y, series })
}

/// Of a normal law with this precision and this precision times mean.
fn density([precision, product]: [f64; 2], at: f64) -> f64 {
    let off = at - product / precision;
    (precision / TAU).sqrt() * (-0.5 * precision * off * off).exp()
}

/// A number of every run against the coefficient that its rows were drawn with.
fn seeds(id: &str, runs: &RunChart, traced: &[Traced]) -> String {
    let mut series = Vec::new();
    for (number, method) in runs.methods.iter().enumerate() {
        let Some(found) = traced.iter().find(|run| run.method == *method && run.column == runs.column) else {
            continue;
        };
        let value = |(index, parameter): (usize, &OneParameter)| {
            let ratio = (runs.quantity == Quantity::PrecisionRatio).then(|| parameter.precision_ratio());
            Some((parameter.truth?, ratio.or_else(|| found.kl.get(index).copied())?))
        };
        let points = found.parameter.iter().enumerate().filter_map(value).collect();
        series.push(Series::dots(method, points, Mark::of(number)));
    }
    let places = || series.iter().flat_map(|series| series.points.iter().map(|point| point.0));
    let ends = (places().fold(f64::INFINITY, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
    if !ends.0.is_finite() {
        return String::new();
    }
    if runs.quantity == Quantity::PrecisionRatio {
        series.push(Series::line(
            "as precise as the exact posterior",
            vec![(ends.0, 1.0), (ends.1, 1.0)],
            Mark::reference(1).level(),
        ));
    }
    let title = format!("{} by {}{}", name(runs.quantity), runs.along, column(runs, traced));
    let legend: String = series.iter().map(named).collect();
    let (x, y) = (Axis::new(&runs.along, Scale::Linear), Axis::new(axis(runs.quantity), Scale::Log));
    let plot = Plot { title: title.clone(), x, y, series };
    let ranges = described(&plot);
    format!("<div>\n{}<div class=\"legend\">{legend}</div>\n</div>\n", figure(&plot.figure(id, &ranges), &title))
}

/// How many points each method has, and their range.
fn described(plot: &Plot) -> String {
    let one = |series: &Series| {
        let heights = || series.points.iter().map(|point| point.1);
        let (low, high) = (heights().fold(f64::INFINITY, f64::min), heights().fold(f64::NEG_INFINITY, f64::max));
        format!("{}: {} points from {low:.3} to {high:.3}", series.name, series.points.len())
    };
    plot.series.iter().filter(|series| series.dots).map(one).collect::<Vec<_>>().join("; ") + "."
}

#[cfg(test)]
mod tests;
