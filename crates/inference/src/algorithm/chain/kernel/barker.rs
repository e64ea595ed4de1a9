//! Barker's test: a proposal is accepted where its log-ratio and logistic noise are together over 0.

use super::{Kernel, KernelQuestion, STEP, Sampler, Taken, over_zero};
use crate::RunError;
use crate::algorithm::chain::noise::ChainNoise;
use crate::algorithm::chain::walk::{Coins, Target, Walk};
use crate::chain::Correction;
use crate::describe::{Conflict, Descriptor, Key, Limits, NOT_TOGETHER, Otherwise, VALUE, ValueKind};
use crate::settings::Batching;
use serde::Serialize;
use std::sync::Arc;

/// Heikkilä, Jälkö, Dikmen, Honkela 2019, section 3.1: accept if Δ + V > 0 with V logistic, where Δ is the difference of
/// log p(θ, data). N(0, C) of V is in the answer, as the privacy mechanism; the rest, V_cor, is added here
/// (Seita et al. 2017).
///
/// - Δ: log p(θ', data) − log p(θ, data), of which the data's part is asked for.
/// - C: variance of the Gaussian part of V, [`BarkerSampler::noise`].
/// - V_cor: the correction, N(0, C) + V_cor being nearly logistic
///   ([`Correction`]).
///
/// Accounting: Theorem 1 (all rows) and Theorem 2 (batches, tempered) of Heikkilä et al. 2019; the
/// privacy crate also has tighter bounds with proofs (`docs/maths/dp-mcmc.md`).
#[derive(Debug)]
pub struct Barker {
    /// Deviation of a proposal.
    pub step: f64,
    /// What is missing of the logistic noise: all of it, or the correction to N(0, C).
    pub missing: MissingNoise,
}

/// What of the test's noise is not in the answer.
#[derive(Debug)]
pub enum MissingNoise {
    /// All: answers are without noise.
    All,
    /// V_cor: answers have N(0, C).
    Correction(Correction),
}

/// `sampler = "barker"`: a random walk, accepted where the noised log-ratio is over 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BarkerSampler {
    /// Standard deviation of a proposal from where the chain stands.
    pub step: f64,
    /// Whose variance makes up the test's.
    pub noise: TestNoise,
}

/// The Gaussian part of Barker's test, which is the privacy mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum TestNoise {
    /// Variance C in all, of which the batch's own variance is a part: what is added depends on the batch (one site only).
    Completed {
        /// C.
        variance: f64,
    },
    /// Variance C is added, whatever the batch's own is: plain Gaussian noise, at the price of a test that is too wide.
    Fixed {
        /// C.
        variance: f64,
    },
}

impl TestNoise {
    /// C.
    pub fn variance(self) -> f64 {
        match self {
            Self::Completed { variance } | Self::Fixed { variance } => variance,
        }
    }
}

/// `sampler = "barker"`
pub const DESCRIPTOR: Descriptor<dyn Sampler> = Descriptor {
    name: "barker",
    also: &["dp-mcmc", "dp-barker"],
    about: "A random walk with Barker's test, whose noise is the privacy mechanism (Heikkilä et al. 2019).",
    keys: &[
        STEP,
        Key::new("variance", ValueKind::Positive, "2.0")
            .about("C: variance of the test's Gaussian noise, under π²/3")
            .otherwise(Otherwise::Number(2.0)),
        Key::new("noise", ValueKind::Word(&["completed", "fixed"]), "\"fixed\"")
            .about("whether the batch's own spread is a part of C (completed), or all of C is added (fixed)")
            .otherwise(Otherwise::Follows("completed where there is a batch, fixed on all rows")),
    ],
    limits: Limits::NONE,
    read: |reading| {
        let (keys, variance) = (&reading.keys, reading.keys.number("variance")?);
        let usual = if keys.has("batch") { "completed" } else { "fixed" };
        let noise = match keys.maybe_word("noise").unwrap_or(usual) {
            "completed" => TestNoise::Completed { variance },
            _ => TestNoise::Fixed { variance },
        };
        Ok(Arc::new(BarkerSampler { step: keys.number("step")?, noise }))
    },
};

impl Sampler for BarkerSampler {
    fn descriptor(&self) -> &'static Descriptor<dyn Sampler> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let part = match self.noise {
            TestNoise::Completed { .. } => "the batch's own spread is a part of it",
            TestNoise::Fixed { .. } => "all of it added",
        };
        let variance = self.noise.variance();
        format!("Barker's test of proposals {} away, noise of variance {variance} ({part})", self.step)
    }

    fn ratio_variance(&self) -> Option<f64> {
        Some(self.noise.variance())
    }

    fn completes(&self) -> bool {
        matches!(self.noise, TestNoise::Completed { .. })
    }

    /// The logistic distribution has variance π²/3, of which C is a part; batches have a fixed size, as in the theorem.
    fn check(&self, batch: Batching) -> Result<(), Conflict> {
        over_zero(&[("step", self.step), ("variance", self.noise.variance())])?;
        if Correction::for_variance(self.noise.variance()).is_none() {
            let what =
                "Barker's test is logistic noise, whose variance is π²/3 = 3.29: C is a part of it, at most 3.288";
            return Err(Conflict::new("chain.variance", VALUE, what, "for example variance = 2"));
        }
        if matches!(batch, Batching::Poisson(_) | Batching::PoissonOf { .. }) {
            let what = "Barker's test is proved for batches of a fixed size";
            return Err(Conflict::new("chain.batch", NOT_TOGETHER, what, "state a batch, not a rate"));
        }
        Ok(())
    }

    fn kernel(&self, noise: &ChainNoise<'_>) -> Result<Box<dyn Kernel>, RunError> {
        let missing = match Correction::for_variance(self.noise.variance()) {
            _ if noise.is_open() => MissingNoise::All,
            Some(correction) => MissingNoise::Correction(correction),
            None => {
                return Err(
                    Conflict::new("chain.variance", VALUE, "no correction is known for this variance", "").into()
                );
            }
        };
        Ok(Box::new(Barker { step: self.step, missing }))
    }
}

impl Kernel for Barker {
    fn begin(&self, target: &Target, theta: Vec<f64>, coins: &mut Coins) -> Walk {
        let proposed = target.step_from(&theta, self.step, coins);
        Walk::to(theta, proposed)
    }

    fn ask(&self, walk: &Walk) -> KernelQuestion {
        KernelQuestion::Ratio { from: walk.theta.clone(), to: walk.proposed.clone() }
    }

    /// Accepts where log-ratio, prior's ratio and the missing noise are together over 0.
    fn take(&self, target: &Target, walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken {
        let noise = match self.missing {
            MissingNoise::All => {
                let u = coins.uniform();
                libm::log(u) - libm::log1p(-u)
            }
            MissingNoise::Correction(ref correction) => correction.draw(coins.generator()),
        };
        let ratio: f64 = heard.iter().sum::<f64>() + target.prior_ratio(&walk.theta, &walk.proposed);
        Taken::At(if ratio + noise > 0.0 { walk.proposed } else { walk.theta })
    }
}
