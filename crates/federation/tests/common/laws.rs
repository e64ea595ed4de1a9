//! What every store has to obey.

use super::store_changes::{
    ChangeSequence, StoreRandom, accepted, header, invite, letter, name, party, row, saved, update,
};
use federation::coordinator::{AnswerReceipt, Change, Fold, FoldInput};
use federation::identity::{PartyRole, PublicKey};
use federation::log::Position;
use federation::message::Attempt;
use federation::store::{MemoryStore, PartyRow, Redemption, ServerStore, StoreError};

/// A store under test: another handle on the same data, as after a restart.
pub(crate) type OpenStore<'a> = &'a dyn Fn() -> Box<dyn ServerStore>;

const RUN: [u8; 16] = [1; 16];

/// A store with a run in it.
fn begun(open: OpenStore<'_>) -> Box<dyn ServerStore> {
    let store = open();
    store.create(&row(1, 50), &saved(&mut StoreRandom(1))).unwrap();
    store
}

fn commit(store: &dyn ServerStore, change: &Change) -> u64 {
    store.commit(&RUN, store.version(&RUN).unwrap(), &header(&mut StoreRandom(2)), change).unwrap()
}

fn changed() -> Change {
    Change { dirty: true, ..Change::default() }
}

pub(crate) fn what_is_created_is_loaded(open: OpenStore<'_>) {
    let store = open();
    assert_eq!(store.load(&RUN), Err(StoreError::NoRun));
    assert_eq!(store.version(&RUN), Err(StoreError::NoRun));
    assert_eq!(store.history(&RUN), Err(StoreError::NoRun));
    let mut first = saved(&mut StoreRandom(3));
    first.version = 4;
    first.letters = vec![(3, letter(&mut StoreRandom(4)))];
    first.receipts = vec![AnswerReceipt { site: 1, at: Attempt { round: 0, attempt: 1 }, applied: None }];
    store.create(&row(1, 50), &first).unwrap();
    assert_eq!(store.load(&RUN), Ok(first.clone()));
    assert_eq!(store.version(&RUN), Ok(4));
    assert_eq!(store.create(&row(1, 60), &saved(&mut StoreRandom(5))), Err(StoreError::Exists));
    assert_eq!(store.load(&RUN), Ok(first.clone()));
    first.waiting = vec![(0, update(Attempt { round: 0, attempt: 0 }, 3, &mut StoreRandom(6)))];
    assert!(store.create(&row(2, 60), &first).is_err());
    store.create(&row(3, 70), &saved(&mut StoreRandom(5))).unwrap();
    store.create(&row(2, 10), &saved(&mut StoreRandom(5))).unwrap();
    assert_eq!(store.runs(), Ok(vec![row(3, 70), row(1, 50), row(2, 10)]));
}

pub(crate) fn a_commit_does_what_the_change_says(open: OpenStore<'_>) {
    let (store, model, seed) = (open(), MemoryStore::new(), 20_260_217);
    println!("seed {seed}");
    let mut random = StoreRandom(seed);
    let (first, mut course) = (saved(&mut random), ChangeSequence::default());
    for one in [&*store, &model] {
        one.create(&row(1, 50), &first).unwrap();
    }
    for _ in 0..80 {
        let before = model.load(&RUN).unwrap();
        let (change, header) = (course.next(&before, &mut random), header(&mut random));
        let version = if random.chance(10) { before.version + 1 } else { before.version };
        let results = [&*store, &model].map(|one| one.commit(&RUN, version, &header, &change));
        assert_eq!(results[0], results[1]);
        assert_eq!(store.load(&RUN), model.load(&RUN));
    }
    assert_eq!(store.history(&RUN), model.history(&RUN));
    for key in 0..4 {
        let key = PublicKey([key; 32]);
        assert_eq!(store.head(&key), model.head(&key));
    }
    assert!(model.history(&RUN).unwrap().accepted.len() > 100 && !model.load(&RUN).unwrap().waiting.is_empty());
}

pub(crate) fn an_answer_waits_until_it_has_a_receipt(open: OpenStore<'_>) {
    let (store, mut random) = (begun(open), StoreRandom(7));
    let at = |attempt| Attempt { round: 3, attempt };
    let answers = [(0, at(0)), (1, at(0)), (1, at(1))].map(|(site, at)| accepted(site, at, 4, &mut random));
    let receipt = |site, at| AnswerReceipt { site, at, applied: Some(vec![1]) };
    commit(&*store, &Change { accepted: answers.to_vec(), receipts: vec![receipt(1, at(0))], ..changed() });
    let waiting = |of: &[usize]| of.iter().map(|&i| (answers[i].site, answers[i].update.clone())).collect::<Vec<_>>();
    assert_eq!(store.load(&RUN).unwrap().waiting, waiting(&[0, 2]));
    commit(&*store, &Change { receipts: vec![receipt(0, at(7)), receipt(2, at(0))], ..changed() });
    assert_eq!(store.load(&RUN).unwrap().waiting, waiting(&[0, 2]));
    commit(&*store, &Change { receipts: vec![receipt(0, at(0)), receipt(1, at(1))], ..changed() });
    assert_eq!(store.load(&RUN).unwrap().waiting, []);
    let expected = vec![receipt(0, at(0)), receipt(1, at(1)), receipt(2, at(0))];
    assert_eq!(store.load(&RUN).unwrap().receipts, expected);
}

/// A refused commit leaves everything as it was.
fn refused(store: &dyn ServerStore, version: u64, change: &Change) -> StoreError {
    let before = (store.load(&RUN), store.history(&RUN));
    let error = store.commit(&RUN, version, &header(&mut StoreRandom(8)), change).unwrap_err();
    assert_eq!((store.load(&RUN), store.history(&RUN)), before);
    error
}

pub(crate) fn a_stale_version_is_refused_and_nothing_is_kept(open: OpenStore<'_>) {
    let (store, mut random) = (begun(open), StoreRandom(9));
    let change = |random: &mut StoreRandom| Change {
        accepted: vec![accepted(0, Attempt { round: 0, attempt: random.next() % 1000 }, 4, random)],
        state: Some(vec![1, 2, 3]),
        posted: vec![(random.below(1000), letter(random))],
        heads: vec![(PublicKey([4; 32]), Position { sequence: 4, digest: [4; 32] })],
        ..changed()
    };
    for (version, found) in [(1, 0), (u64::from(u32::MAX), 0)] {
        let error = refused(&*store, version, &change(&mut random));
        assert_eq!(error, StoreError::Stale { found, expected: version });
    }
    assert_eq!(store.head(&PublicKey([4; 32])), Ok(None));
    assert_eq!(store.commit(&RUN, 0, &header(&mut random), &change(&mut random)), Ok(1));
    let error = refused(&*store, 0, &change(&mut random));
    assert_eq!(error, StoreError::Stale { found: 1, expected: 0 });
    let other = store.commit(&[9; 16], 0, &header(&mut random), &change(&mut random));
    assert_eq!(other, Err(StoreError::NoRun));
}

pub(crate) fn what_is_there_already_is_refused_whole(open: OpenStore<'_>) {
    let (store, mut random) = (begun(open), StoreRandom(10));
    let at = Attempt { round: 2, attempt: 0 };
    let fold = Fold { number: 0, round: 2, of: FoldInput::Each(vec![(0, at)]) };
    let first = Change {
        accepted: vec![accepted(0, at, 4, &mut random)],
        folds: vec![fold.clone()],
        posted: vec![(5, letter(&mut random))],
        ..changed()
    };
    commit(&*store, &first);
    let state = Some(vec![1]);
    let again = accepted(0, at, 4, &mut random);
    let twice = accepted(0, Attempt { round: 3, attempt: 0 }, 4, &mut random);
    for change in [
        Change { accepted: vec![twice.clone(), again], ..changed() },
        Change { accepted: vec![twice.clone(), twice], ..changed() },
        Change { folds: vec![fold], state: state.clone(), ..changed() },
        Change { posted: vec![(5, letter(&mut random))], state: state.clone(), ..changed() },
    ] {
        assert!(matches!(refused(&*store, 1, &change), StoreError::Failed { .. }));
    }
    let renewed = Change { cleared: true, posted: vec![(5, letter(&mut random))], state, ..changed() };
    commit(&*store, &renewed);
    assert_eq!(store.load(&RUN).unwrap().letters, renewed.posted);
}

pub(crate) fn of_two_commits_on_one_version_exactly_one_is_kept(open: OpenStore<'_>) {
    let (one, mut random) = (begun(open), StoreRandom(11));
    let other = open();
    for round in 0..200 {
        let change = |site| Change {
            accepted: vec![accepted(site, Attempt { round, attempt: 0 }, 4, &mut random)],
            heads: [3, 5].map(|key| (PublicKey([key; 32]), Position { sequence: round, digest: [0; 32] })).into(),
            ..changed()
        };
        let [a, b] = [0, 1].map(change);
        let header = header(&mut StoreRandom(12));
        let barrier = std::sync::Barrier::new(2);
        let attempt = |store: &dyn ServerStore, change: &Change| {
            barrier.wait();
            store.commit(&RUN, round, &header, change)
        };
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| attempt(&*one, &a));
            (attempt(&*other, &b), first.join().unwrap())
        });
        let stale = StoreError::Stale { found: round + 1, expected: round };
        let winner = match (second, first) {
            (Ok(_), Err(error)) if error == stale => a,
            (Err(error), Ok(_)) if error == stale => b,
            results => panic!("round {round}: {results:?}"),
        };
        assert_eq!(one.history(&RUN).unwrap().accepted.last(), winner.accepted.first());
    }
    assert_eq!(one.version(&RUN), Ok(200));
    assert_eq!(other.history(&RUN).unwrap().accepted.len(), 200);
}

pub(crate) fn letters_are_posted_delivered_and_cleared_in_this_order(open: OpenStore<'_>) {
    let (store, mut random) = (begun(open), StoreRandom(13));
    let mut post = |numbers: &[u64]| numbers.iter().map(|&number| (number, letter(&mut random))).collect::<Vec<_>>();
    let numbers = |store: &dyn ServerStore| {
        store.load(&RUN).unwrap().letters.into_iter().map(|(number, _)| number).collect::<Vec<_>>()
    };
    commit(&*store, &Change { posted: post(&[3, 1, 2]), ..changed() });
    assert_eq!(numbers(&*store), [1, 2, 3]);
    commit(&*store, &Change { posted: post(&[4, 5]), delivered: vec![2, 5, 99], ..changed() });
    assert_eq!(numbers(&*store), [1, 3, 4]);
    let last = post(&[6, 3]);
    commit(&*store, &Change { cleared: true, posted: last.clone(), delivered: vec![6], ..changed() });
    assert_eq!(store.load(&RUN).unwrap().letters, last[1..]);
    commit(&*store, &Change { cleared: true, ..changed() });
    assert_eq!(numbers(&*store), [0; 0]);
}

pub(crate) fn an_invitation_is_good_for_one_request(open: OpenStore<'_>) {
    let store = open();
    let kept = invite(1, 100);
    store.invite(&kept).unwrap();
    store.invite(&kept).unwrap();
    store.invite(&invite(2, 100)).unwrap();
    let redeem = |secret: u8, request: u8, now| store.redeem(&[secret; 32], &[request; 32], now).unwrap();
    assert_eq!(redeem(9, 1, 50), Redemption::Unknown);
    assert_eq!(redeem(1, 1, 101), Redemption::Expired);
    assert_eq!(redeem(1, 2, 100), Redemption::Good(kept.clone()));
    assert_eq!(redeem(1, 2, 99), Redemption::Good(kept.clone()));
    assert_eq!(redeem(1, 3, 99), Redemption::Used);
    assert_eq!(redeem(1, 3, 101), Redemption::Used);
    assert_eq!(redeem(1, 2, 101), Redemption::Expired);
    store.invite(&kept).unwrap();
    assert_eq!(redeem(1, 3, 99), Redemption::Used);
    assert!(store.invite(&invite(1, 5000)).is_err());
    assert_eq!(redeem(1, 2, 101), Redemption::Expired);
    assert_eq!(redeem(2, 3, 99), Redemption::Good(invite(2, 100)));
}

pub(crate) fn of_two_requests_for_one_invitation_exactly_one_is_good(open: OpenStore<'_>) {
    let (one, other) = (open(), open());
    for number in 0..50 {
        one.invite(&invite(number, 100)).unwrap();
        let barrier = std::sync::Barrier::new(2);
        let redeem = |store: &dyn ServerStore, request: u8| {
            barrier.wait();
            store.redeem(&[number; 32], &[request; 32], 50).unwrap()
        };
        let results = std::thread::scope(|scope| {
            let first = scope.spawn(|| redeem(&*one, 1));
            [redeem(&*other, 2), first.join().unwrap()]
        });
        let good = results.iter().filter(|result| matches!(result, Redemption::Good(_))).count();
        assert!(good == 1 && results.contains(&Redemption::Used), "{results:?}");
    }
}

pub(crate) fn a_party_is_enrolled_in_the_place_of_the_one_before(open: OpenStore<'_>) {
    let store = open();
    let node = PartyRow { role: PartyRole::Node, sealing: Some([8; 32]), ..party("Oulu", 2) };
    for row in [&node, &party("turku", 3), &party("Oulu", 1)] {
        store.enrol(row).unwrap();
    }
    assert_eq!(store.parties(), Ok(vec![party("Oulu", 1), party("turku", 3), node.clone()]));
    let renewed = PartyRow { expires: 95, ..party("turku", 3) };
    store.enrol(&renewed).unwrap();
    store.enrol(&party("Oulu", 7)).unwrap();
    assert_eq!(store.parties(), Ok(vec![party("Oulu", 7), renewed, node]));
}

pub(crate) fn a_revoked_key_stays_revoked(open: OpenStore<'_>) {
    let store = open();
    assert_eq!(store.revoke(PartyRole::Site, &name("oulu"), 10), Ok(false));
    store.enrol(&party("oulu", 1)).unwrap();
    assert_eq!(store.revoke(PartyRole::Node, &name("oulu"), 10), Ok(false));
    assert_eq!(store.revoke(PartyRole::Site, &name("oulu"), 10), Ok(true));
    assert_eq!(store.revoke(PartyRole::Site, &name("oulu"), 11), Ok(false));
    let revoked = PartyRow { revoked: Some(10), ..party("oulu", 1) };
    assert_eq!(store.parties(), Ok(vec![revoked.clone()]));
    store.enrol(&party("oulu", 1)).unwrap();
    assert_eq!(store.parties(), Ok(vec![revoked.clone()]));
    store.enrol(&party("oulu", 2)).unwrap();
    assert_eq!(store.parties(), Ok(vec![revoked.clone(), party("oulu", 2)]));
    store.enrol(&party("oulu", 1)).unwrap();
    assert_eq!(store.parties(), Ok(vec![revoked.clone(), party("oulu", 2)]));
    assert_eq!(store.revoke(PartyRole::Site, &name("oulu"), 12), Ok(true));
    store.enrol(&party("oulu", 3)).unwrap();
    let second = PartyRow { revoked: Some(12), ..party("oulu", 2) };
    assert_eq!(store.parties(), Ok(vec![revoked, second, party("oulu", 3)]));
}

pub(crate) fn a_head_only_moves_forward(open: OpenStore<'_>) {
    let store = begun(open);
    store.create(&row(2, 51), &saved(&mut StoreRandom(1))).unwrap();
    let key = PublicKey([6; 32]);
    let place = |sequence, digest| Position { sequence, digest: [digest; 32] };
    let see = |run: u8, positions: &[Position]| {
        let heads = positions.iter().map(|position| (key, *position)).collect();
        let version = store.version(&[run; 16]).unwrap();
        let change = Change { heads, ..changed() };
        store.commit(&[run; 16], version, &header(&mut StoreRandom(2)), &change).unwrap();
        store.head(&key).unwrap().unwrap()
    };
    assert_eq!(store.head(&key), Ok(None));
    assert_eq!(see(1, &[place(5, 1)]), place(5, 1));
    assert_eq!(see(2, &[place(4, 2)]), place(5, 1));
    assert_eq!(see(2, &[place(5, 3)]), place(5, 1));
    assert_eq!(see(2, &[place(6, 4), place(260, 5), place(7, 6)]), place(260, 5));
    assert_eq!(see(1, &[place(u64::MAX, 7)]), place(u64::MAX, 7));
    assert_eq!(see(1, &[place(u64::MAX / 2, 8)]), place(u64::MAX, 7));
    assert_eq!(store.head(&PublicKey([5; 32])), Ok(None));
}

pub(crate) fn history_is_in_order(open: OpenStore<'_>) {
    let (store, mut random) = (begun(open), StoreRandom(14));
    let (mut all, mut folds) = (Vec::new(), Vec::new());
    for round in 0..12 {
        let answers = [2, 0, 1].map(|site| accepted(site, Attempt { round, attempt: 0 }, 4, &mut random));
        let of = FoldInput::Each(vec![(2, Attempt { round, attempt: 0 })]);
        let fold = Fold { number: round, round, of };
        commit(&*store, &Change { accepted: answers.to_vec(), folds: vec![fold.clone()], ..changed() });
        all.extend(answers);
        folds.push(fold);
    }
    let history = store.history(&RUN).unwrap();
    assert_eq!((history.accepted, history.folds), (all, folds));
}

pub(crate) fn ten_thousand_numbers_are_kept_exactly(open: OpenStore<'_>) {
    let (store, mut random) = (begun(open), StoreRandom(15));
    let at = Attempt { round: 0, attempt: 0 };
    let answer = accepted(1, at, 10_000, &mut random);
    let state: Vec<u8> = (0..200_000).map(|_| random.next() as u8).collect();
    let query: Vec<u8> = state.iter().rev().copied().collect();
    let (query, state) = (Some(query), Some(state));
    let change = Change { accepted: vec![answer.clone()], state, query, ..changed() };
    commit(&*store, &change);
    let kept = store.load(&RUN).unwrap();
    assert_eq!((Some(kept.state), Some(kept.query)), (change.state, change.query));
    assert_eq!(kept.waiting, [(1, answer.update.clone())]);
    assert_eq!(store.history(&RUN).unwrap().accepted, [answer]);
}

pub(crate) fn everything_is_found_again(open: OpenStore<'_>) {
    let (store, mut random, mut course) = (begun(open), StoreRandom(16), ChangeSequence::default());
    for _ in 0..10 {
        let change = course.next(&store.load(&RUN).unwrap(), &mut random);
        commit(&*store, &change);
    }
    store.invite(&invite(1, 100)).unwrap();
    store.redeem(&[1; 32], &[2; 32], 50).unwrap();
    store.enrol(&party("oulu", 1)).unwrap();
    store.revoke(PartyRole::Site, &name("oulu"), 10).unwrap();
    let all = |store: &dyn ServerStore| {
        let head = store.head(&PublicKey([1; 32])).unwrap();
        (store.load(&RUN).unwrap(), store.history(&RUN).unwrap(), store.runs(), head, store.parties())
    };
    let before = all(&*store);
    drop(store);
    let again = open();
    assert_eq!(all(&*again), before);
    assert_eq!(again.redeem(&[1; 32], &[3; 32], 50), Ok(Redemption::Used));
    commit(&*again, &changed());
}
