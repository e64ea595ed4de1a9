//! Gaussian families in natural parameters.
//!
//! η = (Λμ, −½Λ): first the d coordinates of Λμ, then the precision. Mean-field: −½Λⱼⱼ for each j. Full: for each pair
//! i ≥ j in row order, −½Λᵢᵢ on the diagonal and −Λᵢⱼ off it, so that η·T(θ) = Σ η₁ᵢθᵢ + Σ_{i≥j} η₂ᵢⱼθᵢθⱼ.

use serde::{Deserialize, Serialize};

/// Which Gaussians over d parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Family {
    /// Independent coordinates.
    MeanField {
        /// d.
        dimension: usize,
    },
    /// Any covariance.
    Full {
        /// d.
        dimension: usize,
    },
}

/// A proper Gaussian distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    mean: Vec<f64>,
    spread: Spread,
}

#[derive(Debug, Clone, PartialEq)]
enum Spread {
    /// Variances.
    Diagonal(Vec<f64>),
    /// Lower Cholesky factor of the precision, row by row, packed.
    Full(Vec<f64>),
}
