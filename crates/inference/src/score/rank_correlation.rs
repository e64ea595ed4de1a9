//! Spearman's rank correlation of predicted means with outcomes.

use super::{Better, Digits, HeldOut, Middle, Prominence, Score, ScoreUnit, ScoredOutcome};

/// How well predictions order the rows: 1 if they order them as the outcomes do, 0 if they say nothing, −1 if the other way round.
pub(super) const SCORE: Score = Score {
    name: "rank_correlation",
    word: "rank-correlation",
    label: "rank correlation",
    short: "rank corr.",
    title: "Spearman's rank correlation",
    about: "Rank correlation is Spearman's, of predicted means with outcomes.",
    legend: "rank corr. Spearman's rank correlation of predicted means with outcomes",
    better: Better::Higher,
    outcome: ScoredOutcome::Number,
    unit: ScoreUnit::Plain,
    digits: Digits { table: 3, text: 3 },
    middle: Middle::Mean,
    prominence: Prominence::Reproduced,
    compared: false,
    compute: spearman,
};

/// Pearson's correlation of the ranks, ties by their mid-ranks (Spearman 1904; Kendall 1945). None where either side is constant.
fn spearman(held_out: &HeldOut<'_>) -> Option<f64> {
    let (means, outcomes): (Vec<f64>, Vec<f64>) = held_out.numbers().map(|row| (row.mean, row.outcome)).unzip();
    let middle = (means.len() as f64 + 1.0) / 2.0;
    let (a, b) = (mid_ranks(&means), mid_ranks(&outcomes));
    let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - middle) * (y - middle)).sum::<f64>();
    let (both, first, second) = (sum(&a, &b), sum(&a, &a), sum(&b, &b));
    (first > 0.0 && second > 0.0).then(|| (both / (first.sqrt() * second.sqrt())).clamp(-1.0, 1.0))
}

/// The rank of each value, counted from 1; equal values have the mean of their ranks.
fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut ranks, mut before) = (vec![0.0; values.len()], 0.0);
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before + (tied.len() as f64 + 1.0) / 2.0;
        tied.iter().for_each(|&at| ranks[at] = rank);
        before += tied.len() as f64;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Prediction;

    fn of(means: &[f64], outcomes: &[f64]) -> Option<f64> {
        let normal = |&mean: &f64| Prediction::Normal { mean, deviation: 1.0 };
        spearman(&HeldOut { predictions: &means.iter().map(normal).collect::<Vec<_>>(), outcomes })
    }

    /// Values of scipy.stats.spearmanr (SciPy 1.17).
    #[test]
    fn it_is_that_of_scipy() {
        let vectors: [(&[f64], &[f64], f64); 4] = VECTORS;
        for (means, outcomes, expected) in vectors {
            let found = of(means, outcomes).unwrap();
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }

    #[test]
    fn order_alone_counts_and_a_constant_says_nothing() {
        let near = |found: Option<f64>, expected: f64| found.is_some_and(|found| (found - expected).abs() < 1e-14);
        assert!(near(of(&[1.0, 2.0, 9.0], &[-3.0, 0.0, 0.5]), 1.0));
        assert!(near(of(&[1.0, 2.0, 9.0], &[3.0, 0.0, -0.5]), -1.0));
        assert_eq!((of(&[1.0, 1.0, 1.0], &[3.0, 0.0, 1.0]), of(&[], &[]), of(&[1.0], &[2.0])), (None, None, None));
        assert!(near(of(&[0.0, -0.0, 1.0], &[1.0, 1.0, 2.0]), 1.0), "0 and −0 are one value");
    }

    /// Predicted means, outcomes and the correlation.
    const VECTORS: [(&[f64], &[f64], f64); 4] = [
        (&[1.0, 2.0, 3.0, 4.0, 5.0], &[5.0, 6.0, 7.0, 8.0, 7.0], 0.8207826816681233),
        (&[0.3, -1.2, 2.5, 0.3, 0.9, -0.4, 2.5, 1.1], &[1.0, 0.5, 2.0, 2.0, 2.0, -1.0, 3.5, 0.0], 0.6173309979059936),
        (&[2.0, 2.0, 2.0, 1.0, 3.0, 3.0], &[4.0, 1.0, 4.0, 4.0, 1.0, 0.5], -0.7833333333333334),
        (
            &[0.1, 0.2, 0.4, 0.3, 0.7, 0.6, 0.9, 0.5, 0.8, 1.0],
            &[3.2, 1.1, 2.7, 9.9, 0.4, -5.0, 6.1, 6.1, 2.2, 8.0],
            0.0790277206784084,
        ),
    ];
}
