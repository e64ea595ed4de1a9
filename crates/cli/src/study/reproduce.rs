//! `posterity reproduce`: a published table run again, cell by cell, beside the paper's numbers.

use super::at_sites;
use super::engine::Engine;
use super::kind::{Kind, not_for};
use super::meant::Study;
use super::run;
use super::store::write_whole;
use super::table::table;
use super::tables::TABLES;
use crate::arguments::ReproduceArguments;
use crate::curves::{self, Curves};
use crate::failure::Failure;
use crate::layout;
use crate::report::{self, Beside};
use inference::nearest;
use inference::results::{MethodResult, Results, Summary};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One number of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Cell {
    /// The method.
    pub(crate) row: String,
    /// The split.
    pub(crate) column: String,
    /// `accuracy`, `log_likelihood`, `kl`, `absolute_error`, `coverage`; of draws `mean_error`, `variance_error`, `moved`,
    /// `bulk_ess`.
    pub(crate) metric: &'static str,
    /// As published; none where the paper has no such cell. Of `kl` and `absolute_error` a median, to be seen beside ours.
    pub(crate) paper: Option<f64>,
    /// How many seeds were run: of one there is no spread.
    pub(crate) seeds: usize,
    /// Mean over seeds.
    pub(crate) ours: f64,
    /// Deviation over seeds.
    pub(crate) sd: f64,
    /// Median over seeds.
    pub(crate) median: f64,
    /// The value under which a tenth of the seeds lies.
    pub(crate) low: f64,
    /// The value over which a tenth of the seeds lies.
    pub(crate) high: f64,
    /// The value under which a quarter of the seeds lies.
    pub(crate) quarter: f64,
    /// The value over which a quarter of the seeds lies.
    pub(crate) three_quarters: f64,
    /// Largest certified ε of a client; none without privacy.
    pub(crate) epsilon: Option<f64>,
    /// Server-client exchanges.
    pub(crate) messages: f64,
}

/// Runs a table into its directory and shows it beside the paper's.
pub(crate) fn text(arguments: &ReproduceArguments, json: bool) -> Result<String, Failure> {
    let Some(name) = arguments.name.as_deref().filter(|_| !arguments.list) else { return Ok(list(json)) };
    let (file, text) = written(name)?;
    match Kind::of(&text) {
        Kind::Learning => {}
        Kind::Curves => return of_accounting(&Curves::read(file, &text)?, arguments, json),
        Kind::Histogram => return Err(not_for(Path::new(name), "a histogram has no columns", "posterity simulate")),
    }
    let mut study = Study::read(file, &text)?;
    let base = super::folder(Path::new(name));
    if let Some(seed) = arguments.seed {
        study.seeds = vec![seed];
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(&study.name));
    let mut cells = Vec::new();
    let (mut cpu_seconds, mut reports, mut at_sites) = (0.0, Vec::new(), String::new());
    let (mut theorems, mut courses) = (Vec::new(), None);
    for (column, one, engine) in opened(&study, base)? {
        let folder = out.join(super::store::file_name(&column));
        let results = run::into(&one, engine.as_ref(), &folder, json)?;
        cpu_seconds += results.methods.iter().map(|m| m.cpu_seconds).sum::<f64>();
        cells.extend(cells_of(&study, &column, &results));
        at_sites += &at_sites::table(&column, &results);
        theorems.extend(by_theorem(&results));
        theorems.extend(results.methods.iter().filter_map(worth));
        courses = report::errors_along_the_way(&results);
        reports.push((column, folder.join("report.html")));
    }
    let page = out.join("index.html");
    let links: Vec<(String, PathBuf)> =
        reports.iter().map(|(c, p)| (c.clone(), p.strip_prefix(&out).unwrap_or(p).to_owned())).collect();
    // Of several columns each report has its own.
    courses = courses.filter(|_| links.len() == 1);
    let html = report::beside(&Beside {
        name: &study.name,
        cells: &cells,
        figures: &study.figures,
        courses,
        theorems: &theorems,
        reports: &links,
    });
    write_whole(&page, html.as_bytes()).map_err(|source| Failure::file("cannot write", &page, source))?;
    if json {
        return Ok(format!(
            "{}\n",
            serde_json::json!({ "cells": cells, "theorems": theorems, "cpu_seconds": cpu_seconds })
        ));
    }
    let theorems: String = theorems.iter().map(|line| format!("{line}\n")).collect();
    Ok(format!(
        "{}\n{theorems}{at_sites}cpu seconds {cpu_seconds:.1}\nreport      {}\n",
        table(&cells, layout::width()),
        page.display()
    ))
}

/// What other theorems say of the same ledgers, a line for each method that has such.
fn by_theorem(results: &Results) -> Vec<String> {
    let line = |method: &MethodResult| {
        let spent = method.privacy.as_ref()?.clients.iter().max_by(|a, b| a.certified.total_cmp(&b.certified))?;
        let others: Vec<String> =
            spent.by_others.iter().map(|other| format!("{:.5} by {}", other.epsilon, other.accountant)).collect();
        let name = &method.name;
        let (steps, delta) = (spent.steps, federation::digits::shortest(spent.delta));
        (!others.is_empty()).then(|| {
            format!(
                "{name}: {steps} releases at δ = {delta} cost ε = {:.5}, certified; {}",
                spent.certified,
                others.join(", ")
            )
        })
    };
    results.methods.iter().filter_map(line).collect()
}

/// What several chains of a method are worth, each by itself; none where it has but one.
fn worth(method: &MethodResult) -> Option<String> {
    let chain = method.chain.as_ref().filter(|chain| chain.chains > 1)?;
    let each: Vec<String> =
        chain.each_ess.iter().map(|ess| ess.map_or_else(|| "nothing".to_owned(), |ess| format!("{ess:.0}"))).collect();
    let rhat = chain.parameters.iter().map(|p| p.rhat.unwrap_or(f64::INFINITY)).fold(1.0, f64::max);
    let (name, chains, draws, each) = (&method.name, chain.chains, chain.iterations, each.join(", "));
    Some(format!(
        "{name}: {chains} chains of {draws} draws, R-hat at most {rhat:.3}; each by itself is worth {each} draws"
    ))
}

fn list(json: bool) -> String {
    if json {
        let all: Vec<_> = TABLES.iter().map(|(n, a, _)| serde_json::json!({ "name": n, "about": a })).collect();
        return format!("{}\n", serde_json::json!({ "tables": all }));
    }
    TABLES.iter().map(|(name, about, _)| format!("{name:<20}{about}\n")).collect()
}

/// A figure of accounting, into its directory.
fn of_accounting(curves: &Curves, arguments: &ReproduceArguments, json: bool) -> Result<String, Failure> {
    if arguments.seed.is_some() {
        let message = "--seed has no meaning for a figure of accounting, where nothing is drawn at random";
        return Err(Failure::usage(message, "leave it out"));
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(curves.name()));
    curves::reproduce(curves, &out, json)
}

/// A table of the program, or a study file with columns: its name in errors, and its text.
fn written(name: &str) -> Result<(String, String), Failure> {
    if let Some((_, _, text)) = TABLES.iter().find(|(known, _, _)| *known == name) {
        return Ok((format!("{name}.toml"), (*text).to_owned()));
    }
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let text = std::fs::read_to_string(path).map_err(|source| Failure::file("cannot read", path, source))?;
        return Ok((name.to_owned(), text));
    }
    let names = TABLES.map(|(known, _, _)| known);
    let hint = match nearest(name, names) {
        Some(close) => format!("did you mean `{close}`? `posterity reproduce --list` shows all"),
        None => format!("one of {}; or a study file that ends in .toml", names.join(", ")),
    };
    Err(Failure::usage(format!("there is no table `{name}`"), hint))
}

/// A column's name, its study, and its opened data.
type Opened = (String, Study, Box<dyn Engine>);

/// The columns, or of the one partition under the study's own name. All are opened before
/// the first is run, so that data which do not fit are refused at once.
fn opened(study: &Study, base: &Path) -> Result<Vec<Opened>, Failure> {
    let fits = Arc::default();
    let open = |(name, one): (String, Study)| {
        let engine = super::open(&one, base, &fits)?;
        Ok((name, one, engine))
    };
    let alone = || Study { name: format!("{0}, {0}", study.name), ..study.clone() };
    let columns = study.columns.iter().map(|column| (column.name.clone(), study.of_column(column)));
    let columns: Vec<(String, Study)> = columns.collect();
    let columns = if columns.is_empty() { vec![(study.name.clone(), alone())] } else { columns };
    columns.into_iter().map(open).collect()
}

fn cells_of(study: &Study, column: &str, results: &Results) -> Vec<Cell> {
    let published = |cells: &super::typed::Cells, row: &str| cells.get(row).and_then(|r| r.get(column)).copied();
    let mut cells = Vec::new();
    for method in &results.methods {
        let accuracy =
            method.accuracy.as_ref().map(|a| ("accuracy", a, published(&study.paper.accuracy, &method.name)));
        let likelihood =
            ("log_likelihood", &method.log_likelihood, published(&study.paper.log_likelihood, &method.name));
        // Of made-up rows the exact posterior is what a method is compared with; of others what it says of held-out rows.
        let made = study.data.synthetic.is_some();
        let divergence = method.kl.as_ref().filter(|_| made);
        let divergence = divergence.map(|kl| ("kl", kl, published(&study.paper.kl, &method.name)));
        let error = method.absolute_error.as_ref().filter(|_| !made);
        let error = error.map(|e| ("absolute_error", e, published(&study.paper.absolute_error, &method.name)));
        let coverage = method.coverage.as_ref().filter(|_| !made).map(|c| ("coverage", c, None));
        let drawn = method.chain.as_ref().map(|_| {
            [
                ("mean_error", &method.mean_error),
                ("variance_error", &method.variance_error),
                ("moved", &method.moved),
                ("bulk_ess", &method.bulk_ess),
            ]
        });
        let drawn = drawn.into_iter().flatten().filter_map(|(metric, of)| Some((metric, of.as_ref()?, None)));
        let others = divergence.into_iter().chain(error).chain(coverage).chain(drawn);
        for (metric, ours, paper) in accuracy.into_iter().chain([likelihood]).chain(others) {
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
        seeds: ours.per_seed.len(),
        ours: ours.mean,
        sd: ours.sd,
        median: ours.quantile(0.5),
        low: ours.quantile(0.1),
        high: ours.quantile(0.9),
        quarter: ours.quantile(0.25),
        three_quarters: ours.quantile(0.75),
        epsilon: spent,
        messages: method.messages,
    }
}
