//! Answers: which of a site's questions one belongs to, whether it fits, and whether it counts, is folded, or came too late.

use super::header::AnsweredQuestion;
use super::{AcceptedAnswer, AnswerReceipt, Change, Coordinator, CoordinatorPhase, CoordinatorStep, SiteStanding};
use crate::message::{Attempt, Instruction, RefusalCode, Update};
use inference::Summing;
use privacy::noise::Digest;

/// Largest coordinate of an answer, in units: no gate lets a larger one through.
const MOST_UNITS: u64 = 1 << 62;

impl Coordinator {
    /// Takes an answer: checked first, then accepted, then folded when its schedule says so.
    pub(super) fn accept(&mut self, site: usize, update: &Update, digest: Digest) -> CoordinatorStep {
        let Some(progress) = self.header.sites.get(site) else {
            return CoordinatorStep::refusing(RefusalCode::NotAMember);
        };
        match progress.accepted {
            Some((at, known)) if at == update.at && known == digest => return self.say_again(site, update.at),
            Some((at, _)) if at == update.at => return self.freeze(site),
            Some((at, _)) if update.at < at => return CoordinatorStep::refusing(RefusalCode::NotAsked),
            _ => {}
        }
        let Some(belongs) = progress.question(update.at, &update.question) else {
            return CoordinatorStep::refusing(RefusalCode::NotAsked);
        };
        if progress.seen.is_some_and(|seen| update.position.sequence <= seen.sequence) {
            // Every charge is a new record of the site's log: one that is not after the last that came is of another copy.
            return self.freeze(site);
        }
        let too_large = update.answer.units().iter().any(|units| units.unsigned_abs() > MOST_UNITS);
        // An answer that comes too late is counted and not folded: it was to another question, of another shape perhaps.
        let folds = belongs == AnsweredQuestion::Now || self.takes_late();
        let fits = || self.protocol().fits(&self.state, site, &update.answer).unwrap_or(false);
        if too_large || folds && !fits() {
            return CoordinatorStep::refusing(RefusalCode::Shape);
        }
        let mut change = Change::header();
        change.accepted.push(AcceptedAnswer { site, update: update.clone(), digest });
        if let Some(progress) = self.header.sites.get_mut(site) {
            progress.accepted = Some((update.at, digest));
            progress.answers += 1;
            progress.seen = Some(update.position);
            progress.earlier.retain(|asked| asked.at > update.at);
            if belongs == AnsweredQuestion::Now {
                progress.asked = None;
            }
        }
        change.heads.extend(self.manifest.sites.get(site).map(|member| (member.key, update.position)));
        match belongs {
            _ if self.header.phase != CoordinatorPhase::Running => change.receipts.push(self.too_late(site, update.at)),
            AnsweredQuestion::Earlier if !self.takes_late() => change.receipts.push(self.too_late(site, update.at)),
            // Its change adds, whatever the state is by now; the question of this round stays.
            AnsweredQuestion::Earlier if !self.is_asynchronous() => {
                change.merge(self.fold(vec![(site, update.clone())]))
            }
            AnsweredQuestion::Now | AnsweredQuestion::Earlier => {
                self.waiting.insert(site, update.clone());
            }
        }
        change.merge(self.advance());
        let reply = match self.settlement(site, update.at) {
            Some(receipt) => vec![receipt],
            None => vec![Instruction::Held { at: update.at }],
        };
        CoordinatorStep { change, reply }
    }

    /// The reply to an answer that was accepted before: the same.
    fn say_again(&self, site: usize, at: Attempt) -> CoordinatorStep {
        CoordinatorStep::saying(vec![self.settlement(site, at).unwrap_or(Instruction::Held { at })])
    }

    /// Two copies of a site are alive: nothing more is taken from it, and an operator has to look.
    pub(super) fn freeze(&mut self, site: usize) -> CoordinatorStep {
        if let Some(progress) = self.header.sites.get_mut(site) {
            (progress.standing, progress.asked) = (SiteStanding::Frozen, None);
        }
        let mut change = Change::header();
        change.merge(self.advance());
        CoordinatorStep { change, reply: vec![Instruction::Refuse(RefusalCode::Conflict)] }
    }

    fn too_late(&mut self, site: usize, at: Attempt) -> AnswerReceipt {
        let kept = AnswerReceipt { site, at, applied: None };
        self.receipts.insert(site, kept.clone());
        kept
    }

    /// Whether an answer to an earlier question is still folded: the protocol allows it, and answers come one by one.
    fn takes_late(&self) -> bool {
        self.protocol().folds_late_answers() && self.parts.built.summing == Summing::Nobody
    }
}
