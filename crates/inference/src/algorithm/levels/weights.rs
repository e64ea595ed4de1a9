//! What shortening rows does to second moments, for Gaussian inputs.
//!
//! Both looks and every level give long rows less weight: the first look c = min(1, √(3·numbers)/‖x²‖), the second
//! w = min(1, r²/‖s∘z‖²), a level c = min(1, r/‖s∘z‖). A weighted covariance is narrower than C, most of all along the widest
//! directions. Along an eigenvector of C in units of s∘z with eigenvalue λ, and for a weight that looks at Q = ‖s∘z‖² alone,
//!
//! E[w g²]/E[w] = E[w(Q + λχ²₂)]/E[w(Q)],   g standard normal,
//!
//! because g² times the density of g² is that of a χ² variable with two more degrees of freedom. Q is taken to be the intercept's
//! square plus a gamma variable with the mean Σλ and the variance 2Σλ² that the other coordinates have.

use super::design::LEVEL_RADIUS;
use super::looks::{CentredInputs, SQUARES_RADIUS};
use crate::linalg::{Eigen, place};

/// Mean of max(σ, 1 − σ), by which a level's clip is divided.
const USUAL_RESIDUAL: f64 = 0.65;
/// Points of a sum over the logarithm of a gamma variable.
const POINTS: usize = 160;
/// Shapes over this are points.
const NARROW: f64 = 1e5;
/// Least share that is believed to be left of a second moment.
const LEAST: f64 = 0.2;

/// A gamma variable plus a constant.
#[derive(Debug, Clone, Copy)]
struct SquaredNorm {
    constant: f64,
    mean: f64,
    variance: f64,
}

impl SquaredNorm {
    /// The same, with λχ²₂ added.
    fn with(self, lambda: f64) -> Self {
        Self { mean: self.mean + 2.0 * lambda, variance: self.variance + 4.0 * lambda * lambda, ..self }
    }

    /// E f(Q): a sum over evenly spaced logarithms, with the weights of the gamma density.
    fn expectation(self, f: impl Fn(f64) -> f64) -> f64 {
        let shape = self.mean * self.mean / self.variance;
        if shape.is_nan() || shape >= NARROW {
            return f(self.constant + self.mean);
        }
        let root = shape.sqrt();
        let (low, high) = (-(6.0 / root + 7.0 / shape), (6.0 / root).min(3.2));
        let (mut weights, mut sum) = (0.0, 0.0);
        for k in 0..POINTS {
            let u = low + (high - low) * k as f64 / (POINTS - 1) as f64;
            let ratio = libm::exp(u);
            let weight = libm::exp(shape * (u - ratio + 1.0));
            weights += weight;
            sum += weight * f(self.constant + self.mean * ratio);
        }
        sum / weights
    }
}

/// The weights of rows with Gaussian inputs of one covariance.
pub(super) struct RowWeights<'a> {
    inputs: &'a CentredInputs,
    /// C in units of s∘z.
    eigen: Eigen,
    norm: SquaredNorm,
}

impl<'a> RowWeights<'a> {
    /// For this covariance of the inputs, packed.
    pub(super) fn of(inputs: &'a CentredInputs, covariance: &[f64]) -> Option<Self> {
        let (scales, p) = (inputs.scales(), inputs.width() - 1);
        let scaled = scaled(covariance, &scales[..p], 1.0);
        let eigen = Eigen::by_tridiagonal(&scaled, p)?;
        let mean = (0..p).map(|j| scaled[place(j, j)]).sum();
        let square =
            |(i, j): (usize, usize)| scaled[place(i, j)] * scaled[place(i, j)] * if i == j { 1.0 } else { 2.0 };
        let variance = 2.0 * (0..p).flat_map(|i| (0..=i).map(move |j| (i, j))).map(square).sum::<f64>();
        let norm = SquaredNorm { constant: scales[p] * scales[p], mean, variance };
        Some(Self { inputs, eigen, norm })
    }

    /// A symmetric matrix in units of s∘z whose square root of a share stands at each eigenvector: KCK has λ·share(λ) in the place of λ.
    fn roots(&self, weight: impl Fn(f64) -> f64, of: impl Fn(f64) -> f64) -> Vec<f64> {
        let all = self.norm.expectation(&weight);
        self.eigen.map(|lambda| of((self.norm.with(lambda.max(0.0)).expectation(&weight) / all).clamp(LEAST, 1.0)))
    }

    /// Undoes what the second look's weights do.
    pub(super) fn second_look_undone(&self) -> Vec<f64> {
        let square = self.inputs.second_radius() * self.inputs.second_radius();
        self.roots(|q| (square / q).min(1.0), |share| 1.0 / share.sqrt())
    }

    /// Does what a level's weights do.
    pub(super) fn level(&self) -> Vec<f64> {
        let radius = LEVEL_RADIUS * self.inputs.expected_norm() / USUAL_RESIDUAL;
        self.roots(|q| (radius / q.sqrt()).min(1.0), f64::sqrt)
    }
}

/// a with rows and columns multiplied by scales to the power ±1.
pub(super) fn scaled(a: &[f64], scales: &[f64], power: f64) -> Vec<f64> {
    let of = |j: usize| if power > 0.0 { scales[j] } else { 1.0 / scales[j] };
    (0..scales.len()).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| a[place(i, j)] * of(i) * of(j)).collect()
}

/// Share of each number's mean square that the first look's weights leave, for Gaussian numbers of this covariance, packed.
///
/// Σx⁴ is taken to be lognormal: its mean is 3Σσ⁴, its variance Σ(72 c²σ²σ² + 24 c⁴). Weighting by xⱼ² moves the mean to
/// Σₖ(3σₖ⁴ + 12 σₖ²cⱼₖ²/σⱼ²).
pub(super) fn first_look_shares(covariance: &[f64], numbers: usize) -> Vec<f64> {
    let c = |i: usize, j: usize| covariance[place(i.max(j), i.min(j))];
    let all = || (0..numbers).flat_map(|i| (0..numbers).map(move |j| (i, j)));
    let mean: f64 = (0..numbers).map(|j| 3.0 * c(j, j) * c(j, j)).sum();
    let both = |(i, j): (usize, usize)| 72.0 * c(i, j).powi(2) * c(i, i) * c(j, j) + 24.0 * c(i, j).powi(4);
    let spread = libm::log1p(all().map(both).sum::<f64>() / (mean * mean));
    let radius = (SQUARES_RADIUS * numbers as f64).sqrt();
    let share = |j: usize| {
        let of = |k: usize| 3.0 * c(k, k) * c(k, k) + 12.0 * c(k, k) * c(j, k) * c(j, k) / c(j, j);
        shortened(libm::log((0..numbers).map(of).sum::<f64>()) - 0.5 * spread, spread, radius).clamp(LEAST, 1.0)
    };
    (0..numbers).map(share).collect()
}

/// E min(1, R/√Q) for lognormal Q with these parameters.
fn shortened(mu: f64, variance: f64, radius: f64) -> f64 {
    let (deviation, threshold) = (variance.sqrt(), 2.0 * libm::log(radius));
    let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    below((threshold - mu) / deviation)
        + radius * libm::exp(-0.5 * mu + variance / 8.0) * below((mu - 0.5 * variance - threshold) / deviation)
}
