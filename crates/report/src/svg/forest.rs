//! Forest plots: effects below one another, each a point with its interval, around the line of no effect.

use super::axis::Ruler;
use super::rows::shortened;
use super::{Axis, Mark, PAGE, Scale, Sheet, escape, figure, rule, text};
use std::fmt::Write;

/// Pixels of the names.
const NAMES: f64 = 204.0;
/// Letters of a name that fit there; the whole name is shown when it is pointed at.
const LETTERS: usize = 30;
/// How far the rows under a heading stand in.
const INDENT: f64 = 14.0;
/// Pixels of a row with one point; every further point takes as many as [`POINT`].
const ROW: f64 = 20.0;
/// Pixels of a further point in a row.
const POINT: f64 = 7.0;
/// Half the height of the mark at an interval's end.
const CAP: f64 = 2.5;
/// Pixels under the rows, for ticks and label.
const FOOT: f64 = 44.0;

/// A point, and the interval around it where there is one that may be drawn.
#[derive(Debug, Clone, Copy)]
pub struct ForestPoint {
    /// The point.
    pub at: f64,
    /// Ends of the interval.
    pub ends: Option<(f64, f64)>,
    /// Colour and shape.
    pub mark: Mark,
}

/// One line of the plot.
#[derive(Debug, Clone)]
pub enum ForestRow {
    /// What the rows below have in common.
    Heading(String),
    /// An effect, as different methods see it.
    Effect {
        /// Its name.
        name: String,
        /// Whether it stands under a heading.
        under: bool,
        /// What is read out when it is pointed at.
        words: String,
        /// One for each method.
        points: Vec<ForestPoint>,
    },
}

/// A plot of effects.
#[derive(Debug, Clone)]
pub struct Forest {
    /// What it is, for a reader without eyes.
    pub title: String,
    /// What the axis measures.
    pub label: String,
    /// Ratios stand on a logarithmic scale around 1, differences on a linear one around 0.
    pub scale: Scale,
    /// The rows, from the top.
    pub rows: Vec<ForestRow>,
}

impl Forest {
    /// The plot as a figure of a page.
    pub fn figure(&self, id: &str, description: &str) -> String {
        let neutral = if self.scale == Scale::Log { 1.0 } else { 0.0 };
        let ruler = self.axis(neutral).ruler(std::iter::empty(), NAMES, PAGE.right);
        let bottom = PAGE.top + self.rows.iter().map(ForestRow::height).sum::<f64>();
        let mut svg = figure(id, &self.title, description, PAGE.width, bottom + FOOT);
        for (value, label) in ruler.ticks(PAGE.ticks - 1.0) {
            let Some(at) = ruler.pixel(value) else { continue };
            svg += &rule(&PAGE, (at, PAGE.top), (at, bottom));
            svg += &text(at, bottom + 16.0, "middle", &label);
        }
        if let Some(line) = ruler.pixel(neutral) {
            let _ = writeln!(svg, "<path d=\"M{line:.1} {} V{bottom:.1}\" stroke=\"{}\"/>", PAGE.top, PAGE.frame);
        }
        let mut top = PAGE.top;
        for row in &self.rows {
            svg += &row.drawn(top, &ruler);
            top += row.height();
        }
        svg += &text((NAMES + PAGE.right) / 2.0, bottom + 36.0, "middle", &self.label);
        svg + "</svg>\n"
    }

    /// An axis with room around every interval and the line of no effect.
    fn axis(&self, neutral: f64) -> Axis {
        let values = self.rows.iter().flat_map(ForestRow::values).filter(|v| v.is_finite()).chain([neutral]);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let margin = if self.scale == Scale::Linear { 0.03 * (high - low) } else { 0.0 };
        Axis { label: self.label.clone(), scale: self.scale, range: Some((low - margin, high + margin)) }
    }
}

impl ForestRow {
    fn height(&self) -> f64 {
        match self {
            Self::Heading(_) => ROW,
            Self::Effect { points, .. } => ROW + POINT * points.len().saturating_sub(1) as f64,
        }
    }

    fn values(&self) -> Vec<f64> {
        match self {
            Self::Heading(_) => Vec::new(),
            Self::Effect { points, .. } => points
                .iter()
                .flat_map(|p| [p.at].into_iter().chain(p.ends.into_iter().flat_map(|e| [e.0, e.1])))
                .collect(),
        }
    }

    fn drawn(&self, top: f64, ruler: &Ruler) -> String {
        let middle = top + self.height() / 2.0;
        match self {
            Self::Heading(words) => {
                format!(
                    "<g><title>{}</title>\n{}</g>\n",
                    escape(words),
                    text(2.0, middle + 4.0, "start", &short(words))
                )
            }
            Self::Effect { name, under, words, points } => {
                let at = if *under { 2.0 + INDENT } else { 2.0 };
                let mut svg = format!("<g><title>{}</title>\n", escape(words));
                svg += &text(at, middle + 4.0, "start", &short(name));
                let gap = self.height() / (points.len() as f64 + 1.0);
                for (index, point) in points.iter().enumerate() {
                    svg += &point.drawn(top + gap * (index as f64 + 1.0), ruler, &PAGE);
                }
                svg + "</g>\n"
            }
        }
    }
}

impl ForestPoint {
    fn drawn(&self, middle: f64, ruler: &Ruler, sheet: &Sheet) -> String {
        let Some(at) = ruler.pixel(self.at) else { return String::new() };
        let ends = self.ends.and_then(|(low, high)| Some((ruler.pixel(low)?, ruler.pixel(high)?)));
        let line = ends.map_or_else(String::new, |(low, high)| {
            let (top, cap, colour) = (middle - CAP, 2.0 * CAP, self.mark.colour(sheet));
            format!(
                "<path d=\"M{low:.1} {middle:.1} H{high:.1} M{low:.1} {top:.1} v{cap} M{high:.1} {top:.1} v{cap}\" \
                 fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>\n"
            )
        });
        line + &self.mark.point(sheet, (at, middle), 0.75)
    }
}

fn short(words: &str) -> String {
    shortened(words, LETTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest(scale: Scale, ends: Option<(f64, f64)>) -> String {
        let point = ForestPoint { at: 2.0, ends, mark: Mark::of(0) };
        let effect = ForestRow::Effect { name: "<a>".into(), under: true, words: "two".into(), points: vec![point] };
        let rows = vec![ForestRow::Heading("ward".into()), effect];
        Forest { title: "t".into(), label: "odds ratio".into(), scale, rows }.figure("f", "d")
    }

    #[test]
    fn ratios_stand_around_one_and_differences_around_zero() {
        let ratios = forest(Scale::Log, Some((1.0, 4.0)));
        // From 1 to 5 on a logarithmic axis: the line of no effect is its left end.
        assert!(ratios.contains("M204.0 12 V52.0") && ratios.contains(">5</text>"), "{ratios}");
        assert!(ratios.contains("M204.0 42.0 H"), "the interval begins at 1: {ratios}");
        let differences = forest(Scale::Linear, Some((1.0, 4.0)));
        assert!(differences.contains(">0</text>") && !differences.contains("M204.0 42.0 H"), "{differences}");
    }

    #[test]
    fn an_interval_that_may_not_be_drawn_leaves_the_point() {
        let without = forest(Scale::Log, None);
        assert!(!without.contains("stroke-width=\"1.8\"") && without.contains("&lt;a&gt;"), "{without}");
        assert!(!forest(Scale::Log, Some((0.0, f64::INFINITY))).contains("NaN"));
    }
}
