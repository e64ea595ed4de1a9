//! Methods for linear regression: what of them is possible.

use super::{ClientPlan, most_rounds, refuse};
use crate::RunError;
use crate::regression::MOST_INPUTS;
use crate::settings::{
    Aggregator, Batching, Covariance, Deviations, Hybrid, Local, Method, Optimiser, Promise, Rounds, Schedule, Scheme,
    Solver, Statistics, StatisticsReading, StatisticsRule,
};
use privacy::{Adjacency, Bounded, Unit};

/// Refuses what these solvers cannot do.
pub(super) fn is_possible(method: &Method) -> Result<(), RunError> {
    if let Scheme::Statistics(statistics) = method.scheme {
        return statistics_are_possible(method, &statistics);
    }
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

/// Regression by sufficient statistics: one sum, after one for deviations where these are asked for.
fn statistics_are_possible(method: &Method, statistics: &Statistics) -> Result<(), RunError> {
    let Statistics { rule, reading } = *statistics;
    let Some(promise) = &method.promise else {
        return refuse("sufficient statistics are noised: for the answer without privacy every run has a baseline");
    };
    let plain =
        (method.solver, method.covariance, method.local.batch) == (Solver::Likelihood, Covariance::Full, Batching::All);
    if !plain || !is_one_natural_step(&method.local) || method.schedule != Schedule::Synchronous {
        return refuse("sufficient statistics are one sum over all rows of all clients, asked for at once");
    }
    if method.rounds != Rounds::Count(statistics_rounds(&rule)) {
        return refuse("sufficient statistics take one round, and one more where deviations are asked for");
    }
    if promise.unit == Unit::Client {
        return refuse("sufficient statistics bound what a row does: the unit is an example");
    }
    rule_is_possible(&rule, reading, promise)
}

/// Refuses sums of outer products of so many inputs that roundings can take their whole bound.
pub(super) fn sums_are_possible(method: &Method, clients: &[ClientPlan]) -> Result<(), RunError> {
    let Scheme::Statistics(Statistics { rule: StatisticsRule::RowNorm { .. }, .. }) = method.scheme else {
        return Ok(());
    };
    let replaced = clients.iter().filter(|client| client.event.adjacency() == Adjacency::Substitute);
    Ok(replaced.map(|client| &client.shape).try_for_each(Bounded::check_outer_products)?)
}

/// Refuses a noise-aware reading of more parameters than it takes.
pub(super) fn is_readable(method: &Method, dimension: usize) -> Result<(), RunError> {
    match method.scheme {
        Scheme::Statistics(Statistics { reading: StatisticsReading::NoiseAware, .. }) if dimension > MOST_INPUTS => {
            refuse(&format!(
                "{dimension} inputs (a bias is one), expected at most {MOST_INPUTS} for a noise-aware reading: use \
                 statistics = {{ reading = \"ridge\" }}"
            ))
        }
        _ => Ok(()),
    }
}

/// Rounds of a rule.
pub fn statistics_rounds(rule: &StatisticsRule) -> u64 {
    match rule {
        StatisticsRule::Plain { .. }
        | StatisticsRule::Inputs { .. }
        | StatisticsRule::RowNorm { deviations: Deviations::Known, .. } => 1,
        StatisticsRule::Projected { .. } | StatisticsRule::RowNorm { deviations: Deviations::Asked { .. }, .. } => 2,
    }
}

fn rule_is_possible(rule: &StatisticsRule, reading: StatisticsReading, promise: &Promise) -> Result<(), RunError> {
    let by_rows = matches!(rule, StatisticsRule::Inputs { .. });
    if by_rows && promise.aggregator != Aggregator::None {
        return refuse("input perturbation noises each row where it is: no aggregator");
    }
    if by_rows && promise.adjacency == Adjacency::AddRemove {
        return refuse("input perturbation shows how many rows there are: adjacency is substitute");
    }
    if by_rows && reading != StatisticsReading::Naive {
        return refuse("noise in rows is no noise in their sums: input perturbation is read naively");
    }
    if reading == StatisticsReading::NoiseAware && !matches!(rule, StatisticsRule::RowNorm { .. }) {
        return refuse("the noise-aware reading is for sums of clipped rows, whose law it knows");
    }
    let over_zero = |number: f64| number.is_finite() && number > 0.0;
    let (numbers, share) = match *rule {
        StatisticsRule::Plain { bound } | StatisticsRule::Inputs { bound } => ([bound, 1.0], 0.5),
        StatisticsRule::Projected { bound, share } => ([bound, 1.0], share),
        StatisticsRule::RowNorm { deviations: Deviations::Known, radius } => ([radius, 1.0], 0.5),
        StatisticsRule::RowNorm { deviations: Deviations::Asked { bound, share }, radius } => ([bound, radius], share),
    };
    if !(numbers.into_iter().all(over_zero) && share > 0.0 && share < 1.0) {
        return refuse("bounds are finite numbers over 0, and the share of the deviations is between 0 and 1");
    }
    Ok(())
}
