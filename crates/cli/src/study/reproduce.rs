//! `posterity reproduce`: a published table run again, cell by cell, beside the paper's numbers.

use super::meant::Study;
use super::run;
use super::simulator::Simulator;
use super::store::write_whole;
use crate::arguments::ReproduceArguments;
use crate::failure::Failure;
use crate::report;
use inference::nearest;
use inference::results::{MethodResult, Results, Summary};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Studies that come with the program, and what they are.
const TABLES: [(&str, &str, &str); 5] = [
    (
        "workshop-table5",
        "Sharma et al. 2019, Table 5: PVI, global VI and DP-PVI on three splits of Adult",
        include_str!("../../../../studies/workshop-table5.toml"),
    ),
    (
        "workshop-fig3",
        "Sharma et al. 2019, Figure 3: PVI against global VI over a grid of splits of Adult",
        include_str!("../../../../studies/workshop-fig3.toml"),
    ),
    (
        "tmlr-fig1",
        "Heikkilä et al. (TMLR), Figure 1: private methods at ε = 1 on three splits of Adult",
        include_str!("../../../../studies/tmlr-fig1.toml"),
    ),
    (
        "tmlr-fig3",
        "Heikkilä et al. (TMLR), Figure 3: 200 clients with a trusted aggregator at ε = 0.5 on three splits of Adult",
        include_str!("../../../../studies/tmlr-fig3.toml"),
    ),
    (
        "tmlr-fig4",
        "Heikkilä et al. (TMLR), Figure 4: a Bayesian network at ε = 2 on the balanced split of Adult",
        include_str!("../../../../studies/tmlr-fig4.toml"),
    ),
];

/// One number of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Cell {
    /// The method.
    pub(crate) row: String,
    /// The split.
    pub(crate) column: String,
    /// `accuracy` or `log_likelihood`.
    pub(crate) metric: &'static str,
    /// As published; none where the paper has no such cell.
    pub(crate) paper: Option<f64>,
    /// Mean over seeds.
    pub(crate) ours: f64,
    /// Deviation over seeds.
    pub(crate) sd: f64,
    /// Largest certified ε of a client; none without privacy.
    pub(crate) epsilon: Option<f64>,
    /// Server-client exchanges.
    pub(crate) messages: f64,
}

/// Runs a table into its directory and shows it beside the paper's.
pub(crate) fn text(arguments: &ReproduceArguments, json: bool) -> Result<String, Failure> {
    let Some(name) = arguments.name.as_deref().filter(|_| !arguments.list) else { return Ok(list(json)) };
    let mut study = open(name)?;
    if let Some(seed) = arguments.seed {
        study.seeds = vec![seed];
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(&study.name));
    let mut cells = Vec::new();
    let (mut cpu_seconds, mut reports) = (0.0, Vec::new());
    for (column, partition) in columns(&study) {
        let folder = out.join(super::store::file_name(&column));
        let one = Study { name: format!("{}, {column}", study.name), partition, ..study.clone() };
        let results = run::into(&one, &Simulator::open(&one, Path::new("."))?, &folder, json)?;
        cpu_seconds += results.methods.iter().map(|m| m.cpu_seconds).sum::<f64>();
        cells.extend(cells_of(&study, &column, &results));
        reports.push((column, folder.join("report.html")));
    }
    let page = out.join("index.html");
    let links: Vec<(String, PathBuf)> =
        reports.iter().map(|(c, p)| (c.clone(), p.strip_prefix(&out).unwrap_or(p).to_owned())).collect();
    let html = report::beside(&study.name, &cells, &links);
    write_whole(&page, html.as_bytes()).map_err(|source| Failure::file("cannot write", &page, source))?;
    if json {
        return Ok(format!("{}\n", serde_json::json!({ "cells": cells, "cpu_seconds": cpu_seconds })));
    }
    Ok(format!("{}\ncpu seconds {cpu_seconds:.1}\nreport      {}\n", table(&cells), page.display()))
}

fn list(json: bool) -> String {
    if json {
        let all: Vec<_> = TABLES.iter().map(|(n, a, _)| serde_json::json!({ "name": n, "about": a })).collect();
        return format!("{}\n", serde_json::json!({ "tables": all }));
    }
    TABLES.iter().map(|(name, about, _)| format!("{name:<18}{about}\n")).collect()
}

/// A table of the program, or a study file with columns.
fn open(name: &str) -> Result<Study, Failure> {
    if let Some((_, _, text)) = TABLES.iter().find(|(known, _, _)| *known == name) {
        return Ok(Study::read(format!("{name}.toml"), text)?);
    }
    if name.ends_with(".toml") {
        return Study::open(Path::new(name));
    }
    let names = TABLES.map(|(known, _, _)| known);
    let hint = match nearest(name, names) {
        Some(close) => format!("did you mean `{close}`? `posterity reproduce --list` shows all"),
        None => format!("one of {}; or a study file that ends in .toml", names.join(", ")),
    };
    Err(Failure::usage(format!("there is no table `{name}`"), hint))
}

/// The columns, or the one partition under the study's own name.
fn columns(study: &Study) -> Vec<(String, inference::Partition)> {
    if study.columns.is_empty() {
        return vec![(study.name.clone(), study.partition.clone())];
    }
    study.columns.clone()
}

fn cells_of(study: &Study, column: &str, results: &Results) -> Vec<Cell> {
    let published = |cells: &super::typed::Cells, row: &str| cells.get(row).and_then(|r| r.get(column)).copied();
    let mut cells = Vec::new();
    for method in &results.methods {
        let accuracy =
            method.accuracy.as_ref().map(|a| ("accuracy", a, published(&study.paper.accuracy, &method.name)));
        let likelihood =
            ("log_likelihood", &method.log_likelihood, published(&study.paper.log_likelihood, &method.name));
        for (metric, ours, paper) in accuracy.into_iter().chain([likelihood]) {
            cells.push(cell(method, column, metric, ours, paper));
        }
    }
    cells
}

fn cell(method: &MethodResult, column: &str, metric: &'static str, ours: &Summary, paper: Option<f64>) -> Cell {
    let spent = method.privacy.as_ref().map(|p| p.clients.iter().map(|c| c.certified).fold(0.0, f64::max));
    Cell {
        row: method.name.clone(),
        column: column.to_owned(),
        metric,
        paper,
        ours: ours.mean,
        sd: ours.sd,
        epsilon: spent,
        messages: method.messages,
    }
}

/// Rows are methods; every column has ours and the paper's, accuracy and log-likelihood.
fn table(cells: &[Cell]) -> String {
    let width = cells.iter().map(|c| c.row.chars().count()).max().unwrap_or(0).max(6);
    let mut text = String::new();
    let mut column = "";
    for pair in cells.chunk_by(|a, b| (&a.row, &a.column) == (&b.row, &b.column)) {
        let first = &pair[0];
        if first.column != column {
            column = &first.column;
            text += &format!(
                "{}{column}\n{:width$}  {:>8} {:>8}  {:>8} {:>8}  {:>7}  {:>8}\n",
                if text.is_empty() { "" } else { "\n" },
                "method",
                "accuracy",
                "paper",
                "log-lik.",
                "paper",
                "ε",
                "messages"
            );
        }
        let of = |metric: &str| pair.iter().find(|c| c.metric == metric);
        let ours = |metric| of(metric).map_or_else(|| "–".to_owned(), |c| format!("{:.4}", c.ours));
        let paper = |metric| of(metric).and_then(|c| c.paper).map_or_else(|| "–".to_owned(), |p| format!("{p:.4}"));
        let epsilon = first.epsilon.map_or_else(|| "none".to_owned(), |e| format!("{e:.4}"));
        text += &format!(
            "{:width$}  {:>8} {:>8}  {:>8} {:>8}  {epsilon:>7}  {:>8.0}\n",
            first.row,
            ours("accuracy"),
            paper("accuracy"),
            ours("log_likelihood"),
            paper("log_likelihood"),
            first.messages
        );
    }
    text
}
