//! Small constructors that the integration tests share.
#![allow(dead_code)] // each test binary uses its own part

use privacy::noise::NoiseContext;
use privacy::{
    Adjacency, ChargeReceipt, Event, Grain, Grant, Grid, InMemory, Ledger, Mechanism, MemoryJournal, NoiseMultiplier,
    NormBound, Sampling, Shape, Steps, Unit,
};

pub(crate) fn bound(c: f64) -> NormBound {
    NormBound::new(c).unwrap()
}

/// A shape whose grid suits noise of multiplier z.
pub(crate) fn shape_for(dimension: usize, c: f64, grain: Grain, z: f64) -> Shape {
    Shape::new(dimension, bound(c), grain, Grid::for_noise(bound(c), z * c).unwrap()).unwrap()
}

pub(crate) fn gaussian_event(z: f64, adjacency: Adjacency, sampling: Sampling, steps: u64) -> Event {
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(z).unwrap() };
    Event::new(mechanism, adjacency, Unit::Example, sampling, Steps::new(steps).unwrap()).unwrap()
}

/// A receipt from a fresh ledger without limit: these tests are not about budgets.
pub(crate) fn charge(event: &Event) -> ChargeReceipt<InMemory> {
    let mut journal = MemoryJournal::default();
    Ledger::open(Grant::Unlimited, &mut journal).unwrap().charge(event, &mut journal).unwrap()
}

pub(crate) fn context(site: u64, round: u64) -> NoiseContext {
    NoiseContext { site, round, ..NoiseContext::default() }
}

/// |sample deviation about zero / promised − 1|.
pub(crate) fn relative_error_of_deviation(numbers: &[f64], promised: f64) -> f64 {
    let mean_square = numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64;
    (mean_square.sqrt() / promised - 1.0).abs()
}
