//! Where our numbers and published ones are further apart than a tolerance, in either direction, and what a study says of it.
//!
//! A number that is better than the paper's asks for a reason as much as one that is worse: a baseline that fails in the paper should fail
//! here too, or the study says what differs.

use crate::fault::{Fault, StudyText};
use crate::reproduce::{Cell, DIVERGENCE};
use inference::score::Better;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a number stands to the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// Within the tolerance, or within two standard errors over seeds.
    Agrees,
    /// Better than published.
    Better,
    /// Worse than published.
    Worse,
}

/// `[[differs]]`: why cells are not as published.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffersAsTyped {
    /// The method; without it all methods.
    pub(crate) method: Option<String>,
    /// The column; without it all columns.
    pub(crate) column: Option<String>,
    /// The metric; without it all metrics.
    pub(crate) metric: Option<String>,
    pub(crate) why: String,
}

/// What a study says of its differences.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Differences {
    /// By metric.
    tolerance: BTreeMap<String, f64>,
    reasons: Vec<DiffersAsTyped>,
}

/// Tolerances of numbers that are read off a figure; of other metrics a twentieth of the published number.
const READ_OFF: [(&str, f64); 2] = [("accuracy", 0.005), ("log_likelihood", 0.01)];

/// A share of the published number, where a metric has no tolerance of its own.
const SHARE: f64 = 0.05;

impl Differences {
    /// Checks that tolerances are positive and that reasons speak of methods and columns of the study.
    pub(crate) fn of(
        tolerance: &BTreeMap<String, f64>,
        reasons: &[DiffersAsTyped],
        methods: &[&str],
        columns: &[&str],
        source: &StudyText<'_>,
    ) -> Result<Self, Fault> {
        if let Some((metric, value)) = tolerance.iter().find(|(_, value)| !(value.is_finite() && **value >= 0.0)) {
            let message = format!("the tolerance of {metric} is {value}, expected a number from 0");
            return Err(source.fault(&format!("tolerance.{metric}"), "S004", message, "accuracy = 0.005, for example"));
        }
        for (at, DiffersAsTyped { method, column, .. }) in reasons.iter().enumerate() {
            let parts = [("method", method, methods), ("column", column, columns)];
            for (part, named, known) in parts {
                if let Some(name) = named.as_deref().filter(|name| !known.contains(name)) {
                    let message = format!("there is no {part} {name:?} whose numbers could differ");
                    let hint = format!("one of {}", known.join(", "));
                    return Err(source.fault(&format!("differs.{at}.{part}"), "S004", message, hint));
                }
            }
        }
        Ok(Self { tolerance: tolerance.clone(), reasons: reasons.to_vec() })
    }

    /// How a cell stands to the paper; none where the paper has no such number.
    pub(crate) fn agreement(&self, cell: &Cell) -> Option<Agreement> {
        let paper = cell.paper?;
        let ours = if cell.shows_median() { cell.median } else { cell.ours };
        let error = if cell.seeds > 1 { cell.sd / (cell.seeds as f64).sqrt() } else { 0.0 };
        let read_off = READ_OFF.iter().find(|(metric, _)| *metric == cell.metric).map(|(_, value)| *value);
        let own = self.tolerance.get(cell.metric).copied().or(read_off);
        let tolerance = own.unwrap_or(SHARE * paper.abs()).max(2.0 * error);
        let lower_is_better = match cell.score().map(|score| score.better) {
            Some(Better::Higher) => false,
            Some(Better::Near(target)) => return Some(near(ours - target, paper - target, tolerance)),
            Some(Better::Lower) | None => true,
        };
        Some(match ours - paper {
            apart if apart.abs() <= tolerance => Agreement::Agrees,
            apart if (apart < 0.0) == lower_is_better => Agreement::Better,
            _ => Agreement::Worse,
        })
    }

    /// What the study says of a cell that differs: the first reason that speaks of it.
    pub(crate) fn why(&self, cell: &Cell) -> Option<String> {
        let speaks = |of: &Option<String>, name: &str| of.as_deref().is_none_or(|of| of == name);
        let reason = self.reasons.iter().find(|reason| {
            speaks(&reason.method, &cell.row)
                && speaks(&reason.column, &cell.column)
                && speaks(&reason.metric, cell.metric)
        });
        reason.map(|reason| reason.why.clone())
    }
}

/// Of a score that is the better the nearer it comes.
fn near(ours: f64, paper: f64, tolerance: f64) -> Agreement {
    match ours.abs() - paper.abs() {
        apart if apart.abs() <= tolerance => Agreement::Agrees,
        apart if apart < 0.0 => Agreement::Better,
        _ => Agreement::Worse,
    }
}

/// A line for each cell that is not as published, the better ones first: both numbers and why.
pub fn differing(cells: &[Cell]) -> Vec<String> {
    let of = |sought: Agreement, words: &'static str| {
        cells.iter().filter(move |cell| cell.agreement == Some(sought)).map(move |cell| line(cell, words))
    };
    of(Agreement::Better, "better than published").chain(of(Agreement::Worse, "worse than published")).collect()
}

fn line(cell: &Cell, words: &str) -> String {
    let label = cell.score().map_or(if cell.metric == DIVERGENCE { "KL" } else { cell.metric }, |score| score.label);
    let ours = if cell.shows_median() { cell.median } else { cell.ours };
    let (paper, row, column) = (cell.paper.unwrap_or(f64::NAN), &cell.row, &cell.column);
    let why = cell.why.as_deref().unwrap_or("the study gives no reason");
    format!("{words}: {row}, {column}, {label} {ours:.4} (paper {paper:.4}): {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(metric: &'static str, ours: f64, paper: Option<f64>) -> Cell {
        Cell {
            row: "mine".into(),
            column: "A".into(),
            metric,
            paper,
            agreement: None,
            why: None,
            seeds: 4,
            ours,
            sd: 0.002,
            median: ours,
            low: ours,
            high: ours,
            quarter: ours,
            three_quarters: ours,
            epsilon: None,
            messages: 1.0,
        }
    }

    #[test]
    fn both_directions_are_told() {
        let all = Differences::default();
        let of = |metric, ours, paper| all.agreement(&cell(metric, ours, Some(paper))).unwrap();
        assert_eq!(of("accuracy", 0.844, 0.84), Agreement::Agrees);
        assert_eq!(of("accuracy", 0.86, 0.84), Agreement::Better);
        assert_eq!(of("accuracy", 0.82, 0.84), Agreement::Worse);
        assert_eq!(of("log_likelihood", -0.38, -0.44), Agreement::Better);
        assert_eq!(of("absolute_error", 1.2, 1.0), Agreement::Worse);
        assert_eq!(of("kl", 9.0, 22.0), Agreement::Better);
        assert_eq!(of("kl", 22.9, 22.0), Agreement::Agrees, "a twentieth");
        assert_eq!(all.agreement(&cell("kl", 1.0, None)), None);
    }

    #[test]
    fn a_tolerance_of_the_study_counts_and_so_do_standard_errors() {
        let wide = Differences { tolerance: [("accuracy".to_owned(), 0.03)].into(), reasons: Vec::new() };
        assert_eq!(wide.agreement(&cell("accuracy", 0.86, Some(0.84))), Some(Agreement::Agrees));
        let noisy = Cell { sd: 0.05, ..cell("accuracy", 0.87, Some(0.84)) };
        assert_eq!(Differences::default().agreement(&noisy), Some(Agreement::Agrees), "two standard errors are 0.05");
        let single = Cell { seeds: 1, ..noisy };
        assert_eq!(Differences::default().agreement(&single), Some(Agreement::Better));
    }

    #[test]
    fn the_first_reason_that_speaks_of_a_cell_is_told() {
        let reason = |method: Option<&str>, metric: Option<&str>, why: &str| DiffersAsTyped {
            method: method.map(str::to_owned),
            column: None,
            metric: metric.map(str::to_owned),
            why: why.to_owned(),
        };
        let said = vec![
            reason(Some("other"), None, "no"),
            reason(Some("mine"), Some("accuracy"), "yes"),
            reason(None, None, "all"),
        ];
        let all = Differences { tolerance: BTreeMap::new(), reasons: said };
        assert_eq!(all.why(&cell("accuracy", 1.0, None)).as_deref(), Some("yes"));
        assert_eq!(all.why(&cell("kl", 1.0, None)).as_deref(), Some("all"));
        let better = Cell { agreement: Some(Agreement::Better), ..cell("accuracy", 0.86, Some(0.84)) };
        let worse = Cell { agreement: Some(Agreement::Worse), why: Some("tuned".into()), ..better.clone() };
        let told = differing(&[worse, better, cell("kl", 1.0, None)]);
        assert_eq!(told.len(), 2);
        assert!(
            told[0].starts_with("better than published: mine, A, accuracy 0.8600 (paper 0.8400): the study gives no")
        );
        assert!(told[1].ends_with(": tuned"), "{told:?}");
    }
}
