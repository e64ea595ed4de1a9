//! Histograms through a shuffler: the estimator is unbiased, its intervals hold what they promise, and what is charged is run.

use inference::histogram::{Design, apportioned, estimate, survey};
use privacy::accounting::by_name;
use privacy::{
    Adjacency, Adversary, Categories, Delta, Epsilon, Event, Filter, Gamma, Grant, Ledger, LedgerEntry, Mechanism,
    MemoryJournal, Sampling, Steps, Unit,
};

/// A survey of 400 users in 4 categories, of all of them or of 100 drawn in each round.
fn event(gamma: f64, rounds: u64, drawn: Option<u64>) -> Event {
    let mechanism = Mechanism::ShuffleRandomisedResponse {
        users: Steps::new(drawn.unwrap_or(400)).unwrap(),
        categories: Categories::new(4).unwrap(),
        gamma: Gamma::new(gamma).unwrap(),
        adversary: Adversary::Outside,
    };
    let sampling = drawn.map_or(Sampling::None, |m| Sampling::without_replacement(m, 400).unwrap());
    Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, Steps::new(rounds).unwrap()).unwrap()
}

const TRUTH: [f64; 4] = [0.6, 0.25, 0.15, 0.0];

/// Mean error in standard errors of its mean, and the share of covered intervals, over many surveys.
fn trials(run: &Event, read: &Design) -> (f64, f64) {
    let answers = apportioned(&TRUTH, 400);
    let unlimited = Ledger::open(Grant::Unlimited, &mut MemoryJournal::default()).unwrap();
    let (mut worst, mut covered, seeds) = ([0.0; 4], 0, 250);
    for seed in 0..seeds {
        let surveyed = survey(run, &unlimited, &answers, seed).unwrap();
        let shares = estimate(read, &surveyed.rounds).unwrap();
        for (category, share) in shares.iter().enumerate() {
            worst[category] += share.estimate - TRUTH[category];
            covered += usize::from(share.covers(TRUTH[category]));
        }
    }
    let rounds = run.steps().get() as usize;
    let design = Design::of(run).unwrap();
    let error = |(category, sum): (usize, f64)| {
        (sum / seeds as f64).abs() / (design.variance(TRUTH[category], rounds) / seeds as f64).sqrt()
    };
    (worst.into_iter().enumerate().map(error).fold(0.0, f64::max), covered as f64 / (4 * seeds) as f64)
}

#[test]
fn estimates_are_unbiased_and_intervals_cover_as_they_say() {
    for (gamma, rounds, drawn) in [(0.5, 1, None), (0.5, 5, None), (0.3, 3, Some(100))] {
        let event = event(gamma, rounds, drawn);
        let (error, coverage) = trials(&event, &Design::of(&event).unwrap());
        assert!(error < 4.0, "γ = {gamma}, {rounds} rounds, {drawn:?}: {error} standard errors off");
        // 1000 intervals, not all independent: 95 % with a deviation of about 1 %.
        assert!((0.925..0.975).contains(&coverage), "γ = {gamma}, {rounds} rounds, {drawn:?}: {coverage}");
    }
}

#[test]
fn mutant_debiased_by_another_gamma_or_not_at_all_is_caught() {
    let run = event(0.5, 3, None);
    let right = Design::of(&run).unwrap();
    for gamma in [0.45, 1e-9] {
        let (error, coverage) = trials(&run, &Design { gamma, ..right });
        assert!(error > 6.0 && coverage < 0.9, "γ = {gamma}: {error} {coverage}");
    }
}

#[test]
fn mutant_a_sample_taken_for_everyone_is_caught() {
    let run = event(0.1, 3, Some(100));
    let (_, honest) = trials(&run, &Design::of(&run).unwrap());
    let (_, without) = trials(&run, &Design { users: 100, ..Design::of(&run).unwrap() });
    assert!(honest > 0.925 && without < 0.9, "{honest} {without}");
}

#[test]
fn every_users_ledger_is_charged_with_the_event_that_was_run_and_no_more_is_granted_than_it_costs() {
    let (event, delta) = (event(0.5, 3, Some(100)), Delta::new(1e-6).unwrap());
    let pld = by_name("pld").unwrap();
    let cost = pld.epsilon(std::slice::from_ref(&event), delta).unwrap().upper;
    let grant = |epsilon: f64| Grant::Limited {
        epsilon: Epsilon::new(epsilon).unwrap(),
        delta,
        filter: Filter::Plan(vec![event.clone()]),
    };
    let opened = |epsilon: f64| Ledger::open(grant(epsilon), &mut MemoryJournal::default());
    let surveyed = survey(&event, &opened(cost).unwrap(), &apportioned(&TRUTH, 400), 1).unwrap();
    assert_eq!((surveyed.ledgers.len(), surveyed.rounds.len()), (400, 3));
    assert!(surveyed.rounds.iter().all(|counts| counts.iter().sum::<u64>() == 100));
    assert!(Ledger::replay(&surveyed.ledgers[0]).is_ok());
    for ledger in &surveyed.ledgers {
        assert_eq!(ledger.len(), 2);
        assert_eq!(ledger[1].entry, LedgerEntry::Charged(event.clone()));
    }
    assert!(opened(cost * 0.99).is_err(), "it would exceed the grant");
    // Another event than was granted is refused before anybody answers.
    let other = self::event(0.5, 4, Some(100));
    assert!(survey(&other, &opened(cost).unwrap(), &apportioned(&TRUTH, 400), 1).is_err());
    let again = survey(&event, &opened(cost).unwrap(), &apportioned(&TRUTH, 400), 1).unwrap();
    assert_eq!(again.rounds, surveyed.rounds, "one seed, one survey");
}
