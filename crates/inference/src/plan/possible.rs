//! Combinations of choices that cannot be, each with its reason.

use super::{most_rounds, refuse};
use crate::RunError;
use crate::settings::{
    Aggregator, Batching, Clip, Covariance, Curvature, DeltaRule, Gradients, Method, Noise, NoiseAware, NoiseReading,
    Optimiser, Promise, Rates, Rounds, Schedule, Scheme, Solver,
};
use privacy::Unit;

/// Refuses solvers with families and optimisers that they cannot have, private or not.
pub(super) fn coherent(method: &Method) -> Result<(), RunError> {
    let natural = method.local.optimiser == Optimiser::Natural;
    let stepwise = matches!(method.solver, Solver::DpOptimisation | Solver::Hybrid(_));
    let by_gradient = stepwise || matches!(method.scheme, Scheme::GlobalVi | Scheme::GlobalViAtClients);
    if natural && by_gradient {
        return refuse("natural steps are taken in the clear, not where every step's gradient is clipped and noised");
    }
    if method.covariance == Covariance::Full && !natural && !matches!(method.scheme, Scheme::Chain(_)) {
        return refuse("a full covariance is moved by natural steps in the clear: gradients move deviations only");
    }
    if matches!(method.scheme, Scheme::NoiseAware(_)) {
        noise_aware_is_possible(method)?;
    }
    if method.local.gradients == Gradients::Aligned {
        aligned_is_possible(method)?;
    }
    if method.site_intercept.is_some() {
        site_intercept_is_possible(method)?;
    }
    let by_adam = method.solver == Solver::DpOptimisation && method.local.optimiser == Optimiser::Adam;
    if method.readout.noise == NoiseReading::Aware && !(method.scheme == Scheme::Pvi && by_adam) {
        return refuse("the noise-aware readout is for PVI by DP optimisation with Adam, whose noise it knows");
    }
    Ok(())
}

/// Refuses what would have a number and no meaning.
pub(super) fn possible(method: &Method, promise: &Promise) -> Result<(), RunError> {
    let aggregated = promise.aggregator != Aggregator::None;
    let sampled = method.local.batch != Batching::All;
    let by_example = matches!(method.solver, Solver::DpOptimisation | Solver::Hybrid(_));
    let zero_delta = matches!(promise.delta, DeltaRule::Fixed(delta) if delta.get() == 0.0);
    if promise.epsilon.get() == 0.0 || zero_delta {
        return refuse("ε and δ are over 0: Gaussian noise cannot promise 0 of either");
    }
    let one_sum = matches!(method.scheme, Scheme::GlobalVi | Scheme::NoiseAware(_) | Scheme::Chain(_));
    if aggregated && by_example && !one_sum {
        return refuse(
            "an aggregator sees one sum a round, but DP optimisation releases every local step at the client",
        );
    }
    if aggregated && matches!(method.scheme, Scheme::Committee(_)) {
        return refuse("a committee's members send their own posteriors: no aggregator");
    }
    let follows_rows = promise.delta == DeltaRule::PowerOfTenBelowRows
        || method.schedule == Schedule::Asynchronous(Rates::InverseRows);
    if promise.unit == Unit::Client && follows_rows {
        return refuse(
            "a protected client's number of rows is private: state δ, and let clients come back at equal rates",
        );
    }
    if aggregated && method.schedule != Schedule::Synchronous {
        return refuse("an aggregator adds up all clients at once: the schedule is synchronous");
    }
    if promise.aggregator.by_shares() && by_example && sampled {
        return refuse("noise shares are charged for all rows: no amplification by sampling is claimed for them");
    }
    if matches!(promise.clip, Clip::TimesRate(_)) && !by_example {
        return refuse("a bound times the rate belongs to sums over drawn rows: give a bound of the change");
    }
    if most_rounds(method) == 0 {
        return refuse("a method has at least one round");
    }
    if promise.noise == Noise::Calibrated && matches!(method.rounds, Rounds::UntilSpent { .. }) {
        return refuse("rounds until the budget is spent need a given noise multiplier");
    }
    Ok(())
}

/// Noise-aware PVI is written for a mean-field q, full batches, and answers to the question that was asked last.
fn noise_aware_is_possible(method: &Method) -> Result<(), RunError> {
    if method.covariance == Covariance::Full {
        return refuse("noise-aware PVI has a mean-field q");
    }
    if method.local.batch != Batching::All {
        return refuse("noise-aware PVI asks every row in every round: no rate and no batch");
    }
    if let Scheme::NoiseAware(NoiseAware { curvature: Curvature::Moments { looks, .. }, .. }) = method.scheme
        && u64::from(looks) >= most_rounds(method)
    {
        return refuse(
            "every round asks for second moments, and none is left for residuals: more rounds, or fewer looks",
        );
    }
    if matches!(method.schedule, Schedule::Asynchronous(_)) {
        return refuse("noise-aware PVI takes answers to its last question only: sequential or synchronous");
    }
    Ok(())
}

/// A site's own intercept is released at its own gate, and is one more coordinate of a mean-field q.
fn site_intercept_is_possible(method: &Method) -> Result<(), RunError> {
    if method.promise.is_some_and(|promise| promise.aggregator != Aggregator::None) {
        return refuse("a site's own intercept passes its own gate and stays at the site: no aggregator");
    }
    if method.covariance == Covariance::Full {
        return refuse("with an intercept of each site's own q is mean-field");
    }
    if method.solver.is_conjugate() {
        return refuse("analytic, likelihood and hybrid solvers have no intercept of each site's own");
    }
    if !matches!(method.scheme, Scheme::Pvi | Scheme::NoiseAware(_)) {
        return refuse("an intercept of each site's own goes with PVI and noise-aware PVI, where sites have a memory");
    }
    if !method.site_intercept.is_some_and(|precision| (1e-6..=1e6).contains(&precision)) {
        return refuse("the precision of a site's own intercept is a number from 1e-6 to 1e6");
    }
    Ok(())
}

/// Aligned gradients are expanded where the steps are made.
fn aligned_is_possible(method: &Method) -> Result<(), RunError> {
    let local = matches!(method.scheme, Scheme::Pvi | Scheme::Committee(_));
    if !local || method.solver != Solver::DpOptimisation {
        return refuse("aligned gradients belong to local steps of DP optimisation: pvi or a committee");
    }
    Ok(())
}
