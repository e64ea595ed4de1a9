//! Things to keep in a store: made up, from a seed.
#![allow(dead_code, reason = "every test uses a part of it")]

use federation::coordinator::{Accepted, Change, Failures, Fold, Folded, Header, Kept, Phase, Saved, Seat};
use federation::identity::{PartyName, PublicKey, Role, Signature};
use federation::log::Position;
use federation::message::{Letter, Member, Try, Update};
use federation::store::{InviteRow, PartyRow, RunRow};
use privacy::{Grid, GridVector};

pub(crate) const SITES: usize = 3;

/// A generator for tests (SplitMix64): the same seed, the same things.
pub(crate) struct Random(pub(crate) u64);

impl Random {
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

pub(crate) fn header(random: &mut Random) -> Header {
    let mut seats = vec![Seat::default(); SITES];
    for seat in &mut seats {
        seat.attempt = random.below(9);
        seat.accepted = random.chance(50).then(|| (Try { round: 1, attempt: 2 }, random.digest()));
        seat.signature = random.chance(50).then(|| Signature::from_bytes(&random.bytes(64)));
    }
    Header {
        phase: Phase::Running,
        round: random.below(100),
        folds: random.below(100),
        arrivals: 0,
        turn: 1,
        seats,
        nodes: vec![None, Some(Signature::from_bytes(&[7; 64]))],
        server: Signature::from_bytes(&[9; 64]),
        session: random.below(5),
        closing: random.chance(50),
        letters: random.below(100),
        failures: Failures {
            round: vec![(random.below(3), Member::Node(1)); 2],
            total: [(Member::Site(0), random.below(9)), (Member::Node(1), 2)].into(),
        },
    }
}

pub(crate) fn saved(random: &mut Random) -> Saved {
    Saved {
        version: 0,
        header: header(random),
        state: random.bytes(500),
        query: random.bytes(500),
        waiting: Vec::new(),
        receipts: Vec::new(),
        letters: Vec::new(),
    }
}

pub(crate) fn update(at: Try, numbers: usize, random: &mut Random) -> Update {
    // Numbers as noise makes them: some 2^20 units.
    let units = (0..numbers).map(|_| (random.below(1 << 23) as i64) - (1 << 22)).collect();
    let answer = GridVector::new(Grid::new(20).unwrap(), units);
    Update { at, question: random.digest(), answer, position: random.position() }
}

pub(crate) fn accepted(site: usize, at: Try, numbers: usize, random: &mut Random) -> Accepted {
    Accepted { site, update: update(at, numbers, random), digest: random.digest() }
}

pub(crate) fn letter(random: &mut Random) -> Letter {
    Letter {
        from: Member::Site(random.below(3) as usize),
        to: Member::Node(random.below(2) as u32),
        at: Try { round: random.below(9), attempt: 0 },
        question: random.digest(),
        key: random.bytes(32),
        sealed: random.bytes(200),
        signature: Signature::from_bytes(&random.bytes(64)),
    }
}

pub(crate) fn invite(number: u8, expires: u64) -> InviteRow {
    InviteRow { secret: [number; 32], role: Role::Site, name: name("oulu"), expires }
}

pub(crate) fn party(named: &str, key: u8) -> PartyRow {
    PartyRow {
        role: Role::Site,
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
pub(crate) struct Course {
    round: u64,
    folds: u64,
    letters: u64,
}

impl Course {
    /// A change on top of what is kept.
    pub(crate) fn next(&mut self, kept: &Saved, random: &mut Random) -> Change {
        let mut change = Change { dirty: true, ..Change::default() };
        self.round += 1;
        for site in 0..SITES {
            for attempt in 0..random.below(3) {
                change.accepted.push(accepted(site, Try { round: self.round, attempt }, 5, random));
            }
        }
        let new = change.accepted.iter().map(|one| (one.site, one.update.at)).collect::<Vec<_>>();
        let all = kept.waiting.iter().map(|(site, update)| (*site, update.at)).chain(new);
        for (site, at) in all.filter(|_| random.chance(50)).collect::<Vec<_>>() {
            let applied = random.chance(70).then(|| random.bytes(40));
            change.receipts.push(Kept { site, at, applied });
        }
        for _ in 0..random.below(3) {
            let total = update(Try { round: 0, attempt: 0 }, 4, random).answer;
            let sum = Folded::Sum { total, from: vec![0, 2] };
            let each = Folded::Each(change.receipts.iter().map(|kept| (kept.site, kept.at)).collect());
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

    fn mail(&mut self, kept: &Saved, change: &mut Change, random: &mut Random) {
        change.cleared = random.chance(10);
        for _ in 0..random.below(4) {
            change.posted.push((self.letters, letter(random)));
            self.letters += 1;
        }
        let numbers = kept.letters.iter().chain(&change.posted).map(|(number, _)| *number);
        change.delivered = numbers.filter(|_| random.chance(30)).collect();
    }
}
