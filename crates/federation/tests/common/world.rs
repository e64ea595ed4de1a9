//! A world of one server, some sites and nodes, in which everything fails at random, by one seed.
//!
//! Messages are lost, doubled, delayed and overtaken; lines are cut; parties and the server go down in the middle of any write,
//! with what was not durable lost or torn; disks are full; commits fail before or after they were kept. After every
//! event the invariants of a federation are checked. When the trouble is over, the run must come to its end.

mod checks;
mod mutant;
mod seats;

pub(crate) use mutant::Mutant;

use super::dice::Dice;
use super::letter::Kind;
use super::study::{Cast, shard};
use federation::identity::{PartyName, Role};
use federation::log::{Effect, Log, SimulatedDisk};
use federation::manifest::{Library, Manifest, Programme};
use federation::message::{Member, Refusal, Request, Try};
use federation::party::{NodeParty, Party, SiteParty, Standing};
use federation::server::{Answer, Call, Caller, Engine};
use federation::store::{Failing, MemoryStore, Store};
use federation::wire::{self, Unverified};
use privacy::noise::Digest;
use prost::Message as _;
use seats::{Rows, Willing};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// How often what goes wrong, once in so many events; 0 is never.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trouble {
    pub(crate) lose: u64,
    pub(crate) double: u64,
    pub(crate) party_down: u64,
    pub(crate) party_disk: u64,
    pub(crate) disk_full: u64,
    pub(crate) server_down: u64,
    pub(crate) commit_fails: u64,
    pub(crate) cut: u64,
    pub(crate) stale_server: u64,
}

/// A message on its way.
struct Flight {
    party: usize,
    bytes: Vec<u8>,
    /// Of a reply: the request that it answers.
    reply_to: Option<Digest>,
}

/// One party, alive or not.
pub(crate) struct Actor {
    pub(crate) member: Member,
    pub(crate) name: PartyName,
    pub(crate) disk: SimulatedDisk,
    pub(crate) party: Option<Box<dyn Party>>,
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
    /// What was sent: answers, and letters by attempt, receiver and kind; and the longest ledger that was seen.
    released: BTreeMap<Try, Digest>,
    letters: BTreeMap<(Try, Member, Kind), Digest>,
    charges: usize,
}

/// The world.
pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) trouble: Trouble,
    pub(crate) mutant: Mutant,
    pub(crate) now: u64,
    pub(crate) cast: Arc<Cast>,
    pub(crate) library: Arc<dyn Library>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) programme: Arc<Programme>,
    pub(crate) store: MemoryStore,
    pub(crate) server: Option<Engine>,
    pub(crate) actors: Vec<Actor>,
    flights: Vec<Flight>,
    answers: BTreeMap<Vec<i64>, (usize, Try)>,
    acknowledged: BTreeSet<(usize, Try)>,
    rounds: u64,
    /// How often something went wrong: parties that went down, lines that were cut, messages that were lost.
    troubles: u64,
    pub(crate) events: u64,
    /// Whether every message is told, for whoever looks at one world.
    pub(crate) told: bool,
}

impl World {
    pub(crate) fn new(
        seed: u64,
        cast: &Arc<Cast>,
        library: &Arc<dyn Library>,
        manifest: Arc<Manifest>,
        trouble: Trouble,
    ) -> Self {
        Self::with_mutant(seed, cast, library, manifest, trouble, Mutant::None)
    }

    pub(crate) fn with_mutant(
        seed: u64,
        cast: &Arc<Cast>,
        library: &Arc<dyn Library>,
        manifest: Arc<Manifest>,
        trouble: Trouble,
        mutant: Mutant,
    ) -> Self {
        let programme = manifest.check(library.as_ref()).unwrap();
        let store = match mutant {
            Mutant::EarlyReply => MemoryStore::forgetful(),
            _ => MemoryStore::new(),
        };
        let kept: Arc<dyn Store> = Arc::new(store.clone());
        Engine::create(&kept, manifest.clone(), programme.clone(), cast.server.clone(), 0).unwrap();
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
            released: BTreeMap::new(),
            letters: BTreeMap::new(),
            charges: 0,
        };
        let sites = cast.sites.iter().enumerate().map(|(m, (name, _))| actor(Member::Site(m), name));
        let nodes = (0..).zip(&cast.nodes).map(|(k, (name, _, _))| actor(Member::Node(k), name));
        Self {
            dice: Dice::new(seed),
            trouble,
            mutant,
            now: 0,
            cast: cast.clone(),
            library: library.clone(),
            manifest,
            programme,
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
        self.trouble = Trouble::default();
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
                .is_some_and(|party| matches!(party.standing(), Standing::Finished(_) | Standing::Stopped(_)))
        };
        self.server.as_ref().is_some_and(Engine::is_finished) && self.actors.iter().all(done)
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
        if self.flights.is_empty() || self.dice.once_in(3) {
            let party = self.dice.below(self.actors.len());
            self.speak(party);
        } else {
            let flight = self.dice.below(self.flights.len());
            self.arrive(flight);
        }
        self.check_rounds();
    }

    fn misfortune(&mut self) {
        let (trouble, party) = (self.trouble, self.dice.below(self.actors.len()));
        if self.dice.once_in(trouble.party_down) {
            self.kill(party);
        }
        if self.dice.once_in(trouble.party_disk) {
            let (n, effect) = (1 + self.dice.word() % 6, self.effect());
            self.actors[party].disk.fail_at(n, effect);
        }
        if self.dice.once_in(trouble.disk_full) {
            self.actors[party].disk.fill();
        }
        if self.dice.once_in(trouble.cut) {
            self.actors[party].cut = !self.actors[party].cut;
        }
        if self.dice.once_in(trouble.server_down) {
            self.server = None;
            self.store.crash();
            self.check_history();
        }
        if self.dice.once_in(trouble.commit_fails) {
            let failing = if self.dice.once_in(2) { Failing::Before } else { Failing::After };
            self.store.fail_next(failing);
        }
        if self.dice.once_in(trouble.stale_server) {
            // Another server has the run now; this one finds out at its next commit.
            if let (Some(_), Some(other)) = (&self.server, self.opened()) {
                self.server = Some(other);
            }
        }
    }

    fn effect(&mut self) -> Effect {
        match self.dice.below(3) {
            0 => Effect::Nothing,
            1 => Effect::Part(self.dice.word() % 64),
            _ => Effect::Everything,
        }
    }

    /// A party's machine loses its power, or only its process.
    pub(crate) fn kill(&mut self, party: usize) {
        let how = self.dice.word();
        let power = self.dice.once_in(2);
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
        if self.mutant == Mutant::NoRecord && matches!(actor.member, Member::Node(_)) {
            actor.disk = SimulatedDisk::new();
        }
        if self.mutant == Mutant::RefundAtRestart && matches!(self.actors[party].member, Member::Site(_)) {
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

    fn opened(&self) -> Option<Engine> {
        let store: Arc<dyn Store> = Arc::new(self.store.clone());
        let name = PartyName::new("server").unwrap();
        Engine::open(store, self.manifest.clone(), self.programme.clone(), self.cast.server.clone(), name).ok()
    }

    fn start_server(&mut self) {
        self.server = self.opened();
    }

    fn start_party(&mut self, party: usize) {
        let member = self.actors[party].member;
        let disk = self.actors[party].disk.clone();
        let started: Option<Box<dyn Party>> = match member {
            Member::Site(site) => {
                let (name, key) = self.cast.sites[site].clone();
                let log = match Log::open(disk) {
                    Ok(log) => log,
                    Err(federation::log::LogError::Disk(_)) => {
                        self.kill(party);
                        return;
                    }
                    Err(error) => panic!("a site cannot open its ledger: {error}"),
                };
                self.check_ledger(party, &log);
                let seat = Rows { shard: Arc::new(shard(site)), seed: 11 };
                Some(Box::new(SiteParty::new(name, key, self.library.clone(), Box::new(seat), log)))
            }
            Member::Node(node) => {
                let (name, key, sealing) = self.cast.nodes[node as usize].clone();
                // A node that draws its noise again after a restart draws other noise, as the system's would be.
                let seat = Box::new(Willing(11 + self.actors[party].starts));
                Some(Box::new(NodeParty::new(name, key, sealing, self.library.clone(), seat, disk)))
            }
            Member::Server => None,
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
        self.actors[party].awaiting = wire::content_digest(&bytes).ok();
        self.actors[party].heard = self.events;
        self.check_sent(party, &bytes);
        self.launch(Flight { party, bytes, reply_to: None });
    }

    fn launch(&mut self, flight: Flight) {
        if self.actors[flight.party].cut || self.dice.once_in(self.trouble.lose) {
            self.troubles += 1;
            return;
        }
        if self.dice.once_in(self.trouble.double) {
            let Flight { party, reply_to, .. } = flight;
            self.flights.push(Flight { party, bytes: flight.bytes.clone(), reply_to });
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
            Member::Site(site) => (Role::Site, self.cast.sites[site].1.public()),
            Member::Node(node) => (Role::Node, self.cast.nodes[node as usize].1.public()),
            Member::Server => return,
        };
        let Ok(said) = Unverified::read(bytes) else { panic!("a party sends what cannot be read") };
        if self.told {
            println!("{} {member:?} says {:?}", self.events, said.request(&key));
        }
        let Some(engine) = &mut self.server else { return };
        let to = said.digest();
        if self.mutant == Mutant::AppliedTwice && said.is_update() && self.dice.once_in(3) {
            // What was accepted is not looked at: the answer is folded once more.
            let request = said.request(&key);
            if let (Ok(Request::Update(update)), Member::Site(site)) = (request, member) {
                self.fold_again(site, &update);
                return;
            }
        }
        let (answers, _) = engine.take(&[Call::new(Caller { role, name, key }, &said)]);
        for answer in answers {
            if let Answer::Reply(draft) = answer {
                let bytes = draft.sign().encode_to_vec();
                self.launch(Flight { party, bytes, reply_to: Some(to) });
            }
        }
    }

    fn arrive_at_party(&mut self, party: usize, bytes: &[u8], to: Digest) {
        self.note_acknowledged(party, bytes, &to);
        let actor = &mut self.actors[party];
        let Some(machine) = &mut actor.party else { return };
        let before = (self.mutant != Mutant::None).then(|| actor.disk.copy());
        match machine.hear(bytes, &to) {
            Ok(next) => {
                if let (Some(before), true) = (&before, next.iter().any(|bytes| is_update(bytes))) {
                    actor.before = Some((before.clone(), bytes.to_vec(), to));
                }
                let before = before.filter(|_| self.mutant == Mutant::ChargeAfterRelease);
                if let (Some(before), true) = (before, next.iter().any(|bytes| is_update(bytes))) {
                    // The charge of what is being sent is not on the disk yet; a crash may come now.
                    actor.queue.extend(next);
                    self.send_next(party);
                    if self.dice.once_in(4) {
                        self.actors[party].disk = before;
                        self.kill(party);
                    }
                    return;
                }
                actor.queue.extend(next);
                if actor.awaiting == Some(to) {
                    actor.awaiting = None;
                    actor.silent = machine.refused().is_some_and(Refusal::is_passing);
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
    Unverified::read(bytes).is_ok_and(|said| said.is_update())
}
