//! Things to keep in a store: made up, from a seed.
#![allow(dead_code, reason = "every test uses a part of it")]

use federation::coordinator::{
    AcceptedAnswer, AnswerReceipt, Change, CoordinatorPhase, Failures, Fold, FoldInput, Header, LostRound, SavedRun,
    SiteProgress, Strike, StrikeReason,
};
use federation::identity::{PartyName, PartyRole, PublicKey, Signature};
use federation::log::Position;
use federation::message::{Attempt, MemberId, SealedMessage, Update};
use federation::store::{InviteRow, PartyRow, RunRow};
use privacy::secure_sum::Renunciation;
use privacy::{Grid, GridVector};

pub(crate) const SITES: usize = 3;

/// A generator for tests (SplitMix64): the same seed, the same things.
pub(crate) struct StoreRandom(pub(crate) u64);

impl StoreRandom {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.next() as u8).collect()
    }

    pub(crate) fn digest(&mut self) -> [u8; 32] {
        std::array::from_fn(|_| self.next() as u8)
    }

    fn position(&mut self) -> Position {
        Position { sequence: self.below(1000), digest: self.digest() }
    }
}

pub(crate) fn row(number: u8, created: u64) -> RunRow {
    RunRow { run: [number; 16], manifest: vec![number; 300], created }
}

pub(crate) fn header(random: &mut StoreRandom) -> Header {
    let mut sites = vec![SiteProgress::default(); SITES];
    for seat in &mut sites {
        seat.attempt = random.below(9);
        seat.accepted = random.chance(50).then(|| (Attempt { round: 1, attempt: 2 }, random.digest()));
        seat.signature = random.chance(50).then(|| Signature::from_bytes(&random.bytes(64)));
    }
    Header {
        phase: CoordinatorPhase::Running,
        round: random.below(100),
        folds: random.below(100),
        arrivals: 0,
        turn: 1,
        sites,
        nodes: vec![None, Some(Signature::from_bytes(&[7; 64]))],
        server: Signature::from_bytes(&[9; 64]),
        session: random.below(5),
        closing: random.chance(50),
        letters: random.below(100),
        failures: failures(random),
    }
}

fn failures(random: &mut StoreRandom) -> Failures {
    let at = Attempt { round: random.below(9), attempt: random.below(3) };
    let reason = StrikeReason::Renounced(Renunciation::Disagreement { with: 0 });
    let strike = Strike { at, member: MemberId::Node(1), reason };
    let lost = LostRound { at, published: [0].into(), missing: [1].into() };
    let total = [(MemberId::Site(0), random.below(9)), (MemberId::Node(1), 2)].into();
    Failures { strikes: vec![strike; 2], total, lost: vec![lost], over: random.chance(50) }
}

pub(crate) fn saved(random: &mut StoreRandom) -> SavedRun {
    SavedRun {
        version: 0,
        header: header(random),
        state: random.bytes(500),
        query: random.bytes(500),
        waiting: Vec::new(),
        receipts: Vec::new(),
        letters: Vec::new(),
    }
}

pub(crate) fn update(at: Attempt, numbers: usize, random: &mut StoreRandom) -> Update {
    // Numbers as noise makes them: some 2^20 units.
    let units = (0..numbers).map(|_| (random.below(1 << 23) as i64) - (1 << 22)).collect();
    let answer = GridVector::new(Grid::new(20).unwrap(), units);
    Update { at, question: random.digest(), answer, position: random.position() }
}

pub(crate) fn accepted(site: usize, at: Attempt, numbers: usize, random: &mut StoreRandom) -> AcceptedAnswer {
    AcceptedAnswer { site, update: update(at, numbers, random), digest: random.digest() }
}

pub(crate) fn letter(random: &mut StoreRandom) -> SealedMessage {
    SealedMessage {
        from: MemberId::Site(random.below(3) as usize),
        to: MemberId::Node(random.below(2) as u32),
        at: Attempt { round: random.below(9), attempt: 0 },
        question: random.digest(),
        key: random.bytes(32),
        sealed: random.bytes(200),
        signature: Signature::from_bytes(&random.bytes(64)),
    }
}

pub(crate) fn invite(number: u8, expires: u64) -> InviteRow {
    InviteRow { secret: [number; 32], role: PartyRole::Site, name: name("oulu"), expires }
}

pub(crate) fn party(named: &str, key: u8) -> PartyRow {
    PartyRow {
        role: PartyRole::Site,
        name: name(named),
        key: PublicKey([key; 32]),
        sealing: None,
        expires: 90,
        revoked: None,
    }
}

pub(crate) fn name(text: &str) -> PartyName {
    PartyName::new(text).unwrap()
}

/// Changes that can follow each other.
#[derive(Default)]
pub(crate) struct ChangeSequence {
    round: u64,
    folds: u64,
    letters: u64,
}

impl ChangeSequence {
    /// A change on top of what is kept.
    pub(crate) fn next(&mut self, kept: &SavedRun, random: &mut StoreRandom) -> Change {
        let mut change = Change { dirty: true, ..Change::default() };
        self.round += 1;
        for site in 0..SITES {
            for attempt in 0..random.below(3) {
                change.accepted.push(accepted(site, Attempt { round: self.round, attempt }, 5, random));
            }
        }
        let new = change.accepted.iter().map(|one| (one.site, one.update.at)).collect::<Vec<_>>();
        let all = kept.waiting.iter().map(|(site, update)| (*site, update.at)).chain(new);
        for (site, at) in all.filter(|_| random.chance(50)).collect::<Vec<_>>() {
            let applied = random.chance(70).then(|| random.bytes(40));
            change.receipts.push(AnswerReceipt { site, at, applied });
        }
        for _ in 0..random.below(3) {
            let total = update(Attempt { round: 0, attempt: 0 }, 4, random).answer;
            let sum = FoldInput::Sum { total, from: vec![0, 2] };
            let each = FoldInput::Each(change.receipts.iter().map(|kept| (kept.site, kept.at)).collect());
            let of = if random.chance(50) { sum } else { each };
            change.folds.push(Fold { number: self.folds, round: self.round, of });
            self.folds += 1;
        }
        change.state = random.chance(50).then(|| random.bytes(300));
        change.query = random.chance(30).then(|| random.bytes(300));
        self.mail(kept, &mut change, random);
        for _ in 0..random.below(4) {
            change.heads.push((PublicKey([random.below(3) as u8; 32]), random.position()));
        }
        change
    }

    fn mail(&mut self, kept: &SavedRun, change: &mut Change, random: &mut StoreRandom) {
        change.cleared = random.chance(10);
        for _ in 0..random.below(4) {
            change.posted.push((self.letters, letter(random)));
            self.letters += 1;
        }
        let numbers = kept.letters.iter().chain(&change.posted).map(|(number, _)| *number);
        change.delivered = numbers.filter(|_| random.chance(30)).collect();
    }
}
