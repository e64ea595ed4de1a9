//! A compute node: gathers shares, agrees with the other nodes on one set of clients, and publishes once.
//!
//! The rule that protects: a node publishes one partial sum for a round, over one set of clients that all nodes have confirmed. Two sums
//! over different sets would differ by single clients. Records make that hold across crashes ([`NodeRecord`]).

use super::assembly::digest_of;
use super::mask::{Mask, Masks, Nonce, Seed};
use super::message::{Body, Message, SumEffect, SumParty, WordVector};
use super::received::ReceivedVectors;
use super::record::{NodeProgress, NodeRecord, Partial, Renunciation};
use super::{Assembly, ClientSet, SumError, SumNoise, SumSession};
use crate::gate::CalibratedNoise;
use crate::noise::{Digest, NoiseContext, NoiseSource};
use crate::{PrivacyError, Trust};
use zeroize::Zeroizing;

/// One of the K nodes, in one session.
///
/// Memory: one word for each coordinate, 16 bytes for each client, and the vectors that it gets, until the set of clients is fixed:
/// 256 MB at most. Where they would be more it adds them up as they come, and keeps 8 bytes for each.
pub struct Node {
    assembly: Assembly,
    session: SumSession,
    /// Digest of the question that the sum is about.
    question: Digest,
    number: u32,
    /// The node's noise, and what was added to it.
    total: WordVector,
    seeds: Vec<Seed>,
    vectors: ReceivedVectors,
    held: ClientSet,
    heard: Vec<Option<ClientSet>>,
    confirmed: Vec<Option<Digest>>,
    phase: NodePhase,
}

/// How far a node has come. It only moves down this list, and `Failed` is final.
enum NodePhase {
    Gathering,
    Comparing,
    Prepared(Partial),
    Published(Partial),
    Failed(SumError),
}

/// What a node adds to its partial sum: rounded Gaussian noise of the full deviation z·sensitivity, or nothing where the
/// clients add shares.
///
/// The partial sum of one honest node then is round(x + Z), x an integer vector: post-processing of the continuous
/// Gaussian mechanism, whatever the other nodes do (`docs/maths/secure-sum.md`). A node draws it when it starts, before it
/// has seen a share; this function is public so that a test can draw a seeded node's noise again.
pub fn node_noise(
    assembly: &Assembly,
    session: &SumSession,
    node: u32,
    source: &mut dyn NoiseSource,
    context: &NoiseContext,
) -> Result<Vec<i64>, PrivacyError> {
    let mut noise = vec![0; assembly.shape().dimension()];
    if assembly.noise() == SumNoise::Nodes {
        let CalibratedNoise { gaussian, .. } =
            CalibratedNoise::new(assembly.shape(), assembly.event(), Trust::Aggregate)?;
        let context = session.context("node noise", u64::from(node), context);
        gaussian.fill(&mut source.stream(&context)?, &mut noise);
    }
    Ok(noise)
}

impl Node {
    /// Starts a node in a session, or takes up what it had kept of it (`last`: its last record of this run).
    ///
    /// - No record, or one of an earlier session: noise is drawn, and the start is to be kept before anything is taken.
    /// - Started in this session: what it held is gone, the attempt fails ([`SumError::Lost`]); noise is not drawn again.
    /// - Renounced in this session: it stays so ([`SumError::Renounced`]).
    /// - Prepared or published in this session: it goes on with the very bytes that were kept.
    /// - Published for this round in another attempt ([`SumError::Published`]), at a later session already ([`SumError::Past`]), or
    ///   in this round with another question than that of the context ([`SumError::OtherQuestion`]): refused.
    ///
    /// There is one machine of a node at a time: the one of an earlier attempt is dropped before another is started, and a record
    /// that is older than the one kept is not kept ([`NodeRecord::replace`]).
    pub fn start(
        assembly: &Assembly,
        session: &SumSession,
        number: u32,
        last: Option<&NodeRecord>,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<(Self, Vec<SumEffect>), PrivacyError> {
        assembly.check(session)?;
        if number >= assembly.nodes() || last.is_some_and(|record| record.node != number) {
            Err(misdirected("a start or a record", number, assembly.nodes()))?;
        }
        if let Some(record) = last
            && let Some(kept) = resumable(record, session, &context.query)?
        {
            record.held.check(assembly.cohort().clients())?;
            let fresh = Self::fresh(assembly, session, number, context.query, &[], ReceivedVectors::added());
            let mut node = Self { phase: kept, ..fresh }.with_own_confirmation();
            node.heard[number as usize] = Some(record.held.clone());
            let effects = node.unconfirmed();
            return Ok((node, effects));
        }
        let noise = Zeroizing::new(node_noise(assembly, session, number, source, context)?);
        let vectors = ReceivedVectors::none(assembly);
        let node = Self::fresh(assembly, session, number, context.query, &noise, vectors);
        let effects = vec![node.persist(NodeProgress::Started)];
        Ok((node, effects))
    }

    /// A node that has drawn its noise and holds nothing else.
    pub(super) fn fresh(
        assembly: &Assembly,
        session: &SumSession,
        number: u32,
        question: Digest,
        noise: &[i64],
        vectors: ReceivedVectors,
    ) -> Self {
        let (clients, nodes) = (assembly.cohort().clients(), assembly.nodes() as usize);
        Self {
            assembly: assembly.clone(),
            session: *session,
            question,
            number,
            total: WordVector::new(noise.iter().map(|&n| n as u64).collect()),
            seeds: Vec::new(),
            vectors,
            held: ClientSet::none(clients),
            heard: vec![None; nodes],
            confirmed: vec![None; nodes],
            phase: NodePhase::Gathering,
        }
    }

    /// Takes a message from a party that the transport has authenticated. An error that does not end the attempt changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// A [`SumError`]; [`SumError::ends_the_attempt`] tells whether the node goes on.
    pub fn handle(&mut self, from: SumParty, message: Message) -> Result<Vec<SumEffect>, SumError> {
        message.check(&self.session, from)?;
        if let NodePhase::Failed(error) = &self.phase {
            return Err(error.clone());
        }
        match message.body {
            Body::Seed { client, node, seed } => self.take_seed(client, node, seed),
            Body::Vector { client, words } => self.take_vector(client, words),
            Body::Close => self.close(),
            Body::Holdings { node, held } => self.hear(node, held),
            Body::Confirmation { node, digest } => self.take_confirmation(node, digest),
            Body::SeedHeld { .. } | Body::VectorHeld { .. } | Body::Partial(_) => {
                Err(misdirected("a message", self.number, self.assembly.nodes()))
            }
        }
    }

    /// What the others may not have got yet: to be sent again after a silence. The bytes are always the same, and what they
    /// rest on is to be kept first here too: it may not have been, when it was to be sent for the first time.
    pub fn unconfirmed(&self) -> Vec<SumEffect> {
        let mut effects = Vec::new();
        if let Some(held) = self.heard.get(self.number as usize).cloned().flatten() {
            effects.extend(self.to_others(&Body::Holdings { node: self.number, held }));
        }
        match &self.phase {
            NodePhase::Prepared(partial) => {
                effects.push(self.persist(NodeProgress::Prepared(partial.clone())));
                effects.extend(self.confirmation(partial));
            }
            NodePhase::Published(partial) => {
                effects.push(self.persist(NodeProgress::Published(partial.clone())));
                effects.extend(self.confirmation(partial));
                effects.push(self.send(SumParty::Opener, Body::Partial(partial.clone())));
            }
            // Whose share is held may wait for that word with nothing more to say.
            NodePhase::Gathering => effects.extend(self.held.iter().map(|client| self.holding(client))),
            NodePhase::Comparing | NodePhase::Failed(_) => {}
        }
        effects
    }

    /// What is to be kept before anybody is told that this node will not publish in this attempt; none while it may.
    ///
    /// Without this record a node that went down after it had prepared its part would take the attempt up again, and publish in one
    /// that it has said to be over.
    pub fn renounced(&self) -> Option<SumEffect> {
        match &self.phase {
            NodePhase::Failed(error) => Some(self.persist(NodeProgress::Renounced(Renunciation::of(error)))),
            _ => None,
        }
    }

    /// Why nothing is published yet, or never will be; none if it is.
    pub fn missing(&self) -> Option<SumError> {
        let absent = |here: Vec<bool>| (0..).zip(here).filter(|(_, here)| !here).map(|(node, _)| node).collect();
        match &self.phase {
            NodePhase::Gathering => Some(SumError::Gathering),
            NodePhase::Comparing => {
                let nodes = absent(self.heard.iter().map(Option::is_some).collect());
                Some(SumError::Missing { what: "the list of clients is", nodes })
            }
            NodePhase::Prepared(_) => {
                let nodes = absent(self.confirmed.iter().map(Option::is_some).collect());
                Some(SumError::Missing { what: "the confirmation of the set is", nodes })
            }
            NodePhase::Published(_) => None,
            NodePhase::Failed(error) => Some(error.clone()),
        }
    }

    /// Holds a seed, once. The same seed again is confirmed again; another one is a conflict.
    fn take_seed(&mut self, client: u64, node: u32, seed: Seed) -> Result<Vec<SumEffect>, SumError> {
        self.check_client("a seed", client, node, self.assembly.vector_node(client) != self.number)?;
        if self.held.contains(client) {
            if self.seeds.get(client as usize).is_some_and(|known| *known != seed) {
                return Err(SumError::Conflict { what: "seed", from: SumParty::Client(client) });
            }
        } else {
            self.check_open("seed", client)?;
            if self.seeds.is_empty() {
                self.seeds = vec![Seed::default(); self.assembly.cohort().clients() as usize];
            }
            self.seeds[client as usize] = seed;
            self.held.insert(client);
        }
        Ok(vec![self.holding(client)])
    }

    /// Holds a vector, once. The same one again is confirmed again; another one is a conflict.
    fn take_vector(&mut self, client: u64, words: WordVector) -> Result<Vec<SumEffect>, SumError> {
        self.check_client("a vector", client, self.number, self.assembly.vector_node(client) == self.number)?;
        words.check("a vector", self.assembly.shape().dimension())?;
        if !self.held.contains(client) {
            self.check_open("vector", client)?;
            self.vectors.take(client, words, &mut self.total);
            self.held.insert(client);
        } else if matches!(self.phase, NodePhase::Gathering | NodePhase::Comparing)
            && !self.vectors.knows(client, &words)
        {
            return Err(SumError::Conflict { what: "vector", from: SumParty::Client(client) });
        }
        Ok(vec![self.holding(client)])
    }

    /// Tells the others what this node holds. From here on it takes no more.
    fn close(&mut self) -> Result<Vec<SumEffect>, SumError> {
        if !matches!(self.phase, NodePhase::Gathering) {
            return Ok(Vec::new());
        }
        self.phase = NodePhase::Comparing;
        self.heard[self.number as usize] = Some(self.held.clone());
        let mut effects = self.unconfirmed();
        effects.extend(self.compare()?);
        Ok(effects)
    }

    /// Notes whose shares another node holds. With all lists at hand, the common set is confirmed.
    fn hear(&mut self, node: u32, held: ClientSet) -> Result<Vec<SumEffect>, SumError> {
        held.check(self.assembly.cohort().clients())?;
        let place = self.other(node)?;
        match &self.heard[place] {
            Some(known) if *known != held => {
                Err(SumError::Conflict { what: "list of clients", from: SumParty::Node(node) })
            }
            None if matches!(self.phase, NodePhase::Gathering | NodePhase::Comparing) => {
                self.heard[place] = Some(held);
                self.compare()
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Notes the digest that another node has confirmed, and publishes if all agree.
    fn take_confirmation(&mut self, node: u32, digest: Digest) -> Result<Vec<SumEffect>, SumError> {
        let place = self.other(node)?;
        match self.confirmed[place] {
            Some(known) if known != digest => {
                Err(SumError::Conflict { what: "confirmation", from: SumParty::Node(node) })
            }
            Some(_) => Ok(Vec::new()),
            None => {
                self.confirmed[place] = Some(digest);
                self.publish()
            }
        }
    }

    /// With all lists at hand: the set is fixed, and with it the partial sum, which is kept before the set is confirmed.
    fn compare(&mut self) -> Result<Vec<SumEffect>, SumError> {
        if !matches!(self.phase, NodePhase::Comparing) {
            return Ok(Vec::new());
        }
        let Some(lists) = self.heard.iter().cloned().collect::<Option<Vec<ClientSet>>>() else {
            return Ok(Vec::new());
        };
        let apart = matches!(self.vectors, ReceivedVectors::Apart(_));
        let set = match common_set(&self.assembly, &lists, apart) {
            Ok(set) => set,
            Err(error) => return self.fail(error),
        };
        let Ok(digest) = digest_of("secure sum: set", &(self.session, &set, &lists)) else {
            return Err(SumError::Malformed { found: 0, why: "it cannot be written" });
        };
        let partial = Partial { node: self.number, digest, words: self.add_masks(&set), set };
        let mut effects = vec![self.persist(NodeProgress::Prepared(partial.clone()))];
        effects.extend(self.confirmation(&partial));
        self.phase = NodePhase::Prepared(partial);
        self.confirmed[self.number as usize] = Some(digest);
        effects.extend(self.publish()?);
        Ok(effects)
    }

    /// With all confirmations at hand: equal ones open the partial sum, others end the attempt.
    fn publish(&mut self) -> Result<Vec<SumEffect>, SumError> {
        let NodePhase::Prepared(partial) = &self.phase else { return Ok(Vec::new()) };
        let differs = |confirmed: &Option<Digest>| confirmed.is_some_and(|digest| digest != partial.digest);
        if let Some(other) = self.confirmed.iter().position(differs) {
            return self.fail(SumError::Disagreement { node: self.number, other: other as u32 });
        }
        if self.confirmed.iter().any(Option::is_none) {
            return Ok(Vec::new());
        }
        let partial = partial.clone();
        self.phase = NodePhase::Published(partial.clone());
        Ok(vec![
            self.persist(NodeProgress::Published(partial.clone())),
            self.send(SumParty::Opener, Body::Partial(partial)),
        ])
    }

    /// The total with the vectors and the masks of the set's clients. Seeds are expanded here, one after the other, and then wiped.
    fn add_masks(&mut self, set: &ClientSet) -> WordVector {
        let mut total = std::mem::take(&mut self.total);
        self.vectors.settle(set, &mut total);
        let seeds = std::mem::take(&mut self.seeds);
        let seeded = set.iter().filter(|client| self.assembly.vector_node(*client) != self.number);
        let masks = seeded.map(|client| Mask { client, node: self.number, seed: &seeds[client as usize] });
        Masks::new(Nonce::of(&self.session)).add(masks, total.get_mut());
        total
    }

    /// The attempt is over for this node; shares are wiped.
    fn fail(&mut self, error: SumError) -> Result<Vec<SumEffect>, SumError> {
        (self.total, self.seeds) = (WordVector::default(), Vec::new());
        self.vectors.wipe();
        self.phase = NodePhase::Failed(error.clone());
        Err(error)
    }

    /// A node that comes back counts its own confirmation as given.
    fn with_own_confirmation(mut self) -> Self {
        if let NodePhase::Prepared(partial) | NodePhase::Published(partial) = &self.phase {
            self.confirmed[self.number as usize] = Some(partial.digest);
        }
        self
    }

    /// Refuses a share of no client, for another node, or of the wrong kind.
    fn check_client(&self, what: &'static str, client: u64, node: u32, right: bool) -> Result<(), SumError> {
        if client < self.assembly.cohort().clients() && node == self.number && right {
            return Ok(());
        }
        Err(SumError::Misdirected {
            what,
            found: format!("client {client} and node {node}"),
            expected: format!("node {}, and a client that sends it such a share", self.number),
        })
    }

    /// Refuses a share that comes after the node has told the others what it holds.
    fn check_open(&self, what: &'static str, client: u64) -> Result<(), SumError> {
        match self.phase {
            NodePhase::Gathering => Ok(()),
            _ => Err(SumError::Late { what, from: SumParty::Client(client) }),
        }
    }

    /// The place of another node in the lists.
    fn other(&self, node: u32) -> Result<usize, SumError> {
        if node < self.assembly.nodes() && node != self.number {
            Ok(node as usize)
        } else {
            Err(misdirected("a node's message", node, self.assembly.nodes()))
        }
    }

    /// Tells a client that its share is held.
    fn holding(&self, client: u64) -> SumEffect {
        let node = self.number;
        let body = match self.assembly.vector_node(client) == node {
            true => Body::VectorHeld { client, node },
            false => Body::SeedHeld { client, node },
        };
        self.send(SumParty::Client(client), body)
    }

    /// The digest of the set, to every other node.
    fn confirmation(&self, partial: &Partial) -> Vec<SumEffect> {
        self.to_others(&Body::Confirmation { node: self.number, digest: partial.digest })
    }

    /// One message for every other node.
    fn to_others(&self, body: &Body) -> Vec<SumEffect> {
        self.assembly.nodes_but(self.number).map(|node| self.send(SumParty::Node(node), body.clone())).collect()
    }

    /// A message, bound to the session.
    fn send(&self, to: SumParty, body: Body) -> SumEffect {
        SumEffect::Send { to, message: Message { session: self.session, body } }
    }

    /// Asks the driver to keep this progress before anything that follows is done.
    fn persist(&self, progress: NodeProgress) -> SumEffect {
        let held = self.heard.get(self.number as usize).cloned().flatten();
        let held = held.unwrap_or_else(|| ClientSet::none(self.assembly.cohort().clients()));
        SumEffect::Persist(NodeRecord {
            session: self.session,
            question: self.question,
            node: self.number,
            progress,
            held,
        })
    }
}

/// The clients whose shares are at all nodes: at least N − T_d; and, where vectors are not kept apart, with them everyone whose vector
/// is in a total.
fn common_set(assembly: &Assembly, lists: &[ClientSet], apart: bool) -> Result<ClientSet, SumError> {
    let mut set = lists[0].clone();
    lists.iter().for_each(|list| set.keep_common(list));
    for (vector_node, list) in (0_u32..).zip(lists).filter(|_| !apart) {
        let mut added = list.iter().filter(|client| assembly.vector_node(*client) == vector_node);
        if let Some(client) = added.find(|client| !set.contains(*client)) {
            let node = lists.iter().position(|list| !list.contains(client)).unwrap_or_default();
            return Err(SumError::Incomplete { client, node: node as u32 });
        }
    }
    let (found, expected) = (set.count(), assembly.cohort().quorum());
    if found < expected {
        return Err(SumError::TooFew { found, expected });
    }
    Ok(set)
}

/// What a node goes on with after a restart: none if the session is new to it.
fn resumable(record: &NodeRecord, session: &SumSession, question: &Digest) -> Result<Option<NodePhase>, SumError> {
    let later = record.is_before(session)?;
    record.check_question(session.round, question)?;
    if later {
        return Ok(None);
    }
    match &record.progress {
        NodeProgress::Started => {
            Err(SumError::Lost { node: record.node, round: session.round, attempt: session.attempt })
        }
        NodeProgress::Prepared(partial) => Ok(Some(NodePhase::Prepared(partial.clone()))),
        NodeProgress::Published(partial) => Ok(Some(NodePhase::Published(partial.clone()))),
        NodeProgress::Renounced(why) => Err(record.renounced(*why)),
    }
}

/// A refusal of a message that names a node which does not fit.
fn misdirected(what: &'static str, node: u32, nodes: u32) -> SumError {
    SumError::Misdirected { what, found: format!("node {node}"), expected: format!("another of {nodes} nodes") }
}
