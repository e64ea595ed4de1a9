//! A site's part in a secure sum: its answer leaves as shares, each sealed to its node.

use super::Agent;
use crate::log::{Disk, LogEntry, LogError, Position};
use crate::message::{Attempt, DeclineReason, MemberId, Request, SealedMessage};
use crate::sealed_message::SealedChannel;
use privacy::noise::{Digest, NoiseContext};
use privacy::secure_sum::{Body, Contributor, SumEffect, SumParty};
use privacy::{Assembly, Outgoing};
use sha2::{Digest as _, Sha256};

/// A site's contribution to the secure sum of one round, as it is split in the present attempt: it is wiped when the round is over.
pub(super) struct ShareContribution {
    at: Attempt,
    question: Digest,
    assembly: Assembly,
    contributor: Contributor,
    /// Letters as they were sent first: to whom, whether it is the vector, and the bytes that are sent again.
    sent: Vec<(SumParty, bool, SealedMessage)>,
    /// Where the attempt stands in the log, once all shares are held.
    done: Option<Position>,
}

/// The round of a sum that was charged last: all its attempts are for this question.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChargedRound {
    pub(super) round: u64,
    pub(super) question: Digest,
}

impl ShareContribution {
    pub(super) fn at(&self) -> Attempt {
        self.at
    }

    /// The attempt, if its shares are not all held: nobody will ever know its answer.
    pub(super) fn unheld(&self) -> Option<Attempt> {
        self.done.is_none().then_some(self.at)
    }

    /// What the server or the nodes may not have got: the same bytes.
    pub(super) fn again<D: Disk>(&self, agent: &Agent<D>) -> Vec<Vec<u8>> {
        let Self { at, question, .. } = *self;
        if let Some(position) = self.done {
            return vec![agent.sign(&Request::Contributed { at, question, position })];
        }
        let open = self.contributor.unconfirmed();
        let letters: Vec<SealedMessage> = open.iter().filter_map(|effect| self.letter(effect)).cloned().collect();
        if letters.is_empty() { Vec::new() } else { vec![agent.sign(&Request::Letters(letters))] }
    }

    /// The sealed message that was written for an effect.
    fn letter(&self, effect: &SumEffect) -> Option<&SealedMessage> {
        let (to, vector) = kind(effect)?;
        self.sent.iter().find(|(whom, kind, _)| *whom == to && *kind == vector).map(|(_, _, letter)| letter)
    }
}

/// To whom an effect sends, and whether it is the vector.
fn kind(effect: &SumEffect) -> Option<(SumParty, bool)> {
    match effect {
        SumEffect::Send { to, message } => Some((*to, matches!(message.body, Body::Vector { .. }))),
        SumEffect::Persist(_) | SumEffect::Opened { .. } => None,
    }
}

impl<D: Disk> Agent<D> {
    /// A question of a run of sums. A round is charged once: for its first question, whatever the attempt. Each later attempt at the
    /// same question splits the same contribution again, and every other question of the round is declined.
    pub(super) fn ask_for_sum(&mut self, at: Attempt, query: &[u8]) -> Result<Vec<Vec<u8>>, LogError> {
        let question: Digest = Sha256::digest(query).into();
        match self.round {
            Some(charged) if at.round < charged.round => Ok(self.decline(at, DeclineReason::Behind)),
            Some(charged) if at.round == charged.round && question != charged.question => {
                Ok(self.decline(at, DeclineReason::OtherQuestion))
            }
            _ if self.contribution.as_ref().is_some_and(|contribution| contribution.at == at) => Ok(self.again()),
            _ if self.last.is_some_and(|last| at <= last) => Ok(self.decline(at, DeclineReason::Lapsed)),
            Some(charged) if at.round == charged.round && self.contribution.is_some() => self.split_again(at),
            Some(charged) if at.round == charged.round => self.answer_under_last_charge(at, query),
            _ => self.answer_if_covered(at, query),
        }
    }

    /// Splits the contribution of the round for a later attempt. The attempt is on record first, so that no restart takes part in
    /// it a second time.
    fn split_again(&mut self, at: Attempt) -> Result<Vec<Vec<u8>>, LogError> {
        self.log.append(&LogEntry::Retried { turn: self.turn(at) })?;
        self.last = Some(at);
        let Some(mut contribution) = self.contribution.take() else { return Ok(Vec::new()) };
        let session = contribution.assembly.session(self.run(), at.round, at.attempt);
        let context = self.noise_context(at, contribution.question);
        if contribution.contributor.again(&session, &mut self.source, &context).is_err() {
            return Ok(self.decline(at, DeclineReason::Lapsed));
        }
        (contribution.at, contribution.sent, contribution.done) = (at, Vec::new(), None);
        let effects = contribution.contributor.unconfirmed();
        self.contribution = Some(contribution);
        Ok(self.write(effects))
    }

    /// Splits a sealed answer into shares, and sends the seeds. An attempt that cannot be split is burnt.
    pub(super) fn contribute(
        &mut self,
        at: Attempt,
        query: &[u8],
        outgoing: Outgoing,
        context: &NoiseContext,
    ) -> Result<Vec<Vec<u8>>, LogError> {
        let Some(assembly) = self.assembly(query) else { return self.burn(at) };
        let session = assembly.session(self.run(), at.round, at.attempt);
        let Ok(contributor) = Contributor::new(&assembly, &session, outgoing, &mut self.source, context) else {
            return self.burn(at);
        };
        self.keep_memory(Some(at))?;
        self.last = Some(at);
        let question = Sha256::digest(query).into();
        let effects = contributor.unconfirmed();
        self.contribution =
            Some(ShareContribution { at, question, assembly, contributor, sent: Vec::new(), done: None });
        Ok(self.write(effects))
    }

    /// Reads what nodes say of the shares: when all are held, that is put on record and told.
    pub(super) fn read(&mut self, mail: &[(u64, SealedMessage)]) -> Result<Vec<Vec<u8>>, LogError> {
        let mut outgoing = Vec::new();
        for (number, letter) in mail {
            self.mail = self.mail.max(*number);
            let Some(contribution) = self.contribution.as_ref().filter(|contribution| contribution.done.is_none())
            else {
                continue;
            };
            let Ok((from, message)) = self.channel(contribution).read(letter, &contribution.assembly, None) else {
                continue;
            };
            let Some(contribution) = self.contribution.as_mut() else { continue };
            let Ok(effects) = contribution.contributor.handle(from, &message) else { continue };
            let (at, complete) = (contribution.at, contribution.contributor.is_done());
            outgoing.extend(self.write(effects));
            if complete {
                let position = self.log.append(&LogEntry::Contributed { turn: self.turn(at) })?;
                if let Some(contribution) = self.contribution.as_mut() {
                    (contribution.done, contribution.sent) = (Some(position), Vec::new());
                    let (at, question) = (contribution.at, contribution.question);
                    outgoing.push(self.sign(&Request::Contributed { at, question, position }));
                }
            }
        }
        Ok(outgoing)
    }

    /// The sum was opened with this site's answer in it: all shares are held, though not every node's word of that has come.
    pub(super) fn counted(&mut self) -> Result<(), LogError> {
        if let Some(at) = self.contribution.take().and_then(|contribution| contribution.unheld()) {
            self.log.append(&LogEntry::Contributed { turn: self.turn(at) })?;
        }
        Ok(())
    }

    /// Seals what the contributor sends, each message once.
    fn write(&mut self, effects: Vec<SumEffect>) -> Vec<Vec<u8>> {
        let Some(contribution) = self.contribution.as_ref() else { return Vec::new() };
        let mut fresh = Vec::new();
        for effect in effects {
            let SumEffect::Send { to, message } = &effect else { continue };
            let vector = matches!(message.body, Body::Vector { .. });
            if contribution.letter(&effect).is_none()
                && let Ok(letter) = self.channel(contribution).write(*to, message)
            {
                fresh.push((*to, vector, letter));
            }
        }
        let letters: Vec<SealedMessage> = fresh.iter().map(|(_, _, letter)| letter.clone()).collect();
        if let Some(contribution) = self.contribution.as_mut() {
            contribution.sent.extend(fresh);
        }
        if letters.is_empty() { Vec::new() } else { vec![self.sign(&Request::Letters(letters))] }
    }

    fn channel(&self, contribution: &ShareContribution) -> SealedChannel<'_> {
        SealedChannel {
            own: MemberId::Site(self.site),
            key: &self.key,
            manifest: &self.manifest,
            digest: self.sender.manifest.unwrap_or_default(),
            at: contribution.at,
            question: contribution.question,
        }
    }
}
