//! A compute node in one run: it holds shares of secure sums, and publishes its part of a noised total once.
//!
//! The sums themselves are the machines of [`privacy::secure_sum`]; here they meet a disk, sealed messages, and the server's word on
//! which attempt is under way. What a machine asks to be kept is durable before what stands after it is sent; and so is a renunciation
//! before anybody hears of it.

use crate::identity::{IdentityKey, PartyRole, SealingKey};
use crate::log::{Disk, DiskError, Frame, RunId};
use crate::manifest::{Manifest, RunParts};
use crate::message::{Attempt, Instruction, MemberId, NodeState, Request, RunOutcome, SealedMessage};
use crate::sealed_message::SealedChannel;
use crate::wire::{self, Sender};
use privacy::noise::{Digest, NoiseContext, OsKeyed};
use privacy::secure_sum::{
    Body, ClientSet, Message, Node, NodeProgress, NodeRecord, Renunciation, SumEffect, SumError, SumParty, SumSession,
};
use privacy::{Assembly, PrivacyError};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use study::digits::hexadecimal;

/// The file of a record: one that was altered could let a session be opened again, with other noise.
const RECORD: Frame = Frame { magic: *b"POSTSUMS", version: 2 };

/// Everything that a node needs for a run, but its disk.
pub struct NodeOpening {
    /// The manifest, which the node has checked and signed.
    pub manifest: Arc<Manifest>,
    /// The run's parts, as the node has built them for itself.
    pub parts: Arc<RunParts>,
    /// The node's number in the manifest.
    pub number: u32,
    /// The node's key.
    pub key: Arc<IdentityKey>,
    /// The node's key for shares.
    pub sealing: Arc<SealingKey>,
    /// Where its noise comes from.
    pub source: OsKeyed,
}

/// A node in a run that has begun.
pub struct ComputeNode<D: Disk> {
    manifest: Arc<Manifest>,
    digest: Digest,
    run: RunId,
    parts: Arc<RunParts>,
    number: u32,
    key: Arc<IdentityKey>,
    sealing: Arc<SealingKey>,
    source: OsKeyed,
    disk: D,
    record: Option<NodeRecord>,
    sum: Option<NodeSession>,
    /// The last attempt in which this node takes no part any more, and what it says of that.
    aside: Option<StandingAside>,
    mail: u64,
    finished: Option<RunOutcome>,
}

/// One attempt at one sum.
struct NodeSession {
    at: Attempt,
    question: Digest,
    assembly: Assembly,
    machine: Node,
    /// It was told that no more contributions are awaited.
    closed: bool,
}

/// What a node says that was asked for an attempt in which it takes no part.
#[derive(Debug, Clone, Copy)]
struct StandingAside {
    asked: Attempt,
    /// The attempt that it reports on: another one of the round if it has published there.
    at: Attempt,
    state: NodeState,
}

impl StandingAside {
    fn request(self) -> Request {
        Request::Standing { at: self.at, state: self.state }
    }
}

/// Why a node cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// The disk failed: what is kept is unknown, and the node is to be started again.
    #[error("the node cannot store its record: {0}")]
    Disk(#[from] DiskError),
    /// What is kept cannot be read.
    #[error(
        "the node's record of the run cannot be read; the shares that it held are lost, and the run needs another node"
    )]
    Damaged,
}

impl<D: Disk> ComputeNode<D> {
    /// Begins a run, or takes it up again from what the disk holds.
    pub fn open(opening: NodeOpening, disk: D) -> Result<Self, NodeError> {
        let NodeOpening { manifest, parts, number, key, sealing, source } = opening;
        let (run, digest) = (manifest.run(), manifest.digest());
        let record = match disk.read(&file_of(&run))? {
            None => None,
            Some(bytes) => Some(read_record(&bytes).ok_or(NodeError::Damaged)?),
        };
        Ok(Self {
            manifest,
            digest,
            run,
            parts,
            number,
            key,
            sealing,
            source,
            disk,
            record,
            sum: None,
            aside: None,
            mail: 0,
            finished: None,
        })
    }

    /// What a poll says of this node.
    pub fn attend(&self, wait: u32) -> Request {
        let sum = self.sum.as_ref();
        let (unsettled, closed) = match (sum, self.aside) {
            (Some(sum), _) => (Some(sum.at), sum.closed),
            (None, aside) => (aside.map(|aside| aside.asked), false),
        };
        Request::Attend { position: None, wait, begun: true, unsettled, mail: self.mail, closed }
    }

    /// Signed bytes of a request of this node.
    pub fn sign(&self, request: &Request) -> Vec<u8> {
        let name = self.manifest.nodes.get(self.number as usize).map(|node| node.name.clone());
        match name {
            Some(name) => {
                let sender = Sender { role: PartyRole::Node, name, manifest: Some(self.digest) };
                wire::sign(&self.key, &sender, request).0
            }
            None => Vec::new(),
        }
    }

    /// Takes an instruction, and gives the signed bytes that are to be sent.
    pub fn handle(&mut self, instruction: &Instruction) -> Result<Vec<Vec<u8>>, NodeError> {
        let requests = match instruction {
            Instruction::Session { at, query, close } => self.sit(*at, query, *close)?,
            Instruction::Mail(mail) => self.read(mail)?,
            Instruction::Finished(outcome) => {
                (self.finished, self.sum) = (Some(*outcome), None);
                Vec::new()
            }
            _ => Vec::new(),
        };
        Ok(requests.iter().map(|request| self.sign(request)).collect())
    }

    /// What the others may not have got yet, after a silence or a new connection.
    pub fn again(&mut self) -> Result<Vec<Vec<u8>>, NodeError> {
        let effects = self.sum.as_ref().map_or_else(Vec::new, |sum| sum.machine.unconfirmed());
        let mut requests = self.carry_out(effects)?;
        if let (None, Some(aside)) = (&self.sum, self.aside) {
            requests.push(aside.request());
        }
        Ok(requests.iter().map(|request| self.sign(request)).collect())
    }

    /// Takes part in an attempt: starts or resumes it, and closes it when told.
    fn sit(&mut self, at: Attempt, query: &[u8], close: bool) -> Result<Vec<Request>, NodeError> {
        if let Some(aside) = self.aside.filter(|aside| aside.asked == at) {
            return Ok(vec![aside.request()]);
        }
        let mut requests = Vec::new();
        if self.sum.as_ref().is_none_or(|sum| sum.at < at) {
            match self.start(at, query)? {
                Ok(first) => requests.extend(first),
                Err(refused) => return self.stand_aside(at, query, &refused),
            }
        }
        let Some(sum) = self.sum.as_mut().filter(|sum| sum.at == at) else { return Ok(requests) };
        if close {
            sum.closed = true;
            let session = sum.assembly.session(self.run, at.round, at.attempt);
            let told = sum.machine.handle(SumParty::Coordinator, Message { session, body: Body::Close });
            match told {
                Ok(effects) => requests.extend(self.carry_out(effects)?),
                Err(_) => requests.extend(self.renounce(at)?),
            }
        }
        Ok(requests)
    }

    /// Starts an attempt, or takes up what was kept of it; or says why it cannot be.
    fn start(&mut self, at: Attempt, query: &[u8]) -> Result<Result<Vec<Request>, PrivacyError>, NodeError> {
        self.sum = None;
        let question: Digest = Sha256::digest(query).into();
        let terms = self.parts.built.sum_terms(query).ok().flatten();
        let assembly = terms.and_then(|terms| self.parts.built.summing.assembly(terms).ok().flatten());
        let Some(assembly) = assembly else {
            let (found, expected) = ("a question without a sum".into(), "one of the study's".into());
            return Ok(Err(PrivacyError::Shape { found, expected }));
        };
        let session = assembly.session(self.run, at.round, at.attempt);
        let context = NoiseContext {
            run: self.run,
            site: u64::MAX,
            round: at.round,
            attempt: at.attempt,
            query: question,
            ledger_head: Digest::default(),
            data_version: Digest::default(),
        };
        let last = self.record.as_ref();
        match Node::start(&assembly, &session, self.number, last, &mut self.source, &context) {
            Err(refused) => Ok(Err(refused)),
            Ok((machine, effects)) => {
                self.sum = Some(NodeSession { at, question, assembly, machine, closed: false });
                self.carry_out(effects).map(Ok)
            }
        }
    }

    /// The machine of this attempt has given it up: that is on record before it is told.
    fn renounce(&mut self, at: Attempt) -> Result<Vec<Request>, NodeError> {
        let Some(kept) = self.sum.as_ref().and_then(|sum| sum.machine.renounced()) else { return Ok(Vec::new()) };
        let SumEffect::Persist(NodeRecord { progress: NodeProgress::Renounced(why), .. }) = kept else {
            return Ok(Vec::new());
        };
        self.carry_out(vec![kept])?;
        self.sum = None;
        Ok(self.stand_for(at, at, NodeState::Renounced(why)))
    }

    /// An attempt that cannot be taken part in: what is on record already is told, or a renunciation is put there.
    fn stand_aside(&mut self, at: Attempt, query: &[u8], refused: &PrivacyError) -> Result<Vec<Request>, NodeError> {
        let why = match refused {
            PrivacyError::Sum(SumError::Published { round, attempt, .. }) => {
                let published = Attempt { round: *round, attempt: *attempt };
                return Ok(self.stand_for(at, published, NodeState::Published));
            }
            PrivacyError::Sum(error) => Renunciation::of(error),
            _ => Renunciation::Terms,
        };
        let clients = self.manifest.sites.len() as u64;
        let last = self.record.clone();
        let of_round = last.filter(|last| last.session.round == at.round);
        // A record of a later attempt is word enough that nothing is published in this one; one of a later round says nothing of it.
        let later = self.record.as_ref().map(|last| (last.session.round, last.session.attempt));
        if later.is_some_and(|later| later > (at.round, at.attempt)) {
            return Ok(match of_round {
                Some(_) => self.stand_for(at, at, NodeState::Renounced(why)),
                None => Vec::new(),
            });
        }
        let same = of_round.as_ref().filter(|last| last.session.attempt == at.attempt);
        let other = SumSession { run: self.run, round: at.round, attempt: at.attempt, manifest: Digest::default() };
        let record = NodeRecord {
            session: same.map_or(other, |last| last.session),
            question: of_round.as_ref().map_or_else(|| Sha256::digest(query).into(), |last| last.question),
            node: self.number,
            progress: NodeProgress::Renounced(why),
            held: ClientSet::none(clients),
        };
        self.carry_out(vec![SumEffect::Persist(record)])?;
        match self.record.as_ref().map(|kept| &kept.progress) {
            Some(NodeProgress::Renounced(why)) => {
                let state = NodeState::Renounced(*why);
                Ok(self.stand_for(at, at, state))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Says how this node stands in an attempt in which it takes no part any more.
    fn stand_for(&mut self, asked: Attempt, at: Attempt, state: NodeState) -> Vec<Request> {
        let aside = StandingAside { asked, at, state };
        self.aside = Some(aside);
        vec![aside.request()]
    }

    /// Reads messages of this attempt. A message that its sender did not sign, or that is malformed, is ignored.
    fn read(&mut self, mail: &[(u64, SealedMessage)]) -> Result<Vec<Request>, NodeError> {
        let mut requests = Vec::new();
        for (number, letter) in mail {
            self.mail = self.mail.max(*number);
            let Some(sum) = self.sum.as_ref() else { continue };
            let channel = self.channel(sum);
            let Ok((from, message)) = channel.read(letter, &sum.assembly, Some(&self.sealing)) else { continue };
            let at = sum.at;
            let Some(sum) = self.sum.as_mut() else { continue };
            match sum.machine.handle(from, message) {
                Ok(effects) => requests.extend(self.carry_out(effects)?),
                Err(error) if sum.machine.missing() == Some(error.clone()) => requests.extend(self.renounce(at)?),
                Err(_) => {}
            }
        }
        Ok(requests)
    }

    /// Keeps and sends, in the order of the list: what stands after a record is not sent before the record is durable, and
    /// not at all if it may not stand there.
    fn carry_out(&mut self, effects: Vec<SumEffect>) -> Result<Vec<Request>, NodeError> {
        let mut letters = Vec::new();
        for effect in effects {
            match effect {
                SumEffect::Persist(record) => {
                    let mut kept = self.record.clone();
                    if record.replace(&mut kept).is_err() {
                        break;
                    }
                    if let (Some(record), true) = (&kept, kept != self.record) {
                        let bytes = postcard::to_allocvec(record).map_err(|_| NodeError::Damaged)?;
                        self.disk.replace(&file_of(&self.run), &RECORD.around(&bytes))?;
                    }
                    self.record = kept;
                }
                SumEffect::Send { to, message } => {
                    let Some(sum) = self.sum.as_ref() else { continue };
                    letters.extend(self.channel(sum).write(to, &message).ok());
                }
                SumEffect::Opened { .. } => {}
            }
        }
        Ok(if letters.is_empty() { Vec::new() } else { vec![Request::Letters(letters)] })
    }

    fn channel(&self, sum: &NodeSession) -> SealedChannel<'_> {
        SealedChannel {
            own: MemberId::Node(self.number),
            key: &self.key,
            manifest: &self.manifest,
            digest: self.digest,
            at: sum.at,
            question: sum.question,
        }
    }

    /// The manifest.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// How the run ended, once it has.
    pub fn finished(&self) -> Option<RunOutcome> {
        self.finished
    }

    /// Gives the disk back, as after a crash.
    pub fn into_disk(self) -> D {
        self.disk
    }
}

/// The file of a run's record.
fn file_of(run: &RunId) -> String {
    format!("sum-{}", hexadecimal(run))
}

fn read_record(bytes: &[u8]) -> Option<NodeRecord> {
    match postcard::take_from_bytes(RECORD.content(bytes).ok()?) {
        Ok((record, [])) => Some(record),
        _ => None,
    }
}
