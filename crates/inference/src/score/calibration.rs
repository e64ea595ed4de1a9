//! Calibration: predicted against observed frequencies.

use super::HeldOut;
use crate::model::Prediction;
use crate::results::CalibrationBin;

/// Bins of a calibration plot, of equal width.
const BINS: usize = 10;

/// Bins of several seeds together: those of one place are added up.
pub fn pooled_calibration(seeds: &[&[CalibrationBin]]) -> Vec<CalibrationBin> {
    let mut bins = [(0.0, 0.0, 0_usize); BINS];
    for bin in seeds.iter().copied().flatten() {
        let pooled = &mut bins[((bin.predicted * BINS as f64) as usize).min(BINS - 1)];
        let rows = bin.rows as f64;
        *pooled = (pooled.0 + rows * bin.predicted, pooled.1 + rows * bin.observed, pooled.2 + bin.rows);
    }
    let full = bins.into_iter().filter(|(_, _, rows)| *rows > 0);
    full.map(|(predicted, observed, rows)| CalibrationBin {
        predicted: predicted / rows as f64,
        observed: observed / rows as f64,
        rows,
    })
    .collect()
}

/// Predicted against observed frequency in ten bins of equal width; bins without rows are left out.
///
/// Of two classes it is the frequency of class 1, of more of them that of the class that was predicted.
pub fn calibration(predictions: &[Prediction], outcomes: &[f64]) -> Vec<CalibrationBin> {
    let held_out = HeldOut { predictions, outcomes };
    let mut bins = [(0.0, 0_usize, 0_usize); BINS];
    let several = predictions.iter().any(|p| matches!(p, Prediction::Classes(_)));
    let classified: Vec<(f64, bool)> =
        if several { held_out.classified().collect() } else { held_out.probabilities().collect() };
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
