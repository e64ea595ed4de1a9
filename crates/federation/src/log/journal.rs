//! The log itself: a chain of records in one file, read whole and checked when it is opened.
//!
//! What stays in memory is a digest a record, and where each run's account stands; contents are read again when they are
//! wanted.

use super::{
    Disk, ListedDisk, LogEntry, LogError, MemorySnapshot, Position, RunAttempt, RunId, chain, record, snapshot,
};
use privacy::noise::Digest;
use privacy::{Durable, Journal, LedgerEntry, LedgerRecord};
use std::collections::{BTreeMap, BTreeSet};
use study::digits::hexadecimal;

/// The file of the log, within its disk.
pub const FILE: &str = "ledger.log";

/// A site's log over a disk.
#[derive(Debug)]
pub struct Log<D: Disk> {
    disk: D,
    digests: Vec<Digest>,
    /// Where the last record ends in the file.
    end: usize,
    /// Bytes after it that were no record when the log was opened.
    torn: usize,
    accounts: BTreeMap<RunId, AccountTail>,
    /// Runs that will never be charged again: what they may still spend is no longer reserved.
    closed: BTreeSet<RunId>,
    state: LogState,
}

/// Where a run's own account stands: the number of its next record, the digest of its last, and what that one still covers.
#[derive(Debug, Clone, Copy, Default)]
struct AccountTail {
    next: u64,
    head: Digest,
    /// The round of the last charge.
    round: Option<u64>,
    last: LastCharge,
}

/// What may still be answered under the last charge of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LastCharge {
    /// Nothing: there is none, or its answer is on record.
    #[default]
    Used,
    /// It is of a local gate, and no answer to it was ever sent.
    Unsent,
    /// It is of a sum: later attempts of its round, with the same question.
    Sum { question: Digest },
}

/// What may be done with a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogState {
    Open,
    Viewed,
    /// A write failed.
    Unwritten,
}

/// The account of one run within a log, for one attempt.
pub struct RunJournal<'a, D: Disk> {
    log: &'a mut Log<D>,
    turn: RunAttempt,
    question: Digest,
}

impl<D: Disk> Log<D> {
    /// Opens a log, or begins one. Every record is checked; a torn last record is cut off, durably, and a damaged one is
    /// refused. What can be read is durable when this returns.
    pub fn open(disk: D) -> Result<Self, LogError> {
        let mut log = Self::load(disk, LogState::Open)?;
        if log.end == 0 {
            log.disk.replace(FILE, &chain::header())?;
            log.end = chain::HEADER;
        } else if log.torn > 0 {
            log.disk.truncate(FILE, log.end as u64)?;
        }
        log.disk.sync(FILE)?;
        Ok(log)
    }

    /// Opens a log to be looked at: every record is checked, and nothing on the disk is changed. Nothing can be appended.
    pub fn view(disk: D) -> Result<Self, LogError> {
        Self::load(disk, LogState::Viewed)
    }

    fn load(disk: D, state: LogState) -> Result<Self, LogError> {
        let bytes = disk.read(FILE)?.unwrap_or_default();
        let (mut accounts, mut closed) = (BTreeMap::new(), BTreeSet::new());
        let chain = chain::walk(&bytes, &mut |_, entry| {
            if let Some((run, tail)) = follows(&accounts, &entry)? {
                accounts.insert(run, tail);
            }
            closed.extend(closes(&entry));
            Ok(())
        })?;
        let chain::RecordChain { digests, end, torn } = chain;
        Ok(Self { disk, digests, end, torn, accounts, closed, state })
    }

    /// Bytes after the last record that were no record when the log was opened: [`Log::open`] has cut them off,
    /// [`Log::view`] has left them.
    pub fn torn(&self) -> usize {
        self.torn
    }

    /// The last record.
    pub fn head(&self) -> Position {
        let digest = self.digests.last().copied().unwrap_or_default();
        Position { sequence: self.digests.len() as u64, digest }
    }

    /// Whether a run is over for this site, by what is on record.
    pub fn is_closed(&self, run: &RunId) -> bool {
        self.closed.contains(run)
    }

    /// The digest of a record; zeros for 0, none beyond the end.
    pub fn digest_at(&self, sequence: u64) -> Option<Digest> {
        match sequence.checked_sub(1) {
            None => Some(Digest::default()),
            Some(place) => self.digests.get(usize::try_from(place).ok()?).copied(),
        }
    }

    /// Appends a record: durable when this returns.
    ///
    /// A charge of a closed run, one that does not follow the last of its run, and a record that is too large, are refused, and
    /// nothing is written. After an error of the disk nothing more is written until the log is opened again.
    pub fn append(&mut self, entry: &LogEntry) -> Result<Position, LogError> {
        self.writable()?;
        let is_charge = entry.ledger_record().is_some_and(|record| matches!(record.entry, LedgerEntry::Charged(_)));
        if let Some(run) = entry.run().filter(|run| is_charge && self.is_closed(run)) {
            return Err(LogError::ClosedRun { run: hexadecimal(run) });
        }
        let account = follows(&self.accounts, entry)?;
        let head = self.head();
        let sequence = head.sequence.saturating_add(1);
        let body = postcard::to_allocvec(entry).map_err(|_| LogError::Unwritten)?;
        let too_large = LogError::TooLarge { found: body.len(), most: record::MOST_BYTES };
        let (bytes, digest) = record::frame(sequence, &head.digest, &body).ok_or(too_large)?;
        self.state = LogState::Unwritten;
        self.disk.append(FILE, &bytes)?;
        self.disk.sync(FILE)?;
        self.state = LogState::Open;
        self.digests.push(digest);
        self.end = self.end.saturating_add(bytes.len());
        self.accounts.extend(account);
        self.closed.extend(closes(entry));
        Ok(Position { sequence, digest })
    }

    /// Reads all records, in order. They are checked again.
    pub fn scan(&self, see: &mut dyn FnMut(u64, &LogEntry)) -> Result<(), LogError> {
        let bytes = self.disk.read(FILE)?.unwrap_or_default();
        let changed = |record| LogError::Damaged { record, what: "it changed after the ledger was opened" };
        let known = bytes.get(..self.end).ok_or(changed(self.head().sequence))?;
        let chain = chain::walk(known, &mut |number, entry| {
            see(number, &entry);
            Ok(())
        })?;
        let differs = |(now, then): (&Digest, &Digest)| now != then;
        let other = chain.digests.iter().zip(&self.digests).position(differs);
        match other {
            Some(place) => Err(changed(place as u64 + 1)),
            None if chain.digests.len() == self.digests.len() => Ok(()),
            None => Err(changed(chain.digests.len() as u64 + 1)),
        }
    }

    /// Digest of the last record of a run's account; zeros before the first.
    pub fn account_head(&self, run: &RunId) -> Digest {
        self.accounts.get(run).map(|tail| tail.head).unwrap_or_default()
    }

    /// The account of a run, to charge an attempt.
    pub fn journal(&mut self, turn: RunAttempt, question: Digest) -> RunJournal<'_, D> {
        RunJournal { log: self, turn, question }
    }

    /// The records of a run's account.
    pub fn charges(&self, run: &RunId) -> Result<Vec<LedgerRecord>, LogError> {
        let mut records = Vec::new();
        self.scan(&mut |_, entry| {
            records.extend(entry.ledger_record().filter(|_| entry.run() == Some(run)).cloned());
        })?;
        Ok(records)
    }

    /// Keeps what the site remembers in a run, in the place of what it had kept before.
    pub fn keep(&mut self, snapshot: &MemorySnapshot) -> Result<(), LogError> {
        self.writable()?;
        let bytes = snapshot::encode(snapshot)?;
        self.state = LogState::Unwritten;
        self.disk.replace(&snapshot::file(&snapshot.run), &bytes)?;
        self.state = LogState::Open;
        Ok(())
    }

    /// What the site remembers in a run. Refused if it is damaged, or names a record that the log does not have.
    pub fn snapshot(&self, run: &RunId) -> Result<Option<MemorySnapshot>, LogError> {
        let bytes = self.disk.read(&snapshot::file(run))?;
        bytes.map(|bytes| snapshot::decode(&bytes, run, self.head().sequence)).transpose()
    }

    /// Gives the disk back, as after a crash.
    pub fn into_disk(self) -> D {
        self.disk
    }

    fn writable(&self) -> Result<(), LogError> {
        match self.state {
            LogState::Open => Ok(()),
            LogState::Viewed => Err(LogError::Viewed),
            LogState::Unwritten => Err(LogError::Unwritten),
        }
    }
}

/// The run that a record closes, if it closes one.
fn closes(entry: &LogEntry) -> Option<RunId> {
    match entry {
        LogEntry::Closed { run } => Some(*run),
        _ => None,
    }
}

impl<D: ListedDisk> Log<D> {
    /// Reads what the site remembers in all runs, and says how many files that is. Refused if one is damaged, names a record
    /// that the log does not have, or is of a run that the log does not know: the log is then an old copy.
    pub fn check_snapshots(&self) -> Result<usize, LogError> {
        let mut known = BTreeSet::new();
        let mut found = 0;
        for run in self.accounts.keys() {
            known.insert(snapshot::file(run));
            found += usize::from(self.snapshot(run)?.is_some());
        }
        let names = self.disk.names()?;
        match names.iter().filter(|name| !known.contains(*name)).find_map(|name| snapshot::run_of(name)) {
            Some(run) => Err(LogError::Memory { run: run.to_owned(), what: snapshot::UNKNOWN }),
            None => Ok(found),
        }
    }
}

/// Where a run's account stands after a record; none for one that is not about an attempt. Refuses a charge that does not follow
/// the last, a second one of a round in a run of sums, and an answer under a charge that does not cover it.
fn follows(
    accounts: &BTreeMap<RunId, AccountTail>,
    entry: &LogEntry,
) -> Result<Option<(RunId, AccountTail)>, LogError> {
    let Some(turn) = entry.turn() else { return Ok(None) };
    let mut tail = accounts.get(&turn.run).copied().unwrap_or_default();
    let refused = |why: String| Err(LogError::Ledger { why });
    if let Some(record) = entry.ledger_record() {
        if record.sequence != tail.next || record.previous != tail.head {
            return refused(format!(
                "record {} of the run's account does not follow: record {} is next",
                record.sequence, tail.next
            ));
        }
        (tail.next, tail.head) = (tail.next.saturating_add(1), record.digest());
    }
    let summed = matches!(tail.last, LastCharge::Sum { .. });
    match entry {
        LogEntry::Charge { record, .. } if record.sequence == 0 => {}
        LogEntry::Charge { .. } if summed => {
            return refused(format!("an attempt of round {} is charged in a run whose rounds are", turn.round));
        }
        LogEntry::Charge { .. } => (tail.round, tail.last) = (Some(turn.round), LastCharge::Unsent),
        LogEntry::RoundCharged { .. } if tail.round.is_some_and(|last| turn.round <= last) => {
            return refused(format!("round {} is charged a second time, or after a later one", turn.round));
        }
        LogEntry::RoundCharged { question, .. } => {
            (tail.round, tail.last) = (Some(turn.round), LastCharge::Sum { question: *question });
        }
        LogEntry::Retried { .. } if summed && tail.round == Some(turn.round) => {}
        LogEntry::Resumed { question, .. } if tail.round == Some(turn.round) && tail.last.covers(question) => {}
        LogEntry::Resumed { .. } if tail.last == LastCharge::Unsent && tail.round < Some(turn.round) => {
            tail.round = Some(turn.round);
        }
        LogEntry::Retried { .. } | LogEntry::Resumed { .. } => {
            return refused(format!("an answer of round {} has no charge that covers it", turn.round));
        }
        LogEntry::Outbox { .. } | LogEntry::Contributed { .. } | LogEntry::Settled { .. } | LogEntry::Lapsed { .. }
            if !summed =>
        {
            tail.last = LastCharge::Used;
        }
        _ => return Ok(None),
    }
    Ok(Some((turn.run, tail)))
}

impl LastCharge {
    /// Whether an answer to this question may still be made under the charge, in its round.
    fn covers(self, question: &Digest) -> bool {
        match self {
            Self::Used => false,
            Self::Unsent => true,
            Self::Sum { question: charged } => charged == *question,
        }
    }
}

impl<D: Disk> Journal for RunJournal<'_, D> {
    type Kept = Durable;

    fn append(&mut self, record: &LedgerRecord) -> Result<(), String> {
        let entry = LogEntry::Charge { turn: self.turn, question: self.question, record: record.clone() };
        self.log.append(&entry).map(|_| ()).map_err(|error| error.to_string())
    }
}
