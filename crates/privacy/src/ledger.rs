//! A site's own account of what it has spent: an append-only chain of events, checked against a grant before each charge.
//!
//! A charge takes three steps, and each has a type. [`Ledger::prepare`] checks the event against the grant and spends
//! nothing; [`PendingCharge::append`] writes the record; the [`ChargeReceipt`] that comes back opens one gate for as many
//! releases as the event has steps. If the journal fails in between, the ledger closes: it can be rebuilt from what the
//! journal holds, and the last charge can be answered under again if nothing was released for it ([`Ledger::reopen_last`]).
//!
//! Records form a hash chain. [`Ledger::replay`] checks the chain and every charge again, so that an auditor needs nothing but
//! the records.

use crate::budget::{Grant, GrantSpending};
use crate::journal::{Durability, Journal};
use crate::noise::Digest;
use crate::{CertifiedPlan, Event, PrivacyError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::marker::PhantomData;

/// What a record says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LedgerEntry {
    /// The ledger was opened with this grant.
    Opened(Grant),
    /// This event was charged: before its release, whether or not the release was ever made.
    Charged(Event),
}

/// One link of the chain. Events are stored, not costs: a better accountant may read them later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LedgerRecord {
    /// Position in the chain, counted from 0. A gap or a repetition is refused when the chain is replayed.
    pub sequence: u64,
    /// Digest of the record before, so that no record can be changed or left out unnoticed; zeros for the first.
    pub previous: Digest,
    /// The grant that opened the ledger, or an event that was charged to it.
    pub entry: LedgerEntry,
}

impl LedgerRecord {
    /// SHA-256 of the canonical bytes. It names this record and, through `previous`, all records before it.
    pub fn digest(&self) -> Digest {
        // Serialising to memory fails only for types without a fixed form, which these are not; an empty message
        // would then break the chain, which `replay` reports.
        Sha256::digest(postcard::to_allocvec(self).unwrap_or_default()).into()
    }
}

/// Events charged so far, and the rule that says what may still be.
///
/// # Examples
///
/// ```
/// use privacy::{Adjacency, Delta, Epsilon, Event, Filter, Grant, Ledger, MemoryJournal, NoiseMultiplier, Steps};
///
/// let event = Event::gaussian(NoiseMultiplier::new(20.0)?, Adjacency::Substitute, Steps::new(5)?);
/// let filter = Filter::Plan(vec![event.clone()]);
/// let grant = Grant::Limited { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-5)?, filter };
/// let mut journal = MemoryJournal::default();
/// let mut ledger = Ledger::open(grant, &mut journal)?;
/// ledger.charge(&event, &mut journal)?;
///
/// // The journal holds the grant and the charge; the ledger can be rebuilt from it, and checks everything again.
/// assert_eq!(journal.records().len(), 2);
/// assert_eq!(Ledger::replay(journal.records())?.head(), ledger.head());
/// // The plan is used up.
/// assert_eq!(ledger.charge(&event, &mut journal).unwrap_err().code(), "P007");
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug)]
pub struct Ledger {
    spending: GrantSpending,
    head: Digest,
    length: u64,
    closed: bool,
    /// The last record is a charge of an earlier life of this ledger, which has opened no gate in this one.
    reopenable: bool,
}

impl Ledger {
    /// Opens a ledger and writes the grant into the journal as its first record.
    ///
    /// A fixed plan that does not fit the grant is refused here, before anything happens.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Budget`] if a fixed plan costs more than the grant, [`PrivacyError::Parameter`] if a filter leaves no room
    /// at all, and [`PrivacyError::Journal`] if the first record could not be written.
    pub fn open<J: Journal>(grant: Grant, journal: &mut J) -> Result<Self, PrivacyError> {
        Self::begin(GrantSpending::new(grant)?, journal)
    }

    /// The same as [`Ledger::open`], but a plan whose certified cost is at hand is not costed again. That of another plan
    /// changes nothing.
    pub fn open_certified<J: Journal>(
        grant: Grant,
        known: &CertifiedPlan,
        journal: &mut J,
    ) -> Result<Self, PrivacyError> {
        match known.is_for(&grant) {
            true => Self::begin(GrantSpending::of_certified(grant), journal),
            false => Self::open(grant, journal),
        }
    }

    /// Opens another site's ledger with the grant of this one, of which nothing is spent there.
    ///
    /// It is the same as [`Ledger::open`] with that grant, but its plan is not costed again.
    pub fn open_alike<J: Journal>(&self, journal: &mut J) -> Result<Self, PrivacyError> {
        Self::begin(self.spending.unspent(), journal)
    }

    /// Writes the opening record. Nothing can be charged before that has succeeded.
    fn begin<J: Journal>(spending: GrantSpending, journal: &mut J) -> Result<Self, PrivacyError> {
        let entry = LedgerEntry::Opened(spending.grant().clone());
        let record = LedgerRecord { sequence: 0, previous: Digest::default(), entry };
        journal.append(&record).map_err(|why| PrivacyError::Journal { why })?;
        Ok(Self { spending, head: record.digest(), length: 1, closed: false, reopenable: false })
    }

    /// Rebuilds the ledger from its records, checking the chain and every charge again.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Journal`] for a chain that is broken, and the refusal of the first charge that its grant does not cover.
    pub fn replay<'a>(records: impl IntoIterator<Item = &'a LedgerRecord>) -> Result<Self, PrivacyError> {
        let broken = |sequence: u64, what: &str| PrivacyError::Journal { why: format!("record {sequence} {what}") };
        let mut ledger: Option<Self> = None;
        for (position, record) in (0_u64..).zip(records) {
            let expected = ledger.as_ref().map_or(Digest::default(), |l| l.head);
            if record.sequence != position || record.previous != expected {
                return Err(broken(position, "does not follow the one before"));
            }
            match (&mut ledger, &record.entry) {
                (None, LedgerEntry::Opened(grant)) => {
                    let spending = GrantSpending::new(grant.clone())?;
                    let head = record.digest();
                    ledger = Some(Self { spending, head, length: 1, closed: false, reopenable: false });
                }
                (Some(ledger), LedgerEntry::Charged(event)) => {
                    ledger.spending.check(event)?.spend();
                    ledger.head = record.digest();
                    ledger.length += 1;
                    ledger.reopenable = true;
                }
                _ => return Err(broken(position, "is out of place")),
            }
        }
        ledger.ok_or_else(|| broken(0, "is missing"))
    }

    /// Checks that the event fits what was granted. Nothing is spent yet.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Budget`] or [`PrivacyError::OffPlan`] if the event does not fit; [`PrivacyError::Journal`] after an append
    /// that failed, until the ledger is replayed.
    pub fn prepare(&mut self, event: &Event) -> Result<PendingCharge<'_>, PrivacyError> {
        if self.closed {
            return Err(PrivacyError::Journal {
                why: "an earlier charge was not confirmed, so that the ledger is closed".into(),
            });
        }
        let _approved = self.spending.check(event)?;
        let record =
            LedgerRecord { sequence: self.length, previous: self.head, entry: LedgerEntry::Charged(event.clone()) };
        Ok(PendingCharge { ledger: self, event: event.clone(), record })
    }

    /// Prepares and appends in one go.
    ///
    /// # Errors
    ///
    /// As [`Ledger::prepare`] and [`PendingCharge::append`]. Where it fails before the append, nothing is spent.
    pub fn charge<J: Journal>(
        &mut self,
        event: &Event,
        journal: &mut J,
    ) -> Result<ChargeReceipt<J::Kept>, PrivacyError> {
        self.prepare(event)?.append(journal)
    }

    /// Opens the last charge of a replayed ledger again: its process went down before it had released anything for it, so that the
    /// answer is made under the same charge and with fresh noise. Once a life of the ledger, and only if the journal knows that
    /// it may be done ([`Journal::reopen`]).
    ///
    /// # Errors
    ///
    /// [`PrivacyError::OffPlan`] if the last charge is of another event. [`PrivacyError::Journal`] if there is no charge of an
    /// earlier life, or the journal refuses; after the latter the ledger is closed until it is replayed.
    pub fn reopen_last<J: Journal>(
        &mut self,
        event: &Event,
        journal: &mut J,
    ) -> Result<ChargeReceipt<J::Kept>, PrivacyError> {
        if self.closed || !self.reopenable {
            return Err(PrivacyError::Journal { why: "there is no charge that could be answered under again".into() });
        }
        let last = self.events().last().ok_or(PrivacyError::Journal { why: "nothing was charged".into() })?;
        if last != event {
            return Err(PrivacyError::OffPlan { event: event.to_string(), expected: last.to_string() });
        }
        (self.closed, self.reopenable) = (true, false);
        journal.reopen(&self.head).map_err(|why| PrivacyError::Journal { why })?;
        self.closed = false;
        Ok(ChargeReceipt { event: event.clone(), left: event.steps().get(), kept: PhantomData })
    }

    /// Digest of the last record. Two ledgers with the same head have the same history.
    pub fn head(&self) -> Digest {
        self.head
    }

    /// Number of records in the chain: the opening and every charge.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Events charged so far, in order: what an accountant is asked about.
    pub fn events(&self) -> &[Event] {
        self.spending.events()
    }

    /// The grant that the ledger was opened with. It never changes.
    pub fn grant(&self) -> &Grant {
        self.spending.grant()
    }

    /// How many more steps of this event fit, given what was spent; `u64::MAX` without a limit.
    pub fn fits(&self, event: &Event) -> Result<u64, PrivacyError> {
        self.spending.fits(event)
    }
}

/// A charge that was checked and is not yet written down.
#[derive(Debug)]
pub struct PendingCharge<'a> {
    ledger: &'a mut Ledger,
    event: Event,
    record: LedgerRecord,
}

impl PendingCharge<'_> {
    /// The record that will be appended, for drivers that write it together with records of their own.
    pub fn record(&self) -> &LedgerRecord {
        &self.record
    }

    /// Appends the record to the journal, counts the charge as spent, and gives the receipt: one append, one receipt.
    ///
    /// If the journal fails, whether the charge is on record is unknown: the ledger closes, and is to be replayed from
    /// the journal.
    pub fn append<J: Journal>(self, journal: &mut J) -> Result<ChargeReceipt<J::Kept>, PrivacyError> {
        self.ledger.closed = true;
        journal.append(&self.record).map_err(|why| PrivacyError::Journal { why })?;
        self.ledger.spending.check(&self.event)?.spend();
        self.ledger.head = self.record.digest();
        self.ledger.length += 1;
        (self.ledger.closed, self.ledger.reopenable) = (false, false);
        let left = self.event.steps().get();
        Ok(ChargeReceipt { event: self.event, left, kept: PhantomData })
    }
}

/// Proof that an event was charged. It opens a gate for as many releases as the event has steps.
///
/// There is no public constructor and no copy: a release without a charge does not compile.
#[derive(Debug)]
pub struct ChargeReceipt<K: Durability> {
    event: Event,
    left: u64,
    kept: PhantomData<K>,
}

impl<K: Durability> ChargeReceipt<K> {
    /// The event that was charged.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// The part of a receipt that a gate keeps, whatever journal it came from.
    pub(crate) fn into_allowance(self) -> Allowance {
        Allowance { event: self.event, left: self.left }
    }
}

/// What is left of a receipt inside a gate.
#[derive(Debug)]
pub(crate) struct Allowance {
    pub(crate) event: Event,
    left: u64,
}

impl Allowance {
    /// Uses up one release, or refuses.
    pub(crate) fn take_one(&mut self) -> Result<(), PrivacyError> {
        self.left = self.left.checked_sub(1).ok_or(PrivacyError::ReceiptSpent { covered: self.event.steps().get() })?;
        Ok(())
    }

    /// Releases that are still covered.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }
}
