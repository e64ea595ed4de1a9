//! Plans against published numbers, and against the ledgers that they open.

use super::*;
use crate::algorithm::{
    CommitteePrior, CommitteeSettings, Curvature, GlobalViSettings, NoiseAwareConstants, NoiseAwareSettings,
    PviSettings, RoundBudget,
};
use crate::describe::Registry;
use crate::method::AlgorithmSettings;
use crate::settings::{
    Chart, Covariance, Damping, FactorRule, Gradients, Local, NoiseReading, Optimiser, Rates, Readout, Repair, Rounds,
};
use crate::solve::{Analytic, Average, Clear, Descend, Hybrid, Likelihood, LocalSolve, Perturb, Virtual};
use privacy::{Adjacency, Epsilon, Ledger, MemoryJournal};
use std::sync::Arc;

fn local(steps: u64, batch: Batching) -> Local {
    let (optimiser, chart) = (Optimiser::Adam, Chart::LogDeviation);
    let gradients = Gradients::Full;
    Local { steps, batch, optimiser, learning_rate: 0.05, keep_state: false, chart, gradients }
}

const NODES: Aggregator =
    Aggregator::SecureSum(SecureSumSettings { nodes: 3, noise: SecureNoise::Nodes, colluders: 1, dropouts: 1 });

fn shares(law: ShareNoise) -> Aggregator {
    Aggregator::SecureSum(SecureSumSettings { nodes: 3, noise: SecureNoise::Clients(law), colluders: 1, dropouts: 1 })
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
        clip: Some(Clip::Fixed(NormBound::new(2.0).unwrap())),
        noise: Noise::Calibrated,
        aggregator: Aggregator::None,
        accountant: Claim::Certified,
    }
}

fn pvi(solver: impl LocalSolve + 'static, rounds: Rounds) -> PviSettings {
    PviSettings {
        solver: Arc::new(solver),
        rounds,
        damping: Damping::NONE,
        covariance: Covariance::MeanField,
        factor: FactorRule::Free,
        readout: Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain },
        site_intercept: None,
    }
}

fn of(algorithm: impl AlgorithmSettings + 'static, schedule: Schedule, promise: Promise) -> Method {
    Method {
        name: "m".into(),
        algorithm: Arc::new(algorithm),
        schedule,
        promise: Some(promise),
        sites: SitePromises::default(),
    }
}

fn method(solver: impl LocalSolve + 'static, rounds: u64, promise: Promise) -> Method {
    of(pvi(solver, Rounds::Count(rounds)), Schedule::Sequential, promise)
}

fn descend(steps: u64, batch: Batching) -> Descend {
    Descend { local: local(steps, batch) }
}

fn perturb() -> Perturb {
    Perturb { local: local(3, Batching::All) }
}

/// The code of the conflict that a plan ends with, and its key.
fn conflict(method: &Method, clients: &[u64]) -> (String, &'static str) {
    match plan(method, clients, 3) {
        Err(RunError::Conflict(conflict)) => (conflict.key, conflict.code),
        other => panic!("{other:?}"),
    }
}

/// The workshop's method: σ = 5, a batch of 2 % and at least 20, C = 75 on gradients scaled by rows / batch.
fn workshop(accountant: Claim) -> Method {
    let promise = Promise {
        adjacency: Adjacency::AddRemove,
        delta: DeltaRule::PowerOfTenBelowRows,
        clip: Some(Clip::TimesRate(NormBound::new(75.0).unwrap())),
        noise: Noise::Multiplier(NoiseMultiplier::new(5.0).unwrap()),
        accountant,
        ..promise()
    };
    let batch = Batching::PoissonOf { fraction: 0.02, at_least: 20 };
    let settings = pvi(descend(25, batch), Rounds::UntilSpent { at_most: 1000 });
    of(settings, Schedule::Asynchronous(Rates::InverseRows), promise)
}

/// The multiplier in units of C.
fn in_bounds(plan: &MethodPlan) -> f64 {
    2.0 * plan.clients[0].noise_multiplier()
}

#[test]
fn calibrated_multipliers_are_the_published_ones() {
    for (rounds, steps, q, sigma) in [(20, 10, 0.05, 5.274), (20, 25, 0.02, 3.338)] {
        let plan = plan(&method(descend(steps, rate(q)), rounds, promise()), &[2442], 109).unwrap();
        assert!((in_bounds(&plan) - sigma).abs() < 1.1e-3, "T = {steps}·{rounds}, q = {q}: {}", in_bounds(&plan));
        let client = &plan.clients[0];
        assert_eq!((client.updates, client.event.steps().get(), plan.messages), (rounds, steps, rounds));
        assert!(client.certified <= 1.0 && client.certified > 0.9999 && client.claimed == client.certified);
        assert_eq!((client.shape.dimension(), client.shape.grain()), (218, Grain::Example));
    }
    let local = local(10, rate(0.1));
    for method in [
        method(Perturb { local }, 15, promise()),
        method(Average { parts: 100, local }, 15, promise()),
        method(Virtual { parts: 200, local }, 15, promise()),
    ] {
        let plan = plan(&method, &[2442; 10], 109).unwrap();
        assert!((in_bounds(&plan) - 28.90).abs() < 0.01, "{method:?}: {}", in_bounds(&plan));
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
fn spend(client: &ClientPlan) {
    let mut journal = MemoryJournal::default();
    let mut ledger = Ledger::open(client.grant().unwrap(), &mut journal).unwrap();
    for update in 0..client.updates {
        ledger.charge(&client.event, &mut journal).unwrap_or_else(|e| panic!("update {update}: {e}"));
    }
    assert!(ledger.charge(&client.event, &mut journal).is_err());
}

#[test]
fn a_ledger_opened_by_the_plan_takes_all_updates_and_no_more() {
    let at = |aggregator| {
        let solver = Average { parts: 10, local: local(3, Batching::All) };
        of(pvi(solver, Rounds::Count(7)), Schedule::Synchronous, Promise { aggregator, ..promise() })
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
            spend(client);
        }
    }
    let workshop = workshop(Claim::Moments);
    spend(&plan(&workshop, &[4000], 108).unwrap().clients[0]);
}

#[test]
fn discrete_gaussian_shares_need_a_curators_noise_and_skellam_shares_more() {
    let z = |aggregator| {
        let settings = pvi(perturb(), Rounds::Count(7));
        let method = of(settings, Schedule::Synchronous, Promise { aggregator, ..promise() });
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
    let global = |batch| {
        let settings = GlobalViSettings { local: local(1, batch), rounds: Rounds::Count(20) };
        of(settings, Schedule::Synchronous, curated)
    };
    let found = plan(&global(rate(0.01)), &[90, 5000], 3).unwrap();
    assert!(found.clients.iter().all(|c| c.delta.get() == 1e-4 && c.event.steps() == Steps::ONE && c.updates == 20));
    let differing = Batching::PoissonOf { fraction: 0.01, at_least: 20 };
    assert_eq!(conflict(&global(differing), &[90, 5000]), ("local".to_owned(), "S009"));
}

#[test]
fn a_client_as_unit_is_hidden_among_clients() {
    let planned = |adjacency, aggregator| {
        let promise = Promise { unit: Unit::Client, adjacency, aggregator, ..promise() };
        plan(&of(pvi(perturb(), Rounds::Count(3)), Schedule::Synchronous, promise), &[50; 5], 12)
    };
    let found = planned(Adjacency::AddRemove, Aggregator::Curator).unwrap();
    assert_eq!(found.clients[0].among, 5);
    assert_eq!(
        planned(Adjacency::AddRemove, Aggregator::None).unwrap_err().to_string().split(':').next(),
        Some("a missing message is visible whatever noise the others carry")
    );
}

#[test]
fn a_committee_is_asked_once_and_the_clear_costs_nothing() {
    let solver = descend(100, rate(0.05));
    let committee = of(committee(solver.clone(), CommitteePrior::Split), Schedule::Sequential, promise());
    let found = plan(&committee, &[2442; 10], 109).unwrap();
    assert_eq!((found.rounds, found.messages, found.clients[0].updates), (1, 10, 1));
    assert!((in_bounds(&found) - 3.731).abs() < 1.1e-3, "{}", in_bounds(&found));
    let clear = Method { promise: None, ..method(Clear { local: solver.local }, 20, promise()) };
    assert_eq!(plan(&clear, &[9; 10], 109).unwrap().messages, 200);
}

#[test]
fn what_has_no_meaning_is_refused() {
    let steps = || descend(3, rate(0.1));
    let with = |change: &dyn Fn(&mut Promise)| {
        let mut promised = promise();
        change(&mut promised);
        method(steps(), 2, promised)
    };
    let times_rate = Promise { clip: Some(Clip::TimesRate(NormBound::new(1.0).unwrap())), ..promise() };
    let until_spent = pvi(steps(), Rounds::UntilSpent { at_most: 5 });
    for (method, key, code) in [
        (with(&|p| p.aggregator = Aggregator::Curator), "privacy.aggregator", "S007"),
        (with(&|p| p.epsilon = Epsilon::new(0.0).unwrap()), "privacy.epsilon", "S004"),
        (with(&|p| p.delta = DeltaRule::Fixed(Delta::new(0.0).unwrap())), "privacy.delta", "S004"),
        (with(&|p| p.clip = None), "privacy", "S001"),
        (method(Clear { local: steps().local }, 2, promise()), "privacy", "S006"),
        (Method { promise: None, ..method(steps(), 2, promise()) }, "solver", "S006"),
        (of(until_spent, Schedule::Sequential, promise()), "rounds", "S009"),
        (method(steps(), 0, promise()), "rounds", "S004"),
        (method(perturb(), 2, times_rate), "privacy.clip", "S009"),
    ] {
        assert_eq!(conflict(&method, &[100]), (key.to_owned(), code), "{method:?}");
    }
    let tiny = with(&|p| p.noise = Noise::Multiplier(NoiseMultiplier::new(0.1).unwrap()));
    assert!(matches!(plan(&tiny, &[100], 3), Err(RunError::Privacy(PrivacyError::Budget { fits: 0, .. }))));
}

#[test]
fn rows_of_protected_clients_and_committees_under_a_curator_are_refused() {
    let base = workshop(Claim::Certified).promise.unwrap();
    let fixed = Promise { clip: Some(Clip::Fixed(NormBound::new(1.0).unwrap())), ..base };
    let client = Promise { unit: Unit::Client, ..fixed };
    let of_client = |schedule| of(pvi(perturb(), Rounds::UntilSpent { at_most: 1000 }), schedule, client);
    let by_rates = of_client(Schedule::Asynchronous(Rates::InverseRows));
    assert_eq!(conflict(&by_rates, &[500, 400]), ("rates".to_owned(), "S008"), "rates follow rows");
    let by_delta = of_client(Schedule::Asynchronous(Rates::Equal));
    assert_eq!(conflict(&by_delta, &[500, 400]), ("privacy.delta".to_owned(), "S008"), "δ follows rows");
    let curator = Promise { aggregator: Aggregator::Curator, adjacency: Adjacency::Substitute, ..fixed };
    let members = of(committee(perturb(), CommitteePrior::Same), Schedule::Synchronous, curator);
    assert_eq!(conflict(&members, &[500, 400]), ("privacy.aggregator".to_owned(), "S007"), "members send their own");
}

fn committee(solver: impl LocalSolve + 'static, prior: CommitteePrior) -> CommitteeSettings {
    let (covariance, repair) = (Covariance::MeanField, Repair::Project);
    CommitteeSettings { solver: Arc::new(solver), prior, covariance, repair }
}

fn hybrid(updates: u64, share: f64, local: Local) -> Hybrid {
    Hybrid { updates, share, clip: NormBound::new(3.0).unwrap(), descend: Descend { local } }
}

#[test]
fn a_hybrid_keeps_its_promise_as_a_whole_and_its_opening_keeps_to_its_share() {
    let base = method(hybrid(2, 0.3, local(5, rate(0.1))), 7, promise());
    let found = plan(&base, &[500], 4).unwrap();
    let client = &found.clients[0];
    let opening = &client.openings[0];
    assert_eq!((opening.updates, client.updates, client.charges(), found.rounds), (2, 5, 7, 7));
    assert_eq!((opening.shape.bound().get(), client.shape.bound().get()), (3.0, 2.0));
    assert_eq!((opening.event.steps().get(), client.event.steps().get()), (1, 5));
    let alone = Pld.epsilon(&client.first(2).unwrap(), Delta::new(0.3e-5).unwrap()).unwrap().upper;
    assert!(alone <= 0.3 && alone > 0.299, "{alone}");
    assert!(client.certified <= 1.0 && client.certified > 0.999, "{}", client.certified);
    // What is left is more than simple composition would leave.
    let parts = Promise { epsilon: Epsilon::new(0.7).unwrap(), ..promise() };
    let rest = plan(&method(descend(5, rate(0.1)), 5, parts), &[500], 4).unwrap();
    assert!(client.noise_multiplier() < rest.clients[0].noise_multiplier());
    // The ledger takes the stages in this order and no other.
    let mut journal = MemoryJournal::default();
    let mut ledger = Ledger::open(client.grant().unwrap(), &mut journal).unwrap();
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
    let settings = pvi(hybrid(2, 0.3, local(5, Batching::All)), Rounds::UntilSpent { at_most: 1000 });
    let base = of(settings, Schedule::Sequential, given);
    let client = plan(&base, &[500], 4).unwrap().clients.remove(0);
    let more = client.first(client.charges() + 1).unwrap();
    assert_eq!(client.openings[0].event.noise_multiplier(), Some(z));
    assert!(client.updates > 1 && client.certified <= 3.0);
    assert!(Pld.epsilon(&more, client.delta).unwrap().upper > 3.0);
}

#[test]
fn a_likelihood_is_planned_for_one_charge_and_all_rounds() {
    let likelihood = |rounds| {
        let settings = PviSettings { covariance: Covariance::Full, ..pvi(Likelihood, Rounds::Count(rounds)) };
        plan(&of(settings, Schedule::Sequential, promise()), &[500, 300], 4).unwrap()
    };
    let found = likelihood(50);
    assert_eq!((found.rounds, found.messages, found.clients[0].charges()), (50, 100, 1));
    assert_eq!(found.clients, likelihood(1).clients);
}

/// Weights and scales of noise-aware PVI go by the rows of a client, at every gate.
#[test]
fn weights_of_noise_aware_pvi_that_follow_private_rows_are_told() {
    let curvature = Curvature::Moments { looks: 1, bound: 1.0 };
    let constants = NoiseAwareConstants { curvature, whitening: 0.5, floor: 0.05, caution: 3.0 };
    let (rounds, damping) = (Rounds::Count(5), Damping::NONE);
    let goes = |adjacency| {
        let settings = NoiseAwareSettings {
            constants,
            rounds,
            damping,
            average: 1,
            site_intercept: None,
            budget: RoundBudget::Even,
            solver: None,
        };
        of(settings, Schedule::Sequential, Promise { adjacency, ..promise() }).goes_by_private_rows()
    };
    assert!(goes(Adjacency::AddRemove) && !goes(Adjacency::Substitute));
}

/// Found at a merge: the warning was given for DP optimisation only, and a hybrid's steps draw rows at the same rates.
#[test]
fn rates_of_a_hybrid_that_follow_private_rows_are_told() {
    let drawn = local(2, Batching::PoissonOf { fraction: 0.1, at_least: 1 });
    let goes =
        |adjacency, local| method(hybrid(2, 0.5, local), 5, Promise { adjacency, ..promise() }).goes_by_private_rows();
    assert!(goes(Adjacency::AddRemove, drawn));
    assert!(!goes(Adjacency::Substitute, drawn));
    assert!(!goes(Adjacency::AddRemove, local(2, rate(0.1))));
}

/// Refused when it is read: the solver has no optimisation of its own, so that none can be built.
fn refused_local(solver: &str, local: &str) -> Vec<String> {
    let text = format!(
        "name = \"m\"\nalgorithm = \"pvi\"\nsolver = {solver:?}\nrounds = 5\ncovariance = \"full\"\nlocal = {local}\n\
         privacy = {{ unit = \"example\", adjacency = \"substitute\", epsilon = 1.0, delta = 1e-5, clip = 2.0 }}\n"
    );
    let read = Method::read(&text.parse().unwrap(), &Registry::standard());
    read.err().map_or_else(Vec::new, |found| found.into_iter().map(|conflict| conflict.key).collect())
}

#[test]
fn conjugate_solvers_refuse_what_they_cannot_do() {
    let one = Rounds::Count(5);
    let full = |settings| PviSettings { covariance: Covariance::Full, ..settings };
    let with = |settings, promise| of(settings, Schedule::Sequential, promise);
    let planned = |method: &Method| plan(method, &[500], 4).is_ok();
    let curated = Promise { aggregator: Aggregator::Curator, ..promise() };
    let by_client = Promise { unit: Unit::Client, ..promise() };
    for settings in [full(pvi(Analytic, one)), full(pvi(Likelihood, one))] {
        assert!(planned(&with(settings.clone(), promise())), "{settings:?}");
        let aggregated = conflict(&with(settings.clone(), curated), &[500]);
        assert_eq!(aggregated, ("privacy.aggregator".to_owned(), "S007"));
        let clients = conflict(&with(settings, by_client), &[500]);
        assert_eq!(clients, ("privacy.unit".to_owned(), "S008"), "rows clipped, clients protected");
    }
    for solver in ["analytic", "likelihood"] {
        let whole = "optimiser = \"natural\"";
        assert!(refused_local(solver, &format!("{{ {whole} }}")).is_empty(), "one whole natural step");
        assert_eq!(refused_local(solver, &format!("{{ {whole}, rate = 0.1 }}")), ["local.rate"]);
        assert_eq!(refused_local(solver, &format!("{{ {whole}, steps = 2 }}")), ["local"]);
        assert_eq!(refused_local(solver, &format!("{{ {whole}, learning_rate = 0.5 }}")), ["local"]);
    }
    assert!(planned(&with(pvi(Analytic, one), promise())));
    let mean_field = conflict(&with(pvi(Likelihood, one), promise()), &[500]);
    assert_eq!(mean_field, ("covariance".to_owned(), "S009"));
    let given = Promise { noise: Noise::Multiplier(NoiseMultiplier::new(9.0).unwrap()), ..promise() };
    let until_spent = full(pvi(Likelihood, Rounds::UntilSpent { at_most: 9 }));
    for promise in [promise(), given] {
        assert_eq!(conflict(&with(until_spent.clone(), promise), &[500]), ("rounds".to_owned(), "S009"));
    }
    let steps = local(1, Batching::All);
    let correlated = conflict(&with(full(pvi(hybrid(2, 0.5, steps), one)), promise()), &[500]);
    assert_eq!(correlated, ("covariance".to_owned(), "S009"), "a full covariance is not for gradients");
    for (updates, share, key) in [
        (0, 0.5, "opening.updates"),
        (5, 0.5, "opening.updates"),
        (2, 0.0, "opening.share"),
        (2, 1.0, "opening.share"),
        (2, f64::NAN, "opening.share"),
    ] {
        let found = conflict(&method(hybrid(updates, share, steps), 5, promise()), &[500]);
        assert_eq!(found.0, key, "{updates}, {share}");
    }
}

#[test]
fn aligned_gradients_are_half_as_many_numbers_and_messages_are_as_long_as_before() {
    let full = local(3, rate(0.1));
    let aligned = Local { gradients: Gradients::Aligned, ..full };
    let steps = |local| plan(&method(Descend { local }, 2, promise()), &[100], 7).unwrap();
    let (full, halved) = (steps(full), steps(aligned));
    assert_eq!((full.clients[0].shape.dimension(), halved.clients[0].shape.dimension()), (14, 7));
    assert_eq!(full.bytes_per_message, halved.bytes_per_message);
    let global = GlobalViSettings { local: Local { steps: 1, ..aligned }, rounds: Rounds::Count(2) };
    for refused in [
        method(Perturb { local: aligned }, 2, promise()),
        method(Average { parts: 3, local: aligned }, 2, promise()),
        method(Virtual { parts: 3, local: aligned }, 2, promise()),
        Method { promise: None, ..method(Clear { local: aligned }, 2, promise()) },
        of(global, Schedule::Sequential, promise()),
    ] {
        assert_eq!(conflict(&refused, &[100]), ("local.gradients".to_owned(), "S009"), "{refused:?}");
    }
}

#[test]
fn parts_under_add_remove_cost_what_they_cost_under_substitution() {
    let multiplier = |adjacency| {
        let promise = Promise { adjacency, ..promise() };
        let method = method(Virtual { parts: 3, local: local(3, Batching::All) }, 5, promise);
        assert_eq!(method.needs_record_ids(), adjacency == Adjacency::AddRemove);
        plan(&method, &[500, 400], 5).unwrap().clients[0].noise_multiplier()
    };
    assert_eq!(multiplier(Adjacency::AddRemove), multiplier(Adjacency::Substitute), "one part moves by 2C in both");
}
