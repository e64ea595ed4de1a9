//! Sites with ε, δ and a clip of their own: what each is planned for, charged and noised with, and what is refused.

use crate::common::{
    adam, add_remove, by_client, global_vi, method, model_of, noise_aware, promise, pvi, rows, secure, simulation,
    sites, unclipped, whole_step,
};
use inference::algorithm::Curvature;
use inference::algorithm::levels::{LevelsSettings, ServedPrior};
use inference::describe::{Conflict, Registry};
use inference::message::Direct;
use inference::plan::{ClientPlan, MethodPlan, plan};
use inference::settings::{Aggregator, Noise, Promise, Schedule, SecureNoise, SitePromise, SitePromises};
use inference::solve::{Average, Descend, Perturb};
use inference::testing::{built, stays_within_its_sensitivity};
use inference::{Method, RunError};
use privacy::accounting::Pld;
use privacy::record::Tape;
use privacy::{
    Accountant, Adjacency, Delta, Epsilon, Event, Grant, NoiseMultiplier, NormBound, ShareNoise, Trust,
    sensitivity_factor,
};

/// Rows of the sites of a plan.
const ROWS: [u64; 3] = [50, 90, 40];

/// The three sites of the tests, which nobody else is called.
fn names() -> Vec<String> {
    ["north", "south", "west"].map(str::to_owned).to_vec()
}

/// ε and δ of a site's own.
fn budget(epsilon: f64, delta: Option<f64>) -> SitePromise {
    let delta = delta.map(|delta| Delta::new(delta).unwrap());
    SitePromise { epsilon: Some(Epsilon::new(epsilon).unwrap()), delta, clip: None }
}

/// A clip of a site's own.
fn clip(clip: f64) -> SitePromise {
    SitePromise { clip: Some(NormBound::new(clip).unwrap()), ..SitePromise::default() }
}

/// The method with these promises of its sites.
fn with(method: Method, own: &[(&str, SitePromise)]) -> Method {
    let own: SitePromises = own.iter().map(|(name, own)| ((*name).to_owned(), *own)).collect();
    Method { sites: own.placed(&names()).unwrap(), ..method }
}

/// ε = .5 at the first site, and ε = 4, δ = 1e-6 and half of the clip at the last.
fn at_own_gates(method: Method) -> Method {
    let last = SitePromise { clip: Some(NormBound::new(0.5).unwrap()), ..budget(4.0, Some(1e-6)) };
    with(method, &[("north", budget(0.5, None)), ("west", last)])
}

/// Half of the clip at the first site, and twice of it at the last.
fn in_a_sum(method: Method) -> Method {
    with(method, &[("north", clip(0.5)), ("west", clip(2.0))])
}

fn perturb(promise: Promise) -> Method {
    method("perturb, sites of their own", pvi(Perturb { local: whole_step() }), Schedule::Synchronous, promise)
}

fn planned(method: &Method) -> MethodPlan {
    plan(method, &ROWS, 5).unwrap()
}

fn refused(method: &Method) -> Conflict {
    match plan(method, &ROWS, 5) {
        Err(RunError::Conflict(conflict)) => conflict,
        other => panic!("{other:?}"),
    }
}

fn z(client: &ClientPlan) -> f64 {
    client.event.noise_multiplier().unwrap().get()
}

/// What one plan costs at δ.
fn cost(event: &Event, updates: u64, delta: Delta) -> f64 {
    let whole = event.repeated(privacy::Steps::new(updates * event.steps().get()).unwrap());
    Pld.epsilon(&[whole], delta).unwrap().upper
}

#[test]
fn every_site_is_planned_and_granted_its_own_and_the_others_what_all_are() {
    let (own, alike) = (
        planned(&at_own_gates(perturb(promise(1.0, Aggregator::None)))),
        planned(&perturb(promise(1.0, Aggregator::None))),
    );
    let granted: Vec<(f64, f64)> = own.clients.iter().map(|c| (c.epsilon.get(), c.delta.get())).collect();
    assert_eq!(granted, [(0.5, 1e-5), (2.0, 1e-5), (4.0, 1e-6)]);
    for client in &own.clients {
        assert!(client.certified <= client.epsilon.get() && client.certified > 0.99 * client.epsilon.get());
        assert_eq!(client.certified, cost(&client.event, client.updates, client.delta));
        let Grant::Limited { epsilon, delta, .. } = client.grant().unwrap() else { panic!("no limit") };
        assert_eq!((epsilon, delta), (client.epsilon, client.delta));
    }
    assert!(z(&own.clients[0]) > z(&own.clients[1]) && z(&own.clients[1]) > z(&own.clients[2]));
    assert_eq!(own.clients[1], alike.clients[1], "a site without numbers of its own is planned as before");
    assert_eq!(own.clients.iter().map(|c| c.shape.bound().get()).collect::<Vec<_>>(), [1.0, 1.0, 0.5]);
    assert!(own.sum.is_none());
}

/// With a multiplier that is given, a site answers as often as its own ε pays for, and then no more.
#[test]
fn with_given_noise_the_number_of_answers_follows_from_a_sites_own_epsilon() {
    let z = NoiseMultiplier::new(20.0).unwrap();
    let given = Promise { noise: Noise::Multiplier(z), ..promise(1.0, Aggregator::None) };
    let plan = planned(&with(perturb(given), &[("north", budget(0.3, None))]));
    let answers: Vec<u64> = plan.clients.iter().map(|c| c.updates).collect();
    assert!((1..4).contains(&answers[0]) && answers[1] == 4, "{answers:?}");
    let first = &plan.clients[0];
    assert!(
        cost(&first.event, answers[0], first.delta) <= 0.3 && cost(&first.event, answers[0] + 1, first.delta) > 0.3
    );
}

/// One noise for all: σ ≥ z_m·Δ_m at every site, and hardly more; ε_m is what that multiplier costs.
#[test]
fn under_one_noise_a_sites_epsilon_follows_from_its_clip() {
    for aggregator in [Aggregator::Curator, secure(SecureNoise::Nodes, 0, 1)] {
        for adjacency in [Adjacency::Substitute, Adjacency::AddRemove] {
            let promise = Promise { adjacency, ..promise(1.0, aggregator) };
            let method = perturb(promise);
            let plan = planned(&in_a_sum(method));
            let sum = plan.sum.as_ref().unwrap();
            let deviation = |client: &ClientPlan| {
                let factor = sensitivity_factor(client.shape.grain(), client.event.unit(), adjacency, Trust::Aggregate);
                z(client) * (factor.unwrap() * client.shape.bound_units()) as f64
            };
            for client in &plan.clients {
                assert!(
                    deviation(client) <= deviation(sum).next_up() && deviation(client) > deviation(sum) * (1.0 - 1e-9)
                );
                assert_eq!(client.certified, cost(&client.event, client.updates, client.delta));
                assert!(client.epsilon.get() >= client.certified);
                assert_eq!((client.shape.grid(), client.updates), (sum.shape.grid(), sum.updates));
            }
            let ratio = |m: usize| z(&plan.clients[m]) / z(sum);
            assert!((ratio(0) - 2.0).abs() < 1e-3 && ratio(1) == 1.0 && (ratio(2) - 0.5).abs() < 1e-3);
            let epsilon = |m: usize| plan.clients[m].epsilon.get();
            assert!(epsilon(0) < 0.55 * epsilon(1) && epsilon(1) == 2.0 && epsilon(2) > 1.9 * epsilon(1));
        }
    }
}

/// Whoever takes part in these runs.
fn runs() -> Vec<Method> {
    let none = |clip| promise(clip, Aggregator::None);
    let descend = || Descend { local: adam(2) };
    let moments = Curvature::Moments { looks: 1, bound: 2.0 };
    let levels = LevelsSettings { first_share: 0.2, prior: ServedPrior::Stated, adjacency: Adjacency::Substitute };
    let of_levels = method("levels", levels, Schedule::Synchronous, unclipped(Aggregator::None));
    let average = || pvi(Average { parts: 3, local: adam(2) });
    vec![
        at_own_gates(perturb(none(1.0))),
        at_own_gates(method("dp-optimisation", pvi(descend()), Schedule::Sequential, none(1.0))),
        at_own_gates(method(
            "dp-optimisation, add-remove",
            pvi(descend()),
            Schedule::Sequential,
            add_remove(none(1.0)),
        )),
        at_own_gates(method("noise-aware", noise_aware(moments), Schedule::Synchronous, none(1.0))),
        at_own_gates(method("global", global_vi(adam(1)), Schedule::Synchronous, none(1.0))),
        at_own_gates(method(
            "clients",
            pvi(Perturb { local: whole_step() }),
            Schedule::Synchronous,
            by_client(none(1.0)),
        )),
        with(of_levels, &[("north", budget(0.5, None)), ("west", budget(4.0, Some(1e-6)))]),
        in_a_sum(method("average, curator", average(), Schedule::Synchronous, promise(1.0, Aggregator::Curator))),
        in_a_sum(method(
            "average, nodes",
            average(),
            Schedule::Synchronous,
            promise(1.0, secure(SecureNoise::Nodes, 0, 0)),
        )),
        in_a_sum(method(
            "global, curator",
            global_vi(adam(1)),
            Schedule::Synchronous,
            promise(1.0, Aggregator::Curator),
        )),
    ]
}

#[test]
fn no_input_of_sites_of_their_own_moves_beyond_its_declared_sensitivity() {
    runs().iter().for_each(|method| stays_within_its_sensitivity(method, &model_of(method), 60));
}

/// Every noise call is of its own site: the deviation and the sensitivity of that site's plan, and no other's.
#[test]
fn every_release_has_the_noise_of_its_own_site() {
    let (sites, test) = (sites(), rows(3, 9));
    for method in runs().iter().filter(|method| method.promise.unwrap().aggregator == Aggregator::None) {
        let simulation = simulation(method, &sites, &test);
        let built = built(&simulation);
        let tape = Tape::record();
        let mut drive = simulation.start(&built, &Direct, Some(&tape)).unwrap();
        drive.round().unwrap();
        let calls = tape.calls();
        let each = calls.len() / sites.len();
        for (at, call) in calls.iter().enumerate() {
            let client = &built.plan.clients[at / each];
            let stage = &client.stages()[0];
            assert_eq!(call.event.noise_multiplier(), stage.event.noise_multiplier(), "{}: call {at}", method.name);
            let factor =
                sensitivity_factor(stage.shape.grain(), call.event.unit(), call.event.adjacency(), Trust::Local);
            assert_eq!(call.sensitivity, factor.unwrap() * stage.shape.bound_units(), "{}: call {at}", method.name);
        }
        for (client, planned) in drive.clients().iter().zip(&built.plan.clients) {
            assert_eq!(*client.ledger().grant(), planned.grant().unwrap());
            assert!(
                client.ledger().events().iter().all(|event| *event == planned.stages()[0].event),
                "{}",
                method.name
            );
        }
    }
}

/// A sum gets the noise that it was sized for, whoever comes first.
#[test]
fn a_sum_has_one_noise_whoever_clips_to_what() {
    let (sites, test) = (sites(), rows(3, 9));
    for method in runs().iter().filter(|method| method.promise.unwrap().aggregator != Aggregator::None) {
        let alike = Method { sites: SitePromises::default(), ..method.clone() };
        let deviations = |method: &Method| {
            let simulation = simulation(method, &sites, &test);
            let built = built(&simulation);
            let tape = Tape::record();
            let mut drive = simulation.start(&built, &Direct, Some(&tape)).unwrap();
            drive.round().unwrap();
            tape.calls().iter().map(|call| call.deviation).collect::<Vec<_>>()
        };
        assert_eq!(deviations(method), deviations(&alike), "{}", method.name);
    }
}

#[test]
fn what_a_site_cannot_have_of_its_own_is_refused_at_its_key() {
    let curator = |promise: Promise| Promise { aggregator: Aggregator::Curator, ..promise };
    let north = |own: SitePromise, method: Method| with(method, &[("north", own)]);
    let noise_aware = noise_aware(Curvature::EveryRound { weight: 1.0 });
    let of_noise_aware =
        method("noise-aware", noise_aware, Schedule::Synchronous, curator(promise(1.0, Aggregator::None)));
    let levels = LevelsSettings { first_share: 0.2, prior: ServedPrior::Stated, adjacency: Adjacency::Substitute };
    let of_levels = method("levels", levels, Schedule::Synchronous, unclipped(Aggregator::None));
    let shares = promise(1.0, secure(SecureNoise::Clients(ShareNoise::DiscreteGaussian), 0, 0));
    let delta = SitePromise { delta: Some(Delta::new(1e-6).unwrap()), ..SitePromise::default() };
    for (method, key, code, hint) in [
        (
            north(budget(0.5, None), perturb(curator(promise(1.0, Aggregator::None)))),
            "epsilon",
            "S007",
            "state clip for this site",
        ),
        (north(delta, perturb(curator(promise(1.0, Aggregator::None)))), "delta", "S007", "state clip for this site"),
        (north(clip(0.5), of_noise_aware), "clip", "S009", "leave clip of the site out"),
        (north(clip(0.5), of_levels), "clip", "S011", "leave clip out"),
        (north(clip(0.5), perturb(shares)), "clip", "S007", "noise = \"nodes\""),
    ] {
        let found = refused(&method);
        assert_eq!(
            (found.key.as_str(), found.code),
            (format!("privacy.sites.north.{key}").as_str(), code),
            "{found:?}"
        );
        assert!(found.hint.contains(hint), "{found:?}");
    }
}

#[test]
fn sites_that_nobody_knows_are_refused_and_never_left_out() {
    let read = |own: &str| {
        let text = format!(
            "name = 'm'\nalgorithm = 'noise-aware'\nprivacy = {{ epsilon = 1.0, delta = 1e-5, clip = 1.0, sites = {{ {own} }} }}"
        );
        Method::read(&text.parse().unwrap(), &Registry::standard())
    };
    let method = read("north = { epsilon = 0.5 }").unwrap();
    let unplaced = refused(&method);
    assert_eq!((unplaced.key.as_str(), unplaced.code), ("privacy.sites", "S012"), "{unplaced:?}");
    let stranger = method.sites.placed(&["nord".to_owned(), "south".to_owned()]).unwrap_err();
    assert_eq!((stranger.key.as_str(), stranger.hint.as_str()), ("privacy.sites.north", "did you mean \"nord\"?"));
    let two = Method { sites: method.sites.placed(&names()[..2]).unwrap(), ..method };
    assert_eq!(refused(&two).code, "S012", "three sites are planned, and two were named");
    for (own, key, code) in [
        ("north = {}", "privacy.sites.north", "S001"),
        ("north = { epsilon = -1.0 }", "privacy.sites.north.epsilon", "S004"),
        ("north = { delta = 1.0 }", "privacy.sites.north.delta", "S004"),
        ("north = { epsilom = 1.0 }", "privacy.sites.north.epsilom", "S002"),
        ("north = 1.0", "privacy.sites.north", "S001"),
    ] {
        let found = read(own).unwrap_err();
        assert_eq!((found[0].key.as_str(), found[0].code), (key, code), "{own}: {found:?}");
    }
}

/// Two runs that differ in a site's promise alone are two runs: they share no noise.
#[test]
fn a_promise_of_a_site_is_part_of_what_runs_are_told_apart_by() {
    let base = perturb(promise(1.0, Aggregator::None));
    let one = with(base.clone(), &[("north", budget(0.5, None))]);
    let other = with(base.clone(), &[("north", budget(0.6, None))]);
    assert!(one != other && one != base && one == with(base, &[("north", budget(0.5, None))]));
}
