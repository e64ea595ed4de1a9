//! The secure sum of one round in one process: the same machines, with messages handed over by hand.
//!
//! Simulations use it in the place of a network. It runs the very machines that agents and nodes run, including masks, so that a test of
//! one is a test of the other.

use super::contributor::{Contributor, check_contribution};
use super::mask::Nonce;
use super::message::{Body, Message, SumEffect, SumParty};
use super::received::ReceivedVectors;
use super::{Assembly, ClientSet, Node, Opener, SumError, SumNoise, SumSession, node_noise};
use crate::gate::sensitivity_units;
use crate::noise::{Digest, NoiseContext, NoiseSource, NoiseStream};
use crate::outgoing::Contribution;
use crate::record::{NoiseCall, Tape};
use crate::{GridVector, NoiseMultiplier, Outgoing, PrivacyError, Released, Trust};
use std::collections::VecDeque;

/// Adds up sealed contributions by way of K nodes. Used as a [`crate::Curator`] is.
///
/// A client's number is its site. Shares go to the nodes as contributions come, so that memory does not hold them; with a
/// tape, which may change the noise of all, everything is held until the sum is opened.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, Seeded};
/// use privacy::{
///     Adjacency, Assembly, Bounded, Cohort, Event, Gate, Grain, Grant, Grid, Ledger, MemoryJournal, NoiseMultiplier,
///     NormBound, SecureSum, Shape, ShareGate, ShareNoise, Steps, SumNoise, Unit,
/// };
///
/// // Three clients add Skellam shares of noise; two nodes add up what they cannot read.
/// let shape = Shape::new(1, NormBound::new(1.0)?, Grain::Whole, Grid::new(20)?)?;
/// let cohort = Cohort::new(3, 0, 0)?;
/// let z = NoiseMultiplier::new(1.0)?;
/// let event = cohort.event(ShareNoise::Skellam, &shape, z, Adjacency::Substitute, Unit::Client, Steps::ONE)?;
/// let assembly = Assembly::new(cohort, 2, SumNoise::Clients, &event, shape)?;
/// let (mut source, round) = (Seeded::new(1), NoiseContext::default());
/// let mut sum = SecureSum::new(&assembly, &round, &mut source, None)?;
/// for site in 0..3 {
///     let mut journal = MemoryJournal::default();
///     let receipt = Ledger::open(Grant::Unlimited, &mut journal)?.charge(&event, &mut journal)?;
///     let context = NoiseContext { site, ..round };
///     let mut gate = ShareGate::new(receipt, shape, &cohort, &mut source, &context)?;
///     sum.add(gate.send(&Bounded::whole(shape, &[0.5])?)?)?;
/// }
/// assert_eq!(sum.open()?.get().units().len(), 1);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub struct SecureSum {
    assembly: Assembly,
    session: SumSession,
    nonce: Nonce,
    arrived: ClientSet,
    seeds: NoiseStream,
    nodes: Vec<Node>,
    taped: Option<TapedSum>,
}

/// What waits for a tape's verdict on the noise.
struct TapedSum {
    tape: Tape,
    contributions: Vec<Contribution>,
    node_noise: Vec<Vec<i64>>,
}

impl SecureSum {
    /// An empty sum for the round and attempt of the context.
    pub fn new(
        assembly: &Assembly,
        context: &NoiseContext,
        source: &mut dyn NoiseSource,
        tape: Option<&Tape>,
    ) -> Result<Self, PrivacyError> {
        let session = assembly.session(context.run, context.round, context.attempt);
        let numbers = 0..assembly.nodes();
        let noise = numbers.map(|node| node_noise(assembly, &session, node, source, context));
        let node_noise = noise.collect::<Result<Vec<_>, _>>()?;
        let seeds = source.stream(&session.context("seeds", context.site, context))?;
        let mut sum = Self {
            assembly: assembly.clone(),
            session,
            nonce: Nonce::of(&session),
            arrived: ClientSet::none(assembly.cohort().clients()),
            seeds,
            nodes: Vec::new(),
            taped: None,
        };
        match tape.cloned() {
            Some(tape) => sum.taped = Some(TapedSum { tape, contributions: Vec::new(), node_noise }),
            None => sum.start(&node_noise),
        }
        Ok(sum)
    }

    /// Adds one client's contribution: one of each site, on these very terms, for this round.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Shape`] or [`PrivacyError::WrongGate`] for a contribution of other terms, another round, no client of the
    /// cohort, or a client that has contributed.
    pub fn add(&mut self, outgoing: Outgoing) -> Result<(), PrivacyError> {
        let one = outgoing.into_contribution()?;
        check_contribution(&self.assembly, &self.session, &one)?;
        if self.arrived.contains(one.place.site()) {
            return Err(PrivacyError::Shape {
                found: "a second contribution of the same site".into(),
                expected: "one contribution of each site for this round".into(),
            });
        }
        let client = one.place.site();
        match &mut self.taped {
            Some(taped) => taped.contributions.push(one),
            None => self.hand_over(one)?,
        }
        self.arrived.insert(client);
        Ok(())
    }

    /// Closes the nodes, and opens the total if enough clients are in it.
    pub fn open(mut self) -> Result<Released<GridVector>, PrivacyError> {
        if let Some(taped) = self.taped.take() {
            self.replay(taped)?;
        }
        let mut opener = Opener::new(&self.assembly, &self.session)?;
        let close = Message { session: self.session, body: Body::Close };
        let to_all =
            (0..self.assembly.nodes()).map(|node| (SumParty::Coordinator, SumParty::Node(node), close.clone()));
        let mut letters: VecDeque<(SumParty, SumParty, Message)> = to_all.collect();
        while let Some((from, to, message)) = letters.pop_front() {
            let effects = match to {
                SumParty::Node(node) => self.node(node)?.handle(from, message)?,
                SumParty::Opener => opener.handle(from, &message)?,
                SumParty::Client(_) | SumParty::Coordinator => continue,
            };
            for effect in effects {
                match effect {
                    SumEffect::Send { to: next, message } => letters.push_back((to, next, message)),
                    SumEffect::Opened { total, .. } => return Ok(total),
                    SumEffect::Persist(_) => {} // nothing outlives this process
                }
            }
        }
        Err(opener.missing().unwrap_or(SumError::Gathering).into())
    }

    /// A client's whole dialogue with the nodes: seeds, and the vector when they are held.
    fn hand_over(&mut self, one: Contribution) -> Result<(), SumError> {
        let client = one.place.site();
        let mut contributor = Contributor::split(&self.assembly, &self.session, self.nonce, one, &mut self.seeds);
        let mut letters = contributor.unconfirmed();
        while let Some(effect) = letters.pop() {
            let SumEffect::Send { to: SumParty::Node(node), message } = effect else { continue };
            for answer in self.node(node)?.handle(SumParty::Client(client), message)? {
                if let SumEffect::Send { to: SumParty::Client(to), message } = answer
                    && to == client
                {
                    letters.extend(contributor.handle(SumParty::Node(node), &message)?);
                }
            }
        }
        Ok(())
    }

    /// Notes the one noise call of the round, and splits what was held back with the noise that the tape gives. A sum
    /// that stays shut releases nothing, and makes no call.
    fn replay(&mut self, taped: TapedSum) -> Result<(), PrivacyError> {
        let (found, expected) = (self.arrived.count(), self.assembly.cohort().quorum());
        if found < expected {
            return Err(PrivacyError::Quorum { found, expected });
        }
        let TapedSum { tape, mut contributions, mut node_noise } = taped;
        let mut input = vec![0_i64; self.assembly.shape().dimension()];
        for one in &contributions {
            input.iter_mut().zip(one.input.iter()).for_each(|(sum, unit)| *sum = sum.wrapping_add(*unit));
        }
        let declared = sensitivity_units(self.assembly.shape(), self.assembly.event(), Trust::Aggregate)?;
        // What is recorded is of the site whose unit moves the sum farthest.
        let (mut sensitivity, mut event) = (declared, self.assembly.event().clone());
        for one in &contributions {
            let own = sensitivity_units(&one.shape, &one.event, Trust::Aggregate)?;
            if own > sensitivity {
                (sensitivity, event) = (own, one.event.repeated(event.steps()));
            }
        }
        let multiplier = self.assembly.event().noise_multiplier().map_or(0.0, NoiseMultiplier::get);
        let by_clients = self.assembly.noise() == SumNoise::Clients;
        let noise = match by_clients {
            true => contributions.iter_mut().map(|one| std::mem::take(&mut *one.noise)).collect(),
            false => std::mem::take(&mut node_noise),
        };
        let deviation = multiplier * declared as f64;
        let noise = tape.note(NoiseCall { input, noise, sensitivity, deviation, event });
        match by_clients {
            true => contributions.iter_mut().zip(noise).for_each(|(one, noise)| *one.noise = noise),
            false => node_noise = noise,
        }
        self.start(&node_noise);
        Ok(contributions.into_iter().try_for_each(|one| self.hand_over(one))?)
    }

    /// Starts every node with its noise.
    fn start(&mut self, noise: &[Vec<i64>]) {
        let (assembly, session) = (&self.assembly, &self.session);
        // Nobody drops out between its seeds and its vector here: vectors need not be kept.
        let fresh = |(number, noise): (u32, &Vec<i64>)| {
            Node::fresh(assembly, session, number, Digest::default(), noise, ReceivedVectors::added())
        };
        self.nodes = (0..).zip(noise).map(fresh).collect();
    }

    /// The node of this number, or an error.
    fn node(&mut self, number: u32) -> Result<&mut Node, SumError> {
        self.nodes.get_mut(number as usize).ok_or_else(|| SumError::Misdirected {
            what: "a message",
            found: format!("node {number}"),
            expected: "one of the sum's nodes".into(),
        })
    }
}
