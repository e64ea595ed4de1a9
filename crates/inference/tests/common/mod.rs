//! Small federations and one method of each kind, for the laws that all of them inherit.
#![allow(dead_code)] // each test file uses its own part

pub(crate) mod altered;
pub(crate) mod variants;

use chacha20::ChaCha20Rng;
use inference::algorithm::Protocol;
use inference::message::{Ask, Delivery, Direct, Link, Receipt};
use inference::plan::Costs;
use inference::settings::{
    Aggregator, Batching, Chart, Claim, Clip, CommitteePrior, Covariance, Curvature, Damping, DeltaRule, Deviations,
    FactorRule, Gradients, Hybrid, Local, Method, Noise, NoiseAware, NoiseReading, Optimiser, Promise, Rates, Readout,
    Repair, Rounds, Schedule, Scheme, SecureNoise, SecureSum, Solver, Statistics, StatisticsReading, StatisticsRule,
};
use inference::settings::{Chain, Sampler, Start, TestNoise};
use inference::solve::{Prior, Problem, Task};
use inference::{
    Client, Family, Keys, Linear, Logistic, Model, Network, Output, RecordId, Row, Rows, RunError, Shard, Simulation,
    Site, Softmax, Workshop,
};
use privacy::{Adjacency, Delta, Epsilon, NormBound, Released, SamplingRate, ShareNoise, Unit};
use rand_core::{Rng, SeedableRng};
use std::sync::{Arc, LazyLock};

/// The size of a statistical test: the first in the test command, the second with `POSTERITY_FULL=1`.
pub(crate) fn sized<T>(small: T, full: T) -> T {
    if std::env::var_os("POSTERITY_FULL").is_some() { full } else { small }
}

/// What plans cost, once for all laws: they run the same methods, and most of their time would go into costing these again.
static COSTS: LazyLock<Arc<Costs>> = LazyLock::new(Arc::default);

/// A generator for tests.
pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Uniform in (−1, 1).
pub(crate) fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / 4_503_599_627_370_496.0 - 1.0
}

/// Two numbers, a category of two levels, and a bias; outcomes 0 or 1 that depend on them.
pub(crate) fn rows(count: usize, seed: u64) -> Rows {
    let mut rng = rng(seed);
    let mut rows = Rows::new(5, 2).unwrap();
    for _ in 0..count {
        let x = [uniform(&mut rng), uniform(&mut rng)];
        let level = 2 + u32::from(uniform(&mut rng) > 0.3);
        let score = 2.0 * x[0] - x[1] + f64::from(level) - 2.5 + uniform(&mut rng);
        rows.push(Row { numbers: &x, ones: &[level, 4], outcome: f64::from(score > 0.0) }).unwrap();
    }
    rows
}

/// A site of its own rows, which are records 0, 1, 2 and so on.
pub(crate) fn site(name: &str, rows: Rows) -> Site {
    let records: Vec<u64> = (0..rows.len() as u64).collect();
    site_of_records(name, rows, &records)
}

/// A site whose rows are these records.
pub(crate) fn site_of_records(name: &str, rows: Rows, records: &[u64]) -> Site {
    let ids = records.iter().map(|record| RecordId::of(&record.to_string())).collect();
    let keys = Keys::of_slots((0..rows.len() as u64).collect()).with_records(ids);
    Site { name: name.into(), shard: Shard::new(rows, keys).unwrap(), own: Vec::new() }
}

/// Three sites of different sizes.
pub(crate) fn sites() -> Vec<Site> {
    [40, 25, 60].iter().zip(1..).map(|(&n, seed)| site(&format!("site {seed}"), rows(n, seed))).collect()
}

/// The model of most laws.
pub(crate) fn logistic() -> Arc<dyn Model> {
    Arc::new(Logistic::default())
}

/// The model of a method's laws: linear where its solver rests on a Gaussian likelihood, elsewhere by its name.
pub(crate) fn model_of(method: &Method) -> Arc<dyn Model> {
    if method.solver.is_conjugate() {
        return Arc::new(Linear { noise_variance: 0.25 });
    }
    let network = |output| Network { hidden: vec![3], output, draws: 2, seed: 5 };
    match method.name.split(',').next() {
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
        clip: Clip::Fixed(NormBound::new(clip).unwrap()),
        noise: Noise::Calibrated,
        aggregator,
        accountant: Claim::Certified,
    }
}

/// PVI without privacy.
pub(crate) fn open_pvi(schedule: Schedule) -> Method {
    Method {
        name: format!("open {schedule:?}"),
        scheme: Scheme::Pvi,
        solver: Solver::Clear,
        schedule,
        rounds: Rounds::Count(4),
        damping: Damping::new(0.3).unwrap(),
        covariance: Covariance::MeanField,
        factor: FactorRule::Free,
        readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
        local: natural(2),
        site_intercept: None,
        promise: None,
    }
}

/// One method of each kind with privacy, at every place where noise can enter.
pub(crate) fn private_methods() -> Vec<Method> {
    let base = private;
    let (one_by_one, at_once) = (Schedule::Sequential, Schedule::Synchronous);
    let came = Schedule::Asynchronous(Rates::InverseRows);
    let nobody = |clip| promise(clip, Aggregator::None);
    let curator = |clip| promise(clip, Aggregator::Curator);
    let shares = |clip| promise(clip, secure(SecureNoise::Clients(ShareNoise::DiscreteGaussian), 0, 1));
    let nodes = |clip| promise(clip, secure(SecureNoise::Nodes, 0, 1));
    let by_client = |p: Promise| Promise { unit: Unit::Client, ..p };
    let parts = |n: u32| Solver::Virtual { parts: n };
    let kept = Local { keep_state: true, optimiser: Optimiser::Adagrad, chart: Chart::LogVariance, ..adam(5) };
    let (moments, every_round) = (Curvature::Moments { looks: 1, bound: 2.0 }, Curvature::EveryRound { weight: 1.0 });
    let add_remove = Promise { adjacency: Adjacency::AddRemove, ..nobody(1.0) };
    vec![
        base("dp optimisation", Solver::DpOptimisation, one_by_one, adam(5), nobody(1.0)),
        base("dp optimisation, kept state", Solver::DpOptimisation, came, kept, add_remove),
        Method {
            factor: FactorRule::Reset,
            ..base("dp optimisation, reset", Solver::DpOptimisation, one_by_one, adam(3), nobody(1.0))
        },
        Method { factor: FactorRule::Project, ..base("virtual, projected", parts(4), came, natural(1), nobody(1.0)) },
        Method {
            readout: Readout { repair: Repair::Project, average: 2, noise: NoiseReading::Aware },
            ..base("dp optimisation, noise-aware readout", Solver::DpOptimisation, one_by_one, adam(4), nobody(1.0))
        },
        base("perturb", Solver::Perturb, one_by_one, natural(2), nobody(2.0)),
        base("average", Solver::Average { parts: 6 }, at_once, natural(2), nobody(2.0)),
        base("average, curator", Solver::Average { parts: 6 }, at_once, natural(2), curator(2.0)),
        base("virtual", parts(6), one_by_one, Local { batch: Batching::All, ..adam(4) }, nobody(1.0)),
        base("virtual, add-remove", parts(4), one_by_one, natural(1), add_remove),
        base("virtual, curator", parts(6), at_once, natural(1), curator(1.0)),
        base("virtual, shares", parts(6), at_once, natural(1), shares(1.0)),
        base("virtual, nodes", parts(6), at_once, natural(1), nodes(1.0)),
        base("by client, shares", Solver::Perturb, at_once, natural(2), by_client(shares(2.0))),
        base("by client, nodes", Solver::Perturb, at_once, natural(2), by_client(nodes(2.0))),
        base("by client, curator", Solver::Perturb, at_once, natural(2), by_client(curator(2.0))),
        Method {
            scheme: Scheme::Committee(CommitteePrior::Same),
            ..base("committee, same prior", Solver::DpOptimisation, at_once, adam(5), nobody(1.0))
        },
        Method {
            scheme: Scheme::Committee(CommitteePrior::Split),
            ..base("committee, split prior", Solver::DpOptimisation, at_once, adam(5), nobody(1.0))
        },
        noise_aware("noise-aware, moments", moments, one_by_one, nobody(1.0)),
        noise_aware("noise-aware, moments, add-remove", moments, at_once, add_remove),
        noise_aware("noise-aware, moments, curator", moments, at_once, curator(1.0)),
        noise_aware("noise-aware, every round", every_round, at_once, nobody(1.0)),
        noise_aware("noise-aware, every round, shares", every_round, at_once, shares(1.0)),
    ]
    .into_iter()
    .chain(global_methods())
    .chain(own_methods())
    .chain(model_methods())
    .chain(conjugate_methods())
    .chain(statistics_methods())
    .chain(chain_methods())
    .collect()
}

/// Global VI with its optimiser at the server and at every client.
fn global_methods() -> Vec<Method> {
    let base = private;
    let (one_by_one, at_once) = (Schedule::Sequential, Schedule::Synchronous);
    let came = Schedule::Asynchronous(Rates::InverseRows);
    let nobody = |clip| promise(clip, Aggregator::None);
    let (curator, nodes) = (promise(1.0, Aggregator::Curator), promise(1.0, secure(SecureNoise::Nodes, 0, 1)));
    let add_remove = Promise { adjacency: Adjacency::AddRemove, ..nobody(1.0) };
    let kept = Local { keep_state: true, optimiser: Optimiser::Adagrad, chart: Chart::LogVariance, ..adam(1) };
    vec![
        Method { scheme: Scheme::GlobalVi, ..base("global vi", Solver::DpOptimisation, at_once, adam(1), nobody(1.0)) },
        Method {
            scheme: Scheme::GlobalVi,
            ..base("global vi, curator", Solver::DpOptimisation, at_once, adam(1), curator)
        },
        Method {
            scheme: Scheme::GlobalVi,
            ..base("global vi, nodes", Solver::DpOptimisation, at_once, adam(1), nodes)
        },
        Method {
            scheme: Scheme::GlobalViAtClients,
            ..base("global vi at clients", Solver::DpOptimisation, came, kept, add_remove)
        },
        Method {
            scheme: Scheme::GlobalViAtClients,
            damping: Damping::NONE,
            ..base("global vi at clients, adam", Solver::DpOptimisation, one_by_one, adam(1), nobody(1.0))
        },
    ]
}

/// A secure sum over three nodes.
pub(crate) fn secure(noise: SecureNoise, colluders: u64, dropouts: u64) -> Aggregator {
    Aggregator::SecureSum(SecureSum { nodes: 3, noise, colluders, dropouts })
}

/// Regression by sufficient statistics: every rule, read in the ways that take no time.
pub(crate) fn statistics_methods() -> Vec<Method> {
    let (nobody, curator) = (promise(1.0, Aggregator::None), promise(1.0, Aggregator::Curator));
    let nodes = promise(1.0, secure(SecureNoise::Nodes, 0, 0));
    let shares = promise(1.0, secure(SecureNoise::Clients(ShareNoise::Skellam), 0, 1));
    let add_remove = |promise| Promise { adjacency: Adjacency::AddRemove, ..promise };
    let known = StatisticsRule::RowNorm { deviations: Deviations::Known, radius: 0.8 };
    let asked = StatisticsRule::RowNorm { deviations: Deviations::Asked { bound: 4.0, share: 0.2 }, radius: 0.8 };
    let projected = StatisticsRule::Projected { bound: 4.0, share: 0.3 };
    let (plain, inputs) = (StatisticsRule::Plain { bound: 4.0 }, StatisticsRule::Inputs { bound: 4.0 });
    use StatisticsReading::{Naive, Ridge};
    vec![
        statistics("statistics, plain", plain, Naive, nobody),
        statistics("statistics, plain, add-remove, curator", plain, Ridge, add_remove(curator)),
        statistics("statistics, projected, shares", projected, Ridge, shares),
        statistics("statistics, row-norm", known, Ridge, nobody),
        statistics("statistics, row-norm, asked, nodes", asked, Ridge, nodes),
        statistics("statistics, row-norm, asked, add-remove", asked, Ridge, add_remove(curator)),
        statistics("statistics, inputs", inputs, Naive, nobody),
    ]
}

/// Chains by every sampler, over several sites.
pub(crate) fn chain_methods() -> Vec<Method> {
    let (nobody, curator) = (promise(1.0, Aggregator::None), promise(1.0, Aggregator::Curator));
    let nodes = promise(1.0, secure(SecureNoise::Nodes, 0, 0));
    let shares = promise(1.0, secure(SecureNoise::Clients(ShareNoise::DiscreteGaussian), 0, 0));
    let fixed = TestNoise::Fixed { variance: 2.0 };
    let (barker, penalty) =
        (Sampler::Barker { step: 0.2, noise: fixed }, Sampler::Penalty { step: 0.2, variance: 1.0 });
    let hamiltonian = Sampler::Hamiltonian { step: 0.1, leaps: 2, variance: 1.0, share: 0.4 };
    let learnt = Start::Variational { rounds: 2, share: 0.3, learning_rate: 0.1 };
    let climbed = Start::Climbed { rounds: 3, learning_rate: 0.1 };
    let some = Batching::WithoutReplacement(3);
    vec![
        chain("chain, barker", barker, Start::Prior, some, nobody),
        chain("chain, barker, nodes", barker, learnt, Batching::All, nodes),
        chain("chain, penalty, curator", penalty, Start::Origin, Batching::All, curator),
        chain("chain, penalty, shares", penalty, Start::Prior, Batching::All, shares),
        chain("chain, langevin", Sampler::Langevin { step: 1e-6 }, Start::Prior, some, nobody),
        chain("chain, hamiltonian", hamiltonian, Start::Prior, Batching::All, nobody),
        chain("chain, hamiltonian, climbed", hamiltonian, climbed, Batching::All, curator),
    ]
}

/// A chain of a few iterations: some proposal of each is accepted.
pub(crate) fn chain(name: &str, sampler: Sampler, start: Start, batch: Batching, promise: Promise) -> Method {
    let settings = Chain { sampler, iterations: 12, chains: 1, warm_up: 0, counts_as: None, start };
    Method {
        scheme: Scheme::Chain(settings),
        rounds: Rounds::Count(settings.rounds()),
        ..private(name, Solver::DpOptimisation, Schedule::Synchronous, Local { batch, ..adam(1) }, promise)
    }
}

pub(crate) fn statistics(name: &str, rule: StatisticsRule, reading: StatisticsReading, promise: Promise) -> Method {
    Method {
        name: name.into(),
        scheme: Scheme::Statistics(Statistics { rule, reading }),
        solver: Solver::Likelihood,
        covariance: Covariance::Full,
        local: whole_step(),
        rounds: Rounds::Count(inference::plan::statistics_rounds(&rule)),
        promise: Some(promise),
        ..open_pvi(Schedule::Synchronous)
    }
}

/// A method as most laws have it.
fn private(name: &str, solver: Solver, schedule: Schedule, local: Local, promise: Promise) -> Method {
    Method { name: name.into(), solver, local, promise: Some(promise), ..open_pvi(schedule) }
}

/// Methods with an intercept of each site's own, which is the coefficient of the last input, a bias.
fn own_methods() -> [Method; 4] {
    let (one_by_one, at_once) = (Schedule::Sequential, Schedule::Synchronous);
    let nobody = |clip| promise(clip, Aggregator::None);
    let add_remove = Promise { adjacency: Adjacency::AddRemove, ..nobody(1.0) };
    let (moments, every_round) = (Curvature::Moments { looks: 1, bound: 2.0 }, Curvature::EveryRound { weight: 1.0 });
    [
        private("site intercept, dp optimisation", Solver::DpOptimisation, one_by_one, adam(3), nobody(1.0)),
        private("site intercept, average", Solver::Average { parts: 6 }, at_once, natural(2), nobody(2.0)),
        noise_aware("site intercept, moments", moments, one_by_one, nobody(1.0)),
        noise_aware("site intercept, every round", every_round, at_once, add_remove),
    ]
    .map(own)
}

/// Methods on other models than logistic regression.
fn model_methods() -> Vec<Method> {
    let (one_by_one, at_once) = (Schedule::Sequential, Schedule::Synchronous);
    let came = Schedule::Asynchronous(Rates::InverseRows);
    let (nobody, curator) = (promise(1.0, Aggregator::None), promise(1.0, Aggregator::Curator));
    let add_remove = Promise { adjacency: Adjacency::AddRemove, ..nobody };
    let aligned = Local { gradients: Gradients::Aligned, ..adam(3) };
    let every_round = Curvature::EveryRound { weight: 1.0 };
    vec![
        private("softmax, dp optimisation", Solver::DpOptimisation, one_by_one, adam(3), nobody),
        noise_aware("softmax, noise-aware", every_round, at_once, curator),
        private("network, dp optimisation", Solver::DpOptimisation, one_by_one, adam(3), nobody),
        private("network of classes, aligned", Solver::DpOptimisation, came, aligned, add_remove),
        Method {
            scheme: Scheme::Committee(CommitteePrior::Split),
            ..private("network, aligned committee", Solver::DpOptimisation, at_once, aligned, nobody)
        },
        Method {
            scheme: Scheme::GlobalVi,
            ..private("network, global vi", Solver::DpOptimisation, at_once, adam(1), curator)
        },
    ]
}

/// One method of each kind for linear regression.
pub(crate) fn conjugate_methods() -> Vec<Method> {
    let base = |name: &str, solver, schedule, covariance, promise| Method {
        name: name.into(),
        solver,
        covariance,
        local: whole_step(),
        promise: Some(promise),
        ..open_pvi(schedule)
    };
    let promise = promise(1.0, Aggregator::None);
    let add_remove = Promise { adjacency: Adjacency::AddRemove, ..promise };
    let (full, mean_field) = (Covariance::Full, Covariance::MeanField);
    let came = Schedule::Asynchronous(Rates::InverseRows);
    let hybrid = Solver::Hybrid(Hybrid { updates: 2, share: 0.4, clip: NormBound::new(2.0).unwrap() });
    vec![
        base("analytic", Solver::Analytic, Schedule::Synchronous, full, promise),
        base("analytic, mean-field", Solver::Analytic, came, mean_field, add_remove),
        base("likelihood", Solver::Likelihood, Schedule::Sequential, full, promise),
        base("likelihood, as they come", Solver::Likelihood, came, full, add_remove),
        Method { local: adam(3), ..base("hybrid", hybrid, Schedule::Sequential, mean_field, promise) },
    ]
}

/// The same with an intercept of each site's own.
pub(crate) fn own(method: Method) -> Method {
    Method { site_intercept: Some(2.0), ..method }
}

/// Noise-aware PVI by a rule, with privacy.
fn noise_aware(name: &str, curvature: Curvature, schedule: Schedule, promise: Promise) -> Method {
    Method {
        name: name.into(),
        scheme: Scheme::NoiseAware(NoiseAware { curvature, whitening: 0.5, floor: 0.05, caution: 3.0 }),
        solver: Solver::DpOptimisation,
        local: Local { batch: Batching::All, ..adam(1) },
        promise: Some(promise),
        ..open_pvi(schedule)
    }
}

/// Loses some answers, by round and client, after they were charged.
pub(crate) struct Losing(pub(crate) fn(u64, usize) -> bool);

impl Link for Losing {
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &Workshop,
    ) -> Result<Delivery, RunError> {
        let delivery = Direct.ask(client, protocol, ask, workshop)?;
        Ok(if (self.0)(ask.round, client.index()) { Delivery::Lost } else { delivery })
    }

    fn settle(&self, client: &mut Client<'_>, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError> {
        Direct.settle(client, protocol, receipt)
    }
}

/// Every method of the laws.
pub(crate) fn methods() -> Vec<Method> {
    let open = [Schedule::Sequential, Schedule::Synchronous, Schedule::Asynchronous(Rates::Equal)];
    private_methods().into_iter().chain(open.map(open_pvi)).collect()
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

/// A simulation of the method on these sites.
pub(crate) fn simulation<'a>(method: &'a Method, sites: &'a [Site], test: &'a Rows) -> Simulation<'a> {
    let (model, costs) = (model_of(method), COSTS.clone());
    Simulation { method, sites, test, model, prior_precision: 1.0, seed: 11, data: [0; 32], costs }
}

/// Runs a method on a conjugate problem and compares what it serves with the posterior in closed form.
pub(crate) fn reaches_the_exact_posterior(method: &Method) {
    let (sites, test) = (sites(), rows(3, 9));
    let method = Method { local: whole_step(), ..method.clone() };
    let model = Arc::new(Linear { noise_variance: 0.25 });
    let simulation = Simulation { model, ..simulation(&method, &sites, &test) };
    let exact = simulation.exact_posterior().unwrap().unwrap();
    let kl = simulation.run(&mut ()).unwrap().posterior.kl(&exact);
    assert!(kl < 1e-6, "{}: KL {kl}", method.name);
}
