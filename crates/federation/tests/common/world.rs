//! A world of one server, some sites and nodes, in which everything fails at random, by one seed.
//!
//! Messages are lost, doubled, delayed and overtaken; lines are cut; parties and the server go down in the middle of any write,
//! with what was not durable lost or torn; disks are full; commits fail before or after they were kept. After every
//! event the invariants of a federation are checked. When the trouble is over, the run must come to its end.

use super::study::{Cast, shard};
use federation::agent::Agent;
use federation::coordinator::{Change, Fold, Folded, Phase};
use federation::identity::{PartyName, Role};
use federation::log::{Effect, Entry, Log, SimulatedDisk};
use federation::manifest::{Library, Manifest, Programme};
use federation::message::{Instruction, Member, Request, Try, Update};
use federation::party::{NodeParty, NodeSeat, Party, SiteParty, SiteSeat, Standing, Verdict};
use federation::server::{Answer, Call, Caller, Engine};
use federation::store::{Failing, MemoryStore, Store};
use federation::wire::{self, Reply, Sender, Unverified};
use inference::Shard;
use inference::algorithm::Answers;
use privacy::noise::{Digest, OsKeyed};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A generator that one seed determines.
#[derive(Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.word() % n.max(1) as u64) as usize
    }

    /// True once in so many times; never for 0.
    pub(crate) fn once_in(&mut self, n: u64) -> bool {
        n > 0 && self.word().is_multiple_of(n)
    }
}

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

/// A wrong variant of the system, which the invariants must notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mutant {
    #[default]
    None,
    /// M23: the answer is sent, and only then is its charge kept.
    ChargeAfterRelease,
    /// M24: nothing is synchronised.
    NoSync,
    /// M25: what is sent again has fresh noise.
    FreshNoiseOnResend,
    /// M26: a charge without an answer is taken back at a restart.
    RefundAtRestart,
    /// M27: an answer that comes twice is applied twice.
    AppliedTwice,
    /// M28: the server replies before what it has accepted is durable.
    EarlyReply,
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
    cut: bool,
    /// The disk before the last answer was made, and the reply that asked for it.
    before: Option<(SimulatedDisk, Vec<u8>, Digest)>,
    /// Sent and acknowledged answers, and the longest ledger that was seen.
    released: BTreeMap<Try, Digest>,
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
    pub(crate) events: u64,
    /// Whether every message is told, for whoever looks at one world.
    pub(crate) told: bool,
}

struct Rows {
    shard: Arc<Shard>,
    seed: u64,
}

impl SiteSeat for Rows {
    fn consider(&mut self, _: &Manifest, _: &Programme, _: usize, _: (f64, f64)) -> Verdict {
        Verdict::Sign
    }
    fn rows(&mut self, _: &Manifest, _: &Programme) -> Result<(Arc<Shard>, Digest), String> {
        Ok((self.shard.clone(), [1; 32]))
    }
    fn noise(&mut self) -> OsKeyed {
        noise(self.seed)
    }
}

/// The noise of a world: the seed's, where the build allows that.
#[cfg(feature = "rehearsal")]
pub(crate) fn noise(seed: u64) -> OsKeyed {
    OsKeyed::rehearsing(seed)
}

/// The noise of a world: the system's.
#[cfg(not(feature = "rehearsal"))]
pub(crate) fn noise(seed: u64) -> OsKeyed {
    OsKeyed::new([seed as u8; 32])
}

struct Willing(u64);

impl NodeSeat for Willing {
    fn consider(&mut self, _: &Manifest) -> Verdict {
        Verdict::Sign
    }
    fn noise(&mut self) -> OsKeyed {
        noise(self.0)
    }
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
            cut: false,
            before: None,
            released: BTreeMap::new(),
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
        let actor = &mut self.actors[party];
        (actor.party, actor.awaiting) = (None, None);
        actor.queue.clear();
        if power {
            actor.disk.crash(how)
        } else {
            actor.disk.restart()
        }
        actor.disk.make_room();
        if self.mutant == Mutant::RefundAtRestart && matches!(self.actors[party].member, Member::Site(_)) {
            // What the ledger said before it was written anew.
            if let Ok(log) = Log::open(self.actors[party].disk.copy()) {
                self.check_ledger(party, &log);
            }
            refund(&self.actors[party].disk);
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
                let seat = Box::new(Willing(11));
                Some(Box::new(NodeParty::new(name, key, sealing, self.library.clone(), seat, disk)))
            }
            Member::Server => None,
        };
        self.actors[party].party = started;
    }

    /// A party says what it has to say; one that waits for a reply in vain says it again.
    fn speak(&mut self, party: usize) {
        // Where nothing is under way, no reply will come.
        let silence = self.flights.is_empty() || self.actors[party].heard + 30 <= self.events;
        let actor = &mut self.actors[party];
        let Some(machine) = &mut actor.party else { return };
        if actor.awaiting.is_some() && !silence {
            return;
        }
        if actor.queue.is_empty() || actor.awaiting.is_some() {
            actor.queue.clear();
            let again = machine.again();
            if let (Mutant::FreshNoiseOnResend, Ok(again)) = (self.mutant, &again)
                && again.iter().any(|bytes| is_update(bytes))
            {
                return self.answer_anew(party);
            }
            let actor = &mut self.actors[party];
            let Some(machine) = &mut actor.party else { return };
            match again {
                Ok(again) => actor.queue.extend(again.into_iter().take(4)),
                Err(_) => return self.kill(party),
            }
            let attend = machine.attend(0);
            actor.queue.push_back(attend);
        }
        self.send_next(party);
    }

    /// M25: makes the answer again from what was there before it, and sends that.
    fn answer_anew(&mut self, party: usize) {
        let Some((disk, reply, to)) = self.actors[party].before.clone() else { return };
        let Member::Site(site) = self.actors[party].member else { return };
        let (name, key) = self.cast.sites[site].clone();
        let Ok(log) = Log::open(disk.copy()) else { return };
        let seat = Rows { shard: Arc::new(shard(site)), seed: 12 };
        let mut other = SiteParty::new(name, key, self.library.clone(), Box::new(seat), log);
        let Some(signatures) = self.server.as_ref().map(|engine| engine.coordinator().signatures()) else { return };
        let instructions =
            vec![Instruction::Propose { manifest: self.manifest.bytes() }, Instruction::Begin { signatures }];
        let name = PartyName::new("server").unwrap();
        let sender = Sender { role: Role::Server, name, manifest: Some(self.manifest.digest()) };
        let begin = wire::sign_reply(&self.cast.server, &sender, &Reply { to: [0; 32], seen: None, instructions });
        if other.hear(&begin, &[0; 32]).is_err() {
            return;
        }
        if let Ok(next) = other.hear(&reply, &to) {
            self.actors[party].queue.extend(next);
            self.send_next(party);
        }
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
        let (answers, _) = engine.take(&[Call { caller: Caller { role, name, key }, said }]);
        for answer in answers {
            if let Answer::Reply(bytes) = answer {
                self.launch(Flight { party, bytes, reply_to: Some(to) });
            }
        }
    }

    /// M27: folds an answer that was folded before.
    fn fold_again(&mut self, site: usize, update: &Update) {
        let run = self.manifest.run();
        let (history, saved) = (self.store.history(&run).unwrap(), self.store.load(&run).unwrap());
        let of = Folded::Each(vec![(site, update.at)]);
        if history.folds.iter().any(|fold| matches!(&fold.of, Folded::Each(each) if each.contains(&(site, update.at))))
        {
            let answers = Answers::Each(vec![(site, update.answer.clone())]);
            let folded = self.programme.built.protocol.fold(&saved.state, &answers).unwrap();
            let mut header = saved.header.clone();
            let fold = Fold { number: header.folds, round: header.round, of };
            header.folds += 1;
            let change = Change { dirty: true, folds: vec![fold], state: Some(folded.state), ..Change::default() };
            self.store.commit(&run, saved.version, &header, &change).unwrap();
        }
        self.server = None;
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
                    self.send_next(party);
                }
            }
            Err(_) => self.kill(party),
        }
    }

    /// INV5: what a site was told to be accepted.
    fn note_acknowledged(&mut self, party: usize, bytes: &[u8], to: &Digest) {
        let Member::Site(site) = self.actors[party].member else { return };
        let Ok(reply) = Unverified::read(bytes).and_then(|reply| reply.claimed_reply(to)) else { return };
        if self.told {
            println!("{} site {site} hears {:?}", self.events, reply.instructions);
        }
        for instruction in &reply.instructions {
            if let Instruction::Held { at } | Instruction::Receipt { at, applied: Some(_) } = instruction {
                self.acknowledged.insert((site, *at));
            }
        }
    }

    /// INV1 to INV3: one try, one string of bytes; no two tries with the same answer.
    fn check_sent(&mut self, party: usize, bytes: &[u8]) {
        let Member::Site(site) = self.actors[party].member else { return };
        let said = Unverified::read(bytes).unwrap();
        let digest = said.digest();
        match said.claimed_request().unwrap() {
            Request::Update(update) => {
                let first = *self.actors[party].released.entry(update.at).or_insert(digest);
                assert_eq!(first, digest, "INV3: site {site} sends two different answers for {:?}", update.at);
                let known = self.answers.entry(update.answer.units().to_vec()).or_insert((site, update.at));
                assert_eq!(*known, (site, update.at), "INV2: noise is used twice");
            }
            Request::Letters(letters) => {
                for letter in letters {
                    self.actors[party].released.entry(letter.at).or_insert(digest);
                }
            }
            _ => {}
        }
    }

    /// INV1, INV12: a ledger that was opened again has a charge for everything that was sent, and never less than before.
    fn check_ledger(&mut self, party: usize, log: &Log<SimulatedDisk>) {
        let run = self.manifest.run();
        let mut charged = BTreeSet::new();
        log.scan(&mut |_, entry| {
            if let Entry::Charge { turn, record, .. } = entry
                && turn.run == run
                && record.sequence > 0
            {
                charged.insert(Try { round: turn.round, attempt: turn.attempt });
            }
        })
        .unwrap();
        let actor = &mut self.actors[party];
        for at in actor.released.keys() {
            assert!(charged.contains(at), "INV1: {:?} has sent an answer to {at:?} that is not charged", actor.member);
        }
        assert!(charged.len() >= actor.charges, "INV12: the ledger of {:?} has become shorter", actor.member);
        actor.charges = charged.len();
    }

    fn check_rounds(&mut self) {
        if let Some(engine) = self.server.as_ref().filter(|engine| engine.is_certain()) {
            let header = engine.coordinator().header();
            assert!(header.round >= self.rounds, "INV12: rounds go back");
            self.rounds = header.round;
        }
    }

    /// INV4 to INV6: accepted once, what was acknowledged is there, and the state is what the kept answers make of it.
    pub(crate) fn check_history(&self) {
        let run = self.manifest.run();
        let (history, saved) = (self.store.history(&run).unwrap(), self.store.load(&run).unwrap());
        let mut accepted = BTreeMap::new();
        for one in &history.accepted {
            let before = accepted.insert((one.site, one.update.at), one.update.answer.clone());
            assert!(before.is_none(), "INV4: {:?} of site {} was accepted twice", one.update.at, one.site);
        }
        let summing = !self.manifest.nodes.is_empty();
        for (site, at) in &self.acknowledged {
            let kept = match summing {
                true => saved.header.seats[*site].accepted.is_some_and(|(last, _)| last >= *at),
                false => accepted.contains_key(&(*site, *at)),
            };
            assert!(kept, "INV5: what site {site} was told to be kept of {at:?} is lost");
        }
        let protocol = self.programme.built.protocol.as_ref();
        let (mut state, mut folded) = (protocol.start().unwrap(), BTreeSet::new());
        for fold in &history.folds {
            let answers = match &fold.of {
                Folded::Each(tries) => {
                    tries.iter().for_each(|one| assert!(folded.insert(*one), "INV4: {one:?} is folded twice"));
                    Answers::Each(tries.iter().map(|one| (one.0, accepted[one].clone())).collect())
                }
                Folded::Sum { total, from } => {
                    assert!(from.len() as u64 >= self.manifest.pace.quorum, "INV8: too few in a sum");
                    Answers::Sum { total: total.clone(), from: from.clone() }
                }
            };
            state = protocol.fold(&state, &answers).unwrap().state;
        }
        assert_eq!(state, saved.state, "INV6: the state is not what the accepted answers make of it");
    }

    fn check_end(&mut self) {
        self.check_history();
        for party in 0..self.actors.len() {
            if let Member::Site(_) = self.actors[party].member {
                let copy = self.actors[party].disk.copy();
                let log = Log::open(copy).unwrap();
                self.check_ledger(party, &log);
            }
        }
        let phase = self.server.as_ref().map(|engine| engine.coordinator().header().phase);
        assert!(matches!(phase, Some(Phase::Finished(_))));
    }
}

fn is_update(bytes: &[u8]) -> bool {
    // The kind of a request is not hidden; whose it is does not matter here.
    Unverified::read(bytes).is_ok_and(|said| said.is_update())
}

/// M26: writes the ledger anew without charges that have no answer.
fn refund(disk: &SimulatedDisk) {
    let Ok(log) = Log::open(disk.clone()) else { return };
    let (mut answered, mut entries) = (BTreeSet::new(), Vec::new());
    let scanned = log.scan(&mut |_, entry| {
        if let Entry::Outbox { turn, .. } | Entry::Contributed { turn } = entry {
            answered.insert((turn.round, turn.attempt));
        }
        entries.push(entry.clone());
    });
    if scanned.is_err() {
        return;
    }
    drop(log);
    disk.put("ledger.log", &[]);
    let Ok(mut log) = Log::open(disk.clone()) else { return };
    for entry in entries {
        let unanswered = matches!(&entry, Entry::Charge { turn, record, .. }
            if record.sequence > 0 && !answered.contains(&(turn.round, turn.attempt)));
        if !unanswered && log.append(&entry).is_err() {
            return;
        }
    }
}

/// What an agent's run has come to, for tests of single agents.
pub(crate) fn length<D: federation::log::Disk>(agent: &Agent<D>) -> u64 {
    agent.log().head().sequence
}
