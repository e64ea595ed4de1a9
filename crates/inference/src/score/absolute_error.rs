//! Mean absolute error of predicted means.

use super::held_out::mean;
use super::{Better, Digits, Middle, NumberRow, Prominence, Score, ScoreUnit, ScoredOutcome};

/// The mean distance of predicted means from outcomes. One outcome far off moves it, so that tables of many seeds show its median.
pub(super) const SCORE: Score = Score {
    name: "absolute_error",
    word: "absolute-error",
    label: "mean absolute error",
    short: "MAE",
    title: "Mean absolute error",
    about: "",
    legend: "MAE mean absolute error on held-out rows",
    better: Better::Lower,
    outcome: ScoredOutcome::Number,
    unit: ScoreUnit::Outcome,
    digits: Digits { table: 3, text: 3 },
    middle: Middle::Median,
    prominence: Prominence::Leading,
    compared: true,
    compute: |held_out| mean(held_out.numbers().map(|row: NumberRow| row.error().abs())),
};
