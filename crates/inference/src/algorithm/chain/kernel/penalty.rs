//! The penalty algorithm: a Metropolis test that knows how much noise is in its log-ratio.

use super::{Kernel, Question, Taken};
use crate::algorithm::chain::walk::{Coins, Target, Walk};

/// Ceperley and Dewing 1999; as a privacy mechanism Yıldırım and Ermiş 2019: accept with probability
/// min{1, exp(Δ̂ − σ²/2)} where Δ̂ ~ N(Δ, σ²), which is in detailed balance since E exp(Δ̂ − σ²/2) = e^Δ and the law of
/// −Δ̂ on the way back is that of Δ̂ tilted by e^{−Δ̂ + σ²/2}.
#[derive(Debug)]
pub struct Penalty {
    /// Deviation of a proposal.
    pub step: f64,
    /// σ² of the noise in an answer.
    pub variance: f64,
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

    fn ask(&self, walk: &Walk) -> Question {
        Question::Ratio { from: walk.theta.clone(), to: walk.proposed.clone() }
    }

    fn take(&self, target: &Target, walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken {
        let ratio: f64 = heard.iter().sum::<f64>() + target.prior_ratio(&walk.theta, &walk.proposed);
        Taken::At(if accepted(ratio, self.variance, coins) { walk.proposed } else { walk.theta })
    }
}
