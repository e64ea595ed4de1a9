//! The certified accountant over its whole range: intervals or typed refusals, and no contradiction.

#[path = "common/range.rs"]
mod range;

use chacha20::ChaCha20Rng;
use privacy::accounting::pld::Pld;
use privacy::{
    Accountant, Adjacency, Bounds, Categories, Delta, Event, Gamma, Mechanism, NoiseMultiplier, Sampling, SamplingRate,
    Steps, Unit,
};
use rand_core::SeedableRng;

/// Widest interval on the points of this test, relative to its upper end.
const WIDEST: f64 = 0.05;

/// Small and large rate, noise, steps and δ, in all combinations.
fn corners(few: f64) -> Vec<range::RangePoint> {
    let corner = |bits: u32| {
        let pick = |bit: u32, low: f64, high: f64| if bits & (1 << bit) == 0 { low } else { high };
        let rate = SamplingRate::new(pick(0, 2e-5, 0.5)).unwrap();
        let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(pick(1, 0.05, 50.0)).unwrap() };
        let steps = Steps::new(pick(2, few, 1e6) as u64).unwrap();
        let sampling = Sampling::Poisson { rate };
        let event = Event::new(mechanism, Adjacency::AddRemove, Unit::Example, sampling, steps).unwrap();
        range::RangePoint { event, delta: Delta::new(pick(3, 1e-18, 0.01)).unwrap() }
    };
    (0..16).map(corner).collect()
}

#[test]
fn plans_are_answered_or_refused_without_contradiction() {
    let mut rng = ChaCha20Rng::from_seed([42; 32]);
    let mut tally = range::RangeTally::default();
    let drawn = (0..24).map(|_| range::draw(&mut rng));
    let two_steps = corners(2.0).into_iter().filter(|point| point.event.steps().get() == 2);
    corners(3.0).into_iter().chain(two_steps).chain(drawn).for_each(|point| tally.ask(&point));
    assert!(tally.contradictions.is_empty(), "{:#?}", tally.contradictions);
    assert_eq!(tally.certified + tally.refused.len(), 48);
    assert!(tally.certified >= 46, "{} certified, refused: {:#?}", tally.certified, tally.refused);
    assert!(tally.widest <= WIDEST, "{:?}", tally.widest_at);
    assert!(range::peak_megabytes().is_none_or(|m| m < 256), "{:?} MB", range::peak_megabytes());
}

fn event(mechanism: Mechanism, sampling: Sampling, steps: u64) -> Event {
    Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, Steps::new(steps).unwrap()).unwrap()
}

/// Gaussian noise in batches, Laplace noise, randomised response, and a plan of all three.
fn plans(steps: u64) -> [Vec<Event>; 4] {
    let z = |z: f64| NoiseMultiplier::new(z).unwrap();
    let batches = Sampling::without_replacement(1156, 1_000_000).unwrap();
    let gaussian = event(Mechanism::Gaussian { noise_multiplier: z(1.4) }, batches, steps);
    let laplace = event(Mechanism::Laplace { noise_multiplier: z(3.0) }, Sampling::None, steps);
    let (categories, gamma) = (Categories::new(3).unwrap(), Gamma::new(0.8).unwrap());
    let finite = event(Mechanism::RandomisedResponse { categories, gamma }, Sampling::None, steps);
    let mixed = vec![gaussian.clone(), laplace.clone(), finite.clone()];
    [vec![gaussian], vec![laplace], vec![finite], mixed]
}

#[test]
fn more_steps_never_cost_less_by_certified_ends() {
    let delta = Delta::new(1e-9).unwrap();
    let costs = |steps: u64| plans(steps).map(|plan| Pld.epsilon(&plan, delta).unwrap());
    let all: Vec<[Bounds; 4]> = [1, 2, 3, 10, 40, 200].map(costs).to_vec();
    for pair in all.windows(2) {
        for (fewer, more) in pair[0].iter().zip(&pair[1]) {
            assert!(fewer.lower <= more.upper && fewer.upper <= more.upper * (1.0 + 1e-3), "{fewer:?} {more:?}");
        }
    }
    let widest = all.iter().flatten().map(Bounds::relative_width).fold(0.0, f64::max);
    assert!(widest <= WIDEST, "{all:#?}");
}
