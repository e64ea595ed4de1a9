//! Journals keep a ledger's records; what a journal has appended is evidence that a charge was written down.

use crate::PrivacyError;
use crate::ledger::Record;
use crate::noise::Digest;
use std::marker::PhantomData;

/// How well a journal keeps what it was given. [`InMemory`] and [`Durable`] are the two kinds.
pub trait Keeping: sealed::Sealed {}

/// Kept until the process ends: enough for a simulation.
#[derive(Debug)]
pub enum InMemory {}

/// Kept through a crash: written and synchronised before `append` returns.
#[derive(Debug)]
pub enum Durable {}

impl Keeping for InMemory {}
impl Keeping for Durable {}

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
    type Kept: Keeping;

    /// Appends one record, or says why it could not. After an error the journal's state counts as unknown.
    fn append(&mut self, record: &Record) -> Result<(), String>;
}

/// Evidence that a journal holds a record.
#[derive(Debug)]
pub struct Appended<K: Keeping> {
    digest: Digest,
    kept: PhantomData<K>,
}

impl<K: Keeping> Appended<K> {
    /// Appends the record: the only way to the evidence.
    pub(crate) fn by<J: Journal<Kept = K>>(journal: &mut J, record: &Record) -> Result<Self, PrivacyError> {
        journal.append(record).map_err(|why| PrivacyError::Journal { why })?;
        Ok(Self { digest: record.digest(), kept: PhantomData })
    }

    pub(crate) fn digest(&self) -> &Digest {
        &self.digest
    }
}

/// A journal in memory, for simulations and tests.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    records: Vec<Record>,
}

impl MemoryJournal {
    /// What was appended so far.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}

impl Journal for MemoryJournal {
    type Kept = InMemory;
    fn append(&mut self, record: &Record) -> Result<(), String> {
        self.records.push(record.clone());
        Ok(())
    }
}
