//! Proper Gaussian distributions: moments, divergence, entropy, draws.
//!
//! A value of [`Gaussian`] is proper by construction: constructors return `None` for a mean that is not
//! finite or a covariance that is not positive definite. Independent coordinates are kept as variances,
//! others by the Cholesky factor of the precision.

use crate::data::{Row, Rows};
use crate::draws;
use crate::linalg;
use rand_core::Rng;
use std::f64::consts::{E, PI};

/// A proper Gaussian distribution.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    /// μ.
    mean: Vec<f64>,
    /// Σ, as variances or by the precision's factor.
    spread: Spread,
}

/// How the covariance is kept.
#[derive(Debug, Clone, PartialEq)]
enum Spread {
    /// Variances.
    Diagonal(Vec<f64>),
    /// Lower Cholesky factor of the precision, row by row, packed.
    Full(Vec<f64>),
}

/// Whether all are finite numbers.
fn all_finite(values: &[f64]) -> bool {
    values.iter().all(|v| v.is_finite())
}

/// Whether all are finite numbers over 0.
fn all_positive(values: &[f64]) -> bool {
    values.iter().all(|v| *v > 0.0 && v.is_finite())
}

impl Gaussian {
    /// Independent coordinates; none unless means are finite and variances positive and finite.
    pub fn new_diagonal(mean: Vec<f64>, variances: Vec<f64>) -> Option<Self> {
        let precise = variances.iter().all(|v| (1.0 / v).is_finite());
        let proper = mean.len() == variances.len() && all_finite(&mean) && all_positive(&variances) && precise;
        proper.then_some(Self { mean, spread: Spread::Diagonal(variances) })
    }

    /// A Gaussian by its precision matrix, lower triangle packed row by row; none unless it is positive definite.
    pub fn from_precision(mean: Vec<f64>, precision: &[f64]) -> Option<Self> {
        if precision.len() != linalg::packed(mean.len()) {
            return None;
        }
        let factor = linalg::cholesky(precision, mean.len())?;
        Self::of_factor(mean, factor)
    }

    /// The precision matrix where coordinates are correlated, lower triangle packed row by row; none where they are not.
    pub fn packed_precision(&self) -> Option<Vec<f64>> {
        match self.spread {
            Spread::Diagonal(_) => None,
            Spread::Full(_) => Some(self.precision()),
        }
    }

    /// A Gaussian by Λμ and packed Λ.
    pub(super) fn from_information(information: &[f64], precision: &[f64]) -> Option<Self> {
        let factor = linalg::cholesky(precision, information.len())?;
        let mut mean = information.to_vec();
        linalg::solve_lower(&factor, &mut mean);
        linalg::solve_upper(&factor, &mut mean);
        Self::of_factor(mean, factor)
    }

    /// The Gaussian of a mean and a factor of the precision; none where a variance is no number.
    fn of_factor(mean: Vec<f64>, factor: Vec<f64>) -> Option<Self> {
        let q = Self { mean, spread: Spread::Full(factor) };
        (all_finite(&q.mean) && all_positive(&q.variances())).then_some(q)
    }

    /// d.
    pub fn dimension(&self) -> usize {
        self.mean.len()
    }

    /// μ.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Variance of each coordinate.
    pub fn variances(&self) -> Vec<f64> {
        match &self.spread {
            Spread::Diagonal(variances) => variances.clone(),
            Spread::Full(factor) => {
                let covariance = linalg::inverse(factor, self.dimension());
                (0..self.dimension()).map(|j| covariance[linalg::place(j, j)]).collect()
            }
        }
    }

    /// Deviation of each coordinate.
    pub fn deviations(&self) -> Vec<f64> {
        self.variances().into_iter().map(f64::sqrt).collect()
    }

    /// Λ, packed.
    pub(crate) fn precision(&self) -> Vec<f64> {
        match &self.spread {
            Spread::Diagonal(variances) => packed_diagonal(variances.iter().map(|v| 1.0 / v)),
            Spread::Full(factor) => linalg::product(factor, self.dimension()),
        }
    }

    /// Λⱼⱼ for each j.
    pub(crate) fn precision_diagonal(&self) -> Vec<f64> {
        match &self.spread {
            Spread::Diagonal(variances) => variances.iter().map(|v| 1.0 / v).collect(),
            Spread::Full(_) => {
                let precision = self.precision();
                (0..self.dimension()).map(|j| precision[linalg::place(j, j)]).collect()
            }
        }
    }

    /// Σ, packed.
    pub(crate) fn covariance(&self) -> Vec<f64> {
        match &self.spread {
            Spread::Diagonal(variances) => packed_diagonal(variances.iter().copied()),
            Spread::Full(factor) => linalg::inverse(factor, self.dimension()),
        }
    }

    /// Σx.
    pub fn covariance_times(&self, x: &[f64]) -> Vec<f64> {
        let mut y = x.to_vec();
        match &self.spread {
            Spread::Diagonal(variances) => y.iter_mut().zip(variances).for_each(|(y, v)| *y *= v),
            Spread::Full(factor) => {
                linalg::solve_lower(factor, &mut y);
                linalg::solve_upper(factor, &mut y);
            }
        }
        y
    }

    /// xᵀΣx: the variance of xᵀθ. For many rows see [`Gaussian::projections`].
    pub fn quadratic(&self, row: &Row<'_>) -> f64 {
        match &self.spread {
            Spread::Diagonal(variances) => row.dot_squared(variances),
            Spread::Full(factor) => {
                let mut z = row.to_dense(self.dimension());
                linalg::solve_lower(factor, &mut z);
                z.iter().map(|v| v * v).sum()
            }
        }
    }

    /// The distributions of xᵀθ, for many rows.
    /// Computes Σ once where coordinates are correlated, in place of a triangular solve for each row.
    pub fn projections(&self) -> Projections<'_> {
        let variance = match &self.spread {
            Spread::Diagonal(variances) => Variance::Diagonal(variances),
            Spread::Full(_) => Variance::Full(self.covariance()),
        };
        Projections { mean: &self.mean, variance }
    }

    /// log |Σ|.
    fn log_volume(&self) -> f64 {
        match &self.spread {
            Spread::Diagonal(variances) => variances.iter().map(|v| libm::log(*v)).sum(),
            Spread::Full(factor) => {
                -2.0 * (0..self.dimension()).map(|j| libm::log(factor[linalg::place(j, j)])).sum::<f64>()
            }
        }
    }

    /// Differential entropy in nats: ½ d log 2πe + ½ log |Σ|.
    pub fn entropy(&self) -> f64 {
        0.5 * (self.dimension() as f64 * libm::log(2.0 * PI * E) + self.log_volume())
    }

    /// KL(self ‖ to) = ½ (tr Λ'Σ + (μ' − μ)ᵀΛ'(μ' − μ) − d + log |Σ'| − log |Σ|), in nats; primes are of `to`.
    /// Rounding never makes it negative.
    pub fn kl(&self, to: &Self) -> f64 {
        let shift: Vec<f64> = to.mean.iter().zip(&self.mean).map(|(a, b)| a - b).collect();
        let (volumes, d) = (to.log_volume() - self.log_volume(), self.dimension() as f64);
        let (trace, distance) = match (&self.spread, &to.spread) {
            (Spread::Diagonal(own), Spread::Diagonal(theirs)) => (
                own.iter().zip(theirs).map(|(a, b)| a / b).sum::<f64>(),
                shift.iter().zip(theirs).map(|(s, v)| s * s / v).sum::<f64>(),
            ),
            _ => {
                let precision = to.precision();
                let trace = trace_of_product(&precision, &self.covariance(), self.dimension());
                let moved = linalg::symmetric_times(&precision, &shift);
                (trace, shift.iter().zip(&moved).map(|(a, b)| a * b).sum())
            }
        };
        (0.5 * (trace + distance - d + volumes)).max(0.0)
    }

    /// One draw. For models, initial values and tests: noise that protects rows comes from a gate.
    pub fn sample(&self, rng: &mut impl Rng) -> Vec<f64> {
        let mut theta = vec![0.0; self.dimension()];
        draws::standard_normals(rng, &mut theta);
        match &self.spread {
            Spread::Diagonal(variances) => theta.iter_mut().zip(variances).for_each(|(t, v)| *t *= v.sqrt()),
            Spread::Full(factor) => linalg::solve_upper(factor, &mut theta),
        }
        theta.iter_mut().zip(&self.mean).for_each(|(t, m)| *t += m);
        theta
    }
}

/// The distributions N(m, v) of xᵀθ under one q, with what they share computed once.
#[derive(Debug)]
pub struct Projections<'a> {
    mean: &'a [f64],
    variance: Variance<'a>,
}

/// What the variances of many xᵀθ share.
#[derive(Debug)]
enum Variance<'a> {
    Diagonal(&'a [f64]),
    /// Σ, packed.
    Full(Vec<f64>),
}

impl Projections<'_> {
    /// m and v of one row.
    pub fn of(&self, row: &Row<'_>) -> (f64, f64) {
        (row.dot(self.mean), self.variance(row))
    }

    /// m and v of these rows, four at a time.
    pub(crate) fn of_rows(&self, rows: &Rows, which: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let Variance::Full(covariance) = &self.variance else {
            return which.iter().map(|&i| self.of(&rows.row(i))).unzip();
        };
        let mean = which.iter().map(|&i| rows.row(i).dot(self.mean)).collect();
        let (fours, rest) = which.as_chunks::<4>();
        let mut variance: Vec<f64> = Vec::with_capacity(which.len());
        for four in fours {
            variance.extend(Row::quadratics_of(four.map(|i| rows.row(i)), covariance).map(|v| v.max(0.0)));
        }
        variance.extend(rest.iter().map(|&i| self.variance(&rows.row(i))));
        (mean, variance)
    }

    /// xᵀΣx, at least 0 whatever rounding does.
    fn variance(&self, row: &Row<'_>) -> f64 {
        match &self.variance {
            Variance::Diagonal(variances) => row.dot_squared(variances),
            Variance::Full(covariance) => row.quadratic(covariance).max(0.0),
        }
    }
}

/// A packed matrix with this diagonal.
fn packed_diagonal(diagonal: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let mut a = vec![0.0; linalg::packed(diagonal.len())];
    diagonal.enumerate().for_each(|(j, v)| a[linalg::place(j, j)] = v);
    a
}

/// tr AB of packed symmetric matrices: every entry off the diagonal stands for two.
fn trace_of_product(a: &[f64], b: &[f64], d: usize) -> f64 {
    let twice: f64 = a.iter().zip(b).map(|(x, y)| 2.0 * x * y).sum();
    let once: f64 = (0..d).map(|j| a[linalg::place(j, j)] * b[linalg::place(j, j)]).sum();
    twice - once
}
