//! The agent of a site in one run: what it does with each instruction, and in which order.
//!
//! The order is the point: policy and budget, then the charge in the log, durable, then the noise key, the answer, the
//! outbox in the log, durable, and only then the bytes that are sent. What is sent again is what was kept; a charge of which nothing
//! was sent before a crash is answered under again, with fresh noise. In secure sums a round is charged once, whatever the attempts.
//!
//! The machine does no I/O of its own: the log is over any [`Disk`], and what is to be sent is returned. After an error of
//! the log it must be dropped, and another be resumed from what the disk holds.

mod charge;
mod contribution;
mod resume;

pub use resume::AgentOpening;

use crate::identity::IdentityKey;
use crate::log::{Disk, Log, LogEntry, LogError, MemorySnapshot, Position, RunAttempt, RunId};
use crate::manifest::{Manifest, RunParts};
use crate::message::{Attempt, DeclineReason, Instruction, RefusalCode, Request, RunOutcome, Update};
use crate::wire::{self, Sender};
use charge::{Coverage, SiteChargeAndGate};
use contribution::{ChargedRound, ShareContribution};
use inference::settings::Schedule;
use inference::{Member, Shard, Summing};
use privacy::noise::{Digest, NoiseContext, OsKeyed};
use privacy::{Assembly, GridVector, Outgoing};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// A site in a run that has begun.
pub struct Agent<D: Disk> {
    site: usize,
    run: RunId,
    manifest: Arc<Manifest>,
    sender: Sender,
    parts: Arc<RunParts>,
    shard: Arc<Shard>,
    data_version: Digest,
    key: Arc<IdentityKey>,
    source: OsKeyed,
    log: Log<D>,
    member: Member,
    /// The answer that was sent, or is to be, and has no receipt yet: these bytes and no others.
    outbox: Option<(Attempt, Vec<u8>)>,
    /// What is contributed to the sum of the present round. It is nowhere kept: who goes down has dropped out of the attempt.
    contribution: Option<ShareContribution>,
    /// The round of a sum that was charged last.
    round: Option<ChargedRound>,
    /// A charge of before the last restart, for an answer that was never sent.
    unsent: Option<Attempt>,
    /// The number of the last message that was read.
    mail: u64,
    /// The last attempt that was begun.
    last: Option<Attempt>,
    /// How often the present round was charged, where answers are released at the site's gate.
    charges: RoundCharges,
    stopped: Option<StopReason>,
    finished: Option<RunOutcome>,
}

/// Most charges of one round where answers are released at the site's gate: each is for another question, or for one that the server
/// says to have no answer to. A site trusts nobody with that number.
pub const MOST_CHARGES: u64 = 3;

/// The last round that was charged, and how often. Rounds never go back.
#[derive(Debug, Clone, Copy, Default)]
struct RoundCharges {
    round: u64,
    count: u64,
}

impl RoundCharges {
    fn of(self, round: u64) -> u64 {
        if self.round == round { self.count } else { 0 }
    }

    fn note(&mut self, round: u64) {
        *self = Self { round, count: self.of(round).saturating_add(1) };
    }
}

/// Which of the answers under a charge is made.
#[derive(Debug, Clone, Copy)]
enum AnswerKind {
    /// The first one, which is charged.
    First,
    /// One in the place of an answer that was lost with the process that made it.
    Anew,
}

/// Why an agent answers no more until somebody has looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// The server has countersigned a record that this log does not have.
    #[error("the server has seen record {sequence} of this site's ledger, but the ledger here does not have it")]
    RolledBack {
        /// The record.
        sequence: u64,
    },
    /// The server says that it has accepted other bytes for the same attempt.
    #[error("the server refuses this site: {0}")]
    Refused(RefusalCode),
    /// What the server says that it applied cannot be.
    #[error("the server's receipt for round {round} does not match the answer that this site sent")]
    Receipt {
        /// The round.
        round: u64,
    },
}

impl StopReason {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::RolledBack { .. } => {
                "the ledger was restored from an old copy, or another copy of this site is running. Find the newest ledger; without \
                 it this site cannot continue the run"
            }
            Self::Refused(RefusalCode::Conflict | RefusalCode::Frozen) => {
                "look for a second copy of this site, and contact the server's operator"
            }
            Self::Refused(_) => "contact the server's operator",
            Self::Receipt { .. } => "contact the server's operator; the agent sends nothing more to the server",
        }
    }
}

impl<D: Disk> Agent<D> {
    /// What a poll says of this agent.
    pub fn attend(&self, wait: u32) -> Request {
        let unsettled =
            self.outbox.as_ref().map(|(at, _)| *at).or(self.contribution.as_ref().map(ShareContribution::at));
        Request::Attend {
            position: Some(self.log.head()),
            wait,
            begun: true,
            unsettled,
            mail: self.mail,
            closed: false,
        }
    }

    /// What is to be sent again after a silence or a new connection: an answer that has no receipt, or shares that are not
    /// known to be held. These bytes and no others.
    pub fn again(&self) -> Vec<Vec<u8>> {
        match (&self.outbox, &self.contribution) {
            (Some((_, bytes)), _) => vec![bytes.clone()],
            (None, Some(contribution)) => contribution.again(self),
            (None, None) => Vec::new(),
        }
    }

    /// Compares what the server has seen of this log with the log: one that was restored from an old copy stops here,
    /// before it spends again what it does not know to be spent.
    pub fn compare(&mut self, seen: Option<Position>) {
        if let Some(seen) = seen
            && self.log.digest_at(seen.sequence) != Some(seen.digest)
        {
            self.stopped = Some(StopReason::RolledBack { sequence: seen.sequence });
        }
    }

    /// Takes an instruction, and gives the signed bytes that are to be sent.
    pub fn handle(&mut self, instruction: &Instruction) -> Result<Vec<Vec<u8>>, LogError> {
        match instruction {
            Instruction::Ask { at, query } => self.ask(*at, query),
            Instruction::Mail(mail) => self.read(mail),
            Instruction::Receipt { at, applied } => self.settle(*at, applied.as_deref()).map(|()| Vec::new()),
            Instruction::Finished(outcome) => self.finish(*outcome).map(|()| Vec::new()),
            Instruction::Refuse(refusal @ (RefusalCode::Conflict | RefusalCode::Frozen | RefusalCode::NotAMember)) => {
                self.stopped = Some(StopReason::Refused(*refusal));
                Ok(Vec::new())
            }
            // The server does not know the question that was answered: the answer will never be of use.
            Instruction::Refuse(RefusalCode::NotAsked | RefusalCode::Shape) => self.lapse().map(|()| Vec::new()),
            _ => Ok(Vec::new()),
        }
    }

    fn ask(&mut self, at: Attempt, query: &[u8]) -> Result<Vec<Vec<u8>>, LogError> {
        if self.stopped.is_some() || self.finished.is_some() || self.log.is_closed(&self.run) {
            return Ok(self.decline(at, DeclineReason::Stopped));
        }
        if self.outbox.is_some() {
            return Ok(self.again());
        }
        if self.is_summing() {
            return self.ask_for_sum(at, query);
        }
        if self.unsent.is_some_and(|unsent| at >= unsent) && at.round < self.manifest.pace.rounds {
            return self.answer_under_last_charge(at, query);
        }
        if self.last.is_some_and(|last| at <= last) {
            return Ok(self.decline(at, DeclineReason::Lapsed));
        }
        self.answer_if_covered(at, query)
    }

    /// Charges and answers, if the manifest has such a round and the grant covers it.
    fn answer_if_covered(&mut self, at: Attempt, query: &[u8]) -> Result<Vec<Vec<u8>>, LogError> {
        if at.round >= self.manifest.pace.rounds || self.is_charged_enough(at.round) {
            return Ok(self.decline(at, DeclineReason::Refused));
        }
        match self.member.can_answer(self.parts.built.protocol.as_ref(), query, &self.shard) {
            Ok(true) => {
                self.lapse()?;
                self.answer(at, query)
            }
            Ok(false) => Ok(self.decline(at, DeclineReason::Spent)),
            Err(_) => Ok(self.decline(at, DeclineReason::Refused)),
        }
    }

    /// Whether another charge of this round is refused, whatever the server says of the ones before. Where answers are folded as
    /// they come a round has many questions, and the grant alone is the limit.
    fn is_charged_enough(&self, round: u64) -> bool {
        let counted = !matches!(self.parts.method.schedule, Schedule::Asynchronous(_));
        counted && self.charges.of(round) >= MOST_CHARGES
    }

    /// What the noise of an answer is bound to.
    fn noise_context(&self, at: Attempt, question: Digest) -> NoiseContext {
        NoiseContext {
            run: self.run,
            site: self.site as u64,
            round: at.round,
            attempt: at.attempt,
            query: question,
            ledger_head: self.member.ledger().head(),
            data_version: self.data_version,
        }
    }

    /// What a charge for this question covers: an attempt, or all attempts at a sum; none if the question has no sum.
    fn coverage(&self, query: &[u8]) -> Option<Coverage> {
        if !self.is_summing() {
            return Some(Coverage::Attempt);
        }
        self.assembly(query).map(|assembly| Coverage::Round(assembly.digest()))
    }

    /// The terms of the sum that a question is about.
    fn assembly(&self, query: &[u8]) -> Option<Assembly> {
        let built = &self.parts.built;
        let terms = built.sum_terms(query).ok().flatten()?;
        built.summing.assembly(terms).ok().flatten()
    }

    fn is_summing(&self) -> bool {
        matches!(self.parts.built.summing, Summing::Secure { .. })
    }

    /// Charge, durable; noise key; answer; outbox, durable; send.
    fn answer(&mut self, at: Attempt, query: &[u8]) -> Result<Vec<Vec<u8>>, LogError> {
        let question: Digest = Sha256::digest(query).into();
        let Some(coverage) = self.coverage(query) else { return Ok(self.decline(at, DeclineReason::Refused)) };
        let (context, before) = (self.noise_context(at, question), self.member.ledger().length());
        let answered = self.make_answer(at, query, coverage, &context, AnswerKind::First)?;
        let charged = self.member.ledger().length() > before;
        match (charged, coverage) {
            (false, _) => {}
            (true, Coverage::Attempt) => self.charges.note(at.round),
            (true, Coverage::Round(_)) => self.round = Some(ChargedRound { round: at.round, question }),
        }
        match answered {
            None if !charged => Ok(self.decline(at, DeclineReason::Refused)),
            None => self.burn(at),
            Some(outgoing) => self.pass_on(at, query, outgoing, &context, charged),
        }
    }

    /// Makes an answer anew under the last charge, for which nothing was sent, or nothing but shares of the same sum: the site went
    /// down. The records say so, and what noise there is in it is fresh.
    fn answer_under_last_charge(&mut self, at: Attempt, query: &[u8]) -> Result<Vec<Vec<u8>>, LogError> {
        let Some(coverage) = self.coverage(query) else { return Ok(self.decline(at, DeclineReason::Refused)) };
        self.unsent = None;
        let context = self.noise_context(at, Sha256::digest(query).into());
        match self.make_answer(at, query, coverage, &context, AnswerKind::Anew)? {
            None => self.burn(at),
            Some(outgoing) => self.pass_on(at, query, outgoing, &context, true),
        }
    }

    /// The member's answer; none if it refuses, or its gate does.
    fn make_answer(
        &mut self,
        at: Attempt,
        query: &[u8],
        coverage: Coverage,
        context: &NoiseContext,
        kind: AnswerKind,
    ) -> Result<Option<Outgoing>, LogError> {
        let (turn, summing) = (self.turn(at), self.parts.built.summing);
        let protocol = self.parts.built.protocol.as_ref();
        let (log, source) = (&mut self.log, &mut self.source);
        let mut charge = SiteChargeAndGate::new(log, turn, context.query, coverage, source, summing);
        let answered = match kind {
            AnswerKind::First => self.member.answer(protocol, query, &self.shard, summing, context, &mut charge),
            AnswerKind::Anew => self.member.answer_again(protocol, query, &self.shard, summing, context, &mut charge),
        };
        charge.failed().map_or(Ok(answered.ok()), Err)
    }

    /// An answer that was released at the site's gate goes into the outbox, one that is sealed to its sum.
    fn pass_on(
        &mut self,
        at: Attempt,
        query: &[u8],
        outgoing: Outgoing,
        context: &NoiseContext,
        charged: bool,
    ) -> Result<Vec<Vec<u8>>, LogError> {
        if self.is_summing() {
            return self.contribute(at, query, outgoing, context);
        }
        match outgoing.released() {
            Ok(answer) => self.keep_answer(at, context.query, answer.into_inner(), charged),
            Err(_) => self.burn(at),
        }
    }

    /// The attempt will never be answered. What was charged stays charged.
    fn burn(&mut self, at: Attempt) -> Result<Vec<Vec<u8>>, LogError> {
        self.last = Some(at);
        self.log.append(&LogEntry::Lapsed { turn: self.turn(at) })?;
        Ok(self.decline(at, DeclineReason::Lapsed))
    }

    /// An answer that its gate let through goes into the outbox, and is sent from there.
    fn keep_answer(
        &mut self,
        at: Attempt,
        question: Digest,
        answer: GridVector,
        charged: bool,
    ) -> Result<Vec<Vec<u8>>, LogError> {
        let turn = self.turn(at);
        if !charged {
            self.log.append(&LogEntry::Free { turn })?;
        }
        let update = Update { at, question, answer, position: self.log.head() };
        let bytes = self.sign(&Request::Update(update));
        self.keep_memory(Some(at))?;
        self.log.append(&LogEntry::Outbox { turn, bytes: bytes.clone() })?;
        self.last = Some(at);
        self.outbox = Some((at, bytes.clone()));
        Ok(vec![bytes])
    }

    /// The server says what it applied: the memory follows, and the answer is settled.
    fn settle(&mut self, at: Attempt, applied: Option<&[u8]>) -> Result<(), LogError> {
        if applied.is_some() && self.contribution.as_ref().is_some_and(|contribution| contribution.at() == at) {
            return self.counted();
        }
        if self.outbox.as_ref().is_none_or(|(sent, _)| *sent != at) {
            return Ok(());
        }
        let Some(applied) = applied else { return self.lapse() };
        if self.member.settle(self.parts.built.protocol.as_ref(), applied).is_err() {
            self.stopped = Some(StopReason::Receipt { round: at.round });
            return Ok(());
        }
        self.log.append(&LogEntry::Settled { turn: self.turn(at), applied: applied.to_vec() })?;
        self.keep_memory(None)?;
        self.outbox = None;
        Ok(())
    }

    /// The answer will never be in the total. What was charged stays charged, and its draft is remembered.
    fn lapse(&mut self) -> Result<(), LogError> {
        let unheld = self.contribution.take().and_then(|contribution| contribution.unheld());
        if let Some(at) = self.outbox.take().map(|(at, _)| at).or(unheld) {
            self.log.append(&LogEntry::Lapsed { turn: self.turn(at) })?;
        }
        Ok(())
    }

    fn finish(&mut self, outcome: RunOutcome) -> Result<(), LogError> {
        if self.finished.is_none() && self.stopped.is_none() {
            self.lapse()?;
            self.log.append(&LogEntry::Closed { run: self.run() })?;
            self.finished = Some(outcome);
        }
        Ok(())
    }

    /// Keeps what the site remembers, and the draft of the attempt if there is one.
    fn keep_memory(&mut self, drafted: Option<Attempt>) -> Result<(), LogError> {
        let draft = match (drafted, self.member.draft()) {
            (Some(at), Some(draft)) => Some((at.round, at.attempt, draft.to_vec())),
            _ => None,
        };
        let (run, sequence, memory) = (self.run(), self.log.head().sequence, self.member.memory().to_vec());
        self.log.keep(&MemorySnapshot { run, sequence, memory, draft })
    }

    fn decline(&self, at: Attempt, reason: DeclineReason) -> Vec<Vec<u8>> {
        vec![self.sign(&Request::Decline { at, reason })]
    }

    /// Signed bytes of a request of this agent.
    pub fn sign(&self, request: &Request) -> Vec<u8> {
        wire::sign(&self.key, &self.sender, request).0
    }

    fn run(&self) -> RunId {
        self.run
    }

    fn turn(&self, at: Attempt) -> RunAttempt {
        RunAttempt { run: self.run(), round: at.round, attempt: at.attempt }
    }

    /// How the run ended, once it has.
    pub fn finished(&self) -> Option<RunOutcome> {
        self.finished
    }

    /// Why it answers no more.
    pub fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }

    /// The manifest.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// The site's log, for tests and for the account of what was spent.
    pub fn log(&self) -> &Log<D> {
        &self.log
    }

    /// What was spent and remembered in this run.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// Gives the disk back, as after a crash.
    pub fn into_log(self) -> Log<D> {
        self.log
    }
}
