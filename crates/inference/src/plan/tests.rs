//! Plans against published numbers, and against the ledgers that they open.

use super::*;
use crate::settings::{
    Chart, Covariance, Curvature, Damping, FactorRule, Gradients, Hybrid, Local, NoiseAware, NoiseReading, Optimiser,
    Rates, Readout, Repair, SecureNoise, SecureSum,
};
use privacy::{Adjacency, Epsilon, Ledger, MemoryJournal};

fn local(steps: u64, batch: Batching) -> Local {
    let (optimiser, chart) = (Optimiser::Adam, Chart::LogDeviation);
    let gradients = Gradients::Full;
    Local { steps, batch, optimiser, learning_rate: 0.05, keep_state: false, chart, gradients }
}

const NODES: Aggregator =
    Aggregator::SecureSum(SecureSum { nodes: 3, noise: SecureNoise::Nodes, colluders: 1, dropouts: 1 });

fn shares(law: ShareNoise) -> Aggregator {
    Aggregator::SecureSum(SecureSum { nodes: 3, noise: SecureNoise::Clients(law), colluders: 1, dropouts: 1 })
}

fn rate(q: f64) -> Batching {
    Batching::Poisson(SamplingRate::new(q).unwrap())
}

/// ε = 1, δ = 1e-5 under substitution of an example, calibrated.
fn promise() -> Promise {
    Promise {
        unit: Unit::Example,
        adjacency: Adjacency::Substitute,
        epsilon: Epsilon::new(1.0).unwrap(),
        delta: DeltaRule::Fixed(Delta::new(1e-5).unwrap()),
        clip: Clip::Fixed(NormBound::new(2.0).unwrap()),
        noise: Noise::Calibrated,
        aggregator: Aggregator::None,
        accountant: Claim::Certified,
    }
}

fn method(solver: Solver, rounds: u64, local: Local, promise: Promise) -> Method {
    Method {
        name: "m".into(),
        scheme: Scheme::Pvi,
        solver,
        schedule: Schedule::Sequential,
        rounds: Rounds::Count(rounds),
        damping: Damping::NONE,
        covariance: Covariance::MeanField,
        factor: FactorRule::Free,
        readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
        local,
        site_intercept: None,
        promise: Some(promise),
    }
}

/// The workshop's method: σ = 5, a batch of 2 % and at least 20, C = 75 on gradients scaled by rows / batch.
fn workshop(accountant: Claim) -> Method {
    let promise = Promise {
        adjacency: Adjacency::AddRemove,
        delta: DeltaRule::PowerOfTenBelowRows,
        clip: Clip::TimesRate(NormBound::new(75.0).unwrap()),
        noise: Noise::Multiplier(NoiseMultiplier::new(5.0).unwrap()),
        accountant,
        ..promise()
    };
    let batch = Batching::PoissonOf { fraction: 0.02, at_least: 20 };
    let base = method(Solver::DpOptimisation, 1, local(25, batch), promise);
    let rounds = Rounds::UntilSpent { at_most: 1000 };
    Method { schedule: Schedule::Asynchronous(Rates::InverseRows), rounds, ..base }
}

/// The multiplier in units of C.
fn in_bounds(plan: &MethodPlan) -> f64 {
    2.0 * plan.clients[0].noise_multiplier()
}

#[test]
fn calibrated_multipliers_are_the_published_ones() {
    for (rounds, steps, q, sigma) in [(20, 10, 0.05, 5.274), (20, 25, 0.02, 3.338)] {
        let plan =
            plan(&method(Solver::DpOptimisation, rounds, local(steps, rate(q)), promise()), &[2442], 109).unwrap();
        assert!((in_bounds(&plan) - sigma).abs() < 1.1e-3, "T = {steps}·{rounds}, q = {q}: {}", in_bounds(&plan));
        let client = &plan.clients[0];
        assert_eq!((client.updates, client.event.steps().get(), plan.messages), (rounds, steps, rounds));
        assert!(client.certified <= 1.0 && client.certified > 0.9999 && client.claimed == client.certified);
        assert_eq!((client.shape.dimension(), client.shape.grain()), (218, Grain::Example));
    }
    for solver in [Solver::Perturb, Solver::Average { parts: 100 }, Solver::Virtual { parts: 200 }] {
        let plan = plan(&method(solver, 15, local(10, rate(0.1)), promise()), &[2442; 10], 109).unwrap();
        assert!((in_bounds(&plan) - 28.90).abs() < 0.01, "{solver:?}: {}", in_bounds(&plan));
        assert_eq!(*plan.clients[9].event.sampling(), Sampling::None, "the local batch is no sampling of the release");
        assert_eq!((plan.rounds, plan.messages, plan.bytes_per_message), (15, 150, 1744));
    }
}

#[test]
fn the_workshops_updates_by_both_accountants() {
    // 3,110 and 5,993 steps of 25 an update, at q = .02.
    for (accountant, updates) in [(Claim::Moments, 3110 / 25), (Claim::Certified, 5993 / 25)] {
        let plan = plan(&workshop(accountant), &[4000, 4000], 108).unwrap();
        let client = &plan.clients[0];
        assert_eq!((client.updates, client.delta.get()), (updates, 1e-4), "{accountant:?}");
        assert_eq!(client.event.sampling().rate(), 0.02);
        assert!((client.shape.bound().get() - 1.5).abs() < 1e-12);
        assert!(client.certified <= client.claimed && client.claimed <= 1.0, "{client:?}");
    }
}

#[test]
fn the_smallest_client_draws_twenty_rows() {
    let plan = plan(&workshop(Claim::Moments), &[390, 7424], 108).unwrap();
    let rates: Vec<f64> = plan.clients.iter().map(|c| c.event.sampling().rate()).collect();
    assert_eq!(rates, [20.0 / 390.0, 149.0 / 7424.0]);
    assert_eq!(plan.clients.iter().map(|c| c.delta.get()).collect::<Vec<_>>(), [1e-3, 1e-4]);
    assert!(plan.clients[0].updates < plan.clients[1].updates);
    assert!(!plan.clients[0].delta_is_loose() && plan.clients[1].among == 7424);
}

/// Charges a ledger update by update: all planned ones fit, and one more does not.
fn spend(client: &ClientPlan, promise: &Promise) {
    let mut journal = MemoryJournal::default();
    let mut ledger = Ledger::open(client.grant(promise).unwrap(), &mut journal).unwrap();
    for update in 0..client.updates {
        ledger.charge(&client.event, &mut journal).unwrap_or_else(|e| panic!("update {update}: {e}"));
    }
    assert!(ledger.charge(&client.event, &mut journal).is_err());
}

#[test]
fn a_ledger_opened_by_the_plan_takes_all_updates_and_no_more() {
    let at = |aggregator| {
        let base =
            method(Solver::Average { parts: 10 }, 7, local(3, Batching::All), Promise { aggregator, ..promise() });
        Method { schedule: Schedule::Synchronous, ..base }
    };
    for aggregator in [
        Aggregator::None,
        Aggregator::Curator,
        NODES,
        shares(ShareNoise::DiscreteGaussian),
        shares(ShareNoise::Skellam),
    ] {
        let method = at(aggregator);
        let plan = plan(&method, &[50, 60, 70, 80, 90], 12).unwrap();
        for client in &plan.clients {
            assert_eq!(client.event, plan.clients[0].event);
            spend(client, method.promise.as_ref().unwrap());
        }
    }
    let workshop = workshop(Claim::Moments);
    spend(&plan(&workshop, &[4000], 108).unwrap().clients[0], workshop.promise.as_ref().unwrap());
}

#[test]
fn discrete_gaussian_shares_need_a_curators_noise_and_skellam_shares_more() {
    let z = |aggregator| {
        let base = method(Solver::Perturb, 7, local(3, Batching::All), Promise { aggregator, ..promise() });
        let method = Method { schedule: Schedule::Synchronous, ..base };
        plan(&method, &[50; 5], 12).unwrap().clients[0].noise_multiplier()
    };
    let curator = z(Aggregator::Curator);
    let (gaussian, skellam) = (z(shares(ShareNoise::DiscreteGaussian)), z(shares(ShareNoise::Skellam)));
    assert!(gaussian > curator && gaussian < (1.0 + 1e-6) * curator, "{gaussian} against {curator}");
    assert!(skellam > 1.02 * curator && skellam < 1.2 * curator, "{skellam} against {curator}");
    assert_eq!(z(NODES), z(Aggregator::Curator));
}

#[test]
fn an_aggregator_has_one_event_at_the_smallest_delta() {
    let base = promise();
    let curated = Promise { aggregator: Aggregator::Curator, delta: DeltaRule::PowerOfTenBelowRows, ..base };
    let global = |batch| Method {
        scheme: Scheme::GlobalVi,
        schedule: Schedule::Synchronous,
        ..method(Solver::DpOptimisation, 20, local(9, batch), curated)
    };
    let found = plan(&global(rate(0.01)), &[90, 5000], 3).unwrap();
    assert!(found.clients.iter().all(|c| c.delta.get() == 1e-4 && c.event.steps() == Steps::ONE && c.updates == 20));
    let differing = Batching::PoissonOf { fraction: 0.01, at_least: 20 };
    assert!(matches!(plan(&global(differing), &[90, 5000], 3), Err(RunError::Settings { .. })));
}

#[test]
fn a_client_as_unit_is_hidden_among_clients() {
    let of = |adjacency, aggregator| {
        let promise = Promise { unit: Unit::Client, adjacency, aggregator, ..promise() };
        let base = method(Solver::Perturb, 3, local(3, Batching::All), promise);
        plan(&Method { schedule: Schedule::Synchronous, ..base }, &[50; 5], 12)
    };
    let found = of(Adjacency::AddRemove, Aggregator::Curator).unwrap();
    assert_eq!(found.clients[0].among, 5);
    assert_eq!(
        of(Adjacency::AddRemove, Aggregator::None).unwrap_err().to_string().split(':').next(),
        Some("no theorem covers a client that joins or leaves at a local gate")
    );
}

#[test]
fn a_committee_is_asked_once_and_the_clear_costs_nothing() {
    let base = method(Solver::DpOptimisation, 20, local(100, rate(0.05)), promise());
    let committee = Method { scheme: Scheme::Committee(crate::settings::CommitteePrior::Split), ..base.clone() };
    let found = plan(&committee, &[2442; 10], 109).unwrap();
    assert_eq!((found.rounds, found.messages, found.clients[0].updates), (1, 10, 1));
    assert!((in_bounds(&found) - 3.731).abs() < 1.1e-3, "{}", in_bounds(&found));
    let clear = Method { solver: Solver::Clear, promise: None, ..base };
    assert_eq!(plan(&clear, &[9; 10], 109).unwrap().messages, 200);
}

#[test]
fn what_has_no_meaning_is_refused() {
    let base = method(Solver::DpOptimisation, 2, local(3, rate(0.1)), promise());
    let with = |change: &dyn Fn(&mut Promise)| {
        let mut promised = promise();
        change(&mut promised);
        Method { promise: Some(promised), ..base.clone() }
    };
    for (name, method) in [
        ("curator", with(&|p| p.aggregator = Aggregator::Curator)),
        ("epsilon", with(&|p| p.epsilon = Epsilon::new(0.0).unwrap())),
        ("delta", with(&|p| p.delta = DeltaRule::Fixed(Delta::new(0.0).unwrap()))),
        ("clear", Method { solver: Solver::Clear, ..base.clone() }),
        ("until spent", Method { rounds: Rounds::UntilSpent { at_most: 5 }, ..base.clone() }),
        ("no rounds", Method { rounds: Rounds::Count(0), ..base.clone() }),
        (
            "times rate",
            Method { solver: Solver::Perturb, ..with(&|p| p.clip = Clip::TimesRate(NormBound::new(1.0).unwrap())) },
        ),
    ] {
        assert!(matches!(plan(&method, &[100], 3), Err(RunError::Settings { .. })), "{name}");
    }
    let tiny = with(&|p| p.noise = Noise::Multiplier(NoiseMultiplier::new(0.1).unwrap()));
    assert!(matches!(plan(&tiny, &[100], 3), Err(RunError::Privacy(PrivacyError::Budget { fits: 0, .. }))));
}

#[test]
fn rows_of_protected_clients_and_committees_under_a_curator_are_refused() {
    let refused = |method: &Method| matches!(plan(method, &[500, 400], 5), Err(RunError::Settings { .. }));
    let base = workshop(Claim::Certified);
    let promise = base.promise.unwrap();
    let fixed = Promise { clip: Clip::Fixed(NormBound::new(1.0).unwrap()), ..promise };
    let client = Promise { unit: Unit::Client, ..fixed };
    assert!(refused(&Method { solver: Solver::Perturb, promise: Some(client), ..base.clone() }), "δ follows rows");
    let curator = Promise { aggregator: Aggregator::Curator, adjacency: Adjacency::Substitute, ..fixed };
    let committee = Method {
        scheme: Scheme::Committee(crate::settings::CommitteePrior::Same),
        solver: Solver::Perturb,
        schedule: Schedule::Synchronous,
        promise: Some(curator),
        ..base
    };
    assert!(refused(&committee), "members send their own posteriors");
}

/// One whole natural step.
fn natural() -> Local {
    Local { optimiser: Optimiser::Natural, learning_rate: 1.0, ..local(1, Batching::All) }
}

fn hybrid(updates: u64, share: f64) -> Solver {
    Solver::Hybrid(Hybrid { updates, share, clip: NormBound::new(3.0).unwrap() })
}

#[test]
fn a_hybrid_keeps_its_promise_as_a_whole_and_its_opening_keeps_to_its_share() {
    let base = method(hybrid(2, 0.3), 7, local(5, rate(0.1)), promise());
    let found = plan(&base, &[500], 4).unwrap();
    let client = &found.clients[0];
    let opening = client.opening.as_ref().unwrap();
    assert_eq!((opening.updates, client.updates, client.charges(), found.rounds), (2, 5, 7, 7));
    assert_eq!((opening.shape.bound().get(), client.shape.bound().get()), (3.0, 2.0));
    assert_eq!((opening.event.steps().get(), client.event.steps().get()), (1, 5));
    let alone = Pld.epsilon(&client.first(2).unwrap(), Delta::new(0.3e-5).unwrap()).unwrap().upper;
    assert!(alone <= 0.3 && alone > 0.299, "{alone}");
    assert!(client.certified <= 1.0 && client.certified > 0.999, "{}", client.certified);
    // What is left is more than simple composition would leave.
    let parts = Promise { epsilon: Epsilon::new(0.7).unwrap(), ..promise() };
    let rest = plan(&method(Solver::DpOptimisation, 5, local(5, rate(0.1)), parts), &[500], 4).unwrap();
    assert!(client.noise_multiplier() < rest.clients[0].noise_multiplier());
    // The ledger takes the stages in this order and no other.
    let mut journal = MemoryJournal::default();
    let mut ledger = Ledger::open(client.grant(&promise()).unwrap(), &mut journal).unwrap();
    assert!(ledger.charge(&client.event, &mut journal).is_err());
    for event in [&opening.event, &opening.event, &client.event] {
        ledger.charge(event, &mut journal).unwrap();
    }
    assert!(ledger.charge(&opening.event, &mut journal).is_err());
}

#[test]
fn a_given_noise_is_that_of_both_stages_of_a_hybrid() {
    let z = NoiseMultiplier::new(10.0).unwrap();
    let given = Promise { noise: Noise::Multiplier(z), epsilon: Epsilon::new(3.0).unwrap(), ..promise() };
    let rounds = Rounds::UntilSpent { at_most: 1000 };
    let base = Method { rounds, ..method(hybrid(2, 0.3), 1, local(5, Batching::All), given) };
    let client = plan(&base, &[500], 4).unwrap().clients.remove(0);
    let more = client.first(client.charges() + 1).unwrap();
    assert_eq!(client.opening.as_ref().unwrap().event.noise_multiplier(), Some(z));
    assert!(client.updates > 1 && client.certified <= 3.0);
    assert!(Pld.epsilon(&more, client.delta).unwrap().upper > 3.0);
}

#[test]
fn a_likelihood_is_planned_for_one_charge_and_all_rounds() {
    let base = method(Solver::Likelihood, 50, natural(), promise());
    let base = Method { covariance: Covariance::Full, ..base };
    let found = plan(&base, &[500, 300], 4).unwrap();
    assert_eq!((found.rounds, found.messages, found.clients[0].charges()), (50, 100, 1));
    let once = plan(&Method { rounds: Rounds::Count(1), ..base }, &[500, 300], 4).unwrap();
    assert_eq!(found.clients, once.clients);
}

/// Weights and scales of noise-aware PVI go by the rows of a client, at every gate.
#[test]
fn weights_of_noise_aware_pvi_that_follow_private_rows_are_told() {
    let curvature = Curvature::Moments { looks: 1, bound: 1.0 };
    let scheme = Scheme::NoiseAware(NoiseAware { curvature, whitening: 0.5, floor: 0.05, caution: 3.0 });
    let of = |adjacency| {
        let promise = Promise { adjacency, ..promise() };
        Method { scheme, ..method(Solver::DpOptimisation, 5, local(1, Batching::All), promise) }
    };
    assert!(of(Adjacency::AddRemove).goes_by_private_rows() && !of(Adjacency::Substitute).goes_by_private_rows());
}

/// Found at a merge: the warning was given for DP optimisation only, and a hybrid's steps draw rows at the same rates.
#[test]
fn rates_of_a_hybrid_that_follow_private_rows_are_told() {
    let drawn = local(2, Batching::PoissonOf { fraction: 0.1, at_least: 1 });
    let of = |adjacency, local| method(hybrid(2, 0.5), 5, local, Promise { adjacency, ..promise() });
    assert!(of(Adjacency::AddRemove, drawn).goes_by_private_rows());
    assert!(!of(Adjacency::Substitute, drawn).goes_by_private_rows());
    assert!(!of(Adjacency::AddRemove, local(2, rate(0.1))).goes_by_private_rows());
}

#[test]
fn conjugate_solvers_refuse_what_they_cannot_do() {
    let curated = Promise { aggregator: Aggregator::Curator, ..promise() };
    let full = |solver| Method { covariance: Covariance::Full, ..method(solver, 5, natural(), promise()) };
    let refused = |method: &Method| plan(method, &[500], 4).is_err();
    for solver in [Solver::Analytic, Solver::Likelihood] {
        assert!(!refused(&full(solver)), "{solver:?}");
        assert!(refused(&Method { promise: Some(curated), ..full(solver) }), "an aggregator");
        assert!(refused(&Method { scheme: Scheme::GlobalVi, ..full(solver) }), "another algorithm");
        let with = |change: &dyn Fn(&mut Local)| {
            let mut local = natural();
            change(&mut local);
            refused(&Method { local, ..full(solver) })
        };
        assert!(with(&|l| l.batch = rate(0.1)) && with(&|l| l.steps = 2) && with(&|l| l.learning_rate = 0.5));
        let by_client = Promise { unit: Unit::Client, ..promise() };
        assert!(refused(&Method { promise: Some(by_client), ..full(solver) }), "rows clipped, clients protected");
    }
    assert!(!refused(&Method { covariance: Covariance::MeanField, ..full(Solver::Analytic) }));
    assert!(refused(&Method { covariance: Covariance::MeanField, ..full(Solver::Likelihood) }));
    assert!(refused(&Method { rounds: Rounds::UntilSpent { at_most: 9 }, ..full(Solver::Likelihood) }));
    assert!(refused(&full(hybrid(2, 0.5))), "a full covariance is not for gradients");
    for (updates, share) in [(0, 0.5), (5, 0.5), (2, 0.0), (2, 1.0), (2, f64::NAN)] {
        assert!(refused(&method(hybrid(updates, share), 5, local(1, Batching::All), promise())), "{updates}, {share}");
    }
}

#[test]
fn aligned_gradients_are_half_as_many_numbers_and_messages_are_as_long_as_before() {
    let full = local(3, rate(0.1));
    let aligned = Local { gradients: Gradients::Aligned, ..full };
    let of = |solver, local| plan(&method(solver, 2, local, promise()), &[100], 7);
    let (full, halved) = (of(Solver::DpOptimisation, full).unwrap(), of(Solver::DpOptimisation, aligned).unwrap());
    assert_eq!((full.clients[0].shape.dimension(), halved.clients[0].shape.dimension()), (14, 7));
    assert_eq!(full.bytes_per_message, halved.bytes_per_message);
    assert!(of(Solver::Perturb, aligned).is_err());
    let global = Method { scheme: Scheme::GlobalVi, ..method(Solver::DpOptimisation, 2, aligned, promise()) };
    assert!(plan(&global, &[100], 7).is_err());
}

#[test]
fn parts_under_add_remove_cost_what_they_cost_under_substitution() {
    let multiplier = |adjacency| {
        let promise = Promise { adjacency, ..promise() };
        let method = method(Solver::Virtual { parts: 3 }, 5, local(3, Batching::All), promise);
        assert_eq!(method.needs_record_ids(), adjacency == Adjacency::AddRemove);
        plan(&method, &[500, 400], 5).unwrap().clients[0].noise_multiplier()
    };
    assert_eq!(multiplier(Adjacency::AddRemove), multiplier(Adjacency::Substitute), "one part moves by 2C in both");
}
