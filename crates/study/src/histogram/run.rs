//! A run of a histogram: every seed surveyed, then results and ledger.

use super::costs::{self, Cost};
use super::meant::Histogram;
use crate::digits::up_to;
use crate::error::StudyError;
use crate::store::occupied_by;
use crate::{Fault, write_whole};
use inference::histogram::{Design, Share, apportioned, estimate, survey};
use privacy::{Epsilon, Filter, Grant, Ledger, LedgerRecord, MemoryJournal};
use serde::Serialize;
use std::path::Path;

/// File of the results in a run's directory.
const RESULTS: &str = "histogram.json";

/// What a run found.
#[derive(Debug, Serialize)]
pub struct HistogramResults {
    study: String,
    /// Of each category.
    pub categories: Vec<Category>,
    /// Share of the 95 % intervals of all seeds that hold the true share.
    pub coverage: f64,
    /// Root of the mean squared error of all seeds and categories.
    pub root_squared_error: f64,
    /// In the order of the study.
    pub seeds: Vec<u64>,
    delta: f64,
    /// ε by rounds.
    pub costs: Vec<Cost>,
    /// Counts of every round, of the first seed.
    counts: Vec<Vec<u64>>,
}

/// One category: the truth beside what the first seed's survey says.
#[derive(Debug, Serialize)]
pub struct Category {
    /// Its name.
    pub name: String,
    /// The true share.
    pub truth: f64,
    /// The first seed's estimate.
    pub estimate: f64,
    /// Of the estimate.
    pub standard_error: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

/// Surveys a histogram study into a directory: its results, a user's ledger, and the numbers as CSV.
pub fn run(study: &Histogram, out: &Path) -> Result<HistogramResults, StudyError> {
    check_room(out)?;
    let costs = costs::all(study)?;
    let (found, ledger) = found(study, costs)?;
    write_json(out, RESULTS, &found)?;
    write_json(out, "ledger.json", &ledger)?;
    let path = out.join("histogram.csv");
    write_whole(&path, found.csv().as_bytes()).map_err(|source| StudyError::file("cannot write", &path, source))?;
    Ok(found)
}

/// Surveys by every seed. The grant of every user is what its event costs, as it is printed.
fn found(study: &Histogram, costs: Vec<Cost>) -> Result<(HistogramResults, Vec<LedgerRecord>), StudyError> {
    let event = study.event()?;
    let charged = costs.iter().find(|cost| cost.charged).and_then(Cost::epsilon).unwrap_or(0.0);
    let granted: f64 = up_to(charged, 4).parse().unwrap_or(charged);
    let (epsilon, delta) = (Epsilon::new(granted)?, study.delta);
    let grant = Grant::Limited { epsilon, delta, filter: Filter::Plan(vec![event.clone()]) };
    let alike = Ledger::open(grant, &mut MemoryJournal::default())?;
    let (design, answers) = (Design::of(&event)?, apportioned(&study.truth, study.users));
    let truth = shares(&answers, study.categories.len());
    let (mut first, mut held, mut squares): (Option<(Vec<Share>, _)>, usize, f64) = (None, 0, 0.0);
    for &seed in &study.seeds {
        let mut surveyed = survey(&event, &alike, &answers, seed)?;
        let shares = estimate(&design, &surveyed.rounds)?;
        held += shares.iter().zip(&truth).filter(|(share, truth)| share.covers(**truth)).count();
        squares += shares.iter().zip(&truth).map(|(share, truth)| (share.estimate - truth).powi(2)).sum::<f64>();
        let ledger = surveyed.ledgers.swap_remove(0);
        first.get_or_insert((shares, (surveyed.rounds, ledger)));
    }
    let (shares, (counts, ledger)) = first.unwrap_or_default();
    let all = (study.seeds.len() * truth.len()) as f64;
    let named = study.categories.iter().zip(&truth).zip(&shares);
    let found = HistogramResults {
        study: study.name.clone(),
        categories: named.map(|((name, truth), share)| Category::of(name, *truth, share)).collect(),
        coverage: held as f64 / all,
        root_squared_error: (squares / all).sqrt(),
        seeds: study.seeds.clone(),
        delta: study.delta.get(),
        costs,
        counts,
    };
    Ok((found, ledger))
}

/// The shares that whole users have.
fn shares(answers: &[u64], categories: usize) -> Vec<f64> {
    let count = |category: u64| answers.iter().filter(|&&answer| answer == category).count();
    (0..categories as u64).map(|category| count(category) as f64 / answers.len() as f64).collect()
}

impl Category {
    fn of(name: &str, truth: f64, share: &Share) -> Self {
        let (estimate, reach) = (share.estimate, share.reach());
        Self {
            name: name.to_owned(),
            truth,
            estimate,
            standard_error: share.standard_error,
            low: estimate - reach,
            high: estimate + reach,
        }
    }
}

impl HistogramResults {
    /// Truth, estimate and interval of each category, in per cent.
    pub fn table(&self) -> String {
        let wide = self.categories.iter().map(|category| category.name.chars().count()).max().unwrap_or(0).max(10);
        let mut text = format!("{:wide$}  {:>7}  {:>9}  {:>16}\n", "% of users", "truth", "estimate", "95 % interval");
        for Category { name, truth, estimate, low, high, .. } in &self.categories {
            let [truth, estimate, low, high] = [truth, estimate, low, high].map(|share| percent(*share));
            text += &format!("{name:wide$}  {truth:>7}  {estimate:>9}  {:>16}\n", format!("{low} to {high}"));
        }
        text + &format!("{}\n", self.over_seeds())
    }

    /// How near the surveys of all seeds came.
    pub fn over_seeds(&self) -> String {
        let (seeds, coverage) = (self.seeds.len(), 100.0 * self.coverage);
        format!(
            "seed {}; over {seeds} seeds {coverage:.0} % of the intervals hold the truth, root mean squared error {:.2} points",
            self.seeds.first().copied().unwrap_or(0),
            100.0 * self.root_squared_error
        )
    }

    /// One row for each category. Numbers read back exactly.
    fn csv(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut csv = String::from("category,truth,estimate,standard_error,low,high\n");
        for c in &self.categories {
            let name = quoted(&c.name);
            csv += &format!("{name},{},{},{},{},{}\n", c.truth, c.estimate, c.standard_error, c.low, c.high);
        }
        csv
    }
}

/// A share in per cent, and no zero with a sign.
pub fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    if text == "-0.00" { "0.00".into() } else { text }
}

/// A new directory, an empty one, or one that an earlier run of a histogram made.
fn check_room(out: &Path) -> Result<(), StudyError> {
    let occupied = out.is_file() || std::fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some());
    if occupied && !out.join(RESULTS).is_file() {
        return Err(Fault {
            code: "S013",
            place: out.display().to_string(),
            message: occupied_by(out).to_owned(),
            hint: "name a new or empty directory".to_owned(),
        }
        .into());
    }
    Ok(())
}

fn write_json(out: &Path, name: &str, value: &impl Serialize) -> Result<(), StudyError> {
    let path = out.join(name);
    let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    write_whole(&path, text.as_bytes()).map_err(|source| StudyError::file("cannot write", &path, source))
}
