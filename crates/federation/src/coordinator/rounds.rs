//! Rounds: who is asked when, when a round is over, and how its answers come into the state.

use super::{
    AnswerReceipt, AwaitedSince, Change, Coordinator, CoordinatorPhase, Fold, FoldInput, PendingQuestion, SiteProgress,
};
use crate::message::{Attempt, RunOutcome, Update};
use inference::algorithm::Answers;
use inference::message::Receipt;
use inference::settings::Schedule;
use sha2::{Digest as _, Sha256};

impl Coordinator {
    /// Asks the first questions of a round, or ends the run.
    pub(super) fn begin_round(&mut self) -> Change {
        if self.header.round >= self.manifest.pace.rounds {
            return self.finish(RunOutcome::Complete);
        }
        self.header.arrivals = 0;
        self.header.sites.iter_mut().for_each(|progress| progress.attempt = 0);
        if self.is_summing() {
            self.header.session = 0;
            self.header.failures.begin_round(self.header.round);
            let mut change = self.refresh();
            change.merge(self.ask_for_sum());
            return change;
        }
        let active: Vec<usize> = (0..).zip(&self.header.sites).filter(|(_, s)| s.is_active()).map(|(m, _)| m).collect();
        if active.is_empty() {
            return self.finish(RunOutcome::Spent);
        }
        if (active.len() as u64) < self.manifest.pace.quorum {
            return self.finish(RunOutcome::QuorumLost);
        }
        let mut change = self.refresh();
        match self.parts.method.schedule {
            Schedule::Sequential => active.first().into_iter().for_each(|&first| self.ask(first)),
            Schedule::Synchronous | Schedule::Asynchronous(_) => active.into_iter().for_each(|site| self.ask(site)),
        }
        change.merge(Change::waking());
        change
    }

    /// What the state asks now becomes the present question.
    fn refresh(&mut self) -> Change {
        match self.protocol().ask(&self.state) {
            Ok(query) if query == self.query => Change::default(),
            Ok(query) => {
                self.query.clone_from(&query);
                self.question = Sha256::digest(&query).into();
                Change { query: Some(query), ..Change::header() }
            }
            Err(_) => self.finish(RunOutcome::Failed),
        }
    }

    /// The present question becomes this site's.
    pub(super) fn ask(&mut self, site: usize) {
        if self.header.phase != CoordinatorPhase::Running {
            return;
        }
        let (round, folds, question) = (self.header.round, self.header.folds, self.question());
        self.header.turn = site;
        if let Some(progress) = self.header.sites.get_mut(site) {
            progress.pass_over();
            progress.asked =
                Some(PendingQuestion { at: Attempt { round, attempt: progress.attempt }, question, folds });
        }
    }

    /// A site of an asynchronous run that comes back with nothing under way is given the present question. The one that it
    /// had may still be answered, for it may have been paid for.
    pub(super) fn renew_question(&mut self, site: usize) -> Change {
        let (question, running) =
            (self.question(), self.header.phase == CoordinatorPhase::Running && self.is_asynchronous());
        let Some(progress) = self.header.sites.get_mut(site).filter(|_| running) else { return Change::default() };
        if progress.asked.is_none_or(|asked| asked.question == question) {
            return Change::default();
        }
        progress.attempt = progress.attempt.saturating_add(1);
        self.ask(site);
        Change::header()
    }

    /// Folds what is due and asks what comes next.
    pub(super) fn advance(&mut self) -> Change {
        if self.header.phase != CoordinatorPhase::Running {
            return Change::default();
        }
        if self.is_summing() {
            return self.advance_sum();
        }
        match self.parts.method.schedule {
            Schedule::Sequential => self.advance_one_by_one(),
            Schedule::Synchronous if self.is_anybody_asked() => Change::default(),
            Schedule::Synchronous => self.end_synchronous_round(),
            Schedule::Asynchronous(_) => self.advance_as_they_come(),
        }
    }

    pub(super) fn is_anybody_asked(&self) -> bool {
        self.header.sites.iter().any(|progress| progress.asked.is_some())
    }

    /// A round whose time is up does without those who have not answered. `now` is in milliseconds of any clock that
    /// does not go back; it is never used for anything but this.
    pub fn tick(&mut self, now: u64) -> Change {
        let awaited = [self.header.round, self.header.session, self.header.turn as u64, self.stage()];
        let since = self.since.filter(|known| known.awaited == awaited).map_or(now, |known| known.since);
        self.since = Some(AwaitedSince { awaited, since });
        if self.is_summing() && self.header.phase == CoordinatorPhase::Running {
            let change = self.tick_sum(now.saturating_sub(since));
            if change.dirty {
                return change;
            }
        }
        let Some(deadline) = self.manifest.pace.deadline else { return Change::default() };
        if self.header.phase != CoordinatorPhase::Running || now.saturating_sub(since) < deadline.saturating_mul(1000) {
            return Change::default();
        }
        let quorum = usize::try_from(self.manifest.pace.quorum).unwrap_or(usize::MAX);
        let answered = if self.is_summing() { self.contributors() as usize } else { self.waiting.len() };
        match self.parts.method.schedule {
            Schedule::Synchronous if !self.is_anybody_asked() => return Change::default(),
            Schedule::Synchronous if answered < quorum => return Change::default(),
            Schedule::Asynchronous(_) => return Change::default(),
            Schedule::Synchronous | Schedule::Sequential => {}
        }
        self.header.sites.iter_mut().for_each(SiteProgress::pass_over);
        let mut change = Change::waking();
        change.merge(self.advance());
        change
    }

    /// Everybody has answered, declined or been passed over.
    fn end_synchronous_round(&mut self) -> Change {
        let each: Vec<_> = std::mem::take(&mut self.waiting).into_iter().collect();
        let mut change = if each.is_empty() { Change::default() } else { self.fold(each) };
        change.merge(self.next_round());
        change
    }

    pub(super) fn next_round(&mut self) -> Change {
        if self.header.phase != CoordinatorPhase::Running {
            return Change::default();
        }
        self.header.round += 1;
        self.begin_round()
    }

    /// One answer after the other; each is folded before the next site is asked.
    fn advance_one_by_one(&mut self) -> Change {
        let mut change = match self.waiting.pop_first() {
            Some(one) => self.fold(vec![one]),
            None => Change::default(),
        };
        if self.header.phase != CoordinatorPhase::Running || self.is_anybody_asked() {
            return change;
        }
        let from = self.header.turn.saturating_add(1);
        let next = (from..).zip(self.header.sites.iter().skip(from)).find(|(_, progress)| progress.is_active());
        match next.map(|(site, _)| site) {
            Some(site) => {
                change.merge(self.refresh());
                self.ask(site);
                change.merge(Change::waking());
            }
            None => change.merge(self.next_round()),
        }
        change
    }

    /// Every answer is folded as it comes, and its site takes up the next question.
    fn advance_as_they_come(&mut self) -> Change {
        let mut change = Change::default();
        while let Some(one) = self.waiting.pop_first() {
            let site = one.0;
            change.merge(self.fold(vec![one]));
            change.merge(self.refresh());
            self.header.arrivals += 1;
            if self.header.arrivals >= self.header.sites.len() as u64 {
                change.merge(self.next_round());
            } else if let Some(progress) = self.header.sites.get_mut(site) {
                progress.attempt = progress.attempt.saturating_add(1);
                self.ask(site);
            }
        }
        if self.header.phase == CoordinatorPhase::Running && !self.is_anybody_asked() {
            change.merge(self.finish(RunOutcome::Spent));
        }
        change
    }

    /// Brings answers into the state, with a receipt for each.
    pub(super) fn fold(&mut self, each: Vec<(usize, Update)>) -> Change {
        let tries: Vec<(usize, Attempt)> = each.iter().map(|(site, update)| (*site, update.at)).collect();
        let answers = Answers::Each(each.into_iter().map(|(site, update)| (site, update.answer)).collect());
        self.fold_answers(&answers, FoldInput::Each(tries.clone()), &tries)
    }

    /// Brings answers into the state; those that are named get receipts.
    pub(super) fn fold_answers(&mut self, answers: &Answers, of: FoldInput, tries: &[(usize, Attempt)]) -> Change {
        let Ok(folded) = self.protocol().fold(&self.state, answers) else { return self.finish(RunOutcome::Failed) };
        let mut change = Change::header();
        for (&(site, at), applied) in tries.iter().zip(&folded.applied) {
            let Ok(receipt) = Receipt::of(applied) else { return self.finish(RunOutcome::Failed) };
            let kept = AnswerReceipt { site, at, applied: Some(receipt.applied) };
            self.receipts.insert(site, kept.clone());
            change.receipts.push(kept);
        }
        self.state = folded.state;
        change.folds.push(Fold { number: self.header.folds, round: self.header.round, of });
        change.state = Some(self.state.clone());
        self.header.folds += 1;
        change
    }
}
