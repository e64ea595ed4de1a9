//! Hamiltonian Monte Carlo along noisy gradients, with a test that knows the noise of its log-ratio.

use super::penalty::accepted;
use super::{Kernel, Question, Taken};
use crate::algorithm::chain::walk::{Coins, Target, Walk};

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

/// θ + length·p.
fn drifted(theta: &[f64], momentum: &[f64], length: f64) -> Vec<f64> {
    theta.iter().zip(momentum).map(|(t, p)| t + length * p).collect()
}

fn kinetic(momentum: &[f64]) -> f64 {
    0.5 * momentum.iter().map(|p| p * p).sum::<f64>()
}

impl Kernel for Hamiltonian {
    fn begin(&self, _: &Target, theta: Vec<f64>, coins: &mut Coins) -> Walk {
        let momentum = coins.normals(theta.len());
        let proposed = drifted(&theta, &momentum, 0.5 * self.step);
        Walk { kinetic: kinetic(&momentum), momentum, ..Walk::to(theta, proposed) }
    }

    fn ask(&self, walk: &Walk) -> Question {
        match walk.leaps < self.leaps {
            true => Question::Slope { at: walk.proposed.clone() },
            false => Question::Ratio { from: walk.theta.clone(), to: walk.proposed.clone() },
        }
    }

    fn asks_both(&self) -> bool {
        true
    }

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
