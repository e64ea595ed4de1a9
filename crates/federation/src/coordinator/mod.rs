//! The coordinator of a run as a state machine without I/O: a request and the time go in, a change to keep and
//! instructions come out.
//!
//! What a site is told is a function of what is kept ([`Coordinator::instruct`]), so that any replica of a server can say
//! it, any number of times. A driver keeps a [`Change`] durably before it sends the reply of the same step; if that fails it
//! drops this machine and loads another from what was kept.

mod answers;
mod change;
mod failures;
mod header;
mod replay;
mod rounds;
mod sums;

pub use change::{AcceptedAnswer, AnswerReceipt, Change, Fold, FoldInput};
pub use failures::{Failures, LostRound, MOST_LOST_ROUNDS, MOST_STRIKES, RECENT_ROUNDS, Strike, StrikeReason};
pub use header::{CoordinatorPhase, Header, PendingQuestion, SiteProgress, SiteStanding};
pub use replay::{SeeFold, refold};

use crate::identity::{IdentityKey, Signature};
use crate::log::{Position, RunId};
use crate::manifest::{self, Manifest, RunParts};
use crate::message::{
    Attempt, DeclineReason, Instruction, MemberId, RefusalCode, Request, RunOutcome, SealedMessage, Update,
};
use inference::algorithm::Protocol;
use inference::settings::Schedule;
use privacy::noise::Digest;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is kept of a run, as a coordinator is loaded from it.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedRun {
    /// Counts the changes that were kept.
    pub version: u64,
    /// The header.
    pub header: Header,
    /// The algorithm's state.
    pub state: Vec<u8>,
    /// The question that is asked now.
    pub query: Vec<u8>,
    /// Answers that were accepted and not folded yet.
    pub waiting: Vec<(usize, Update)>,
    /// The last receipt of each site that has one.
    pub receipts: Vec<AnswerReceipt>,
    /// Letters that have not arrived, by their numbers.
    pub letters: Vec<(u64, SealedMessage)>,
}

/// The server's side of one run: what was asked, what was answered, and the algorithm's state.
#[derive(Clone)]
pub struct Coordinator {
    manifest: Arc<Manifest>,
    /// The manifest's bytes, as everybody is to sign them.
    proposal: Vec<u8>,
    digest: Digest,
    run: RunId,
    parts: Arc<RunParts>,
    header: Header,
    state: Vec<u8>,
    query: Vec<u8>,
    /// What the question is known by: its digest.
    question: Digest,
    waiting: BTreeMap<usize, Update>,
    receipts: BTreeMap<usize, AnswerReceipt>,
    mail: BTreeMap<u64, SealedMessage>,
    key: Arc<IdentityKey>,
    /// What is awaited, and since when: after a restart a round has its whole time again.
    since: Option<AwaitedSince>,
}

/// What a run waits for, and when this process first saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedSince {
    /// Round, attempt at a sum, the site that was asked last, and how far the attempt is.
    pub awaited: [u64; 4],
    /// In milliseconds of this process's own clock.
    pub since: u64,
}

/// What a member knows already, by its own word: it is not told again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberReport {
    /// It has seen the signatures of all.
    pub begun: bool,
    /// What it is at.
    pub unsettled: Option<Attempt>,
    /// The number of the last message that it has read.
    pub mail: u64,
    /// A node has been told that no more contributions are awaited.
    pub closed: bool,
}

impl Default for MemberReport {
    fn default() -> Self {
        Self { begun: false, unsettled: None, mail: u64::MAX, closed: false }
    }
}

/// What a step gives.
#[derive(Debug, Default)]
pub struct CoordinatorStep {
    /// To be kept before the reply leaves.
    pub change: Change,
    /// The reply.
    pub reply: Vec<Instruction>,
}

impl CoordinatorStep {
    fn saying(reply: Vec<Instruction>) -> Self {
        Self { change: Change::default(), reply }
    }

    fn refusing(refusal: RefusalCode) -> Self {
        Self::saying(vec![Instruction::Refuse(refusal)])
    }
}

impl Coordinator {
    /// A new run, before anybody but the server has signed. It is to be kept before anybody hears of it. `seen` are the last
    /// places of the sites' logs that were seen in any run.
    pub fn new(
        manifest: Arc<Manifest>,
        parts: Arc<RunParts>,
        key: Arc<IdentityKey>,
        seen: Vec<Option<Position>>,
    ) -> Result<(Self, SavedRun), inference::RunError> {
        let server = key.sign(manifest::DOMAIN, &manifest.digest());
        let header = Header {
            phase: CoordinatorPhase::Signing,
            round: 0,
            folds: 0,
            arrivals: 0,
            turn: 0,
            sites: seen.into_iter().map(|seen| SiteProgress { seen, ..SiteProgress::default() }).collect(),
            nodes: vec![None; manifest.nodes.len()],
            server,
            session: 0,
            closing: false,
            letters: 0,
            failures: Failures::default(),
        };
        let state = parts.built.protocol.start()?;
        let query = parts.built.protocol.ask(&state)?;
        let saved = SavedRun {
            version: 0,
            header,
            state,
            query,
            waiting: Vec::new(),
            receipts: Vec::new(),
            letters: Vec::new(),
        };
        Ok((Self::load(manifest, parts, key, saved.clone()), saved))
    }

    /// The run as it was kept.
    pub fn load(manifest: Arc<Manifest>, parts: Arc<RunParts>, key: Arc<IdentityKey>, saved: SavedRun) -> Self {
        Self {
            proposal: manifest.bytes(),
            digest: manifest.digest(),
            run: manifest.run(),
            manifest,
            parts,
            header: saved.header,
            state: saved.state,
            question: Sha256::digest(&saved.query).into(),
            query: saved.query,
            waiting: saved.waiting.into_iter().collect(),
            receipts: saved.receipts.into_iter().map(|kept| (kept.site, kept)).collect(),
            mail: saved.letters.into_iter().collect(),
            key,
            since: None,
        }
    }

    /// Takes a request of a member whose certificate and signature were checked. `digest` is that of the signed content.
    pub fn handle(&mut self, member: MemberId, request: &Request, digest: Digest) -> CoordinatorStep {
        match member {
            MemberId::Site(site) => self.handle_site(site, request, digest),
            MemberId::Node(node) => self.handle_node(node, request),
            MemberId::Server => CoordinatorStep::refusing(RefusalCode::Malformed),
        }
    }

    fn handle_site(&mut self, site: usize, request: &Request, digest: Digest) -> CoordinatorStep {
        let Some(progress) = self.header.sites.get(site) else {
            return CoordinatorStep::refusing(RefusalCode::NotAMember);
        };
        if progress.standing == SiteStanding::Frozen {
            return CoordinatorStep::refusing(RefusalCode::Frozen);
        }
        let summing = self.is_summing();
        match request {
            Request::Attend { position, begun, unsettled, mail, .. } => {
                let mut change = self.renew_question(site);
                change.merge(self.polled(site, position.filter(|_| summing)));
                change.merge(self.delivered(MemberId::Site(site), *mail));
                let known = MemberReport { begun: *begun, unsettled: *unsettled, mail: *mail, closed: false };
                CoordinatorStep { change, reply: self.instruct(MemberId::Site(site), known) }
            }
            Request::Agree { signature } => self.sign(MemberId::Site(site), signature),
            Request::Decline { at, reason } => self.decline(site, *at, *reason),
            Request::Update(update) if !summing => self.accept(site, update, digest),
            Request::Letters(letters) if summing => self.post(MemberId::Site(site), letters),
            Request::Contributed { at, question, position } if summing => {
                self.contributed(site, *at, question, *position, digest)
            }
            _ => CoordinatorStep::refusing(RefusalCode::Malformed),
        }
    }

    /// A poll says how far a site's log is. Shares of an answer are only held after one that counts its charge.
    fn polled(&mut self, site: usize, position: Option<Position>) -> Change {
        let Some((progress, position)) = self.header.sites.get_mut(site).zip(position) else {
            return Change::default();
        };
        if progress.known().is_some_and(|known| known.sequence >= position.sequence) {
            return Change::default();
        }
        progress.polled = Some(position);
        let mut change = Change::header();
        change.heads.extend(self.manifest.sites.get(site).map(|member| (member.key, position)));
        change
    }

    fn handle_node(&mut self, node: u32, request: &Request) -> CoordinatorStep {
        if self.manifest.nodes.get(node as usize).is_none() {
            return CoordinatorStep::refusing(RefusalCode::NotAMember);
        }
        match request {
            Request::Attend { begun, unsettled, mail, closed, .. } => {
                let change = self.delivered(MemberId::Node(node), *mail);
                let known = MemberReport { begun: *begun, unsettled: *unsettled, mail: *mail, closed: *closed };
                CoordinatorStep { change, reply: self.instruct(MemberId::Node(node), known) }
            }
            Request::Agree { signature } => self.sign(MemberId::Node(node), signature),
            Request::Letters(letters) => self.post(MemberId::Node(node), letters),
            Request::Standing { at, state } => self.standing(node, *at, *state),
            _ => CoordinatorStep::refusing(RefusalCode::Malformed),
        }
    }

    /// What a member is to do, as far as what is kept says.
    pub fn instruct(&self, member: MemberId, known: MemberReport) -> Vec<Instruction> {
        let signed = match member {
            MemberId::Site(site) => self.header.sites.get(site).map(|progress| progress.signature.is_some()),
            MemberId::Node(node) => self.header.nodes.get(node as usize).map(Option::is_some),
            MemberId::Server => None,
        };
        let Some(signed) = signed else { return vec![Instruction::Refuse(RefusalCode::NotAMember)] };
        if self.header.phase == CoordinatorPhase::Signing {
            return vec![if signed {
                Instruction::Rest
            } else {
                Instruction::Propose { manifest: self.proposal.clone() }
            }];
        }
        let mut all = Vec::new();
        if !known.begun {
            all.push(Instruction::Propose { manifest: self.proposal.clone() });
            all.push(Instruction::Begin { signatures: self.signatures() });
        }
        if let (MemberId::Site(site), Some(at)) = (member, known.unsettled) {
            all.extend(self.settlement(site, at));
        }
        match self.header.phase {
            CoordinatorPhase::Finished(outcome) => all.push(Instruction::Finished(outcome)),
            CoordinatorPhase::Signing | CoordinatorPhase::Running => all.extend(self.task(member, known)),
        }
        if all.is_empty() {
            all.push(Instruction::Rest);
        }
        all
    }

    /// What a member of a run that is under way is to do.
    fn task(&self, member: MemberId, known: MemberReport) -> Vec<Instruction> {
        let first = match member {
            MemberId::Site(site) => {
                let asked = self.header.sites.get(site).and_then(|progress| progress.asked.as_ref());
                let fresh = asked.filter(|asked| known.unsettled != Some(asked.at));
                fresh.map(|asked| Instruction::Ask { at: asked.at, query: self.query.clone() })
            }
            MemberId::Node(_) => {
                let (at, close) = (self.present(), self.header.closing);
                let fresh = known.unsettled != Some(at) || known.closed != close;
                fresh.then(|| Instruction::Session { at, query: self.query.clone(), close })
            }
            MemberId::Server => None,
        };
        first.into_iter().chain(self.mail_for(member, known.mail)).collect()
    }

    /// What became of an answer, if that is known.
    fn settlement(&self, site: usize, at: Attempt) -> Option<Instruction> {
        let kept = self.receipts.get(&site).filter(|kept| kept.at == at)?;
        Some(Instruction::Receipt { at, applied: kept.applied.clone() })
    }

    /// The signatures of all, as far as they are there.
    pub fn signatures(&self) -> Vec<Signature> {
        let sites = self.header.sites.iter().filter_map(|progress| progress.signature.clone());
        let nodes = self.header.nodes.iter().flatten().cloned();
        sites.chain(nodes).chain([self.header.server.clone()]).collect()
    }

    /// Takes a member's signature of the manifest; the last one begins the run.
    pub fn sign(&mut self, member: MemberId, signature: &Signature) -> CoordinatorStep {
        let fits =
            self.manifest.key(member).is_some_and(|key| key.verify(manifest::DOMAIN, &self.digest, signature).is_ok());
        if !fits {
            return CoordinatorStep::refusing(RefusalCode::Signature);
        }
        let place = match member {
            MemberId::Site(site) => self.header.sites.get_mut(site).map(|progress| &mut progress.signature),
            MemberId::Node(node) => self.header.nodes.get_mut(node as usize),
            MemberId::Server => None,
        };
        let Some(place) = place else { return CoordinatorStep::refusing(RefusalCode::NotAMember) };
        let mut change = Change { dirty: place.is_none(), ..Change::default() };
        if place.is_none() {
            *place = Some(signature.clone());
        }
        let all = self.header.sites.iter().all(|progress| progress.signature.is_some())
            && self.header.nodes.iter().all(Option::is_some);
        if self.header.phase == CoordinatorPhase::Signing && all {
            self.header.phase = CoordinatorPhase::Running;
            change.merge(Change::waking());
            change.merge(self.begin_round());
        }
        CoordinatorStep { change, reply: self.instruct(member, MemberReport::default()) }
    }

    /// A site will not answer.
    fn decline(&mut self, site: usize, at: Attempt, reason: DeclineReason) -> CoordinatorStep {
        let summing = self.is_summing();
        let Some(progress) = self.header.sites.get_mut(site) else {
            return CoordinatorStep::refusing(RefusalCode::NotAMember);
        };
        if progress.asked.is_none_or(|asked| asked.at != at) {
            return CoordinatorStep::saying(vec![Instruction::Rest]);
        }
        match reason {
            // An attempt at a sum is one for all: who has lost it is out of it.
            DeclineReason::Lapsed if summing => progress.asked = None,
            DeclineReason::Lapsed => {
                progress.attempt = at.attempt.saturating_add(1);
                if let Some(asked) = &mut progress.asked {
                    asked.at.attempt = progress.attempt;
                }
            }
            DeclineReason::Spent => (progress.standing, progress.asked) = (SiteStanding::Spent, None),
            DeclineReason::Refused | DeclineReason::Stopped | DeclineReason::OtherQuestion | DeclineReason::Behind => {
                (progress.standing, progress.asked) = (SiteStanding::Withdrawn, None)
            }
        }
        let mut change = Change::header();
        change.merge(self.advance());
        CoordinatorStep {
            change,
            reply: self.instruct(MemberId::Site(site), MemberReport { begun: true, ..MemberReport::default() }),
        }
    }

    fn protocol(&self) -> &dyn Protocol {
        self.parts.built.protocol.as_ref()
    }

    fn is_asynchronous(&self) -> bool {
        matches!(self.parts.method.schedule, Schedule::Asynchronous(_))
    }

    /// Ends the run with this outcome; open questions may still be answered, and count as late.
    fn finish(&mut self, outcome: RunOutcome) -> Change {
        self.header.phase = CoordinatorPhase::Finished(outcome);
        self.header.sites.iter_mut().for_each(SiteProgress::pass_over);
        Change::waking()
    }

    /// What the question is known by.
    fn question(&self) -> Digest {
        self.question
    }

    /// When this round began, by the clock of this process.
    pub fn since(&self) -> Option<AwaitedSince> {
        self.since
    }

    /// The same run, with what this process knows of the time.
    #[must_use]
    pub fn with_since(self, since: Option<AwaitedSince>) -> Self {
        Self { since, ..self }
    }

    /// The header, to be kept with a change.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The algorithm's state.
    pub fn state(&self) -> &[u8] {
        &self.state
    }

    /// The manifest.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// Digest of the manifest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The parts of the run.
    pub fn parts(&self) -> &Arc<RunParts> {
        &self.parts
    }
}
