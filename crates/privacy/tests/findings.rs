//! Findings of reviews of the accountants, each kept as a case.

use privacy::accounting::{composition::Basic, gdp::Gdp, group::overlapping, pld::Pld, rdp::Rdp, steps::steps};
use privacy::{
    Accountant, Adjacency, Categories, Delta, Epsilon, Event, FinitePair, Gamma, Grain, Grid, Mechanism,
    NoiseMultiplier, NormBound, Sampling, SamplingRate, Shape, Steps, Unit,
};

fn event(mechanism: Mechanism, adjacency: Adjacency, sampling: Sampling, steps: u64) -> Event {
    Event::new(mechanism, adjacency, Unit::Example, sampling, Steps::new(steps).unwrap()).unwrap()
}

fn gaussian(z: f64) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(z).unwrap() }
}

fn poisson(q: f64) -> Sampling {
    Sampling::Poisson { rate: SamplingRate::new(q).unwrap() }
}

fn delta(x: f64) -> Delta {
    Delta::new(x).unwrap()
}

fn epsilon(x: f64) -> Epsilon {
    Epsilon::new(x).unwrap()
}

#[test]
fn probabilities_stay_normal_numbers() {
    assert!(Gamma::new(1e-320).is_err());
    let response = Mechanism::RandomisedResponse {
        categories: Categories::new(1_000_000_000).unwrap(),
        gamma: Gamma::new(1e-100).unwrap(),
    };
    let bounds = Pld.epsilon(&[event(response, Adjacency::Substitute, Sampling::None, 1)], delta(0.0)).unwrap();
    let exact = (1e9_f64 / 1e-100).ln();
    assert!(bounds.lower <= exact && exact <= bounds.upper && bounds.relative_width() < 1e-14, "{bounds:?}");
}

#[test]
fn an_epsilon_beyond_floating_point_is_refused() {
    let mechanism = Mechanism::Approximate { epsilon: epsilon(710.0), delta: delta(0.0) };
    let plan = [event(mechanism, Adjacency::Substitute, Sampling::None, 1)];
    assert_eq!(Pld.delta(&plan, epsilon(711.0)).unwrap_err().code(), "P004");
    assert!(Basic.epsilon(&plan, delta(0.0)).unwrap().upper >= 710.0);
}

#[test]
fn a_delta_is_never_over_one() {
    let plan = [event(gaussian(0.001), Adjacency::Substitute, Sampling::None, 100)];
    for accountant in [&Pld as &dyn Accountant, &Gdp] {
        assert!(accountant.delta(&plan, epsilon(1.0)).unwrap().upper <= 1.0);
    }
}

#[test]
fn twenty_thousand_clients_are_counted_without_a_deep_stack() {
    let clients: Vec<Vec<Event>> = (0..20_000)
        .map(|i| vec![event(gaussian(5.0 + f64::from(i) * 1e-3), Adjacency::Substitute, Sampling::None, 1)])
        .collect();
    let worst = overlapping(&Gdp, &clients, Steps::ONE, delta(1e-5)).unwrap();
    let dearest = Gdp.epsilon(&clients[0], delta(1e-5)).unwrap();
    assert_eq!(worst.upper, dearest.upper);
    assert_eq!(overlapping(&Gdp, &clients, Steps::new(2).unwrap(), delta(1e-5)).unwrap_err().code(), "P004");
}

#[test]
fn a_shape_cannot_ask_for_more_memory_than_there_is() {
    let bound = NormBound::new(1.0).unwrap();
    assert!(Shape::new(usize::MAX / 16, bound, Grain::Whole, Grid::new(20).unwrap()).is_err());
}

#[test]
fn finite_pairs_sum_to_one_up_to_rounding() {
    assert!(FinitePair::new(vec![(0.5, 0.25), (0.5 - 1e-13, 0.75)]).is_err());
    assert!(FinitePair::new(vec![(0.1, 0.3), (0.2, 0.3), (0.7, 0.4)]).is_ok());
}

/// Tiny losses need a tilt of thousands, which the search did not reach.
#[test]
fn a_few_steps_at_a_small_rate_are_answered() {
    for (q, z, adjacency, steps) in [
        (1e-4, 3.0, Adjacency::AddRemove, 2),
        (1e-4, 3.0, Adjacency::AddRemove, 3),
        (1e-5, 1.0, Adjacency::Substitute, 4),
        (1e-5, 1.0, Adjacency::Substitute, 5),
    ] {
        let plan = [event(gaussian(z), adjacency, poisson(q), steps)];
        let bounds = Pld.epsilon(&plan, delta(1e-5)).unwrap();
        let bound = Rdp::default().epsilon(&plan, delta(1e-5)).unwrap();
        assert!(bounds.lower <= bound.upper && bounds.upper < 1e-3, "{bounds:?} {bound:?}");
    }
}

#[test]
fn noise_too_small_to_matter_is_refused_at_once() {
    for (mechanism, sampling) in [
        (gaussian(1e-4), poisson(0.1)),
        (gaussian(1e-6), poisson(1e-9)),
        (Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(1e-6).unwrap() }, Sampling::None),
    ] {
        let plan = [event(mechanism, Adjacency::AddRemove, sampling, 1_000_000_000_000)];
        assert_eq!(Pld.epsilon(&plan, delta(1e-300)).unwrap_err().code(), "P004");
    }
}

/// The search used to stop at the first plan whose ε could not be certified, some of them with two or three steps.
#[test]
fn the_exact_accountant_affords_no_fewer_steps_than_the_bound() {
    for (q, z, adjacency, target, d) in [
        (1e-4, 3.0, Adjacency::AddRemove, 1.0, 1e-5),
        (1e-5, 1.0, Adjacency::Substitute, 10.0, 1e-5),
        (1e-3, 2.0, Adjacency::AddRemove, 1.0, 1e-6),
        (3e-5, 8.0, Adjacency::AddRemove, 1.0, 1e-4),
    ] {
        let plan = |steps: Steps| Ok(vec![event(gaussian(z), adjacency, poisson(q), steps.get())]);
        let most = |accountant: &dyn Accountant| steps(accountant, &plan, epsilon(target), delta(d)).unwrap().get();
        let (exact, bound) = (most(&Pld), most(&Rdp::default()));
        assert!(exact >= bound, "q {q}, z {z}: {exact} exactly, {bound} by the bound");
    }
}

fn approximate(e: f64) -> Mechanism {
    Mechanism::Approximate { epsilon: epsilon(e), delta: delta(0.0) }
}

fn response(k: u64, gamma: f64) -> Mechanism {
    Mechanism::RandomisedResponse { categories: Categories::new(k).unwrap(), gamma: Gamma::new(gamma).unwrap() }
}

/// A loss that rounds to 0 was taken for 0, and so was that of 10^12 such steps.
#[test]
fn losses_below_the_rounding_of_their_logarithms_are_not_free() {
    let nearly_nothing = event(gaussian(1e9), Adjacency::Substitute, poisson(1e-9), 1);
    let tiny = event(approximate(5e-17), Adjacency::Substitute, Sampling::None, 1_000_000_000_000);
    match Pld.epsilon(&[tiny, nearly_nothing.clone()], delta(1e-15)) {
        Ok(bounds) => assert!(bounds.upper >= 1.88e-10, "{bounds:?}"),
        Err(refusal) => assert_eq!(refusal.code(), "P004"),
    }
    let near_uniform = event(response(100, 0.999_999_999_999_668_8), Adjacency::Substitute, Sampling::None, 1);
    match Pld.epsilon(&[near_uniform, nearly_nothing], delta(3.311_764_199_385_208_7e-13)) {
        Ok(bounds) => assert!(bounds.upper > 0.0, "{bounds:?}"),
        Err(refusal) => assert_eq!(refusal.code(), "P004"),
    }
}

/// The grid reported more than the largest possible loss, or refused where that loss is the answer.
#[test]
fn no_answer_exceeds_the_largest_loss() {
    for d in [1e-6, 1e-10, 1e-15, 1e-20] {
        let plan = [event(response(2, 0.5), Adjacency::Substitute, Sampling::None, 10)];
        let bounds = Pld.epsilon(&plan, delta(d)).unwrap();
        let most = 10.0 * 3.0_f64.ln();
        assert!(bounds.upper <= most * (1.0 + 1e-13), "{bounds:?}");
        assert!(d > 1e-15 || bounds.lower >= most * (1.0 - 1e-13), "{bounds:?}");
    }
    let clones = Mechanism::ShuffleClones { users: Steps::new(2).unwrap(), local_epsilon: epsilon(20.0) };
    let plan = [event(clones, Adjacency::Substitute, Sampling::None, 2)];
    for d in [0.0, 1e-20] {
        let bounds = Pld.epsilon(&plan, delta(d)).unwrap();
        assert!(bounds.lower > 40.0 * (1.0 - 1e-9) && bounds.upper <= 40.0 * (1.0 + 1e-13), "{bounds:?}");
    }
}

/// From the largest finite loss on, only outcomes that a neighbour cannot produce count.
#[test]
fn beyond_the_largest_loss_delta_is_that_of_infinite_losses() {
    let mechanism = Mechanism::Approximate { epsilon: epsilon(0.5), delta: delta(1e-3) };
    let plan = [event(mechanism, Adjacency::Substitute, Sampling::None, 3)];
    let bounds = Pld.delta(&plan, epsilon(1.6)).unwrap();
    let exact = 1.0 - 0.999_f64.powi(3);
    assert!(bounds.lower <= exact * (1.0 + 1e-12) && exact * (1.0 - 1e-12) <= bounds.upper, "{bounds:?}");
    assert!(bounds.relative_width() < 1e-12, "{bounds:?}");
    let cost = Pld.epsilon(&plan, delta(3e-3)).unwrap();
    assert!(cost.lower > 1.4 && cost.upper <= 1.5 * (1.0 + 1e-13), "{cost:?}");
}

/// A few steps whose cost is a matter of single jumps: 0.3726366 by quadrature of one step's curve over the other step.
#[test]
fn a_few_steps_with_heavy_jumps_have_narrow_intervals() {
    let fixed = Sampling::without_replacement_at(SamplingRate::new(0.001_155_938_538_829_125_6).unwrap()).unwrap();
    for (z, adjacency, sampling, steps, d, (low, high), width) in [
        (1.403_776_477_173_455_3, Adjacency::Substitute, fixed, 2, 3.15e-15, (0.155, 0.157), 0.01),
        (0.4, Adjacency::AddRemove, poisson(1e-5), 2, 1e-8, (0.372_636, 0.372_637), 1e-3),
        (0.5, Adjacency::AddRemove, poisson(1e-4), 2, 1e-8, (0.699, 0.703), 0.01),
    ] {
        let bounds = Pld.epsilon(&[event(gaussian(z), adjacency, sampling, steps)], delta(d)).unwrap();
        assert!(bounds.lower <= high && low <= bounds.upper, "z {z}: {bounds:?}");
        assert!(bounds.relative_width() < width, "z {z}: {bounds:?}");
    }
}

/// δ(0.3727) = 9.99717e-9 by the same quadrature.
#[test]
fn delta_of_a_few_steps_with_heavy_jumps_is_close_from_above() {
    let plan = [event(gaussian(0.4), Adjacency::AddRemove, poisson(1e-5), 2)];
    let bounds = Pld.delta(&plan, epsilon(0.3727)).unwrap();
    assert!(bounds.lower <= 9.9972e-9 && bounds.upper >= 9.9971e-9 && bounds.upper < 1.02e-8, "{bounds:?}");
}

/// Two steps seemed to cost more than eighty, which ended the search for the most steps.
#[test]
fn the_search_for_steps_passes_over_few_steps() {
    let fixed = Sampling::without_replacement_at(SamplingRate::new(0.001_155_938_538_829_125_6).unwrap()).unwrap();
    let plan =
        |steps: Steps| Ok(vec![event(gaussian(1.403_776_477_173_455_3), Adjacency::Substitute, fixed, steps.get())]);
    let most = steps(&Pld, &plan, epsilon(0.3), delta(3.15e-15)).unwrap();
    assert!(most.get() >= 600, "{most}");
}
