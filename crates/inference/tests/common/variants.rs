//! Further variants of the methods: relations, batches, bounds, families and models that the first list leaves out; and
//! the ones that no plan permits.

use super::{
    adam, add_remove, by_client, damping, full_pvi, global_vi, global_vi_at_clients, logistic, method, natural,
    promise, pvi,
};
use inference::settings::{
    Aggregator, Batching, Clip, Local, Promise, Rates, Schedule, SecureNoise, SecureSumSettings,
};
use inference::solve::{Analytic, Average, Descend, Likelihood, LocalSolve, Perturb, Virtual};
use inference::{Expectation, Linear, Logistic, Method, Model};
use privacy::{NormBound, ShareNoise};
use std::sync::Arc;

const SHARES: Aggregator = shares(0, 1);
const COLLUDING: Aggregator = shares(1, 0);
const FRACTION: Batching = Batching::PoissonOf { fraction: 0.3, at_least: 1 };
const RATES_BY_ROWS: Schedule = Schedule::Asynchronous(Rates::InverseRows);

const fn shares(colluders: u64, dropouts: u64) -> Aggregator {
    let noise = SecureNoise::Clients(ShareNoise::DiscreteGaussian);
    Aggregator::SecureSum(SecureSumSettings { nodes: 2, noise, colluders, dropouts })
}

fn at_once(name: &str, solver: impl LocalSolve + 'static, promise: Promise) -> Method {
    method(name, pvi(solver), Schedule::Synchronous, promise)
}

fn full(name: &str, solver: impl LocalSolve + 'static, promise: Promise) -> Method {
    method(name, full_pvi(solver), Schedule::Synchronous, promise)
}

fn descend(batch: Batching) -> Descend {
    Descend { local: Local { batch, ..adam(3) } }
}

fn descent(name: &str, batch: Batching, promise: Promise) -> Method {
    method(name, pvi(descend(batch)), Schedule::Sequential, promise)
}

fn global(name: &str, batch: Batching, promise: Promise) -> Method {
    method(name, global_vi(Local { batch, ..adam(1) }), Schedule::Synchronous, promise)
}

fn at_clients(name: &str, batch: Batching, promise: Promise) -> Method {
    let settings = global_vi_at_clients(Local { batch, ..adam(1) }, damping());
    method(name, settings, Schedule::Synchronous, promise)
}

fn perturb(steps: u64) -> Perturb {
    Perturb { local: natural(steps) }
}

fn average() -> Average {
    Average { parts: 5, local: natural(1) }
}

fn in_parts() -> Virtual {
    Virtual { parts: 5, local: natural(1) }
}

fn of(aggregator: Aggregator) -> Promise {
    promise(1.0, aggregator)
}

fn times_rate(promise: Promise) -> Promise {
    Promise { clip: Some(Clip::TimesRate(NormBound::new(3.0).unwrap())), ..promise }
}

/// What a plan permits, with the model to try it on.
pub(crate) fn variants() -> Vec<(Method, Arc<dyn Model>)> {
    let rate = adam(1).batch;
    let (nobody, curator) = (of(Aggregator::None), of(Aggregator::Curator));
    let usual = [
        at_once("by client, add-remove, curator", perturb(2), by_client(add_remove(curator))),
        at_once("by client, add-remove, shares", perturb(2), by_client(add_remove(of(SHARES)))),
        at_once("perturb, add-remove", perturb(2), add_remove(nobody)),
        at_once("perturb, add-remove, curator", perturb(2), add_remove(curator)),
        at_once("perturb, add-remove, shares", perturb(2), add_remove(of(SHARES))),
        global("global vi, add-remove, curator", rate, add_remove(curator)),
        global("global vi, add-remove, shares", Batching::All, add_remove(of(SHARES))),
        global("global vi, shares", Batching::All, of(SHARES)),
        descent("fixed batches", Batching::WithoutReplacement(2), nobody),
        global("global vi, fixed batches", Batching::WithoutReplacement(3), nobody),
        at_clients("global vi at clients, a fraction of the rows", FRACTION, nobody),
        at_clients("global vi at clients, fixed batches", Batching::WithoutReplacement(3), nobody),
        descent("a fraction of the rows", FRACTION, nobody),
        descent("a fraction of the rows, add-remove", FRACTION, add_remove(nobody)),
        descent("bound times rate", FRACTION, times_rate(nobody)),
        descent("bound times rate, fixed batches", Batching::WithoutReplacement(2), times_rate(nobody)),
        at_once("average, add-remove", average(), add_remove(nobody)),
        at_once("average, add-remove, curator", average(), add_remove(curator)),
        at_once("virtual, add-remove, shares", in_parts(), add_remove(of(SHARES))),
        at_once("virtual, a colluder", in_parts(), of(COLLUDING)),
        at_once("by client, a colluder", perturb(1), by_client(of(COLLUDING))),
        full("full, perturb", perturb(1), nobody),
        full("full, average, curator", average(), curator),
        full("full, virtual, shares", in_parts(), of(SHARES)),
    ];
    let draws: Arc<dyn Model> =
        Arc::new(Logistic { expectation: Expectation::MonteCarlo { draws: 2 }, ..Logistic::default() });
    let linear: Arc<dyn Model> = Arc::new(Linear::known(0.5));
    let all_rows = Virtual { parts: 5, local: Local { batch: Batching::All, ..adam(3) } };
    let by_draws = [
        (descent("by draws, dp optimisation", rate, nobody), draws.clone()),
        (at_once("by draws, virtual", all_rows, nobody), draws),
        (descent("linear, dp optimisation", rate, nobody), linear.clone()),
        (at_once("linear, virtual, curator", in_parts(), curator), linear),
    ];
    usual.into_iter().map(|method| (method, logistic())).chain(by_draws).collect()
}

/// What no plan permits, with key and code of the refusal; without a key where a theorem is missing that a plan alone knows of.
pub(crate) fn refused() -> Vec<(Method, &'static str, &'static str)> {
    let (nobody, curator) = (of(Aggregator::None), of(Aggregator::Curator));
    let rate = adam(1).batch;
    let by_rows = method("by client, rates by rows", pvi(perturb(1)), RATES_BY_ROWS, by_client(nobody));
    let without_replacement = Batching::WithoutReplacement(2);
    let gradients = Virtual { parts: 5, local: adam(2) };
    let natural_steps = Descend { local: natural(1) };
    vec![
        (at_once("by client, add-remove", perturb(1), by_client(add_remove(nobody))), "privacy.adjacency", "S008"),
        (at_once("by client, parts", average(), by_client(nobody)), "privacy.unit", "S008"),
        (descent("by client, clipped examples", rate, by_client(nobody)), "privacy.unit", "S008"),
        (by_rows, "rates", "S008"),
        (descent("fixed batches, add-remove", without_replacement, add_remove(nobody)), "local.batch", "S009"),
        (descent("dp optimisation, curator", rate, curator), "privacy.aggregator", "S007"),
        (at_clients("global vi at clients, curator", rate, curator), "privacy.aggregator", "S007"),
        (global("global vi, shares, drawn rows", rate, of(SHARES)), "local.batch", "S007"),
        (at_once("bound times rate, perturb", perturb(1), times_rate(nobody)), "privacy.clip", "S009"),
        (at_once("nobody is left", perturb(1), of(shares(1, 1))), "", "P001"),
        (full("full, dp optimisation", descend(rate), nobody), "covariance", "S009"),
        (full("full, by gradients", gradients, nobody), "covariance", "S009"),
        (at_once("natural, dp optimisation", natural_steps, nobody), "local.optimiser", "S009"),
        (at_once("likelihood, mean-field", Likelihood, nobody), "covariance", "S009"),
        (full("analytic, curator", Analytic, curator), "privacy.aggregator", "S007"),
        (full("analytic, by client", Analytic, by_client(nobody)), "privacy.unit", "S008"),
    ]
}
