//! Methods for linear regression: what of them is possible, and the opening of a hybrid with its share of the budget.

use super::{Costing, Terms, most_rounds, refuse, times};
use crate::RunError;
use crate::settings::{
    Aggregator, Batching, Covariance, Hybrid, Local, Method, Noise, Optimiser, Rounds, Scheme, Solver,
};
use privacy::accounting::calibrate;
use privacy::{Delta, Epsilon, Event, NoiseMultiplier, PrivacyError, Sampling, Shape, Steps};

/// Updates of one kind, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStage {
    /// How many.
    pub updates: u64,
    /// One of them.
    pub event: Event,
    /// Shape of the sum that is released in it.
    pub shape: Shape,
}

impl PlannedStage {
    /// Noise deviation divided by sensitivity.
    pub fn noise_multiplier(&self) -> f64 {
        self.event.noise_multiplier().map_or(0.0, NoiseMultiplier::get)
    }

    /// All of them as one event.
    pub(super) fn whole(&self) -> Result<Event, PrivacyError> {
        times(&self.event, self.updates)
    }
}

/// The opening that a method has.
pub(super) fn opening(method: &Method) -> Option<Hybrid> {
    match method.solver {
        Solver::Hybrid(hybrid) => Some(hybrid),
        _ => None,
    }
}

/// Refuses what these solvers cannot do.
pub(super) fn is_possible(method: &Method) -> Result<(), RunError> {
    if !method.solver.is_conjugate() {
        return Ok(());
    }
    if !matches!(method.scheme, Scheme::Pvi) {
        return refuse("analytic, likelihood and hybrid solvers move a client's own factor: the algorithm is PVI");
    }
    if method.promise.is_some_and(|promise| promise.aggregator != Aggregator::None) {
        return refuse(
            "sufficient statistics are released at the client, which reads its factor off them: no aggregator",
        );
    }
    match method.solver {
        Solver::Hybrid(hybrid) => hybrid_is_possible(method, &hybrid),
        _ if method.local.batch != Batching::All => {
            refuse("sufficient statistics are those of all rows: no rate and no batch")
        }
        _ if !is_one_natural_step(&method.local) => {
            refuse("an analytic update is one whole natural step: leave steps and learning rate at 1, and damp instead")
        }
        Solver::Likelihood if method.covariance == Covariance::MeanField => {
            refuse("a likelihood that is reused is a full Gaussian factor: covariance is full")
        }
        Solver::Likelihood if matches!(method.rounds, Rounds::UntilSpent { .. }) => {
            refuse("a likelihood is paid for once and then answers for free: give a number of rounds")
        }
        _ => Ok(()),
    }
}

fn is_one_natural_step(local: &Local) -> bool {
    (local.optimiser, local.steps, local.learning_rate) == (Optimiser::Natural, 1, 1.0)
}

fn hybrid_is_possible(method: &Method, hybrid: &Hybrid) -> Result<(), RunError> {
    if method.covariance == Covariance::Full {
        return refuse("a hybrid ends with DP optimisation, which has a mean-field q");
    }
    if !(hybrid.share > 0.0 && hybrid.share < 1.0) {
        return refuse("the opening's share of the budget is over 0 and under 1");
    }
    if hybrid.updates == 0 || hybrid.updates >= most_rounds(method) {
        return refuse("a hybrid has at least one analytic update, and at least one round after those");
    }
    Ok(())
}

impl Costing<'_> {
    /// The opening on these terms. With a calibrated noise it costs at most its share of ε at its share of δ by itself, so
    /// that by simple composition the rest is left for what follows; the whole plan is then costed together.
    pub(super) fn opened(&self, opening: &Hybrid, terms: &Terms) -> Result<PlannedStage, RunError> {
        let terms = Terms { sampling: Sampling::None, bound: opening.clip, ..*terms };
        let update = |z: NoiseMultiplier| self.update(&terms, z, Steps::ONE);
        let z = match self.promise.noise {
            Noise::Multiplier(z) => z,
            Noise::Calibrated => {
                let (event, _) = update(NoiseMultiplier::new(1.0)?)?;
                let plan_of = |z| Ok(vec![times(&update(z)?.0, opening.updates)?]);
                let epsilon = Epsilon::new(opening.share * self.promise.epsilon.get())?;
                let delta = Delta::new(opening.share * terms.delta.get())?;
                calibrate::calibrate(self.claimant(&event), &plan_of, epsilon, delta)?
            }
        };
        let (event, shape) = update(z)?;
        Ok(PlannedStage { updates: opening.updates, event, shape })
    }
}
