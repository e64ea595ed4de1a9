//! Root of the mean squared error of predicted means.

use super::held_out::mean;
use super::{Better, Digits, Middle, Prominence, Score, ScoreUnit, ScoredOutcome};

/// The root of the mean squared distance of predicted means from outcomes.
pub(super) const SCORE: Score = Score {
    name: "root_squared_error",
    word: "root-squared-error",
    label: "RMSE",
    short: "RMSE",
    title: "Root mean squared error",
    about: "RMSE is the root of the mean squared error.",
    legend: "RMSE root mean squared error",
    better: Better::Lower,
    outcome: ScoredOutcome::Number,
    unit: ScoreUnit::Outcome,
    digits: Digits { table: 3, text: 3 },
    middle: Middle::Median,
    prominence: Prominence::Terminal,
    compared: false,
    compute: |held_out| mean(held_out.numbers().map(|row| row.error() * row.error())).map(f64::sqrt),
};
