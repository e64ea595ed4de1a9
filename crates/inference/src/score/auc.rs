//! Area under the ROC curve, where there are two classes.

use super::{Better, Digits, Middle, Prominence, Score, ScoreUnit, ScoredOutcome};

/// The probability that a row of class 1 was given the higher number than one of class 0, ties counting half.
pub(super) const SCORE: Score = Score {
    name: "auc",
    word: "auc",
    label: "AUC",
    short: "AUC",
    title: "Area under the ROC curve",
    about: "",
    legend: "",
    better: Better::Higher,
    outcome: ScoredOutcome::Class,
    unit: ScoreUnit::Plain,
    digits: Digits { table: 3, text: 3 },
    middle: Middle::Mean,
    prominence: Prominence::Page,
    compared: false,
    compute: |held_out| area_under_roc(held_out.probabilities().collect()),
};

/// By mid-ranks, as the Mann-Whitney statistic: (Σ ranks of ones − n₁(n₁ + 1)/2) / (n₁n₀). None without both classes.
fn area_under_roc(mut binary: Vec<(f64, bool)>) -> Option<f64> {
    binary.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ones = binary.iter().filter(|(_, y)| *y).count() as f64;
    let zeros = binary.len() as f64 - ones;
    let (mut before, mut ranks) = (0.0, 0.0);
    for tied in binary.chunk_by(|a, b| a.0 == b.0) {
        let rank = before + (tied.len() as f64 + 1.0) / 2.0;
        ranks += rank * tied.iter().filter(|(_, y)| *y).count() as f64;
        before += tied.len() as f64;
    }
    (ones > 0.0 && zeros > 0.0).then(|| (ranks - ones * (ones + 1.0) / 2.0) / (ones * zeros))
}
