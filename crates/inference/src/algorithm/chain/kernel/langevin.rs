//! Stochastic gradient Langevin dynamics: every step is a draw, and the privacy noise is part of the temperature.

use super::{Kernel, Question, Taken};
use crate::algorithm::chain::walk::{Coins, Target, Walk};

/// Welling and Teh 2011: θ + η/2·(slope of log p(θ, data)) + N(0, η). The noise of an answer moves θ by a variance of
/// (η/2)²·σ², which is part of η (Wang, Fienberg, Smola 2015); only what is missing is added here. Where it is more than
/// η, draws are wider than the posterior: a step size so large is refused when the method is built.
///
/// There is no test: for η over 0 the draws are not exactly from the posterior.
#[derive(Debug)]
pub struct Langevin {
    /// η.
    pub step: f64,
    /// σ² of the noise in each coordinate of an answer.
    pub variance: f64,
}

impl Kernel for Langevin {
    fn begin(&self, _: &Target, theta: Vec<f64>, _: &mut Coins) -> Walk {
        Walk::to(theta, Vec::new())
    }

    fn ask(&self, walk: &Walk) -> Question {
        Question::Slope { at: walk.theta.clone() }
    }

    fn take(&self, target: &Target, walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken {
        let missing = (self.step - 0.25 * self.step * self.step * self.variance).max(0.0).sqrt();
        let normals = coins.normals(walk.theta.len());
        let drift = target.prior_slope(&walk.theta).zip(heard).map(|(prior, heard)| 0.5 * self.step * (prior + heard));
        Taken::At(walk.theta.iter().zip(drift).zip(normals).map(|((t, d), z)| t + d + missing * z).collect())
    }
}
