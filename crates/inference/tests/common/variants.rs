//! Further variants of the methods: relations, batches, bounds, families and models that the first list leaves out; and
//! the ones that no plan permits.

use super::{adam, logistic, natural, open_pvi, promise, whole_step};
use inference::settings::{
    Aggregator, Batching, Clip, Covariance, Local, Method, Promise, Rates, Schedule, Scheme, SecureNoise, SecureSum,
    Solver,
};
use inference::{Expectation, Linear, Logistic, Model};
use privacy::{Adjacency, NormBound, ShareNoise, Unit};
use std::sync::Arc;

const SHARES: Aggregator = shares(0, 1);
const COLLUDING: Aggregator = shares(1, 0);
const FRACTION: Batching = Batching::PoissonOf { fraction: 0.3, at_least: 1 };
const RATES_BY_ROWS: Schedule = Schedule::Asynchronous(Rates::InverseRows);
const VIRTUAL: Solver = Solver::Virtual { parts: 5 };

const fn shares(colluders: u64, dropouts: u64) -> Aggregator {
    let noise = SecureNoise::Clients(ShareNoise::DiscreteGaussian);
    Aggregator::SecureSum(SecureSum { nodes: 2, noise, colluders, dropouts })
}

fn of(name: &str, solver: Solver, schedule: Schedule, local: Local, promise: Promise) -> Method {
    Method { name: name.into(), solver, local, promise: Some(promise), ..open_pvi(schedule) }
}

fn at_once(name: &str, solver: Solver, local: Local, promise: Promise) -> Method {
    of(name, solver, Schedule::Synchronous, local, promise)
}

fn descent(name: &str, batch: Batching, promise: Promise) -> Method {
    of(name, Solver::DpOptimisation, Schedule::Sequential, Local { batch, ..adam(3) }, promise)
}

fn global(name: &str, batch: Batching, promise: Promise) -> Method {
    let base = at_once(name, Solver::DpOptimisation, Local { batch, ..adam(1) }, promise);
    Method { scheme: Scheme::GlobalVi, ..base }
}

fn at_clients(name: &str, batch: Batching, promise: Promise) -> Method {
    Method { scheme: Scheme::GlobalViAtClients, ..global(name, batch, promise) }
}

fn full(name: &str, solver: Solver, promise: Promise) -> Method {
    Method { covariance: Covariance::Full, ..at_once(name, solver, natural(1), promise) }
}

fn add_remove(aggregator: Aggregator) -> Promise {
    Promise { adjacency: Adjacency::AddRemove, ..promise(1.0, aggregator) }
}

fn by_client(promise: Promise) -> Promise {
    Promise { unit: Unit::Client, ..promise }
}

fn times_rate(promise: Promise) -> Promise {
    Promise { clip: Clip::TimesRate(NormBound::new(3.0).unwrap()), ..promise }
}

/// What a plan permits, with the model to try it on.
pub(crate) fn variants() -> Vec<(Method, Arc<dyn Model>)> {
    let rate = adam(1).batch;
    let (nobody, curator) = (promise(1.0, Aggregator::None), promise(1.0, Aggregator::Curator));
    let (perturb, all_rows) = (Solver::Perturb, Local { batch: Batching::All, ..adam(3) });
    let usual = [
        at_once("by client, add-remove, curator", perturb, natural(2), by_client(add_remove(Aggregator::Curator))),
        at_once("by client, add-remove, shares", perturb, natural(2), by_client(add_remove(SHARES))),
        at_once("perturb, add-remove", perturb, natural(2), add_remove(Aggregator::None)),
        at_once("perturb, add-remove, curator", perturb, natural(2), add_remove(Aggregator::Curator)),
        at_once("perturb, add-remove, shares", perturb, natural(2), add_remove(SHARES)),
        global("global vi, add-remove, curator", rate, add_remove(Aggregator::Curator)),
        global("global vi, add-remove, shares", Batching::All, add_remove(SHARES)),
        global("global vi, shares", Batching::All, promise(1.0, SHARES)),
        descent("fixed batches", Batching::WithoutReplacement(2), nobody),
        global("global vi, fixed batches", Batching::WithoutReplacement(3), nobody),
        at_clients("global vi at clients, a fraction of the rows", FRACTION, nobody),
        at_clients("global vi at clients, fixed batches", Batching::WithoutReplacement(3), nobody),
        descent("a fraction of the rows", FRACTION, nobody),
        descent("a fraction of the rows, add-remove", FRACTION, add_remove(Aggregator::None)),
        descent("bound times rate", FRACTION, times_rate(nobody)),
        descent("bound times rate, fixed batches", Batching::WithoutReplacement(2), times_rate(nobody)),
        at_once("average, add-remove", Solver::Average { parts: 5 }, natural(1), add_remove(Aggregator::None)),
        at_once(
            "average, add-remove, curator",
            Solver::Average { parts: 5 },
            natural(1),
            add_remove(Aggregator::Curator),
        ),
        at_once("virtual, add-remove, shares", VIRTUAL, natural(1), add_remove(SHARES)),
        at_once("virtual, a colluder", VIRTUAL, natural(1), promise(1.0, COLLUDING)),
        at_once("by client, a colluder", perturb, natural(1), by_client(promise(1.0, COLLUDING))),
        full("full, perturb", perturb, nobody),
        full("full, average, curator", Solver::Average { parts: 5 }, curator),
        full("full, virtual, shares", VIRTUAL, promise(1.0, SHARES)),
    ];
    let draws: Arc<dyn Model> =
        Arc::new(Logistic { expectation: Expectation::MonteCarlo { draws: 2 }, ..Logistic::default() });
    let linear: Arc<dyn Model> = Arc::new(Linear { noise_variance: 0.5 });
    let by_draws = [
        (descent("by draws, dp optimisation", rate, nobody), draws.clone()),
        (at_once("by draws, virtual", VIRTUAL, all_rows, nobody), draws),
        (descent("linear, dp optimisation", rate, nobody), linear.clone()),
        (at_once("linear, virtual, curator", VIRTUAL, natural(1), curator), linear),
    ];
    usual.into_iter().map(|method| (method, logistic())).chain(by_draws).collect()
}

/// What no plan permits, with the code of the refusal: `P…` of the privacy room, `R002` of a method's settings.
pub(crate) fn refused() -> Vec<(Method, &'static str)> {
    let nobody = promise(1.0, Aggregator::None);
    let (average, rate) = (Solver::Average { parts: 5 }, adam(1).batch);
    let crowd = promise(1.0, shares(1, 1));
    let by_rows = |p: Promise| of("by client, rates by rows", Solver::Perturb, RATES_BY_ROWS, natural(1), by_client(p));
    vec![
        (
            at_once("by client, add-remove", Solver::Perturb, natural(1), by_client(add_remove(Aggregator::None))),
            "P002",
        ),
        (at_once("by client, parts", average, natural(1), by_client(nobody)), "P002"),
        (descent("by client, clipped examples", rate, by_client(nobody)), "P002"),
        (by_rows(nobody), "R002"),
        (descent("fixed batches, add-remove", Batching::WithoutReplacement(2), add_remove(Aggregator::None)), "P002"),
        (descent("dp optimisation, curator", rate, promise(1.0, Aggregator::Curator)), "R002"),
        (at_clients("global vi at clients, curator", rate, promise(1.0, Aggregator::Curator)), "R002"),
        (Method { covariance: Covariance::Full, ..at_clients("full, global vi at clients", rate, nobody) }, "R002"),
        (global("global vi, shares, drawn rows", rate, promise(1.0, SHARES)), "R002"),
        (at_once("bound times rate, perturb", Solver::Perturb, natural(1), times_rate(nobody)), "R002"),
        (at_once("nobody is left", Solver::Perturb, natural(1), crowd), "P001"),
        (Method { covariance: Covariance::Full, ..descent("full, dp optimisation", rate, nobody) }, "R002"),
        (Method { covariance: Covariance::Full, ..global("full, global vi", rate, nobody) }, "R002"),
        (Method { covariance: Covariance::Full, ..at_once("full, by gradients", VIRTUAL, adam(2), nobody) }, "R002"),
        (Method { local: natural(1), ..descent("natural, dp optimisation", rate, nobody) }, "R002"),
        (at_once("likelihood, mean-field", Solver::Likelihood, natural(1), nobody), "R002"),
        (full("analytic, curator", Solver::Analytic, promise(1.0, Aggregator::Curator)), "R002"),
        (Method { local: whole_step(), ..full("analytic, by client", Solver::Analytic, by_client(nobody)) }, "P002"),
    ]
}
