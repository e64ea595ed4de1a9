//! Secure sums for tests: assemblies, contributions of real gates, and a hand that carries letters.
#![allow(dead_code)] // each test binary uses its own part

use crate::common::{charge, context, gaussian_event, shape_for};
use privacy::noise::{NoiseContext, Seeded};
use privacy::secure_sum::{Assembly, Contributor, Effect, Message, Node, Opener, Party, Session, SumNoise};
use privacy::{
    Adjacency, Bounded, Cohort, CuratorGate, Gate, Grain, NoiseMultiplier, Outgoing, Sampling, ShareGate, Steps, Unit,
};

/// The noise multiplier of all these sums.
pub(crate) const Z: f64 = 1.5;

/// Terms with noise of multiplier [`Z`] on whole changes of norm one at most.
pub(crate) fn assembly(cohort: Cohort, nodes: u32, noise: SumNoise, dimension: usize) -> Assembly {
    let shape = shape_for(dimension, 1.0, Grain::Whole, Z);
    let event = match noise {
        SumNoise::Nodes => gaussian_event(Z, Adjacency::Substitute, Sampling::None, 1),
        SumNoise::Clients => {
            let z = NoiseMultiplier::new(Z).unwrap();
            cohort.event(&shape, z, Adjacency::Substitute, Unit::Example, Steps::ONE).unwrap()
        }
    };
    Assembly::new(cohort, nodes, noise, &event, shape).unwrap()
}

/// What a client sends: ±2^−k in each coordinate, which the grid holds exactly, through the gate of the terms.
pub(crate) fn contribution(assembly: &Assembly, client: u64, round: u64, seed: u64) -> Outgoing {
    let (shape, event) = (*assembly.shape(), assembly.event());
    let values: Vec<f64> = units(assembly, client).iter().map(|&u| shape.grid().value(u)).collect();
    let sum = Bounded::whole(shape, &values).unwrap();
    let (mut source, place) = (Seeded::new(seed), context(client, round));
    match assembly.noise() {
        SumNoise::Nodes => CuratorGate::new(charge(event), shape, &mut source, &place).unwrap().send(&sum).unwrap(),
        SumNoise::Clients => {
            ShareGate::new(charge(event), shape, assembly.cohort(), &mut source, &place).unwrap().send(&sum).unwrap()
        }
    }
}

/// The same in grid units: small enough that nothing is clipped.
pub(crate) fn units(assembly: &Assembly, client: u64) -> Vec<i64> {
    let most = (assembly.shape().bound_units() as f64 / (assembly.shape().dimension() as f64).sqrt()) as i64;
    (0..assembly.shape().dimension() as i64).map(|i| (7919 * (client as i64 + 1) + 31 * i) % most - most / 2).collect()
}

/// The context of a sum's own random bits.
pub(crate) fn sum_context(round: u64, attempt: u64) -> NoiseContext {
    NoiseContext { site: u64::MAX, round, attempt, ..NoiseContext::default() }
}

/// The session of a round and an attempt.
pub(crate) fn session(assembly: &Assembly, round: u64, attempt: u64) -> Session {
    assembly.session([0; 16], round, attempt)
}

/// A client of a session.
pub(crate) fn contributor(assembly: &Assembly, session: &Session, client: u64, seed: u64) -> Contributor {
    let outgoing = contribution(assembly, client, session.round, seed);
    let context = NoiseContext { attempt: session.attempt, ..context(client, session.round) };
    Contributor::new(assembly, session, outgoing, &mut Seeded::new(seed), &context).unwrap()
}

/// All nodes of a session, freshly started.
pub(crate) fn nodes(assembly: &Assembly, session: &Session, seed: u64) -> Vec<Node> {
    let context = sum_context(session.round, session.attempt);
    (0..assembly.nodes())
        .map(|n| Node::start(assembly, session, n, None, &mut Seeded::new(seed), &context).unwrap().0)
        .collect()
}

/// An opener of a session.
pub(crate) fn opener(assembly: &Assembly, session: &Session) -> Opener {
    Opener::new(assembly, session).unwrap()
}

/// The letters of some effects.
pub(crate) fn letters(effects: Vec<Effect>) -> Vec<(Party, Message)> {
    let letter = |effect| match effect {
        Effect::Send { to, message } => Some((to, message)),
        Effect::Persist(_) | Effect::Opened { .. } => None,
    };
    effects.into_iter().filter_map(letter).collect()
}

/// Sum over clients, modulo 2^64.
pub(crate) fn add_up<'a>(vectors: impl IntoIterator<Item = &'a Vec<i64>>, dimension: usize) -> Vec<i64> {
    let mut total = vec![0_i64; dimension];
    for vector in vectors {
        total.iter_mut().zip(vector).for_each(|(t, v)| *t = t.wrapping_add(*v));
    }
    total
}
