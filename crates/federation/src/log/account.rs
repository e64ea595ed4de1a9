//! What a log says, for people and for policy: runs, charges, what became of them, and what was granted.

use super::{Disk, Log, LogEntry, LogError, Position, RunAttempt, RunId};
use crate::policy::{GrantTotals, PromisePair};
use privacy::accounting::gdp::Gdp;
use privacy::accounting::rdp::{Conversion, Rdp};
use privacy::accounting::{Pld, zcdp::Zcdp};
use privacy::noise::Digest;
use privacy::{Accountant, Event, Filter, Grant, Ledger, LedgerRecord, PrivacyError, Steps};
use std::collections::BTreeMap;
use study::digits::hexadecimal;

/// Everything that a log says of runs. Nothing in it has a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// Whose log it is, once that is on record.
    pub owner: Option<String>,
    /// The last record.
    pub head: Position,
    /// The runs, in the order in which they were accepted.
    pub runs: Vec<RunAccount>,
}

/// What a log says of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunAccount {
    /// The run.
    pub run: RunId,
    /// Digest of its manifest.
    pub manifest: Digest,
    /// ε that was granted; infinite without a limit.
    pub epsilon: f64,
    /// δ that was granted.
    pub delta: f64,
    /// Charges on record.
    pub charges: u64,
    /// Charges of attempts that have no answer on record. One may be of an attempt that is at work now.
    pub burnt: u64,
    /// Answers whose shares all nodes of a secure sum have held.
    pub contributed: u64,
    /// Answers that the server has a place for in a total.
    pub settled: u64,
    /// Answers that will be in no total. Their charges stay.
    pub lapsed: u64,
    /// Answers that were made anew under a charge of before, after the site went down. In a secure sum each of them is one more
    /// copy of the site's share, which all nodes together would learn.
    pub resumed: u64,
    /// Whether the site still takes part.
    pub standing: RunStanding,
    records: Vec<LedgerRecord>,
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStanding {
    /// The site still takes part.
    Open,
    /// It is over for this site.
    Closed,
}

/// What became of one attempt.
#[derive(Default)]
struct AttemptOutcome {
    charges: u64,
    answered: bool,
    contributed: bool,
    settled: bool,
    lapsed: bool,
}

/// What became of a run's attempts.
#[derive(Default)]
struct AttemptOutcomes {
    /// By round and attempt; in a run of sums, by the round and the attempt in which it was charged.
    by_attempt: BTreeMap<(u64, u64), AttemptOutcome>,
    /// The attempt of the last charge.
    charged: (u64, u64),
    /// Rounds have one charge for all their attempts.
    by_round: bool,
    /// Answers that were made anew.
    resumed: u64,
}

impl Account {
    /// Reads a log, all of it.
    pub fn of<D: Disk>(log: &Log<D>) -> Result<Self, LogError> {
        let mut gathered = AccountBuilder::default();
        log.scan(&mut |number, entry| gathered.take(number, entry))?;
        if let Some((record, what)) = gathered.odd {
            return Err(LogError::Damaged { record, what });
        }
        Ok(Self { owner: gathered.owner.take(), head: log.head(), runs: gathered.finish() })
    }

    /// ε and δ that were granted in all runs together, by basic composition, and for which relation and unit: of several, the
    /// sums bound nothing.
    pub fn granted(&self) -> GrantTotals {
        self.runs.iter().fold(GrantTotals::NOTHING, |granted, run| {
            let sums = granted.and(run.epsilon, run.delta);
            run.promise().map_or(sums, |pair| sums.promising(pair))
        })
    }

    /// The account of one run.
    pub fn run(&self, run: &RunId) -> Option<&RunAccount> {
        self.runs.iter().find(|account| account.run == *run)
    }
}

impl RunAccount {
    /// The run's ledger, with its chain and every charge checked again; none if it was not opened yet. Refused if the
    /// grant is not that of the acceptance.
    pub fn replay(&self) -> Result<Option<Ledger>, LogError> {
        if self.records.is_empty() {
            return Ok(None);
        }
        let ledger = Ledger::replay(&self.records).map_err(|error| self.refused(&error))?;
        let granted = match ledger.grant() {
            Grant::Limited { epsilon, delta, .. } => (epsilon.get(), delta.get()),
            Grant::Unlimited => (f64::INFINITY, 1.0),
        };
        if granted != (self.epsilon, self.delta) {
            let why = format!("run {}: its account has another grant than the accepted one", hexadecimal(&self.run));
            return Err(LogError::Ledger { why });
        }
        Ok(Some(ledger))
    }

    /// An upper bound on ε of what was charged so far, at the granted δ, by the accountant of the grant's filter; infinite
    /// without a limit.
    pub fn spent(&self) -> Result<f64, LogError> {
        let Some(ledger) = self.replay()? else { return Ok(0.0) };
        let events = alike(ledger.events()).map_err(|error| self.refused(&error))?;
        let Grant::Limited { delta, filter, .. } = ledger.grant() else { return Ok(f64::INFINITY) };
        if events.is_empty() {
            return Ok(0.0);
        }
        let renyi;
        let accountant: &dyn Accountant = match filter {
            Filter::Plan(_) => &Pld,
            Filter::Renyi { order } => {
                renyi = Rdp::with_orders(vec![*order], Conversion::default());
                &renyi
            }
            Filter::Zcdp => &Zcdp,
            Filter::Gdp => &Gdp,
        };
        let bounds = accountant.epsilon(&events, *delta).map_err(|error| self.refused(&error))?;
        Ok(bounds.upper)
    }

    /// The neighbouring relation and the unit of the promise; none before the ledger was opened, and if it promises
    /// nothing.
    pub fn promise(&self) -> Option<PromisePair> {
        self.records.iter().find_map(promise_of)
    }

    fn refused(&self, error: &PrivacyError) -> LogError {
        LogError::Ledger { why: format!("run {}: {error}", hexadecimal(&self.run)) }
    }
}

/// The relation and the unit that a record of a ledger names, if it names any. A ledger has one pair.
pub(crate) fn promise_of(record: &LedgerRecord) -> Option<PromisePair> {
    match &record.entry {
        privacy::LedgerEntry::Opened(Grant::Limited { filter: Filter::Plan(plan), .. }) => {
            plan.first().map(PromisePair::of)
        }
        privacy::LedgerEntry::Opened(_) => None,
        privacy::LedgerEntry::Charged(event) => Some(PromisePair::of(event)),
    }
}

/// Alike events as one of many steps: T steps cost what T single ones do, in any order.
fn alike(events: &[Event]) -> Result<Vec<Event>, PrivacyError> {
    let mut kinds: Vec<(Event, u64)> = Vec::new();
    for event in events {
        let (one, steps) = (event.repeated(Steps::ONE), event.steps().get());
        match kinds.iter_mut().find(|(kind, _)| *kind == one) {
            Some((_, count)) => *count = count.saturating_add(steps),
            None => kinds.push((one, steps)),
        }
    }
    kinds.into_iter().map(|(event, steps)| Ok(event.repeated(Steps::new(steps)?))).collect()
}

/// Runs while they are read, and the first record that is out of place.
#[derive(Default)]
struct AccountBuilder {
    owner: Option<String>,
    runs: Vec<(RunAccount, AttemptOutcomes)>,
    odd: Option<(u64, &'static str)>,
}

impl AccountBuilder {
    fn take(&mut self, number: u64, entry: &LogEntry) {
        if let LogEntry::Owner { name } = entry {
            let known = self.owner.get_or_insert_with(|| name.clone());
            if known != name {
                self.note(number, "it names another site than an earlier record");
            }
            return;
        }
        let known = self.runs.iter_mut().find(|(account, _)| Some(&account.run) == entry.run());
        match (entry, known) {
            (LogEntry::Accepted { run, manifest, epsilon, delta, .. }, None) => {
                let account = RunAccount {
                    run: *run,
                    manifest: *manifest,
                    epsilon: *epsilon,
                    delta: *delta,
                    charges: 0,
                    burnt: 0,
                    contributed: 0,
                    settled: 0,
                    lapsed: 0,
                    resumed: 0,
                    standing: RunStanding::Open,
                    records: Vec::new(),
                };
                self.runs.push((account, AttemptOutcomes::default()));
            }
            (LogEntry::Accepted { .. }, Some(_)) => self.note(number, "it accepts a run a second time"),
            (_, None) => self.note(number, "it belongs to a run that was not accepted"),
            (LogEntry::Closed { .. }, Some((account, _))) => account.standing = RunStanding::Closed,
            (entry, Some((account, fates))) => {
                account.records.extend(entry.ledger_record().cloned());
                if let Some(turn) = entry.turn() {
                    fates.take(entry, turn);
                }
            }
        }
    }

    fn note(&mut self, number: u64, what: &'static str) {
        self.odd.get_or_insert((number, what));
    }

    fn finish(self) -> Vec<RunAccount> {
        let count = |fates: &AttemptOutcomes, of: fn(&AttemptOutcome) -> u64| fates.by_attempt.values().map(of).sum();
        let runs = self.runs.into_iter().map(|(mut account, fates)| {
            account.charges = count(&fates, |fate| fate.charges);
            account.burnt = count(&fates, |fate| if fate.answered { 0 } else { fate.charges });
            account.contributed = count(&fates, |fate| u64::from(fate.contributed));
            account.settled = count(&fates, |fate| u64::from(fate.settled));
            account.resumed = fates.resumed;
            account.lapsed = count(&fates, |fate| u64::from(fate.answered && fate.lapsed));
            account
        });
        runs.collect()
    }
}

impl AttemptOutcomes {
    fn take(&mut self, entry: &LogEntry, turn: RunAttempt) {
        let of = (turn.round, turn.attempt);
        match entry {
            LogEntry::Charge { record, .. } | LogEntry::RoundCharged { record, .. }
                if matches!(record.entry, privacy::LedgerEntry::Charged(_)) =>
            {
                (self.charged, self.by_round) = (of, matches!(entry, LogEntry::RoundCharged { .. }));
                self.by_attempt.entry(of).or_default().charges += 1;
            }
            LogEntry::Resumed { .. } => {
                self.resumed += 1;
                if !self.by_round {
                    // The charge is that of the attempt which is answered now.
                    self.by_attempt.remove(&self.charged);
                    self.by_attempt.entry(of).or_default().charges += 1;
                    self.charged = of;
                }
            }
            _ => {
                let same_round = self.by_round && self.charged.0 == turn.round;
                let of = if same_round { self.charged } else { of };
                happened(entry, self.by_attempt.entry(of).or_default());
            }
        }
    }
}

fn happened(entry: &LogEntry, fate: &mut AttemptOutcome) {
    match entry {
        LogEntry::Free { .. } | LogEntry::Outbox { .. } => fate.answered = true,
        LogEntry::Contributed { .. } => (fate.answered, fate.contributed) = (true, true),
        LogEntry::Settled { .. } => fate.settled = true,
        LogEntry::Lapsed { .. } => fate.lapsed = true,
        LogEntry::Charge { .. }
        | LogEntry::RoundCharged { .. }
        | LogEntry::Retried { .. }
        | LogEntry::Resumed { .. }
        | LogEntry::Accepted { .. }
        | LogEntry::Closed { .. }
        | LogEntry::Owner { .. } => {}
    }
}
