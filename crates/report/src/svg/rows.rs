//! Row plots: one line of text after the other, each with a bar or with intervals along a common axis.

use super::axis::Ruler;
use super::{Axis, Mark, PAGE, Sheet, escape, figure, rule, text};
use std::fmt::Write;

/// Pixels of the names.
const NAMES: f64 = 142.0;
/// Letters of a name that fit there; the whole name is shown when it is pointed at.
const LETTERS: usize = 18;
/// Pixels of a row.
const ROW: f64 = 21.0;
/// Half the height of the mark at an interval's end: an end without it would be one that was cut off.
const CAP: f64 = 2.5;
/// Pixels under the rows, for ticks and label.
const FOOT: f64 = 44.0;

/// A bar of what was used in a frame of what was granted.
#[derive(Debug, Clone, Copy)]
pub struct Bar {
    /// Length of the bar.
    pub used: f64,
    /// Length of the frame.
    pub granted: f64,
    /// Its colour.
    pub mark: Mark,
}

/// A point, with an interval around it where there is one.
#[derive(Debug, Clone, Copy)]
pub struct SvgInterval {
    /// The point.
    pub at: f64,
    /// The ends of the interval, where there is one that may be drawn.
    pub ends: Option<(f64, f64)>,
    /// Its colour and shape.
    pub mark: Mark,
}

/// What a row shows.
#[derive(Debug, Clone)]
pub enum Shown {
    /// One bar.
    Bar(Bar),
    /// Intervals below one another.
    Intervals(Vec<SvgInterval>),
}

/// One row.
#[derive(Debug, Clone)]
pub struct SvgRow {
    /// Its name.
    pub name: String,
    /// Its drawing.
    pub shown: Shown,
    /// What is read out when it is pointed at.
    pub words: String,
}

/// A plot of rows.
#[derive(Debug, Clone)]
pub struct RowPlot {
    /// What it is, for a reader without eyes.
    pub title: String,
    /// The common axis.
    pub axis: Axis,
    /// The rows, from the top.
    pub rows: Vec<SvgRow>,
}

impl RowPlot {
    /// The plot as a figure of a page.
    pub fn figure(&self, id: &str, description: &str) -> String {
        let bottom = PAGE.top + ROW * self.rows.len() as f64;
        let ruler = self.axis.ruler(self.rows.iter().flat_map(|row| row.shown.ends()), NAMES, PAGE.right);
        let mut svg = figure(id, &self.title, description, PAGE.width, bottom + FOOT);
        for (value, label) in ruler.ticks(PAGE.ticks) {
            let Some(at) = ruler.pixel(value) else { continue };
            svg += &rule(&PAGE, (at, PAGE.top), (at, bottom));
            svg += &text(at, bottom + 16.0, "middle", &label);
        }
        if let Some(zero) = ruler.pixel(0.0).filter(|at| (NAMES..=PAGE.right).contains(at)) {
            let _ = writeln!(svg, "<path d=\"M{zero:.1} {} V{bottom}\" stroke=\"{}\"/>", PAGE.top, PAGE.frame);
        }
        for (index, row) in self.rows.iter().enumerate() {
            svg += &row.drawn(PAGE.top + ROW * (index as f64 + 0.5), &ruler, &PAGE);
        }
        svg += &text((NAMES + PAGE.right) / 2.0, bottom + 36.0, "middle", &self.axis.label);
        svg + "</svg>\n"
    }
}

impl Shown {
    /// All values that must be on the axis.
    fn ends(&self) -> Vec<f64> {
        match self {
            Self::Bar(bar) => vec![0.0, bar.used, bar.granted],
            Self::Intervals(all) => {
                let ends = |i: &SvgInterval| i.ends.unwrap_or((i.at, i.at));
                all.iter().flat_map(|i| [ends(i).0, ends(i).1]).collect()
            }
        }
    }
}

impl SvgRow {
    fn drawn(&self, middle: f64, ruler: &Ruler, sheet: &Sheet) -> String {
        let mut svg = format!("<g><title>{}</title>\n", escape(&self.words));
        svg += &text(NAMES - 8.0, middle + 4.0, "end", &shortened(&self.name, LETTERS));
        match &self.shown {
            Shown::Bar(bar) => svg += &bar.drawn(middle, ruler, sheet),
            Shown::Intervals(all) => {
                let gap = ROW / (all.len() as f64 + 1.0);
                for (index, interval) in all.iter().enumerate() {
                    svg += &interval.drawn(middle - ROW / 2.0 + gap * (index as f64 + 1.0), ruler, sheet);
                }
            }
        }
        svg + "</g>\n"
    }
}

impl Bar {
    fn drawn(&self, middle: f64, ruler: &Ruler, sheet: &Sheet) -> String {
        let (Some(zero), Some(used)) = (ruler.pixel(0.0), ruler.pixel(self.used)) else { return String::new() };
        let (top, high, colour) = (middle - 6.0, 12.0, self.mark.colour(sheet));
        let mut svg = format!(
            "<rect x=\"{zero:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{high}\" fill=\"{colour}\" fill-opacity=\"0.8\"/>\n",
            used - zero
        );
        if let Some(granted) = ruler.pixel(self.granted) {
            let _ = writeln!(
                svg,
                "<rect x=\"{zero:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{high}\" fill=\"none\" \
                 stroke=\"currentColor\"/>",
                granted - zero
            );
        }
        svg
    }
}

impl SvgInterval {
    fn drawn(&self, middle: f64, ruler: &Ruler, sheet: &Sheet) -> String {
        let Some(at) = ruler.pixel(self.at) else { return String::new() };
        let point = self.mark.point(sheet, (at, middle), 0.75);
        let Some((low, high)) = self.ends else { return point };
        let ends = (ruler.pixel(low), ruler.pixel(high));
        let (Some(low), Some(high)) = ends else { return String::new() };
        let colour = self.mark.colour(sheet);
        let (top, cap) = (middle - CAP, 2.0 * CAP);
        let line = format!(
            "<path d=\"M{low:.1} {middle:.1} H{high:.1} M{low:.1} {top:.1} v{cap} M{high:.1} {top:.1} v{cap}\" \
             fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>\n"
        );
        line + &point
    }
}

/// A name that fits, with a sign that something was cut off.
pub(super) fn shortened(name: &str, letters: usize) -> String {
    if name.chars().count() <= letters {
        return name.to_owned();
    }
    name.chars().take(letters - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::Scale;

    fn plot(rows: Vec<SvgRow>) -> String {
        RowPlot { title: "t".into(), axis: Axis::new("ε", Scale::Linear), rows }.figure("r", "d")
    }

    #[test]
    fn a_bar_is_as_long_as_what_was_used_and_its_frame_as_what_was_granted() {
        let bar = Bar { used: 0.5, granted: 1.0, mark: Mark::of(0) };
        let svg = plot(vec![SvgRow { name: "<b>".into(), shown: Shown::Bar(bar), words: "half".into() }]);
        assert!(svg.contains("x=\"142.0\" y=\"16.5\" width=\"144.0\"") && svg.contains("width=\"288.0\""), "{svg}");
        assert!(svg.contains("&lt;b&gt;") && svg.contains("<title>half</title>"));
    }

    #[test]
    fn both_ends_of_an_interval_are_marked() {
        let interval = SvgInterval { at: 0.0, ends: Some((-1.0, 1.0)), mark: Mark::of(1) };
        let svg =
            plot(vec![SvgRow { name: "a".into(), shown: Shown::Intervals(vec![interval]), words: String::new() }]);
        assert!(svg.contains("M142.0 22.5 H430.0 M142.0 20.0 v5 M430.0 20.0 v5"), "{svg}");
    }

    #[test]
    fn long_names_are_cut_with_a_sign_and_strange_numbers_are_not_drawn() {
        assert_eq!((shortened("short", 5), shortened("longer", 5)), ("short".to_owned(), "long…".to_owned()));
        let interval = SvgInterval { at: f64::NAN, ends: Some((f64::NAN, 1.0)), mark: Mark::of(1) };
        let svg =
            plot(vec![SvgRow { name: "a".into(), shown: Shown::Intervals(vec![interval]), words: String::new() }]);
        assert!(!svg.contains("NaN"), "{svg}");
        assert!(plot(vec![]).ends_with("</svg>\n"));
    }

    #[test]
    fn a_point_without_an_interval_has_no_bar() {
        let drawn = |ends| {
            let interval = SvgInterval { at: 0.5, ends, mark: Mark::of(1) };
            plot(vec![SvgRow { name: "a".into(), shown: Shown::Intervals(vec![interval]), words: String::new() }])
        };
        let around = Some((-0.5, 1.5));
        assert!(drawn(around).contains("stroke-width=\"1.8\""));
        assert!(!drawn(None).contains("stroke-width=\"1.8\"") && drawn(None).len() + 400 > drawn(around).len());
    }
}
