//! Secure sums for tests: assemblies, contributions of real gates, and a hand that carries letters.
#![allow(dead_code)] // each test binary uses its own part

use crate::common::{charge, context, gaussian_event, shape_for};
use privacy::noise::{NoiseContext, Seeded};
use privacy::secure_sum::{
    Assembly, Body, Contributor, Message, Node, NodeRecord, Opener, SumEffect, SumError, SumNoise, SumParty,
    SumSession, node_noise,
};
use privacy::{
    Adjacency, Bounded, Cohort, CuratorGate, Gate, Grain, NoiseMultiplier, Outgoing, PrivacyError, Sampling, ShareGate,
    ShareNoise, Steps, Unit,
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
            cohort
                .event(ShareNoise::DiscreteGaussian, &shape, z, Adjacency::Substitute, Unit::Example, Steps::ONE)
                .unwrap()
        }
    };
    Assembly::new(cohort, nodes, noise, &event, shape).unwrap()
}

/// What a client sends: ±2^−k in each coordinate, which the grid holds exactly, through the gate of the terms.
pub(crate) fn contribution(assembly: &Assembly, client: u64, round: u64, seed: u64) -> Outgoing {
    gated(assembly, &units(assembly, client), &context(client, round), seed)
}

/// What a client of round 1 sends that has these integers.
pub(crate) fn contribution_of(assembly: &Assembly, client: u64, units: &[i64]) -> Outgoing {
    gated(assembly, units, &context(client, 1), 3)
}

fn gated(assembly: &Assembly, units: &[i64], place: &NoiseContext, seed: u64) -> Outgoing {
    let (shape, event) = (*assembly.shape(), assembly.event());
    let values: Vec<f64> = units.iter().map(|&u| shape.grid().value(u)).collect();
    let sum = Bounded::whole(shape, &values).unwrap();
    let mut source = Seeded::new(seed);
    match assembly.noise() {
        SumNoise::Nodes => CuratorGate::new(charge(event), shape, &mut source, place).unwrap().send(&sum).unwrap(),
        SumNoise::Clients => {
            ShareGate::new(charge(event), shape, assembly.cohort(), &mut source, place).unwrap().send(&sum).unwrap()
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
pub(crate) fn session(assembly: &Assembly, round: u64, attempt: u64) -> SumSession {
    assembly.session([0; 16], round, attempt)
}

/// A client of a session.
pub(crate) fn contributor(assembly: &Assembly, session: &SumSession, client: u64, seed: u64) -> Contributor {
    let outgoing = contribution(assembly, client, session.round, seed);
    let context = NoiseContext { attempt: session.attempt, ..context(client, session.round) };
    Contributor::new(assembly, session, outgoing, &mut Seeded::new(seed), &context).unwrap()
}

/// An opener of a session.
pub(crate) fn opener(assembly: &Assembly, session: &SumSession) -> Opener {
    Opener::new(assembly, session).unwrap()
}

/// The letters of some effects.
pub(crate) fn letters(effects: Vec<SumEffect>) -> Vec<(SumParty, Message)> {
    let letter = |effect| match effect {
        SumEffect::Send { to, message } => Some((to, message)),
        SumEffect::Persist(_) | SumEffect::Opened { .. } => None,
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

/// One session with all its parties, and letters that are delivered in order.
pub(crate) struct SumRehearsal {
    pub(crate) assembly: Assembly,
    pub(crate) session: SumSession,
    pub(crate) clients: Vec<Contributor>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) opener: Opener,
    pub(crate) opened: Vec<Vec<i64>>,
    pub(crate) kept: Vec<Option<NodeRecord>>,
    pub(crate) errors: Vec<SumError>,
}

impl SumRehearsal {
    /// A session in which nothing has happened.
    pub(crate) fn new(assembly: &Assembly, round: u64, attempt: u64) -> Self {
        let session = session(assembly, round, attempt);
        let clients = (0..assembly.cohort().clients()).map(|c| contributor(assembly, &session, c, 3)).collect();
        let (mut nodes, mut kept) = (Vec::new(), Vec::new());
        for number in 0..assembly.nodes() {
            let context = sum_context(round, attempt);
            let (node, effects) = Node::start(assembly, &session, number, None, &mut Seeded::new(5), &context).unwrap();
            let [SumEffect::Persist(record)] = effects.as_slice() else { panic!("a start is kept first: {effects:?}") };
            nodes.push(node);
            kept.push(Some(record.clone()));
        }
        let (opened, errors) = (Vec::new(), Vec::new());
        let opener = opener(assembly, &session);
        Self { assembly: assembly.clone(), session, clients, nodes, opener, opened, kept, errors }
    }

    /// A message of this session.
    pub(crate) fn message(&self, body: Body) -> Message {
        Message { session: self.session, body }
    }

    /// Delivers letters, the first ones of whom they claim to be, and all that follow from them, except those that are lost.
    pub(crate) fn deliver(&mut self, first: Vec<(SumParty, Message)>, lost: impl Fn(SumParty, &Message) -> bool) {
        let first = first.into_iter().map(|(to, message)| (message.body.sender(), to, message));
        let mut post: std::collections::VecDeque<_> = first.collect();
        while let Some((from, to, message)) = post.pop_front() {
            if lost(to, &message) {
                continue;
            }
            let effects = self.hand(from, to, message);
            let effects = effects.unwrap_or_else(|error| {
                self.errors.push(error);
                Vec::new()
            });
            for effect in effects {
                match effect {
                    SumEffect::Send { to: next, message } => post.push_back((to, next, message)),
                    SumEffect::Persist(record) => {
                        let place = record.node as usize;
                        if let Err(error) = record.replace(&mut self.kept[place]) {
                            self.errors.push(error);
                            break;
                        }
                    }
                    SumEffect::Opened { total, .. } => self.opened.push(total.into_inner().units().to_vec()),
                }
            }
        }
    }

    /// Hands a letter to whom it is for.
    pub(crate) fn hand(&mut self, from: SumParty, to: SumParty, message: Message) -> Result<Vec<SumEffect>, SumError> {
        match to {
            SumParty::Client(client) => self.clients[client as usize].handle(from, &message),
            SumParty::Node(node) => self.nodes[node as usize].handle(from, message),
            SumParty::Opener => self.opener.handle(from, &message),
            SumParty::Coordinator => Ok(Vec::new()),
        }
    }

    /// Hands a letter to whom it is for, from whom it claims to be.
    pub(crate) fn tell(&mut self, to: SumParty, message: Message) -> Result<Vec<SumEffect>, SumError> {
        self.hand(message.body.sender(), to, message)
    }

    /// These clients send everything.
    pub(crate) fn contribute(&mut self, clients: &[u64]) {
        for &client in clients {
            self.deliver(letters(self.clients[client as usize].unconfirmed()), |_, _| false);
        }
    }

    /// All nodes are told to close.
    pub(crate) fn close(&mut self, lost: impl Fn(SumParty, &Message) -> bool) {
        let close = self.message(Body::Close);
        let all = (0..self.assembly.nodes()).map(|node| (SumParty::Node(node), close.clone())).collect();
        self.deliver(all, lost);
    }

    /// A node goes down and comes back with what it had kept.
    pub(crate) fn restart(&mut self, node: u32) -> Result<(), PrivacyError> {
        let context = sum_context(self.session.round, self.session.attempt);
        let last = self.kept[node as usize].as_ref();
        let (back, effects) = Node::start(&self.assembly, &self.session, node, last, &mut Seeded::new(5), &context)?;
        self.nodes[node as usize] = back;
        self.deliver(letters(effects), |_, _| false);
        Ok(())
    }

    /// The plain sum of some clients' integers and of all nodes' noise.
    pub(crate) fn plain(&self, clients: &[u64]) -> Vec<i64> {
        let context = sum_context(self.session.round, self.session.attempt);
        let inputs: Vec<Vec<i64>> = clients.iter().map(|&client| units(&self.assembly, client)).collect();
        let noise: Vec<Vec<i64>> = (0..self.assembly.nodes())
            .map(|n| node_noise(&self.assembly, &self.session, n, &mut Seeded::new(5), &context).unwrap())
            .collect();
        add_up(inputs.iter().chain(&noise), self.assembly.shape().dimension())
    }
}
