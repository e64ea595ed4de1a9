//! Stochastic gradient Langevin dynamics: every step is a draw, and the privacy noise is part of the temperature.

use super::{Kernel, KernelQuestion, STEP, Sampler, Taken, over_zero};
use crate::RunError;
use crate::algorithm::chain::noise::ChainNoise;
use crate::algorithm::chain::walk::{Coins, Target, Walk};
use crate::describe::{Conflict, Descriptor, Limits, NOT_TOGETHER};
use crate::settings::Batching;
use serde::Serialize;
use std::sync::Arc;

/// Welling and Teh 2011: θ + η/2·(slope of log p(θ, data)) + N(0, η). The noise of an answer moves θ by a variance of
/// (η/2)²·σ², which is part of η (Wang, Fienberg, Smola 2015); only what is missing is added here. Where it is more than
/// η, draws are wider than the posterior: a step size so large is refused when the method is built.
///
/// There is no test: for η over 0 the draws are not exactly from the posterior.
///
/// - η: [`Langevin::step`]; the drift is η/2 times the slope.
/// - σ²: [`Langevin::variance`], of each coordinate of the (tempered) slope of all rows.
/// - Added here: N(0, η − (η/2)²σ²), so that all noise together has variance η.
#[derive(Debug)]
pub struct Langevin {
    /// η.
    pub step: f64,
    /// σ² of the noise in each coordinate of an answer.
    pub variance: f64,
}

/// `sampler = "langevin"`: steps along noisy gradients of batches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LangevinSampler {
    /// η: drift η/2 times the gradient, noise of variance η.
    pub step: f64,
}

/// `sampler = "langevin"`
pub const DESCRIPTOR: Descriptor<dyn Sampler> = Descriptor {
    name: "langevin",
    also: &["sgld", "dp-sgld"],
    about: "Langevin steps along noisy gradients of batches (Welling and Teh 2011; Wang, Fienberg, Smola 2015).",
    keys: &[STEP],
    limits: Limits::NONE,
    read: |reading| Ok(Arc::new(LangevinSampler { step: reading.keys.number("step")? })),
};

impl Sampler for LangevinSampler {
    fn descriptor(&self) -> &'static Descriptor<dyn Sampler> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("Langevin steps of {}", self.step)
    }

    fn ratio_variance(&self) -> Option<f64> {
        None
    }

    fn check(&self, _: Batching) -> Result<(), Conflict> {
        over_zero(&[("step", self.step)])
    }

    /// Refuses a step whose noise is wider than the step's own temperature.
    fn kernel(&self, noise: &ChainNoise<'_>) -> Result<Box<dyn Kernel>, RunError> {
        let (step, variance) = (self.step, noise.of_slopes());
        if 0.25 * step * variance > 1.0 {
            let (deviation, most) = (variance.sqrt(), 4.0 / variance);
            let what = format!(
                "steps of {step} with noise of standard deviation {deviation:.3} in a gradient are wider than the posterior"
            );
            let hint = format!("use a step of at most {most:.3e}");
            return Err(Conflict::new("chain.step", NOT_TOGETHER, what, hint).into());
        }
        Ok(Box::new(Langevin { step, variance }))
    }
}

impl Kernel for Langevin {
    fn begin(&self, _: &Target, theta: Vec<f64>, _: &mut Coins) -> Walk {
        Walk::to(theta, Vec::new())
    }

    fn ask(&self, walk: &Walk) -> KernelQuestion {
        KernelQuestion::Slope { at: walk.theta.clone() }
    }

    /// The drift, and what is missing of the noise.
    fn take(&self, target: &Target, walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken {
        let missing = (self.step - 0.25 * self.step * self.step * self.variance).max(0.0).sqrt();
        let normals = coins.normals(walk.theta.len());
        let drift = target.prior_slope(&walk.theta).zip(heard).map(|(prior, heard)| 0.5 * self.step * (prior + heard));
        Taken::At(walk.theta.iter().zip(drift).zip(normals).map(|((t, d), z)| t + d + missing * z).collect())
    }
}
