//! A server that a test plays by hand, against real parties; and a real server, for clients that a test plays.

use super::study::{Cast, Shelf, shard};
use federation::identity::{IdentityKey, PartyName, Role, Signature};
use federation::log::{Disk, Entry, FILE, Log, Position, SimulatedDisk};
use federation::manifest::{self, Library, Manifest, Pace, Programme};
use federation::message::{Instruction, Member, Reason, Request, Try, Update};
use federation::party::{NodeParty, NodeSeat, Party, PartyError, SiteParty, SiteSeat, Verdict};
use federation::policy::Granted;
use federation::server::{Answer, Call, Caller, Engine};
use federation::store::{MemoryStore, Store};
use federation::wire::{self, Reply, Sender, Unverified};
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use prost::Message as _;
use std::sync::Arc;

/// A study with its people, and whoever plays its server.
pub(crate) struct Hand {
    pub(crate) cast: Arc<Cast>,
    pub(crate) library: Arc<dyn Library>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) programme: Arc<Programme>,
}

/// A site's owner, who signs what a test lets it sign.
pub(crate) struct Owner {
    pub(crate) shard: Arc<Shard>,
    pub(crate) verdict: fn(&Manifest) -> Verdict,
    pub(crate) noise: fn() -> OsKeyed,
}

impl SiteSeat for Owner {
    fn consider(&mut self, manifest: &Manifest, _: &Programme, _: usize, _: Granted) -> Verdict {
        (self.verdict)(manifest)
    }
    fn rows(&mut self, _: &Manifest, _: &Programme, _: usize) -> Result<(Arc<Shard>, Digest), String> {
        Ok((self.shard.clone(), [1; 32]))
    }
    fn noise(&mut self) -> OsKeyed {
        (self.noise)()
    }
}

impl NodeSeat for Owner {
    fn consider(&mut self, manifest: &Manifest) -> Verdict {
        (self.verdict)(manifest)
    }
    fn noise(&mut self) -> OsKeyed {
        (self.noise)()
    }
}

/// Noise keys of the system, as in a real agent.
pub(crate) fn fresh() -> OsKeyed {
    OsKeyed::new([3; 32])
}

/// An owner of the rows of a site.
pub(crate) fn owner(site: usize) -> Owner {
    Owner { shard: Arc::new(shard(site)), verdict: |_| Verdict::Sign, noise: fresh }
}

impl Hand {
    pub(crate) fn new(study: &str, sites: usize, nodes: usize, quorum: u64) -> Self {
        Self::pressed(study, sites, nodes, quorum, None)
    }

    /// A study whose rounds have a deadline, in seconds.
    pub(crate) fn pressed(study: &str, sites: usize, nodes: usize, quorum: u64, deadline: Option<u64>) -> Self {
        let cast = Arc::new(Cast::new(sites, nodes));
        let library: Arc<dyn Library> = Arc::new(Shelf::default());
        let rounds = study.split('/').nth(1).and_then(|rounds| rounds.parse().ok()).unwrap();
        let manifest = cast.manifest(study, 1, Pace { rounds, quorum, deadline }, library.as_ref());
        let programme = manifest.check(library.as_ref()).unwrap();
        Self { cast, library, manifest, programme }
    }

    /// Everybody's signatures of a manifest, right ones.
    pub(crate) fn signatures(&self, manifest: &Manifest) -> Vec<Signature> {
        let sites = self.cast.sites.iter().map(|(_, key)| key);
        let nodes = self.cast.nodes.iter().map(|(_, key, _)| key);
        let all = sites.chain(nodes).chain([&self.cast.server]);
        all.map(|key| key.sign(manifest::DOMAIN, &manifest.digest())).collect()
    }

    /// A site over a disk.
    pub(crate) fn site(&self, site: usize, disk: &SimulatedDisk, owner: Owner) -> SiteParty<SimulatedDisk> {
        let (name, key) = self.cast.sites[site].clone();
        SiteParty::new(name, key, self.library.clone(), Box::new(owner), Log::open(disk.clone()).unwrap())
    }

    /// A node over a disk.
    pub(crate) fn node(&self, node: usize, disk: &SimulatedDisk) -> NodeParty<SimulatedDisk> {
        let (name, key, sealing) = self.cast.nodes[node].clone();
        NodeParty::new(name, key, sealing, self.library.clone(), Box::new(owner(0)), disk.clone())
    }

    /// What a run begins with.
    pub(crate) fn beginning(&self) -> Vec<Instruction> {
        vec![
            Instruction::Propose { manifest: self.manifest.bytes() },
            Instruction::Begin { signatures: self.signatures(&self.manifest) },
        ]
    }

    /// A site in a run that has begun, with its disk.
    pub(crate) fn running(&self, site: usize) -> (SiteParty<SimulatedDisk>, SimulatedDisk) {
        let disk = SimulatedDisk::new();
        let mut party = self.site(site, &disk, owner(site));
        self.tell(&mut party, self.beginning()).unwrap();
        assert!(party.agent().is_some());
        (party, disk)
    }

    /// The first question.
    pub(crate) fn question(&self) -> Vec<u8> {
        let protocol = &self.programme.built.protocol;
        protocol.ask(&protocol.start().unwrap()).unwrap()
    }

    /// The bytes of a reply, signed by a key.
    pub(crate) fn reply(
        &self,
        key: &IdentityKey,
        to: Digest,
        seen: Option<Position>,
        instructions: Vec<Instruction>,
    ) -> Vec<u8> {
        let manifest = Some(self.manifest.digest());
        let sender = Sender { role: Role::Server, name: PartyName::new("server").unwrap(), manifest };
        wire::sign_reply(key, &sender, &Reply { to, seen, instructions }).encode_to_vec()
    }

    /// A party polls, and hears this from the server.
    pub(crate) fn tell(
        &self,
        party: &mut dyn Party,
        instructions: Vec<Instruction>,
    ) -> Result<Vec<Vec<u8>>, PartyError> {
        self.tell_with(&self.cast.server, None, party, instructions)
    }

    /// A party polls, and hears this from whoever has the key.
    pub(crate) fn tell_with(
        &self,
        key: &IdentityKey,
        seen: Option<Position>,
        party: &mut dyn Party,
        instructions: Vec<Instruction>,
    ) -> Result<Vec<Vec<u8>>, PartyError> {
        let to = wire::content_digest(&party.attend(0)).unwrap();
        party.hear(&self.reply(key, to, seen, instructions), &to)
    }

    /// The charges of a site's ledger in this run.
    pub(crate) fn charges(&self, disk: &SimulatedDisk) -> usize {
        let log = Log::open(disk.copy()).unwrap();
        log.charges(&self.manifest.run()).unwrap().len().saturating_sub(1)
    }
}

/// A question for an attempt.
pub(crate) fn ask(round: u64, attempt: u64, query: &[u8]) -> Vec<Instruction> {
    vec![Instruction::Ask { at: Try { round, attempt }, query: query.to_vec() }]
}

/// What was said.
pub(crate) fn said(bytes: &[Vec<u8>]) -> Vec<Request> {
    bytes.iter().map(|bytes| Unverified::read(bytes).unwrap().claimed_request().unwrap()).collect()
}

/// The answer that was given.
pub(crate) fn update(bytes: &[Vec<u8>]) -> Update {
    match said(bytes).as_slice() {
        [Request::Update(update)] => update.clone(),
        other => panic!("an answer was expected: {other:?}"),
    }
}

/// Why nothing was answered.
pub(crate) fn declined(bytes: &[Vec<u8>]) -> Reason {
    match said(bytes).as_slice() {
        [Request::Decline { reason, .. }] => *reason,
        other => panic!("a refusal was expected: {other:?}"),
    }
}

/// The bytes of the ledger.
pub(crate) fn ledger(disk: &SimulatedDisk) -> Vec<u8> {
    disk.read(FILE).unwrap().unwrap()
}

/// The records of the ledger.
pub(crate) fn entries(disk: &SimulatedDisk) -> Vec<Entry> {
    let mut all = Vec::new();
    Log::open(disk.copy()).unwrap().scan(&mut |_, entry| all.push(entry.clone())).unwrap();
    all
}

/// A real server in front of a store.
pub(crate) struct Front {
    pub(crate) hand: Hand,
    pub(crate) store: MemoryStore,
    pub(crate) engine: Engine,
}

impl Front {
    /// A server that waits for signatures.
    pub(crate) fn signing(hand: Hand) -> Self {
        let store = MemoryStore::new();
        let kept: Arc<dyn Store> = Arc::new(store.clone());
        let (manifest, programme, key) = (hand.manifest.clone(), hand.programme.clone(), hand.cast.server.clone());
        Engine::create(&kept, manifest.clone(), programme.clone(), key.clone(), 0).unwrap();
        let engine = Engine::open(kept, manifest, programme, key, PartyName::new("server").unwrap()).unwrap();
        Self { hand, store, engine }
    }

    /// A server of a run that everybody has signed.
    pub(crate) fn running(hand: Hand) -> Self {
        let mut front = Self::signing(hand);
        let members: Vec<Member> = front.hand.manifest.members().map(|(member, _)| member).collect();
        let signatures = front.hand.signatures(&front.hand.manifest);
        for (member, signature) in members.into_iter().zip(signatures) {
            if member != Member::Server {
                front.request(member, &Request::Agree { signature });
            }
        }
        front
    }

    /// What is kept.
    pub(crate) fn kept(&self) -> federation::coordinator::Saved {
        self.store.load(&self.hand.manifest.run()).unwrap()
    }

    /// A member by its certificate.
    pub(crate) fn caller(&self, member: Member) -> (Caller, Arc<IdentityKey>) {
        let (role, (name, key)) = match member {
            Member::Site(site) => (Role::Site, self.hand.cast.sites[site].clone()),
            Member::Node(node) => {
                let (name, key, _) = self.hand.cast.nodes[node as usize].clone();
                (Role::Node, (name, key))
            }
            Member::Server => (Role::Server, (PartyName::new("server").unwrap(), self.hand.cast.server.clone())),
        };
        (Caller { role, name, key: key.public() }, key)
    }

    /// Signed bytes of a member's request.
    pub(crate) fn signed(&self, member: Member, request: &Request) -> Vec<u8> {
        let (Caller { role, name, .. }, key) = self.caller(member);
        let manifest = Some(self.hand.manifest.digest());
        wire::sign(&key, &Sender { role, name, manifest }, request).0
    }

    /// What a member hears to a request.
    pub(crate) fn request(&mut self, member: Member, request: &Request) -> Vec<Instruction> {
        let bytes = self.signed(member, request);
        self.bytes(self.caller(member).0, &bytes)
    }

    /// What a caller hears to bytes.
    pub(crate) fn bytes(&mut self, caller: Caller, bytes: &[u8]) -> Vec<Instruction> {
        let (key, reply) = (self.hand.cast.server.public(), self.reply(caller, bytes));
        let to = wire::content_digest(bytes).unwrap();
        Unverified::read(&reply).unwrap().reply(&key, &to).unwrap().instructions
    }

    /// The signed reply to bytes.
    pub(crate) fn reply(&mut self, caller: Caller, bytes: &[u8]) -> Vec<u8> {
        let (answers, _) = self.engine.take(&[Call::new(caller, &Unverified::read(bytes).unwrap())]);
        match answers.as_slice() {
            [Answer::Reply(draft)] => draft.sign().encode_to_vec(),
            other => panic!("a reply was expected: {other:?}"),
        }
    }
}
