//! Tables that become cards on a phone, and the small bars inside them.

use maud::{Markup, Render, html};
use std::ops::Range;

/// Pixels of an interval's drawing.
const WIDTH: f64 = 260.0;

/// Pixels left and right of the longest interval.
const MARGIN: f64 = 6.0;

/// A cell.
pub(super) enum TableCell {
    /// It names its row.
    Name(Markup),
    /// It belongs to its row.
    Value(Markup),
}

impl TableCell {
    /// The name of a row.
    pub(super) fn name(name: &str) -> Self {
        Self::Name(html! { (name) })
    }

    /// A value that is text.
    pub(super) fn text(text: impl Render) -> Self {
        Self::Value(html! { (text) })
    }

    /// A value of its own shape.
    pub(super) fn of(markup: Markup) -> Self {
        Self::Value(markup)
    }
}

/// A table.
pub(super) struct HtmlTable {
    id: &'static str,
    caption: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<TableCell>>,
}

impl HtmlTable {
    /// A table without rows. `id` is unique in the page.
    pub(super) fn new(id: &'static str, caption: &'static str, columns: Vec<&'static str>) -> Self {
        Self { id, caption, columns, rows: Vec::new() }
    }

    /// Adds a row, with as many cells as there are columns.
    pub(super) fn push(&mut self, cells: Vec<TableCell>) {
        self.rows.push(cells);
    }

    /// The table in a frame that scrolls where it is too wide. Cells carry the names of their columns, for the cards.
    pub(super) fn html(&self) -> Markup {
        html! {
            div.wide #(self.id) tabindex="0" role="region" aria-label=(self.caption) {
                table {
                    caption { (self.caption) }
                    thead { tr { @for column in &self.columns { th scope="col" { (column) } } } }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (column, cell) in self.columns.iter().zip(row) {
                                    @match cell {
                                        TableCell::Name(name) => th scope="row" { (name) },
                                        TableCell::Value(value) => td data-column=(column) { div { (value) } },
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A bar of what was used in a frame of what there is. The numbers stand beside it.
pub(super) fn bar(used: f64, granted: f64) -> Markup {
    let share = (used / granted).clamp(0.0, 1.0);
    let length = if share.is_finite() { 100.0 * share } else { 0.0 };
    html! {
        svg.bar viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect.frame width="100" height="8" {}
            rect.used width=(format!("{length:.1}")) height="8" {}
        }
    }
}

/// An interval with its middle, on a common scale, with a line at 0.
pub(super) fn interval_bar(low: f64, middle: f64, high: f64, scale: &Range<f64>) -> Markup {
    let pixel = |value: f64| MARGIN + (value - scale.start) / (scale.end - scale.start) * (WIDTH - 2.0 * MARGIN);
    let places = [low, middle, high, 0.0].map(pixel);
    let [low, middle, high, zero] = places.map(|place| format!("{place:.1}"));
    html! {
        @if places.iter().all(|place| place.is_finite()) {
            svg.interval viewBox={ "0 0 " (WIDTH) " 16" } width=(WIDTH) height="16" aria-hidden="true" {
                path.zero d={ "M" (zero) " 0 V16" } {}
                path.reach d={ "M" (low) " 8 H" (high) " M" (low) " 5 v6 M" (high) " 5 v6" } {}
                circle.middle cx=(middle) cy="8" r="3.2" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_never_longer_than_its_frame_and_strange_numbers_are_not_drawn() {
        assert!(bar(1.0, 4.0).into_string().contains("width=\"25.0\""));
        assert!(bar(5.0, 4.0).into_string().contains("width=\"100.0\""));
        for (used, granted) in [(1.0, f64::INFINITY), (0.0, 0.0), (f64::NAN, 1.0), (-1.0, 1.0)] {
            assert!(bar(used, granted).into_string().contains("width=\"0.0\""), "{used} of {granted}");
        }
    }

    #[test]
    fn an_interval_lies_on_the_common_scale() {
        let svg = interval_bar(-1.0, 0.0, 1.0, &(-1.0..1.0)).into_string();
        assert!(svg.contains("M6.0 8 H254.0") && svg.contains("cx=\"130.0\"") && svg.contains("M130.0 0 V16"), "{svg}");
        assert_eq!(interval_bar(f64::NAN, 0.0, 1.0, &(0.0..1.0)).into_string(), "");
        assert_eq!(interval_bar(0.0, 0.0, 0.0, &(0.0..0.0)).into_string(), "");
    }
}
