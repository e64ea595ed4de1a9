//! The log itself: a chain of records in one file, read whole and checked when it is opened.

use super::{Disk, DiskError, Entry, Position, RunId, Turn, Vault};
use privacy::noise::Digest;
use privacy::{Durable, Journal, Record};

/// Why a log is refused, or could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The disk failed. Whether the record is on it is unknown.
    #[error("the ledger cannot be kept: {0}")]
    Disk(#[from] DiskError),
    /// A record is damaged, and it is not the last.
    #[error("record {record} of the ledger is damaged: {what}")]
    Damaged {
        /// Its number, from 1.
        record: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Of another version.
    #[error("the ledger is of version {found}, expected {expected}")]
    Version {
        /// Which.
        found: u32,
        /// Which is read.
        expected: u32,
    },
    /// An earlier append failed, and what is on the disk is unknown.
    #[error("an earlier record could not be kept; open the ledger again")]
    Unwritten,
    /// The records of a run's own account do not follow each other, or exceed the grant.
    #[error("the charges of a run do not add up: {why}")]
    Ledger {
        /// What was found.
        why: String,
    },
    /// A run has no such site.
    #[error("the run has no site {site}")]
    NoSuchSite {
        /// The number.
        site: usize,
    },
}

/// A site's log over a disk.
pub struct Log<D: Disk> {
    disk: D,
}

/// The account of one run within a log, for one attempt.
pub struct RunJournal<'a, D: Disk> {
    log: &'a mut Log<D>,
    turn: Turn,
    question: Digest,
}

impl<D: Disk> Log<D> {
    /// Opens a log, or begins one.
    pub fn open(disk: D) -> Result<Self, LogError> {
        Ok(Self { disk })
    }

    /// The last record.
    pub fn head(&self) -> Position {
        unimplemented!()
    }

    /// The digest of a record; zeros for 0, none beyond the end.
    pub fn digest_at(&self, _sequence: u64) -> Option<Digest> {
        unimplemented!()
    }

    /// Appends a record: durable when this returns.
    pub fn append(&mut self, _entry: &Entry) -> Result<Position, LogError> {
        unimplemented!()
    }

    /// Reads all records, in order.
    pub fn scan(&self, _see: &mut dyn FnMut(u64, &Entry)) -> Result<(), LogError> {
        unimplemented!()
    }

    /// The account of a run, to charge an attempt.
    pub fn journal(&mut self, turn: Turn, question: Digest) -> RunJournal<'_, D> {
        RunJournal { log: self, turn, question }
    }

    /// The records of a run's account.
    pub fn charges(&self, _run: &RunId) -> Result<Vec<Record>, LogError> {
        unimplemented!()
    }

    /// Keeps what the site remembers in a run, in the place of what it had kept before.
    pub fn keep(&mut self, _vault: &Vault) -> Result<(), LogError> {
        unimplemented!()
    }

    /// What the site remembers in a run.
    pub fn vault(&self, _run: &RunId) -> Result<Option<Vault>, LogError> {
        unimplemented!()
    }

    /// Gives the disk back, as after a crash.
    pub fn into_disk(self) -> D {
        self.disk
    }
}

impl<D: Disk> Journal for RunJournal<'_, D> {
    type Kept = Durable;

    fn append(&mut self, record: &Record) -> Result<(), String> {
        let entry = Entry::Charge { turn: self.turn, question: self.question, record: record.clone() };
        self.log.append(&entry).map(|_| ()).map_err(|error| error.to_string())
    }
}
