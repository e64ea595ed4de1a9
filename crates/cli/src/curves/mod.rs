//! Figures of accounting: ε and δ of plans as curves, from a file with `[[curves]]`, without any data.

mod meant;
mod page;
mod typed;
mod values;

pub(crate) use meant::Curves;

use crate::failure::Failure;
use crate::study::write_whole;
use std::path::Path;
use values::Drawn;

/// `posterity check`: what would be drawn.
pub(crate) fn check(curves: &Curves, json: bool) -> String {
    let lines = |figure: &meant::Figure| {
        figure.lines.iter().map(|line| format!("{} by {}", line.name, line.accountant)).collect::<Vec<_>>()
    };
    if json {
        let figure = |f: &meant::Figure| serde_json::json!({ "title": f.title, "along": f.along.words(), "places": f.places, "lines": lines(f) });
        let figures: Vec<_> = curves.figures.iter().map(figure).collect();
        return format!("{}\n", serde_json::json!({ "study": curves.name, "figures": figures }));
    }
    let mut text = format!("{:<12}{} is sound: a figure of accounting, without data\n", "study", curves.name);
    for figure in &curves.figures {
        let places = figure.places.len();
        text += &format!("{:<12}{}, {places} places along {}\n", "figure", figure.title, figure.along.words());
        lines(figure).iter().for_each(|line| text += &format!("{:<12}{line}\n", "line"));
    }
    text
}

/// `posterity reproduce`: computes all lines, and writes the page and the numbers into a directory.
pub(crate) fn reproduce(curves: &Curves, out: &Path, json: bool) -> Result<String, Failure> {
    let drawn: Vec<Drawn> = curves.figures.iter().map(Drawn::of).collect::<Result<_, _>>()?;
    let (page, csv) = (out.join("index.html"), out.join("curves.csv"));
    for (path, text) in [(&page, page::html(&curves.name, &drawn)), (&csv, values::csv(&drawn))] {
        write_whole(path, text.as_bytes()).map_err(|source| Failure::file("cannot write", path, source))?;
    }
    if json {
        return Ok(values::json(&curves.name, &drawn));
    }
    let tables: Vec<String> = drawn.iter().map(Drawn::table).collect();
    Ok(format!("{}\nnumbers     {}\nreport      {}\n", tables.join("\n"), csv.display(), page.display()))
}
