//! From noisy sufficient statistics of linear regression to what is served.

use super::statistics::StatisticsReading;
use crate::regression::{EntryDeviations, NoiseVariance, NoisyStatistics, ObservedSums, Units, noise_aware};
use crate::solve::Problem;
use crate::{Gaussian, PriorTerm, RunError, linalg};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServedRegression {
    /// Natural parameters of q, with full covariance.
    pub natural: Vec<f64>,
    /// The variance of the outcome around its mean, where it was learnt too.
    pub variance: Option<f64>,
}

/// Sums over rows with noise of known deviation.
pub(super) enum Noisy {
    /// Of values as they are, with the same noise in every number.
    Products(NoisyStatistics),
    /// Of outer products of clipped rows, in units of these deviations, that of the outcome last.
    Outer(ObservedSums, Vec<f64>),
}

impl Noisy {
    /// Σxxᵀ packed and Σxy, with noise of this deviation in every number.
    pub(super) fn products(products: Vec<f64>, targets: Vec<f64>, noise: f64) -> Self {
        let deviations = EntryDeviations { diagonal: noise, off_diagonal: noise };
        Self::Products(NoisyStatistics { products, targets, deviations })
    }

    /// Σw²zzᵀ packed isometrically, z in deviation units and w = min(1, R/‖z‖).
    pub(super) fn outer(packed: &[f64], scales: &[f64], radius: f64, rows: u64, deviation: f64) -> Self {
        let inputs = scales.len().saturating_sub(1);
        let matrix = packed.iter().zip(linalg::isometric_weights(inputs + 1)).map(|(p, w)| p / w).collect();
        Self::Outer(ObservedSums { rows, inputs, matrix, deviation, radius }, scales.to_vec())
    }

    /// What is served of a problem.
    pub(super) fn read(&self, reading: StatisticsReading, problem: &Problem) -> Result<ServedRegression, RunError> {
        let variance = problem.model.outcome_variance().unwrap_or(1.0);
        let (q, learnt) = match self {
            Self::Products(statistics) => {
                let prior = problem.prior_term();
                (prior.and_then(|prior| plainly(statistics, reading, &prior, variance)), None)
            }
            Self::Outer(seen, scales) => of_rows(seen, scales, reading, problem, variance)?,
        };
        // A release from which no finite posterior follows says nothing, and the prior is served.
        let natural = q.map_or_else(|| problem.prior.0.clone(), |q| problem.family.natural(&q));
        Ok(ServedRegression { natural, variance: learnt })
    }
}

/// Repaired, or ridged too.
fn plainly(
    statistics: &NoisyStatistics,
    reading: StatisticsReading,
    prior: &PriorTerm,
    variance: f64,
) -> Option<Gaussian> {
    match reading {
        StatisticsReading::Naive => statistics.naive(prior, variance),
        StatisticsReading::Ridge | StatisticsReading::NoiseAware => statistics.ridge(prior, variance),
    }
}

/// Shape of the belief about the outcome's variance where it is learnt: hardly any.
const SHAPE: f64 = 1.0;

/// Of outer products, in data units, and the variance of the outcome where it was learnt.
/// The noise-aware reading learns σ² with the coefficients; the others take the model's.
fn of_rows(
    seen: &ObservedSums,
    scales: &[f64],
    reading: StatisticsReading,
    problem: &Problem,
    variance: f64,
) -> Result<(Option<Gaussian>, Option<f64>), RunError> {
    let (inputs, outcome) = scales.split_at(seen.inputs);
    let units = Units { inputs, outcome: outcome.first().copied().unwrap_or(1.0) };
    let Some(stated) = problem.prior_term() else { return Ok((None, None)) };
    if reading == StatisticsReading::NoiseAware {
        let prior = units.prior(&stated, NoiseVariance::InverseGamma { shape: SHAPE, scale: variance });
        let posterior = noise_aware(seen, &prior, seed_of(seen))?.in_data_units(&units);
        return Ok((posterior.gaussian(), Some(posterior.noise_variance())));
    }
    let prior = units.prior(&stated, NoiseVariance::Known(variance));
    let in_deviations = variance / (units.outcome * units.outcome);
    let q = plainly(&seen.statistics(), reading, &prior.coefficients, in_deviations);
    Ok((q.and_then(|q| in_data_units(&q, &units)), None))
}

/// θⱼ·dev_y/dev_j.
fn in_data_units(q: &Gaussian, units: &Units<'_>) -> Option<Gaussian> {
    let d = q.dimension();
    let mean = q.mean().iter().enumerate().map(|(j, m)| m * units.factor(j)).collect();
    let mut precision = q.packed_precision()?;
    for j in 0..d {
        (0..=j).for_each(|k| precision[linalg::place(j, k)] /= units.factor(j) * units.factor(k));
    }
    Gaussian::from_precision(mean, &precision)
}

/// Draws follow from what was released, and from nothing else.
fn seed_of(seen: &ObservedSums) -> [u8; 32] {
    let mut hash = Sha256::new_with_prefix("noise-aware regression");
    seen.matrix.iter().for_each(|v| hash.update(v.to_le_bytes()));
    hash.finalize().into()
}

/// Deviations from variances with noise of a known deviation, shrunk to their mean as far as they are noise (James and
/// Stein 1961), and at least a quarter of the typical one.
pub(super) fn shrunk_deviations(variances: &[f64], noise: f64) -> Vec<f64> {
    let count = variances.len() as f64;
    let mean = variances.iter().sum::<f64>() / count;
    let centre = mean.max(noise / count.sqrt()).max(f64::MIN_POSITIVE.sqrt());
    let spread = variances.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (count - 1.0).max(1.0);
    let kept = if spread > 0.0 { ((spread - noise * noise) / spread).max(0.0) } else { 0.0 };
    variances.iter().map(|v| (centre + kept * (v - mean)).max(centre / 16.0).sqrt()).collect()
}
