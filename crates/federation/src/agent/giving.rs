//! A site's part in a secure sum: its answer leaves as shares, each sealed to its node.

use super::Agent;
use crate::letter::Correspondence;
use crate::log::{Disk, Entry, LogError, Position};
use crate::message::{Letter, Member, Request, Try};
use privacy::noise::{Digest, NoiseContext};
use privacy::secure_sum::{Body, Contributor, SumEffect, SumParty};
use privacy::{Assembly, Outgoing};
use sha2::{Digest as _, Sha256};

/// Shares under way.
pub(super) struct Giving {
    at: Try,
    question: Digest,
    assembly: Assembly,
    contributor: Contributor,
    /// Letters as they were sent first: to whom, whether it is the vector, and the bytes that are sent again.
    sent: Vec<(SumParty, bool, Letter)>,
    /// Where the attempt stands in the log, once all shares are held.
    done: Option<Position>,
}

impl Giving {
    pub(super) fn at(&self) -> Try {
        self.at
    }

    /// The attempt, if its shares are not all held: nobody will ever know its answer.
    pub(super) fn unheld(&self) -> Option<Try> {
        self.done.is_none().then_some(self.at)
    }

    /// What the server or the nodes may not have got: the same bytes.
    pub(super) fn again<D: Disk>(&self, agent: &Agent<D>) -> Vec<Vec<u8>> {
        let Self { at, question, .. } = *self;
        if let Some(position) = self.done {
            return vec![agent.sign(&Request::Contributed { at, question, position })];
        }
        let open = self.contributor.unconfirmed();
        let letters: Vec<Letter> = open.iter().filter_map(|effect| self.letter(effect)).cloned().collect();
        if letters.is_empty() { Vec::new() } else { vec![agent.sign(&Request::Letters(letters))] }
    }

    /// The letter that was written for an effect.
    fn letter(&self, effect: &SumEffect) -> Option<&Letter> {
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
    /// Splits a sealed answer into shares, and sends the seeds. An attempt that cannot be split is burnt.
    pub(super) fn give(
        &mut self,
        at: Try,
        query: &[u8],
        outgoing: Outgoing,
        context: &NoiseContext,
    ) -> Result<Vec<Vec<u8>>, LogError> {
        let built = &self.programme.built;
        let terms = built.sum_terms(query).ok().flatten();
        let Some(assembly) = terms.and_then(|terms| built.summing.assembly(terms).ok().flatten()) else {
            return self.burn(at);
        };
        let session = assembly.session(self.run(), at.round, at.attempt);
        let Ok(contributor) = Contributor::new(&assembly, &session, outgoing, &mut self.source, context) else {
            return self.burn(at);
        };
        self.keep_memory(Some(at))?;
        self.last = Some(at);
        let question = Sha256::digest(query).into();
        let effects = contributor.unconfirmed();
        self.giving = Some(Giving { at, question, assembly, contributor, sent: Vec::new(), done: None });
        Ok(self.write(effects))
    }

    /// Reads what nodes say of the shares: when all are held, that is put on record and told.
    pub(super) fn read(&mut self, mail: &[(u64, Letter)]) -> Result<Vec<Vec<u8>>, LogError> {
        let mut outgoing = Vec::new();
        for (number, letter) in mail {
            self.mail = self.mail.max(*number);
            let Some(giving) = self.giving.as_ref().filter(|giving| giving.done.is_none()) else { continue };
            let Ok((from, message)) = self.desk(giving).read(letter, &giving.assembly, None) else { continue };
            let Some(giving) = self.giving.as_mut() else { continue };
            let Ok(effects) = giving.contributor.handle(from, &message) else { continue };
            let (at, complete) = (giving.at, giving.contributor.is_done());
            outgoing.extend(self.write(effects));
            if complete {
                let position = self.log.append(&Entry::Contributed { turn: self.turn(at) })?;
                if let Some(giving) = self.giving.as_mut() {
                    (giving.done, giving.sent) = (Some(position), Vec::new());
                    let (at, question) = (giving.at, giving.question);
                    outgoing.push(self.sign(&Request::Contributed { at, question, position }));
                }
            }
        }
        Ok(outgoing)
    }

    /// The sum was opened with this site's answer in it: all shares are held, though not every node's word of that has come.
    pub(super) fn counted(&mut self) -> Result<(), LogError> {
        if let Some(at) = self.giving.take().and_then(|giving| giving.unheld()) {
            self.log.append(&Entry::Contributed { turn: self.turn(at) })?;
        }
        Ok(())
    }

    /// Writes letters for what the contributor sends, each once.
    fn write(&mut self, effects: Vec<SumEffect>) -> Vec<Vec<u8>> {
        let Some(giving) = self.giving.as_ref() else { return Vec::new() };
        let mut fresh = Vec::new();
        for effect in effects {
            let SumEffect::Send { to, message } = &effect else { continue };
            let vector = matches!(message.body, Body::Vector { .. });
            if giving.letter(&effect).is_none()
                && let Ok(letter) = self.desk(giving).write(*to, message)
            {
                fresh.push((*to, vector, letter));
            }
        }
        let letters: Vec<Letter> = fresh.iter().map(|(_, _, letter)| letter.clone()).collect();
        if let Some(giving) = self.giving.as_mut() {
            giving.sent.extend(fresh);
        }
        if letters.is_empty() { Vec::new() } else { vec![self.sign(&Request::Letters(letters))] }
    }

    fn desk(&self, giving: &Giving) -> Correspondence<'_> {
        Correspondence {
            own: Member::Site(self.site),
            key: &self.key,
            manifest: &self.manifest,
            digest: self.sender.manifest.unwrap_or_default(),
            at: giving.at,
            question: giving.question,
        }
    }
}
