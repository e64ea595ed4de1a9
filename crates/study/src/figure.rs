//! `[[figure]]`: which cells of a table are drawn against which number. Kinds other than lines are in [`chart`](super::chart).

use super::chart::{HeatCellAsTyped, Quantity};
use super::fault::{Fault, StudyText};
use super::meant::{BASELINES, CONSTANTS};
use super::typed::StudyAsTyped;
use super::unroll::Named;
use crate::reproduce::DIVERGENCE;
use inference::score::{Prominence, Score};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// `[[figure]]`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureAsTyped {
    #[serde(default)]
    pub(super) kind: FigureKind,
    pub(super) along: String,
    pub(super) score: Option<FigureScore>,
    /// Least and largest score that is drawn.
    range: Option<[f64; 2]>,
    /// Lines: methods with a list of ε, a line each; baselines and methods without privacy are levels.
    #[serde(default)]
    pub(super) methods: Vec<String>,
    /// The column of `methods`, where there are several; without it each column has a panel.
    pub(super) column: Option<String>,
    #[serde(rename = "line", default)]
    lines: Vec<LineAsTyped>,
    /// Heat map, draws: what is on its vertical axis.
    pub(super) up: Option<String>,
    /// Heat map: the method, and the one whose score is taken away from its.
    pub(super) method: Option<String>,
    pub(super) minus: Option<String>,
    #[serde(default)]
    pub(super) cells: Vec<HeatCellAsTyped>,
    /// Rounds, seeds: what is drawn of each run.
    pub(super) quantity: Option<Quantity>,
    /// Rounds, posteriors: a panel for each.
    #[serde(default)]
    pub(super) seeds: Vec<u64>,
    /// Rounds: the spent ε at which an upright line is drawn.
    pub(super) epsilon: Option<f64>,
}

/// What kind of figure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FigureKind {
    /// A score against a number that methods or columns differ in.
    #[default]
    Lines,
    /// A score over a grid of columns.
    HeatMap,
    /// A number of single runs along their rounds.
    Rounds,
    /// Densities of single runs beside the exact posterior's.
    Posteriors,
    /// A number of each run against the parameter that its rows were drawn with.
    Seeds,
    /// Draws of chains: two parameters against one another.
    Draws,
}

impl FigureAsTyped {
    /// The first key that is there and belongs to another kind of figure.
    pub(super) fn stray(&self) -> Option<&'static str> {
        use FigureKind::{Draws, HeatMap, Lines, Posteriors, Rounds, Seeds};
        let keys: [(&str, bool, &[FigureKind]); 12] = [
            ("score", self.score.is_some(), &[Lines, HeatMap]),
            ("range", self.range.is_some(), &[Lines]),
            ("methods", !self.methods.is_empty(), &[Lines, Rounds, Posteriors, Seeds, Draws]),
            ("column", self.column.is_some(), &[Lines, Rounds, Posteriors, Seeds, Draws]),
            ("line", !self.lines.is_empty(), &[Lines]),
            ("up", self.up.is_some(), &[HeatMap, Draws]),
            ("method", self.method.is_some(), &[HeatMap]),
            ("minus", self.minus.is_some(), &[HeatMap]),
            ("cells", !self.cells.is_empty(), &[HeatMap]),
            ("quantity", self.quantity.is_some(), &[Rounds, Seeds]),
            ("seeds", !self.seeds.is_empty(), &[Rounds, Posteriors]),
            ("epsilon", self.epsilon.is_some(), &[Rounds]),
        ];
        keys.into_iter().find(|(_, there, kinds)| *there && !kinds.contains(&self.kind)).map(|(key, ..)| key)
    }
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

/// What is drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum FigureScore {
    /// KL(q ‖ exact posterior), its median over seeds.
    #[default]
    Divergence,
    /// A score on held-out rows, its mean or median over seeds.
    HeldOut(&'static Score),
}

impl FigureScore {
    /// The name under which cells hold it.
    pub fn metric(self) -> &'static str {
        match self {
            Self::Divergence => DIVERGENCE,
            Self::HeldOut(score) => score.name,
        }
    }
}

impl<'de> Deserialize<'de> for FigureScore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let found = Score::shown_in(Prominence::Reproduced).find(|score| score.word == word).map(Self::HeldOut);
        let found = found.or_else(|| (word == DIVERGENCE).then_some(Self::Divergence));
        found.ok_or_else(|| D::Error::custom(format!("no score is called {word:?}")))
    }
}

/// A figure of one score.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What is on its horizontal axis.
    pub along: String,
    /// The column that it is a panel of, where there are others.
    pub panel: Option<String>,
    /// What is on its vertical axis.
    pub score: FigureScore,
    /// First and last value of its vertical axis; everything fits without it.
    pub range: Option<(f64, f64)>,
    /// In the order of the legend.
    pub lines: Vec<Line>,
}

/// One line of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Something that methods are measured against, the same at every place.
    pub level: bool,
    /// In the order of their places.
    pub points: Vec<FigurePoint>,
}

/// One cell of the table, and where it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct FigurePoint {
    /// Where along the axis.
    pub at: f64,
    /// The method of the cell.
    pub row: String,
    /// The column of the cell.
    pub column: String,
}

/// The figures of a study: every point is a cell that the table will have.
pub(super) fn all(typed: &StudyAsTyped, names: &[Named], source: &StudyText<'_>) -> Result<Vec<Figure>, Fault> {
    let mut figures = Vec::new();
    let of_lines = |(_, figure): &(usize, &FigureAsTyped)| figure.kind == FigureKind::Lines;
    for (at, figure) in typed.figures.iter().enumerate().filter(of_lines) {
        let path = format!("figure.{at}");
        if let Some(key) = figure.stray() {
            let message = format!("{key} belongs to another kind of figure than lines");
            return Err(source.fault(&format!("{path}.{key}"), "S011", message, "state the kind, or leave it out"));
        }
        let hint = "points = [{ at = 0.25, method = \"C = 0.25\" }, { at = 0.5, method = \"C = 0.5\" }] in \
                    [[figure.line]]; or methods = [\"NAME\"], of methods with a list of ε";
        let fault = |message: String| source.fault(&path, "S004", message, hint);
        if figure.methods.is_empty() && figure.lines.iter().all(|line| line.points.is_empty()) {
            return Err(fault("a figure without points".into()));
        }
        let range = figure.range.map(|[low, high]| (low, high));
        if range.is_some_and(|(low, high)| !(low.is_finite() && high.is_finite() && low < high)) {
            let message = format!("range is {:?}, expected two numbers in order", figure.range.unwrap_or_default());
            return Err(source.fault(&format!("{path}.range"), "S004", message, "for example range = [-0.45, -0.31]"));
        }
        for panel in panels(figure, typed) {
            let (column, along) = (figure.column.as_ref().or(panel.as_ref()), figure.along.clone());
            let mut lines = by_epsilon(figure, column, typed, names).map_err(fault)?;
            for line in &figure.lines {
                lines.push(self::line(line, typed, names).map_err(fault)?);
            }
            figures.push(Figure { along, panel, score: figure.score.unwrap_or_default(), range, lines });
        }
    }
    Ok(figures)
}

/// A panel for each column, where a figure of whole methods names none; else the figure alone.
fn panels(figure: &FigureAsTyped, typed: &StudyAsTyped) -> Vec<Option<String>> {
    let each = figure.column.is_none() && figure.lines.is_empty() && !typed.columns.is_empty();
    if each { typed.columns.iter().map(|column| Some(column.name.clone())).collect() } else { vec![None] }
}

/// A line for each of `methods`, at every ε of its list; a baseline or a method without privacy is a level from the least ε to
/// the largest.
fn by_epsilon(
    figure: &FigureAsTyped,
    named: Option<&String>,
    typed: &StudyAsTyped,
    names: &[Named],
) -> Result<Vec<Line>, String> {
    let column = |of: &str| column(named, typed).map_err(|why| format!("{why} for {of:?}"));
    let listed = |name: &str| -> Vec<(f64, &str)> {
        let of = names.iter().filter(|named| named.listed.as_deref() == Some(name));
        let mut points: Vec<(f64, &str)> =
            of.filter_map(|named| Some((named.epsilon()?, named.name.as_str()))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let places: Vec<f64> = figure.methods.iter().flat_map(|name| listed(name)).map(|(at, _)| at).collect();
    let ends = [places.iter().copied().fold(f64::INFINITY, f64::min), places.iter().copied().fold(0.0, f64::max)];
    let line = |name: &String| {
        let baseline = BASELINES.contains(&name.as_str());
        let level = baseline || names.iter().any(|named| named.name == *name && named.epsilon().is_none());
        if baseline && !typed.study.baselines && !CONSTANTS.contains(&name.as_str()) {
            return Err(format!("{name:?} is left out by baselines = false"));
        }
        let points = if level { ends.map(|at| (at, name.as_str())).to_vec() } else { listed(name) };
        if points.is_empty() || places.is_empty() {
            return Err(format!("there is no method {name:?} with a list of ε"));
        }
        let column = column(name)?;
        let point = |(at, row): (f64, &str)| FigurePoint { at, row: row.to_owned(), column: column.clone() };
        Ok(Line { name: name.clone(), level, points: points.into_iter().map(point).collect() })
    };
    figure.methods.iter().map(line).collect()
}

fn line(line: &LineAsTyped, typed: &StudyAsTyped, names: &[Named]) -> Result<Line, String> {
    let points = line.points.iter().map(|point| self::point(point, typed, names)).collect::<Result<Vec<_>, _>>()?;
    if !points.iter().all(|p| p.at.is_finite()) || !points.windows(2).all(|pair| pair[0].at < pair[1].at) {
        return Err(format!("the places of {:?} are not finite, or not one after the other", line.name));
    }
    Ok(Line { name: line.name.clone(), level: false, points })
}

fn point(point: &PointAsTyped, typed: &StudyAsTyped, names: &[Named]) -> Result<FigurePoint, String> {
    if !names.iter().any(|method| method.name == point.method) {
        return Err(format!("there is no method {:?}", point.method));
    }
    let column =
        column(point.column.as_ref(), typed).map_err(|why| format!("{why} for {:?} at {}", point.method, point.at))?;
    Ok(FigurePoint { at: point.at, row: point.method.clone(), column })
}

/// A study of one partition has one column, under its own name.
pub(super) fn column(named: Option<&String>, typed: &StudyAsTyped) -> Result<String, String> {
    match named {
        None if typed.columns.is_empty() => Ok(typed.study.name.clone().unwrap_or_default()),
        None => Err("a column is missing".into()),
        Some(name) if typed.columns.iter().any(|column| column.name == *name) => Ok(name.clone()),
        Some(name) => Err(format!("there is no column {name:?}")),
    }
}
