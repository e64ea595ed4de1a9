//! Journals keep a ledger's records; a charge counts once a journal has appended it.
//!
//! The ledger decides, the journal remembers. This crate has one in memory, for simulations; durable ones live where files and
//! databases are. The kind of a journal is a type, and travels through the receipt to the gate: an agent's gate takes
//! receipts of a [`Durable`] journal only.

use crate::ledger::LedgerRecord;
use crate::noise::Digest;

/// How well a journal keeps what it was given. [`InMemory`] and [`Durable`] are the two kinds.
pub trait Durability: sealed::Sealed {}

/// Kept until the process ends: enough for a simulation.
#[derive(Debug)]
pub enum InMemory {}

/// Kept through a crash: written and synchronised before `append` returns.
#[derive(Debug)]
pub enum Durable {}

impl Durability for InMemory {}
impl Durability for Durable {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::InMemory {}
    impl Sealed for super::Durable {}
}

/// Append-only storage of records.
///
/// An implementation that says [`Durable`] promises that a record survives power loss once `append` has returned
/// `Ok`. Types cannot prove that; crash tests of the implementation do.
pub trait Journal {
    /// What the journal promises.
    type Kept: Durability;

    /// Appends one record, or says why it could not. After an error the journal's state counts as unknown.
    ///
    /// A record that does not follow the last one, by sequence and digest, must be refused: it comes from a second ledger
    /// that was opened or replayed on the same journal, and would spend the same budget twice.
    fn append(&mut self, record: &LedgerRecord) -> Result<(), String>;

    /// Notes that the charge of the record with this digest, its last one, opens another gate; or says why it must not.
    ///
    /// A journal allows it only if it knows that nothing of the charge was released but what the promise for it covers: at a local
    /// gate, that no answer was ever kept to be sent; in a secure sum, that the answer is for the same question and the same sum.
    /// What it notes is as durable as a record. A journal that keeps no such knowledge refuses, as this default does.
    fn reopen(&mut self, last: &Digest) -> Result<(), String> {
        let _unknown = last;
        Err("this journal does not know what was released under its last charge".into())
    }
}

/// A journal in memory, for simulations and tests.
///
/// # Examples
///
/// ```
/// use privacy::{Grant, Journal, Ledger, MemoryJournal};
///
/// let mut journal = MemoryJournal::default();
/// Ledger::open(Grant::Unlimited, &mut journal)?;
/// let first = journal.records()[0].clone();
/// assert!(journal.append(&first).is_err(), "a record that does not follow the last one is refused");
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryJournal {
    records: Vec<LedgerRecord>,
}

impl MemoryJournal {
    /// Records that were appended so far, the oldest first: what `Ledger::replay` reads.
    pub fn records(&self) -> &[LedgerRecord] {
        &self.records
    }
}

impl Journal for MemoryJournal {
    type Kept = InMemory;
    fn append(&mut self, record: &LedgerRecord) -> Result<(), String> {
        let expected = self.records.last().map_or_else(Default::default, LedgerRecord::digest);
        if record.sequence != self.records.len() as u64 || record.previous != expected {
            return Err("the record does not follow the last one".into());
        }
        self.records.push(record.clone());
        Ok(())
    }
}
