//! Scores of predictions on held-out rows.

use crate::model::Prediction;
use crate::record::Scores;
use crate::results::CalibrationBin;
use std::f64::consts::PI;

/// Probabilities count as at least this: a predictive that is sure and wrong loses 36 nats, not infinitely many.
const LEAST_PROBABILITY: f64 = f64::EPSILON;

/// z for which a normal variable lies within ±z with probability 90 in 100.
const REACH: f64 = 1.644_853_626_951_472_7;

/// Bins of a calibration plot, of equal width.
const BINS: usize = 10;

/// Scores of predictions against outcomes, which stand in the same order. Of no rows the mean log-likelihood is 0.
pub fn scores(predictions: &[Prediction], outcomes: &[f64]) -> Scores {
    let (accuracy, log_likelihood, absolute_error) = on_the_way(predictions, outcomes);
    Scores {
        accuracy,
        log_likelihood,
        auc: area_under_roc(probabilities(predictions, outcomes).collect()),
        absolute_error,
        root_squared_error: mean(normals(predictions, outcomes).map(|(m, _, y)| (m - y) * (m - y))).map(f64::sqrt),
        coverage: mean(normals(predictions, outcomes).map(|(m, s, y)| f64::from(u8::from((m - y).abs() <= REACH * s)))),
        width: mean(normals(predictions, outcomes).map(|(_, s, _)| 2.0 * REACH * s)),
    }
}

/// Scores of predictions at these places alone.
pub(crate) fn scores_at(places: &[usize], predictions: &[Prediction], outcomes: &[f64]) -> Scores {
    let (predictions, outcomes): (Vec<_>, Vec<_>) =
        places.iter().map(|&i| (predictions[i].clone(), outcomes[i])).unzip();
    scores(&predictions, &outcomes)
}

/// Accuracy, mean log-likelihood and mean absolute error alone, which a curve shows: they need no sorting.
pub(crate) fn on_the_way(predictions: &[Prediction], outcomes: &[f64]) -> (Option<f64>, f64, Option<f64>) {
    let hits = classed(predictions, outcomes).map(|(_, right)| f64::from(u8::from(right)));
    let likelihoods = predictions.iter().zip(outcomes).map(|(p, y)| log_likelihood(p, *y));
    let errors = normals(predictions, outcomes).map(|(m, _, y)| (m - y).abs());
    (mean(hits), mean(likelihoods).unwrap_or(0.0), mean(errors))
}

/// Predicted against observed frequency in ten bins of equal width; bins without rows are left out.
///
/// Of two classes it is the frequency of class 1, of more of them that of the class that was predicted.
pub fn calibration(predictions: &[Prediction], outcomes: &[f64]) -> Vec<CalibrationBin> {
    let mut bins = [(0.0, 0_usize, 0_usize); BINS];
    let several = predictions.iter().any(|p| matches!(p, Prediction::Classes(_)));
    let classified: Vec<(f64, bool)> =
        if several { classed(predictions, outcomes).collect() } else { probabilities(predictions, outcomes).collect() };
    for (p, y) in classified {
        let bin = &mut bins[((p * BINS as f64) as usize).min(BINS - 1)];
        *bin = (bin.0 + p, bin.1 + usize::from(y), bin.2 + 1);
    }
    let full = bins.into_iter().filter(|(_, _, rows)| *rows > 0);
    full.map(|(sum, ones, rows)| CalibrationBin {
        predicted: sum / rows as f64,
        observed: ones as f64 / rows as f64,
        rows,
    })
    .collect()
}

/// The probability of the predicted class and whether it was right, for rows that are classified.
fn classed(predictions: &[Prediction], outcomes: &[f64]) -> impl Iterator<Item = (f64, bool)> {
    let of = |(prediction, y): (&Prediction, &f64)| match prediction {
        Prediction::Probability(p) => Some((p.max(1.0 - p), (*p >= 0.5) == (*y >= 0.5))),
        Prediction::Classes(p) => {
            let (class, most) = p.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
            Some((*most, class as f64 == *y))
        }
        Prediction::Normal { .. } => None,
    };
    predictions.iter().zip(outcomes).filter_map(of)
}

/// P(y = 1) and whether y was 1, where there are two classes.
fn probabilities(predictions: &[Prediction], outcomes: &[f64]) -> impl Iterator<Item = (f64, bool)> {
    let of = |(p, y): (&Prediction, &f64)| match p {
        Prediction::Probability(p) => Some((*p, *y >= 0.5)),
        Prediction::Classes(_) | Prediction::Normal { .. } => None,
    };
    predictions.iter().zip(outcomes).filter_map(of)
}

/// Predicted mean, predicted deviation and outcome, for rows that are not.
fn normals(predictions: &[Prediction], outcomes: &[f64]) -> impl Iterator<Item = (f64, f64, f64)> {
    let of = |(p, y): (&Prediction, &f64)| match p {
        Prediction::Probability(_) | Prediction::Classes(_) => None,
        Prediction::Normal { mean, deviation } => Some((*mean, *deviation, *y)),
    };
    predictions.iter().zip(outcomes).filter_map(of)
}

/// The mean; none of no numbers.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// log p(y) under the predictive, in nats.
fn log_likelihood(prediction: &Prediction, y: f64) -> f64 {
    match prediction {
        Prediction::Probability(p) => libm::log(if y >= 0.5 { *p } else { 1.0 - p }.max(LEAST_PROBABILITY)),
        Prediction::Classes(p) => {
            let own = p.iter().enumerate().find(|(k, _)| *k as f64 == y).map_or(0.0, |(_, p)| *p);
            libm::log(own.max(LEAST_PROBABILITY))
        }
        Prediction::Normal { mean, deviation } => {
            let z = (y - mean) / deviation;
            -0.5 * (z * z + libm::log(2.0 * PI)) - libm::log(*deviation)
        }
    }
}

/// The probability that a row of class 1 was given the higher number than one of class 0, ties counting half.
///
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

#[cfg(test)]
mod tests {
    use super::*;

    fn probable(values: &[f64]) -> Vec<Prediction> {
        values.iter().map(|p| Prediction::Probability(*p)).collect()
    }

    #[test]
    fn classification_is_scored_by_hand() {
        let found = scores(&probable(&[0.9, 0.4, 0.4, 0.2]), &[1.0, 1.0, 0.0, 0.0]);
        assert_eq!(found.accuracy, Some(0.75));
        // Pairs of a one and a zero: 0.9 beats both, 0.4 ties with one and beats the other.
        assert_eq!(found.auc, Some(3.5 / 4.0));
        assert_eq!((found.absolute_error, found.coverage, found.width), (None, None, None));
        let expected = (0.9_f64.ln() + 0.4_f64.ln() + 0.6_f64.ln() + 0.8_f64.ln()) / 4.0;
        assert!((found.log_likelihood - expected).abs() < 1e-15);
    }

    #[test]
    fn the_area_counts_pairs() {
        let p: Vec<f64> = (0..60).map(|i| f64::from(i * i * 7 % 23) / 23.0).collect();
        let y: Vec<f64> = (0..60).map(|i| f64::from(i * 5 % 7 % 2)).collect();
        let mut counted = (0.0, 0.0);
        for (a, _) in p.iter().zip(&y).filter(|(_, y)| **y == 1.0) {
            for (b, _) in p.iter().zip(&y).filter(|(_, y)| **y == 0.0) {
                counted.0 += if a > b { 1.0 } else { f64::from(u8::from(a == b)) / 2.0 };
                counted.1 += 1.0;
            }
        }
        let auc = scores(&probable(&p), &y).auc.unwrap();
        assert!((auc - counted.0 / counted.1).abs() < 1e-12, "{auc} {counted:?}");
        assert_eq!(scores(&probable(&p), &[1.0; 60]).auc, None);
    }

    #[test]
    fn more_classes_are_scored_by_hand() {
        let three = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.6, 0.3]].map(|p| Prediction::Classes(p.to_vec()));
        let found = scores(&three, &[0.0, 1.0, 1.0]);
        assert_eq!((found.accuracy, found.auc, found.absolute_error), (Some(2.0 / 3.0), None, None));
        let expected = (0.7_f64.ln() + 0.3_f64.ln() + 0.6_f64.ln()) / 3.0;
        assert!((found.log_likelihood - expected).abs() < 1e-15);
        let bins = calibration(&three, &[0.0, 1.0, 1.0]);
        let found: Vec<_> = bins.iter().map(|b| (b.predicted, b.observed, b.rows)).collect();
        assert_eq!(found, [(0.4, 0.0, 1), (0.6, 1.0, 1), (0.7, 1.0, 1)]);
    }

    #[test]
    fn regression_is_scored_by_hand() {
        let normal =
            [Prediction::Normal { mean: 1.0, deviation: 2.0 }, Prediction::Normal { mean: 0.0, deviation: 1.0 }];
        let found = scores(&normal, &[3.0, -0.5]);
        assert_eq!((found.accuracy, found.auc, found.absolute_error), (None, None, Some(1.25)));
        assert_eq!(found.root_squared_error, Some(2.125_f64.sqrt()));
        assert_eq!(scores_at(&[1], &normal, &[3.0, -0.5]).absolute_error, Some(0.5));
        let expected = -0.5 * ((1.0 + 0.25) / 2.0 + 2.0_f64.ln() + (2.0 * PI).ln());
        assert!((found.log_likelihood - expected).abs() < 1e-15, "{} {expected}", found.log_likelihood);
        assert!(calibration(&normal, &[3.0, -0.5]).is_empty());
    }

    #[test]
    fn the_interval_is_the_central_90_in_100_of_the_predictive() {
        let normal = [(0.0, 1.0), (0.0, 1.0), (5.0, 2.0), (5.0, 2.0)];
        let normal = normal.map(|(mean, deviation)| Prediction::Normal { mean, deviation });
        let found = scores(&normal, &[1.64, -1.65, 8.28, 8.30]);
        assert_eq!(found.coverage, Some(0.5));
        assert!((found.width.unwrap() - 2.0 * 1.5 * 1.644_853_627).abs() < 1e-8, "{:?}", found.width);
        assert!((libm::erf(REACH * std::f64::consts::FRAC_1_SQRT_2) - 0.9).abs() < 1e-15);
    }

    #[test]
    fn certainty_that_is_wrong_is_finite_and_edges_have_a_bin() {
        let found = scores(&probable(&[0.0, 1.0]), &[1.0, 0.0]);
        assert!((found.log_likelihood - f64::EPSILON.ln()).abs() < 1e-12);
        let bins = calibration(&probable(&[0.0, 1.0, 0.95, 0.55]), &[0.0, 1.0, 0.0, 1.0]);
        let expected = [(0.0, 0.0, 1), (0.55, 1.0, 1), (0.975, 0.5, 2)];
        assert_eq!(bins.iter().map(|b| (b.predicted, b.observed, b.rows)).collect::<Vec<_>>(), expected);
        assert_eq!(scores(&[], &[]).accuracy, None);
    }
}
