//! Accuracy: the share of held-out rows whose class was predicted.

use super::held_out::mean;
use super::{Better, Digits, Middle, Prominence, Score, ScoreUnit, ScoredOutcome};

/// The share of rows whose class was predicted.
pub(super) const SCORE: Score = Score {
    name: "accuracy",
    word: "accuracy",
    label: "accuracy",
    short: "accuracy",
    title: "Held-out accuracy",
    about: "",
    legend: "",
    better: Better::Higher,
    outcome: ScoredOutcome::Class,
    unit: ScoreUnit::Share,
    digits: Digits { table: 2, text: 1 },
    middle: Middle::Mean,
    prominence: Prominence::Leading,
    compared: false,
    compute: |held_out| mean(held_out.classified().map(|(_, right)| f64::from(u8::from(right)))),
};
