//! Line plots: linear or logarithmic axes, several series, bands; a document of its own or a figure of a page.

use super::axis::Ruler;
use super::{Axis, Mark, PAGE, PAPER, Sheet, escape, figure, rule, text};
use std::fmt::Write;

/// Points of a series that carry its shape in a figure.
const SHAPED: usize = 6;

/// A line of a document with fewer points than this shows them.
const FEW: usize = 20;

/// Pixels of the label along the vertical axis, from the left edge.
const LABEL: f64 = 22.0;

/// Pixels of a letter of a tick label, at most.
const LETTER: f64 = 7.6;

/// Pixels between a tick label and the frame.
const TICK: f64 = 8.0;

/// One line.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name in the legend; an empty one is not listed.
    pub name: String,
    /// (x, y), in order of x. A point that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
    /// (x, lower, upper), in order of x: what lies between is shaded. Empty for no band.
    pub band: Vec<(f64, f64, f64)>,
    /// The band is not shaded, but drawn as an upright bar at each of its places.
    pub bars: bool,
    /// No line joins the points, and each carries its shape.
    pub dots: bool,
    /// Colour, dashes, shape.
    pub mark: Mark,
    /// Class of its group in a page, by which the page may hide it; empty for none.
    pub class: String,
}

impl Series {
    /// A line without a band.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>, mark: Mark) -> Self {
        Self { name: name.into(), points, band: Vec::new(), bars: false, dots: false, mark, class: String::new() }
    }

    /// Points that no line joins, in any order.
    pub fn dots(name: impl Into<String>, points: Vec<(f64, f64)>, mark: Mark) -> Self {
        Self { dots: true, ..Self::line(name, points, mark) }
    }
}

/// A plot.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Above the frame, or read out where the frame cannot be seen.
    pub title: String,
    /// Below the frame.
    pub x: Axis,
    /// Left of the frame.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

impl Plot {
    /// The plot as one SVG document with title and legend.
    pub fn document(&self) -> String {
        let (sheet, (x, y)) = (&PAPER, self.rulers(&PAPER));
        let (width, height) = (sheet.width, sheet.height);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
             font-size=\"13\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        for (line, words) in halves(&self.title).iter().enumerate() {
            svg += &text(width / 2.0, 16.0 + 16.0 * line as f64, "middle", words);
        }
        svg += &self.axes(sheet, &x, &y);
        for series in &self.series {
            let _ = writeln!(svg, "<path d=\"{}\" {}/>", path(&series.points, &x, &y), self.stroke(series));
            if series.points.len() < FEW {
                svg += &points(series.mark.shaped(), series.points.iter(), sheet, &x, &y);
            }
        }
        svg += &self.legend();
        svg + "</svg>\n"
    }

    /// The plot as a figure of a page. What lies outside a range that was named is cut off at the frame.
    pub fn figure(&self, id: &str, description: &str) -> String {
        let sheet = &self.roomy(PAGE);
        let (x, y) = self.rulers(sheet);
        let mut svg = figure(id, &self.title, description, sheet.width, sheet.height);
        svg += &self.axes(sheet, &x, &y);
        let (left, top) = (sheet.left - 5.0, sheet.top - 5.0);
        let (width, height) = (sheet.right + 5.0 - left, sheet.bottom - top);
        let _ = writeln!(
            svg,
            "<svg x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" viewBox=\"{left} {top} {width} {height}\">"
        );
        for series in &self.series {
            svg += &drawn(series, sheet, &x, &y);
        }
        svg + "</svg>\n</svg>\n"
    }

    /// The sheet with as much room left of the frame as the longest tick label and the axis label need.
    fn roomy(&self, sheet: Sheet) -> Sheet {
        let (_, y) = self.rulers(&sheet);
        let longest = y.ticks(sheet.ticks).iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
        Sheet { left: LABEL + LETTER * longest as f64 + TICK, ..sheet }
    }

    fn rulers(&self, sheet: &Sheet) -> (Ruler, Ruler) {
        let points = || self.series.iter().flat_map(|s| s.points.iter());
        let bands = || self.series.iter().flat_map(|s| s.band.iter());
        let heights = points().map(|p| p.1).chain(bands().flat_map(|b| [b.1, b.2]));
        let x = self.x.ruler(points().map(|p| p.0), sheet.left, sheet.right);
        (x, self.y.ruler(heights, sheet.bottom, sheet.top))
    }

    /// Frame, grid lines, tick labels and axis labels.
    fn axes(&self, sheet: &Sheet, x: &Ruler, y: &Ruler) -> String {
        let mut svg = String::new();
        let Sheet { left, right, top, bottom, frame, .. } = *sheet;
        for (value, label) in x.ticks(sheet.ticks) {
            let Some(at) = x.pixel(value) else { continue };
            svg += &rule(sheet, (at, top), (at, bottom));
            svg += &text(at, bottom + 18.0, "middle", &label);
        }
        for (value, label) in y.ticks(sheet.ticks) {
            let Some(at) = y.pixel(value) else { continue };
            svg += &rule(sheet, (left, at), (right, at));
            svg += &text(left - TICK, at + 4.0, "end", &label);
        }
        let (width, height) = (right - left, bottom - top);
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"{frame}\"/>"
        );
        svg += &text((left + right) / 2.0, sheet.height - 18.0, "middle", &self.x.label);
        let (edge, middle) = (LABEL - 8.0, (top + bottom) / 2.0);
        let _ = writeln!(svg, "<g transform=\"translate({edge} {middle}) rotate(-90)\">");
        svg += &text(0.0, 0.0, "middle", &self.y.label);
        svg + "</g>\n"
    }

    /// The stroke of a series in a document. A series is drawn narrower than those before it, so that one which hides
    /// another leaves its edges to be seen.
    fn stroke(&self, series: &Series) -> String {
        let all = self.series.iter().filter(|series| !series.name.is_empty()).count();
        series.mark.stroke(&PAPER, 2.0 + 1.5 * all.saturating_sub(series.mark.number() + 1) as f64)
    }

    /// Names of the series, right of the frame, where no line can pass.
    fn legend(&self) -> String {
        let (left, mut svg) = (PAPER.right + 14.0, String::new());
        for (index, series) in self.series.iter().filter(|series| !series.name.is_empty()).enumerate() {
            let at = PAPER.top + 20.0 * (index as f64 + 0.5);
            let _ = writeln!(svg, "<path d=\"M{left} {at} h24\" {}/>", self.stroke(series));
            if series.points.len() < FEW {
                svg += &series.mark.shaped().point(&PAPER, (left + 12.0, at), 1.0);
            }
            svg += &text(left + 32.0, at + 4.0, "start", &series.name);
        }
        svg
    }
}

/// One series of a figure: its band, its line, and its shape at a few points, the last among them.
fn drawn(series: &Series, sheet: &Sheet, x: &Ruler, y: &Ruler) -> String {
    let class = if series.class.is_empty() { String::new() } else { format!(" class=\"{}\"", escape(&series.class)) };
    let mut svg = format!("<g{class}><title>{}</title>\n", escape(&series.name));
    let upper = series.band.iter().map(|b| (b.0, b.2));
    let lower = series.band.iter().rev().map(|b| (b.0, b.1));
    let around: Vec<_> = upper.chain(lower).collect();
    let colour = series.mark.colour(sheet);
    if series.bars {
        series.band.iter().for_each(|bar| svg += &upright(bar, colour, x, y));
    } else if !around.is_empty() {
        let _ = writeln!(svg, "<path d=\"{}Z\" fill=\"{colour}\" fill-opacity=\"0.16\"/>", path(&around, x, y));
    }
    if series.dots {
        return svg + &points(series.mark, series.points.iter(), sheet, x, y) + "</g>\n";
    }
    let _ = writeln!(svg, "<path d=\"{}\" {}/>", path(&series.points, x, y), series.mark.stroke(sheet, 2.2));
    let every = series.points.len().div_ceil(SHAPED).max(1);
    svg += &points(series.mark, series.points.iter().rev().step_by(every), sheet, x, y);
    svg += &arrows(series, sheet, x, y);
    svg + "</g>\n"
}

/// An upright bar.
fn upright(&(at, low, high): &(f64, f64, f64), colour: &str, x: &Ruler, y: &Ruler) -> String {
    let (Some(at), Some(low), Some(high)) = (x.pixel(at), y.pixel(low), y.pixel(high)) else { return String::new() };
    format!("<path class=\"bar\" d=\"M{at:.1} {low:.1} V{high:.1}\" stroke=\"{colour}\" stroke-width=\"1.4\"/>\n")
}

/// An arrow at the frame wherever the line leaves it, below or above.
fn arrows(series: &Series, sheet: &Sheet, x: &Ruler, y: &Ruler) -> String {
    let pixel = |&(along, up): &(f64, f64)| Some((x.pixel(along)?, y.pixel(up)?));
    let (colour, mut svg) = (series.mark.colour(sheet), String::new());
    for pair in series.points.windows(2) {
        let (Some(from), Some(to)) = (pixel(&pair[0]), pixel(&pair[1])) else { continue };
        for (edge, outwards) in [(sheet.bottom, 1.0), (sheet.top, -1.0)] {
            if ((from.1 - edge) * outwards > 0.5) == ((to.1 - edge) * outwards > 0.5) {
                continue;
            }
            let at = from.0 + (to.0 - from.0) * (edge - from.1) / (to.1 - from.1);
            let (tip, back) = (edge - 1.0 * outwards, -8.0 * outwards);
            let _ = writeln!(svg, "<path class=\"off\" d=\"M{at:.1} {tip:.1} l-5 {back} h10 Z\" fill=\"{colour}\"/>");
        }
    }
    svg
}

/// The shape of a mark at these points, where they can be shown.
fn points<'a>(mark: Mark, at: impl Iterator<Item = &'a (f64, f64)>, sheet: &Sheet, x: &Ruler, y: &Ruler) -> String {
    let pixels = at.filter_map(|&(along, up)| Some((x.pixel(along)?, y.pixel(up)?)));
    pixels.map(|place| mark.point(sheet, place, 1.0)).collect()
}

/// The path through all points that can be shown, with gaps where one cannot.
fn path(points: &[(f64, f64)], x: &Ruler, y: &Ruler) -> String {
    let (mut path, mut pen) = (String::new(), 'M');
    for &(along, up) in points {
        match (x.pixel(along), y.pixel(up)) {
            (Some(column), Some(row)) => {
                let _ = write!(path, "{pen}{column:.2} {row:.2} ");
                pen = 'L';
            }
            _ => pen = 'M',
        }
    }
    path.trim_end().to_owned()
}

/// A title in one line, or in two of about the same length.
fn halves(title: &str) -> Vec<&str> {
    let middle = title.char_indices().nth(title.chars().count() / 2).map_or(0, |(at, _)| at);
    match title[middle..].find(' ') {
        Some(space) if title.chars().count() > 90 => vec![&title[..middle + space], &title[middle + space + 1..]],
        _ => vec![title],
    }
}

#[cfg(test)]
mod tests {
    use super::super::Scale;
    use super::*;

    fn plot(points: Vec<(f64, f64)>) -> Plot {
        let series = vec![Series::line("a < b", points, Mark::line(0, false))];
        Plot { title: "t & u".into(), x: Axis::new("x", Scale::Linear), y: Axis::new("y", Scale::Log), series }
    }

    #[test]
    fn a_line_goes_from_corner_to_corner_and_words_are_escaped() {
        let svg = plot(vec![(0.0, 1.0), (1.0, 1e-2), (2.0, 1e-4)]).document();
        assert!(svg.contains("M80.00 44.00 L410.00 232.00 L740.00 420.00"), "{svg}");
        assert!(svg.contains("t &amp; u") && svg.contains("a &lt; b"));
        assert!(svg.contains(">1e-4<") && svg.contains(">0.5<") || svg.contains(">0.50<"), "{svg}");
    }

    #[test]
    fn the_legend_does_not_cover_the_curves() {
        let svg = plot(vec![(0.0, 1.0), (1.0, 1e-2), (2.0, 1e-4)]).document();
        let legend = svg.lines().find(|line| line.contains("a &lt; b")).unwrap();
        let left: f64 = legend.split('"').nth(1).unwrap().parse().unwrap();
        assert!(left > PAPER.right && left + 80.0 < PAPER.width, "{legend}");
    }

    #[test]
    fn few_points_are_marked_and_many_are_not() {
        let marked = |count: usize| {
            let svg = plot((0..count).map(|i| (i as f64, 0.5_f64.powi(i as i32))).collect()).document();
            assert!(!svg.contains("var("), "a document has no style sheet: {svg}");
            svg.matches("translate(").count()
        };
        // One is the label of the vertical axis, and one more is in the legend.
        assert_eq!((marked(4), marked(19), marked(20)), (6, 21, 1));
    }

    #[test]
    fn dots_are_all_marked_and_no_line_joins_them() {
        let mut plot = plot(vec![]);
        plot.series =
            vec![Series::dots("d", (1..=30).map(|i| (i as f64, 1.0 + (i % 7) as f64)).collect(), Mark::of(0))];
        let svg = plot.figure("f", "");
        // One more is the label of the vertical axis.
        assert_eq!(svg.matches("translate(").count(), 31, "{svg}");
        assert!(!svg.contains("stroke-width=\"2.2\""), "{svg}");
    }

    #[test]
    fn what_cannot_be_shown_leaves_a_gap() {
        let svg = plot(vec![(0.0, 1.0), (1.0, 0.0), (2.0, 0.1), (3.0, f64::NAN)]).document();
        assert!(svg.contains("d=\"M80.00 44.00 M520.00 420.00\""), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn an_empty_or_flat_plot_is_still_drawn() {
        for points in [vec![], vec![(1.0, 1e-5)]] {
            let svg = plot(points).document();
            assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn a_curve_that_leaves_the_frame_has_an_arrow_there_and_labels_have_room() {
        let mut plot = plot(vec![(0.0, -0.5), (1.0, 0.5), (2.0, 0.6)]);
        plot.y = Axis::between("y", 0.0, 1.0);
        let svg = plot.figure("f", "");
        assert_eq!(svg.matches("class=\"off\"").count(), 1, "{svg}");
        plot.y = Axis::between("y", -1.0, 1.0);
        assert!(!plot.figure("f", "").contains("class=\"off\""));
        let mut left = |low: f64, high: f64| {
            plot.y = Axis::between("y", low, high);
            plot.roomy(PAGE).left
        };
        // "4" against "-12000.0".
        assert_eq!((left(0.0, 4.0), left(-12000.0, -11999.0)), (LABEL + LETTER + TICK, LABEL + 8.0 * LETTER + TICK));
    }

    #[test]
    fn a_figure_has_words_a_band_and_shapes_and_no_colour_of_its_own() {
        let mut plot = plot(vec![(0.0, 1.0), (1.0, 1e-2)]);
        plot.series[0].mark = Mark::of(2);
        plot.series[0].band = vec![(0.0, 0.5, 1.0), (1.0, 5e-3, 2e-2)];
        plot.series[0].class = "m2".into();
        let svg = plot.figure("f", "falls & ends");
        assert!(svg.contains("<title id=\"f-t\">t &amp; u</title>") && svg.contains("falls &amp; ends"), "{svg}");
        assert!(svg.contains("<g class=\"m2\">") && svg.contains("fill-opacity") && svg.contains("translate("));
        assert!(svg.contains("var(--c2)") && svg.contains("stroke-dasharray") && !svg.contains("#ffffff"));
    }
}
