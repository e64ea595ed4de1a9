//! The numbers of a figure of accounting: computed, as a table for people, as CSV and as JSON.

use super::meant::{AccountingFigure, AccountingLine, AccountingPoint, CurveQuestion, LineSource};
use super::typed::Along;
use crate::account::AccountCosts;
use crate::digits::{shortest, up_to};
use crate::error::StudyError;
use privacy::{Bounds, PrivacyError};
use serde_json::json;

/// Columns of a table for people.
const COLUMNS: usize = 5;

/// A figure with its numbers.
pub struct DrawnFigure {
    /// Its heading.
    pub title: String,
    /// What is on the horizontal axis.
    pub along: Along,
    /// Where along that axis.
    pub places: Vec<f64>,
    /// What is drawn upwards.
    pub upwards: &'static str,
    /// In the order of the file.
    pub lines: Vec<DrawnLine>,
}

/// A line with bounds at every place; nothing where none is certified.
pub struct DrawnLine {
    /// Its name in the legend.
    pub name: String,
    /// The method of accounting.
    pub accountant: String,
    /// The plan at the first place, in words.
    pub plan: String,
    /// Lower bounds are proved, too.
    pub two_sided: bool,
    /// At every place, in order.
    pub bounds: Vec<Option<Bounds>>,
}

impl DrawnFigure {
    /// Asks the accountants.
    pub(super) fn of(figure: &AccountingFigure) -> Result<Self, StudyError> {
        let lines = figure.lines.iter().map(|line| DrawnLine::of(line, &figure.places)).collect::<Result<_, _>>()?;
        let upwards = figure.lines.first().map_or("ε", |line| line.upwards(figure.along));
        Ok(Self { title: figure.title.clone(), along: figure.along, places: figure.places.clone(), upwards, lines })
    }

    /// Upper bounds at a few places, and the largest gap between the bounds of a line.
    pub fn table(&self) -> String {
        let chosen = self.chosen();
        let mut rows = vec![vec![format!("{} at {} =", self.upwards, self.along.words())]];
        rows[0].extend(chosen.iter().map(|&at| shown(self.places[at])));
        rows[0].push("gap".into());
        for line in &self.lines {
            let mut row = vec![line.name.clone()];
            row.extend(chosen.iter().map(|&at| line.upper(at)));
            row.push(line.gap());
            rows.push(row);
        }
        format!("{}\n{}", self.title, aligned(&rows))
    }

    /// The places that a table shows: the first, the last, and some between.
    pub fn chosen(&self) -> Vec<usize> {
        let last = self.places.len() - 1;
        let mut chosen: Vec<usize> = (0..COLUMNS).map(|column| column * last / (COLUMNS - 1)).collect();
        chosen.dedup();
        chosen
    }
}

impl DrawnLine {
    fn of(line: &AccountingLine, places: &[f64]) -> Result<Self, StudyError> {
        let place = |error: StudyError| StudyError::Line {
            place: line.place.clone(),
            name: line.name.clone(),
            error: Box::new(error),
        };
        match &line.source {
            LineSource::Accounted { accountant, points } => Self::accounted(&line.name, accountant, points, &place),
            LineSource::Formula(formula) => Ok(Self {
                name: line.name.clone(),
                accountant: "formula".into(),
                plan: formula.words(),
                two_sided: true,
                bounds: formula.drawn(places).map_err(|error| place(error.into()))?,
            }),
        }
    }

    /// The answers of an accountant.
    fn accounted(
        name: &str,
        accountant: &str,
        points: &[AccountingPoint],
        place: &dyn Fn(StudyError) -> StudyError,
    ) -> Result<Self, StudyError> {
        let costs = AccountCosts::new(accountant)?;
        let (mut bounds, mut refused) = (Vec::with_capacity(points.len()), None);
        for point in points {
            let answer = match point.asked {
                CurveQuestion::DeltaAt(epsilon) => costs.delta(&point.plan, epsilon),
                CurveQuestion::EpsilonAt(delta) => costs.epsilon(&point.plan, delta),
            };
            match answer {
                Ok(found) => bounds.push(Some(found)),
                Err(error @ PrivacyError::Uncertified { .. }) => {
                    refused = Some(error);
                    bounds.push(None);
                }
                Err(error) => return Err(place(error.into())),
            }
        }
        if let Some(error) = refused.filter(|_| bounds.iter().all(Option::is_none)) {
            return Err(place(error.into()));
        }
        let first = points.first().map(|point| &point.plan);
        let two_sided = first.map(|plan| costs.two_sided(plan)).transpose()?.unwrap_or(false);
        let plan = first.map(crate::account::Plan::words).unwrap_or_default();
        Ok(Self { name: name.to_owned(), accountant: accountant.to_owned(), plan, two_sided, bounds })
    }

    /// The upper bound at a place, rounded up.
    pub fn upper(&self, at: usize) -> String {
        self.bounds[at].map_or_else(|| "–".into(), |bounds| up_to(bounds.upper, 4))
    }

    /// How far the bounds of a place are apart at most, as a share of the upper one.
    pub fn gap(&self) -> String {
        if !self.two_sided {
            return "upper only".into();
        }
        let widths = self.bounds.iter().flatten().filter(|bounds| bounds.upper > 0.0);
        let widest = widths.map(|bounds| (bounds.upper - bounds.lower) / bounds.upper).fold(0.0, f64::max);
        if widest == 0.0 { "0".into() } else { format!("{widest:.0e}") }
    }
}

/// A place in few digits.
pub fn shown(place: f64) -> String {
    let rounded: f64 = format!("{place:.2e}").parse().unwrap_or(place);
    shortest(rounded)
}

/// Columns under one another, numbers to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let letters = |text: &String| text.chars().count();
    let columns = rows.first().map_or(0, Vec::len);
    let width: Vec<usize> = (0..columns).map(|c| rows.iter().map(|row| letters(&row[c])).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cell = |(column, cell): (usize, &String)| {
            let room = " ".repeat(width[column] - letters(cell));
            if column == 0 { format!("{cell}{room}") } else { format!("  {room}{cell}") }
        };
        text += row.iter().enumerate().map(cell).collect::<String>().trim_end();
        text.push('\n');
    }
    text
}

/// One row for each figure, line and place. Numbers read back exactly.
pub fn csv(drawn: &[DrawnFigure]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut csv = String::from("figure,line,accountant,along,at,upper,lower\n");
    for figure in drawn {
        for line in &figure.lines {
            for (place, bounds) in figure.places.iter().zip(&line.bounds) {
                let upper = bounds.map(|bounds| shortest(bounds.upper)).unwrap_or_default();
                let lower = bounds.filter(|_| line.two_sided).map(|bounds| shortest(bounds.lower)).unwrap_or_default();
                let (title, name, along) = (quoted(&figure.title), quoted(&line.name), figure.along.words());
                csv += &format!("{title},{name},{},{along},{},{upper},{lower}\n", line.accountant, shortest(*place));
            }
        }
    }
    csv
}

/// One object: these names are a contract. Null where nothing is certified.
pub fn json(name: &str, drawn: &[DrawnFigure]) -> String {
    let ends = |line: &DrawnLine, end: fn(&Bounds) -> f64| -> Vec<Option<f64>> {
        line.bounds.iter().map(|bounds| bounds.as_ref().map(end)).collect()
    };
    let line = |line: &DrawnLine| {
        let lower = line.two_sided.then(|| ends(line, |b| b.lower));
        json!({
            "name": line.name, "accountant": line.accountant, "plan": line.plan,
            "upper": ends(line, |b| b.upper), "lower": lower,
        })
    };
    let figure = |figure: &DrawnFigure| {
        let lines: Vec<_> = figure.lines.iter().map(line).collect();
        json!({
            "title": figure.title, "along": figure.along.words(), "of": figure.upwards, "at": figure.places,
            "lines": lines,
        })
    };
    format!("{}\n", json!({ "study": name, "figures": drawn.iter().map(figure).collect::<Vec<_>>() }))
}
