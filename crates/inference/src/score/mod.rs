//! Scores of predictions on held-out rows. A score is one file of this folder and one line of [`ALL`].
//!
//! A [`Score`] says everything that is asked about it: its name in results, how it is computed, which way is better, and how it is
//! shown. Records, results, tables, figures and reports go through the scores that they hold, and name none of them; the one by which
//! methods are compared is [`MAIN`]. Distances from a posterior that is known exactly (`kl`, `mean_error`, `variance_error`) are no
//! scores of predictions and stand beside these.

mod absolute_error;
mod accuracy;
mod auc;
mod calibration;
mod checks;
mod coverage;
mod held_out;
mod log_likelihood;
mod rank_correlation;
mod root_squared_error;
mod scores;
#[cfg(test)]
mod tests;
mod width;

pub use calibration::{calibration, pooled_calibration};
pub use checks::{CheckGroup, PredictiveChecks};
pub use held_out::{HeldOut, NumberRow};
pub use scores::Scores;

use crate::model::Prediction;
use std::fmt;

/// The list, in the order in which scores are written and shown.
pub const ALL: &[&Score] = &[
    &accuracy::SCORE,
    &absolute_error::SCORE,
    &root_squared_error::SCORE,
    &log_likelihood::SCORE,
    &auc::SCORE,
    &coverage::SCORE,
    &width::SCORE,
    &rank_correlation::SCORE,
];

/// The score by which methods are compared and the best is found.
pub const MAIN: &Score = &log_likelihood::SCORE;

/// Everything that is known of one score.
///
/// ```
/// use inference::score::{ALL, Better, MAIN};
/// assert_eq!((MAIN.name, MAIN.better), ("log_likelihood", Better::Higher));
/// assert!(ALL.iter().all(|score| score.name == score.word.replace('-', "_")));
/// ```
#[derive(Clone, Copy)]
pub struct Score {
    /// Its key in `results.json` and in `[paper]`.
    pub name: &'static str,
    /// Its word in a study's `[[figure]]`: the name with hyphens.
    pub word: &'static str,
    /// What it is called in a sentence, and over a column of the page.
    pub label: &'static str,
    /// What it is called over a column of the terminal.
    pub short: &'static str,
    /// What it is called over a table or a figure of its own.
    pub title: &'static str,
    /// A sentence for readers of a report; empty where the label says it all.
    pub about: &'static str,
    /// What its heading on a terminal means; empty where that says it all.
    pub legend: &'static str,
    /// Which way is better.
    pub better: Better,
    /// Which outcomes it goes with.
    pub outcome: ScoredOutcome,
    /// In what it is measured.
    pub unit: ScoreUnit,
    /// How many digits are shown.
    pub digits: Digits,
    /// What of several seeds stands beside published numbers.
    pub middle: Middle,
    /// Where it is shown.
    pub prominence: Prominence,
    /// Whether differences to the baselines are computed, paired over seeds.
    pub compared: bool,
    /// Its value; none where it does not go with the outcome, or there are no rows.
    pub compute: fn(&HeldOut<'_>) -> Option<f64>,
}

/// Which way a score is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Better {
    /// The higher the better.
    Higher,
    /// The lower the better.
    Lower,
    /// The nearer to this the better.
    Near(f64),
}

/// Which outcomes a score goes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoredOutcome {
    /// Classes.
    Class,
    /// Numbers.
    Number,
    /// Any outcome.
    Any,
}

/// In what a score is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreUnit {
    /// A share, shown in per cent.
    Share,
    /// Nats per row: the logarithm of a probability, or of a density, which changes with the outcome's unit.
    Nats,
    /// The unit of the outcome.
    Outcome,
    /// A number without a unit.
    Plain,
}

/// Digits after the point; of shares those of the percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digits {
    /// In tables of methods.
    pub table: usize,
    /// In sentences, and in tables of sites.
    pub text: usize,
}

/// What of several seeds stands beside published numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Middle {
    /// The mean, with the standard deviation.
    Mean,
    /// The median, with the quartiles: where one seed may be far off.
    Median,
}

/// Where a score is shown: everywhere up to here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prominence {
    /// In `results.json` alone.
    Kept,
    /// In the report's table of methods.
    Page,
    /// In that of a terminal.
    Terminal,
    /// In tables and figures of `reproduce`.
    Reproduced,
    /// Along the way, at each site, in sentences, and beside published numbers.
    Leading,
}

impl Score {
    /// The score with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|score| score.name == name)
    }

    /// Where it stands in the list; behind all others if it does not.
    pub fn place(&self) -> usize {
        ALL.iter().position(|score| *score == self).unwrap_or(ALL.len())
    }

    /// Whether it is shown in such a place.
    pub const fn is_shown_in(&self, place: Prominence) -> bool {
        self.prominence as u8 >= place as u8
    }

    /// Scores that are shown in such a place.
    pub fn shown_in(place: Prominence) -> impl Iterator<Item = &'static Self> {
        ALL.iter().copied().filter(move |score| score.is_shown_in(place))
    }

    /// A value of the encoded outcome in the outcome's own unit, of which one of the encoded is `scale`: errors times the scale,
    /// log-densities less its logarithm.
    pub fn in_units(&self, value: f64, scale: f64) -> f64 {
        match self.unit {
            ScoreUnit::Outcome => value * scale,
            ScoreUnit::Nats => value - scale.ln(),
            ScoreUnit::Share | ScoreUnit::Plain => value,
        }
    }

    /// What its values are multiplied by where they are shown.
    pub fn factor(&self) -> f64 {
        if self.unit == ScoreUnit::Share { 100.0 } else { 1.0 }
    }

    /// Whether less is better.
    pub fn is_loss(&self) -> bool {
        self.better == Better::Lower
    }
}

impl ScoreUnit {
    /// The unit as it is shown; none of plain numbers, and of outcomes, whose unit the reader knows.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::Share => Some("%"),
            Self::Nats => Some("nats per row"),
            Self::Outcome | Self::Plain => None,
        }
    }
}

impl PartialEq for Score {
    /// Scores are told apart by their names.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Score({})", self.name)
    }
}

/// All scores of predictions against outcomes, which stand in the same order. Of no rows the log-likelihood is 0, and there is no
/// other score.
pub fn scores(predictions: &[Prediction], outcomes: &[f64]) -> Scores<f64> {
    Scores::of(ALL.iter().copied(), &HeldOut { predictions, outcomes })
}

/// Scores of predictions at these places alone.
pub(crate) fn scores_at(places: &[usize], predictions: &[Prediction], outcomes: &[f64]) -> Scores<f64> {
    let (predictions, outcomes): (Vec<_>, Vec<_>) =
        places.iter().map(|&i| (predictions[i].clone(), outcomes[i])).unzip();
    scores(&predictions, &outcomes)
}

/// Leading scores alone, which a curve shows: they need no sorting.
pub(crate) fn on_the_way(predictions: &[Prediction], outcomes: &[f64]) -> Scores<f64> {
    Scores::of(Score::shown_in(Prominence::Leading), &HeldOut { predictions, outcomes })
}
