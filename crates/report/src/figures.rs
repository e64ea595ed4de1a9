//! Figures of a table: a score's middle and spread over the seeds against a number that methods or columns differ in.

use super::page::{figure, note};
use super::scores;
use crate::svg::{Axis, Mark, Plot, Scale, Series, escape};
use inference::score::{Middle, Score, ScoreUnit, ScoredOutcome};
use study::{Cell, Figure, FigurePoint, FigureScore, Line};

/// From how many times the least place on the places are laid out by their logarithm.
const WIDE: f64 = 20.0;

/// From how many times the least error on errors are: one method far off would press the others flat.
const APART: f64 = 4.0;

/// Figures of more lines than this have no shades: they would hide one another.
const CROWDED: usize = 6;

/// All figures, panels of one under one heading and one legend; nothing without one.
pub(crate) fn figures(asked: &[Figure], cells: &[Cell]) -> String {
    let (mut drawn, mut index) = (String::new(), 0);
    let names = names(asked);
    for group in asked.chunk_by(together) {
        let mut legend = String::new();
        let mut figures = String::new();
        for asked in group {
            let (figure, names) = one(index, asked, &names, cells);
            index += 1;
            legend = format!("<div class=\"legend\">{names}</div>\n");
            figures += &if asked.panel.is_some() { figure } else { format!("<div>\n{figure}{legend}</div>\n") };
        }
        if let [Figure { panel: Some(_), .. }, ..] = group {
            drawn += &format!("<h3>{}</h3>\n{legend}", escape(&title(&group[0])));
        }
        drawn += &format!("<div class=\"figures\">\n{figures}</div>\n");
    }
    if drawn.is_empty() {
        return drawn;
    }
    drawn + &notes(asked, cells.iter().all(|cell| cell.seeds < 2))
}

/// Names of all lines, each once: a method has the same colour in every figure.
fn names(asked: &[Figure]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for line in asked.iter().flat_map(|figure| &figure.lines) {
        if !names.contains(&line.name.as_str()) {
            names.push(&line.name);
        }
    }
    names
}

/// Whether two figures stand under one heading: panels of the same lines, or figures that have their own.
fn together(one: &Figure, other: &Figure) -> bool {
    let lines = |figure: &Figure| names(std::slice::from_ref(figure)).join("\n");
    match (&one.panel, &other.panel) {
        (Some(_), Some(_)) => title(one) == title(other) && lines(one) == lines(other),
        (None, None) => true,
        _ => false,
    }
}

fn title(asked: &Figure) -> String {
    format!("{} by {}", words(asked.score).0, asked.along)
}

/// What the lines and their spread are.
fn notes(asked: &[Figure], single: bool) -> String {
    if single {
        return note(SINGLE);
    }
    let mut notes = String::new();
    if asked.iter().any(|figure| figure.score == FigureScore::Divergence) {
        notes += &note(MEDIANS);
    }
    let mut seen: Vec<&Score> = Vec::new();
    for figure in asked {
        if let FigureScore::HeldOut(score) = figure.score
            && !seen.contains(&score)
        {
            seen.push(score);
        }
    }
    let words: Vec<String> = seen.into_iter().map(explained).collect();
    if words.is_empty() { notes } else { notes + &note(&format!("{} {ARROW}", words.join(" "))) }
}

/// What of the seeds is drawn of a score.
fn explained(score: &Score) -> String {
    let spread = match (score.middle, has_bars(score)) {
        (Middle::Median, true) => "medians over seeds, with bars from quartile to quartile",
        (Middle::Median, false) => "medians over seeds; shaded, where there are few lines: from quartile to quartile",
        (Middle::Mean, true) => "means over seeds, with bars of one standard deviation on either side",
        (Middle::Mean, false) => {
            "means over seeds; shaded, where there are few lines: one standard deviation over seeds on either side"
        }
    };
    let about = if score.about.is_empty() { String::new() } else { format!(" {}", score.about) };
    format!("{}: {spread}.{about}", scores::capital(score))
}

/// Whether the spread of the seeds is drawn as bars: errors of methods are far apart, and their shades would hide one another.
fn has_bars(score: &Score) -> bool {
    score.outcome == ScoredOutcome::Number
}

const SINGLE: &str =
    "One seed was run: single values, without a spread. An arrow at the frame: the line goes on outside.";

const MEDIANS: &str = "KL: medians over seeds; light: all but a tenth of the seeds on either side, dark: the half in the \
                       middle. Of each seed the mean of its last ten rounds.";
const ARROW: &str = "An arrow at the frame: the line goes on outside.";

/// How a score is called: in a title, and along its axis, where shares are not in per cent.
pub(crate) fn words(score: FigureScore) -> (&'static str, String) {
    match score {
        FigureScore::Divergence => ("KL(q ‖ exact posterior)", "KL(q ‖ exact posterior), nats".to_owned()),
        FigureScore::HeldOut(score) if score.unit == ScoreUnit::Share => (score.title, score.label.to_owned()),
        FigureScore::HeldOut(score) => (score.title, scores::axis(score)),
    }
}

/// One figure, and the names of its lines.
fn one(index: usize, asked: &Figure, names: &[&str], cells: &[Cell]) -> (String, String) {
    let number = |line: &Line| names.iter().position(|name| *name == line.name).unwrap_or(0);
    let mut series: Vec<Series> =
        asked.lines.iter().flat_map(|line| drawn(number(line), line, asked.score, cells)).collect();
    if asked.lines.len() > CROWDED {
        series.iter_mut().filter(|series| !series.bars).for_each(|series| series.band.clear());
    }
    series.extend(published(asked, cells));
    let legend: String = series.iter().filter(|s| !s.name.is_empty()).map(named).collect();
    let single = cells.iter().all(|cell| cell.seeds < 2);
    let label = format!("{}{}", words(asked.score).1, if single { "" } else { middle(asked.score) });
    let whole = asked.panel.as_ref().map_or_else(|| title(asked), |panel| format!("{}: {panel}", title(asked)));
    let caption = asked.panel.as_ref().unwrap_or(&whole).clone();
    let upright = upright(asked, &series);
    let y = Axis { range: asked.range, ..Axis::new(label, upright) };
    let described = described(&series);
    let plot = Plot { title: whole, x: Axis::new(&asked.along, scale(asked)), y, series };
    let svg = plot.figure(&format!("figure-{index}"), &described);
    (figure(&svg, &caption), legend)
}

/// What of the seeds is drawn.
fn middle(score: FigureScore) -> &'static str {
    match score {
        FigureScore::HeldOut(Score { middle: Middle::Mean, .. }) => ": mean",
        FigureScore::HeldOut(Score { middle: Middle::Median, .. }) | FigureScore::Divergence => ": median",
    }
}

/// A line with its shades or bars; of one seed there are none.
fn drawn(number: usize, line: &Line, score: FigureScore, cells: &[Cell]) -> Vec<Series> {
    let mut series = spread(number, line, score, cells);
    if cells.iter().all(|cell| cell.seeds < 2) {
        series.iter_mut().for_each(|series| series.band.clear());
    }
    series
}

/// The shades around a line: the outer one has the name and the line.
fn spread(number: usize, line: &Line, score: FigureScore, cells: &[Cell]) -> Vec<Series> {
    let found: Vec<(f64, &Cell)> = line.points.iter().filter_map(|p| Some((p.at, cell(p, score, cells)?))).collect();
    let mark = if line.level { Mark::reference(number).level() } else { Mark::of(number) };
    let means = || found.iter().map(|(at, cell)| (*at, cell.ours)).collect();
    let medians = || found.iter().map(|(at, cell)| (*at, cell.median)).collect();
    let deviations = found.iter().map(|(at, cell)| (*at, cell.ours - cell.sd, cell.ours + cell.sd)).collect();
    let quartiles = found.iter().map(|(at, cell)| (*at, cell.quarter, cell.three_quarters)).collect();
    if let FigureScore::HeldOut(score) = score {
        let (points, band) = match score.middle {
            Middle::Mean => (means(), deviations),
            Middle::Median => (medians(), quartiles),
        };
        let bars = has_bars(score) && !line.level;
        let band = if has_bars(score) && line.level { Vec::new() } else { band };
        return vec![Series { band, bars, ..Series::line(&line.name, points, mark) }];
    }
    let mut outer = Series::line(&line.name, medians(), mark);
    outer.band = found.iter().map(|(at, cell)| (*at, cell.low, cell.high)).collect();
    let mut inner = Series::line("", Vec::new(), mark);
    inner.band = quartiles;
    vec![outer, inner]
}

/// The paper's numbers, where it has some.
fn published(asked: &Figure, cells: &[Cell]) -> Option<Series> {
    let points = asked.lines.iter().flat_map(|line| &line.points);
    let points: Vec<(f64, f64)> = points.filter_map(|p| Some((p.at, cell(p, asked.score, cells)?.paper?))).collect();
    (!points.is_empty()).then(|| Series::line("published", points, Mark::reference(0)))
}

fn cell<'a>(point: &FigurePoint, score: FigureScore, cells: &'a [Cell]) -> Option<&'a Cell> {
    cells.iter().find(|cell| cell.metric == score.metric() && cell.row == point.row && cell.column == point.column)
}

/// Divergences, and errors that are far apart, are laid out by their logarithm.
fn upright(asked: &Figure, series: &[Series]) -> Scale {
    let heights = || series.iter().flat_map(|series| series.points.iter().map(|point| point.1));
    let (least, most) = (heights().fold(f64::INFINITY, f64::min), heights().fold(0.0, f64::max));
    match asked.score {
        FigureScore::Divergence => Scale::Log,
        FigureScore::HeldOut(score)
            if score.is_loss() && asked.range.is_none() && least > 0.0 && most >= APART * least =>
        {
            Scale::Log
        }
        FigureScore::HeldOut(_) => Scale::Linear,
    }
}

fn scale(asked: &Figure) -> Scale {
    let places = || asked.lines.iter().flat_map(|line| line.points.iter().map(|point| point.at));
    let (least, most) = (places().fold(f64::INFINITY, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
    if least > 0.0 && most >= WIDE * least { Scale::Log } else { Scale::Linear }
}

pub(crate) fn named(series: &Series) -> String {
    format!("<span>{} {}</span>", series.mark.swatch(), escape(&series.name))
}

/// Every median or mean in words.
fn described(series: &[Series]) -> String {
    let one = |series: &Series| {
        let points: Vec<String> = series.points.iter().map(|(at, score)| format!("{score:.3} at {at}")).collect();
        (!series.name.is_empty()).then(|| format!("{}: {}", series.name, points.join(", ")))
    };
    series.iter().filter_map(one).collect::<Vec<_>>().join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_out(name: &str) -> FigureScore {
        FigureScore::HeldOut(Score::named(name).unwrap())
    }

    fn cell(row: &str, median: f64, paper: Option<f64>) -> Cell {
        Cell {
            row: row.into(),
            column: "all".into(),
            metric: "kl",
            paper,
            agreement: None,
            why: None,
            seeds: 25,
            ours: 2.0 * median,
            sd: median,
            median,
            low: 0.1 * median,
            high: 10.0 * median,
            quarter: 0.5 * median,
            three_quarters: 2.0 * median,
            epsilon: None,
            messages: 1.0,
        }
    }

    fn asked(places: [f64; 2]) -> Figure {
        let point = |(at, row): (f64, &str)| FigurePoint { at, row: row.into(), column: "all".into() };
        let points = places.into_iter().zip(["a", "b"]).map(point).collect();
        let lines = vec![Line { name: "damping < 1".into(), level: false, points }];
        Figure { along: "clipping bound".into(), panel: None, score: FigureScore::Divergence, range: None, lines }
    }

    #[test]
    fn a_figure_has_medians_two_shades_the_papers_number_and_its_axis() {
        let cells = [cell("a", 4.0, Some(22.0)), cell("b", 8.0, None)];
        let html = figures(&[asked([1.0, 2.0])], &cells);
        assert!(html.contains("damping &lt; 1: 4.000 at 1, 8.000 at 2; published: 22.000 at 1."), "{html}");
        assert!(html.contains("by clipping bound") && html.matches("fill-opacity").count() == 2, "{html}");
        assert!(!html.contains("NaN"));
    }

    #[test]
    fn the_bands_are_the_percentiles_of_the_seeds() {
        let cells = [cell("a", 4.0, None), cell("b", 8.0, None)];
        let both = drawn(0, &asked([1.0, 2.0]).lines[0], FigureScore::Divergence, &cells);
        let (outer, inner) = (&both[0], &both[1]);
        assert_eq!(outer.points, [(1.0, 4.0), (2.0, 8.0)]);
        assert_eq!(outer.band, [(1.0, 0.4, 40.0), (2.0, 0.8, 80.0)]);
        assert_eq!(inner.band, [(1.0, 2.0, 8.0), (2.0, 4.0, 16.0)]);
    }

    #[test]
    fn a_score_that_is_no_divergence_is_drawn_by_its_mean_and_baselines_are_levels() {
        let likelihood = |row, mean| Cell { metric: "log_likelihood", ours: mean, sd: 0.1, ..cell(row, 4.0, None) };
        let cells = [likelihood("a", -0.5), likelihood("b", -0.25), cell("a", 9.0, None)];
        let mut wanted = Figure { score: held_out("log_likelihood"), range: Some((-0.4, -0.2)), ..asked([0.1, 8.0]) };
        let line = drawn(0, &wanted.lines[0], wanted.score, &cells);
        assert_eq!((line.len(), line[0].points.as_slice()), (1, [(0.1, -0.5), (8.0, -0.25)].as_slice()));
        assert_eq!(line[0].band[1], (8.0, -0.35, -0.15));
        wanted.lines.push(Line { name: "non-private".into(), level: true, ..wanted.lines[0].clone() });
        let html = figures(&[wanted], &cells);
        assert!(html.contains("Held-out log-likelihood by clipping bound") && html.contains("per row: mean"), "{html}");
        assert!(html.contains("class=\"off\"") && html.contains("means over seeds") && !html.contains("medians"));
        assert_eq!(html.matches("<span>").count(), 2, "a legend of both: {html}");
        assert_eq!(html.matches("fill-opacity").count(), 2, "a shade of each: {html}");
        let crowd = Figure { lines: vec![asked([0.1, 8.0]).lines[0].clone(); 7], ..asked([0.1, 8.0]) };
        assert!(!figures(&[crowd], &cells).contains("fill-opacity"), "many lines, no shades");
    }

    #[test]
    fn errors_have_their_quartiles_as_bars_however_many_lines_and_a_panel_its_name() {
        let error = |row, median| Cell { metric: "absolute_error", ..cell(row, median, None) };
        let cells = [error("a", 4.0), error("b", 8.0)];
        let panel = Some("red & white".to_owned());
        let mut wanted = Figure { score: held_out("absolute_error"), panel, ..asked([0.1, 8.0]) };
        let line = drawn(0, &wanted.lines[0], wanted.score, &cells);
        assert_eq!((line.len(), line[0].points.as_slice()), (1, [(0.1, 4.0), (8.0, 8.0)].as_slice()));
        assert_eq!((line[0].bars, line[0].band.as_slice()), (true, [(0.1, 2.0, 8.0), (8.0, 4.0, 16.0)].as_slice()));
        wanted.lines = vec![wanted.lines[0].clone(); 7];
        let html = figures(&[wanted.clone()], &cells);
        assert_eq!((html.matches("class=\"bar\"").count(), html.matches("fill-opacity").count()), (14, 0), "{html}");
        assert!(
            html.contains("Mean absolute error by clipping bound: red &amp; white") && html.contains("bars"),
            "{html}"
        );
        wanted.lines[0].level = true;
        assert_eq!(figures(&[wanted.clone()], &cells).matches("class=\"bar\"").count(), 12, "a level has none");
        let series = |most| vec![Series::line("", vec![(0.1, 1.0), (8.0, most)], Mark::of(0))];
        assert_eq!(upright(&wanted, &series(3.9)), Scale::Linear);
        assert_eq!(upright(&wanted, &series(4.0)), Scale::Log);
        let cut = Figure { range: Some((0.5, 2.0)), ..wanted };
        assert_eq!(upright(&cut, &series(20.0)), Scale::Linear);
    }

    #[test]
    fn panels_have_one_heading_and_one_legend() {
        let error = |row, median| Cell { metric: "absolute_error", ..cell(row, median, None) };
        let cells = [error("a", 4.0), error("b", 8.0)];
        let panel = |name: &str| Figure {
            score: held_out("absolute_error"),
            panel: Some(name.to_owned()),
            ..asked([0.1, 8.0])
        };
        let html = figures(&[panel("red"), panel("white"), asked([0.1, 8.0])], &cells);
        assert_eq!(html.matches("<h3>Mean absolute error by clipping bound</h3>").count(), 1, "{html}");
        assert_eq!(html.matches("class=\"legend\"").count(), 2, "of the panels, and of the figure alone: {html}");
        assert!(html.contains("<figcaption>red</figcaption>") && html.contains("<figcaption>white</figcaption>"));
        assert!(html.contains("figure-0") && html.contains("figure-1") && html.contains("figure-2"), "{html}");
    }

    #[test]
    fn a_method_has_the_same_colour_in_every_figure() {
        let named = |name: &str| Line { name: name.to_owned(), ..asked([1.0, 2.0]).lines[0].clone() };
        let first = Figure { lines: vec![named("x"), named("y")], ..asked([1.0, 2.0]) };
        let second = Figure { lines: vec![named("y")], ..asked([1.0, 2.0]) };
        let html = figures(&[first, second], &[cell("a", 4.0, None), cell("b", 8.0, None)]);
        let legends: Vec<&str> = html.split("class=\"legend\"").skip(1).collect();
        let y = format!("{} y</span>", Mark::of(1).swatch());
        assert!(legends.len() == 2 && legends.iter().all(|legend| legend.contains(&y)), "{html}");
    }

    #[test]
    fn one_seed_has_no_band_no_bars_and_no_median() {
        let one = |row, median| Cell { metric: "absolute_error", seeds: 1, ..cell(row, median, None) };
        let wanted = Figure { score: held_out("absolute_error"), ..asked([0.1, 8.0]) };
        let html = figures(&[wanted], &[one("a", 4.0), one("b", 8.0)]);
        assert!(
            !html.contains("class=\"bar\"") && !html.contains("fill-opacity") && !html.contains("median"),
            "{html}"
        );
        assert!(html.contains("One seed was run"), "{html}");
    }

    #[test]
    fn places_far_apart_are_laid_out_by_their_logarithm() {
        assert_eq!(scale(&asked([0.25, 10.0])), Scale::Log);
        assert_eq!(scale(&asked([5.0, 30.0])), Scale::Linear);
        assert_eq!(scale(&asked([0.0, 30.0])), Scale::Linear);
        assert!(figures(&[], &[]).is_empty());
    }
}
