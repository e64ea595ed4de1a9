//! `[[figure]]`: which cells of a table are drawn against which number.

use super::fault::{Fault, Source};
use super::typed::StudyAsTyped;
use serde::Deserialize;

/// `[[figure]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureAsTyped {
    along: String,
    #[serde(rename = "line", default)]
    lines: Vec<LineAsTyped>,
}

/// `[[figure.line]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineAsTyped {
    name: String,
    points: Vec<PointAsTyped>,
}

/// One of `points`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointAsTyped {
    at: f64,
    method: String,
    column: Option<String>,
}

/// A figure of divergences.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// What is on its horizontal axis.
    pub(crate) along: String,
    pub(crate) lines: Vec<Line>,
}

/// One line of a figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: String,
    /// In the order of their places.
    pub(crate) points: Vec<Point>,
}

/// One cell of the table, and where it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    pub(crate) at: f64,
    pub(crate) row: String,
    pub(crate) column: String,
}

/// The figures of a study: every point is a cell that the table will have.
pub(super) fn all(typed: &StudyAsTyped, source: &Source<'_>) -> Result<Vec<Figure>, Fault> {
    let figure = |(at, figure): (usize, &FigureAsTyped)| {
        let path = format!("figure.{at}");
        let hint =
            "points = [{ at = 0.25, method = \"C = 0.25\" }, { at = 0.5, method = \"C = 0.5\" }] in [[figure.line]]";
        let fault = |message: String| source.fault(&path, "S004", message, hint);
        if figure.lines.iter().all(|line| line.points.is_empty()) {
            return Err(fault("a figure without points".into()));
        }
        let lines = figure.lines.iter().map(|line| self::line(line, typed).map_err(fault));
        Ok(Figure { along: figure.along.clone(), lines: lines.collect::<Result<_, _>>()? })
    };
    typed.figures.iter().enumerate().map(figure).collect()
}

fn line(line: &LineAsTyped, typed: &StudyAsTyped) -> Result<Line, String> {
    let points = line.points.iter().map(|point| self::point(point, typed)).collect::<Result<Vec<_>, _>>()?;
    if !points.iter().all(|p| p.at.is_finite()) || !points.windows(2).all(|pair| pair[0].at < pair[1].at) {
        return Err(format!("the places of {:?} are not finite, or not one after the other", line.name));
    }
    Ok(Line { name: line.name.clone(), points })
}

/// A study of one partition has one column, under its own name.
fn point(point: &PointAsTyped, typed: &StudyAsTyped) -> Result<Point, String> {
    if !typed.methods.iter().any(|method| method.name == point.method) {
        return Err(format!("there is no method {:?}", point.method));
    }
    let column = match &point.column {
        None if typed.columns.is_empty() => &typed.study.name,
        None => return Err(format!("the column of {:?} at {} is missing", point.method, point.at)),
        Some(name) if typed.columns.iter().any(|column| column.name == *name) => name,
        Some(name) => return Err(format!("there is no column {name:?}")),
    };
    Ok(Point { at: point.at, row: point.method.clone(), column: column.clone() })
}
