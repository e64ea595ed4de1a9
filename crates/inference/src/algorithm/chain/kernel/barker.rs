//! Barker's test: a proposal is accepted where its log-ratio and logistic noise are together over 0.

use super::{Kernel, Question, Taken};
use crate::algorithm::chain::walk::{Coins, Target, Walk};
use crate::chain::Correction;

/// Heikkilä, Jälkö, Dikmen, Honkela 2019, section 3.1: accept if Δ + V > 0 with V logistic, where Δ is the difference of
/// log p(θ, data). N(0, C) of V is in the answer, as the privacy mechanism; the rest, V_cor, is added here
/// (Seita et al. 2017).
#[derive(Debug)]
pub struct Barker {
    /// Deviation of a proposal.
    pub step: f64,
    /// What is missing of the logistic noise: all of it, or the correction to N(0, C).
    pub missing: Missing,
}

/// What of the test's noise is not in the answer.
#[derive(Debug)]
pub enum Missing {
    /// All: answers are without noise.
    All,
    /// V_cor: answers have N(0, C).
    Correction(Correction),
}

impl Kernel for Barker {
    fn begin(&self, target: &Target, theta: Vec<f64>, coins: &mut Coins) -> Walk {
        let proposed = target.step_from(&theta, self.step, coins);
        Walk::to(theta, proposed)
    }

    fn ask(&self, walk: &Walk) -> Question {
        Question::Ratio { from: walk.theta.clone(), to: walk.proposed.clone() }
    }

    fn take(&self, target: &Target, walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken {
        let noise = match self.missing {
            Missing::All => {
                let u = coins.uniform();
                libm::log(u) - libm::log1p(-u)
            }
            Missing::Correction(ref correction) => correction.draw(coins.generator()),
        };
        let ratio: f64 = heard.iter().sum::<f64>() + target.prior_ratio(&walk.theta, &walk.proposed);
        Taken::At(if ratio + noise > 0.0 { walk.proposed } else { walk.theta })
    }
}
