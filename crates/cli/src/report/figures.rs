//! Figures of a published table: the median and the spread of the seeds against a number that methods or columns differ in.

use super::page::{figure, note};
use crate::study::{Cell, Figure, Line, Point};
use crate::svg::{Axis, Mark, Plot, Scale, Series, escape};

/// From how many times the least place on the places are laid out by their logarithm.
const WIDE: f64 = 20.0;

/// All figures, each with its legend; nothing without one.
pub(crate) fn figures(asked: &[Figure], cells: &[Cell]) -> String {
    let drawn: String = asked.iter().enumerate().map(|(index, asked)| one(index, asked, cells)).collect();
    if drawn.is_empty() {
        return drawn;
    }
    let words = "Medians over seeds; light: all but a tenth of the seeds on either side, dark: the half in the middle. Of \
                 each seed the mean of its last ten rounds.";
    format!("<div class=\"figures\">\n{drawn}</div>\n{}", note(words))
}

fn one(index: usize, asked: &Figure, cells: &[Cell]) -> String {
    let mut series: Vec<Series> =
        asked.lines.iter().enumerate().flat_map(|(at, line)| drawn(at, line, cells)).collect();
    series.extend(published(asked, cells));
    let legend: String = series.iter().filter(|s| !s.name.is_empty()).map(named).collect();
    let title = format!("KL(q ‖ exact posterior) by {}", asked.along);
    let y = Axis::new("KL(q ‖ exact posterior), nats: median", Scale::Log);
    let described = described(&series);
    let plot = Plot { title: title.clone(), x: Axis::new(&asked.along, scale(asked)), y, series };
    let svg = plot.figure(&format!("figure-{index}"), &described);
    format!("<div>\n{}<div class=\"legend\">{legend}</div>\n</div>\n", figure(&svg, &title))
}

/// Two shades around the medians: the outer one has the name and the line.
fn drawn(number: usize, line: &Line, cells: &[Cell]) -> [Series; 2] {
    let found: Vec<(f64, &Cell)> = line.points.iter().filter_map(|p| Some((p.at, cell(p, cells)?))).collect();
    let mark = Mark::of(number);
    let medians = found.iter().map(|(at, cell)| (*at, cell.median)).collect();
    let mut outer = Series::line(&line.name, medians, mark);
    outer.band = found.iter().map(|(at, cell)| (*at, cell.low, cell.high)).collect();
    let mut inner = Series::line("", Vec::new(), mark);
    inner.band = found.iter().map(|(at, cell)| (*at, cell.quarter, cell.three_quarters)).collect();
    [outer, inner]
}

/// The paper's numbers, where it has some.
fn published(asked: &Figure, cells: &[Cell]) -> Option<Series> {
    let points = asked.lines.iter().flat_map(|line| &line.points);
    let points: Vec<(f64, f64)> = points.filter_map(|p| Some((p.at, cell(p, cells)?.paper?))).collect();
    (!points.is_empty()).then(|| Series::line("published", points, Mark::reference(0)))
}

fn cell<'a>(point: &Point, cells: &'a [Cell]) -> Option<&'a Cell> {
    cells.iter().find(|cell| cell.metric == "kl" && cell.row == point.row && cell.column == point.column)
}

fn scale(asked: &Figure) -> Scale {
    let places = || asked.lines.iter().flat_map(|line| line.points.iter().map(|point| point.at));
    let (least, most) = (places().fold(f64::INFINITY, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
    if least > 0.0 && most >= WIDE * least { Scale::Log } else { Scale::Linear }
}

fn named(series: &Series) -> String {
    format!("<span>{} {}</span>", series.mark.swatch(), escape(&series.name))
}

/// Every median in words.
fn described(series: &[Series]) -> String {
    let one = |series: &Series| {
        let points: Vec<String> = series.points.iter().map(|(at, kl)| format!("{kl:.3} at {at}")).collect();
        (!series.name.is_empty()).then(|| format!("{}: {}", series.name, points.join(", ")))
    };
    series.iter().filter_map(one).collect::<Vec<_>>().join("; ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(row: &str, median: f64, paper: Option<f64>) -> Cell {
        Cell {
            row: row.into(),
            column: "all".into(),
            metric: "kl",
            paper,
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
        let point = |(at, row): (f64, &str)| Point { at, row: row.into(), column: "all".into() };
        let points = places.into_iter().zip(["a", "b"]).map(point).collect();
        Figure { along: "clipping bound".into(), lines: vec![Line { name: "damping < 1".into(), points }] }
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
        let [outer, inner] = drawn(0, &asked([1.0, 2.0]).lines[0], &[cell("a", 4.0, None), cell("b", 8.0, None)]);
        assert_eq!(outer.points, [(1.0, 4.0), (2.0, 8.0)]);
        assert_eq!(outer.band, [(1.0, 0.4, 40.0), (2.0, 0.8, 80.0)]);
        assert_eq!(inner.band, [(1.0, 2.0, 8.0), (2.0, 4.0, 16.0)]);
    }

    #[test]
    fn places_far_apart_are_laid_out_by_their_logarithm() {
        assert_eq!(scale(&asked([0.25, 10.0])), Scale::Log);
        assert_eq!(scale(&asked([5.0, 30.0])), Scale::Linear);
        assert_eq!(scale(&asked([0.0, 30.0])), Scale::Linear);
        assert!(figures(&[], &[]).is_empty());
    }
}
