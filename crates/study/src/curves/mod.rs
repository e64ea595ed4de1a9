//! Figures of accounting: ε and δ of plans as curves, from a file with `[[curves]]`, without any data.

mod formula;
mod grid;
mod keys;
mod meant;
mod typed;
mod values;

pub(crate) use keys::CURVES_KEYS;
pub use meant::Curves;
pub use typed::Along;
pub use values::{DrawnFigure, DrawnLine, csv, json, shown};

use crate::error::StudyError;
use crate::words::{LabelledRow, row};

impl Curves {
    /// What would be drawn, in labelled lines.
    pub fn rows(&self) -> Vec<LabelledRow> {
        let mut rows = vec![row("study", format!("{} is sound: a figure of accounting, without data", self.name))];
        for figure in &self.figures {
            let places = figure.places.len();
            rows.push(row("figure", format!("{}, {places} places along {}", figure.title, figure.along.words())));
            rows.extend(lines(figure).into_iter().map(|line| row("line", line)));
        }
        rows
    }

    /// What would be drawn, as one object.
    pub fn json(&self) -> serde_json::Value {
        let figure = |f: &meant::AccountingFigure| serde_json::json!({ "title": f.title, "along": f.along.words(), "places": f.places, "lines": lines(f) });
        let figures: Vec<_> = self.figures.iter().map(figure).collect();
        serde_json::json!({ "study": self.name, "figures": figures })
    }

    /// Asks the accountants for all lines.
    pub fn draw(&self) -> Result<Vec<DrawnFigure>, StudyError> {
        self.figures.iter().map(DrawnFigure::of).collect()
    }
}

fn lines(figure: &meant::AccountingFigure) -> Vec<String> {
    let drawn_by = |line: &meant::AccountingLine| match &line.source {
        meant::LineSource::Accounted { accountant, .. } => format!("{} by {accountant}", line.name),
        meant::LineSource::Formula(formula) => format!("{}: {}", line.name, formula.words()),
    };
    figure.lines.iter().map(drawn_by).collect()
}
