//! Line plots as SVG text: linear or logarithmic axes, several series, a legend; the same input gives the same bytes.

use std::fmt::Write;

/// How values are laid along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// In proportion.
    Linear,
    /// By powers of ten; values that are not positive leave a gap.
    Log,
}

/// One axis.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// What it measures.
    pub(crate) label: String,
    /// How.
    pub(crate) scale: Scale,
}

/// One line.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// Its name in the legend; an empty one is not listed and keeps the colour of the series before it.
    pub(crate) name: String,
    /// (x, y), in order of x. A point that is not finite leaves a gap.
    pub(crate) points: Vec<(f64, f64)>,
    /// Drawn with dashes.
    pub(crate) dashed: bool,
}

/// A plot.
#[derive(Debug, Clone)]
pub(crate) struct Plot {
    /// Above the frame.
    pub(crate) title: String,
    /// Below the frame.
    pub(crate) x: Axis,
    /// Left of the frame.
    pub(crate) y: Axis,
    /// The lines.
    pub(crate) series: Vec<Series>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 420.0;

/// Colours that people with colour blindness can tell apart (Okabe and Ito 2008).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933"];

/// The range of an axis, in transformed units, and its pixels.
struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Ruler {
    /// Spans all finite values; an empty or single-valued range is widened so that it can be drawn.
    fn spanning(scale: Scale, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let along = values.map(|v| transformed(scale, v)).filter(|v| v.is_finite());
        let (low, high) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = match (low < high, low.is_finite()) {
            (true, _) => (low, high),
            (false, true) => (low - 0.5, low + 0.5),
            (false, false) => (0.0, 1.0),
        };
        match scale {
            Scale::Linear => Self { scale, low, high, from, to },
            Scale::Log => Self { scale, low: low.floor(), high: high.ceil(), from, to },
        }
    }

    /// The pixel of a value, if it can be shown.
    fn pixel(&self, value: f64) -> Option<f64> {
        let share = (transformed(self.scale, value) - self.low) / (self.high - self.low);
        share.is_finite().then_some(self.from + share * (self.to - self.from))
    }

    /// Round values along the axis with their labels.
    fn ticks(&self) -> Vec<(f64, String)> {
        let step = match self.scale {
            Scale::Linear => round_step((self.high - self.low) / 8.0),
            Scale::Log => round_step((self.high - self.low) / 8.0).max(1.0),
        };
        let (first, last) = ((self.low / step).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|index| self.tick(index as f64 * step, step)).collect()
    }

    fn tick(&self, at: f64, step: f64) -> (f64, String) {
        match self.scale {
            Scale::Linear => {
                let places = (-step.log10().floor()).max(0.0) as usize;
                (at, format!("{at:.places$}"))
            }
            Scale::Log => (10_f64.powf(at), format!("1e{at:.0}")),
        }
    }
}

fn transformed(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear => value,
        Scale::Log => value.log10(),
    }
}

/// The next of 1, 2, 5, 10, … times a power of ten.
fn round_step(at_least: f64) -> f64 {
    let power = 10_f64.powf(at_least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|m| m * power).find(|s| *s >= at_least * 0.999_999).unwrap_or(power * 10.0)
}

impl Plot {
    /// The plot as one SVG document, without anything from the network.
    pub(crate) fn render(&self) -> String {
        let points = || self.series.iter().flat_map(|s| s.points.iter());
        let x = Ruler::spanning(self.x.scale, points().map(|p| p.0), LEFT, RIGHT);
        let y = Ruler::spanning(self.y.scale, points().map(|p| p.1), BOTTOM, TOP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        for (line, words) in halves(&self.title).iter().enumerate() {
            svg += &text(WIDTH / 2.0, 16.0 + 16.0 * line as f64, "middle", words);
        }
        svg += &self.axes(&x, &y);
        svg += &self.lines(&x, &y);
        svg += &self.legend();
        svg + "</svg>\n"
    }

    /// Frame, grid lines, tick labels and axis labels.
    fn axes(&self, x: &Ruler, y: &Ruler) -> String {
        let mut svg = String::new();
        for (value, label) in x.ticks() {
            let Some(at) = x.pixel(value) else { continue };
            svg += &rule((at, TOP), (at, BOTTOM));
            svg += &text(at, BOTTOM + 18.0, "middle", &label);
        }
        for (value, label) in y.ticks() {
            let Some(at) = y.pixel(value) else { continue };
            svg += &rule((LEFT, at), (RIGHT, at));
            svg += &text(LEFT - 8.0, at + 4.0, "end", &label);
        }
        let (width, height) = (RIGHT - LEFT, BOTTOM - TOP);
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"#333333\"/>"
        );
        svg += &text((LEFT + RIGHT) / 2.0, HEIGHT - 18.0, "middle", &self.x.label);
        let middle = (TOP + BOTTOM) / 2.0;
        let _ = writeln!(svg, "<g transform=\"translate(20 {middle}) rotate(-90)\">");
        svg += &text(0.0, 0.0, "middle", &self.y.label);
        svg + "</g>\n"
    }

    /// The series with their strokes; one without a name shares the colour of the one before. A series is drawn narrower
    /// than those before it, so that one which hides another leaves its edges to be seen.
    fn strokes(&self) -> impl Iterator<Item = (&Series, String)> {
        let mut named = 0_usize;
        let all = self.series.iter().filter(|series| !series.name.is_empty()).count();
        self.series.iter().map(move |series| {
            named += usize::from(!series.name.is_empty());
            let colour = COLOURS[named.saturating_sub(1) % COLOURS.len()];
            let dashes = if series.dashed { " stroke-dasharray=\"5 4\"" } else { "" };
            let width = 2.0 + 1.5 * all.saturating_sub(named) as f64;
            (series, format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}"))
        })
    }

    fn lines(&self, x: &Ruler, y: &Ruler) -> String {
        let line =
            |(series, stroke): (&Series, String)| format!("<path d=\"{}\" {stroke}/>\n", path(&series.points, x, y));
        self.strokes().map(line).collect()
    }

    /// Names of the series, in the upper right corner.
    fn legend(&self) -> String {
        let named: Vec<_> = self.strokes().filter(|(series, _)| !series.name.is_empty()).collect();
        let (left, height) = (RIGHT - 140.0, 20.0 * named.len() as f64 + 12.0);
        let mut svg = format!(
            "<rect x=\"{left}\" y=\"{}\" width=\"132\" height=\"{height}\" fill=\"#ffffff\" fill-opacity=\"0.85\"/>\n",
            TOP + 4.0
        );
        for (index, (series, stroke)) in named.iter().enumerate() {
            let at = TOP + 20.0 * (index + 1) as f64;
            let _ = writeln!(svg, "<path d=\"M{} {at} h24\" {stroke}/>", left + 10.0);
            svg += &text(left + 42.0, at + 4.0, "start", &series.name);
        }
        svg
    }
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

/// A grid line.
fn rule(from: (f64, f64), to: (f64, f64)) -> String {
    format!("<path d=\"M{:.2} {:.2} L{:.2} {:.2}\" stroke=\"#dddddd\"/>\n", from.0, from.1, to.0, to.1)
}

/// A line of text, escaped.
fn text(x: f64, y: f64, anchor: &str, words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\">{words}</text>\n")
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
    use super::*;

    fn plot(points: Vec<(f64, f64)>) -> Plot {
        let axis = |label: &str, scale| Axis { label: label.into(), scale };
        let series = vec![Series { name: "a < b".into(), points, dashed: false }];
        Plot { title: "t & u".into(), x: axis("x", Scale::Linear), y: axis("y", Scale::Log), series }
    }

    #[test]
    fn a_line_goes_from_corner_to_corner_and_words_are_escaped() {
        let svg = plot(vec![(0.0, 1.0), (1.0, 1e-2), (2.0, 1e-4)]).render();
        assert!(svg.contains("M80.00 44.00 L410.00 232.00 L740.00 420.00"), "{svg}");
        assert!(svg.contains("t &amp; u") && svg.contains("a &lt; b"));
        assert!(svg.contains(">1e-4<") && svg.contains(">0.5<") || svg.contains(">0.50<"), "{svg}");
    }

    #[test]
    fn what_cannot_be_shown_leaves_a_gap() {
        let svg = plot(vec![(0.0, 1.0), (1.0, 0.0), (2.0, 0.1), (3.0, f64::NAN)]).render();
        assert!(svg.contains("d=\"M80.00 44.00 M520.00 420.00\""), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn an_empty_or_flat_plot_is_still_drawn() {
        for points in [vec![], vec![(1.0, 1e-5)]] {
            let svg = plot(points).render();
            assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn steps_are_round() {
        for (at_least, step) in [(0.3, 0.5), (1.0, 1.0), (0.11, 0.2), (7.0, 10.0), (30.0, 50.0)] {
            assert!((round_step(at_least) / step - 1.0_f64).abs() < 1e-12, "{at_least}");
        }
    }
}
