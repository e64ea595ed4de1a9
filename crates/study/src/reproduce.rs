//! A published table, cell by cell, beside the paper's numbers.

use super::agreement::Agreement;
use super::meant::Study;
use super::tables::TABLES;
use crate::error::StudyError;
use inference::nearest;
use inference::results::{MethodResult, Results, Summary};
use inference::score::{Middle, Prominence, Score, ScoredOutcome};
use serde::Serialize;
use std::path::Path;

/// One number of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The method.
    pub row: String,
    /// The split.
    pub column: String,
    /// The name of a score of [`Prominence::Reproduced`], or [`DIVERGENCE`]; of draws `mean_error`, `variance_error`, `moved`,
    /// `bulk_ess`.
    pub metric: &'static str,
    /// As published; none where the paper has no such cell. Where [`Cell::shows_median`], a median, to be seen beside ours.
    pub paper: Option<f64>,
    /// How ours stands to it; none where there is none.
    pub agreement: Option<Agreement>,
    /// What the study says of a cell that differs.
    pub why: Option<String>,
    /// How many seeds were run: of one there is no spread.
    pub seeds: usize,
    /// Mean over seeds.
    pub ours: f64,
    /// Deviation over seeds.
    pub sd: f64,
    /// Median over seeds.
    pub median: f64,
    /// The value under which a tenth of the seeds lies.
    pub low: f64,
    /// The value over which a tenth of the seeds lies.
    pub high: f64,
    /// The value under which a quarter of the seeds lies.
    pub quarter: f64,
    /// The value over which a quarter of the seeds lies.
    pub three_quarters: f64,
    /// Largest certified ε of a client; none without privacy.
    pub epsilon: Option<f64>,
    /// Server-client exchanges.
    pub messages: f64,
}

/// The metric of KL(q ‖ exact posterior), which is no score of predictions.
pub const DIVERGENCE: &str = "kl";

impl Cell {
    /// The score that it is of; none of divergences and draws.
    pub fn score(&self) -> Option<&'static Score> {
        Score::named(self.metric)
    }

    /// Whether its median stands for the seeds, and not its mean.
    pub fn shows_median(&self) -> bool {
        self.metric == DIVERGENCE || self.score().is_some_and(|score| score.middle == Middle::Median)
    }
}

/// What is to be said of a column beside its numbers, a line each: what draws cost by other theorems, and what they are worth.
pub fn remarks(results: &Results) -> Vec<String> {
    by_theorem(results).into_iter().chain(results.methods.iter().filter_map(worth)).collect()
}

/// What other theorems say of the same ledgers, a line for each method that has such.
fn by_theorem(results: &Results) -> Vec<String> {
    let line = |method: &MethodResult| {
        let spent = method.privacy.as_ref()?.clients.iter().max_by(|a, b| a.certified.total_cmp(&b.certified))?;
        let others: Vec<String> =
            spent.by_others.iter().map(|other| format!("{:.5} by {}", other.epsilon, other.accountant)).collect();
        let name = &method.name;
        let (steps, delta) = (spent.steps, crate::digits::shortest(spent.delta));
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

/// A table of the program, or a study file with columns: its name in errors, and its text.
pub fn written(name: &str) -> Result<(String, String), StudyError> {
    if let Some((_, _, text)) = TABLES.iter().find(|(known, _, _)| *known == name) {
        return Ok((format!("{name}.toml"), (*text).to_owned()));
    }
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let text = std::fs::read_to_string(path).map_err(|source| StudyError::file("cannot read", path, source))?;
        return Ok((name.to_owned(), text));
    }
    let names: Vec<&str> = TABLES.iter().map(|(known, _, _)| *known).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(close) => format!("did you mean `{close}`? the list of tables shows all"),
        None => format!("one of {}; or a study file that ends in .toml", names.join(", ")),
    };
    Err(StudyError::usage(format!("there is no table `{name}`"), hint))
}

/// The numbers of one column, beside the published ones.
pub fn cells(study: &Study, column: &str, results: &Results) -> Vec<Cell> {
    // Of made-up rows the exact posterior is what a method is compared with; of others what it says of held-out rows.
    let own = study.columns.iter().find(|own| own.name == column).and_then(|own| own.own.as_deref());
    let made = own.unwrap_or(study).data.synthetic.is_some();
    let scored =
        |score: &Score| score.is_shown_in(Prominence::Reproduced) && !(made && score.outcome == ScoredOutcome::Number);
    let mut cells = Vec::new();
    for method in &results.methods {
        let scores = method.scores.iter().filter(|(score, _)| scored(score));
        let scores = scores.map(|(score, summary)| (score.name, summary));
        let divergence = method.kl.as_ref().filter(|_| made).map(|kl| (DIVERGENCE, kl));
        let drawn = method.chain.as_ref().map(|_| {
            [
                ("mean_error", &method.mean_error),
                ("variance_error", &method.variance_error),
                ("moved", &method.moved),
                ("bulk_ess", &method.bulk_ess),
            ]
        });
        let drawn = drawn.into_iter().flatten().filter_map(|(metric, of)| Some((metric, of.as_ref()?)));
        for (metric, ours) in scores.chain(divergence).chain(drawn) {
            let paper = study.paper.published(metric, &method.name, column);
            cells.push(beside(study, cell(method, column, metric, ours, paper)));
        }
    }
    cells
}

/// The cell with what is to be said of it beside the paper's.
fn beside(study: &Study, cell: Cell) -> Cell {
    let agreement = study.differences.agreement(&cell);
    let differs = matches!(agreement, Some(Agreement::Better | Agreement::Worse));
    let why = differs.then(|| study.differences.why(&cell)).flatten();
    Cell { agreement, why, ..cell }
}

fn cell(method: &MethodResult, column: &str, metric: &'static str, ours: &Summary, paper: Option<f64>) -> Cell {
    let spent = method.privacy.as_ref().map(|p| p.clients.iter().map(|c| c.certified).fold(0.0, f64::max));
    Cell {
        row: method.name.clone(),
        column: column.to_owned(),
        metric,
        paper,
        agreement: None,
        why: None,
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
