//! Plots as SVG text, without anything from the network: the same input gives the same bytes.

mod axis;
mod forest;
mod heat;
mod lines;
mod mark;
mod rows;

pub use axis::{Axis, Scale};
pub use forest::{Forest, ForestPoint, ForestRow};
pub use heat::{HeatCell, HeatMap};
pub use lines::{Plot, Series};
pub use mark::Mark;
pub use rows::{Bar, RowPlot, Shown, SvgInterval, SvgRow};

/// Size and inks of a drawing.
#[derive(Debug, Clone, Copy)]
struct Sheet {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Ticks of an axis, about.
    ticks: f64,
    grid: &'static str,
    frame: &'static str,
    /// What lies behind: the inside of hollow points, and the edge of the others.
    ground: &'static str,
    colours: [&'static str; 12],
}

/// A document of its own, on white, with room for a legend right of the frame. The first eight colours are those that people with colour blindness can tell apart (Okabe and Ito 2008).
const PAPER: Sheet = Sheet {
    width: 880.0,
    height: 480.0,
    left: 80.0,
    right: 740.0,
    top: 44.0,
    bottom: 420.0,
    ticks: 8.0,
    grid: "#dddddd",
    frame: "#333333",
    ground: "#ffffff",
    colours: [
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933", "#a3293d", "#00788c",
        "#7b3fa0", "#7a5230",
    ],
};

/// A figure of a page, small enough to be read on a phone. The page's style sheet has the inks, for light and for dark.
const PAGE: Sheet = Sheet {
    width: 448.0,
    height: 290.0,
    left: 58.0,
    right: 430.0,
    top: 12.0,
    bottom: 238.0,
    ticks: 5.0,
    grid: "var(--grid)",
    frame: "var(--frame)",
    ground: "var(--card)",
    colours: [
        "var(--c0)",
        "var(--c1)",
        "var(--c2)",
        "var(--c3)",
        "var(--c4)",
        "var(--c5)",
        "var(--c6)",
        "var(--c7)",
        "var(--c8)",
        "var(--c9)",
        "var(--c10)",
        "var(--c11)",
    ],
};

/// Text that means itself in HTML and SVG, between tags and inside quotes. Control characters become blanks.
pub fn escape(words: &str) -> String {
    let mut safe = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            '\n' | '\t' => safe.push(letter),
            other if other.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

/// A grid line.
fn rule(sheet: &Sheet, from: (f64, f64), to: (f64, f64)) -> String {
    format!("<path d=\"M{:.2} {:.2} L{:.2} {:.2}\" stroke=\"{}\"/>\n", from.0, from.1, to.0, to.1, sheet.grid)
}

/// A line of text, escaped.
fn text(x: f64, y: f64, anchor: &str, words: &str) -> String {
    format!("<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\">{}</text>\n", escape(words))
}

/// Opens a figure of a page, with the words that a reader without eyes gets in its place. `id` is unique in the page.
fn figure(id: &str, title: &str, description: &str, width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-labelledby=\"{id}-t {id}-d\" fill=\"currentColor\" font-size=\"13\">\n\
         <title id=\"{id}-t\">{}</title>\n<desc id=\"{id}-d\">{}</desc>\n",
        escape(title),
        escape(description)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_with_a_meaning_is_escaped() {
        assert_eq!(escape("<a b=\"c\" d='e'>&\u{0}"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp; ");
        assert_eq!(escape("Zürich ε\n"), "Zürich ε\n");
    }
}
