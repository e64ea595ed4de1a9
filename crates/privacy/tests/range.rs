//! The certified accountant over its whole range: intervals or typed refusals, and no contradiction.

#[path = "common/range.rs"]
mod range;

use chacha20::ChaCha20Rng;
use privacy::{Adjacency, Delta, Event, Mechanism, NoiseMultiplier, Sampling, SamplingRate, Steps, Unit};
use rand_core::SeedableRng;

/// Small and large rate, noise, steps and δ, in all combinations.
fn corners() -> Vec<range::Point> {
    let corner = |bits: u32| {
        let pick = |bit: u32, low: f64, high: f64| if bits & (1 << bit) == 0 { low } else { high };
        let rate = SamplingRate::new(pick(0, 2e-5, 0.5)).unwrap();
        let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(pick(1, 0.05, 50.0)).unwrap() };
        let steps = Steps::new(pick(2, 3.0, 1e6) as u64).unwrap();
        let sampling = Sampling::Poisson { rate };
        let event = Event::new(mechanism, Adjacency::AddRemove, Unit::Example, sampling, steps).unwrap();
        range::Point { event, delta: Delta::new(pick(3, 1e-18, 0.01)).unwrap() }
    };
    (0..16).map(corner).collect()
}

#[test]
fn plans_are_answered_or_refused_without_contradiction() {
    let mut rng = ChaCha20Rng::from_seed([42; 32]);
    let mut tally = range::Tally::default();
    let drawn = (0..24).map(|_| range::draw(&mut rng));
    corners().into_iter().chain(drawn).for_each(|point| tally.ask(&point));
    assert!(tally.contradictions.is_empty(), "{:#?}", tally.contradictions);
    assert_eq!(tally.certified + tally.refused.len(), 40);
    assert!(tally.certified >= 38, "{} certified, refused: {:#?}", tally.certified, tally.refused);
    assert!(range::peak_megabytes().is_none_or(|m| m < 256), "{:?} MB", range::peak_megabytes());
}
