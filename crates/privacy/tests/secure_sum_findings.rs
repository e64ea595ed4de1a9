//! Findings of reviews of the secure sum, each a case of its own.

use crate::common;
use crate::sums;

use crate::common::shape_for;
use crate::sums::{SumRehearsal, Z, assembly};
use privacy::noise::Seeded;
use privacy::record::Tape;
use privacy::secure_sum::Body;
use privacy::{
    Adjacency, Assembly, Bounded, Cohort, Gate, Grain, NoiseMultiplier, Sampling, SecureSum, ShareGate, ShareNoise,
    Steps, SumNoise, Unit,
};

/// No two seeds are equal: not of two nodes, of two clients or of two attempts. With one seed for all nodes a node and the
/// node with the vector would read the vector, whatever K is.
#[test]
fn every_seed_is_fresh() {
    let terms = assembly(Cohort::new(5, 1, 1).unwrap(), 4, SumNoise::Nodes, 4);
    let mut seeds = Vec::new();
    for attempt in 0..2 {
        for client in SumRehearsal::new(&terms, 1, attempt).clients {
            for (_, message) in sums::letters(client.unconfirmed()) {
                let Body::Seed { seed, .. } = message.body else { panic!("a seed") };
                assert!(!seeds.contains(&seed), "a seed is used twice");
                seeds.push(seed);
            }
        }
    }
    assert_eq!(seeds.len(), 2 * 5 * 3);
}

/// A share gate of several steps draws new noise for each: two sums with one share's noise would subtract to a change.
#[test]
fn every_share_of_a_gate_has_noise_of_its_own() {
    let cohort = Cohort::new(3, 0, 0).unwrap();
    let shape = shape_for(20, 1.0, Grain::Whole, Z);
    let z = NoiseMultiplier::new(Z).unwrap();
    for noise in [ShareNoise::DiscreteGaussian, ShareNoise::Skellam] {
        let two = Steps::new(2).unwrap();
        let event = cohort.event(noise, &shape, z, Adjacency::Substitute, Unit::Example, two).unwrap();
        let tape = Tape::record();
        let mut sums: Vec<_> = (0..2)
            .map(|_| {
                let terms = Assembly::new(cohort, 2, SumNoise::Clients, &event, shape).unwrap();
                SecureSum::new(&terms, &common::context(0, 0), &mut Seeded::new(7), Some(&tape)).unwrap()
            })
            .collect();
        for site in 0..3 {
            let mut source = Seeded::new(3);
            let place = common::context(site, 0);
            let mut gate = ShareGate::new(common::charge(&event), shape, &cohort, &mut source, &place).unwrap();
            for sum in &mut sums {
                sum.add(gate.send(&Bounded::whole(shape, &[0.0; 20]).unwrap()).unwrap()).unwrap();
            }
        }
        sums.into_iter().for_each(|sum| drop(sum.open().unwrap()));
        let calls = tape.calls();
        for (first, second) in calls[0].noise.iter().zip(&calls[1].noise) {
            assert_ne!(first, second, "{noise:?}: a share's noise is used twice");
        }
    }
}

/// The event is part of the terms: in the protocol nothing else tells a client that a node adds less noise than was charged.
#[test]
fn another_event_has_another_digest() {
    let shape = shape_for(4, 1.0, Grain::Whole, Z);
    let cohort = Cohort::new(5, 1, 1).unwrap();
    let terms = |z| {
        let event = common::gaussian_event(z, Adjacency::Substitute, Sampling::None, 1);
        Assembly::new(cohort, 3, SumNoise::Nodes, &event, shape).unwrap()
    };
    assert_ne!(terms(Z).digest(), terms(Z / 100.0).digest());
}
