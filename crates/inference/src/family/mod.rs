//! Gaussian families in natural parameters.
//!
//! η = (Λμ, −½Λ): first the d coordinates of Λμ, then the precision. Mean-field: −½Λⱼⱼ for each j. Full:
//! for each pair i ≥ j in row order, −½Λᵢᵢ on the diagonal and −Λᵢⱼ off it, so that
//! η·T(θ) = Σ η₁ᵢθᵢ + Σ_{i≥j} η₂ᵢⱼθᵢθⱼ.
//!
//! Products of densities are sums of natural parameters. That is why factors add up, why a client's
//! change can be clipped as one vector, and why totals can be exact integers. A factor need not be a
//! proper Gaussian; what is served always is ([`Family::repair`]).
//!
//! # Examples
//! ```
//! use inference::settings::Repair;
//! use inference::{Family, Gaussian};
//!
//! let family = Family::MeanField { dimension: 2 };
//! let q = Gaussian::new_diagonal(vec![1.0, -2.0], vec![0.5, 0.25]).expect("proper");
//! let eta = family.natural(&q);
//! assert_eq!(eta, [2.0, -8.0, -1.0, -2.0], "Λμ, then −½Λ");
//! assert_eq!(family.gaussian(&eta), Some(q));
//!
//! let noisy = [2.0, -8.0, -1.0, 3.0];
//! assert!(family.gaussian(&noisy).is_none(), "a negative precision");
//! let served = family.repair(&noisy, &family.prior(1.0), Repair::Project);
//! assert_eq!(served, [2.0, -8.0, -1.0, -0.5], "that of the prior in its place");
//! ```

mod gaussian;
mod repair;

pub use gaussian::{Gaussian, Projections};

use crate::linalg;
use crate::settings::Repair;
use serde::{Deserialize, Serialize};

/// No |η| of an honest q or factor is larger. A change between two of these is on the sending grid, which holds 2^38.
pub(crate) const MOST_NATURAL: f64 = (1_u64 << 36) as f64;

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

impl Family {
    /// d: number of parameters.
    pub fn dimension(&self) -> usize {
        match *self {
            Self::MeanField { dimension } | Self::Full { dimension } => dimension,
        }
    }

    /// Number of natural parameters.
    #[allow(clippy::len_without_is_empty)] // a family of no parameters is none
    pub fn len(&self) -> usize {
        match *self {
            Self::MeanField { dimension } => 2 * dimension,
            Self::Full { dimension } => dimension + linalg::packed(dimension),
        }
    }

    /// Natural parameters of N(0, I/precision).
    pub fn prior(&self, precision: f64) -> Vec<f64> {
        self.prior_of_each(&vec![precision; self.dimension()])
    }

    /// Natural parameters of N(0, 1/precision) in each coordinate.
    pub fn prior_of_each(&self, precisions: &[f64]) -> Vec<f64> {
        let mut natural = vec![0.0; self.len()];
        precisions.iter().enumerate().for_each(|(j, precision)| natural[self.diagonal(j)] = -0.5 * precision);
        natural
    }

    /// Natural parameters of a Gaussian of d coordinates.
    ///
    /// In the mean-field family a Gaussian with correlations becomes its nearest member: the q that minimises
    /// KL(q ‖ it), which has the same mean and the diagonal of its precision.
    pub fn natural(&self, q: &Gaussian) -> Vec<f64> {
        let d = self.dimension();
        let mut natural = Vec::with_capacity(self.len());
        match self {
            Self::MeanField { .. } => {
                let precision = q.precision_diagonal();
                natural.extend(precision.iter().zip(q.mean()).map(|(p, m)| p * m));
                natural.extend(precision.iter().map(|p| -0.5 * p));
            }
            Self::Full { .. } => {
                let precision = q.precision();
                natural.extend(linalg::symmetric_times(&precision, q.mean()));
                natural.extend(as_natural(&precision, d));
            }
        }
        natural
    }

    /// The Gaussian of these natural parameters; none if it is not proper or not finite.
    pub fn gaussian(&self, natural: &[f64]) -> Option<Gaussian> {
        if natural.len() != self.len() {
            return None;
        }
        let (first, second) = natural.split_at(self.dimension());
        match self {
            Self::MeanField { .. } => {
                let variances: Vec<f64> = second.iter().map(|v| 1.0 / (-2.0 * v)).collect();
                let mean = first.iter().zip(second).map(|(f, s)| f / (-2.0 * s)).collect();
                Gaussian::new_diagonal(mean, variances)
            }
            Self::Full { dimension } => Gaussian::from_information(first, &as_precision(second, *dimension)),
        }
    }

    /// The one post-processing that makes natural parameters proper, whatever numbers come in.
    ///
    /// A coordinate that is not finite takes the prior's. [`Repair::Project`] raises the data's precision, that is the
    /// given one less the prior's, to at least 0: each coordinate of the mean-field family, each eigenvalue in the full
    /// one. [`Repair::Floor`] raises the served precision to the floor in the same way. Λμ is kept. Where the numbers
    /// are so large or small that no finite mean or variance belongs to them, the prior's coordinate (mean-field) or
    /// the whole prior (full) is served. What is repaired already comes back as it is. The prior must be proper.
    pub fn repair(&self, natural: &[f64], prior: &[f64], how: Repair) -> Vec<f64> {
        match *self {
            Self::MeanField { dimension } => repair::mean_field(natural, prior, how, dimension),
            Self::Full { .. } => repair::full(self, natural, prior, how),
        }
    }

    /// Place of −½Λⱼⱼ.
    pub(crate) fn diagonal(&self, j: usize) -> usize {
        match *self {
            Self::MeanField { dimension } => dimension + j,
            Self::Full { dimension } => dimension + linalg::place(j, j),
        }
    }
}

/// From a packed precision to the second half of η.
pub(crate) fn as_natural(precision: &[f64], d: usize) -> impl Iterator<Item = f64> {
    (0..d).flat_map(move |i| (0..=i).map(move |j| if i == j { -0.5 } else { -1.0 })).zip(precision).map(|(w, p)| w * p)
}

/// From the second half of η to a packed precision.
pub(crate) fn as_precision(second: &[f64], d: usize) -> Vec<f64> {
    let weights = (0..d).flat_map(move |i| (0..=i).map(move |j| if i == j { -2.0 } else { -1.0 }));
    weights.zip(second).map(|(w, s)| w * s).collect()
}

#[cfg(test)]
mod tests;
