//! Twenty thousand random schedules of a secure sum (a hundred thousand with `POSTERITY_FULL=1`): letters that are lost, doubled and overtaken, nodes that go down
//! and come back, clients that drop out, and now and then a node that lies.
//!
//! Every round opens at most once, over one set at all honest nodes and with the exact total, or fails by name.

#![allow(clippy::disallowed_macros)] // how many schedules ended in which way is worth printing

use crate::sums::{add_up, assembly, contribution, letters, session, sum_context, units};
use chacha20::ChaCha20Rng;
use privacy::noise::Seeded;
use privacy::secure_sum::{
    Assembly, Body, ClientSet, Contributor, Message, Node, NodeProgress, NodeRecord, Opener, SumEffect, SumError,
    SumNoise, SumParty, SumSession, node_noise,
};
use privacy::{Cohort, PrivacyError};
use rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;

/// Schedules of the test command, and of `POSTERITY_FULL=1`.
const SCHEDULES: (u64, u64) = (20_000, 100_000);
const DIMENSION: usize = 2;
const SEED: u64 = 11;

/// What can go wrong, each in so many of 256 cases.
#[derive(Clone, Copy)]
struct FaultRates {
    lost: u8,
    doubled: u8,
    down: u8,
    silent: u8,
    liar: Option<Lie>,
}

/// What node 0 does with the lists that it sends.
#[derive(Clone, Copy, PartialEq)]
enum Lie {
    /// It hides a client from all.
    Hides,
    /// It tells node 1 alone that it holds the seed of a client that never came.
    Equivocates,
}

/// One round: machines, letters under way, what nodes have kept, and what was seen.
struct ScheduledRound {
    assembly: Assembly,
    session: SumSession,
    clients: Vec<Option<Contributor>>,
    nodes: Vec<Result<Node, SumError>>,
    kept: Vec<Option<NodeRecord>>,
    opener: Opener,
    /// From whom, to whom, what.
    post: Vec<(SumParty, SumParty, Message)>,
    trouble: FaultRates,
    rng: ChaCha20Rng,
    totals: Vec<(Vec<i64>, ClientSet)>,
    published: BTreeMap<u32, Vec<u8>>,
    digests: Vec<[u8; 32]>,
}

impl ScheduledRound {
    fn new(assembly: &Assembly, attempt: u64, kept: Vec<Option<NodeRecord>>, trouble: FaultRates, seed: u64) -> Self {
        let session = session(assembly, 1, attempt);
        let rng = ChaCha20Rng::seed_from_u64(seed);
        let opener = Opener::new(assembly, &session).unwrap();
        let mut world = Self {
            assembly: assembly.clone(),
            session,
            clients: Vec::new(),
            nodes: Vec::new(),
            kept,
            opener,
            post: Vec::new(),
            trouble,
            rng,
            totals: Vec::new(),
            published: BTreeMap::new(),
            digests: Vec::new(),
        };
        for number in 0..assembly.nodes() {
            let node = world.start(number);
            world.nodes.push(node);
        }
        world
    }

    fn chance(&mut self, of_256: u8) -> bool {
        (self.rng.next_u32() & 255) < u32::from(of_256)
    }

    /// Starts a node from what it has kept.
    fn start(&mut self, number: u32) -> Result<Node, SumError> {
        let context = sum_context(self.session.round, self.session.attempt);
        let last = self.kept[number as usize].clone();
        let mut source = Seeded::new(SEED);
        match Node::start(&self.assembly, &self.session, number, last.as_ref(), &mut source, &context) {
            Ok((node, effects)) => {
                self.carry_out(number, effects);
                Ok(node)
            }
            Err(PrivacyError::Sum(error)) => Err(error),
            Err(other) => panic!("{other}"),
        }
    }

    /// A node's effects, in order; it may go down after any of them.
    fn carry_out(&mut self, number: u32, effects: Vec<SumEffect>) {
        for effect in effects {
            match effect {
                SumEffect::Persist(record) => record.replace(&mut self.kept[number as usize]).unwrap(),
                SumEffect::Send { to, message } => self.see(number, to, message),
                SumEffect::Opened { .. } => panic!("a node does not open"),
            }
        }
    }

    /// Everything that a node says: nothing that was not kept, and never two partial sums.
    fn see(&mut self, number: u32, to: SumParty, message: Message) {
        if let Body::Partial(partial) = &message.body {
            let kept = self.kept[number as usize].as_ref().map(|record| &record.progress);
            assert_eq!(kept, Some(&NodeProgress::Published(partial.clone())), "sent before it was kept");
            assert!(partial.set.count() >= self.assembly.cohort().quorum(), "too few");
            let bytes = message.encode().unwrap();
            let first = self.published.entry(number).or_insert_with(|| bytes.clone());
            assert_eq!(*first, bytes, "two different partial sums of one node");
            self.digests.push(partial.digest);
        }
        let message = self.lie(number, to, message);
        self.post.push((SumParty::Node(number), to, message));
    }

    fn lie(&mut self, number: u32, to: SumParty, message: Message) -> Message {
        let Body::Holdings { node, held } = &message.body else { return message };
        if number != 0 {
            return message;
        }
        let clients = 0..self.assembly.cohort().clients();
        let mut told = held.clone();
        match self.trouble.liar {
            Some(Lie::Hides) => {
                told = ClientSet::none(clients.end);
                held.iter().filter(|client| *client != 1).for_each(|client| assert!(told.insert(client)));
            }
            Some(Lie::Equivocates) if to == SumParty::Node(1) => {
                let absent = |client: &u64| !held.contains(*client) && self.assembly.vector_node(*client) != 0;
                clients.clone().find(absent).map(|client| told.insert(client));
            }
            _ => {}
        }
        Message { body: Body::Holdings { node: *node, held: told }, ..message }
    }

    /// Delivers one letter, any of those under way.
    fn step(&mut self) {
        let at = (self.rng.next_u64() % self.post.len() as u64) as usize;
        let (from, to, message) = self.post.swap_remove(at);
        if self.chance(self.trouble.doubled) {
            self.post.push((from, to, message.clone()));
        }
        if self.chance(self.trouble.lost) {
            return;
        }
        match to {
            SumParty::Client(client) => {
                let Some(one) = self.clients.get_mut(client as usize).and_then(Option::as_mut) else { return };
                let effects = one.handle(from, &message).unwrap_or_default();
                self.post.extend(letters(effects).into_iter().map(|(next, message)| (to, next, message)));
                if self.chance(self.trouble.silent) {
                    self.clients[client as usize] = None;
                }
            }
            SumParty::Node(number) => self.deliver(from, number, message),
            SumParty::Opener => {
                for effect in self.opener.handle(from, &message).unwrap_or_default() {
                    if let SumEffect::Opened { total, contributors } = effect {
                        self.totals.push((total.into_inner().units().to_vec(), contributors));
                    }
                }
            }
            SumParty::Coordinator => panic!("nobody writes to the coordinator"),
        }
    }

    fn deliver(&mut self, from: SumParty, number: u32, message: Message) {
        let Ok(node) = &mut self.nodes[number as usize] else { return };
        let mut effects = node.handle(from, message).unwrap_or_default();
        if self.chance(self.trouble.down) {
            // Down in the middle: what stands first was done, the rest was not.
            let done = (self.rng.next_u64() % (effects.len() as u64 + 1)) as usize;
            effects.truncate(done);
            self.carry_out(number, effects);
            self.nodes[number as usize] = self.start(number);
        } else {
            self.carry_out(number, effects);
        }
    }

    fn run_down(&mut self) {
        while !self.post.is_empty() {
            self.step();
        }
    }

    /// Clients send, and send again; then nodes are closed, and say again what was lost.
    fn round(&mut self, contributors: Vec<Option<Contributor>>) {
        self.clients = contributors;
        for _ in 0..3 {
            for (client, one) in (0..).zip(&self.clients) {
                let again = one.as_ref().map(Contributor::unconfirmed).unwrap_or_default();
                self.post
                    .extend(letters(again).into_iter().map(|(to, message)| (SumParty::Client(client), to, message)));
            }
            self.run_down();
        }
        for _ in 0..3 {
            let close = Message { session: self.session, body: Body::Close };
            let to_all =
                (0..self.assembly.nodes()).map(|node| (SumParty::Coordinator, SumParty::Node(node), close.clone()));
            self.post.extend(to_all);
            for number in 0..self.nodes.len() {
                let again = self.nodes[number].as_ref().map(Node::unconfirmed).unwrap_or_default();
                self.carry_out(number as u32, again);
            }
            self.run_down();
        }
    }

    /// Why it did not open, by name: what ended the attempt at a node, or else what is waited for.
    fn name(&self) -> &'static str {
        if self.opener.missing().is_none() {
            return "opened";
        }
        let mut reasons: Vec<SumError> = self
            .nodes
            .iter()
            .filter_map(|node| match node {
                Ok(node) => node.missing(),
                Err(error) => Some(error.clone()),
            })
            .chain(self.opener.missing())
            .collect();
        reasons.sort_by_key(|reason| !reason.ends_the_attempt());
        match reasons.first() {
            None => "opened",
            Some(SumError::TooFew { .. }) => "too few contributions",
            Some(SumError::Disagreement { .. }) => "nodes disagree",
            Some(SumError::Lost { .. }) => "a node went down",
            Some(SumError::Published { .. }) => "published before",
            Some(SumError::Missing { .. }) => "something is missing",
            Some(SumError::Gathering) => "not closed",
            Some(other) => panic!("not a reason for a round to fail: {other}"),
        }
    }

    fn check(&self) {
        assert!(self.totals.len() <= 1, "opened twice");
        assert!(self.digests.windows(2).all(|pair| pair[0] == pair[1]), "two sets");
        let open = self.totals.len() == 1;
        assert_eq!(open, self.opener.missing().is_none(), "a total without a name, or a name for a total");
    }
}

/// Kinds of schedules, in turn. The first two lose nothing, and must open.
fn trouble(kind: u64) -> FaultRates {
    let calm = FaultRates { lost: 0, doubled: 0, down: 0, silent: 0, liar: None };
    match kind {
        0 => calm,
        1 => FaultRates { doubled: 90, ..calm },
        2 => FaultRates { lost: 50, doubled: 30, ..calm },
        3 => FaultRates { silent: 25, ..calm },
        4 => FaultRates { down: 4, doubled: 10, ..calm },
        5 => FaultRates { liar: Some(Lie::Hides), doubled: 10, ..calm },
        6 => FaultRates { liar: Some(Lie::Equivocates), silent: 25, ..calm },
        _ => FaultRates { lost: 20, doubled: 30, down: 2, silent: 8, liar: None },
    }
}

/// Clients of one attempt: the same contributions in every attempt, with other masks. Some say nothing.
fn contributors(world: &mut ScheduledRound) -> Vec<Option<Contributor>> {
    let clients = 0..world.assembly.cohort().clients();
    clients
        .map(|client| {
            let outgoing = contribution(&world.assembly, client, 1, SEED);
            let context = sum_context(1, world.session.attempt);
            let mut source = Seeded::new(SEED);
            let one = Contributor::new(&world.assembly, &world.session, outgoing, &mut source, &context).unwrap();
            (!world.chance(world.trouble.silent)).then_some(one)
        })
        .collect()
}

/// The opened total is that of the clients that it names, and of the noise of all nodes.
fn is_exact(world: &ScheduledRound) -> bool {
    let (total, contributors) = &world.totals[0];
    let context = sum_context(1, world.session.attempt);
    let noise: Vec<Vec<i64>> = (0..world.assembly.nodes())
        .map(|node| node_noise(&world.assembly, &world.session, node, &mut Seeded::new(SEED), &context).unwrap())
        .collect();
    let inputs: Vec<Vec<i64>> = contributors.iter().map(|client| units(&world.assembly, client)).collect();
    add_up(inputs.iter().chain(&noise), DIMENSION) == *total
}

#[test]
fn every_round_opens_at_most_once_over_one_set_or_fails_by_name() {
    let terms: Vec<Assembly> = [(4, 1, 2), (5, 2, 3), (6, 2, 4)]
        .iter()
        .map(|&(clients, dropouts, nodes)| {
            assembly(Cohort::new(clients, 0, dropouts).unwrap(), nodes, SumNoise::Nodes, DIMENSION)
        })
        .collect();
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    let schedules = if std::env::var_os("POSTERITY_FULL").is_some() { SCHEDULES.1 } else { SCHEDULES.0 };
    for schedule in 0..schedules {
        let (assembly, kind) = (&terms[(schedule / 8 % 3) as usize], schedule % 8);
        let nothing_kept = vec![None; assembly.nodes() as usize];
        let mut first = ScheduledRound::new(assembly, 0, nothing_kept, trouble(kind), 2 * schedule);
        let clients = contributors(&mut first);
        first.round(clients);
        first.check();
        let name = first.name();
        *names.entry(name).or_default() += 1;
        assert!(kind > 1 || name == "opened", "nothing was lost in schedule {schedule}, and yet: {name}");
        assert!(first.totals.is_empty() || is_exact(&first), "schedule {schedule}");
        if name == "opened" && schedule % 16 > 7 {
            continue;
        }
        // Another attempt of the same round, with whatever the nodes have kept.
        let mut second = ScheduledRound::new(assembly, 1, first.kept.clone(), trouble(kind), 2 * schedule + 1);
        let clients = contributors(&mut second);
        second.round(clients);
        second.check();
        assert!(first.totals.len() + second.totals.len() <= 1, "schedule {schedule} opened in both attempts");
        assert!(second.totals.is_empty() || is_exact(&second), "schedule {schedule}");
        let class = if second.totals.is_empty() { "second attempt shut" } else { "second attempt opened" };
        *names.entry(class).or_default() += 1;
    }
    println!("{schedules} schedules: {names:?}");
    for class in [
        "opened",
        "too few contributions",
        "nodes disagree",
        "a node went down",
        "something is missing",
        "second attempt opened",
        "second attempt shut",
    ] {
        assert!(names.get(class).is_some_and(|count| *count >= schedules / 1000), "{class}: {names:?}");
    }
}
