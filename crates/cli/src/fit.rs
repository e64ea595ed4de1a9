//! `posterity fit`: one owner's table, real noise, a ledger, and a posterior that may be published.

use crate::arguments::FitArguments;
use crate::failure::Failure;
use crate::{interrupt, provenance, terminal};
use federation::fit::{FitNote, FitObserver, FitRequest, Fitted, NOT_FOR_PUBLICATION, fit};
use indicatif::{ProgressBar, ProgressStyle};
use inference::warning::Warning;
use report::layout;
use serde_json::json;
use std::cell::RefCell;
use std::io::{IsTerminal, Write};
use std::path::Path;
use study::digits::{shortest, up};
use study::words::row;
use study::{FitLifetime, FitResults, Study, StudyKind, not_for};

/// What is said where somebody stops a fit.
const STOPPED: &str = "stopped: every charge and every answer is kept; the same command resumes the fit";

/// Fits a study's table, and says what it cost.
pub(crate) fn run(asked: &FitArguments, json: bool) -> Result<String, Failure> {
    let path = &asked.study;
    match StudyKind::of_file(path)? {
        StudyKind::Learning => {}
        StudyKind::Histogram => return Err(not_for(path, "a histogram has no posterior", "posterity simulate").into()),
        StudyKind::Curves => {
            return Err(not_for(path, "a figure of accounting has no data to fit", "posterity reproduce").into());
        }
    }
    let study = Study::open(path)?;
    let out = asked.out.clone().unwrap_or_else(|| Path::new("fits").join(&study.name));
    let (folders, made) = (terminal::folders(path), provenance::now());
    let request = FitRequest {
        study: &study,
        folders: &folders,
        table: asked.table.as_deref(),
        home: &asked.home,
        out: &out,
        method: asked.method.as_deref(),
        made: &made,
        baselines: asked.with_baselines,
    };
    let progress = FitProgress { quiet: json, bar: RefCell::default() };
    interrupt::during(Some(STOPPED.to_owned()));
    let fitted = fit(&request, &progress);
    interrupt::during(None);
    progress.end();
    let fitted = fitted.map_err(|error| match error {
        federation::fit::FitError::Stopped => Failure::Stopped { line: STOPPED.to_owned() },
        other => other.into(),
    })?;
    Ok(if json { object(&fitted) } else { text(&fitted) })
}

fn object(fitted: &Fitted) -> String {
    let path = |path: &Path| path.display().to_string();
    let private = fitted.not_for_publication.as_deref().map(path);
    let object = json!({ "out": path(&fitted.out), "not_for_publication": private, "results": fitted.results });
    format!("{object}\n")
}

/// What was spent before, by this fit and in total, and where the files are.
fn text(fitted: &Fitted) -> String {
    let out = &fitted.out;
    let mut files = vec![
        row("posterior", format!("{} (posterity predict {})", out.join("posterior").display(), out.display())),
        row("draws", out.join("draws").display().to_string()),
        row("results", out.join("results.json").display().to_string()),
        row("report", out.join("report.html").display().to_string()),
    ];
    if fitted.results.draws.is_none() {
        files.remove(1);
    }
    if let Some(path) = &fitted.not_for_publication {
        files.push(row("private", format!("{}: not for publication", path.display())));
        debug_assert!(path.ends_with(NOT_FOR_PUBLICATION));
    }
    format!("{}{}", told(&fitted.results), terminal::rows(&files))
}

/// The account of a fit and its warnings, for this terminal.
pub(crate) fn told(results: &FitResults) -> String {
    let privacy = &results.privacy;
    let burnt = if privacy.burnt == 0 { String::new() } else { format!(", {} of them burnt", privacy.burnt) };
    let mut rows = vec![
        row("study", results.study.clone()),
        row("method", format!("{}, {} of {} rounds", results.method, results.rounds, results.planned_rounds)),
        row("promise", privacy.promise.clone()),
        row("before", before(&results.lifetime)),
        row(
            "this fit",
            format!(
                "ε = {} at δ = {}; certified ε = {} for {} charges{burnt}",
                shortest(privacy.epsilon),
                shortest(privacy.delta),
                up(privacy.spent_epsilon),
                privacy.charges
            ),
        ),
        row("in total", total(&results.lifetime)),
    ];
    for warning in results.warnings.iter() {
        rows.push(row("warning", format!("{} ({})", warning.what, warning.code.as_str())));
    }
    terminal::rows(&rows)
}

/// What the ledger had before a fit.
fn before(FitLifetime { earlier_fits, earlier_epsilon, earlier_delta, .. }: &FitLifetime) -> String {
    let granted = format!("ε = {} at δ = {}", sum(*earlier_epsilon), sum(*earlier_delta));
    match earlier_fits {
        0 => "nothing: the first fit of this home".to_owned(),
        1 => format!("{granted} in 1 fit"),
        fits => format!("{granted} in {fits} fits"),
    }
}

/// What the ledger has with a fit.
fn total(FitLifetime { epsilon, delta, .. }: &FitLifetime) -> String {
    format!("ε = {} at δ = {}", sum(*epsilon), sum(*delta))
}

/// A sum of budgets as written: without what adding up binary numbers leaves in the last digit, or rounded upwards where the digits
/// are many.
fn sum(value: f64) -> String {
    let near: f64 = format!("{value:.12e}").parse().unwrap_or(value);
    let written = shortest(near);
    let is_written = (near - value).abs() <= 4.0 * f64::EPSILON * value;
    if is_written && written.len() <= 8 { written } else { up(value) }
}

/// Shows rounds on a terminal, and says what the owner should know.
struct FitProgress {
    /// A program reads the output: nothing is shown.
    quiet: bool,
    bar: RefCell<Option<ProgressBar>>,
}

impl FitProgress {
    fn end(&self) {
        self.bar.borrow().iter().for_each(ProgressBar::finish_and_clear);
    }

    fn say(&self, words: &str) {
        if !self.quiet {
            // Standard error may be closed; then there is nobody to tell.
            drop(write!(std::io::stderr(), "{}", layout::rows([("fit", words)], terminal::width())));
        }
    }
}

impl FitObserver for FitProgress {
    fn note(&self, note: FitNote) {
        match note {
            FitNote::Resumed { rounds } => {
                self.say(&format!("resuming an interrupted fit after {rounds} rounds; they are not charged again"));
            }
            FitNote::GivenUp => self.say(
                "an unfinished fit of another study or table, or of another version of posterity, cannot be resumed; its grant \
                 stays in the ledger, and a new fit begins",
            ),
            FitNote::BeginsAnew => self.say(
                "the interruption cost a charge that this method cannot do without; the fit begins anew and is charged anew",
            ),
            FitNote::Granted(lifetime) => {
                self.say(&format!("before: {}; in total with this fit: {}", before(&lifetime), total(&lifetime)));
            }
        }
    }

    fn warn(&self, warning: &Warning) {
        self.say(&format!("warning: {} ({}); {}", warning.what, warning.code.as_str(), warning.hint));
    }

    fn mapped(&self, cells: &str) {
        self.say(&format!("{cells} (only you see this line)"));
    }

    fn round(&self, round: u64, of: u64) {
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let mut bar = self.bar.borrow_mut();
        let bar = bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(of);
            let style = ProgressStyle::with_template("{pos} of {len} rounds  {bar:24}  {eta} left");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(round);
    }

    fn stops(&self) -> bool {
        interrupt::asked()
    }
}
