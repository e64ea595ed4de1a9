//! Scores along the way: mean and deviation over seeds against messages and against ε.

use super::page::{figure, note, section as titled};
use super::standing::{Placed, Role, Standing};
use crate::svg::{Axis, Plot, Scale, Series, escape};
use inference::results::{Curve, CurvePoint};
use std::fmt::Write;

/// Most places at which a curve is drawn.
const PLACES: usize = 160;

/// Mean and deviation over seeds at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    at: f64,
    mean: f64,
    deviation: f64,
}

/// A score that is drawn.
#[derive(Clone, Copy)]
struct Score {
    name: &'static str,
    axis: &'static str,
    of: fn(&CurvePoint) -> Option<f64>,
    last: fn(Placed) -> Option<f64>,
    /// Whether less is better.
    loss: bool,
}

/// What a score is drawn against.
#[derive(Clone, Copy)]
struct Along {
    name: &'static str,
    axis: &'static str,
    of: fn(&CurvePoint) -> Option<f64>,
}

const ACCURACY: Score = Score {
    name: "Accuracy",
    axis: "accuracy, %",
    of: |point| point.accuracy.map(|share| 100.0 * share),
    last: |placed| placed.method.accuracy.as_ref().map(|summary| 100.0 * summary.mean),
    loss: false,
};
const ERROR: Score = Score {
    name: "Mean absolute error",
    axis: "mean absolute error",
    of: |point| point.absolute_error,
    last: |placed| placed.method.absolute_error.as_ref().map(|summary| summary.mean),
    loss: true,
};
const LIKELIHOOD: Score = Score {
    name: "Log-likelihood",
    axis: "log-likelihood, nats per row",
    of: |point| Some(point.log_likelihood),
    last: |placed| Some(placed.method.log_likelihood.mean),
    loss: false,
};
const MESSAGES: Along = Along { name: "messages", axis: "messages", of: |point| Some(point.messages as f64) };
const EPSILON: Along = Along { name: "ε", axis: "certified ε, largest over sites", of: |point| point.epsilon };

/// A figure for each score and what it is drawn against, and the legend that hides and shows methods.
pub(crate) fn section(standing: &Standing) -> String {
    let mut figures = String::new();
    for score in [ACCURACY, ERROR, LIKELIHOOD] {
        for along in [MESSAGES, EPSILON] {
            figures += &one(standing, score, along).unwrap_or_default();
        }
    }
    let body = if figures.is_empty() {
        note("No scores were recorded along the way.")
    } else {
        let spread = if standing.seeds() > 1 { "Bands: mean ± deviation between seeds. " } else { "" };
        let words = "A line across a figure is where a method ends that has no curve there. An axis spans what nearly \
                     all of the curves reach; an arrow marks where a curve leaves the frame.";
        format!("{}<div class=\"figures\">\n{figures}</div>\n{}", legend(standing), note(&format!("{spread}{words}")))
    };
    titled("curves", "Scores along the way", &body)
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

/// One figure; none if no method has a curve in it.
fn one(standing: &Standing, score: Score, along: Along) -> Option<String> {
    let levels: Vec<(Placed, Vec<Level>)> =
        drawn(standing).map(|placed| (placed, levels_of(standing, placed, score, along))).collect();
    let places = || levels.iter().flat_map(|(_, levels)| levels.iter().map(|level| level.at));
    let (first, last) = (places().fold(0.0, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
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
            levels => Some(curve(*placed, levels)),
        })
        .collect();
    let title = format!("{} against {}", score.name, along.name);
    let described = described(&levels);
    let id = format!(
        "{}-{}",
        score.name.to_lowercase().replace(' ', "-"),
        if along.name == "ε" { "epsilon" } else { along.name }
    );
    let y = match visible(&series, score.loss) {
        Some((low, high)) => Axis::between(score.axis, low, high),
        None => Axis::new(score.axis, Scale::Linear),
    };
    let plot = Plot { title: title.clone(), x: Axis::between(along.axis, first, last), y, series };
    Some(figure(&plot.figure(&id, &described), &title))
}

/// The levels of a method that is drawn as a curve; the two references are not.
fn levels_of(standing: &Standing, placed: Placed, score: Score, along: Along) -> Vec<Level> {
    if standing.reference(placed.number) { Vec::new() } else { levels(&placed.method.curves, score.of, along.of) }
}

/// Mean and deviation over seeds on a common grid. Between its points a seed keeps its last score, and a place counts
/// only if every seed has come so far.
fn levels(
    curves: &[Curve],
    score: fn(&CurvePoint) -> Option<f64>,
    along: fn(&CurvePoint) -> Option<f64>,
) -> Vec<Level> {
    let steps: Vec<Vec<(f64, f64)>> = curves
        .iter()
        .map(|curve| {
            curve.points.iter().filter_map(|p| Some((along(p)?, score(p)?))).filter(|p| p.0.is_finite()).collect()
        })
        .collect();
    let at = |place: f64, steps: &[(f64, f64)]| steps.iter().rev().find(|step| step.0 <= place).map(|step| step.1);
    let level = |place: f64| {
        let values: Option<Vec<f64>> = steps.iter().map(|steps| at(place, steps)).collect();
        let summary = inference::results::Summary::of(values.filter(|values| !values.is_empty())?);
        summary.mean.is_finite().then_some(Level { at: place, mean: summary.mean, deviation: summary.sd })
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

fn curve(placed: Placed, levels: &[Level]) -> Series {
    let points = levels.iter().map(|level| (level.at, level.mean)).collect();
    let mut series = Series::line(&placed.method.name, points, placed.mark);
    if levels.iter().any(|level| level.deviation > 0.0) {
        let ends = |level: &Level| (level.at, level.mean - level.deviation, level.mean + level.deviation);
        series.band = levels.iter().map(ends).collect();
    }
    series.class = format!("m{}", placed.number);
    series
}

/// A line across the figure where the method ends.
fn level(placed: Placed, score: Score, (first, last): (f64, f64)) -> Option<Series> {
    let height = (score.last)(placed).filter(|height| height.is_finite())?;
    let mut series = Series::line(&placed.method.name, vec![(first, height), (last, height)], placed.mark.level());
    series.class = format!("m{}", placed.number);
    Some(series)
}

/// Heights that the figure shows: all ends, and all but the worst tenth of the points on the way.
fn visible(series: &[Series], loss: bool) -> Option<(f64, f64)> {
    if loss {
        let turned: Vec<Series> = series.iter().map(turned).collect();
        return visible(&turned, false).map(|(low, high)| (-high, -low));
    }
    let mut heights: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.1)).collect();
    heights.sort_by(f64::total_cmp);
    let ends = series.iter().filter_map(|s| s.points.last()).map(|p| p.1).fold(f64::INFINITY, f64::min);
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
        Some(format!("{} goes from {:.3} to {:.3}", placed.method.name, first.mean, last.mean))
    };
    levels.iter().filter_map(one).collect::<Vec<_>>().join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(points: &[(u64, f64)]) -> Curve {
        let point = |&(messages, log_likelihood): &(u64, f64)| CurvePoint {
            round: messages,
            messages,
            epsilon: None,
            accuracy: None,
            log_likelihood,
            absolute_error: None,
        };
        Curve { seed: 1, points: points.iter().map(point).collect() }
    }

    #[test]
    fn seeds_keep_their_last_score_and_no_place_is_without_a_seed() {
        let curves = [seed(&[(1, 1.0), (4, 3.0)]), seed(&[(2, 5.0)])];
        let found = levels(&curves, LIKELIHOOD.of, MESSAGES.of);
        let deviation = |a: f64, b: f64| (a - b).abs() / 2_f64.sqrt();
        assert_eq!(found.iter().map(|l| (l.at, l.mean)).collect::<Vec<_>>(), [(2.0, 3.0), (4.0, 4.0)]);
        assert!((found[0].deviation - deviation(1.0, 5.0)).abs() < 1e-12);
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
    fn nothing_comes_of_nothing_and_many_places_are_thinned() {
        assert!(levels(&[], LIKELIHOOD.of, MESSAGES.of).is_empty());
        assert!(levels(&[seed(&[]), seed(&[(1, 1.0)])], LIKELIHOOD.of, MESSAGES.of).is_empty());
        let long: Vec<_> = (1..2000).map(|at| (at, at as f64)).collect();
        assert_eq!(levels(&[seed(&long)], LIKELIHOOD.of, MESSAGES.of).len(), PLACES);
    }
}
