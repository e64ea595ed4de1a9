//! The invariants of a federation: what is checked after every event of a world.

use super::FaultWorld;
use crate::common::message_kind::{MessageKind, content, kind};
use federation::agent::MOST_CHARGES;
use federation::coordinator::{CoordinatorPhase, Fold, FoldInput, Header, MOST_LOST_ROUNDS, MOST_STRIKES};
use federation::log::{Account, Log, LogEntry, SimulatedDisk};
use federation::message::{Attempt, Instruction, MemberId, Request, RunOutcome};
use federation::store::ServerStore;
use federation::wire::UnverifiedContent;
use inference::algorithm::Answers;
use inference::settings::Schedule;
use privacy::Portfolio;
use privacy::noise::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

impl FaultWorld {
    /// INV5: what a site was told to be accepted.
    pub(super) fn note_acknowledged(&mut self, party: usize, bytes: &[u8], to: &Digest) {
        let MemberId::Site(site) = self.actors[party].member else { return };
        let Ok(reply) = UnverifiedContent::read(bytes).and_then(|reply| reply.claimed_reply(to)) else { return };
        if self.told {
            println!("{} site {site} hears {:?}", self.events, reply.instructions);
        }
        for instruction in &reply.instructions {
            if let Instruction::Held { at } | Instruction::Receipt { at, applied: Some(_) } = instruction {
                self.acknowledged.insert((site, *at));
            }
        }
    }

    /// INV1 to INV3: one try, one string of bytes; no two tries with the same answer. Of a secure sum: one letter of a kind to
    /// each receiver, and so one part of a node, ever.
    pub(super) fn check_sent(&mut self, party: usize, bytes: &[u8]) {
        let member = self.actors[party].member;
        let said = UnverifiedContent::read(bytes).unwrap();
        let digest = said.digest();
        match said.claimed_request().unwrap() {
            Request::Update(update) => {
                let MemberId::Site(site) = member else { panic!("{member:?} answers") };
                let first = *self.actors[party].released.entry(update.at).or_insert(digest);
                assert_eq!(first, digest, "INV3: site {site} sends two different answers for {:?}", update.at);
                let known = self.answers.entry(update.answer.units().to_vec()).or_insert((site, update.at));
                assert_eq!(*known, (site, update.at), "INV2: noise is used twice");
            }
            Request::Letters(letters) => {
                for letter in letters {
                    if let MemberId::Site(site) = member {
                        let (round, questions) = (letter.at.round, &mut self.actors[party].questions);
                        let first = *questions.entry(round).or_insert(letter.question);
                        assert_eq!(first, letter.question, "INV14: site {site} answers two questions of round {round}");
                    }
                    let (key, content) = ((letter.at, letter.to, kind(&letter)), content(&letter));
                    let letters = &mut self.actors[party].letters;
                    let first = *letters.entry(key).or_insert(content);
                    assert_eq!(first, content, "INV3: {member:?} writes two different letters of {key:?}");
                    let part =
                        |at: &Attempt, kind: MessageKind| kind == MessageKind::Part && at.round == letter.at.round;
                    let parts = letters.keys().filter(|(at, _, kind)| part(at, *kind)).count();
                    assert!(parts < 2, "INV3: {member:?} publishes {parts} parts of round {}", letter.at.round);
                }
            }
            _ => {}
        }
    }

    /// INV1, INV12: a ledger that was opened again has a charge for everything that was sent, and never less than before.
    pub(super) fn check_ledger(&mut self, party: usize, log: &Log<SimulatedDisk>) {
        let run = self.manifest.run();
        let (mut charges, mut covered, mut rounds) = (0, BTreeSet::new(), BTreeMap::<u64, u64>::new());
        log.scan(&mut |_, entry| {
            let Some(turn) = entry.turn().filter(|turn| turn.run == run) else { return };
            let at = Attempt { round: turn.round, attempt: turn.attempt };
            match entry {
                LogEntry::Charge { record, .. } if record.sequence == 0 => {}
                LogEntry::Charge { .. } | LogEntry::RoundCharged { .. } => {
                    charges += 1;
                    covered.insert(at);
                    *rounds.entry(turn.round).or_default() += 1;
                }
                // An answer under the charge of before, or the same contribution split again.
                LogEntry::Resumed { .. } | LogEntry::Retried { .. } => drop(covered.insert(at)),
                _ => {}
            }
        })
        .unwrap();
        if !matches!(self.parts.method.schedule, Schedule::Asynchronous(_)) {
            let most = if self.manifest.nodes.is_empty() { MOST_CHARGES } else { 1 };
            let found = rounds.values().copied().max().unwrap_or_default();
            assert!(found <= most, "INV14: a site has charged one round {found} times");
        }
        self.check_lifetime(log);
        let actor = &mut self.actors[party];
        for at in actor.released.keys().chain(actor.letters.keys().map(|(at, _, _)| at)) {
            assert!(covered.contains(at), "INV1: {:?} has sent an answer to {at:?} that is not charged", actor.member);
        }
        assert!(actor.released.len() <= charges, "INV1: {:?} has released more than it has charged", actor.member);
        assert!(charges >= actor.charges, "INV12: the ledger of {:?} has become shorter", actor.member);
        actor.charges = charges;
    }

    /// INV16: all runs of a home together are within the cap of its policy, recomputed from all records; and a closed run has no
    /// charge after its end.
    fn check_lifetime(&self, log: &Log<SimulatedDisk>) {
        let account = Account::of(log).unwrap();
        let Some(cap) = account.cap else { return };
        // Limits take longer to find than a world to run: those of the usual cap are found once.
        static USUAL: OnceLock<Portfolio> = OnceLock::new();
        let usual = USUAL.get_or_init(|| Portfolio::new(super::super::study::cap(super::super::study::PAIR)));
        let portfolio = if usual.cap() == cap { *usual } else { Portfolio::new(cap) };
        let used = account.lifetime(&portfolio, None).unwrap();
        assert!(used.fitting().is_some(), "INV16: {:?}", used.gauges());
        let mut closed = BTreeSet::new();
        log.scan(&mut |number, entry| match entry {
            LogEntry::Closed { run } => drop(closed.insert(*run)),
            _ if entry.ledger_record().is_some() => {
                let is_closed = entry.run().is_some_and(|run| closed.contains(run));
                assert!(!is_closed, "INV16: record {number} charges a closed run");
            }
            _ => {}
        })
        .unwrap();
    }

    pub(super) fn check_rounds(&mut self) {
        if let Some(engine) = self.server.as_ref().filter(|engine| engine.is_certain()) {
            let header = engine.coordinator().header();
            assert!(header.round >= self.rounds, "INV12: rounds go back");
            self.rounds = header.round;
        }
    }

    /// INV4 to INV6: accepted once, what was acknowledged is there, and the state is what the kept answers make of it.
    pub(crate) fn check_history(&self) {
        let run = self.manifest.run();
        let (history, saved) = (self.store.history(&run).unwrap(), self.store.load(&run).unwrap());
        let mut accepted = BTreeMap::new();
        for one in &history.accepted {
            let before = accepted.insert((one.site, one.update.at), one.update.answer.clone());
            assert!(before.is_none(), "INV4: {:?} of site {} was accepted twice", one.update.at, one.site);
        }
        let summing = !self.manifest.nodes.is_empty();
        let in_sum = |site: usize, round: Option<u64>| {
            let holds = |of: &FoldInput| matches!(of, FoldInput::Sum { from, .. } if from.contains(&site));
            let of_round = |fold: &&Fold| round.is_none_or(|round| fold.round == round);
            history.folds.iter().filter(of_round).filter(|fold| holds(&fold.of)).count() as u64
        };
        for (site, seat) in saved.header.sites.iter().enumerate() {
            let opened = in_sum(site, None);
            assert!(seat.answers >= opened, "INV1: site {site} is in {opened} sums, and {} are counted", seat.answers);
        }
        for (site, at) in &self.acknowledged {
            let said = saved.header.sites[*site].accepted.is_some_and(|(last, _)| last >= *at);
            let kept = match summing {
                true => said || in_sum(*site, Some(at.round)) > 0,
                false => accepted.contains_key(&(*site, *at)),
            };
            assert!(kept, "INV5: what site {site} was told to be kept of {at:?} is lost");
        }
        let protocol = self.parts.built.protocol.as_ref();
        let (mut state, mut folded) = (protocol.start().unwrap(), BTreeSet::new());
        for fold in &history.folds {
            let answers = match &fold.of {
                FoldInput::Each(tries) => {
                    tries.iter().for_each(|one| assert!(folded.insert(*one), "INV4: {one:?} is folded twice"));
                    Answers::Each(tries.iter().map(|one| (one.0, accepted[one].clone())).collect())
                }
                FoldInput::Sum { total, from } => {
                    assert!(from.len() as u64 >= self.manifest.pace.quorum, "INV8: too few in a sum");
                    Answers::Sum { total: total.clone(), from: from.clone() }
                }
            };
            state = protocol.fold(&state, &answers).unwrap().state;
        }
        assert_eq!(state, saved.state, "INV6: the state is not what the accepted answers make of it");
    }

    pub(super) fn check_end(&mut self) {
        self.check_history();
        for party in 0..self.actors.len() {
            if let MemberId::Site(_) = self.actors[party].member {
                let copy = self.actors[party].disk.copy();
                let log = Log::open(copy).unwrap();
                self.check_ledger(party, &log);
            }
        }
        let header = self.server.as_ref().map(|engine| engine.coordinator().header().clone()).unwrap();
        let CoordinatorPhase::Finished(outcome) = header.phase else { panic!("the run is not over") };
        self.check_lost(&header);
        if let RunOutcome::SumFailed(member) = outcome {
            self.check_failed(member, &header);
        }
    }

    /// INV20: a run ends by a member's name only after ten failed attempts of it or three lost rounds, and only where there was
    /// trouble for each of them.
    fn check_failed(&self, member: MemberId, header: &Header) {
        assert!(self.manifest.key(member).is_some() && member != MemberId::Server, "INV20: nobody is named");
        let failures = &header.failures;
        let own = failures.strikes.iter().filter(|strike| strike.member == member).count();
        let lost = failures.lost.len();
        assert!(
            own >= MOST_STRIKES || lost >= MOST_LOST_ROUNDS,
            "INV20: {member:?} has {own} strikes, {lost} are lost"
        );
        let troubles = self.troubles;
        assert!(troubles >= own.max(lost) as u64, "INV20: {own} strikes and {lost} lost rounds of {troubles} troubles");
    }

    /// INV14, INV20: of every round that a site has charged, and that is neither opened with it nor the last, too much has failed.
    fn check_lost(&self, header: &Header) {
        let lost = header.failures.lost.len();
        assert!(lost <= MOST_LOST_ROUNDS, "INV20: {lost} rounds are lost");
        let folds = self.store.history(&self.manifest.run()).unwrap().folds;
        for lost in &header.failures.lost {
            assert!(folds.iter().all(|fold| fold.round != lost.at.round), "INV6: a lost round is folded: {lost:?}");
        }
    }
}
