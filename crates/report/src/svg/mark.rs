//! How one series is told from another, by more than its colour: dashes and the shape of its points.

use super::Sheet;

/// The marks of a series: colour, dashes, shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Which colour, counted from nought; after the last the first comes again.
    colour: usize,
    /// Lengths of dashes and gaps; empty for a full line.
    dashes: &'static str,
    /// The shape of points; none where only the line is drawn.
    shape: Option<usize>,
    /// Points are outlines.
    hollow: bool,
}

/// The colour without a hue.
const NEUTRAL: usize = 6;

/// Colours with a hue.
const METHODS: [usize; 11] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11];

/// Dashes in the order in which they are used.
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

/// Shapes in the order in which they are used, around (0, 0).
const SHAPES: [&str; 6] = [
    "M-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0Z",
    "M-3.3 -3.3h6.6v6.6h-6.6Z",
    "M0 -4.4L4.2 3.1H-4.2Z",
    "M0 -4.7L4.7 0L0 4.7L-4.7 0Z",
    "M0 4.4L4.2 -3.1H-4.2Z",
    "M-4 -1.4h2.6v-2.6h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6Z",
];

impl Mark {
    /// A line in the colour of this number, without points.
    pub fn line(colour: usize, dashed: bool) -> Self {
        Self { colour, dashes: if dashed { "5 4" } else { "" }, shape: None, hollow: false }
    }

    /// The marks of the method with this number: no two of the first 132 are alike.
    pub fn of(number: usize) -> Self {
        Self {
            colour: METHODS[number % METHODS.len()],
            dashes: DASHES[number % 4],
            shape: Some(number % 6),
            hollow: false,
        }
    }

    /// The marks of what methods are measured against: no colour, hollow points, long dashes or dots.
    pub fn reference(number: usize) -> Self {
        Self { colour: NEUTRAL, dashes: ["2 4", "10 5"][number % 2], shape: Some(number % 2), hollow: true }
    }

    /// The same without points: a level across the whole figure, not a path.
    pub fn level(self) -> Self {
        Self { shape: None, ..self }
    }

    /// The same with points, in the shape that goes with its colour.
    pub(super) fn shaped(self) -> Self {
        Self { shape: Some(self.colour % SHAPES.len()), ..self }
    }

    /// Its number among the colours.
    pub(super) fn number(self) -> usize {
        self.colour
    }

    /// Its colour on this sheet.
    pub(super) fn colour(self, sheet: &Sheet) -> &'static str {
        sheet.colours[self.colour % sheet.colours.len()]
    }

    /// Attributes of its line.
    pub(super) fn stroke(self, sheet: &Sheet, width: f64) -> String {
        let colour = self.colour(sheet);
        let dashes = match self.dashes {
            "" => String::new(),
            lengths => format!(" stroke-dasharray=\"{lengths}\""),
        };
        format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}")
    }

    /// Its shape at a point, so many times its usual size; nothing where it has none.
    pub(super) fn point(self, sheet: &Sheet, (x, y): (f64, f64), size: f64) -> String {
        let Some(shape) = self.shape else { return String::new() };
        let (path, colour) = (SHAPES[shape % SHAPES.len()], self.colour(sheet));
        let (fill, stroke, width) = if self.hollow { (sheet.ground, colour, 1.6) } else { (colour, sheet.ground, 1.0) };
        format!(
            "<path transform=\"translate({x:.1} {y:.1}) scale({size})\" d=\"{path}\" fill=\"{fill}\" \
             stroke=\"{stroke}\" stroke-width=\"{width}\"/>\n"
        )
    }

    /// A piece of line with its shape, for a legend of the page.
    pub fn swatch(self) -> String {
        let (stroke, point) = (self.stroke(&super::PAGE, 2.2), self.point(&super::PAGE, (18.0, 7.0), 1.0));
        format!(
            "<svg class=\"swatch\" viewBox=\"0 0 36 14\" width=\"36\" height=\"14\" aria-hidden=\"true\">\
             <path d=\"M1 7 h34\" {stroke}/>{}</svg>",
            point.trim_end()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_marks_are_all_different_and_neighbours_differ_by_more_than_colour() {
        let marks: Vec<Mark> = (0..132).map(Mark::of).collect();
        for (index, one) in marks.iter().enumerate() {
            assert!(marks[..index].iter().all(|other| other != one), "{index}");
        }
        let colours: std::collections::BTreeSet<&str> =
            marks[..11].iter().map(|m| m.colour(&crate::svg::PAGE)).collect();
        assert_eq!(colours.len(), 11, "eleven methods have eleven colours");
        assert!(marks.windows(2).all(|two| two[0].dashes != two[1].dashes && two[0].shape != two[1].shape));
    }
}
