//! The penalty algorithm: a Metropolis test that knows how much noise is in its log-ratio.

use super::{Kernel, KernelQuestion, STEP, Sampler, Taken, all_rows, over_zero};
use crate::RunError;
use crate::algorithm::chain::noise::ChainNoise;
use crate::algorithm::chain::walk::{Coins, Target, Walk};
use crate::describe::{Conflict, Descriptor, Key, Limits, Otherwise, ValueKind};
use crate::settings::Batching;
use serde::Serialize;
use std::sync::Arc;

/// Ceperley and Dewing 1999; as a privacy mechanism Yıldırım and Ermiş 2019: accept with probability
/// min{1, exp(Δ̂ − σ²/2)} where Δ̂ ~ N(Δ, σ²), which is in detailed balance since E exp(Δ̂ − σ²/2) = e^Δ and the law of
/// −Δ̂ on the way back is that of Δ̂ tilted by e^{−Δ̂ + σ²/2}.
///
/// - Δ: log p(θ', data) − log p(θ, data).
/// - Δ̂: Δ with the noise of the answer, N(0, σ²).
/// - σ²/2: the penalty. More noise costs acceptance, and leaves the target as it is.
#[derive(Debug)]
pub struct Penalty {
    /// Deviation of a proposal.
    pub step: f64,
    /// σ² of the noise in an answer.
    pub variance: f64,
}

/// `sampler = "penalty"`: a random walk, accepted with the noise's penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PenaltySampler {
    /// Standard deviation of a proposal from where the chain stands.
    pub step: f64,
    /// σ² of the noise in the log-ratio.
    pub variance: f64,
}

/// `chain.variance` of samplers with a penalty.
pub(super) const VARIANCE: Key = Key::new("variance", ValueKind::Positive, "1.0")
    .about("σ² of the noise in a log-ratio")
    .otherwise(Otherwise::Number(1.0));

/// `sampler = "penalty"`
pub const DESCRIPTOR: Descriptor<dyn Sampler> = Descriptor {
    name: "penalty",
    also: &["dp-penalty"],
    about: "A random walk, accepted with the noise's penalty (Yıldırım and Ermiş 2019).",
    keys: &[STEP, VARIANCE],
    limits: Limits::NONE,
    read: |reading| {
        let (step, variance) = (reading.keys.number("step")?, reading.keys.number("variance")?);
        Ok(Arc::new(PenaltySampler { step, variance }))
    },
};

impl Sampler for PenaltySampler {
    fn descriptor(&self) -> &'static Descriptor<dyn Sampler> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("penalty test of proposals {} away, noise of variance {}", self.step, self.variance)
    }

    fn ratio_variance(&self) -> Option<f64> {
        Some(self.variance)
    }

    fn check(&self, batch: Batching) -> Result<(), Conflict> {
        over_zero(&[("step", self.step), ("variance", self.variance)])?;
        all_rows(DESCRIPTOR.name, batch)
    }

    fn kernel(&self, noise: &ChainNoise<'_>) -> Result<Box<dyn Kernel>, RunError> {
        Ok(Box::new(Penalty { step: self.step, variance: if noise.is_open() { 0.0 } else { self.variance } }))
    }
}

/// Whether a noisy log-ratio of this noise variance is accepted.
pub(super) fn accepted(noisy: f64, variance: f64, coins: &mut Coins) -> bool {
    libm::log(coins.uniform()) < noisy - 0.5 * variance
}

impl Kernel for Penalty {
    fn begin(&self, target: &Target, theta: Vec<f64>, coins: &mut Coins) -> Walk {
        let proposed = target.step_from(&theta, self.step, coins);
        Walk::to(theta, proposed)
    }

    fn ask(&self, walk: &Walk) -> KernelQuestion {
        KernelQuestion::Ratio { from: walk.theta.clone(), to: walk.proposed.clone() }
    }

    /// The Metropolis test of the noisy log-ratio less its penalty.
    fn take(&self, target: &Target, walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken {
        let ratio: f64 = heard.iter().sum::<f64>() + target.prior_ratio(&walk.theta, &walk.proposed);
        Taken::At(if accepted(ratio, self.variance, coins) { walk.proposed } else { walk.theta })
    }
}
