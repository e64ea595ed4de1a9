//! Bayesian linear regression from noisy sufficient statistics: numbers in, numbers out.
//!
//! z = (x, y) is a row of d inputs and an outcome in *deviation units*: each coordinate divided by a public or released
//! deviation. A row is scaled by w = min(1, R/‖z‖), which keeps the relation between y and x, and what is seen is
//! Ŝ = Σ w² zzᵀ + E over n rows, n public. E is symmetric and Gaussian with deviation s on the diagonal and s/√2 off it:
//! the noise of a matrix packed isometrically, whose law no rotation changes. `docs/maths/regression.md` has the theory.
//!
//! | file | idea |
//! |---|---|
//! | `ridge` | repair of the eigenvalues and a ridge of the noise's size, then the conjugate posterior; the naive one beside it |
//! | `clipped` | mean and variance of w² zzᵀ for Gaussian rows |
//! | `working` | the posterior density of (Ω, θ, σ²) given Ŝ |
//! | `near` | a Gaussian near it |
//! | `noise_aware` | draws from it: intervals that know of the noise |
//! | `thresholds` | where Algorithm 2 of Paper I cuts values, found on synthetic data |

mod clipped;
mod near;
mod noise_aware;
mod ridge;
mod thresholds;
mod working;

pub use noise_aware::{MOST_INPUTS, RegressionPosterior, noise_aware};
pub use ridge::{EntryDeviations, NoisyStatistics};
pub use thresholds::{SyntheticSearch, Thresholds};

use crate::{PriorTerm, RunError, linalg};

/// What is seen of the rows, and how it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedSums {
    /// n: rows in the sum.
    pub rows: u64,
    /// d: inputs of a row.
    pub inputs: usize,
    /// Ŝ in deviation units: (d + 1)(d + 2)/2 numbers, the lower triangle row by row, the outcome last.
    pub matrix: Vec<f64>,
    /// s: deviation of the noise on the diagonal; s/√2 off it. Zero where there is none.
    pub deviation: f64,
    /// R: the bound on ‖z‖; infinite where no row was scaled.
    pub radius: f64,
}

/// What is believed of σ², the variance of y around xᵀθ, in deviation units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoiseVariance {
    /// σ² itself.
    Known(f64),
    /// σ² ~ inverse gamma: density ∝ σ^(−2(shape + 1)) exp(−scale/σ²).
    InverseGamma {
        /// Shape, positive.
        shape: f64,
        /// Scale, positive.
        scale: f64,
    },
}

/// What is believed before: θ ~ N(m₀, P₀⁻¹), and σ². In deviation units.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionPrior {
    /// Of θ, one coefficient for each input.
    pub coefficients: PriorTerm,
    /// Of σ².
    pub noise_variance: NoiseVariance,
}

/// Deviations of inputs and outcome, for the way between data units and deviation units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Units<'a> {
    /// One for each input, positive.
    pub inputs: &'a [f64],
    /// Of the outcome, positive.
    pub outcome: f64,
}

impl Units<'_> {
    /// What a coordinate of θ is multiplied by to come to data units: dev_y/dev_j.
    pub fn factor(&self, j: usize) -> f64 {
        self.outcome / self.inputs[j]
    }

    /// A prior of θ in data units, with σ² in data units too, as it reads in deviation units.
    pub fn prior(&self, coefficients: &PriorTerm, noise_variance: NoiseVariance) -> RegressionPrior {
        let squared = self.outcome * self.outcome;
        let coefficients = coefficients.in_units(|j| self.factor(j));
        let noise_variance = match noise_variance {
            NoiseVariance::Known(v) => NoiseVariance::Known(v / squared),
            NoiseVariance::InverseGamma { shape, scale } => {
                NoiseVariance::InverseGamma { shape, scale: scale / squared }
            }
        };
        RegressionPrior { coefficients, noise_variance }
    }
}

/// The default share of the budget, in squared Gaussian-DP terms, that is spent on deviations where they are not public.
pub const DEFAULT_SHARE: f64 = 0.25;

/// R/√(d + 1) where a study does not say: the root of ¾.
pub const DEFAULT_RADIUS: f64 = 0.866_025_403_784_438_6;

/// The default R for d inputs, in deviation units: ¾ of the expected squared norm of a row, under a root.
///
/// The noise-aware posterior undoes what clipping does to Gaussian rows, so R may be smaller than most rows; chosen on
/// synthetic data by mean squared error and width of intervals (`docs/maths/regression.md`).
pub fn default_radius(inputs: usize) -> f64 {
    DEFAULT_RADIUS * (inputs as f64 + 1.0).sqrt()
}

impl ObservedSums {
    /// Refuses numbers that no release has.
    fn check(&self, prior: &RegressionPrior) -> Result<(), RunError> {
        let entries = linalg::packed(self.inputs + 1);
        let positive = |v: f64| v > 0.0 && v.is_finite();
        let variance = match prior.noise_variance {
            NoiseVariance::Known(v) => positive(v),
            NoiseVariance::InverseGamma { shape, scale } => positive(shape) && positive(scale),
        };
        let complaints = [
            (self.rows == 0 || self.inputs == 0, "expected at least one row and one input".to_owned()),
            (
                self.matrix.len() != entries,
                format!("found {} statistics, expected {entries} for {} inputs", self.matrix.len(), self.inputs),
            ),
            (self.matrix.iter().any(|v| !v.is_finite()), "found a statistic that is not finite".to_owned()),
            (!(self.deviation >= 0.0 && self.deviation.is_finite()), "the noise's deviation is not a size".to_owned()),
            (self.radius.is_nan() || self.radius <= 0.0, "the bound on rows is not positive".to_owned()),
            (
                prior.coefficients.dimension() != self.inputs
                    || !prior.coefficients.diagonal().into_iter().all(positive),
                format!("expected a prior of {} coefficients", self.inputs),
            ),
            (!variance, "the belief about the outcome's variance is not a distribution".to_owned()),
        ];
        match complaints.into_iter().find(|(wrong, _)| *wrong) {
            Some((_, what)) => Err(RunError::Unusable { what: format!("sufficient statistics: {what}") }),
            None => Ok(()),
        }
    }

    /// The statistics of θ alone: Σ w² xxᵀ and Σ w² xy.
    pub fn statistics(&self) -> NoisyStatistics {
        let of_inputs = linalg::packed(self.inputs).min(self.matrix.len());
        let (products, rest) = self.matrix.split_at(of_inputs);
        NoisyStatistics {
            products: products.to_vec(),
            targets: rest[..self.inputs.min(rest.len())].to_vec(),
            deviations: EntryDeviations {
                diagonal: self.deviation,
                off_diagonal: self.deviation * std::f64::consts::FRAC_1_SQRT_2,
            },
        }
    }
}

#[cfg(test)]
mod tests;
