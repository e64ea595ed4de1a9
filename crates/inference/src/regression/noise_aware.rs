//! Draws from the posterior given noisy statistics, by elliptical slice sampling about a Gaussian near it.

use super::working::{Base, Working};
use super::{Prior, Seen, Units};
use crate::{Gaussian, RunError, draws, linalg};
use chacha20::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use std::f64::consts::PI;

/// Draws before the first that is kept.
const WARM_UP: usize = 300;
/// Draws that are kept.
const DRAWS: usize = 1500;
/// Degrees of freedom of the Student distribution about which slices are drawn.
const FREEDOM: usize = 6;
/// Inputs at most: the density has d²/2 coordinates, and a step costs the square of that.
const MOST_INPUTS: usize = 40;

/// The posterior of θ and σ² given the noisy statistics, in the units of the statistics unless moved.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    inputs: usize,
    /// θ and then σ², for each draw.
    draws: Vec<f64>,
}

impl Posterior {
    /// Draws of (θ, σ²).
    pub fn draws(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.draws.chunks_exact(self.inputs + 1)
    }

    fn average(&self, f: impl Fn(&[f64]) -> f64) -> f64 {
        self.draws().map(f).sum::<f64>() / self.draws().len() as f64
    }

    /// Posterior mean of θ.
    pub fn mean(&self) -> Vec<f64> {
        (0..self.inputs).map(|j| self.average(|draw| draw[j])).collect()
    }

    /// Posterior covariance of θ: the lower triangle row by row.
    pub fn covariance(&self) -> Vec<f64> {
        let mean = self.mean();
        let pairs = (0..self.inputs).flat_map(|i| (0..=i).map(move |j| (i, j)));
        pairs.map(|(i, j)| self.average(|draw| (draw[i] - mean[i]) * (draw[j] - mean[j]))).collect()
    }

    /// Posterior mean of σ².
    pub fn noise_variance(&self) -> f64 {
        self.average(|draw| draw[self.inputs])
    }

    /// The central interval of coordinate j that holds this share of the posterior.
    pub fn interval(&self, j: usize, share: f64) -> [f64; 2] {
        let mut values: Vec<f64> = self.draws().map(|draw| draw[j]).collect();
        values.sort_by(f64::total_cmp);
        [0.5 - 0.5 * share, 0.5 + 0.5 * share].map(|level| quantile(&values, level))
    }

    /// The Gaussian of the same mean and covariance.
    pub fn gaussian(&self) -> Option<Gaussian> {
        let factor = linalg::cholesky(&self.covariance(), self.inputs)?;
        Gaussian::from_precision(self.mean(), &linalg::inverse(&factor, self.inputs))
    }

    /// The same posterior in data units: θⱼ·dev_y/dev_j and σ²·dev_y².
    pub fn in_data_units(&self, units: &Units<'_>) -> Self {
        let factor = |j: usize| if j < self.inputs { units.factor(j) } else { units.outcome * units.outcome };
        let draws = self.draws.iter().enumerate().map(|(k, v)| v * factor(k % (self.inputs + 1))).collect();
        Self { inputs: self.inputs, draws }
    }
}

/// The quantile of sorted values, linear between neighbours.
fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

/// The posterior given the *noisy* statistics, after Bernstein and Sheldon 2019 (arXiv:1910.13153).
///
/// The same numbers and seed give the same draws. The seed is a digest of released numbers: draws are post-processing.
/// An error if sizes do not fit, a number is not finite, or there are too many inputs.
pub fn noise_aware(seen: &Seen, prior: &Prior, seed: [u8; 32]) -> Result<Posterior, RunError> {
    seen.check(prior)?;
    if seen.inputs > MOST_INPUTS {
        let what = format!("{} inputs, a noise-aware posterior takes {MOST_INPUTS}; use the ridge", seen.inputs);
        return Err(RunError::Settings { what });
    }
    let working = Working::new(seen, prior);
    let unusable = || RunError::Settings { what: "sufficient statistics: numbers too large to work with".into() };
    let mut slices = Slices::new(&working, working.base().ok_or_else(unusable)?, seed);
    let mut draws = Vec::with_capacity(DRAWS * (seen.inputs + 1));
    for k in 0..WARM_UP + DRAWS {
        slices.step();
        if k >= WARM_UP {
            draws.extend_from_slice(working.theta(&slices.phi));
            draws.push(working.noise_variance(&slices.phi));
        }
    }
    Ok(Posterior { inputs: seen.inputs, draws })
}

/// Elliptical slice sampling about a Student distribution (Nishihara, Murray and Adams 2014, JMLR 15).
///
/// π = T·(π/T): T is the Student distribution with the base's centre and precision, a mixture of Gaussians over a scale.
/// Given the scale, an ellipse through the present point and a draw of the Gaussian is searched for a point of the slice
/// {π/T > level}; the bracket of angles shrinks towards the present point, which is in the slice (Murray, Adams and MacKay
/// 2010). There is nothing to tune, and π is left invariant whatever the base is.
struct Slices<'a> {
    working: &'a Working<'a>,
    base: Base,
    rng: ChaCha8Rng,
    /// The present point.
    phi: Vec<f64>,
    /// The same, less the centre and in units of the base's deviations.
    white: Vec<f64>,
    /// log π/T there.
    level: f64,
}

impl<'a> Slices<'a> {
    fn new(working: &'a Working<'a>, base: Base, seed: [u8; 32]) -> Self {
        let (phi, white) = (base.centre.clone(), vec![0.0; base.centre.len()]);
        let level = working.log_density(&phi);
        Self { working, base, rng: ChaCha8Rng::from_seed(seed), phi, white, level }
    }

    /// A number between 0 and 1, neither of them.
    fn uniform(&mut self) -> f64 {
        ((self.rng.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// log π/T of a point.
    fn log_ratio(&self, phi: &[f64], white: &[f64]) -> f64 {
        let (freedom, d) = (FREEDOM as f64, white.len() as f64);
        self.working.log_density(phi) + 0.5 * (freedom + d) * libm::log1p(squared(white) / freedom)
    }

    /// One draw.
    fn step(&mut self) {
        // The scale given the point: (freedom + |white|²)/χ² with freedom + D degrees.
        let mut normals = vec![0.0; FREEDOM + 2 * self.white.len()];
        draws::standard_normals(&mut self.rng, &mut normals);
        let (other, rest) = normals.split_at(self.white.len());
        let scale = ((FREEDOM as f64 + squared(&self.white)) / squared(rest)).sqrt();
        let other: Vec<f64> = other.iter().map(|v| v * scale).collect();
        let mut direction = other.clone();
        linalg::solve_upper(&self.base.factor, &mut direction);
        let level = self.level + libm::log(self.uniform());
        let mut angle = 2.0 * PI * self.uniform();
        let (mut least, mut most) = (angle - 2.0 * PI, angle);
        // The bracket halves on average; after so many turns it is the present point.
        for _ in 0..100 {
            let (c, s) = (libm::cos(angle), libm::sin(angle));
            let white: Vec<f64> = self.white.iter().zip(&other).map(|(x, y)| c * x + s * y).collect();
            let phi: Vec<f64> = (self.phi.iter().zip(&self.base.centre).zip(&direction))
                .map(|((f, m), y)| m + c * (f - m) + s * y)
                .collect();
            let there = self.log_ratio(&phi, &white);
            if there > level {
                (self.phi, self.white, self.level) = (phi, white, there);
                return;
            }
            if angle < 0.0 {
                least = angle;
            } else {
                most = angle;
            }
            angle = least + (most - least) * self.uniform();
        }
    }
}

fn squared(a: &[f64]) -> f64 {
    a.iter().map(|v| v * v).sum()
}
