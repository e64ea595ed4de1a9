//! `posterity ledger` as a person or a program meets it: sound, torn, damaged, missing, and beside an agent at work.

use assert_cmd::Command;
use federation::log::{FILE, FolderDisk, Log, LogEntry, MemorySnapshot, RunAttempt, RunId};
use privacy::{
    Adjacency, Delta, Epsilon, Event, Filter, Grant, Ledger, Mechanism, NoiseMultiplier, Sampling, Steps, Unit,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const RUN: RunId = [0xA5; 16];

/// The home of a site that has charged three answers, of which one was burnt and one is in a total.
fn home(name: &str) -> (PathBuf, Log<FolderDisk>) {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ledger-{name}"));
    let _ = fs::remove_dir_all(&home);
    let mut log = Log::open(FolderDisk::open(&home.join("ledger")).unwrap()).unwrap();
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(8.0).unwrap() };
    let event = Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE).unwrap();
    let (epsilon, delta) = (Epsilon::new(4.0).unwrap(), Delta::new(1e-5).unwrap());
    let plan = vec![event.repeated(Steps::new(20).unwrap())];
    let grant = Grant::Limited { epsilon, delta, filter: Filter::Plan(plan) };
    let turn = |round| RunAttempt { run: RUN, round, attempt: 0 };
    let accepted = LogEntry::Accepted { run: RUN, manifest: [9; 32], epsilon: 4.0, delta: 1e-5, bytes: vec![3; 20] };
    log.append(&accepted).unwrap();
    let mut ledger = Ledger::open(grant, &mut log.journal(turn(0), [0; 32])).unwrap();
    for round in 1..=3 {
        ledger.charge(&event, &mut log.journal(turn(round), [1; 32])).unwrap();
        if round != 2 {
            log.append(&LogEntry::Outbox { turn: turn(round), bytes: vec![round as u8; 40] }).unwrap();
        }
    }
    log.append(&LogEntry::Settled { turn: turn(1), applied: vec![] }).unwrap();
    log.append(&LogEntry::Lapsed { turn: turn(2) }).unwrap();
    let sequence = log.head().sequence;
    log.keep(&MemorySnapshot { run: RUN, sequence, memory: vec![1, 2, 3], draft: None }).unwrap();
    (home, log)
}

/// Standard output, standard error and exit code.
fn posterity(home: &Path, words: &[&str]) -> (String, String, i32) {
    let mut command = Command::cargo_bin("posterity").unwrap();
    let output = command.args(words).arg("--home").arg(home).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

#[test]
fn a_ledger_is_shown_and_verified_beside_the_agent_that_has_it() {
    let (home, log) = home("shown");
    let (text, _, exit) = posterity(&home, &["ledger", "show"]);
    assert_eq!(exit, 0, "{text}");
    for words in ["ε = 4 at δ = 1e-5", "3, of which 1 burnt", "substitute of one example", "1 in a total", "(open)"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let (text, error, exit) = posterity(&home, &["ledger", "verify"]);
    assert_eq!(exit, 0, "{error}");
    let digest: String = log.head().digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(text.starts_with("sound") && text.contains(&format!("last record 9 {digest}")), "{text}");
    let (text, ..) = posterity(&home, &["ledger", "show", "--json"]);
    let object: Value = serde_json::from_str(&text).unwrap();
    let run = &object["runs"][0];
    assert_eq!((&run["charges"], &run["burnt"], &run["settled"]), (&3.into(), &1.into(), &1.into()));
    assert_eq!((&run["adjacency"], &run["unit"]), (&"substitute".into(), &"example".into()));
    let spent = run["spent"]["epsilon"].as_f64().unwrap();
    assert!(spent > 0.5 && spent < 4.0, "{spent}");
    assert_eq!(object["last_record"]["digest"], digest);
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn a_torn_end_is_told_and_left() {
    let (home, log) = home("torn");
    drop(log);
    let file = home.join("ledger").join(FILE);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    fs::remove_file(home.join("ledger").join(format!("vault-{}", "a5".repeat(16)))).unwrap();
    let (text, error, exit) = posterity(&home, &["ledger", "verify"]);
    assert_eq!(exit, 0, "{error}");
    assert!(text.contains("torn end") && text.contains("last record 8 "), "{text}");
    assert_eq!(fs::read(&file).unwrap().len(), bytes.len() - 3);
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn damage_is_refused_with_the_number_of_the_record() {
    let (home, log) = home("damaged");
    drop(log);
    let file = home.join("ledger").join(FILE);
    let mut bytes = fs::read(&file).unwrap();
    bytes[16 + 60] ^= 4;
    fs::write(&file, &bytes).unwrap();
    for question in ["verify", "show"] {
        let (text, error, exit) = posterity(&home, &["ledger", question]);
        assert_eq!((exit, text.as_str()), (3, ""));
        assert!(error.starts_with("error[L003]: record 1 of the ledger is damaged"), "{error}");
    }
    bytes[16 + 60] ^= 4;
    bytes[8] = 2;
    fs::write(&file, &bytes).unwrap();
    let (_, error, exit) = posterity(&home, &["ledger", "verify"]);
    assert!(exit == 3 && error.contains("error[L004]: the ledger has version 2, expected 1"), "{error}");
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn a_vault_that_is_ahead_of_the_ledger_is_refused() {
    let (home, log) = home("behind");
    drop(log);
    let file = home.join("ledger").join(FILE);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    let (_, error, exit) = posterity(&home, &["ledger", "verify"]);
    assert!(exit == 3 && error.starts_with("error[L006]: "), "{error}");
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn a_folder_without_a_ledger_is_told_from_an_empty_ledger() {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ledger-none");
    let (_, error, exit) = posterity(&home, &["ledger", "show"]);
    assert!(exit == 2 && error.starts_with("error[L001]: there is no ledger in"), "{error}");
    assert!(!home.exists());
}
