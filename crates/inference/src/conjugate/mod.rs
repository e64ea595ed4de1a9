//! Conjugate families from noisy sufficient statistics: posteriors that count the noise, exact up to quadrature.
//!
//! The rows' sufficient statistic s is released once with Gaussian noise of known variance, r = s + e. Given s the posterior is one of
//! the family in closed form, so that the posterior given what was released is a mixture of these:
//!
//! ```text
//! p(θ | r) = ∫ p(θ | s) p(s | r) ds,    p(s | r) ∝ p(s) N(r − s; 0, v),    p(s) = ∫ p(s | θ) p(θ) dθ.
//! ```
//!
//! p(s), the prior predictive law of s, has a closed form in every conjugate family. Where s is a count the integral is a sum, and the
//! answer is exact but for rounding (`counts.rs`); for the normal law it is a sum over a grid in two dimensions (`normal.rs`).
//! `docs/maths/conjugate.md` proves sensitivities and states the errors.

mod counts;
mod incomplete_gamma;
mod marginal;
mod normal;

pub(crate) use counts::{LatentCount, log_binomial};
pub use marginal::{ExactMarginal, QUANTILE_LEVELS, Quantiles};
pub(crate) use normal::NormalInverseGamma;

use crate::Prediction;
use chacha20::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;
use std::fmt;

/// A model whose posterior given the sums of its rows' sufficient statistics has a closed form.
///
/// A model hands it out by [`Model::conjugate`](crate::Model::conjugate); the algorithm `conjugate` does the rest.
pub trait ConjugateFamily: fmt::Debug + Send + Sync {
    /// What of a row is summed, for an outcome with these public bounds, as encoded. None where the family needs bounds and there
    /// are none.
    fn asks(&self, bounds: Option<[f64; 2]>) -> Option<RowStatistics>;

    /// Mean and variance of every parameter before any row.
    fn prior(&self) -> Vec<(f64, f64)>;

    /// The posterior given noisy sums; none of sums of another number, or that are not finite.
    fn posterior(&self, seen: &NoisyTotals) -> Option<Vec<ExactMarginal>>;

    /// The posterior given the outcomes themselves.
    fn exact(&self, outcomes: &[f64]) -> Option<Vec<ExactMarginal>>;

    /// log p(y | θ).
    fn log_likelihood(&self, outcome: f64, theta: &[f64]) -> f64;

    /// What is said of a new row, given mean and variance of every parameter.
    fn predict(&self, mean: &[f64], variances: &[f64]) -> Prediction;

    /// Parameters drawn from the prior, for rows that are made up.
    fn draw(&self, rng: &mut ChaCha20Rng) -> Vec<f64>;

    /// An outcome drawn at these parameters.
    fn draw_outcome(&self, theta: &[f64], rng: &mut ChaCha20Rng) -> f64;
}

/// Sums of sufficient statistics with noise in them.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyTotals {
    /// n: declared rows that are in the sums.
    pub rows: u64,
    /// r, in the units of the statistics.
    pub sums: Vec<f64>,
    /// v: variance of the noise in each of them; 0 where there is none.
    pub variance: f64,
    /// Of sums of u = (y − middle)/half and of u²: middle and half; 0 and 1 of other sums.
    pub units: (f64, f64),
}

/// What is summed over rows: the question of the algorithm `conjugate`, in public numbers.
///
/// Sensitivities are those of one row replaced by another, whose number is public (`docs/maths/conjugate.md`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum RowStatistics {
    /// y, held to its bounds. Δ = high − low.
    Value {
        /// The least value.
        low: f64,
        /// The greatest.
        high: f64,
    },
    /// A one at the place of the row's level. Δ = √2: two different rows differ in two places.
    Level {
        /// K.
        levels: u32,
    },
    /// (u, u²) with u = (y − middle)/half of the bounds, held to ±1. Δ = 2, that of u alone: the squares cost nothing.
    Moments {
        /// The least value.
        low: f64,
        /// The greatest.
        high: f64,
    },
}

impl RowStatistics {
    /// How many numbers a sum has.
    pub(crate) fn numbers(&self) -> usize {
        match self {
            Self::Value { .. } => 1,
            Self::Level { levels } => *levels as usize,
            Self::Moments { .. } => 2,
        }
    }

    /// What [`NoisyTotals::units`] says of sums of these.
    pub(crate) fn units(&self) -> (f64, f64) {
        if let Self::Moments { .. } = self { self.middle_and_half() } else { (0.0, 1.0) }
    }

    /// Middle and half of the bounds; 0 and 1 of levels.
    fn middle_and_half(&self) -> (f64, f64) {
        match self {
            Self::Value { low, high } | Self::Moments { low, high } => (0.5 * (low + high), 0.5 * (high - low)),
            Self::Level { .. } => (0.0, 1.0),
        }
    }

    /// Whether it is one that this program asks: finite bounds in order, or two levels and more.
    pub(crate) fn is_sound(&self) -> bool {
        match self {
            Self::Value { low, high } | Self::Moments { low, high } => {
                low.is_finite() && high.is_finite() && low < high && (high - low).is_finite()
            }
            Self::Level { levels } => *levels >= 2,
        }
    }

    /// h, by which a statistic is divided before it is summed, so that its vector has a norm of at most 1 (√2 without negative
    /// coordinates). The sensitivity is 2h.
    pub(crate) fn reach(&self) -> f64 {
        match self {
            Self::Value { .. } => self.middle_and_half().1,
            Self::Level { .. } => SQRT_2.recip(),
            Self::Moments { .. } => 1.0,
        }
    }

    /// Δ₂: how far the replacement of one row moves the sum, in the units of the statistics.
    pub fn sensitivity(&self) -> f64 {
        2.0 * self.reach()
    }

    /// What is subtracted from a row's statistics before they are divided by h: the centre of the smallest ball that has all of them.
    ///
    /// Of (u, u²) it is (0, 1): u² + (u² − 1)² = 1 − u²(1 − u²) ≤ 1 for |u| ≤ 1.
    pub(crate) fn centre(&self) -> Vec<f64> {
        match self {
            Self::Value { .. } => vec![self.middle_and_half().0],
            Self::Level { levels } => vec![0.0; *levels as usize],
            Self::Moments { .. } => vec![0.0, 1.0],
        }
    }

    /// A row's statistics.
    pub(crate) fn of(&self, outcome: f64, into: &mut Vec<f64>) {
        into.clear();
        match self {
            Self::Value { low, high } => into.push(outcome.clamp(*low, *high)),
            Self::Level { levels } => into.extend((0..*levels).map(|level| f64::from(outcome == f64::from(level)))),
            Self::Moments { .. } => {
                let (middle, half) = self.middle_and_half();
                let u = ((outcome - middle) / half).clamp(-1.0, 1.0);
                into.extend([u, u * u]);
            }
        }
    }

    /// Whether vectors have no negative coordinate and keep √2 times the bound.
    pub(crate) fn is_non_negative(&self) -> bool {
        matches!(self, Self::Level { .. })
    }
}

#[cfg(test)]
mod tests;
