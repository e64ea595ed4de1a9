//! Width of the central 90 % interval of the predictive.

use super::held_out::{REACH, mean};
use super::{Better, Digits, Middle, Prominence, Score, ScoreUnit, ScoredOutcome};

/// The mean width of the interval that was predicted.
pub(super) const SCORE: Score = Score {
    name: "width",
    word: "width",
    label: "width of 90 % intervals",
    short: "width",
    title: "Width of 90 % intervals",
    about: "",
    legend: "",
    better: Better::Lower,
    outcome: ScoredOutcome::Number,
    unit: ScoreUnit::Outcome,
    digits: Digits { table: 3, text: 3 },
    middle: Middle::Mean,
    prominence: Prominence::Kept,
    compared: false,
    compute: |held_out| mean(held_out.numbers().map(|row| 2.0 * REACH * row.deviation)),
};
