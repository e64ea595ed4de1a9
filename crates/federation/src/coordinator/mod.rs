//! The coordinator of a run as a state machine without I/O: a request and the time go in, a change to keep and
//! instructions come out.
//!
//! What a site is told is a function of what is kept ([`Coordinator::instruct`]), so that any replica of a server can say
//! it, any number of times. A driver keeps a [`Change`] durably before it sends the reply of the same step; if that fails it
//! drops this machine and loads another from what was kept.

mod change;
mod header;
mod rounds;

pub use change::{Accepted, Change, Fold, Folded, Kept};
pub use header::{Asked, Header, Phase, Seat, SeatStanding};

use crate::identity::Signature;
use crate::manifest::{self, Manifest, Programme};
use crate::message::{Instruction, Letter, Member, Outcome, Reason, Refusal, Request, Try, Update};
use header::Belongs;
use inference::Summing;
use inference::algorithm::{Answers, Protocol};
use inference::settings::{Schedule, Scheme};
use privacy::noise::Digest;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is kept of a run, as a coordinator is loaded from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
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
    pub receipts: Vec<Kept>,
    /// Letters that have not arrived, by their numbers.
    pub letters: Vec<(u64, Letter)>,
}

/// One run.
#[derive(Clone)]
pub struct Coordinator {
    manifest: Arc<Manifest>,
    digest: Digest,
    programme: Arc<Programme>,
    header: Header,
    state: Vec<u8>,
    query: Vec<u8>,
    waiting: BTreeMap<usize, Update>,
    receipts: BTreeMap<usize, Kept>,
    /// When this round began, by the clock of this process: after a restart a round has its whole time again.
    since: Option<u64>,
}

/// What a step gives.
#[derive(Debug, Default)]
pub struct Step {
    /// To be kept before the reply leaves.
    pub change: Change,
    /// The reply.
    pub reply: Vec<Instruction>,
}

impl Step {
    fn saying(reply: Vec<Instruction>) -> Self {
        Self { change: Change::default(), reply }
    }

    fn refusing(refusal: Refusal) -> Self {
        Self::saying(vec![Instruction::Refuse(refusal)])
    }
}

impl Coordinator {
    /// A new run, before anybody but the server has signed. It is to be kept before anybody hears of it.
    pub fn new(
        manifest: Arc<Manifest>,
        programme: Arc<Programme>,
        server: Signature,
    ) -> Result<(Self, Saved), inference::RunError> {
        let header = Header {
            phase: Phase::Signing,
            round: 0,
            folds: 0,
            arrivals: 0,
            turn: 0,
            seats: vec![Seat::default(); manifest.sites.len()],
            nodes: vec![None; manifest.nodes.len()],
            server,
            session: 0,
        };
        let state = programme.built.protocol.start()?;
        let query = programme.built.protocol.ask(&state)?;
        let saved =
            Saved { version: 0, header, state, query, waiting: Vec::new(), receipts: Vec::new(), letters: Vec::new() };
        Ok((Self::load(manifest, programme, saved.clone()), saved))
    }

    /// The run as it was kept.
    pub fn load(manifest: Arc<Manifest>, programme: Arc<Programme>, saved: Saved) -> Self {
        Self {
            digest: manifest.digest(),
            manifest,
            programme,
            header: saved.header,
            state: saved.state,
            query: saved.query,
            waiting: saved.waiting.into_iter().collect(),
            receipts: saved.receipts.into_iter().map(|kept| (kept.site, kept)).collect(),
            since: None,
        }
    }

    /// Takes a request of a site whose certificate and signature were checked. `digest` is that of the signed bytes.
    pub fn handle(&mut self, site: usize, request: &Request, digest: Digest) -> Step {
        let Some(seat) = self.header.seats.get(site) else { return Step::refusing(Refusal::NotAMember) };
        if seat.standing == SeatStanding::Frozen {
            return Step::refusing(Refusal::Frozen);
        }
        match request {
            Request::Attend { begun, unsettled, .. } => {
                let change = self.renew_question(site);
                Step { change, reply: self.instruct(site, *begun, *unsettled) }
            }
            Request::Agree { signature } => self.sign(Member::Site(site), signature),
            Request::Decline { at, reason } => self.decline(site, *at, *reason),
            Request::Update(update) => self.accept(site, update, digest),
            _ => Step::refusing(Refusal::Malformed),
        }
    }

    /// What a site is to do, as far as what is kept says.
    pub fn instruct(&self, site: usize, begun: bool, unsettled: Option<Try>) -> Vec<Instruction> {
        let Some(seat) = self.header.seats.get(site) else { return vec![Instruction::Refuse(Refusal::NotAMember)] };
        if self.header.phase == Phase::Signing {
            return vec![match seat.signature {
                None => Instruction::Propose { manifest: self.manifest.bytes() },
                Some(_) => Instruction::Rest,
            }];
        }
        let mut all = Vec::new();
        if !begun {
            all.push(Instruction::Propose { manifest: self.manifest.bytes() });
            all.push(Instruction::Begin { signatures: self.signatures() });
        }
        if let Some(at) = unsettled {
            all.extend(self.settlement(site, at));
        }
        match (self.header.phase, &seat.asked) {
            (Phase::Finished(outcome), _) => all.push(Instruction::Finished(outcome)),
            (_, Some(asked)) => all.push(Instruction::Ask { at: asked.at, query: self.query.clone() }),
            (_, None) => {}
        }
        if all.is_empty() {
            all.push(Instruction::Rest);
        }
        all
    }

    /// What became of an answer, if that is known.
    fn settlement(&self, site: usize, at: Try) -> Option<Instruction> {
        let kept = self.receipts.get(&site).filter(|kept| kept.at == at)?;
        Some(Instruction::Receipt { at, applied: kept.applied.clone() })
    }

    /// The signatures of all, as far as they are there.
    fn signatures(&self) -> Vec<Signature> {
        let sites = self.header.seats.iter().filter_map(|seat| seat.signature.clone());
        let nodes = self.header.nodes.iter().flatten().cloned();
        sites.chain(nodes).chain([self.header.server.clone()]).collect()
    }

    /// Takes a member's signature of the manifest; the last one begins the run.
    pub fn sign(&mut self, member: Member, signature: &Signature) -> Step {
        let fits =
            self.manifest.key(member).is_some_and(|key| key.verify(manifest::DOMAIN, &self.digest, signature).is_ok());
        if !fits {
            return Step::refusing(Refusal::Signature);
        }
        let place = match member {
            Member::Site(site) => self.header.seats.get_mut(site).map(|seat| &mut seat.signature),
            Member::Node(node) => self.header.nodes.get_mut(node as usize),
            Member::Server => None,
        };
        let Some(place) = place else { return Step::refusing(Refusal::NotAMember) };
        let mut change = Change { dirty: place.is_none(), ..Change::default() };
        if place.is_none() {
            *place = Some(signature.clone());
        }
        let all = self.header.seats.iter().all(|seat| seat.signature.is_some())
            && self.header.nodes.iter().all(Option::is_some);
        if self.header.phase == Phase::Signing && all {
            self.header.phase = Phase::Running;
            change.merge(self.begin_round());
        }
        let reply = match member {
            Member::Site(site) => self.instruct(site, false, None),
            _ => vec![Instruction::Rest],
        };
        Step { change, reply }
    }

    /// A site will not answer.
    fn decline(&mut self, site: usize, at: Try, reason: Reason) -> Step {
        let Some(seat) = self.header.seats.get_mut(site) else { return Step::refusing(Refusal::NotAMember) };
        if seat.asked.is_none_or(|asked| asked.at != at) {
            return Step::saying(vec![Instruction::Rest]);
        }
        match reason {
            Reason::Lapsed => {
                seat.attempt = at.attempt.saturating_add(1);
                if let Some(asked) = &mut seat.asked {
                    asked.at.attempt = seat.attempt;
                }
            }
            Reason::Spent => (seat.standing, seat.asked) = (SeatStanding::Spent, None),
            Reason::Refused | Reason::Stopped => (seat.standing, seat.asked) = (SeatStanding::Withdrawn, None),
        }
        let mut change = Change::header();
        change.merge(self.advance());
        Step { change, reply: self.instruct(site, true, None) }
    }

    /// Takes an answer: checked first, then accepted, then folded when its schedule says so.
    fn accept(&mut self, site: usize, update: &Update, digest: Digest) -> Step {
        let Some(seat) = self.header.seats.get(site) else { return Step::refusing(Refusal::NotAMember) };
        match seat.accepted {
            Some((at, known)) if at == update.at && known == digest => return self.say_again(site, update.at),
            Some((at, _)) if at == update.at => return self.freeze(site),
            Some((at, _)) if update.at < at => return Step::refusing(Refusal::NotAsked),
            _ => {}
        }
        let Some(belongs) = seat.question(update.at, &update.question) else {
            return Step::refusing(Refusal::NotAsked);
        };
        if seat.seen.is_some_and(|seen| update.position.sequence <= seen.sequence) {
            // Every charge is a new record of the site's log: one that is not after the last that came is of another copy.
            return self.freeze(site);
        }
        let protocol = self.protocol();
        if protocol.fold(&self.state, &Answers::Each(vec![(site, update.answer.clone())])).is_err() {
            return Step::refusing(Refusal::Shape);
        }
        let mut change = Change::header();
        change.accepted.push(Accepted { site, update: update.clone(), digest });
        if let Some(seat) = self.header.seats.get_mut(site) {
            seat.accepted = Some((update.at, digest));
            seat.seen = Some(update.position);
            seat.earlier.retain(|asked| asked.at > update.at);
            if belongs == Belongs::Now {
                seat.asked = None;
            }
        }
        match belongs {
            _ if self.header.phase != Phase::Running => change.receipts.push(self.too_late(site, update.at)),
            Belongs::Earlier if !self.takes_late() => change.receipts.push(self.too_late(site, update.at)),
            // Its change adds, whatever the state is by now; the question of this round stays.
            Belongs::Earlier if !self.is_asynchronous() => change.merge(self.fold(vec![(site, update.clone())])),
            Belongs::Now | Belongs::Earlier => {
                self.waiting.insert(site, update.clone());
            }
        }
        change.merge(self.advance());
        let reply = match self.settlement(site, update.at) {
            Some(receipt) => vec![receipt],
            None => vec![Instruction::Held { at: update.at }],
        };
        Step { change, reply }
    }

    /// The reply to an answer that was accepted before: the same.
    fn say_again(&self, site: usize, at: Try) -> Step {
        Step::saying(vec![self.settlement(site, at).unwrap_or(Instruction::Held { at })])
    }

    /// Two copies of a site are alive: nothing more is taken from it, and an operator has to look.
    fn freeze(&mut self, site: usize) -> Step {
        if let Some(seat) = self.header.seats.get_mut(site) {
            (seat.standing, seat.asked) = (SeatStanding::Frozen, None);
        }
        let mut change = Change::header();
        change.merge(self.advance());
        Step { change, reply: vec![Instruction::Refuse(Refusal::Conflict)] }
    }

    fn too_late(&mut self, site: usize, at: Try) -> Kept {
        let kept = Kept { site, at, applied: None };
        self.receipts.insert(site, kept.clone());
        kept
    }

    /// Whether an answer to an earlier question can still be folded: changes of PVI add, whatever they were made from.
    fn takes_late(&self) -> bool {
        self.programme.method.scheme == Scheme::Pvi && self.programme.built.summing == Summing::Nobody
    }

    fn protocol(&self) -> &dyn Protocol {
        self.programme.built.protocol.as_ref()
    }

    fn is_asynchronous(&self) -> bool {
        matches!(self.programme.method.schedule, Schedule::Asynchronous(_))
    }

    /// The run ends.
    fn finish(&mut self, outcome: Outcome) -> Change {
        self.header.phase = Phase::Finished(outcome);
        self.header.seats.iter_mut().for_each(Seat::pass_over);
        Change::header()
    }

    /// What the question is known by.
    fn question(&self) -> Digest {
        Sha256::digest(&self.query).into()
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
    pub fn programme(&self) -> &Arc<Programme> {
        &self.programme
    }
}
