//! What must be true of the files of a run, however often its processes were killed.

use crate::run_folder::{ProcessParts, RunFolder};
use federation::agent::MOST_CHARGES;
use federation::coordinator::{CoordinatorPhase, FoldInput, MOST_LOST_ROUNDS, MOST_STRIKES, SavedRun};
use federation::log::{Account, FolderView, Log, LogEntry};
use federation::message::{Attempt, RunOutcome};
use federation::store::{History, ServerStore};
use federation::wire::{self, UnverifiedContent};
use inference::algorithm::Answers;
use inference::settings::Schedule;
use privacy::noise::Digest;
use std::collections::{BTreeMap, BTreeSet};

/// What a site's ledger says of its attempts.
#[derive(Default)]
struct LedgerSummary {
    charged: BTreeSet<Attempt>,
    /// What was charged, and what was answered under a charge of before.
    covered: BTreeSet<Attempt>,
    outbox: BTreeMap<Attempt, Digest>,
    contributed: BTreeSet<Attempt>,
    settled: BTreeSet<Attempt>,
}

/// What was seen of a site or a node while it was alive.
#[derive(Default)]
struct Observations {
    sent: Vec<(Attempt, Digest)>,
    /// Letters by attempt, kind and receiver.
    letters: BTreeMap<(Attempt, String), Digest>,
    held: BTreeSet<Attempt>,
}

/// Looks at everything that a run has left behind, in which so many sites and nodes were killed.
pub(crate) fn hold(stage: &RunFolder, store: &dyn ServerStore, fallen: u64) {
    let play = stage.play();
    let run = play.manifest.run();
    let (saved, history) = (store.load(&run).unwrap(), store.history(&run).unwrap());
    the_run_is_over(&saved, fallen);
    for (site, (name, _)) in play.keys.sites.iter().enumerate() {
        let ledger = ledger(stage, &play, site);
        let seen = seen(stage, name.as_str());
        nothing_below_what_was_sent(site, &ledger, &seen);
        nothing_acknowledged_is_lost(site, &ledger, &seen, &saved, &history, &play);
    }
    for (name, _, _) in &play.keys.nodes {
        // One list, one confirmation and one part of each node in each attempt, ever: what is read is compared.
        seen(stage, name.as_str());
    }
    no_noise_is_used_twice(&history);
    the_state_is_what_the_answers_make_of_it(&play, &saved, &history);
}

/// All rounds were made; or ten attempts at sums or three rounds were lost with as many sites and nodes, and one of those is named.
fn the_run_is_over(saved: &SavedRun, fallen: u64) {
    let header = &saved.header;
    match header.phase {
        CoordinatorPhase::Finished(RunOutcome::Complete) => {}
        CoordinatorPhase::Finished(RunOutcome::SumFailed(member)) => {
            let own = header.failures.strikes.iter().filter(|strike| strike.member == member).count();
            let lost = header.failures.lost.len();
            assert!(own >= MOST_STRIKES || lost >= MOST_LOST_ROUNDS, "{member:?} is named for {own} and {lost}");
            assert!(fallen >= own.max(lost) as u64, "{own} failed, {lost} were lost, and {fallen} were killed");
        }
        other => panic!("the run does not finish: {other:?}"),
    }
}

/// Reads and checks a ledger: its chain, every charge again, and that nothing is answered before it is charged.
fn ledger(stage: &RunFolder, play: &ProcessParts, site: usize) -> LedgerSummary {
    let (name, key) = &play.keys.sites[site];
    let run = play.manifest.run();
    let log = Log::view(FolderView::open(&stage.disk(name.as_str())).unwrap()).unwrap();
    let account = Account::of(&log).unwrap();
    account.run(&run).expect("the run is on record").replay().unwrap().expect("its ledger was opened");
    let (mut ledger, summing) = (LedgerSummary::default(), !play.manifest.nodes.is_empty());
    log.scan(&mut |_, entry| {
        let Some(turn) = entry.turn() else { return };
        let at = Attempt { round: turn.round, attempt: turn.attempt };
        match entry {
            LogEntry::Charge { record, .. } if record.sequence == 0 => {}
            LogEntry::Charge { .. } | LogEntry::RoundCharged { .. } => {
                assert!(ledger.charged.insert(at), "site {site} charges {at:?} twice");
                assert!(ledger.covered.insert(at), "site {site} takes part in {at:?} twice");
            }
            // Not charges: an answer under the last one, or the same contribution split again.
            LogEntry::Resumed { .. } if summing => assert!(ledger.covered.insert(at), "site {site} is in {at:?} twice"),
            LogEntry::Resumed { .. } => drop(ledger.covered.insert(at)),
            LogEntry::Retried { .. } => assert!(ledger.covered.insert(at), "site {site} takes part in {at:?} twice"),
            LogEntry::Outbox { bytes, .. } => {
                assert!(ledger.covered.contains(&at), "site {site} answers {at:?} before the charge");
                UnverifiedContent::read(bytes).unwrap().request(&key.public()).unwrap();
                let before = ledger.outbox.insert(at, wire::content_digest(bytes).unwrap());
                assert!(before.is_none(), "site {site} makes two answers to {at:?}");
            }
            LogEntry::Contributed { .. } => drop(ledger.contributed.insert(at)),
            LogEntry::Settled { .. } => assert!(ledger.settled.insert(at), "site {site} settles {at:?} twice"),
            LogEntry::Free { .. }
            | LogEntry::Lapsed { .. }
            | LogEntry::Accepted { .. }
            | LogEntry::AcceptedGrant { .. }
            | LogEntry::Policy { .. }
            | LogEntry::Closed { .. }
            | LogEntry::Owner { .. } => {}
        }
    })
    .unwrap();
    let asynchronous = matches!(play.parts.method.schedule, Schedule::Asynchronous(_));
    for round in ledger.charged.iter().map(|at| at.round).filter(|_| !asynchronous) {
        let charges = ledger.charged.iter().filter(|at| at.round == round).count() as u64;
        let most = if summing { 1 } else { MOST_CHARGES };
        assert!(charges <= most, "site {site} has charged round {round} {charges} times");
    }
    assert!(ledger.outbox.len() <= ledger.charged.len(), "site {site} has answered more than it has charged");
    ledger
}

fn seen(stage: &RunFolder, name: &str) -> Observations {
    let mut seen = Observations::default();
    for line in std::fs::read_to_string(stage.witnessed(name)).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let at = Attempt { round: words[1].parse().unwrap(), attempt: words[2].parse().unwrap() };
        match words[0] {
            "sent" => seen.sent.push((at, digest(words[3]))),
            "letter" => {
                let (which, content) = (words[4].to_owned(), digest(words[3]));
                let first = *seen.letters.entry((at, which)).or_insert(content);
                assert_eq!(first, content, "{name} writes two different letters of {at:?}: {}", words[4]);
            }
            "held" => drop(seen.held.insert(at)),
            other => panic!("nothing is called {other}"),
        }
    }
    seen
}

fn digest(text: &str) -> Digest {
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

/// Whatever left a site is charged in its ledger, and what was sent again was the same.
fn nothing_below_what_was_sent(site: usize, ledger: &LedgerSummary, seen: &Observations) {
    for (at, digest) in &seen.sent {
        assert!(ledger.covered.contains(at), "site {site} has sent {at:?}, which is not charged");
        assert_eq!(ledger.outbox.get(at), Some(digest), "site {site} has sent other bytes for {at:?}");
    }
    for at in seen.letters.keys().map(|(at, _)| at).chain(&ledger.contributed) {
        assert!(ledger.covered.contains(at), "site {site} has shared {at:?}, which is not charged");
    }
}

/// What a site was told to be kept is kept, what is kept is the site's, and both know the same head.
fn nothing_acknowledged_is_lost(
    site: usize,
    ledger: &LedgerSummary,
    seen: &Observations,
    saved: &SavedRun,
    history: &History,
    play: &ProcessParts,
) {
    let own = history.accepted.iter().filter(|one| one.site == site);
    let accepted: BTreeMap<Attempt, Digest> = own.map(|one| (one.update.at, one.digest)).collect();
    for (at, digest) in &accepted {
        assert!(ledger.covered.contains(at), "an answer of site {site} to {at:?} is accepted and not charged");
        assert_eq!(ledger.outbox.get(at), Some(digest), "site {site} has another answer to {at:?} than the server");
    }
    let summing = !play.manifest.nodes.is_empty();
    let holds = |of: &FoldInput| matches!(of, FoldInput::Sum { from, .. } if from.contains(&site));
    let in_sum = |round: u64| history.folds.iter().any(|fold| fold.round == round && holds(&fold.of));
    let opened = history.folds.iter().filter(|fold| holds(&fold.of)).count() as u64;
    assert!(saved.header.sites[site].answers >= opened, "site {site} is in {opened} sums, and fewer are counted");
    for at in seen.held.iter().chain(&ledger.settled) {
        let kept = match summing {
            true => saved.header.sites[site].accepted.is_some_and(|(last, _)| last >= *at) || in_sum(at.round),
            false => accepted.contains_key(at),
        };
        assert!(kept, "the server has lost what it has acknowledged to site {site}: {at:?}");
    }
    for fold in &history.folds {
        if let FoldInput::Sum { from, .. } = &fold.of
            && from.contains(&site)
        {
            // The nodes may have all shares of a site that was killed before it heard so: what counts is that it has paid.
            let paid = |at: &Attempt| at.round == fold.round && ledger.covered.contains(at);
            let given = seen.letters.keys().any(|(at, _)| paid(at));
            assert!(given, "the sum of round {} has an answer that site {site} did not pay for", fold.round);
        }
    }
}

fn no_noise_is_used_twice(history: &History) {
    let mut answers = BTreeSet::new();
    for one in &history.accepted {
        assert!(answers.insert(one.update.answer.units().to_vec()), "noise is used twice: {:?}", one.update.at);
    }
    for fold in &history.folds {
        if let FoldInput::Sum { total, .. } = &fold.of {
            assert!(answers.insert(total.units().to_vec()), "noise is used twice in a sum: {}", fold.round);
        }
    }
}

/// The kept state is the start with all folds in their order, each answer once.
fn the_state_is_what_the_answers_make_of_it(play: &ProcessParts, saved: &SavedRun, history: &History) {
    let mut accepted = BTreeMap::new();
    for one in &history.accepted {
        let before = accepted.insert((one.site, one.update.at), one.update.answer.clone());
        assert!(before.is_none(), "{:?} of site {} was accepted twice", one.update.at, one.site);
    }
    let protocol = play.parts.built.protocol.as_ref();
    let (mut state, mut folded) = (protocol.start().unwrap(), BTreeSet::new());
    for fold in &history.folds {
        let answers = match &fold.of {
            FoldInput::Each(tries) => {
                tries.iter().for_each(|one| assert!(folded.insert(*one), "{one:?} is folded twice"));
                Answers::Each(tries.iter().map(|one| (one.0, accepted[one].clone())).collect())
            }
            FoldInput::Sum { total, from } => {
                assert!(from.len() as u64 >= play.manifest.pace.quorum, "too few in a sum");
                Answers::Sum { total: total.clone(), from: from.clone() }
            }
        };
        state = protocol.fold(&state, &answers).unwrap().state;
    }
    assert_eq!(state, saved.state, "the state is not what the accepted answers make of it");
}
