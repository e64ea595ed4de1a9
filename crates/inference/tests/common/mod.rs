//! Small federations and one method of each kind, for the laws that all of them inherit.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod class_levels;
pub(crate) mod levels;
mod methods;
pub(crate) mod redescribed;
pub(crate) mod variants;

pub(crate) use inference::testing::{rng, rows, site, site_of_records, sites, uniform};
pub(crate) use methods::{
    OWN_PRECISION, PARTS, conjugate_family_methods, conjugate_methods, methods, own_methods_of, private_methods,
    statistics_methods,
};

use inference::algorithm::chain::{ChainSettings, Sampler, Start};
use inference::algorithm::statistics::{Rule, StatisticsReading, StatisticsSettings};
use inference::algorithm::{
    CommitteePrior, CommitteeSettings, Curvature, GlobalViAtClientsSettings, GlobalViSettings, NoiseAwareConstants,
    NoiseAwareSettings, Protocol, PviSettings, RoundBudget,
};
use inference::describe::Offer;
use inference::message::{Ask, Delivery, Direct, Link, Receipt};
use inference::method::AlgorithmSettings;
use inference::release::Bound;
use inference::settings::{
    Aggregator, Batching, Chart, Claim, Clip, Covariance, Damping, DeltaRule, FactorRule, Gradients, Local, Noise,
    NoiseReading, Optimiser, Promise, Readout, Repair, Rounds, Schedule, SecureNoise, SecureSumSettings, SitePromises,
};
use inference::solve::{Clear, Descend, Hybrid, LocalSolve, Prior, Problem, Task};
use inference::{
    Client, Family, Linear, Logistic, Method, Model, Network, Output, Rows, RunError, Simulation, SimulationContext,
    Site, Softmax,
};
use privacy::{Adjacency, Delta, Epsilon, NormBound, Released, SamplingRate, Unit};
use std::sync::Arc;

/// The size of a statistical test: the first in the test command, the second with `POSTERITY_FULL=1`.
pub(crate) fn sized<T>(small: T, full: T) -> T {
    if std::env::var_os("POSTERITY_FULL").is_some() { full } else { small }
}

/// The model of most laws.
pub(crate) fn logistic() -> Arc<dyn Model> {
    Arc::new(Logistic::default())
}

/// The model of a method's laws: linear where it needs a Gaussian likelihood, elsewhere by its name.
pub(crate) fn model_of(method: &Method) -> Arc<dyn Model> {
    let needs = method.algorithm.limits().into_iter().flat_map(|(_, limits)| limits.needs);
    if needs.into_iter().any(|need| need.offer == Offer::GaussianLikelihood) {
        return Arc::new(Linear::known(0.25));
    }
    let of_kind = |text: &str, levels| {
        let table = format!("kind = {text}\nbias = false").parse().unwrap();
        let model = inference::StudyModel::read(&table, &inference::describe::Registry::standard()).unwrap();
        model.settings.build(levels, 0)
    };
    let network = |output| Network { hidden: vec![3], output, draws: 2, seed: 5 };
    match method.name.split(',').next() {
        Some("beta-binomial") => of_kind("\"beta-binomial\"", Some(2)),
        Some("dirichlet-multinomial") => of_kind("\"dirichlet-multinomial\"", Some(3)),
        Some("gamma-poisson") => of_kind("\"gamma-poisson\"", None),
        Some("normal") => of_kind("\"normal\"", None),
        Some("softmax") => Arc::new(Softmax { classes: 3 }),
        Some("network") => Arc::new(network(Output::Binary)),
        Some("network of classes") => Arc::new(network(Output::Classes(3))),
        _ => logistic(),
    }
}

/// A local optimisation by Adam with Poisson batches.
pub(crate) fn adam(steps: u64) -> Local {
    Local {
        steps,
        batch: Batching::Poisson(SamplingRate::new(0.3).unwrap()),
        optimiser: Optimiser::Adam,
        learning_rate: 0.05,
        keep_state: false,
        chart: Chart::LogDeviation,
        gradients: Gradients::Full,
    }
}

/// A local optimisation in closed form.
pub(crate) fn natural(steps: u64) -> Local {
    Local { batch: Batching::All, optimiser: Optimiser::Natural, learning_rate: 0.7, ..adam(steps) }
}

/// One whole natural step.
pub(crate) fn whole_step() -> Local {
    Local { learning_rate: 1.0, ..natural(1) }
}

/// ε = 2 under substitution of an example.
pub(crate) fn promise(clip: f64, aggregator: Aggregator) -> Promise {
    Promise {
        unit: Unit::Example,
        adjacency: Adjacency::Substitute,
        epsilon: Epsilon::new(2.0).unwrap(),
        delta: DeltaRule::Fixed(Delta::new(1e-5).unwrap()),
        clip: Some(Clip::Fixed(NormBound::new(clip).unwrap())),
        noise: Noise::Calibrated,
        aggregator,
        accountant: Claim::Certified,
    }
}

/// The same without a clipping bound, for methods whose bounds follow from other settings.
pub(crate) fn unclipped(aggregator: Aggregator) -> Promise {
    Promise { clip: None, ..promise(1.0, aggregator) }
}

/// The same for a row that comes or goes.
pub(crate) fn add_remove(promise: Promise) -> Promise {
    Promise { adjacency: Adjacency::AddRemove, ..promise }
}

/// The same for all rows of a client.
pub(crate) fn by_client(promise: Promise) -> Promise {
    Promise { unit: Unit::Client, ..promise }
}

/// The same for all rows of a person.
pub(crate) fn by_person(promise: Promise) -> Promise {
    Promise { unit: Unit::Person, ..promise }
}

/// A secure sum over three nodes.
pub(crate) fn secure(noise: SecureNoise, colluders: u64, dropouts: u64) -> Aggregator {
    Aggregator::SecureSum(SecureSumSettings { nodes: 3, noise, colluders, dropouts })
}

/// A method of these parts.
pub(crate) fn method(
    name: &str,
    algorithm: impl AlgorithmSettings + 'static,
    schedule: Schedule,
    promise: impl Into<Option<Promise>>,
) -> Method {
    Method {
        name: name.into(),
        algorithm: Arc::new(algorithm),
        schedule,
        promise: promise.into(),
        sites: SitePromises::default(),
    }
}

/// The name of a method's algorithm.
pub(crate) fn algorithm_of(method: &Method) -> &'static str {
    method.algorithm.descriptor().name
}

/// ρ of the laws.
pub(crate) fn damping() -> Damping {
    Damping::new(0.3).unwrap()
}

/// Rounds of the laws.
pub(crate) const ROUNDS: Rounds = Rounds::Count(4);

/// PVI as most laws have it: damped and mean-field.
pub(crate) fn pvi(solver: impl LocalSolve + 'static) -> PviSettings {
    PviSettings {
        solver: Arc::new(solver),
        rounds: ROUNDS,
        damping: damping(),
        covariance: Covariance::MeanField,
        factor: FactorRule::Free,
        readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
        site_intercept: None,
    }
}

/// PVI with a full covariance.
pub(crate) fn full_pvi(solver: impl LocalSolve + 'static) -> PviSettings {
    PviSettings { covariance: Covariance::Full, ..pvi(solver) }
}

/// PVI by DP optimisation with a noise-aware readout of two rounds.
pub(crate) fn noise_aware_readout(local: Local) -> PviSettings {
    let readout = Readout { repair: Repair::Project, average: 2, noise: NoiseReading::Aware };
    PviSettings { readout, ..pvi(Descend { local }) }
}

/// A mean-field committee.
pub(crate) fn committee(prior: CommitteePrior, solver: impl LocalSolve + 'static) -> CommitteeSettings {
    let (covariance, repair) = (Covariance::MeanField, Repair::Project);
    CommitteeSettings { solver: Arc::new(solver), prior, covariance, repair }
}

/// Global VI with its optimiser at the server.
pub(crate) fn global_vi(local: Local) -> GlobalViSettings {
    GlobalViSettings { local, rounds: ROUNDS }
}

/// Global VI with an optimiser at every client.
pub(crate) fn global_vi_at_clients(local: Local, damping: Damping) -> GlobalViAtClientsSettings {
    GlobalViAtClientsSettings { local, rounds: ROUNDS, damping }
}

/// Noise-aware PVI by a rule.
pub(crate) fn noise_aware(curvature: Curvature) -> NoiseAwareSettings {
    NoiseAwareSettings {
        constants: NoiseAwareConstants { curvature, whitening: 0.5, floor: 0.05, caution: 3.0 },
        rounds: ROUNDS,
        damping: damping(),
        average: 1,
        site_intercept: None,
        budget: RoundBudget::Even,
        solver: None,
    }
}

/// Regression by sufficient statistics.
pub(crate) fn statistics(
    name: &str,
    rule: impl Rule + 'static,
    reading: StatisticsReading,
    promise: Promise,
) -> Method {
    let settings = StatisticsSettings { rule: Arc::new(rule), reading };
    method(name, settings, Schedule::Synchronous, Promise { clip: None, ..promise })
}

/// One chain of so many iterations, all of them served, with all moments of its draws.
pub(crate) fn chain(sampler: impl Sampler + 'static, iterations: u64) -> ChainSettings {
    ChainSettings {
        sampler: Arc::new(sampler),
        iterations,
        chains: 1,
        warm_up: 0,
        counts_as: None,
        start: Start::Prior,
        batch: Batching::All,
        covariance: Covariance::Full,
    }
}

/// A chain as a method. The promise keeps its clipping bound where the chain asks for gradients.
pub(crate) fn chain_method(name: &str, settings: ChainSettings, promise: impl Into<Option<Promise>>) -> Method {
    let releases = settings.releases(1);
    let opening = releases.openings.first().map(|opening| opening.release.bound);
    let clips = releases.main.bound == Bound::Clip || opening == Some(Bound::Clip);
    let promise = promise.into().map(|promise| Promise { clip: promise.clip.filter(|_| clips), ..promise });
    method(name, settings, Schedule::Synchronous, promise)
}

/// So many analytic updates for this share of the budget, then DP optimisation.
pub(crate) fn hybrid(updates: u64, share: f64, clip: f64, local: Local) -> Hybrid {
    Hybrid { updates, share, clip: NormBound::new(clip).unwrap(), descend: Descend { local } }
}

/// PVI without privacy.
pub(crate) fn open_pvi(schedule: Schedule) -> Method {
    method(&format!("open {schedule:?}"), pvi(Clear { local: natural(2) }), schedule, None)
}

/// Loses some answers, by round and client, after they were charged.
pub(crate) struct Losing(pub(crate) fn(u64, usize) -> bool);

impl Link for Losing {
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Delivery, RunError> {
        let delivery = Direct.ask(client, protocol, ask, workshop)?;
        Ok(if (self.0)(ask.round, client.index()) { Delivery::Lost } else { delivery })
    }

    fn settle(&self, client: &mut Client<'_>, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError> {
        Direct.settle(client, protocol, receipt)
    }
}

/// What the laws of single solvers are tried on: logistic regression of five inputs, mean-field.
pub(crate) fn problem() -> Problem {
    let family = Family::MeanField { dimension: 5 };
    Problem { model: logistic(), family, prior: Prior(family.prior(1.0)) }
}

/// A client's first task: from the prior, with the prior as its cavity.
pub(crate) fn first_task(problem: &Problem) -> Released<Task> {
    let start = problem.prior.0.clone();
    let task = Task { cavity: start.clone(), start };
    serde_json::from_value(serde_json::to_value(task).unwrap()).unwrap()
}

/// A simulation of the method on these sites, with the model of its laws.
pub(crate) fn simulation<'a>(method: &'a Method, sites: &'a [Site], test: &'a Rows) -> Simulation<'a> {
    inference::testing::simulation(method, &model_of(method), sites, test)
}

/// Runs a method on a conjugate problem and compares what it serves with the posterior in closed form.
pub(crate) fn reaches_the_exact_posterior(method: &Method) {
    let (sites, test) = (sites(), rows(3, 9));
    let model = Arc::new(Linear::known(0.25));
    let simulation = Simulation { model, ..simulation(method, &sites, &test) };
    let exact = simulation.exact_posterior().unwrap().unwrap();
    let kl = simulation.run(&mut ()).unwrap().posterior.kl(&exact);
    assert!(kl < 1e-6, "{}: KL {kl}", method.name);
}
