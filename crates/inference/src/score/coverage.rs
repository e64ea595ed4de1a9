//! Coverage: the share of outcomes inside the central 90 % interval of the predictive.

use super::held_out::{REACH, mean};
use super::{Better, Digits, Middle, Prominence, Score, ScoreUnit, ScoredOutcome};

/// The share of held-out outcomes inside the interval that was predicted for them.
pub(super) const SCORE: Score = Score {
    name: "coverage",
    word: "coverage",
    label: "coverage",
    short: "coverage",
    title: "Coverage of 90 % intervals",
    about: "Coverage is the share of held-out outcomes inside the central 90 % interval that was predicted for them: \
            90 is honest, less is too sure.",
    legend: "coverage of 90 % intervals by held-out outcomes",
    better: Better::Near(0.9),
    outcome: ScoredOutcome::Number,
    unit: ScoreUnit::Share,
    digits: Digits { table: 1, text: 1 },
    middle: Middle::Mean,
    prominence: Prominence::Reproduced,
    compared: false,
    compute: |held_out| {
        let inside = |error: f64, deviation: f64| error.abs() <= REACH * deviation;
        mean(held_out.numbers().map(|row| f64::from(u8::from(inside(row.error(), row.deviation)))))
    },
};
