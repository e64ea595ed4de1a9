//! Rounds of which only sums are opened: messages between sites and nodes, when a sum is closed, and its opening.
//!
//! ```text
//! Gathering(a) ──► Closing(a) ──► opened
//!      ▲   │            │ ├─────► Torn(a) ──► lost: the next round, with a charge of its own
//!      └───┴─ over ◄────┘              a node has published its part, and another never will
//! ```
//!
//! A round is charged once at each site, and its attempts are free. An attempt is given up only when it can open nothing any more: a
//! node has renounced it, or too few sites can contribute; never because of the time alone. The next one begins after a wait that
//! doubles from 1 to 60 seconds. What a node has renounced counts against it ([`Failures`]): ten attempts, or three lost
//! rounds, end the run by its name.

use super::failures::{LostRound, Strike, StrikeReason, Verdict};
use super::{AnswerReceipt, Change, Coordinator, CoordinatorPhase, CoordinatorStep, FoldInput, SiteProgress};
use crate::log::Position;
use crate::message::{Attempt, Instruction, MemberId, NodeState, RefusalCode, RunOutcome, SealedMessage};
use crate::sealed_message::{SealedChannel, most_bytes};
use inference::algorithm::Answers;
use privacy::noise::Digest;
use privacy::secure_sum::{Message, Opener, SumEffect, SumParty};
use privacy::{Assembly, GridVector};
use std::collections::BTreeSet;

/// Longest wait before another attempt, in milliseconds.
const LONGEST_WAIT: u64 = 60_000;

/// How long a node is awaited whose part is missing while another's is published, in milliseconds: a day.
const NODE_PATIENCE: u64 = 24 * 60 * 60 * 1000;

/// Most messages on their way from one member to another: a client writes two, a node three.
const MOST_LETTERS: usize = 4;

impl Coordinator {
    /// The attempt that is under way.
    pub(super) fn present(&self) -> Attempt {
        Attempt { round: self.header.round, attempt: self.header.session }
    }

    /// Whether only sums are opened in this run.
    pub(super) fn is_summing(&self) -> bool {
        !self.manifest.nodes.is_empty()
    }

    /// The terms of the sum that is under way.
    fn assembly(&self) -> Option<Assembly> {
        let built = &self.parts.built;
        let terms = built.sum_terms(&self.query).ok().flatten()?;
        built.summing.assembly(terms).ok().flatten()
    }

    /// Takes messages of a member: those of this attempt wait for their receivers, all others are of no use any more.
    pub(super) fn post(&mut self, from: MemberId, letters: &[SealedMessage]) -> CoordinatorStep {
        let Some(assembly) = self.assembly().filter(|_| self.header.phase == CoordinatorPhase::Running) else {
            return CoordinatorStep::saying(vec![Instruction::Rest]);
        };
        let (at, question, most) = (self.present(), self.question(), most_bytes(&assembly));
        let misdirected = |letter: &SealedMessage| letter.from != from || !self.may_write(from, letter.to);
        if letters.iter().any(|letter| misdirected(letter) || length(letter) > most) {
            return CoordinatorStep::refusing(RefusalCode::Malformed);
        }
        let mut change = Change::default();
        for letter in letters {
            let fits = letter.at == at && letter.question == question;
            let same = self.mail.values().filter(|other| (other.from, other.to) == (letter.from, letter.to));
            let waiting: Vec<&SealedMessage> = same.collect();
            if !fits || waiting.len() >= MOST_LETTERS || waiting.contains(&letter) {
                continue;
            }
            self.header.letters += 1;
            self.mail.insert(self.header.letters, letter.clone());
            change.posted.push((self.header.letters, letter.clone()));
            change.dirty = true;
        }
        if change.dirty {
            change.merge(self.advance());
        }
        CoordinatorStep { change, reply: vec![Instruction::Rest] }
    }

    /// Whether a member has anything to write to another: sites to nodes alone, nodes to everybody else.
    fn may_write(&self, from: MemberId, to: MemberId) -> bool {
        let written = matches!((from, to), (MemberId::Site(_), MemberId::Node(_)) | (MemberId::Node(_), _));
        written && from != to && self.manifest.key(to).is_some()
    }

    /// Letters up to this number have arrived at their receiver.
    pub(super) fn delivered(&mut self, to: MemberId, last: u64) -> Change {
        let arrived = self.mail.range(..=last).filter(|(_, letter)| letter.to == to).map(|(number, _)| *number);
        let delivered: Vec<u64> = arrived.collect();
        delivered.iter().for_each(|number| drop(self.mail.remove(number)));
        Change { dirty: !delivered.is_empty(), delivered, ..Change::default() }
    }

    /// Letters for a member beyond the last that it has read.
    pub(super) fn mail_for(&self, to: MemberId, last: u64) -> Option<Instruction> {
        let waiting = self.mail.range(last.saturating_add(1)..).filter(|(_, letter)| letter.to == to);
        let mail: Vec<(u64, SealedMessage)> = waiting.map(|(number, letter)| (*number, letter.clone())).collect();
        (!mail.is_empty()).then_some(Instruction::Mail(mail))
    }

    /// All shares of a site's answer are held.
    pub(super) fn contributed(
        &mut self,
        site: usize,
        at: Attempt,
        question: &Digest,
        position: Position,
        digest: Digest,
    ) -> CoordinatorStep {
        let Some(progress) = self.header.sites.get_mut(site) else {
            return CoordinatorStep::refusing(RefusalCode::NotAMember);
        };
        match progress.accepted {
            Some(known) if known == (at, digest) => return CoordinatorStep::saying(vec![Instruction::Held { at }]),
            Some((known, _)) if known == at => return self.freeze(site),
            _ => {}
        }
        if self.receipts.get(&site).is_some_and(|kept| kept.at == at) {
            return self.said_late(site, at, position, digest);
        }
        if progress.asked.is_none_or(|asked| asked.at != at || asked.question != *question) {
            return CoordinatorStep::saying(vec![Instruction::Rest]);
        }
        if progress.seen.is_some_and(|seen| position.sequence <= seen.sequence) {
            return self.freeze(site);
        }
        (progress.accepted, progress.seen, progress.asked) = (Some((at, digest)), Some(position), None);
        progress.answers += 1;
        let mut change = Change::header();
        change.heads.extend(self.manifest.sites.get(site).map(|member| (member.key, position)));
        change.merge(self.advance());
        CoordinatorStep { change, reply: vec![Instruction::Held { at }] }
    }

    /// A site says what an opened sum has said before it: its answer is counted already, and its log has come so far.
    fn said_late(&mut self, site: usize, at: Attempt, position: Position, digest: Digest) -> CoordinatorStep {
        let mut change = Change::default();
        let news = |progress: &&mut SiteProgress| {
            let later = progress.seen.is_none_or(|seen| position.sequence > seen.sequence);
            later && progress.accepted.is_none_or(|(last, _)| last < at)
        };
        if let Some(progress) = self.header.sites.get_mut(site).filter(news) {
            (progress.accepted, progress.seen) = (Some((at, digest)), Some(position));
            change = Change::header();
            change.heads.extend(self.manifest.sites.get(site).map(|member| (member.key, position)));
        }
        CoordinatorStep { change, reply: vec![Instruction::Held { at }] }
    }

    /// Answers that are in an opened sum are released, whether their sites have said so or not: each counts once in an attempt.
    /// A site that has not said so hears by its receipt that its answer is in the total.
    fn count_opened(&mut self, from: &[usize]) -> Change {
        let at = self.present();
        let mut change = Change::header();
        for &site in from {
            let uncounted = |progress: &&mut SiteProgress| progress.accepted.is_none_or(|(of, _)| of != at);
            let Some(progress) = self.header.sites.get_mut(site).filter(uncounted) else { continue };
            progress.answers += 1;
            let kept = AnswerReceipt { site, at, applied: Some(Vec::new()) };
            self.receipts.insert(site, kept.clone());
            change.receipts.push(kept);
        }
        change
    }

    /// A node says how it stands.
    pub(super) fn standing(&mut self, node: u32, at: Attempt, state: NodeState) -> CoordinatorStep {
        let present = self.present();
        let change = match state {
            _ if self.header.phase != CoordinatorPhase::Running || at.round != present.round => Change::default(),
            NodeState::Renounced(why) if at.attempt <= present.attempt => {
                let reason = StrikeReason::Renounced(why);
                let before = self.header.failures.strikes.len();
                self.header.failures.note(Strike { at, member: MemberId::Node(node), reason });
                let known = before == self.header.failures.strikes.len();
                let mut change = if known { Change::default() } else { Change::header() };
                if at == present {
                    change.merge(self.give_up());
                }
                change
            }
            // It has published in an attempt that was renounced since: no attempt of this round can open any more.
            NodeState::Published if at.attempt < present.attempt => self.lose_round(at, BTreeSet::from([node])),
            NodeState::Renounced(_) | NodeState::Published => Change::default(),
        };
        CoordinatorStep { change, reply: vec![Instruction::Rest] }
    }

    /// Sites whose shares are all held in this attempt.
    pub(super) fn contributors(&self) -> u64 {
        let at = self.present();
        self.header.sites.iter().filter(|progress| progress.accepted.is_some_and(|(of, _)| of == at)).count() as u64
    }

    /// Sites that could still be asked, and whose shares are not all held in this attempt.
    fn dropped_out(&self) -> Vec<MemberId> {
        let at = self.present();
        let out = |progress: &SiteProgress| progress.is_active() && progress.accepted.is_none_or(|(of, _)| of != at);
        (0..)
            .zip(&self.header.sites)
            .filter(|(_, progress)| out(progress))
            .map(|(site, _)| MemberId::Site(site))
            .collect()
    }

    /// Closes the sum when nobody is awaited any more, and opens it when all nodes have published.
    pub(super) fn advance_sum(&mut self) -> Change {
        let mut change = Change::default();
        if self.header.failures.over {
            return self.tear();
        }
        if !self.header.closing {
            if self.is_anybody_asked() {
                return change;
            }
            if self.contributors() < self.manifest.pace.quorum {
                let at = self.present();
                for member in self.dropped_out() {
                    self.header.failures.note(Strike { at, member, reason: StrikeReason::DroppedOut });
                }
                return self.give_up();
            }
            self.header.closing = true;
            change.merge(Change::waking());
        }
        match self.open_sum() {
            None => {}
            Some(Ok((total, from))) => {
                change.merge(self.count_opened(&from));
                let answers = Answers::Sum { total: total.clone(), from: from.clone() };
                change.merge(self.fold_answers(&answers, FoldInput::Sum { total, from }, &[]));
                change.merge(self.next_round());
            }
            Some(Err(())) => change.merge(self.finish(RunOutcome::Failed)),
        }
        change
    }

    /// The total and whose answers are in it, once every node's part is there; an error where the parts do not fit.
    fn open_sum(&self) -> Option<Result<(GridVector, Vec<usize>), ()>> {
        let assembly = self.assembly()?;
        let at = self.present();
        let session = assembly.session(self.run, at.round, at.attempt);
        let mut opener = Opener::new(&assembly, &session).ok()?;
        for (from, message) in self.partials(&assembly) {
            match opener.handle(from, &message) {
                Ok(effects) => {
                    for effect in effects {
                        if let SumEffect::Opened { total, contributors } = effect {
                            let from = contributors.iter().filter_map(|client| usize::try_from(client).ok()).collect();
                            return Some(Ok((total.into_inner(), from)));
                        }
                    }
                }
                Err(error) if opener.missing() == Some(error.clone()) => return Some(Err(())),
                Err(_) => {}
            }
        }
        None
    }

    /// Messages of nodes to the server that are theirs by signature.
    fn partials(&self, assembly: &Assembly) -> Vec<(SumParty, Message)> {
        let channel = SealedChannel {
            own: MemberId::Server,
            key: &self.key,
            manifest: &self.manifest,
            digest: self.digest,
            at: self.present(),
            question: self.question(),
        };
        let mine = self.mail.values().filter(|letter| letter.to == MemberId::Server);
        mine.filter_map(|letter| channel.read(letter, assembly, None).ok()).collect()
    }

    /// The present attempt can open nothing any more: the next begins after a wait, unless too much has failed, or the round is lost.
    fn give_up(&mut self) -> Change {
        if let Some(ended) = self.judge() {
            return ended;
        }
        let mut change = Change::default();
        if !self.header.failures.over {
            self.header.failures.over = true;
            self.header.sites.iter_mut().for_each(|progress| progress.asked = None);
            change = Change::header();
        }
        let active = self.header.sites.iter().filter(|progress| progress.is_active()).count() as u64;
        if active < self.manifest.pace.quorum {
            return self.finish(if active == 0 { RunOutcome::Spent } else { RunOutcome::QuorumLost });
        }
        change.merge(self.tear());
        change
    }

    /// Ends the run if too many attempts or rounds have come to nothing.
    fn judge(&mut self) -> Option<Change> {
        let outcome = match self.header.failures.verdict()? {
            Verdict::Failed(member) => RunOutcome::SumFailed(member),
            Verdict::Nobody => RunOutcome::Failed,
            Verdict::Shortage => RunOutcome::QuorumLost,
        };
        Some(self.finish(outcome))
    }

    /// Of an attempt that can open nothing any more, a part is published: the round is lost.
    fn tear(&mut self) -> Change {
        let published = self.published();
        if published.is_empty() { Change::default() } else { self.lose_round(self.present(), published) }
    }

    /// The nodes whose part of the present attempt is here.
    fn published(&self) -> BTreeSet<u32> {
        let Some(assembly) = self.assembly() else { return BTreeSet::new() };
        let nodes = self.partials(&assembly).into_iter().filter_map(|(from, _)| match from {
            SumParty::Node(node) => Some(node),
            _ => None,
        });
        nodes.collect()
    }

    /// No total of this round will ever be complete, and some nodes have published a part of one. Nothing is folded; every site has
    /// charged the round, and the run goes on with the next.
    fn lose_round(&mut self, at: Attempt, published: BTreeSet<u32>) -> Change {
        let renounced = self.header.failures.renounced(at);
        let missing = match renounced.is_empty() {
            // Its time is up, and nobody has said why.
            true if at == self.present() => (0..self.manifest.nodes.len() as u32).collect(),
            // No node has given this attempt up, so it ended before its close: a part of it cannot have been published.
            true => published.clone(),
            false => renounced,
        };
        let published: BTreeSet<u32> = if missing == published { BTreeSet::new() } else { published };
        let missing = missing.difference(&published).copied().collect();
        self.header.failures.lost.push(LostRound { at, published, missing });
        if let Some(ended) = self.judge() {
            return ended;
        }
        let mut change = Change::header();
        change.merge(self.next_round());
        change
    }

    /// How far the present attempt is: what is awaited, and since when, is another thing in each of these.
    pub(super) fn stage(&self) -> u64 {
        match (self.header.failures.over, self.header.closing) {
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => 0,
        }
    }

    /// What has waited for so many milliseconds: another attempt, or a part that is missing.
    pub(super) fn tick_sum(&mut self, waited: u64) -> Change {
        if self.header.failures.over {
            let wait = 1000_u64.checked_shl(self.header.session.min(6) as u32).unwrap_or(LONGEST_WAIT);
            if waited < wait.min(LONGEST_WAIT) {
                return Change::default();
            }
            self.header.session += 1;
            self.header.failures.over = false;
            return self.ask_for_sum();
        }
        let published = if waited < NODE_PATIENCE { BTreeSet::new() } else { self.published() };
        if published.is_empty() { Change::default() } else { self.lose_round(self.present(), published) }
    }

    /// Asks every site that can answer, in a fresh attempt.
    pub(super) fn ask_for_sum(&mut self) -> Change {
        self.header.closing = false;
        self.mail.clear();
        let attempt = self.header.session;
        let active: Vec<usize> = (0..).zip(&self.header.sites).filter(|(_, s)| s.is_active()).map(|(m, _)| m).collect();
        if active.is_empty() {
            return self.finish(RunOutcome::Spent);
        }
        if (active.len() as u64) < self.manifest.pace.quorum {
            return self.finish(RunOutcome::QuorumLost);
        }
        for site in active {
            if let Some(progress) = self.header.sites.get_mut(site) {
                (progress.attempt, progress.asked) = (attempt, None);
                progress.earlier.clear();
            }
            self.ask(site);
        }
        Change { cleared: true, ..Change::waking() }
    }
}

/// Bytes of a message's content, with all that its sender chose.
fn length(letter: &SealedMessage) -> usize {
    letter.sealed.len().saturating_add(letter.key.len()).saturating_add(letter.signature.bytes().len())
}
