//! Ledgers: one that opens is read to its end, takes a record, and opens again with it.
#![no_main]

use federation::log::{Account, FILE, Log, LogEntry, RunAttempt, SimulatedDisk};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let disk = SimulatedDisk::new();
    disk.put(FILE, bytes);
    let Ok(mut log) = Log::open(disk.clone()) else { return };
    assert!(log.scan(&mut |_, _| {}).is_ok());
    let _ = Account::of(&log);
    let head = log.head().sequence;
    assert!(log.append(&LogEntry::Free { turn: RunAttempt { run: [1; 16], round: 0, attempt: 0 } }).is_ok());
    assert!(Log::open(disk).is_ok_and(|again| again.head().sequence == head + 1));
});
