//! A site's ledger under flipped bits, cut files, crashes at every operation, full disks and second processes.

use crate::ledger_support;
use crate::ledger_support::{RUN, digits, example, folder, question, turn, written};
use federation::log::{Account, Disk, DiskError, FILE, FailureEffect, FolderDisk, FolderView, Log, LogEntry, LogError};
use federation::log::{MemorySnapshot, Position, RunStanding, SimulatedDisk};
use federation::policy::GrantTotals;
use privacy::noise::Digest;
use privacy::{Journal, Ledger};
use proptest::prelude::*;

/// Opens a log over these bytes.
fn open(bytes: &[u8]) -> Result<Log<SimulatedDisk>, LogError> {
    let disk = SimulatedDisk::new();
    disk.put(FILE, bytes);
    Log::open(disk)
}

fn heads<D: Disk>(log: &Log<D>) -> Vec<Digest> {
    (0..).map_while(|sequence| log.digest_at(sequence)).collect()
}

fn entries<D: Disk>(log: &Log<D>) -> Vec<LogEntry> {
    let mut seen = Vec::new();
    log.scan(&mut |number, entry| {
        assert_eq!(number, seen.len() as u64 + 1);
        seen.push(entry.clone());
    })
    .unwrap();
    seen
}

#[test]
fn what_was_appended_is_read_again_in_order() {
    let (bytes, starts, log) = written(&example(12));
    assert_eq!(entries(&log), example(12));
    assert_eq!(starts.len(), 12);
    let again = open(&bytes).unwrap();
    assert_eq!((heads(&again), again.head(), again.torn()), (heads(&log), log.head(), 0));
    assert_eq!(again.digest_at(0), Some([0; 32]));
    assert_eq!(again.digest_at(13), None);
}

#[test]
fn a_flipped_bit_is_refused_by_its_record_or_cut_off_with_the_last() {
    let (bytes, starts, log) = written(&example(12));
    let last = *starts.last().unwrap();
    let (mut refused, mut cut) = (0, 0);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let number = starts.iter().filter(|start| **start <= bit / 8).count() as u64;
        match open(&damaged) {
            Err(LogError::Damaged { record, .. }) => {
                assert_eq!(record, number, "bit {bit}");
                refused += 1;
            }
            Err(LogError::Version { .. }) => assert!((8..12).contains(&(bit / 8)), "bit {bit}"),
            Err(other) => panic!("bit {bit}: {other}"),
            Ok(short) => {
                assert!(bit / 8 >= last && short.head().sequence == 11 && short.torn() > 0, "bit {bit}");
                assert_eq!(heads(&short)[..], heads(&log)[..12], "bit {bit}");
                cut += 1;
            }
        }
    }
    assert!(refused > 4000 && cut > 300, "{refused} refused, {cut} cut off");
}

#[test]
fn a_ledger_that_is_cut_at_any_byte_opens_with_a_beginning_of_itself_and_goes_on() {
    let (bytes, starts, log) = written(&example(12));
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([bytes.len()]).collect();
    for length in 0..=bytes.len() {
        let mut short = open(&bytes[..length]).unwrap();
        let whole = ends.iter().filter(|end| **end <= length).count();
        assert_eq!(short.head().sequence, whole as u64, "{length} bytes");
        assert_eq!(heads(&short)[..], heads(&log)[..=whole]);
        short.append(&LogEntry::Free { turn: turn(900, 0) }).unwrap();
        let again = Log::open(short.into_disk()).unwrap();
        assert_eq!(again.head().sequence, whole as u64 + 1);
    }
}

#[test]
fn two_damaged_records_at_the_end_are_not_taken_for_one_torn_one() {
    let (mut bytes, starts, _) = written(&example(12));
    for start in &starts[10..] {
        bytes[start + 20] ^= 1;
    }
    assert!(matches!(open(&bytes), Err(LogError::Damaged { record: 11, .. })));
}

#[test]
fn a_record_that_is_missing_repeated_or_moved_is_refused() {
    let (bytes, starts, _) = written(&example(12));
    let without = [&bytes[..starts[4]], &bytes[starts[5]..]].concat();
    let twice = [&bytes[..starts[5]], &bytes[starts[4]..]].concat();
    let gap = [&bytes[..starts[4]], &[7; 9], &bytes[starts[4]..]].concat();
    assert!(matches!(open(&without), Err(LogError::Damaged { record: 5, .. })));
    assert!(matches!(open(&twice), Err(LogError::Damaged { record: 6, .. })));
    assert!(matches!(open(&gap), Err(LogError::Damaged { record: 5, .. })));
}

#[test]
fn a_record_of_another_ledger_does_not_fit_into_the_chain() {
    let (bytes, starts, _) = written(&example(12));
    let other = [vec![LogEntry::Free { turn: turn(500, 0) }], example(12)[1..].to_vec()].concat();
    let (foreign, from, _) = written(&other[..1]);
    let spliced = [&foreign[..], &bytes[starts[1]..]].concat();
    assert_eq!(from.len(), 1);
    assert!(matches!(open(&spliced), Err(LogError::Damaged { record: 2, .. })));
}

/// The example with answers of other sizes, some of them larger than a block of a disk.
fn of_many_sizes(count: usize, seed: u64) -> Vec<LogEntry> {
    let mut entries = example(count);
    for (place, entry) in (1_u64..).zip(&mut entries) {
        if let LogEntry::Outbox { bytes, .. } = entry {
            let size = (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(place as u32 * 5) % 1500;
            *bytes = (0..size).map(|byte| (byte * place + seed) as u8).collect();
        }
    }
    entries
}

/// One append after the other until the disk fails; how many were confirmed, and what the head was.
fn append_until_it_fails(disk: &SimulatedDisk, entries: &[LogEntry]) -> (usize, Vec<Digest>, Option<MemorySnapshot>) {
    let (mut confirmed, mut kept, mut known) = (0, None, vec![[0; 32]]);
    let Ok(mut log) = Log::open(disk.clone()) else { return (0, known, kept) };
    for entry in entries {
        let Ok(position) = log.append(entry) else { break };
        confirmed += 1;
        known.push(position.digest);
        let snapshot =
            MemorySnapshot { run: RUN, sequence: position.sequence, memory: vec![confirmed as u8; 9], draft: None };
        if confirmed % 3 == 0 {
            match log.keep(&snapshot) {
                Ok(()) => kept = Some(snapshot),
                Err(_) => break,
            }
        }
    }
    if confirmed < entries.len() && disk.operations() > 2 {
        assert_eq!(log.append(&entries[0]), Err(LogError::Unwritten), "a log goes on after a failed write");
    }
    (confirmed, known, kept)
}

#[test]
fn after_a_crash_at_any_operation_everything_that_was_confirmed_is_there() {
    let counting = SimulatedDisk::new();
    append_until_it_fails(&counting, &example(14));
    let operations = counting.operations();
    assert!(operations > 30);
    let mut torn = 0;
    for how in 0..60 {
        let entries = of_many_sizes(14, how);
        for at in 1..=operations {
            let disk = SimulatedDisk::new();
            let effect = [FailureEffect::Nothing, FailureEffect::Part(how * 11 % 97), FailureEffect::Everything]
                [(how % 3) as usize];
            disk.fail_at(at, effect);
            let (confirmed, known, kept) = append_until_it_fails(&disk, &entries);
            disk.crash(how * 7919 + at);
            let log = Log::open(disk.clone()).unwrap_or_else(|error| panic!("operation {at}, crash {how}: {error}"));
            let found = log.head().sequence as usize;
            assert!(
                found == confirmed || found == confirmed + 1,
                "operation {at}, crash {how}: {found} of {confirmed}"
            );
            assert_eq!(heads(&log)[..=confirmed], known[..], "operation {at}, crash {how}");
            assert_eq!(self::entries(&log)[..], entries[..found]);
            let snapshot = log.snapshot(&RUN).unwrap();
            assert!(snapshot.as_ref().map(|v| v.sequence) >= kept.as_ref().map(|v| v.sequence), "{at} {how}");
            torn += usize::from(log.torn() > 0);
        }
    }
    assert!(torn > 50, "{torn} crashes tore a record");
}

#[test]
fn a_disk_that_lies_about_being_durable_is_found_out() {
    let lost = |disk: SimulatedDisk, how: u64| {
        let (confirmed, ..) = append_until_it_fails(&disk, &example(12));
        disk.crash(how);
        Log::open(disk).map_or(true, |log| (log.head().sequence as usize) < confirmed)
    };
    assert!((0..20).all(|how| !lost(SimulatedDisk::new(), how)));
    assert!((0..20).filter(|how| lost(SimulatedDisk::lying(), *how)).count() > 15);
}

#[test]
fn what_a_killed_process_has_written_is_durable_once_it_is_read_again() {
    let disk = SimulatedDisk::new();
    let mut log = Log::open(disk.clone()).unwrap();
    log.append(&example(1)[0]).unwrap();
    disk.fail_at(2, FailureEffect::Nothing);
    assert!(matches!(log.append(&example(2)[1]), Err(LogError::Disk(_))));
    disk.restart();
    assert_eq!(Log::open(disk.clone()).unwrap().head().sequence, 2);
    for how in 0..8 {
        let copy = disk.clone();
        copy.crash(how);
        assert_eq!(Log::open(copy).unwrap().head().sequence, 2, "crash {how}");
    }
}

#[test]
fn a_full_disk_is_an_error_and_the_ledger_stays_whole() {
    let disk = SimulatedDisk::new();
    let mut log = Log::open(disk.clone()).unwrap();
    let entries = example(4);
    for entry in &entries[..3] {
        log.append(entry).unwrap();
    }
    let head = log.head();
    disk.fill();
    assert!(matches!(log.append(&entries[3]), Err(LogError::Disk(_))));
    assert_eq!(log.append(&entries[3]), Err(LogError::Unwritten));
    disk.restart();
    let log = Log::open(disk.clone()).unwrap();
    assert_eq!(log.head(), head);
    assert!(log.torn() > 0);
    disk.make_room();
    let mut log = Log::open(disk).unwrap();
    assert_eq!(log.append(&entries[3]).unwrap().sequence, 4);
}

#[test]
fn a_charge_that_does_not_follow_the_last_of_its_run_is_refused_and_nothing_is_written() {
    let disk = SimulatedDisk::new();
    let mut log = Log::open(disk.clone()).unwrap();
    let (grant, event) = ledger_support::grant();
    log.append(&example(1)[0]).unwrap();
    let mut ledger = Ledger::open(grant, &mut log.journal(turn(0, 0), question(0))).unwrap();
    let mut second = Ledger::replay(&log.charges(&RUN).unwrap()).unwrap();
    ledger.charge(&event, &mut log.journal(turn(1, 0), question(1))).unwrap();
    let before = disk.operations();
    assert!(second.charge(&event, &mut log.journal(turn(1, 1), question(1))).is_err());
    let old = log.charges(&RUN).unwrap().remove(1);
    let repeated = LogEntry::Charge { turn: turn(2, 0), question: question(2), record: old.clone() };
    assert!(matches!(log.append(&repeated), Err(LogError::Ledger { .. })));
    assert!(log.journal(turn(2, 0), question(2)).append(&old).is_err());
    assert_eq!(disk.operations(), before);
    ledger.charge(&event, &mut log.journal(turn(2, 0), question(2))).unwrap();
    let mut again = Log::open(disk).unwrap();
    let replayed = Ledger::replay(&again.charges(&RUN).unwrap()).unwrap();
    assert_eq!((replayed.head(), replayed.length()), (ledger.head(), 3));
    assert!(second.charge(&event, &mut again.journal(turn(3, 0), question(3))).is_err());
}

#[test]
fn a_record_that_is_too_large_is_refused_and_the_log_goes_on() {
    let mut log = Log::open(SimulatedDisk::new()).unwrap();
    let large = LogEntry::Outbox { turn: turn(1, 0), bytes: vec![1; (64 << 20) + 1] };
    assert!(matches!(log.append(&large), Err(LogError::TooLarge { .. })));
    assert_eq!(log.append(&LogEntry::Free { turn: turn(1, 0) }).unwrap().sequence, 1);
}

#[test]
fn a_damaged_snapshot_is_refused_and_so_is_one_that_is_ahead_of_the_ledger() {
    let disk = SimulatedDisk::new();
    let mut log = Log::open(disk.clone()).unwrap();
    log.append(&example(1)[0]).unwrap();
    assert_eq!(log.snapshot(&RUN), Ok(None));
    let snapshot = MemorySnapshot { run: RUN, sequence: 1, memory: vec![1, 2, 3], draft: Some((4, 0, vec![5])) };
    log.keep(&snapshot).unwrap();
    assert_eq!(log.snapshot(&RUN), Ok(Some(snapshot.clone())));
    let file = format!("vault-{}", digits(&RUN));
    let bytes = disk.read(&file).unwrap().unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        disk.put(&file, &damaged);
        assert!(matches!(log.snapshot(&RUN), Err(LogError::Memory { .. })), "bit {bit}");
    }
    disk.put(&file, &bytes);
    disk.put(FILE, &written(&[]).0);
    let rolled_back = Log::open(disk).unwrap();
    assert!(matches!(rolled_back.snapshot(&RUN), Err(LogError::Memory { .. })));
}

#[test]
fn a_ledger_that_is_looked_at_is_not_changed() {
    let (bytes, ..) = written(&example(3));
    let disk = SimulatedDisk::new();
    disk.put(FILE, &bytes[..bytes.len() - 5]);
    let mut log = Log::view(disk.clone()).unwrap();
    assert!(log.torn() > 0 && log.head().sequence == 2);
    assert_eq!(entries(&log).len(), 2);
    assert_eq!(log.append(&example(1)[0]), Err(LogError::Viewed));
    assert_eq!(disk.operations(), 0);
    assert_eq!(disk.read(FILE).unwrap().unwrap().len(), bytes.len() - 5);
}

#[test]
fn a_folder_has_one_process_and_can_be_looked_at_by_others() {
    let folder = folder("lock");
    let mut log = Log::open(FolderDisk::open(&folder).unwrap()).unwrap();
    log.append(&example(1)[0]).unwrap();
    let second = FolderDisk::open(&folder).unwrap_err();
    assert_eq!(second.what, "the ledger's folder is in use");
    assert_eq!(Log::view(FolderView::open(&folder).unwrap()).unwrap().head(), log.head());
    drop(log);
    assert_eq!(Log::open(FolderDisk::open(&folder).unwrap()).unwrap().head().sequence, 1);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Run by the test below in a process of its own; by itself it does nothing.
#[test]
fn a_child_appends_until_it_is_killed() {
    let Some(folder) = std::env::var_os("LEDGER_OF_A_CHILD") else { return };
    let mut log = Log::open(FolderDisk::open(std::path::Path::new(&folder)).unwrap()).unwrap();
    for round in 0.. {
        let position = log.append(&LogEntry::Outbox { turn: turn(round, 0), bytes: vec![7; 5000] }).unwrap();
        println!("confirmed {} {}", position.sequence, digits(&position.digest));
    }
}

#[test]
fn what_a_process_has_confirmed_before_it_was_killed_is_there() {
    use std::io::{BufRead, BufReader};
    let folder = folder("kill");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "ledger::a_child_appends_until_it_is_killed"])
        .env("LEDGER_OF_A_CHILD", &folder)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let confirmed = |line: String| line.split_once("confirmed ").map(|(_, rest)| rest.to_owned());
    let last = lines.by_ref().filter_map(confirmed).nth(20);
    let second = FolderDisk::open(&folder).unwrap_err();
    child.kill().unwrap();
    child.wait().unwrap();
    let last = lines.filter_map(confirmed).filter(|line| line.len() > 65).last().or(last).unwrap();
    let (sequence, digest) = last.split_once(' ').unwrap();
    let log = Log::open(FolderDisk::open(&folder).unwrap()).unwrap();
    let sequence: u64 = sequence.parse().unwrap();
    assert!(log.head().sequence >= sequence && sequence > 20);
    assert_eq!(log.digest_at(sequence).map(|digest| digits(&digest)).as_deref(), Some(digest));
    assert_eq!(second.what, "the ledger's folder is in use");
    std::fs::remove_dir_all(folder).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("mode");
    drop(FolderDisk::open(&folder).unwrap());
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join("lock"))), (0o700, 0o600));
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(FolderDisk::open(&folder).unwrap_err().what, "the ledger's folder is not private");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_keeps_files_by_name_and_no_path() {
    let folder = folder("files");
    let mut disk = FolderDisk::open(&folder).unwrap();
    assert_eq!(disk.read("a"), Ok(None));
    disk.append("a", b"one").unwrap();
    disk.append("a", b"two").unwrap();
    disk.sync("a").unwrap();
    disk.truncate("a", 4).unwrap();
    disk.append("a", b"!").unwrap();
    assert_eq!(disk.read("a"), Ok(Some(b"onet!".to_vec())));
    disk.replace("a", b"new").unwrap();
    disk.append("a", b"er").unwrap();
    assert_eq!(disk.read("a"), Ok(Some(b"newer".to_vec())));
    assert!(disk.read("../a").is_err());
    assert!(disk.append("../a", b"x").is_err());
    assert!(matches!(disk.append("a", b"x"), Err(DiskError { .. })), "a disk goes on after a failed write");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_account_counts_charges_and_what_became_of_them() {
    let disk = SimulatedDisk::new();
    let mut log = Log::open(disk).unwrap();
    let (grant, event) = ledger_support::grant();
    log.append(&example(1)[0]).unwrap();
    assert_eq!(Account::of(&log).unwrap().runs[0].spent(), Ok(0.0));
    let mut ledger = Ledger::open(grant, &mut log.journal(turn(0, 0), question(0))).unwrap();
    for round in 1..=4 {
        ledger.charge(&event, &mut log.journal(turn(round, 0), question(round))).unwrap();
        if round != 2 {
            log.append(&LogEntry::Outbox { turn: turn(round, 0), bytes: vec![1] }).unwrap();
        }
        let turn = turn(round, 0);
        let end = if round < 3 { LogEntry::Lapsed { turn } } else { LogEntry::Settled { turn, applied: vec![] } };
        log.append(&end).unwrap();
    }
    log.append(&LogEntry::Free { turn: turn(5, 0) }).unwrap();
    log.append(&LogEntry::Closed { run: RUN }).unwrap();
    let account = Account::of(&log).unwrap();
    let run = account.run(&RUN).unwrap();
    assert_eq!((run.charges, run.burnt, run.lapsed, run.settled), (4, 1, 1, 2));
    assert_eq!((run.standing, account.head), (RunStanding::Closed, log.head()));
    let spent = run.spent().unwrap();
    let direct = privacy::Accountant::epsilon(
        &privacy::accounting::Pld,
        &[event.repeated(privacy::Steps::new(4).unwrap())],
        privacy::Delta::new(1e-5).unwrap(),
    );
    assert_eq!(spent, direct.unwrap().upper);
    assert!(spent > 0.0 && spent < run.epsilon);
    assert!(run.promise().is_some());
    let GrantTotals { epsilon, delta } = account.granted();
    assert_eq!((account.first_pair(), account.has_several_pairs()), (run.promise(), false));
    assert!((4.0..4.000001).contains(&epsilon) && (1e-5..1.000001e-5).contains(&delta));
}

#[test]
fn the_golden_ledger_of_version_1_is_read_and_a_later_version_is_refused() {
    let golden = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/ledger-v1.bin")).unwrap();
    let (bytes, ..) = written(&example(12));
    assert_eq!(bytes, golden, "version 1 is written otherwise than it was");
    let Position { sequence, digest } = open(&golden).unwrap().head();
    assert_eq!(sequence, 12);
    assert_eq!(digits(&digest), ledger_support::GOLDEN_HEAD);
    let mut later = golden;
    later[8] = 2;
    let refused = open(&later).unwrap_err();
    assert_eq!(refused, LogError::Version { found: 2, expected: 1 });
    assert_eq!(refused.to_string(), "the ledger has version 2, expected 1");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), keep in 0..400_usize) {
        let _ = open(&bytes);
        let (good, ..) = written(&example(3));
        let mixed = [&good[..keep.min(good.len())], &bytes[..]].concat();
        if let Ok(log) = open(&mixed) {
            prop_assert!(log.head().sequence <= 4);
        }
        let disk = SimulatedDisk::new();
        disk.put(&format!("vault-{}", digits(&RUN)), &bytes);
        let _ = Log::open(disk).unwrap().snapshot(&RUN);
    }
}
