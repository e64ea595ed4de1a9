//! `posterity reproduce`: a published table run again, cell by cell, beside the paper's numbers.

use super::table::table;
use super::{at_sites, simulated};
use crate::arguments::ReproduceArguments;
use crate::failure::Failure;
use crate::terminal;
use report::{Beside, MeasuredTable};
use std::path::{Path, PathBuf};
use study::curves::{self, Curves, DrawnFigure};
use study::{
    Cell, CoverageCell, EpsilonStep, RegretCell, Results, ShownTable, Study, StudyKind, TABLES, cells, coverage_cells,
    differing, file_name, not_for, regret_cells, remarks, traced, write_whole, written,
};

/// Runs a table into its directory and shows it beside the paper's.
pub(crate) fn text(arguments: &ReproduceArguments, json: bool) -> Result<String, Failure> {
    let Some(name) = arguments.name.as_deref().filter(|_| !arguments.list) else { return Ok(list(json)) };
    let (file, text) = written(name)?;
    match StudyKind::of(&text) {
        StudyKind::Learning => {}
        StudyKind::Curves => return of_accounting(&Curves::read(file, &text)?, arguments, json),
        StudyKind::Histogram => {
            return Err(not_for(Path::new(name), "a histogram has no columns", "posterity simulate").into());
        }
    }
    let mut study = Study::read(file, &text).map_err(study::StudyError::from)?;
    if let Some(seed) = arguments.seed {
        study.seeds = vec![seed];
    }
    if let Some(replicates) = arguments.replicates {
        study.seeds = (1..=replicates).collect();
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(&study.name));
    judges(&study)?;
    let (mut shown, mut runs) = (ShownCells::default(), Vec::new());
    let (mut cpu_seconds, mut links, mut at_sites) = (0.0, Vec::new(), String::new());
    let (mut theorems, mut courses, mut curves) = (Vec::new(), None, Vec::new());
    for (column, loaded) in study.load_columns(&terminal::folders(Path::new(name)))? {
        let folder = PathBuf::from(file_name(&column));
        let results = simulated(loaded, &out.join(&folder), json)?;
        cpu_seconds += results.methods.iter().map(|m| m.cpu_seconds).sum::<f64>();
        shown.add(&study, &column, &results);
        runs.extend(traced(&column, &results));
        at_sites += &at_sites::table(&column, &results);
        theorems.extend(remarks(&results));
        courses = report::errors_along_the_way(&results);
        curves.extend(report::against_messages(&column, &results));
        links.push((column, folder.join(super::REPORT)));
    }
    let page = out.join("index.html");
    // Of several columns each report has its own.
    courses = courses.filter(|_| links.len() == 1);
    // Both have a legend of the same methods, and draws are compared by their errors.
    if courses.is_some() {
        curves.clear();
    }
    let html = report::beside(&Beside {
        name: &study.name,
        cells: &shown.scores,
        measured: &shown.measured(),
        figures: &study.figures,
        charts: (&study.charts, &runs),
        courses,
        curves: &curves,
        theorems: &theorems,
        reports: &links,
    });
    write_whole(&page, html.as_bytes()).map_err(|source| Failure::file("cannot write", &page, source))?;
    if json {
        let object = serde_json::json!({
            "cells": shown.scores, "coverage": shown.covered, "regret": shown.regrets, "epsilon_steps": shown.steps,
            "theorems": theorems, "cpu_seconds": cpu_seconds,
        });
        return Ok(format!("{object}\n"));
    }
    let lines = theorems.iter().chain(&differing(&shown.scores)).map(|line| format!("{line}\n")).collect::<String>();
    let shown = shown.table(terminal::width());
    Ok(format!("{shown}\n{lines}{at_sites}cpu seconds {cpu_seconds:.1}\nreport      {}\n", page.display()))
}

/// What the columns of a table have so far, told in every way.
#[derive(Default)]
struct ShownCells {
    scores: Vec<Cell>,
    covered: Vec<CoverageCell>,
    regrets: Vec<RegretCell>,
    steps: Vec<EpsilonStep>,
}

impl ShownCells {
    /// Takes the results of one column up.
    fn add(&mut self, study: &Study, column: &str, results: &Results) {
        self.scores.extend(cells(study, column, results));
        self.covered.extend(coverage_cells(column, results));
        self.regrets.extend(regret_cells(&study.regrets, column, results));
        if study.table == ShownTable::EpsilonSteps {
            self.steps.extend(study::epsilon_steps(study, column, results));
        }
    }

    /// What was measured beside scores.
    fn measured(&self) -> Vec<MeasuredTable> {
        let tables = [
            MeasuredTable::regret(&self.regrets),
            MeasuredTable::epsilon_steps(&self.steps),
            MeasuredTable::coverage(&self.covered),
        ];
        tables.into_iter().flatten().collect()
    }

    /// What the study asks: regret or steps, if it does; where coefficients are known, whether intervals hold them; else scores.
    fn table(&self, width: Option<usize>) -> String {
        self.measured().into_iter().next().map_or_else(|| table(&self.scores, width), |measured| measured.text(width))
    }
}

/// Refuses seeds of the command line of which too few are left to judge what the first have chosen.
fn judges(study: &Study) -> Result<(), Failure> {
    let choose = study.regrets.iter().map(|regret| regret.choose).max().unwrap_or(0);
    if choose == 0 || study.seeds.len() > choose {
        return Ok(());
    }
    let message = format!("{} seeds, of which the first {choose} choose the best of a grid", study.seeds.len());
    Err(Failure::usage(message, format!("--replicates {}, or more", choose + 2)))
}

fn list(json: bool) -> String {
    if json {
        let all: Vec<_> = TABLES.iter().map(|(n, a, _)| serde_json::json!({ "name": n, "about": a })).collect();
        return format!("{}\n", serde_json::json!({ "tables": all }));
    }
    TABLES.iter().map(|(name, about, _)| format!("{name:<24}{about}\n")).collect()
}

/// A figure of accounting, into its directory: the page and the numbers.
fn of_accounting(figures: &Curves, arguments: &ReproduceArguments, json: bool) -> Result<String, Failure> {
    if arguments.seed.is_some() || arguments.replicates.is_some() {
        let message =
            "--seed and --replicates have no meaning for a figure of accounting, where nothing is drawn at random";
        return Err(Failure::usage(message, "leave them out"));
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(figures.name()));
    let drawn = figures.draw()?;
    let (page, csv) = (out.join("index.html"), out.join("curves.csv"));
    let html = report::accounting::html(figures.name(), &drawn);
    for (path, text) in [(&page, html), (&csv, curves::csv(&drawn))] {
        write_whole(path, text.as_bytes()).map_err(|source| Failure::file("cannot write", path, source))?;
    }
    if json {
        return Ok(curves::json(figures.name(), &drawn));
    }
    let tables: Vec<String> = drawn.iter().map(DrawnFigure::table).collect();
    Ok(format!("{}\nnumbers     {}\nreport      {}\n", tables.join("\n"), csv.display(), page.display()))
}
