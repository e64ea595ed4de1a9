//! The figures of a run: how the posterior came about, and what it cost.

use super::view::RunView;
use super::words::{bound, counted, fixed};
use maud::{Markup, PreEscaped, html};
use report::svg::{Axis, Mark, Plot, Scale, Series};

/// Most lines of a figure, and of its legend.
const LINES: usize = 8;

/// Rounds that an axis shows at least, so that its ticks are whole.
const ROUNDS: u64 = 5;

/// The figures, next to each other where there is room.
pub(super) fn figures(view: &RunView) -> Markup {
    html! {
        @if view.curve.is_empty() {
            p.note { "No round has completed yet." }
        } @else {
            div.figures { (means(view)) (convergence(view)) (spending(view)) }
        }
    }
}

/// Posterior means by round, those farthest from nought.
fn means(view: &RunView) -> Markup {
    let mut order: Vec<usize> = (0..view.posterior.len()).collect();
    let size = |place: &usize| view.posterior.get(*place).map_or(0.0, |one| one.mean.abs());
    order.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let drawn = order.iter().take(LINES).filter_map(|&place| Some((place, view.posterior.get(place)?)));
    let series: Vec<Series> = drawn
        .enumerate()
        .map(|(number, (place, one))| {
            let points = along(view, |point| point.coefficients.get(place).copied());
            Series::line(&one.name, points, Mark::of(number))
        })
        .collect();
    let last = series.iter().map(|one| format!("{} {}", one.name, fixed(height(one), 3)));
    let description = format!("After the last round: {}.", last.collect::<Vec<_>>().join(", "));
    let rest = view.posterior.len().saturating_sub(LINES);
    let more = (rest > 0).then(|| {
        format!(
            "The {LINES} coefficients farthest from 0; the table shows {} more.",
            counted(rest as u64, "coefficient")
        )
    });
    let plot = Plot { title: "Posterior means by round".into(), x: rounds(view), y: roomy("mean", &series), series };
    shown("means", &plot, &description, more)
}

/// How much the means move, and how wide the posterior is.
fn convergence(view: &RunView) -> Markup {
    let change = Series::line("change of the means", along(view, |point| Some(point.change)), Mark::of(0));
    let width =
        Series::line("average standard deviation", along(view, |point| Some(point.mean_deviation)), Mark::of(1));
    let words = (bound(height(&change)), bound(height(&width)));
    let description =
        format!("In the last round the means moved by {}. The average standard deviation is {}.", words.0, words.1);
    let title = "Change of the means and average standard deviation by round".into();
    let plot = Plot { title, x: rounds(view), y: Axis::new("size", Scale::Log), series: vec![change, width] };
    shown("convergence", &plot, &description, None)
}

/// ε spent by each site, those that spent most, with what was granted.
fn spending(view: &RunView) -> Markup {
    let mut order: Vec<usize> = (0..view.sites.len()).collect();
    let spent = |place: &usize| view.sites.get(*place).map_or(0.0, |site| site.epsilon_spent);
    if order.len() > LINES {
        order.sort_by(|a, b| spent(b).total_cmp(&spent(a)));
    }
    let drawn = order.iter().take(LINES).filter_map(|&place| Some((place, view.sites.get(place)?)));
    let mut series: Vec<Series> = drawn
        .enumerate()
        .map(|(number, (place, site))| {
            Series::line(&site.name, along(view, |point| point.epsilon.get(place).copied()), Mark::of(number))
        })
        .collect();
    let last = series.iter().map(|one| format!("{} {}", one.name, bound(height(one))));
    let mut description = format!("ε spent so far: {}.", last.collect::<Vec<_>>().join(", "));
    let levels = granted(view);
    let end = last_round(view) as f64;
    for (number, level) in levels.iter().enumerate() {
        let mark = Mark::reference(number).level();
        let name = format!("granted: {}", bound(*level));
        description += &format!(" {name}.");
        series.push(Series::line(name, vec![(0.0, *level), (end, *level)], mark));
    }
    let rest = view.sites.len().saturating_sub(LINES);
    let more = (rest > 0)
        .then(|| format!("The {LINES} sites that spent most; the table shows {} more.", counted(rest as u64, "site")));
    let y = Axis::between("ε", 0.0, highest(&series) * 1.06);
    shown("spending", &Plot { title: "ε spent by site".into(), x: rounds(view), y, series }, &description, more)
}

/// What sites have granted, each number once; the smallest and the largest of many.
fn granted(view: &RunView) -> Vec<f64> {
    let mut levels: Vec<f64> = view.sites.iter().map(|site| site.epsilon_granted).filter(|e| e.is_finite()).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    if levels.len() > 2 {
        levels.drain(1..levels.len() - 1);
    }
    levels
}

/// An axis with a margin above and below all lines, so that none hides behind the frame.
fn roomy(label: &str, series: &[Series]) -> Axis {
    let all = series.iter().flat_map(|one| &one.points).map(|point| point.1).filter(|value| value.is_finite());
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let margin = 0.04 * (high - low);
    if low < high { Axis::between(label, low - margin, high + margin) } else { Axis::new(label, Scale::Linear) }
}

fn highest(series: &[Series]) -> f64 {
    let all = series.iter().flat_map(|one| &one.points).map(|point| point.1).filter(|value| value.is_finite());
    all.fold(0.0, f64::max).max(f64::MIN_POSITIVE.sqrt())
}

/// One value of every point of the curve; what is not there leaves a gap.
fn along(view: &RunView, value: impl Fn(&super::RoundPoint) -> Option<f64>) -> Vec<(f64, f64)> {
    view.curve.iter().map(|point| (point.round as f64, value(point).unwrap_or(f64::NAN))).collect()
}

/// The last value of a line.
fn height(series: &Series) -> f64 {
    series.points.last().map_or(f64::NAN, |point| point.1)
}

fn last_round(view: &RunView) -> u64 {
    view.curve.last().map_or(0, |point| point.round).max(ROUNDS)
}

fn rounds(view: &RunView) -> Axis {
    Axis::between("round", 0.0, last_round(view) as f64)
}

/// A figure under its caption, with its legend.
fn shown(id: &str, plot: &Plot, description: &str, more: Option<String>) -> Markup {
    html! {
        figure {
            figcaption { (plot.title) }
            (PreEscaped(plot.figure(id, description)))
            div.legend {
                @for series in &plot.series { span { (PreEscaped(series.mark.swatch())) (series.name) } }
            }
            @if let Some(more) = more { p.note { (more) } }
        }
    }
}
