//! Draws from the posterior given noisy statistics, by Hamiltonian Monte Carlo in coordinates in which a
//! Gaussian near it is standard.
//!
//! The statistics are an observation with noise of known variance, so that the posterior given them is
//! wider than the one that takes them at their word. Draws are post-processing: the chain sees released
//! numbers only, and its seed is a digest of them.

use super::near::Near;
use super::working::Working;
use super::{ObservedSums, RegressionPrior, Units};
use crate::linalg::{self, dot};
use crate::{Gaussian, RunError, draws};
use chacha20::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Draws before the first that is kept.
const WARM_UP: usize = 150;
/// Draws that are kept.
const DRAWS: usize = 800;
/// Mean length of a path, in deviations of the Gaussian near the posterior: a quarter of its period.
const LENGTH: f64 = 1.6;
/// Leapfrog steps of a path at most.
const MOST_STEPS: usize = 40;
/// Acceptance that the stride is tuned to.
const ACCEPTANCE: f64 = 0.8;
/// Inputs at most: the density has d²/2 coordinates, and a step costs the square of that.
pub const MOST_INPUTS: usize = 40;

/// The posterior of θ and σ² given the noisy statistics, in the units of the statistics unless moved.
#[derive(Debug, Clone, PartialEq)]
pub struct RegressionPosterior {
    inputs: usize,
    /// θ and then σ², for each draw.
    draws: Vec<f64>,
}

impl RegressionPosterior {
    /// Draws of (θ, σ²).
    pub fn draws(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.draws.chunks_exact(self.inputs + 1)
    }

    /// The mean of a function of a draw.
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
pub fn noise_aware(
    seen: &ObservedSums,
    prior: &RegressionPrior,
    seed: [u8; 32],
) -> Result<RegressionPosterior, RunError> {
    seen.check(prior)?;
    if seen.inputs > MOST_INPUTS {
        let what = format!("{} inputs, a noise-aware posterior takes {MOST_INPUTS}; use the ridge", seen.inputs);
        return Err(RunError::Unusable { what });
    }
    let working = Working::new(seen, prior);
    let unusable = || RunError::Unusable { what: "sufficient statistics: numbers too large to work with".into() };
    let near = Near::of(&working).ok_or_else(unusable)?;
    let mut chain = RegressionChain::new(&working, near, seed).ok_or_else(unusable)?;
    let mut draws = Vec::with_capacity(DRAWS * (seen.inputs + 1));
    for k in 0..WARM_UP + DRAWS {
        let accepted = chain.step();
        if k < WARM_UP {
            chain.adapt(k, accepted);
        } else {
            draws.extend_from_slice(working.theta(&chain.here.phi));
            draws.push(working.noise_variance(&chain.here.phi));
        }
    }
    Ok(RegressionPosterior { inputs: seen.inputs, draws })
}

/// Hamiltonian Monte Carlo (Neal 2011) in coordinates in which a Gaussian near the posterior is standard.
///
/// Leapfrog steps are reversible and keep volumes whatever field of slopes they follow, so with the test at the end the
/// posterior is left invariant exactly. Lengths are random, so that no direction comes back to where it was.
struct RegressionChain<'a> {
    working: &'a Working<'a>,
    near: Near,
    rng: ChaCha8Rng,
    here: GridPlace,
    /// Length of a leapfrog step.
    stride: f64,
}

/// A point with what is known there.
#[derive(Clone)]
struct GridPlace {
    phi: Vec<f64>,
    log_density: f64,
    /// Slope in the coordinates of the chain.
    slope: Vec<f64>,
}

impl<'a> RegressionChain<'a> {
    /// A chain that starts at the centre of the Gaussian near the posterior.
    fn new(working: &'a Working<'a>, near: Near, seed: [u8; 32]) -> Option<Self> {
        let here = place(working, &near, near.centre.clone())?;
        let stride = 1.0 / libm::pow(working.len() as f64, 0.25);
        Some(Self { working, near, rng: ChaCha8Rng::from_seed(seed), here, stride })
    }

    /// A number between 0 and 1, neither of them.
    fn uniform(&mut self) -> f64 {
        ((self.rng.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// One draw; the probability with which it was accepted.
    fn step(&mut self) -> f64 {
        let mut momentum = vec![0.0; self.working.len()];
        draws::standard_normals(&mut self.rng, &mut momentum);
        let length = LENGTH * (0.5 + self.uniform());
        let steps = ((length / self.stride).ceil() as usize).clamp(1, MOST_STEPS);
        let before = self.here.log_density - 0.5 * dot(&momentum, &momentum);
        let threshold = self.uniform();
        let Some(end) = self.fly(&mut momentum, steps) else { return 0.0 };
        let after = end.log_density - 0.5 * dot(&momentum, &momentum);
        let probability = libm::exp((after - before).min(0.0));
        if threshold < probability {
            self.here = end;
        }
        if probability.is_nan() { 0.0 } else { probability }
    }

    /// Leapfrog steps from here; none where the path leaves the numbers.
    fn fly(&self, momentum: &mut [f64], steps: usize) -> Option<GridPlace> {
        let mut at = self.here.clone();
        for _ in 0..steps {
            momentum.iter_mut().zip(&at.slope).for_each(|(m, s)| *m += 0.5 * self.stride * s);
            let mut way: Vec<f64> = momentum.iter().map(|m| m * self.stride).collect();
            linalg::solve_upper(&self.near.factor, &mut way);
            let phi = at.phi.iter().zip(&way).map(|(f, w)| f + w).collect();
            at = place(self.working, &self.near, phi)?;
            momentum.iter_mut().zip(&at.slope).for_each(|(m, s)| *m += 0.5 * self.stride * s);
        }
        Some(at)
    }

    /// Moves the stride towards an acceptance of [`ACCEPTANCE`] (Robbins and Monro); only before draws are kept.
    fn adapt(&mut self, k: usize, accepted: f64) {
        let gain = 1.0 / libm::pow(k as f64 + 4.0, 0.6);
        self.stride = (self.stride * libm::exp(gain * (accepted - ACCEPTANCE))).clamp(1e-4, 2.0);
    }
}

/// What is known at φ.
fn place(working: &Working<'_>, near: &Near, phi: Vec<f64>) -> Option<GridPlace> {
    let (log_density, mut slope) = working.log_density(&phi)?;
    linalg::solve_lower(&near.factor, &mut slope);
    Some(GridPlace { phi, log_density, slope })
}
