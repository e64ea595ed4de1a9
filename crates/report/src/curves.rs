//! Scores along the way: the middle and the spread of the seeds against messages and against ε.

use super::page::{figure, note, section as titled};
use super::scores;
use super::standing::{Placed, Role, Standing};
use crate::svg::{Axis, Plot, Scale, Series, escape};
use inference::results::{Curve, CurvePoint, MethodResult, Results, Summary};
use inference::score::{Prominence, Score};
use std::fmt::Write;

/// Figures of fewer ends than this show all of them.
const MANY: usize = 8;

/// An end is far off from so many times the distance between the best and the worst quarter of them on.
const FAR: f64 = 4.0;

/// Figures of more methods than this have no bands: they would hide one another.
const CROWDED: usize = 12;

/// Most places at which a curve is drawn.
const PLACES: usize = 160;

/// The middle of the seeds at one place, and the band around it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    at: f64,
    middle: f64,
    low: f64,
    high: f64,
}

/// What is drawn.
#[derive(Clone, Copy)]
struct CurveScore {
    of: CurveValue,
    /// Whether less is better.
    loss: bool,
    /// Middle, low and high of the seeds.
    band: fn(&Summary) -> (f64, f64, f64),
    scale: Scale,
}

/// A number of a point.
#[derive(Clone, Copy)]
enum CurveValue {
    /// A score on held-out rows.
    HeldOut(&'static Score),
    /// A distance from the exact posterior, where that is known.
    Exact {
        name: &'static str,
        axis: &'static str,
        of: fn(&CurvePoint) -> Option<f64>,
        last: fn(&MethodResult) -> Option<f64>,
    },
}

impl CurveValue {
    fn name(self) -> String {
        match self {
            Self::HeldOut(score) => scores::capital(score),
            Self::Exact { name, .. } => name.to_owned(),
        }
    }

    fn axis(self) -> String {
        match self {
            Self::HeldOut(score) => scores::axis(score),
            Self::Exact { axis, .. } => axis.to_owned(),
        }
    }

    /// At one point.
    fn of(self, point: &CurvePoint) -> Option<f64> {
        match self {
            Self::HeldOut(score) => point.scores.get(score.name).map(|value| score.factor() * value),
            Self::Exact { of, .. } => of(point),
        }
    }

    /// At the end, over all seeds.
    fn last(self, method: &MethodResult) -> Option<f64> {
        match self {
            Self::HeldOut(score) => method.scores.get(score.name).map(|summary| score.factor() * summary.mean),
            Self::Exact { last, .. } => last(method),
        }
    }
}

/// What a score is drawn against.
#[derive(Clone, Copy)]
struct AxisKind {
    name: &'static str,
    axis: &'static str,
    of: fn(&CurvePoint) -> Option<f64>,
    scale: Scale,
}

/// A score with its mean and its standard deviation.
fn held_out(score: &'static Score) -> CurveScore {
    CurveScore { of: CurveValue::HeldOut(score), loss: score.is_loss(), band: mean_and_deviation, scale: Scale::Linear }
}

/// Of a simulation whose exact posterior is known.
const DIVERGENCE: CurveScore = CurveScore {
    of: CurveValue::Exact {
        name: "Divergence",
        axis: "KL to the exact posterior, nats",
        of: |point| point.kl,
        last: |method| method.kl.as_ref().map(|summary| summary.quantile(0.5)).filter(|kl| *kl > 1e-9),
    },
    loss: true,
    band: |summary| (summary.quantile(0.5), summary.quantile(0.1), summary.quantile(0.9)),
    scale: Scale::Log,
};
/// Of draws whose exact posterior is known.
const MEAN_ERROR: CurveScore = CurveScore {
    of: CurveValue::Exact {
        name: "Error of means",
        axis: "error of posterior means",
        of: |point| point.mean_error,
        last: |method| method.mean_error.as_ref().map(|summary| summary.mean),
    },
    loss: true,
    band: mean_and_error,
    scale: Scale::Linear,
};
const VARIANCE_ERROR: CurveScore = CurveScore {
    of: CurveValue::Exact {
        name: "Error of variances",
        axis: "error of posterior variances",
        of: |point| point.variance_error,
        last: |method| method.variance_error.as_ref().map(|summary| summary.mean),
    },
    ..MEAN_ERROR
};
const ROUNDS: AxisKind =
    AxisKind { name: "rounds", axis: "rounds", of: |point| Some(point.round as f64), scale: Scale::Linear };
const MESSAGES: AxisKind =
    AxisKind { name: "messages", axis: "messages", of: |point| Some(point.messages as f64), scale: Scale::Linear };
const EPSILON: AxisKind = AxisKind {
    name: "ε",
    axis: "certified ε of the sites furthest in their plans",
    of: |point| point.epsilon,
    scale: Scale::Linear,
};
/// Theorems and samplers differ by orders of magnitude.
const LOG_EPSILON: AxisKind =
    AxisKind { of: |point| point.epsilon.filter(|spent| *spent > 0.0), scale: Scale::Log, ..EPSILON };

/// A figure for each score and what it is drawn against, and the legend that hides and shows methods.
pub(crate) fn section(standing: &Standing) -> String {
    let mut figures = String::new();
    let shown = scores::shown(standing, Prominence::Leading);
    for score in shown.into_iter().map(held_out).chain([DIVERGENCE]) {
        for along in [MESSAGES, EPSILON] {
            figures += &one(standing, score, along, "").unwrap_or_default();
        }
    }
    figures += &one(standing, DIVERGENCE, ROUNDS, "").unwrap_or_default();
    figures += &errors(standing);
    let body = if figures.is_empty() {
        note("No scores were recorded along the way.")
    } else {
        let spread = match (standing.seeds() > 1 && !crowded(standing), standing.divergences()) {
            (true, false) => "Bands: mean ± standard deviation over seeds. ",
            (true, true) => {
                "Bands: mean ± standard deviation over seeds; of a divergence the median, and all but a tenth on either side. "
            }
            (false, _) => "",
        };
        let words = "Horizontal lines show the final score of methods without a curve. The axes cover nearly all of the \
                     curves; an arrow marks where a curve leaves the frame.";
        format!("{}<div class=\"figures\">\n{figures}</div>\n{}", legend(standing), note(&format!("{spread}{words}")))
    };
    titled("curves", "Scores along the way", &body)
}

/// How far moments of draws are from the exact posterior's, along the way; nothing where no method draws.
fn errors(standing: &Standing) -> String {
    if !standing.methods().any(|placed| placed.method.chain.is_some()) {
        return String::new();
    }
    let figures = [MEAN_ERROR, VARIANCE_ERROR]
        .into_iter()
        .flat_map(|score| [LOG_EPSILON, ROUNDS].into_iter().filter_map(move |along| one(standing, score, along, "")));
    figures.collect()
}

/// The same by itself, with its legend and the rules of that; none where there is nothing to show.
pub fn alone(results: &Results) -> Option<(String, String)> {
    let standing = Standing::of(results);
    let figures = errors(&standing);
    let html = format!(
        "{}<div class=\"figures\">\n{figures}</div>\n{}",
        legend(&standing),
        note(
            "Means over seeds, with a band of one standard error of the mean on either side: distances of the parameters' means \
              and variances from those of the exact posterior, averaged over parameters."
        )
    );
    (!figures.is_empty()).then(|| (toggles(&standing), html))
}

/// The leading scores of one column against messages, for a page that shows several columns with one legend.
#[derive(Debug, Clone)]
pub struct ColumnCurves {
    /// The column of the table that these curves belong to.
    pub(crate) column: String,
    /// Rules of the legend.
    pub(crate) toggles: String,
    /// One box for each method; the same for all columns, whose methods are the study's.
    pub(crate) legend: String,
    /// A figure for each score.
    pub(crate) figures: String,
    /// Whether curves have bands.
    pub(crate) bands: bool,
}

/// The curves of a column; none where no scores were recorded along the way.
pub fn against_messages(column: &str, results: &Results) -> Option<ColumnCurves> {
    let standing = Standing::of(results);
    let prefix = format!("{}-", study::file_name(column));
    let shown = scores::shown(&standing, Prominence::Leading);
    let drawn = |score| one(&standing, held_out(score), MESSAGES, &prefix);
    let figures: String = shown.into_iter().filter_map(drawn).collect();
    (!figures.is_empty()).then(|| ColumnCurves {
        column: column.to_owned(),
        toggles: toggles(&standing),
        legend: legend(&standing),
        figures,
        bands: standing.seeds() > 1 && !crowded(&standing),
    })
}

/// Rules by which a box of the legend hides its method.
pub(crate) fn toggles(standing: &Standing) -> String {
    let rule = |m: Placed| format!("section:has(#show{0}:not(:checked)) .m{0}{{display:none}}\n", m.number);
    drawn(standing).map(rule).collect()
}

/// The methods of the figures: a constant answer would push all curves together.
fn drawn<'a>(standing: &'a Standing<'a>) -> impl Iterator<Item = Placed<'a>> + 'a {
    standing.methods().filter(|m| standing.role(m.number) != Role::Constant)
}

/// Whether there are too many methods for bands.
fn crowded(standing: &Standing) -> bool {
    drawn(standing).count() > CROWDED
}

/// One box for each method.
fn legend(standing: &Standing) -> String {
    let mut items = String::new();
    for placed in drawn(standing) {
        let number = placed.number;
        let _ = writeln!(
            items,
            "<label for=\"show{number}\"><input type=\"checkbox\" id=\"show{number}\" checked> {} {}</label>",
            if standing.reference(number) { placed.mark.level() } else { placed.mark }.swatch(),
            escape(&placed.method.name)
        );
    }
    format!("<div class=\"legend\" role=\"group\" aria-label=\"Methods shown\">\n{items}</div>\n")
}

/// One figure, whose id begins with a prefix; none if no method has a curve in it.
fn one(standing: &Standing, score: CurveScore, along: AxisKind, prefix: &str) -> Option<String> {
    let levels: Vec<(Placed, Vec<Level>)> =
        drawn(standing).map(|placed| (placed, levels_of(standing, placed, score, along))).collect();
    let places = || levels.iter().flat_map(|(_, levels)| levels.iter().map(|level| level.at));
    let from = if along.scale == Scale::Log { f64::INFINITY } else { 0.0 };
    let (first, last) = (places().fold(from, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
    if !last.is_finite() {
        return None;
    }
    let granted = standing.methods().filter_map(|m| m.method.privacy.as_ref()).map(|p| p.epsilon);
    let last = if along.name == EPSILON.name { granted.fold(last, f64::max) } else { last };
    let last = if last > first { last } else { first + 1.0 };
    let series: Vec<Series> = levels
        .iter()
        .filter_map(|(placed, levels)| match levels.as_slice() {
            [] => level(*placed, score, (first, last)),
            levels if crowded(standing) => Some(Series { band: Vec::new(), ..curve(*placed, levels) }),
            levels => Some(curve(*placed, levels)),
        })
        .collect();
    let title = format!("{} against {}", score.of.name(), along.name);
    let described = described(&levels);
    let id = format!(
        "{prefix}{}-{}",
        score.of.name().to_lowercase().replace(' ', "-"),
        if along.name == "ε" { "epsilon" } else { along.name }
    );
    let y = match visible(&series, score.loss).filter(|_| score.scale == Scale::Linear) {
        Some((low, high)) => Axis::between(score.of.axis(), low, high),
        None => Axis::new(score.of.axis(), score.scale),
    };
    let x = match along.scale {
        Scale::Linear => Axis::between(along.axis, first, last),
        Scale::Log => Axis::new(along.axis, Scale::Log),
    };
    let plot = Plot { title: title.clone(), x, y, series };
    Some(figure(&plot.figure(&id, &described), &title))
}

/// The levels of a method that is drawn as a curve; the two references are not.
fn levels_of(standing: &Standing, placed: Placed, score: CurveScore, along: AxisKind) -> Vec<Level> {
    if standing.reference(placed.number) { Vec::new() } else { levels(&placed.method.curves, score, along.of) }
}

/// Middle and spread of the seeds on a common grid. Between its points a seed keeps its last score, and a place counts
/// only if every seed has come so far.
fn levels(curves: &[Curve], score: CurveScore, along: fn(&CurvePoint) -> Option<f64>) -> Vec<Level> {
    let steps: Vec<Vec<(f64, f64)>> = curves
        .iter()
        .map(|curve| {
            curve.points.iter().filter_map(|p| Some((along(p)?, score.of.of(p)?))).filter(|p| p.0.is_finite()).collect()
        })
        .collect();
    let at = |place: f64, steps: &[(f64, f64)]| steps.iter().rev().find(|step| step.0 <= place).map(|step| step.1);
    let level = |place: f64| {
        let values: Option<Vec<f64>> = steps.iter().map(|steps| at(place, steps)).collect();
        let summary = Summary::of(values.filter(|values| !values.is_empty())?);
        let (middle, low, high) = (score.band)(&summary);
        middle.is_finite().then_some(Level { at: place, middle, low, high })
    };
    grid(&steps).into_iter().filter_map(level).collect()
}

/// All places of all seeds, or evenly spaced ones if these are too many.
fn grid(steps: &[Vec<(f64, f64)>]) -> Vec<f64> {
    let mut places: Vec<f64> = steps.iter().flatten().map(|step| step.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    match (places.first(), places.last()) {
        (Some(&first), Some(&last)) if places.len() > PLACES => {
            let share = |index: usize| index as f64 / (PLACES - 1) as f64;
            (0..PLACES).map(|index| first * (1.0 - share(index)) + last * share(index)).collect()
        }
        _ => places,
    }
}

fn mean_and_deviation(summary: &Summary) -> (f64, f64, f64) {
    (summary.mean, summary.mean - summary.sd, summary.mean + summary.sd)
}

/// The mean, and one standard error of it on either side.
fn mean_and_error(summary: &Summary) -> (f64, f64, f64) {
    let error = summary.sd / (summary.per_seed.len() as f64).sqrt();
    (summary.mean, summary.mean - error, summary.mean + error)
}

fn curve(placed: Placed, levels: &[Level]) -> Series {
    let points = levels.iter().map(|level| (level.at, level.middle)).collect();
    let mut series = Series::line(&placed.method.name, points, placed.mark);
    if levels.iter().any(|level| level.high > level.low) {
        series.band = levels.iter().map(|level| (level.at, level.low, level.high)).collect();
    }
    series.class = format!("m{}", placed.number);
    series
}

/// A line across the figure where the method ends.
fn level(placed: Placed, score: CurveScore, (first, last): (f64, f64)) -> Option<Series> {
    let height = score.of.last(placed.method).filter(|height| height.is_finite())?;
    let mut series = Series::line(&placed.method.name, vec![(first, height), (last, height)], placed.mark.level());
    series.class = format!("m{}", placed.number);
    Some(series)
}

/// Heights that the figure shows: all ends, and all but the worst tenth of the points on the way.
///
/// Where there are many ends, one that is far worse than the worst quarter of them would press the others flat: it is
/// outside, and an arrow says so.
fn visible(series: &[Series], loss: bool) -> Option<(f64, f64)> {
    if loss {
        let turned: Vec<Series> = series.iter().map(turned).collect();
        return visible(&turned, false).map(|(low, high)| (-high, -low));
    }
    let mut heights: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.1)).collect();
    heights.sort_by(f64::total_cmp);
    let mut ends: Vec<f64> = series.iter().filter_map(|s| s.points.last()).map(|p| p.1).collect();
    ends.sort_by(f64::total_cmp);
    let (worst, best) = (*ends.first()?, *ends.last()?);
    let far = best - FAR * (best - ends[ends.len() / 4]);
    let ends = if ends.len() < MANY { worst } else { worst.max(far) };
    let bands = series.iter().flat_map(|s| s.band.iter().map(|b| b.2));
    let (low, high) = (
        heights.get(heights.len() / 10)?.min(ends),
        bands.chain(heights.iter().copied()).fold(f64::NEG_INFINITY, f64::max),
    );
    let margin = 0.04 * (high - low);
    (high > low).then_some((low - margin, high + margin))
}

/// The series upside down.
fn turned(series: &Series) -> Series {
    let points = series.points.iter().map(|(at, height)| (*at, -height)).collect();
    let band = series.band.iter().map(|(at, low, high)| (*at, -high, -low)).collect();
    Series { points, band, ..series.clone() }
}

/// Where each curve begins and ends, in words.
fn described(levels: &[(Placed, Vec<Level>)]) -> String {
    let one = |(placed, levels): &(Placed, Vec<Level>)| {
        let (first, last) = (levels.first()?, levels.last()?);
        Some(format!("{} goes from {:.3} to {:.3}", placed.method.name, first.middle, last.middle))
    };
    levels.iter().filter_map(one).collect::<Vec<_>>().join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use inference::score::MAIN;

    fn seed(points: &[(u64, f64)]) -> Curve {
        let point = |&(messages, score): &(u64, f64)| CurvePoint {
            round: messages,
            messages,
            epsilon: None,
            scores: [(MAIN, score)].into_iter().collect(),
            kl: None,
            natural: None,
            mean_error: None,
            variance_error: None,
        };
        Curve { seed: 1, points: points.iter().map(point).collect() }
    }

    #[test]
    fn seeds_keep_their_last_score_and_no_place_is_without_a_seed() {
        let curves = [seed(&[(1, 1.0), (4, 3.0)]), seed(&[(2, 5.0)])];
        let found = levels(&curves, held_out(MAIN), MESSAGES.of);
        let deviation = |a: f64, b: f64| (a - b).abs() / 2_f64.sqrt();
        assert_eq!(found.iter().map(|l| (l.at, l.middle)).collect::<Vec<_>>(), [(2.0, 3.0), (4.0, 4.0)]);
        assert!((found[0].high - found[0].middle - deviation(1.0, 5.0)).abs() < 1e-12);
    }

    #[test]
    fn the_worst_tenth_of_the_way_is_outside_the_frame_whichever_way_is_better() {
        let mark = crate::svg::Mark::of(0);
        let series = |heights: &[f64]| {
            vec![Series::line("a", heights.iter().enumerate().map(|(at, h)| (at as f64, *h)).collect(), mark)]
        };
        let rising: Vec<f64> = std::iter::once(-100.0).chain((1..=10).map(f64::from)).collect();
        let falling: Vec<f64> = rising.iter().map(|height| -height).collect();
        let (low, high) = visible(&series(&rising), false).unwrap();
        assert!(low < 1.0 && low > 0.0 && high > 10.0 && high < 11.0, "{low} {high}");
        assert_eq!(visible(&series(&falling), true), Some((-high, -low)));
    }

    #[test]
    fn one_method_of_many_that_is_far_off_does_not_press_the_others_flat() {
        let mark = crate::svg::Mark::of(0);
        let series =
            |ends: &[f64]| ends.iter().map(|end| Series::line("a", vec![(0.0, 2.0), (1.0, *end)], mark)).collect();
        let many: Vec<Series> = series(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 95.0]);
        let (low, high) = visible(&many, true).unwrap();
        assert!(low < 1.0 && (2.0..5.0).contains(&high), "{low} {high}");
        let few: Vec<Series> = series(&[1.0, 1.1, 95.0]);
        assert!(visible(&few, true).unwrap().1 > 95.0);
    }

    #[test]
    fn nothing_comes_of_nothing_and_many_places_are_thinned() {
        assert!(levels(&[], held_out(MAIN), MESSAGES.of).is_empty());
        assert!(levels(&[seed(&[]), seed(&[(1, 1.0)])], held_out(MAIN), MESSAGES.of).is_empty());
        let long: Vec<_> = (1..2000).map(|at| (at, at as f64)).collect();
        assert_eq!(levels(&[seed(&long)], held_out(MAIN), MESSAGES.of).len(), PLACES);
    }
}
