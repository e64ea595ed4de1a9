//! A fit as a process of its own, killed in every window of its life and started again: no noise is used twice, and the ledger is
//! never below what was released.
//!
//! A few kills are made in every run of the tests. `POSTERITY_FIT_KILLS=30` kills a fit at every place that it passes, again and
//! again, until there are so many kills in each window:
//! `POSTERITY_FIT_KILLS=30 cargo test -p posterity-federation --features rehearsal --test all fit::kill`.

use super::table::{Owner, STUDY};
use super::{ledger, persons};
use federation::log::{FolderView, Log, LogEntry, Position, RunAttempt, RunStanding};
use federation::message::Request;
use federation::wire::UnverifiedContent;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use study::{FitResults, Posterior};

/// Where a fit was when it was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Window {
    BeforeCharge,
    BetweenChargeAndOutbox,
    BetweenOutboxAndPosterior,
    WhileThePosteriorIsWritten,
}

const WINDOWS: [Window; 4] = [
    Window::BeforeCharge,
    Window::BetweenChargeAndOutbox,
    Window::BetweenOutboxAndPosterior,
    Window::WhileThePosteriorIsWritten,
];

/// Places in each window, and the how-manieth passing of each: the first records of a ledger are its owner, the run and the grant.
const PLACES: [(&str, u64); 9] = [
    ("append", 4),
    ("appended", 3),
    ("synced", 5),
    ("append", 8),
    ("synced", 9),
    ("append", 21),
    ("publish", 2),
    ("published", 5),
    ("published", 10),
];

/// What the processes of the other tests do; by itself it does nothing.
#[test]
fn a_process_that_fits() {
    if let Some(folder) = std::env::var_os("POSTERITY_FIT_FOLDER") {
        let folder = Path::new(&folder);
        let study = std::fs::read_to_string(folder.join("study.toml")).unwrap();
        Owner::at(folder, &study).fit("out", &()).unwrap();
    }
}

/// Starts a fit; true if it was killed at the place, false if it came to its end.
fn killed(owner: &Owner, place: Option<(&str, u64)>) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "fit::kill::a_process_that_fits", "--test-threads", "1"]);
    command.env("POSTERITY_FIT_FOLDER", &owner.folder).stdout(Stdio::null()).stderr(Stdio::null());
    command.env_remove("POSTERITY_FAILPOINT");
    if let Some((name, number)) = place {
        command.env("POSTERITY_FAILPOINT", format!("{name}:{number}"));
    }
    let status = command.status().unwrap();
    let dead = status.signal() == Some(9);
    assert!(dead || status.success(), "{place:?}: {status}");
    dead
}

/// What the ledger says after a kill: the window, its last record, and what was in the outbox by then.
struct AfterKill {
    window: Window,
    head: Position,
    outbox: BTreeMap<(u64, u64), Vec<u8>>,
}

fn after_kill(owner: &Owner) -> Option<AfterKill> {
    let log = Log::view(FolderView::open(&owner.home().join("ledger")).ok()?).ok()?;
    let (mut last, mut outbox) = (None, BTreeMap::new());
    log.scan(&mut |_, entry| {
        if let LogEntry::Outbox { turn, bytes } = entry {
            outbox.insert((turn.round, turn.attempt), bytes.clone());
        }
        last = Some(entry.clone());
    })
    .unwrap();
    let published = owner.folder.join("out").join("posterior").exists();
    let window = match last {
        Some(LogEntry::Charge { record, .. }) if record.sequence > 0 => Window::BetweenChargeAndOutbox,
        Some(LogEntry::Closed { .. }) if published => Window::WhileThePosteriorIsWritten,
        Some(LogEntry::Closed { .. } | LogEntry::Outbox { .. }) => Window::BetweenOutboxAndPosterior,
        Some(LogEntry::Settled { .. }) if outbox.len() == 6 => Window::BetweenOutboxAndPosterior,
        _ => Window::BeforeCharge,
    };
    Some(AfterKill { window, head: log.head(), outbox })
}

/// Kills a fit at these places, one after the other, and lets it come to its end; the windows that it died in.
fn campaign(name: &str, places: &[(&str, u64)]) -> Vec<Window> {
    campaign_of(&Owner::new(name, STUDY), places)
}

fn campaign_of(owner: &Owner, places: &[(&str, u64)]) -> Vec<Window> {
    let (mut windows, mut seen) = (Vec::new(), Vec::new());
    let mut places = places.iter().copied().map(Some).chain([None]);
    while places.next().is_some_and(|place| killed(owner, place)) {
        let found = after_kill(owner);
        windows.push(found.as_ref().map_or(Window::BeforeCharge, |found| found.window));
        seen.extend(found);
    }
    postmortem(owner, &seen, windows.len() as u64);
    windows
}

/// What must be true of a home and of the files of a fit, however often it was killed.
fn postmortem(owner: &Owner, seen: &[AfterKill], kills: u64) {
    let log = Log::view(FolderView::open(&owner.home().join("ledger")).unwrap()).unwrap();
    for before in seen {
        assert_eq!(log.digest_at(before.head.sequence), Some(before.head.digest), "a record was lost");
    }
    let account = ledger(&owner.home());
    account.runs.iter().for_each(|run| drop(run.replay().unwrap().expect("its ledger was opened")));
    let burnt: u64 = account.runs.iter().map(|run| run.burnt).sum();
    assert_eq!(burnt, 0, "{kills} kills have burnt charges");
    let answers = answers(&log);
    for before in seen {
        for (at, bytes) in &before.outbox {
            let kept = answers.iter().filter(|(turn, _)| (turn.round, turn.attempt) == *at);
            assert!(kept.clone().any(|(_, kept)| kept == bytes), "the answer to {at:?} is another now");
        }
    }
    the_noise_of_no_answer_is_that_of_another(&answers);
    let results = FitResults::open(&owner.folder.join("out")).unwrap().unwrap();
    let run = account.runs.last().unwrap();
    assert_eq!(results.run, study::digits::hexadecimal(&run.run));
    assert_eq!((run.standing, results.privacy.charges), (RunStanding::Closed, run.charges));
    let made = answers.iter().filter(|(turn, _)| turn.run == run.run).count() as u64;
    assert!(results.rounds == made && made + run.burnt == run.charges, "{results:?}");
    assert!(results.rounds == results.planned_rounds && results.privacy.spent_epsilon <= 1.0);
    assert_eq!(results.lifetime.epsilon, account.granted().epsilon, "every run that was begun counts");
    assert!(!owner.home().join("unfinished.json").exists());
    let posterior = Posterior::open(&owner.folder.join("out"), None).unwrap();
    assert_eq!(posterior.predict(b"age,dose\n50,0.5\n").unwrap().rows.len(), 1);
}

/// All answers of a ledger. Each comes under a charge of its own, and no attempt has two of either.
fn answers(log: &Log<FolderView>) -> Vec<(RunAttempt, Vec<u8>)> {
    let (mut charged, mut answers) = (Vec::new(), Vec::new());
    log.scan(&mut |_, entry| match entry {
        LogEntry::Charge { turn, record, .. } if record.sequence > 0 => {
            assert!(!charged.contains(turn), "{turn:?} is charged twice");
            charged.push(*turn);
        }
        LogEntry::Outbox { turn, bytes } => {
            assert!(charged.contains(turn), "{turn:?} is answered before the charge");
            assert!(answers.iter().all(|(other, _)| other != turn), "{turn:?} has two answers");
            answers.push((*turn, bytes.clone()));
        }
        _ => {}
    })
    .unwrap();
    answers
}

/// Noise that was used twice would make equal answers to the same question of a run that began anew.
fn the_noise_of_no_answer_is_that_of_another(answers: &[(RunAttempt, Vec<u8>)]) {
    let mut seen = Vec::new();
    for (turn, bytes) in answers {
        let Ok(Request::Update(update)) = UnverifiedContent::read(bytes).unwrap().claimed_request() else {
            panic!("{turn:?} is no answer")
        };
        let units = update.answer.units().to_vec();
        assert!(!seen.contains(&units), "{turn:?} repeats an answer");
        seen.push(units);
    }
}

#[test]
fn a_fit_that_is_killed_in_any_window_loses_nothing_and_repeats_no_noise() {
    let mut found: Vec<Window> = PLACES.iter().flat_map(|place| campaign("kill", &[*place])).collect();
    found.extend(campaign("kill-twice", &[("synced", 5), ("append", 9), ("publish", 4)]));
    for window in WINDOWS {
        assert!(found.contains(&window), "nobody was killed {window:?}: {found:?}");
    }
}

/// Persons with several rows are protected: the order of the steps is the same, and so is what a kill leaves.
#[test]
fn a_fit_by_persons_that_is_killed_loses_nothing_and_repeats_no_noise() {
    let found: Vec<Window> = [("appended", 4), ("synced", 6), ("append", 22), ("published", 5)]
        .into_iter()
        .flat_map(|place| campaign_of(&persons::owner_of_visits("kill-persons"), &[place]))
        .collect();
    for window in WINDOWS {
        assert!(found.contains(&window), "nobody was killed {window:?}: {found:?}");
    }
}

/// A number is explained by sufficient statistics, after a look at the deviations that has a share of the budget of its own.
const LOOK: &str = r#"schema = 1
[study]
name = "dose"
seeds = [1]
[data]
source = "csv:rows.csv"
split = { test = 0.2 }
[partition]
kind = "even"
clients = 1
[model]
kind = "linear"
bias = false
noise_variance = 1.0
prior = { precision = 1.0 }
[[method]]
name = "projected"
algorithm = "statistics"
statistics = { rule = "projected", bound = 2.0 }
privacy = { unit = "example", adjacency = "substitute", epsilon = 1.0, delta = 1e-4 }
"#;

const LOOK_SCHEMA: &str = r#"outcome = { column = "dose", bounds = [0.0, 1.0], centre = 0.5, scale = 0.5 }
column = [
  { name = "age", kind = "numeric", centre = 50.0, scale = 20.0, bounds = [10.0, 90.0] },
  { name = "ill", kind = "ignore" },
]
"#;

/// A method whose first look has its own terms in the plan cannot do without it: killed before it was kept, it is made again under
/// the charge that was made for it.
#[test]
fn a_first_look_that_was_lost_is_made_again_under_its_charge() {
    let owner = Owner::new("kill-look", LOOK);
    std::fs::write(owner.folder.join("rows.toml"), LOOK_SCHEMA).unwrap();
    assert_eq!(campaign_of(&owner, &[("synced", 6)]), [Window::BetweenChargeAndOutbox]);
    let lifetime = FitResults::open(&owner.folder.join("out")).unwrap().unwrap().lifetime;
    assert_eq!((lifetime.earlier_fits, lifetime.epsilon), (0, 1.0));
    let [run] = &ledger(&owner.home()).runs[..] else { panic!("expected one run") };
    assert_eq!((run.charges, run.burnt, run.resumed), (2, 0, 1));
}

/// By a variable of the environment, for it takes minutes.
#[test]
fn thirty_kills_in_each_window() {
    let Some(wanted) = std::env::var("POSTERITY_FIT_KILLS").ok().and_then(|text| text.parse::<usize>().ok()) else {
        return;
    };
    let mut counts: BTreeMap<Window, usize> = BTreeMap::new();
    let mut place = 0;
    while WINDOWS.iter().any(|window| counts.get(window).is_none_or(|count| *count < wanted)) {
        place += 1;
        // Every third fit is killed once more when it is taken up.
        let second = ("any", 1 + place * 7 % 40);
        let places = [("any", place), second];
        let windows = campaign("kill-every", if place % 3 == 0 { &places } else { &places[..1] });
        if windows.is_empty() {
            place = 0;
        }
        windows.into_iter().for_each(|window| *counts.entry(window).or_default() += 1);
    }
    println!("kills by window: {counts:?}");
}
