//! A server that a test plays by hand, against real parties; and a real server, for clients that a test plays.

use super::study::{PAIR, TestBuilder, TestKeys, shard};
use federation::identity::{IdentityKey, PartyName, PartyRole, Signature};
use federation::log::{Account, Disk, FILE, Log, LogEntry, Position, SimulatedDisk};
use federation::manifest::{self, Manifest, Pace, RunBuilder, RunParts};
use federation::message::{Attempt, DeclineReason, Instruction, MemberId, Request, Update};
use federation::party::{NodeOwner, NodeParty, PartyError, PartyMachine, SiteOwner, SiteParty, Verdict};
use federation::server::{Call, CallOutcome, CallerIdentity, RunEngine};
use federation::store::{MemoryStore, ServerStore};
use federation::wire::{self, Sender, ServerReply, UnverifiedContent};
use inference::Shard;
use inference::algorithm::Answers;
use privacy::GridVector;
use privacy::noise::{Digest, OsKeyed};
use privacy::{LifetimeCap, PrivacyError, PromisePair};
use prost::Message as _;
use std::sync::Arc;

/// A study with its people, and whoever plays its server.
pub(crate) struct ScriptedServer {
    pub(crate) keys: Arc<TestKeys>,
    pub(crate) builder: Arc<dyn RunBuilder>,
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) parts: Arc<RunParts>,
}

/// A site's owner, who signs what a test lets it sign.
pub(crate) struct TestOwner {
    pub(crate) shard: Arc<Shard>,
    pub(crate) verdict: fn(&Manifest) -> Verdict,
    pub(crate) noise: fn() -> OsKeyed,
    /// The relation and the unit of what was proposed last.
    pub(crate) pair: PromisePair,
}

impl SiteOwner for TestOwner {
    fn consider(&mut self, manifest: &Manifest, parts: &RunParts, site: usize, _: &Account) -> Verdict {
        self.pair = parts.pair(site).unwrap();
        (self.verdict)(manifest)
    }
    fn cap(&self, _: &Account) -> Result<LifetimeCap, PrivacyError> {
        Ok(super::study::cap(self.pair))
    }
    fn rows(&mut self, _: &Manifest, _: &RunParts, _: usize) -> Result<(Arc<Shard>, Digest), String> {
        Ok((self.shard.clone(), [1; 32]))
    }
    fn noise(&mut self) -> OsKeyed {
        (self.noise)()
    }
}

impl NodeOwner for TestOwner {
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
pub(crate) fn owner(site: usize) -> TestOwner {
    TestOwner { shard: Arc::new(shard(site)), verdict: |_| Verdict::Sign, noise: fresh, pair: PAIR }
}

impl ScriptedServer {
    pub(crate) fn new(study: &str, sites: usize, nodes: usize, quorum: u64) -> Self {
        Self::pressed(study, sites, nodes, quorum, None)
    }

    /// A study whose rounds have a deadline, in seconds.
    pub(crate) fn pressed(study: &str, sites: usize, nodes: usize, quorum: u64, deadline: Option<u64>) -> Self {
        let keys = Arc::new(TestKeys::new(sites, nodes));
        let builder: Arc<dyn RunBuilder> = Arc::new(TestBuilder::default());
        let rounds = study.split('/').nth(1).and_then(|rounds| rounds.parse().ok()).unwrap();
        let manifest = keys.manifest(study, 1, Pace { rounds, quorum, deadline }, builder.as_ref());
        let parts = manifest.check(builder.as_ref()).unwrap();
        Self { keys, builder, manifest, parts }
    }

    /// Everybody's signatures of a manifest, right ones.
    pub(crate) fn signatures(&self, manifest: &Manifest) -> Vec<Signature> {
        let sites = self.keys.sites.iter().map(|(_, key)| key);
        let nodes = self.keys.nodes.iter().map(|(_, key, _)| key);
        let all = sites.chain(nodes).chain([&self.keys.server]);
        all.map(|key| key.sign(manifest::DOMAIN, &manifest.digest())).collect()
    }

    /// A site over a disk.
    pub(crate) fn site(&self, site: usize, disk: &SimulatedDisk, owner: TestOwner) -> SiteParty<SimulatedDisk> {
        let (name, key) = self.keys.sites[site].clone();
        SiteParty::new(name, key, self.builder.clone(), Box::new(owner), Log::open(disk.clone()).unwrap())
    }

    /// A node over a disk.
    pub(crate) fn node(&self, node: usize, disk: &SimulatedDisk) -> NodeParty<SimulatedDisk> {
        let (name, key, sealing) = self.keys.nodes[node].clone();
        NodeParty::new(name, key, sealing, self.builder.clone(), Box::new(owner(0)), disk.clone())
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
        let protocol = &self.parts.built.protocol;
        protocol.ask(&protocol.start().unwrap()).unwrap()
    }

    /// Another question of a run of sums, that of a state in which something was folded.
    pub(crate) fn other_question(&self) -> Vec<u8> {
        let (built, first) = (&self.parts.built, self.question());
        let (state, shape) = (built.protocol.start().unwrap(), built.terms[0].shape);
        let total = GridVector::new(shape.grid(), vec![1 << 20; shape.dimension()]);
        let from = (0..self.keys.sites.len()).collect();
        let folded = built.protocol.fold(&state, &Answers::Sum { total, from }).unwrap();
        let other = built.protocol.ask(&folded.state).unwrap();
        assert_ne!(first, other);
        other
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
        let sender = Sender { role: PartyRole::Server, name: PartyName::new("server").unwrap(), manifest };
        wire::sign_reply(key, &sender, &ServerReply { to, seen, instructions }).encode_to_vec()
    }

    /// A party polls, and hears this from the server.
    pub(crate) fn tell(
        &self,
        party: &mut dyn PartyMachine,
        instructions: Vec<Instruction>,
    ) -> Result<Vec<Vec<u8>>, PartyError> {
        self.tell_with(&self.keys.server, None, party, instructions)
    }

    /// A party polls, and hears this from whoever has the key.
    pub(crate) fn tell_with(
        &self,
        key: &IdentityKey,
        seen: Option<Position>,
        party: &mut dyn PartyMachine,
        instructions: Vec<Instruction>,
    ) -> Result<Vec<Vec<u8>>, PartyError> {
        let to = wire::content_digest(&party.attend(0)).unwrap();
        party.hear_bytes(&self.reply(key, to, seen, instructions), &to)
    }

    /// The charges of a site's ledger in this run.
    pub(crate) fn charges(&self, disk: &SimulatedDisk) -> usize {
        let log = Log::open(disk.copy()).unwrap();
        log.charges(&self.manifest.run()).unwrap().len().saturating_sub(1)
    }
}

/// A question for an attempt.
pub(crate) fn ask(round: u64, attempt: u64, query: &[u8]) -> Vec<Instruction> {
    vec![Instruction::Ask { at: Attempt { round, attempt }, query: query.to_vec() }]
}

/// What was said.
pub(crate) fn said(bytes: &[Vec<u8>]) -> Vec<Request> {
    bytes.iter().map(|bytes| UnverifiedContent::read(bytes).unwrap().claimed_request().unwrap()).collect()
}

/// The answer that was given.
pub(crate) fn update(bytes: &[Vec<u8>]) -> Update {
    match said(bytes).as_slice() {
        [Request::Update(update)] => update.clone(),
        other => panic!("an answer was expected: {other:?}"),
    }
}

/// Why nothing was answered.
pub(crate) fn declined(bytes: &[Vec<u8>]) -> DeclineReason {
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
pub(crate) fn entries(disk: &SimulatedDisk) -> Vec<LogEntry> {
    let mut all = Vec::new();
    Log::open(disk.copy()).unwrap().scan(&mut |_, entry| all.push(entry.clone())).unwrap();
    all
}

/// A real server in front of a store.
pub(crate) struct TestServer {
    pub(crate) script: ScriptedServer,
    pub(crate) store: MemoryStore,
    pub(crate) engine: RunEngine,
}

impl TestServer {
    /// A server that waits for signatures.
    pub(crate) fn signing(script: ScriptedServer) -> Self {
        let store = MemoryStore::new();
        let kept: Arc<dyn ServerStore> = Arc::new(store.clone());
        let (manifest, parts, key) = (script.manifest.clone(), script.parts.clone(), script.keys.server.clone());
        RunEngine::create(&kept, manifest.clone(), parts.clone(), key.clone(), 0).unwrap();
        let engine = RunEngine::open(kept, manifest, parts, key, PartyName::new("server").unwrap()).unwrap();
        Self { script, store, engine }
    }

    /// A server of a run that everybody has signed.
    pub(crate) fn running(script: ScriptedServer) -> Self {
        let mut front = Self::signing(script);
        let members: Vec<MemberId> = front.script.manifest.members().map(|(member, _)| member).collect();
        let signatures = front.script.signatures(&front.script.manifest);
        for (member, signature) in members.into_iter().zip(signatures) {
            if member != MemberId::Server {
                front.request(member, &Request::Agree { signature });
            }
        }
        front
    }

    /// What is kept.
    pub(crate) fn kept(&self) -> federation::coordinator::SavedRun {
        self.store.load(&self.script.manifest.run()).unwrap()
    }

    /// A member by its certificate.
    pub(crate) fn caller(&self, member: MemberId) -> (CallerIdentity, Arc<IdentityKey>) {
        let (role, (name, key)) = match member {
            MemberId::Site(site) => (PartyRole::Site, self.script.keys.sites[site].clone()),
            MemberId::Node(node) => {
                let (name, key, _) = self.script.keys.nodes[node as usize].clone();
                (PartyRole::Node, (name, key))
            }
            MemberId::Server => {
                (PartyRole::Server, (PartyName::new("server").unwrap(), self.script.keys.server.clone()))
            }
        };
        (CallerIdentity { role, name, key: key.public() }, key)
    }

    /// Signed bytes of a member's request.
    pub(crate) fn signed(&self, member: MemberId, request: &Request) -> Vec<u8> {
        let (CallerIdentity { role, name, .. }, key) = self.caller(member);
        let manifest = Some(self.script.manifest.digest());
        wire::sign(&key, &Sender { role, name, manifest }, request).0
    }

    /// What a member hears to a request.
    pub(crate) fn request(&mut self, member: MemberId, request: &Request) -> Vec<Instruction> {
        let bytes = self.signed(member, request);
        self.bytes(self.caller(member).0, &bytes)
    }

    /// What a caller hears to bytes.
    pub(crate) fn bytes(&mut self, caller: CallerIdentity, bytes: &[u8]) -> Vec<Instruction> {
        let (key, reply) = (self.script.keys.server.public(), self.reply(caller, bytes));
        let to = wire::content_digest(bytes).unwrap();
        UnverifiedContent::read(&reply).unwrap().reply(&key, &to).unwrap().instructions
    }

    /// The signed reply to bytes.
    pub(crate) fn reply(&mut self, caller: CallerIdentity, bytes: &[u8]) -> Vec<u8> {
        let (answers, _) = self.engine.take(&[Call::new(caller, &UnverifiedContent::read(bytes).unwrap())]);
        match answers.as_slice() {
            [CallOutcome::Reply(draft)] => draft.sign().encode_to_vec(),
            other => panic!("a reply was expected: {other:?}"),
        }
    }
}
