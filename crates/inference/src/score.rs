//! Scores of predictions on held-out rows.

use crate::Prediction;
use crate::record::Scores;
use crate::results::CalibrationBin;

/// placeholder until the real one
pub(crate) fn scores(p: &[Prediction], y: &[f64]) -> Scores {
    let (mut right, mut ll) = (0.0, 0.0);
    for (p, y) in p.iter().zip(y) {
        if let Prediction::Probability(p) = p {
            right += f64::from((*p > 0.5) == (*y > 0.5));
            ll += if *y > 0.5 { p.max(1e-15).ln() } else { (1.0 - p).max(1e-15).ln() };
        }
    }
    let n = y.len() as f64;
    Scores { accuracy: Some(right / n), log_likelihood: ll / n, auc: None, absolute_error: None }
}
pub(crate) fn calibration(_: &[Prediction], _: &[f64]) -> Vec<CalibrationBin> {
    Vec::new()
}
