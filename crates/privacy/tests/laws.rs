//! Laws that every accountant keeps: nothing costs nothing, parts add up, more never costs less, the unknown is refused.

pub(crate) mod events;

use events::*;
use privacy::accounting::by_name;
use privacy::accounting::calibrate::calibrate;
use privacy::accounting::steps::steps;
use privacy::{
    Accountant, Adjacency, Adversary, Bounds, Delta, Epsilon, Event, Mechanism, NoiseMultiplier, PrivacyError,
    Sampling, ShareDeviation, Steps, Unit,
};
use proptest::prelude::*;

/// The laws, for events that the accountant supports at δ = 1e-3 and events that it does not.
fn laws(name: &str, supported: &[Event], unsupported: &[Event]) {
    let accountant = by_name(name).unwrap();
    assert_eq!(accountant.name(), name);
    nothing_costs_nothing(&*accountant);
    for event in supported {
        parts_add_up(&*accountant, event);
        more_never_costs_less(&*accountant, event);
        mixed_relations_are_refused(&*accountant, event);
        delta_answers_epsilon(&*accountant, event);
    }
    for event in unsupported {
        let refused = accountant.epsilon(std::slice::from_ref(event), delta()).unwrap_err();
        assert!(matches!(refused, PrivacyError::Unsupported { .. }), "{name}, {event}: {refused}");
        assert!(refused.hint().is_some());
        assert!(accountant.delta(std::slice::from_ref(event), Epsilon::new(0.5).unwrap()).is_err());
    }
}

fn nothing_costs_nothing(accountant: &dyn Accountant) {
    for d in [0.0, 1e-9, 0.5] {
        assert_eq!(accountant.epsilon(&[], Delta::new(d).unwrap()).unwrap().upper, 0.0);
    }
    assert_eq!(accountant.delta(&[], Epsilon::new(1.0).unwrap()).unwrap().upper, 0.0);
}

/// Relative width of an interval that is certified from both sides; an upper bound alone is held to its own value.
fn width(bounds: Bounds) -> f64 {
    if bounds.lower > 0.0 { bounds.relative_width() } else { 0.0 }
}

/// T steps in one event and in many events enclose the same value; an accountant may refuse both.
fn parts_add_up(accountant: &dyn Accountant, event: &Event) {
    let five = [event.repeated(Steps::new(5).unwrap())];
    let parts =
        [event.repeated(Steps::new(2).unwrap()), event.repeated(Steps::ONE), event.repeated(Steps::new(2).unwrap())];
    match (accountant.epsilon(&five, delta()), accountant.epsilon(&parts, delta())) {
        (Ok(whole), Ok(sum)) => {
            assert!(whole.intersects(&sum), "{event}: {whole:?} {sum:?}");
            let close = (whole.upper - sum.upper).abs() <= (1e-9 + width(whole) + width(sum)) * whole.upper;
            assert!(close, "{} on {event}: {whole:?} {sum:?}", accountant.name());
        }
        (Err(_), Err(_)) => {}
        (whole, sum) => panic!("{} on {event}: {whole:?} but {sum:?}", accountant.name()),
    }
}

/// A plan and the δ at which it is asked for.
struct PlanAt<'a> {
    plan: &'a [Event],
    delta: Delta,
}

/// No certified contradiction: the lower end of the cheaper plan is not over the upper end of the dearer one; and the
/// upper ends, which budgets are held against, keep the order to 1e-9.
#[track_caller]
fn assert_ordered(accountant: &dyn Accountant, cheaper: &PlanAt<'_>, dearer: &PlanAt<'_>) {
    let (low, high) =
        match (accountant.epsilon(cheaper.plan, cheaper.delta), accountant.epsilon(dearer.plan, dearer.delta)) {
            (Ok(low), Ok(high)) => (low, high),
            // The dearer one may be out of what can be certified.
            (_, Err(PrivacyError::Uncertified { .. } | PrivacyError::Unsupported { .. })) => return,
            (low, high) => panic!("{}: {low:?} but {high:?}", accountant.name()),
        };
    assert!(low.lower <= high.upper, "{}: {low:?} {high:?}", accountant.name());
    let slack = 1e-9 + width(low) + width(high);
    assert!(low.upper <= high.upper * (1.0 + slack), "{}: {low:?} {high:?}", accountant.name());
}

fn more_never_costs_less(accountant: &dyn Accountant, event: &Event) {
    let plan = std::slice::from_ref(event);
    let small = accountant.epsilon(plan, delta()).unwrap();
    assert!(small.upper > 0.0 && small.lower <= small.upper, "{event}: {small:?}");
    let longer = [event.repeated(Steps::new(event.steps().get() * 3).unwrap())];
    let here = PlanAt { plan, delta: delta() };
    assert_ordered(accountant, &here, &PlanAt { plan: &longer, ..here });
    assert_ordered(accountant, &PlanAt { delta: Delta::new(2e-3).unwrap(), ..here }, &here);
    if let Some(noisier) = with_noise(event, 1.5) {
        assert_ordered(accountant, &PlanAt { plan: &[noisier], ..here }, &here);
    }
    if let Some(rarer) = with_rate(event) {
        assert_ordered(accountant, &PlanAt { plan: &[rarer], ..here }, &here);
    }
}

/// The event with its multiplier scaled up.
fn with_noise(event: &Event, factor: f64) -> Option<Event> {
    let more = z(event.noise_multiplier()?.get() * factor);
    let mechanism = match event.mechanism() {
        Mechanism::SkellamSum { shares, share_deviation, dimension, .. } => Mechanism::SkellamSum {
            noise_multiplier: more,
            shares: *shares,
            share_deviation: *share_deviation,
            dimension: *dimension,
        },
        Mechanism::Gaussian { .. } => Mechanism::Gaussian { noise_multiplier: more },
        Mechanism::Laplace { .. } => Mechanism::Laplace { noise_multiplier: more },
        Mechanism::DiscreteGaussian { .. } => Mechanism::DiscreteGaussian { noise_multiplier: more },
        _ => return None,
    };
    Event::new(mechanism, event.adjacency(), event.unit(), *event.sampling(), event.steps()).ok()
}

/// The event at half its sampling rate.
fn with_rate(event: &Event) -> Option<Event> {
    let sampling = match event.sampling() {
        Sampling::None => return None,
        Sampling::Poisson { rate } => poisson(rate.get() / 2.0),
        Sampling::WithoutReplacement { batch, of } => Sampling::without_replacement(*batch, 2 * of).unwrap(),
    };
    Event::new(event.mechanism().clone(), event.adjacency(), event.unit(), sampling, event.steps()).ok()
}

fn mixed_relations_are_refused(accountant: &dyn Accountant, event: &Event) {
    let other = Event::new(event.mechanism().clone(), event.adjacency(), Unit::Client, *event.sampling(), Steps::ONE);
    let mixed = [event.repeated(Steps::ONE), other.unwrap()];
    let refused = accountant.epsilon(&mixed, delta()).unwrap_err();
    assert!(matches!(refused, PrivacyError::MixedRelations { .. }), "{event}: {refused}");
    assert!(accountant.delta(&mixed, Epsilon::new(0.5).unwrap()).is_err());
}

/// δ at the upper ε is at most the δ that was asked for, up to the resolution of the searches.
fn delta_answers_epsilon(accountant: &dyn Accountant, event: &Event) {
    let plan = std::slice::from_ref(event);
    let epsilon = accountant.epsilon(plan, delta()).unwrap();
    let back = accountant.delta(plan, Epsilon::new(epsilon.upper).unwrap()).unwrap();
    assert!(back.upper <= 1e-3 * (1.0 + 1e-6), "{} on {event}: {epsilon:?} {back:?}", accountant.name());
    assert!(back.lower <= back.upper);
}

#[test]
fn pld() {
    let supported = [
        gaussian(2.0, 3),
        sampled(1.1, 0.02, Adjacency::AddRemove, 200),
        sampled(1.1, 0.02, Adjacency::Substitute, 200),
        fixed(1.5, 1, 50, 100),
        laplace(3.0, 4),
        response(0.5, 3),
        approximate(0.3, 0.0, 5),
        shares(2.0, 2),
        fine_shares(2.0, 2),
        barker(100, 50),
        barker_on_all(500, 3),
    ];
    laws("pld", &supported, &[open(), discrete(2.0, 2), skellam(2.0, 2), barker(19, 5)]);
}

#[test]
fn pld_calibrates_and_counts_to_what_fits() {
    fits("pld", 1.0, 5.0, &|m, t| sampled(m.get(), 0.02, Adjacency::AddRemove, t.get()), 500);
    fits("pld", 2.0, 6.0, &|m, t| sampled(m.get(), 0.05, Adjacency::Substitute, t.get()), 300);
    fits("pld", 0.7, 5.0, &|m, t| Event::gaussian(m, Adjacency::Substitute, t), 20);
}

#[test]
fn rdp() {
    let supported = [
        gaussian(2.0, 3),
        sampled(1.1, 0.02, Adjacency::AddRemove, 200),
        sampled(1.1, 0.02, Adjacency::Substitute, 200),
        fixed(1.5, 1, 50, 100),
        laplace(3.0, 4),
        discrete(2.0, 2),
        shares(2.0, 2),
        skellam(2.0, 2),
        skellam(8.0, 30),
        barker(100, 50),
        barker_on_all(500, 3),
        response(0.5, 3),
        finite(6),
        approximate(0.3, 0.0, 5),
        clones(false, 3),
        clones(true, 30),
        shuffled(Adversary::Weak, false, 2),
        shuffled(Adversary::Outside, true, 20),
    ];
    let sampled_laplace = of(Mechanism::Laplace { noise_multiplier: z(1.0) }, Adjacency::AddRemove, poisson(0.1), 1);
    laws(
        "rdp",
        &supported,
        &[open(), approximate(0.3, 1e-6, 1), sampled_laplace, barker(6, 1), shuffled(Adversary::Strong, false, 1)],
    );
}

#[test]
fn barker2019() {
    let supported = [gaussian(2.0, 3), barker(100, 50), barker_on_all(500, 3)];
    let unsupported = [open(), laplace(1.0, 1), fixed(1.0, 1, 10, 1), discrete(1.0, 1), barker(10, 1)];
    laws("barker2019", &supported, &unsupported);
}

#[test]
fn girgis2021() {
    let supported = [clones(false, 3), clones(true, 20)];
    let unsupported = [open(), gaussian(2.0, 1), laplace(1.0, 1), barker(100, 1)];
    laws("girgis2021", &supported, &unsupported);
}

#[test]
fn moments() {
    let supported = [gaussian(3.0, 3), sampled(1.1, 0.02, Adjacency::AddRemove, 200), discrete(2.0, 2)];
    let unsupported =
        [open(), laplace(1.0, 1), fixed(1.0, 1, 10, 1), sampled(1.0, 0.1, Adjacency::Substitute, 1), barker(100, 1)];
    laws("moments", &supported, &unsupported);
}

#[test]
fn zcdp() {
    let supported = [
        gaussian(2.0, 3),
        laplace(3.0, 4),
        discrete(2.0, 2),
        shares(2.0, 2),
        response(0.5, 3),
        finite(6),
        approximate(0.3, 0.0, 5),
    ];
    let unsupported = [
        open(),
        sampled(1.0, 0.1, Adjacency::AddRemove, 1),
        approximate(0.3, 1e-6, 1),
        skellam(2.0, 2),
        barker_on_all(100, 1),
    ];
    laws("zcdp", &supported, &unsupported);
    let refused = by_name("zcdp").unwrap().epsilon(&[skellam(2.0, 2)], delta()).unwrap_err();
    assert!(refused.hint().unwrap().contains("integer orders"));
}

/// On the grid of a study a share has far more than a thousand units.
#[test]
fn skellam_shares_on_a_fine_grid_cost_what_discrete_gaussian_shares_cost() {
    let shares = |skellam: bool, m: f64, steps: u64| {
        let (noise_multiplier, shares, dimension) = (z(m), Steps::new(10).unwrap(), Steps::new(5000).unwrap());
        let share_deviation = ShareDeviation::new(1000.0).unwrap();
        let mechanism = if skellam {
            Mechanism::SkellamSum { noise_multiplier, shares, share_deviation, dimension }
        } else {
            Mechanism::DiscreteGaussianSum { noise_multiplier, shares, share_deviation, dimension }
        };
        [of(mechanism, Adjacency::Substitute, Sampling::None, steps)]
    };
    for (m, steps) in [(5.0, 1), (5.0, 10), (50.0, 200), (200.0, 1000)] {
        let of = |skellam| by_name("rdp").unwrap().epsilon(&shares(skellam, m, steps), delta()).unwrap().upper;
        let (skellam, gaussian) = (of(true), of(false));
        assert!(skellam >= gaussian && skellam < 1.001 * gaussian, "z {m}, T {steps}: {skellam} against {gaussian}");
    }
}

#[test]
fn gdp() {
    let supported = [gaussian(2.0, 3), laplace(3.0, 4), response(0.5, 3), finite(6), approximate(0.3, 0.0, 5)];
    let unsupported = [
        open(),
        sampled(1.0, 0.1, Adjacency::AddRemove, 1),
        fixed(1.0, 1, 10, 1),
        discrete(1.0, 1),
        skellam(1.0, 1),
        approximate(0.1, 1e-6, 1),
        barker_on_all(100, 1),
    ];
    laws("gdp", &supported, &unsupported);
}

#[test]
fn classical() {
    laws(
        "classical",
        &[gaussian(10.0, 1)],
        &[open(), gaussian(10.0, 2), laplace(1.0, 1), sampled(9.0, 0.1, Adjacency::AddRemove, 1)],
    );
}

#[test]
fn basic_advanced_and_optimal() {
    for name in ["basic", "advanced", "optimal"] {
        let supported =
            [laplace(3.0, 4), response(0.5, 3), finite(6), approximate(0.1, 0.0, 5), approximate(0.1, 1e-6, 30)];
        laws(name, &supported, &[open(), gaussian(2.0, 1), discrete(2.0, 1), barker_on_all(100, 1)]);
    }
    let differ = [approximate(0.1, 0.0, 1), approximate(0.2, 0.0, 1)];
    assert_eq!(by_name("optimal").unwrap().epsilon(&differ, delta()).unwrap_err().code(), "P003");
}

/// One event of every kind, for accountants that nobody has written a test for yet.
fn every_kind() -> Vec<Event> {
    vec![
        gaussian(10.0, 1),
        sampled(1.1, 0.02, Adjacency::AddRemove, 20),
        fixed(1.5, 1, 50, 10),
        laplace(3.0, 4),
        discrete(2.0, 2),
        shares(2.0, 2),
        skellam(2.0, 2),
        response(0.5, 3),
        shuffled(Adversary::Weak, false, 2),
        clones(false, 3),
        finite(6),
        approximate(0.1, 0.0, 5),
        barker_on_all(500, 3),
        open(),
    ]
}

/// What an accountant supports it answers by the laws, and everything else it refuses; it supports something.
#[test]
fn every_accountant_of_the_list_inherits_the_laws() {
    for accountant in privacy::accounting::all() {
        let answers = |event: &Event| {
            let answer = accountant.epsilon(std::slice::from_ref(event), delta());
            !matches!(answer, Err(PrivacyError::Unsupported { .. }))
        };
        let (supported, unsupported): (Vec<Event>, Vec<Event>) = every_kind().into_iter().partition(answers);
        assert!(!supported.is_empty() && unsupported.contains(&open()), "{}", accountant.name());
        laws(accountant.name(), &supported, &unsupported);
    }
}

#[test]
fn every_accountant_says_what_it_is_for() {
    for about in privacy::accounting::all().iter().map(|accountant| accountant.about()) {
        assert!(!about.method.is_empty() && !about.use_for.is_empty(), "{about:?}");
        assert!(about.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{about:?}");
    }
}

#[test]
fn names_are_unique_and_the_unknown_is_none() {
    let names: Vec<&str> = privacy::accounting::all().iter().map(|a| a.name()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), names.len());
    assert!(by_name("magic").is_none());
}

/// Exact for Gaussian noise: no other accountant may be below it.
#[test]
fn no_accountant_is_below_the_exact_one() {
    for m in [0.7, 2.0, 20.0] {
        for t in [1, 40] {
            let plan = [gaussian(m, t)];
            for d in [1e-9, 1e-5, 0.1] {
                let d = Delta::new(d).unwrap();
                let exact = by_name("gdp").unwrap().epsilon(&plan, d).unwrap().lower;
                for name in ["rdp", "zcdp", "moments", "classical"] {
                    if let Ok(bounds) = by_name(name).unwrap().epsilon(&plan, d) {
                        assert!(bounds.upper >= exact, "{name}: {bounds:?} under {exact}");
                    }
                }
            }
        }
    }
}

/// For pure mechanisms optimal composition is not above the other two, nor is RDP at all orders below it.
#[test]
fn optimal_composition_is_optimal() {
    for (epsilon, k) in [(0.05, 200), (0.5, 20), (2.0, 3)] {
        let plan = [approximate(epsilon, 0.0, k)];
        let at = |name: &str| by_name(name).unwrap().epsilon(&plan, delta()).unwrap();
        let best = at("optimal");
        assert!(best.relative_width() < 1e-9);
        for name in ["basic", "advanced", "rdp", "zcdp", "gdp"] {
            assert!(at(name).upper >= best.lower, "{name}");
        }
    }
}

/// What is calibrated or counted is within the target when accounted again.
fn fits(name: &str, epsilon: f64, exponent: f64, plan_of: &dyn Fn(NoiseMultiplier, Steps) -> Event, t: u64) {
    let accountant = by_name(name).unwrap();
    let (target, d) = (Epsilon::new(epsilon).unwrap(), Delta::new(10f64.powf(-exponent)).unwrap());
    let t = Steps::new(t).unwrap();
    let found = calibrate(&*accountant, &|m| Ok(vec![plan_of(m, t)]), target, d).unwrap();
    let cost = |m: f64, t: u64| accountant.epsilon(&[plan_of(z(m), Steps::new(t).unwrap())], d).map(|b| b.upper);
    assert!(cost(found.get(), t.get()).unwrap() <= epsilon);
    assert!(
        cost(found.get() * (1.0 - 1e-7), t.get()).unwrap_or(f64::INFINITY) > epsilon,
        "{name}: not the least noise"
    );
    let most = steps(&*accountant, &|t| Ok(vec![plan_of(found, t)]), target, d);
    if name != "classical" {
        let most = most.unwrap().get();
        assert!(most >= t.get() && cost(found.get(), most).unwrap() <= epsilon);
        assert!(cost(found.get(), most + 1).unwrap_or(f64::INFINITY) > epsilon);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(20), ..ProptestConfig::default() })]

    #[test]
    fn calibration_fits_for_unsampled_noise(epsilon in 0.05..8.0, exponent in 2.0..12.0, t in 1u64..2000) {
        // Orders up to 33 reach no ε below log(1/δ)/32.
        let reachable = f64::max(epsilon, 0.09 * exponent);
        fits("moments", reachable, exponent, &|m, t| Event::gaussian(m, Adjacency::Substitute, t), t);
        for name in ["gdp", "zcdp", "rdp"] {
            fits(name, epsilon, exponent, &|m, t| Event::gaussian(m, Adjacency::Substitute, t), t);
        }
        fits("classical", epsilon.min(0.99), exponent, &|m, _| gaussian(m.get(), 1), 1);
        fits("basic", epsilon, exponent, &|m, t| laplace(m.get(), t.get()), t);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(21), ..ProptestConfig::default() })]

    #[test]
    fn calibration_fits_for_sampled_noise(epsilon in 0.3..6.0, exponent in 3.0..9.0, q in 0.001..0.2, t in 10u64..2000) {
        for adjacency in [Adjacency::AddRemove, Adjacency::Substitute] {
            fits("rdp", epsilon, exponent, &|m, t| sampled(m.get(), q, adjacency, t.get()), t);
        }
        fits("moments", epsilon.max(1.5), exponent, &|m, t| sampled(m.get(), q, Adjacency::AddRemove, t.get()), t);
    }
}
