//! From a row's gradient to its whitened residual, on the way to a clipped sum.

use super::noise_aware::Curvature;
use super::noise_aware::LevelQuestion;
use crate::model::Sink;
use privacy::{Bounded, PrivacyError};

/// Turns a row's gradient by (μ, log s) into the whitened residual, and where the rule asks for it its precision
/// −(∂/∂ log s)/s², on the way to the clipped sum.
pub(super) struct Sheared<'a> {
    sum: &'a mut Bounded,
    dimension: usize,
    /// What each coordinate is multiplied by: as many as numbers are sent.
    factors: Vec<f64>,
    /// Dense inputs of a row, whose places come first and stay.
    dense: usize,
    places: Vec<u32>,
    scaled: Vec<f64>,
}

impl<'a> Sheared<'a> {
    pub(super) fn new(question: &LevelQuestion, curvature: Curvature, sum: &'a mut Bounded) -> Self {
        let mut factors: Vec<f64> = (0..question.mean.len()).map(|j| question.scales.of(j)).collect();
        if let Curvature::EveryRound { weight } = curvature {
            factors.extend(question.deviation.iter().map(|s| -weight / (s * s)));
        }
        Self { sum, dimension: question.mean.len(), factors, dense: 0, places: Vec::new(), scaled: Vec::new() }
    }
}

impl Sink for Sheared<'_> {
    fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        let (d, stored) = (self.dimension, values.len() / 2);
        let dense = stored - positions.len();
        if self.dense != dense {
            self.places.clear();
            self.places.extend(0..dense as u32);
            self.dense = dense;
        }
        self.places.truncate(dense);
        self.places.extend_from_slice(positions);
        let halves = if self.by_deviations() { 2 } else { 1 };
        self.scaled.resize(halves * stored, 0.0);
        let scaled = self.scaled.chunks_mut(stored.max(1)).zip(values.chunks(stored.max(1)));
        for ((scaled, values), factors) in scaled.zip(self.factors.chunks(d.max(1))) {
            for ((scaled, v), p) in scaled.iter_mut().zip(values).zip(&self.places) {
                *scaled = factors[*p as usize] * v;
            }
        }
        match halves {
            2 => self.sum.push_halves(positions, &self.scaled),
            _ => self.sum.push_sparse(&self.places, &self.scaled),
        }
    }

    /// The rule of second moments sends residuals alone.
    fn by_deviations(&self) -> bool {
        self.factors.len() > self.dimension
    }
}
