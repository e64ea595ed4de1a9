//! A world of one server, some sites and nodes, in which everything fails at random, by one seed.
//!
//! Messages are lost, doubled, delayed and overtaken; lines are cut; parties and the server go down in the middle of any write,
//! with what was not durable lost or torn; disks are full; commits fail before or after they were kept. After every
//! event the invariants of a federation are checked. When the trouble is over, the run must come to its end.

mod checks;
mod mutant;
mod owners;
mod sums;

pub(crate) use mutant::Mutant;

use super::message_kind::MessageKind;
use super::random::SeededRandom;
use super::study::{PAIR, TestKeys, shard};
use federation::identity::{PartyName, PartyRole};
use federation::log::{FailureEffect, Log, SimulatedDisk};
use federation::manifest::{Manifest, RunBuilder, RunParts};
use federation::message::{Attempt, MemberId, RefusalCode, Request};
use federation::party::{NodeParty, PartyMachine, PartyPhase, SiteParty};
use federation::server::{Call, CallOutcome, CallerIdentity, RunEngine};
use federation::store::{CommitFailure, MemoryStore, ServerStore};
use federation::wire::{self, UnverifiedContent};
use owners::{RowsOwner, WillingNode};
use privacy::noise::Digest;
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// How often what goes wrong, once in so many events; 0 is never.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FaultRates {
    pub(crate) lose: u64,
    pub(crate) double: u64,
    pub(crate) party_down: u64,
    pub(crate) party_disk: u64,
    pub(crate) disk_full: u64,
    pub(crate) server_down: u64,
    pub(crate) commit_fails: u64,
    pub(crate) cut: u64,
    pub(crate) stale_server: u64,
    /// A node says of the present attempt that it will not publish, though it could.
    pub(crate) node_renounces: u64,
    /// A node never sends its part of the present attempt, and says so after others may have published theirs.
    pub(crate) node_withholds: u64,
    /// The server asks a site another question in the present round.
    pub(crate) other_question: u64,
}

/// A message on its way.
struct MessageInFlight {
    party: usize,
    bytes: Vec<u8>,
    /// Of a reply: the request that it answers.
    reply_to: Option<Digest>,
}

/// One party, alive or not.
pub(crate) struct Actor {
    pub(crate) member: MemberId,
    pub(crate) name: PartyName,
    pub(crate) disk: SimulatedDisk,
    pub(crate) party: Option<Box<dyn PartyMachine>>,
    queue: VecDeque<Vec<u8>>,
    awaiting: Option<Digest>,
    heard: u64,
    /// What was said last may be lost: nobody answered, or the server could not take it just now.
    silent: bool,
    cut: bool,
    /// The disk before the last answer was made, and the reply that asked for it.
    before: Option<(SimulatedDisk, Vec<u8>, Digest)>,
    /// How often it was started.
    starts: u64,
    /// The question of each round in whose sum a site took part.
    questions: BTreeMap<u64, Digest>,
    /// The attempt whose part a node keeps to itself.
    withheld: Option<Attempt>,
    /// What was sent: answers, and letters by attempt, receiver and kind; and the longest ledger that was seen.
    released: BTreeMap<Attempt, Digest>,
    letters: BTreeMap<(Attempt, MemberId, MessageKind), Digest>,
    charges: usize,
}

/// The world.
pub(crate) struct FaultWorld {
    pub(crate) random: SeededRandom,
    pub(crate) trouble: FaultRates,
    pub(crate) mutant: Mutant,
    pub(crate) now: u64,
    pub(crate) keys: Arc<TestKeys>,
    pub(crate) builder: Arc<dyn RunBuilder>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) parts: Arc<RunParts>,
    pub(crate) store: MemoryStore,
    pub(crate) server: Option<RunEngine>,
    pub(crate) actors: Vec<Actor>,
    flights: Vec<MessageInFlight>,
    answers: BTreeMap<Vec<i64>, (usize, Attempt)>,
    acknowledged: BTreeSet<(usize, Attempt)>,
    rounds: u64,
    /// How often something went wrong: parties that went down, lines that were cut, messages that were lost.
    troubles: u64,
    pub(crate) events: u64,
    /// Whether every message is told, for whoever looks at one world.
    pub(crate) told: bool,
}

impl FaultWorld {
    pub(crate) fn new(
        seed: u64,
        keys: &Arc<TestKeys>,
        builder: &Arc<dyn RunBuilder>,
        manifest: Arc<Manifest>,
        trouble: FaultRates,
    ) -> Self {
        Self::with_mutant(seed, keys, builder, manifest, trouble, Mutant::None)
    }

    pub(crate) fn with_mutant(
        seed: u64,
        keys: &Arc<TestKeys>,
        builder: &Arc<dyn RunBuilder>,
        manifest: Arc<Manifest>,
        trouble: FaultRates,
        mutant: Mutant,
    ) -> Self {
        let parts = manifest.check(builder.as_ref()).unwrap();
        let store = match mutant {
            Mutant::EarlyReply => MemoryStore::forgetful(),
            _ => MemoryStore::new(),
        };
        let kept: Arc<dyn ServerStore> = Arc::new(store.clone());
        RunEngine::create(&kept, manifest.clone(), parts.clone(), keys.server.clone(), 0).unwrap();
        let disk = || if mutant == Mutant::NoSync { SimulatedDisk::lying() } else { SimulatedDisk::new() };
        let actor = |member, name: &PartyName| Actor {
            member,
            name: name.clone(),
            disk: disk(),
            party: None,
            queue: VecDeque::new(),
            awaiting: None,
            heard: 0,
            silent: false,
            cut: false,
            before: None,
            starts: 0,
            questions: BTreeMap::new(),
            withheld: None,
            released: BTreeMap::new(),
            letters: BTreeMap::new(),
            charges: 0,
        };
        let sites = keys.sites.iter().enumerate().map(|(m, (name, _))| actor(MemberId::Site(m), name));
        let nodes = (0..).zip(&keys.nodes).map(|(k, (name, _, _))| actor(MemberId::Node(k), name));
        Self {
            random: SeededRandom::new(seed),
            trouble,
            mutant,
            now: 0,
            keys: keys.clone(),
            builder: builder.clone(),
            manifest,
            parts,
            store,
            server: None,
            actors: sites.chain(nodes).collect(),
            flights: Vec::new(),
            answers: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            rounds: 0,
            troubles: 0,
            events: 0,
            told: false,
        }
    }

    /// Lives through so many events with trouble, and then without until the run is over.
    pub(crate) fn live(&mut self, troubled: u64) {
        for _ in 0..troubled {
            self.event();
            if self.is_over() {
                break;
            }
        }
        self.trouble = FaultRates::default();
        self.actors.iter_mut().for_each(|actor| actor.cut = false);
        let last = self.events + 8_000;
        while !self.is_over() {
            assert!(self.events < last, "the run does not come to its end: {}", self.describe());
            self.event();
        }
        self.check_end();
    }

    pub(crate) fn is_over(&self) -> bool {
        let done = |actor: &Actor| {
            actor
                .party
                .as_ref()
                .is_some_and(|party| matches!(party.standing(), PartyPhase::Finished(_) | PartyPhase::Stopped(_)))
        };
        self.server.as_ref().is_some_and(RunEngine::is_finished) && self.actors.iter().all(done)
    }

    pub(crate) fn describe(&self) -> String {
        let standing = |actor: &Actor| actor.party.as_ref().map(|party| party.standing());
        let all: Vec<_> = self.actors.iter().map(|actor| (actor.member, standing(actor))).collect();
        let header = self.server.as_ref().map(|engine| engine.coordinator().header().clone());
        format!("{all:?} {header:?}")
    }

    /// One thing happens.
    pub(crate) fn event(&mut self) {
        self.events += 1;
        self.now += 50;
        self.misfortune();
        if self.server.is_none() {
            self.start_server();
        }
        for party in 0..self.actors.len() {
            if self.actors[party].party.is_none() {
                self.start_party(party);
            }
        }
        if let Some(engine) = &mut self.server {
            engine.tick(self.now);
        }
        if self.flights.is_empty() || self.random.once_in(3) {
            let party = self.random.below(self.actors.len());
            self.speak(party);
        } else {
            let flight = self.random.below(self.flights.len());
            self.arrive(flight);
        }
        self.check_rounds();
    }

    fn misfortune(&mut self) {
        let (trouble, party) = (self.trouble, self.random.below(self.actors.len()));
        if self.random.once_in(trouble.party_down) {
            self.kill(party);
        }
        if self.random.once_in(trouble.party_disk) {
            let (n, effect) = (1 + self.random.word() % 6, self.effect());
            self.actors[party].disk.fail_at(n, effect);
        }
        if self.random.once_in(trouble.disk_full) {
            self.actors[party].disk.fill();
        }
        if self.random.once_in(trouble.cut) {
            self.actors[party].cut = !self.actors[party].cut;
        }
        if self.random.once_in(trouble.server_down) {
            self.server = None;
            self.store.crash();
            self.check_history();
        }
        if self.random.once_in(trouble.commit_fails) {
            let failing = if self.random.once_in(2) { CommitFailure::Before } else { CommitFailure::After };
            self.store.fail_next(failing);
        }
        if self.random.once_in(trouble.node_renounces) {
            self.renounce();
        }
        if self.random.once_in(trouble.node_withholds) {
            self.withhold();
        }
        if self.random.once_in(trouble.other_question) {
            self.ask_something_else();
        }
        if self.random.once_in(trouble.stale_server) {
            // Another server has the run now; this one finds out at its next commit.
            if let (Some(_), Some(other)) = (&self.server, self.opened()) {
                self.server = Some(other);
            }
        }
    }

    fn effect(&mut self) -> FailureEffect {
        match self.random.below(3) {
            0 => FailureEffect::Nothing,
            1 => FailureEffect::Part(self.random.word() % 64),
            _ => FailureEffect::Everything,
        }
    }

    /// A party's machine loses its power, or only its process.
    pub(crate) fn kill(&mut self, party: usize) {
        let how = self.random.word();
        let power = self.random.once_in(2);
        self.troubles += 1;
        let actor = &mut self.actors[party];
        (actor.party, actor.awaiting, actor.silent) = (None, None, false);
        actor.queue.clear();
        if power {
            actor.disk.crash(how)
        } else {
            actor.disk.restart()
        }
        actor.disk.make_room();
        if self.mutant == Mutant::NoRecord && matches!(actor.member, MemberId::Node(_)) {
            actor.disk = SimulatedDisk::new();
        }
        if self.mutant == Mutant::RefundAtRestart && matches!(self.actors[party].member, MemberId::Site(_)) {
            // What the ledger said before it was written anew.
            if let Ok(log) = Log::open(self.actors[party].disk.copy()) {
                self.check_ledger(party, &log);
            }
            mutant::refund(&self.actors[party].disk);
        }
    }

    /// A party's line is cut, or whole again.
    pub(crate) fn cut(&mut self, party: usize, cut: bool) {
        self.actors[party].cut = cut;
    }

    fn opened(&self) -> Option<RunEngine> {
        let store: Arc<dyn ServerStore> = Arc::new(self.store.clone());
        let name = PartyName::new("server").unwrap();
        RunEngine::open(store, self.manifest.clone(), self.parts.clone(), self.keys.server.clone(), name).ok()
    }

    fn start_server(&mut self) {
        self.server = self.opened();
    }

    fn start_party(&mut self, party: usize) {
        let member = self.actors[party].member;
        let disk = self.actors[party].disk.clone();
        let started: Option<Box<dyn PartyMachine>> = match member {
            MemberId::Site(site) => {
                let (name, key) = self.keys.sites[site].clone();
                let log = match Log::open(disk) {
                    Ok(log) => log,
                    Err(federation::log::LogError::Disk(_)) => {
                        self.kill(party);
                        return;
                    }
                    Err(error) => panic!("a site cannot open its ledger: {error}"),
                };
                self.check_ledger(party, &log);
                let seat = RowsOwner { shard: Arc::new(shard(site)), seed: 11, pair: PAIR };
                Some(Box::new(SiteParty::new(name, key, self.builder.clone(), Box::new(seat), log)))
            }
            MemberId::Node(node) => {
                let (name, key, sealing) = self.keys.nodes[node as usize].clone();
                // A node that draws its noise again after a restart draws other noise, as the system's would be.
                let seat = Box::new(WillingNode(11 + self.actors[party].starts));
                Some(Box::new(NodeParty::new(name, key, sealing, self.builder.clone(), seat, disk)))
            }
            MemberId::Server => None,
        };
        self.actors[party].party = started;
        self.actors[party].starts += 1;
    }

    /// A party says what it has to say, as a driver of the real one lets it: what may be lost is said again after a silence,
    /// and only then.
    fn speak(&mut self, party: usize) {
        // Where nothing is under way, no reply will come.
        let silence = self.flights.is_empty() || self.actors[party].heard + 30 <= self.events;
        let actor = &mut self.actors[party];
        let Some(machine) = &mut actor.party else { return };
        if actor.awaiting.is_some() && !silence {
            return;
        }
        if actor.awaiting.is_some() || std::mem::take(&mut actor.silent) {
            actor.queue.clear();
            let again = machine.again();
            if let (Mutant::FreshNoiseOnResend, Ok(again)) = (self.mutant, &again)
                && again.iter().any(|bytes| is_update(bytes))
            {
                return self.answer_anew(party);
            }
            match again {
                Ok(again) => self.actors[party].queue.extend(again),
                Err(_) => return self.kill(party),
            }
        }
        let actor = &mut self.actors[party];
        let Some(machine) = &mut actor.party else { return };
        if actor.queue.is_empty() {
            actor.queue.push_back(machine.attend(0));
        }
        self.send_next(party);
    }

    fn send_next(&mut self, party: usize) {
        let Some(bytes) = self.actors[party].queue.pop_front() else {
            self.actors[party].awaiting = None;
            return;
        };
        if self.is_withheld(party, &bytes) {
            // It says so again, and asks now and then whether the server has gone on.
            (self.actors[party].awaiting, self.actors[party].silent) = (None, self.random.once_in(2));
            return;
        }
        self.actors[party].awaiting = wire::content_digest(&bytes).ok();
        self.actors[party].heard = self.events;
        self.check_sent(party, &bytes);
        self.launch(MessageInFlight { party, bytes, reply_to: None });
    }

    fn launch(&mut self, flight: MessageInFlight) {
        if self.actors[flight.party].cut || self.random.once_in(self.trouble.lose) {
            self.troubles += 1;
            return;
        }
        if self.random.once_in(self.trouble.double) {
            let MessageInFlight { party, reply_to, .. } = flight;
            self.flights.push(MessageInFlight { party, bytes: flight.bytes.clone(), reply_to });
        }
        self.flights.push(flight);
    }

    fn arrive(&mut self, flight: usize) {
        let flight = self.flights.swap_remove(flight);
        if self.actors[flight.party].cut {
            self.troubles += 1;
            return;
        }
        match flight.reply_to {
            None => self.arrive_at_server(flight.party, &flight.bytes),
            Some(to) => self.arrive_at_party(flight.party, &flight.bytes, to),
        }
    }

    fn arrive_at_server(&mut self, party: usize, bytes: &[u8]) {
        let (member, name) = (self.actors[party].member, self.actors[party].name.clone());
        let (role, key) = match member {
            MemberId::Site(site) => (PartyRole::Site, self.keys.sites[site].1.public()),
            MemberId::Node(node) => (PartyRole::Node, self.keys.nodes[node as usize].1.public()),
            MemberId::Server => return,
        };
        let Ok(said) = UnverifiedContent::read(bytes) else { panic!("a party sends what cannot be read") };
        if self.told {
            println!("{} {member:?} says {:?}", self.events, said.request(&key));
        }
        let Some(engine) = &mut self.server else { return };
        let to = said.digest();
        if self.mutant == Mutant::AppliedTwice && said.is_update() && self.random.once_in(3) {
            // What was accepted is not looked at: the answer is folded once more.
            let request = said.request(&key);
            if let (Ok(Request::Update(update)), MemberId::Site(site)) = (request, member) {
                self.fold_again(site, &update);
                return;
            }
        }
        let (answers, _) = engine.take(&[Call::new(CallerIdentity { role, name, key }, &said)]);
        for answer in answers {
            if let CallOutcome::Reply(draft) = answer {
                let bytes = draft.sign().encode_to_vec();
                self.launch(MessageInFlight { party, bytes, reply_to: Some(to) });
            }
        }
    }

    fn arrive_at_party(&mut self, party: usize, bytes: &[u8], to: Digest) {
        self.note_acknowledged(party, bytes, &to);
        let actor = &mut self.actors[party];
        let Some(machine) = &mut actor.party else { return };
        let before = (self.mutant != Mutant::None).then(|| actor.disk.copy());
        match machine.hear_bytes(bytes, &to) {
            Ok(next) => {
                if let (Some(before), true) = (&before, next.iter().any(|bytes| is_update(bytes))) {
                    actor.before = Some((before.clone(), bytes.to_vec(), to));
                }
                let before = before.filter(|_| self.mutant == Mutant::ChargeAfterRelease);
                if let (Some(before), true) = (before, next.iter().any(|bytes| is_update(bytes))) {
                    // The charge of what is being sent is not on the disk yet; a crash may come now.
                    actor.queue.extend(next);
                    self.send_next(party);
                    if self.random.once_in(4) {
                        self.actors[party].disk = before;
                        self.kill(party);
                    }
                    return;
                }
                actor.queue.extend(next);
                if actor.awaiting == Some(to) {
                    actor.awaiting = None;
                    actor.silent = machine.refused().is_some_and(RefusalCode::is_passing);
                    if !actor.silent {
                        self.send_next(party);
                    }
                }
            }
            Err(_) => self.kill(party),
        }
    }
}

fn is_update(bytes: &[u8]) -> bool {
    // The kind of a request is not hidden; whose it is does not matter here.
    UnverifiedContent::read(bytes).is_ok_and(|said| said.is_update())
}
