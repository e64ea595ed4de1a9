//! Hamiltonian Monte Carlo along noisy gradients, with a test that knows the noise of its log-ratio.

use super::penalty::{VARIANCE, accepted};
use super::{Kernel, KernelQuestion, Leaps, STEP, Sampler, Taken, all_rows, over_zero};
use crate::RunError;
use crate::algorithm::chain::noise::ChainNoise;
use crate::algorithm::chain::walk::{Coins, Target, Walk};
use crate::describe::{Conflict, Descriptor, Key, Limits, Otherwise, VALUE, ValueKind};
use crate::settings::Batching;
use serde::Serialize;
use std::sync::Arc;

/// DP-HMC (Räisä, Koskela, Honkela 2021, arXiv:2106.09376), with leaps that begin and end with half a step of θ, so that L
/// leaps ask for L slopes.
///
/// Noise ξ in a slope moves the momentum by ηξ. The way back, from the end with the momentum turned round, meets the same
/// points, and with the same ξ ends where the way began; ξ has the same density there, so proposals stay
/// symmetric, and the penalty test makes the chain leave the target as it is.
#[derive(Debug)]
pub struct Hamiltonian {
    /// η: length of a leap.
    pub step: f64,
    /// L.
    pub leaps: u32,
    /// σ² of the noise in a log-ratio.
    pub variance: f64,
}

/// `sampler = "hamiltonian"`: leapfrogs along noisy gradients, accepted with the noise's penalty.
///
/// An iteration asks L slopes and one log-ratio. Both kinds of releases are Gaussian, so that their
/// costs add up in μ²: the share splits μ² between them, and their order does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HamiltonianSampler {
    /// Length of a leap.
    pub step: f64,
    /// Leaps of an iteration.
    pub leaps: u32,
    /// σ² of the noise in the log-ratio.
    pub variance: f64,
    /// The share of μ² (Gaussian differential privacy) that the log-ratios cost, between 0 and 1; gradients cost the rest.
    pub share: f64,
}

/// `sampler = "hamiltonian"`
pub const DESCRIPTOR: Descriptor<dyn Sampler> = Descriptor {
    name: "hamiltonian",
    also: &["hmc", "dp-hmc"],
    about: "Leapfrogs along noisy gradients, accepted with the noise's penalty (Räisä, Koskela, Honkela 2021).",
    keys: &[
        STEP,
        Key::new("leaps", ValueKind::Count { least: 1, most: u32::MAX as u64 }, "10")
            .about("gradients of an iteration"),
        VARIANCE,
        Key::new("share", ValueKind::Share, "0.3")
            .about("the share of the budget that log-ratios cost; gradients cost the rest")
            .otherwise(Otherwise::Number(0.3)),
    ],
    limits: Limits::NONE,
    read: |reading| {
        let keys = &reading.keys;
        Ok(Arc::new(HamiltonianSampler {
            step: keys.number("step")?,
            leaps: keys.small_count("leaps")?,
            variance: keys.number("variance")?,
            share: keys.number("share")?,
        }))
    },
};

impl Sampler for HamiltonianSampler {
    fn descriptor(&self) -> &'static Descriptor<dyn Sampler> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let Self { step, leaps, variance, .. } = self;
        format!("{leaps} leaps of {step}, then a penalty test with noise of variance {variance}")
    }

    fn ratio_variance(&self) -> Option<f64> {
        Some(self.variance)
    }

    fn leaps(&self) -> Option<Leaps> {
        Some(Leaps { count: self.leaps, share: self.share })
    }

    fn check(&self, batch: Batching) -> Result<(), Conflict> {
        over_zero(&[("step", self.step), ("variance", self.variance), ("leaps", f64::from(self.leaps))])?;
        if !(self.share > 0.0 && self.share < 1.0) {
            let what = format!("chain.share is {}, expected a share of the budget between 0 and 1", self.share);
            return Err(Conflict::new("chain.share", VALUE, what, "for example 0.3"));
        }
        all_rows(DESCRIPTOR.name, batch)
    }

    fn kernel(&self, noise: &ChainNoise<'_>) -> Result<Box<dyn Kernel>, RunError> {
        let Self { step, leaps, variance, .. } = *self;
        Ok(Box::new(Hamiltonian { step, leaps, variance: if noise.is_open() { 0.0 } else { variance } }))
    }
}

/// θ + length·p.
fn drifted(theta: &[f64], momentum: &[f64], length: f64) -> Vec<f64> {
    theta.iter().zip(momentum).map(|(t, p)| t + length * p).collect()
}

/// ½|p|²: the energy of a momentum.
fn kinetic(momentum: &[f64]) -> f64 {
    0.5 * momentum.iter().map(|p| p * p).sum::<f64>()
}

impl Kernel for Hamiltonian {
    /// A fresh momentum, and half a step of θ along it.
    fn begin(&self, _: &Target, theta: Vec<f64>, coins: &mut Coins) -> Walk {
        let momentum = coins.normals(theta.len());
        let proposed = drifted(&theta, &momentum, 0.5 * self.step);
        Walk { kinetic: kinetic(&momentum), momentum, ..Walk::to(theta, proposed) }
    }

    fn ask(&self, walk: &Walk) -> KernelQuestion {
        match walk.leaps < self.leaps {
            true => KernelQuestion::Slope { at: walk.proposed.clone() },
            false => KernelQuestion::Ratio { from: walk.theta.clone(), to: walk.proposed.clone() },
        }
    }

    /// A leap along the noisy slope; after the last one the penalty test of the log-ratio and the change of
    /// kinetic energy.
    fn take(&self, target: &Target, mut walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken {
        if walk.leaps < self.leaps {
            let slope = target.prior_slope(&walk.proposed).zip(heard).map(|(prior, heard)| prior + heard);
            walk.momentum.iter_mut().zip(slope).for_each(|(p, g)| *p += self.step * g);
            walk.leaps += 1;
            let length = if walk.leaps == self.leaps { 0.5 } else { 1.0 } * self.step;
            walk.proposed = drifted(&walk.proposed, &walk.momentum, length);
            return Taken::On(walk);
        }
        let ratio: f64 = heard.iter().sum::<f64>() + target.prior_ratio(&walk.theta, &walk.proposed);
        let energy = walk.kinetic - kinetic(&walk.momentum);
        Taken::At(if accepted(ratio + energy, self.variance, coins) { walk.proposed } else { walk.theta })
    }
}
