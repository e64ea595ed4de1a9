//! A ledger to try things on.

use federation::log::{Disk, FILE, Log, LogEntry, RunAttempt, RunId, SimulatedDisk};
use privacy::noise::Digest;
use privacy::{
    Adjacency, Delta, Epsilon, Event, Filter, Grant, Ledger, Mechanism, MemoryJournal, NoiseMultiplier, Sampling,
    Steps, Unit,
};
use std::path::PathBuf;

pub(crate) const RUN: RunId = [0xA5; 16];

/// Digest of the last record of the golden file.
pub(crate) const GOLDEN_HEAD: &str = "d3a7bdc8bfa88560170457ceefeb1cf6fa40a3e6e7d6aef98fe6af9c92535458";

pub(crate) fn turn(round: u64, attempt: u64) -> RunAttempt {
    RunAttempt { run: RUN, round, attempt }
}

pub(crate) fn question(number: u64) -> Digest {
    [number as u8; 32]
}

pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A grant, and the event that it is for.
pub(crate) fn grant() -> (Grant, Event) {
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(8.0).unwrap() };
    let event = Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE).unwrap();
    let (epsilon, delta) = (Epsilon::new(4.0).unwrap(), Delta::new(1e-5).unwrap());
    let plan = vec![event.repeated(Steps::new(20).unwrap())];
    (Grant::Limited { epsilon, delta, filter: Filter::Plan(plan) }, event)
}

/// The first records of a run in which every third charge is burnt.
pub(crate) fn example(count: usize) -> Vec<LogEntry> {
    let (grant, event) = grant();
    let mut journal = MemoryJournal::default();
    let mut ledger = Ledger::open(grant, &mut journal).unwrap();
    let accepted = LogEntry::Accepted { run: RUN, manifest: [9; 32], epsilon: 4.0, delta: 1e-5, bytes: vec![3; 20] };
    let charge = |journal: &MemoryJournal, round| LogEntry::Charge {
        turn: turn(round, 0),
        question: question(round),
        record: journal.records().last().unwrap().clone(),
    };
    let mut entries = vec![accepted, charge(&journal, 0)];
    for round in 1.. {
        if entries.len() >= count {
            break;
        }
        ledger.charge(&event, &mut journal).unwrap();
        entries.push(charge(&journal, round));
        let turn = turn(round, 0);
        if round % 3 == 0 {
            entries.push(LogEntry::Lapsed { turn });
        } else {
            entries.push(LogEntry::Outbox { turn, bytes: vec![round as u8; 30] });
            entries.push(LogEntry::Settled { turn, applied: vec![1, 2] });
        }
    }
    entries.truncate(count);
    entries
}

/// The bytes of a log with these records, and where each of them begins.
pub(crate) fn written(entries: &[LogEntry]) -> (Vec<u8>, Vec<usize>, Log<SimulatedDisk>) {
    let disk = SimulatedDisk::new();
    let mut log = Log::open(disk.clone()).unwrap();
    let mut starts = Vec::new();
    for entry in entries {
        starts.push(disk.read(FILE).unwrap().unwrap().len());
        log.append(entry).unwrap();
    }
    (disk.read(FILE).unwrap().unwrap(), starts, log)
}

/// A folder of this test alone, not made yet.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("ledger-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}
