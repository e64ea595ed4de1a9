//! A heat map: a number at each place of a grid, coloured by its sign and size and written out.

use super::{PAGE, escape, figure, text};
use std::fmt::Write;

/// Pixels of a row of cells.
const ROW: f64 = 36.0;

/// Pixels between the frame and a tick label.
const TICK: f64 = 8.0;

/// Pixels under the cells, for ticks and label.
const FOOT: f64 = 52.0;

/// Opacities of the least and of the largest number: words stay readable on both.
const OPACITIES: (f64, f64) = (0.06, 0.62);

/// One number.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatCell {
    /// Along the horizontal axis.
    pub at: f64,
    /// Along the vertical axis.
    pub up: f64,
    /// The number: over 0 in one colour, under 0 in another.
    pub value: f64,
    /// As it is written in the cell.
    pub words: String,
}

/// A heat map.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// Read out where the frame cannot be seen.
    pub title: String,
    /// Below the cells.
    pub x: String,
    /// Left of the cells.
    pub y: String,
    /// In any order; a place without one stays blank.
    pub cells: Vec<HeatCell>,
}

impl HeatMap {
    /// The map as a figure of a page. Places are evenly spaced, whatever their distances.
    pub fn figure(&self, id: &str) -> String {
        let columns = places(self.cells.iter().map(|cell| cell.at));
        let mut rows = places(self.cells.iter().map(|cell| cell.up));
        rows.reverse();
        let (left, right, top) = (PAGE.left + 6.0, PAGE.right, PAGE.top);
        let bottom = top + ROW * rows.len() as f64;
        let width = (right - left) / columns.len().max(1) as f64;
        let mut svg = figure(id, &self.title, &self.described(), PAGE.width, bottom + FOOT);
        for (index, at) in columns.iter().enumerate() {
            svg += &text(left + width * (index as f64 + 0.5), bottom + 18.0, "middle", &at.to_string());
        }
        for (index, up) in rows.iter().enumerate() {
            svg += &text(left - TICK, top + ROW * (index as f64 + 0.5) + 4.0, "end", &up.to_string());
        }
        let most = self.cells.iter().map(|cell| cell.value.abs()).fold(0.0, f64::max);
        for cell in &self.cells {
            let place = |places: &[f64], of: f64| places.iter().position(|place| *place == of).unwrap_or(0) as f64;
            let corner = (left + width * place(&columns, cell.at), top + ROW * place(&rows, cell.up));
            svg += &drawn(cell, corner, width, most);
        }
        let (height, frame) = (bottom - top, PAGE.frame);
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{height}\" fill=\"none\" stroke=\"{frame}\"/>",
            right - left
        );
        svg += &text((left + right) / 2.0, bottom + FOOT - 12.0, "middle", &self.x);
        let _ = writeln!(svg, "<g transform=\"translate(14 {}) rotate(-90)\">", (top + bottom) / 2.0);
        svg + &text(0.0, 0.0, "middle", &self.y) + "</g>\n</svg>\n"
    }

    /// Every cell in words.
    fn described(&self) -> String {
        let one = |cell: &HeatCell| format!("{} at {} {}, {} {}", cell.words, self.x, cell.at, self.y, cell.up);
        self.cells.iter().map(one).collect::<Vec<_>>().join("; ") + "."
    }
}

/// One cell, its colour as strong as its number is large.
fn drawn(cell: &HeatCell, (x, y): (f64, f64), width: f64, most: f64) -> String {
    let share = if most > 0.0 && cell.value.is_finite() { cell.value.abs() / most } else { 0.0 };
    let opacity = OPACITIES.0 + (OPACITIES.1 - OPACITIES.0) * share;
    let colour = PAGE.colours[usize::from(cell.value < 0.0)];
    let words = escape(&cell.words);
    format!(
        "<g><title>{words}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{ROW}\" fill=\"{colour}\" \
         fill-opacity=\"{opacity:.3}\" stroke=\"{}\"/>\n{}</g>\n",
        PAGE.ground,
        text(x + width / 2.0, y + ROW / 2.0 + 4.0, "middle", &cell.words)
    )
}

/// All places once, in order.
fn places(all: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut places: Vec<f64> = all.collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(cells: &[(f64, f64, f64)]) -> String {
        let cell = |&(at, up, value): &(f64, f64, f64)| HeatCell { at, up, value, words: format!("{value:+.1}") };
        let cells = cells.iter().map(cell).collect();
        HeatMap { title: "t & u".into(), x: "ρ".into(), y: "κ <".into(), cells }.figure("h")
    }

    #[test]
    fn colours_tell_the_sign_and_opacities_the_size_and_numbers_are_written() {
        let svg = map(&[(0.0, 0.5, 4.0), (0.9, 0.5, -2.0), (0.9, -1.5, 0.0)]);
        let cell =
            |words: &str| svg.lines().find(|line| line.contains(&format!("<title>{words}<"))).unwrap().to_owned();
        assert!(cell("+4.0").contains("var(--c0)") && cell("+4.0").contains("fill-opacity=\"0.620\""), "{svg}");
        assert!(cell("-2.0").contains("var(--c1)") && cell("-2.0").contains("fill-opacity=\"0.340\""), "{svg}");
        assert!(cell("+0.0").contains("fill-opacity=\"0.060\""), "{svg}");
        assert!(svg.contains(">+4.0</text>") && svg.contains("t &amp; u") && svg.contains("κ &lt;"), "{svg}");
        assert!(
            svg.contains("+4.0 at ρ 0, κ &lt; 0.5; -2.0 at ρ 0.9, κ &lt; 0.5; +0.0 at ρ 0.9, κ &lt; -1.5."),
            "{svg}"
        );
    }

    #[test]
    fn columns_run_to_the_right_rows_upwards_and_a_place_without_a_cell_is_blank() {
        let svg = map(&[(0.9, -1.5, 1.0), (0.0, 0.5, 2.0), (0.9, 0.5, 3.0)]);
        let corner = |words: &str| {
            let line = svg.lines().find(|line| line.contains(&format!("<title>{words}<"))).unwrap();
            let of =
                |key: &str| line.split(&format!(" {key}=\"")).nth(1).unwrap().split('"').next().unwrap().parse::<f64>();
            (of("x").unwrap(), of("y").unwrap())
        };
        let (low, left, right) = (corner("+1.0"), corner("+2.0"), corner("+3.0"));
        assert!(left.0 < right.0 && left.1 == right.1 && low.0 == right.0 && low.1 == right.1 + ROW, "{svg}");
        assert_eq!(svg.matches("fill-opacity").count(), 3);
    }

    #[test]
    fn a_map_of_nothing_is_still_drawn() {
        for svg in [map(&[]), map(&[(0.0, 0.0, f64::NAN)])] {
            assert!(svg.ends_with("</svg>\n") && !svg.contains("inf") && !svg.contains("opacity=\"NaN"), "{svg}");
        }
    }
}
