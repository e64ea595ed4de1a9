//! What a log says, for people and for policy: runs, charges, what became of them, and what was granted.

use super::{Disk, Log, LogEntry, LogError, Position, RunAttempt, RunId};
use crate::policy::GrantTotals;
use privacy::accounting::gdp::Gdp;
use privacy::accounting::rdp::{Conversion, Rdp};
use privacy::accounting::{Pld, zcdp::Zcdp};
use privacy::noise::Digest;
use privacy::{
    Accountant, Delta, Epsilon, Event, Filter, Grant, Ledger, LedgerEntry, LedgerRecord, LifetimeCap, Mechanism,
    Portfolio, PortfolioAccount, PrivacyError, PromisePair, RunUse, Sampling, Steps,
};
use std::collections::BTreeMap;
use study::digits::hexadecimal;

/// Everything that a log says of runs. Nothing in it has a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// Whose log it is, once that is on record.
    pub owner: Option<String>,
    /// The last record.
    pub head: Position,
    /// The cap that was in force when the last run was accepted, once one is on record.
    pub cap: Option<LifetimeCap>,
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
    /// What was accepted: on record from the version of ledgers on that reserves whole grants.
    accepted: Option<AcceptedPromise>,
    records: Vec<LedgerRecord>,
}

/// A grant with the neighbours that it is for.
#[derive(Debug, Clone, PartialEq)]
struct AcceptedPromise {
    pair: PromisePair,
    grant: Grant,
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
        Ok(Self { owner: gathered.owner.take(), head: log.head(), cap: gathered.cap, runs: gathered.finish() })
    }

    /// ε and δ that were granted in all runs together, by simple composition. They bound something only where all runs have one
    /// [`Account::pair`].
    pub fn granted(&self) -> GrantTotals {
        self.runs.iter().fold(GrantTotals::NOTHING, |granted, run| granted.and(run.epsilon, run.delta))
    }

    /// The relation and the unit of the first run that has any on record.
    pub fn first_pair(&self) -> Option<PromisePair> {
        self.runs.iter().find_map(RunAccount::promise)
    }

    /// Whether runs on record promise for different relations or units.
    pub fn has_several_pairs(&self) -> bool {
        let mut pairs = self.runs.iter().filter_map(RunAccount::promise);
        pairs.next().is_some_and(|first| pairs.any(|pair| pair != first))
    }

    /// What all runs but one use of a lifetime budget: closed ones by what they charged, open ones by all that they may charge.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::NoTheorem`] if a run promises for another relation or unit than the cap, and no theorem converts it.
    pub fn lifetime(&self, portfolio: &Portfolio, but: Option<&RunId>) -> Result<PortfolioAccount, PrivacyError> {
        let mut others = self.runs.iter().filter(|run| Some(&run.run) != but);
        others.try_fold(portfolio.account(), |account, run| run.add_to(account, run.standing))
    }

    /// What all runs have charged so far, in the same budget: what they would count as if no open one charged again.
    pub fn charged(&self, portfolio: &Portfolio) -> Result<PortfolioAccount, PrivacyError> {
        self.runs.iter().try_fold(portfolio.account(), |account, run| run.add_to(account, RunStanding::Closed))
    }

    /// How many more runs with the grant of the last one fit; none without a run.
    pub fn room(&self, portfolio: &Portfolio) -> Result<Option<u64>, PrivacyError> {
        let Some(last) = self.runs.last() else { return Ok(None) };
        let (pair, grant) = last.terms(portfolio)?;
        self.lifetime(portfolio, None)?.room(&RunUse::open(pair, &grant)).map(Some)
    }

    /// The account of one run.
    pub fn run(&self, run: &RunId) -> Option<&RunAccount> {
        self.runs.iter().find(|account| account.run == *run)
    }
}

impl RunAccount {
    /// A run that has done nothing yet.
    fn accepted(run: RunId, manifest: Digest, (epsilon, delta): (f64, f64), accepted: Option<AcceptedPromise>) -> Self {
        Self {
            run,
            manifest,
            epsilon,
            delta,
            charges: 0,
            burnt: 0,
            contributed: 0,
            settled: 0,
            lapsed: 0,
            resumed: 0,
            standing: RunStanding::Open,
            accepted,
            records: Vec::new(),
        }
    }

    /// The run's ledger, with its chain and every charge checked again; none if it was not opened yet. Refused if the
    /// grant is not that of the acceptance.
    pub fn replay(&self) -> Result<Option<Ledger>, LogError> {
        if self.records.is_empty() {
            return Ok(None);
        }
        let ledger = Ledger::replay(&self.records).map_err(|error| self.refused(&error))?;
        let is_other = self.accepted.as_ref().is_some_and(|accepted| accepted.grant != *ledger.grant());
        if is_other || limits_of(ledger.grant()) != (self.epsilon, self.delta) {
            let why = format!("run {}: its account has another grant than the accepted one", hexadecimal(&self.run));
            return Err(LogError::Ledger { why });
        }
        Ok(Some(ledger))
    }

    /// An upper bound on ε of what was charged so far, at the granted δ, by the accountant of the grant's filter; infinite
    /// without a limit.
    pub fn spent(&self) -> Result<f64, LogError> {
        let Some(ledger) = self.replay()? else { return Ok(0.0) };
        let events = Event::merged(ledger.events()).map_err(|error| self.refused(&error))?;
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

    /// The neighbouring relation and the unit of the promise; none if none is on record yet.
    pub fn promise(&self) -> Option<PromisePair> {
        self.accepted.as_ref().map(|accepted| accepted.pair).or_else(|| self.records.iter().find_map(promise_of))
    }

    /// Whether the acceptance has reserved the whole grant. Older ledgers have not put it on record.
    pub fn is_reserved(&self) -> bool {
        self.accepted.is_some()
    }

    /// An account of a lifetime budget with this run in it, open or closed.
    fn add_to(&self, account: PortfolioAccount, standing: RunStanding) -> Result<PortfolioAccount, PrivacyError> {
        let (pair, grant) = self.terms(account.portfolio())?;
        let charged: Vec<Event> = self.charged().cloned().collect();
        account.with(&match standing {
            RunStanding::Open => RunUse::open(pair, &grant),
            RunStanding::Closed => RunUse::closed(pair, &grant, &charged),
        })
    }

    /// For which neighbours the run promises, and what it may spend.
    ///
    /// Older ledgers have the grant where the run's own account begins. A run whose account was never opened has charged
    /// nothing, and is asked for its pair when it is taken up again.
    fn terms(&self, portfolio: &Portfolio) -> Result<(PromisePair, Grant), PrivacyError> {
        let opened = self.records.iter().find_map(|record| match &record.entry {
            LedgerEntry::Opened(grant) => Some(grant.clone()),
            LedgerEntry::Charged(_) => None,
        });
        let pair = self.promise().unwrap_or(portfolio.cap().pair);
        let accepted = self.accepted.as_ref().map(|accepted| accepted.grant.clone());
        let grant = accepted.or(opened).map_or_else(|| self.unknown_plan(pair), Ok)?;
        Ok((pair, grant))
    }

    /// The events on record, burnt ones included.
    fn charged(&self) -> impl Iterator<Item = &Event> {
        self.records.iter().filter_map(|record| match &record.entry {
            LedgerEntry::Charged(event) => Some(event),
            LedgerEntry::Opened(_) => None,
        })
    }

    /// The grant of a run of which only ε and δ are on record: any mechanism that has them.
    fn unknown_plan(&self, pair: PromisePair) -> Result<Grant, PrivacyError> {
        if !self.epsilon.is_finite() {
            return Ok(Grant::Unlimited);
        }
        let (epsilon, delta) = (Epsilon::new(self.epsilon)?, Delta::new(self.delta)?);
        let any = Mechanism::Approximate { epsilon, delta };
        let event = Event::new(any, pair.adjacency, pair.unit, Sampling::None, Steps::ONE)?;
        Ok(Grant::Limited { epsilon, delta, filter: Filter::Plan(vec![event]) })
    }

    fn refused(&self, error: &PrivacyError) -> LogError {
        LogError::Ledger { why: format!("run {}: {error}", hexadecimal(&self.run)) }
    }
}

/// ε and δ of a grant; ε is infinite without a limit.
pub(crate) fn limits_of(grant: &Grant) -> (f64, f64) {
    match grant {
        Grant::Limited { epsilon, delta, .. } => (epsilon.get(), delta.get()),
        Grant::Unlimited => (f64::INFINITY, 1.0),
    }
}

/// The relation and the unit that a record of a ledger names, if it names any. A ledger has one pair.
fn promise_of(record: &LedgerRecord) -> Option<PromisePair> {
    match &record.entry {
        LedgerEntry::Opened(Grant::Limited { filter: Filter::Plan(plan), .. }) => plan.first().map(PromisePair::of),
        LedgerEntry::Opened(_) => None,
        LedgerEntry::Charged(event) => Some(PromisePair::of(event)),
    }
}

/// Runs while they are read, and the first record that is out of place.
#[derive(Default)]
struct AccountBuilder {
    owner: Option<String>,
    cap: Option<LifetimeCap>,
    runs: Vec<(RunAccount, AttemptOutcomes)>,
    odd: Option<(u64, &'static str)>,
}

impl AccountBuilder {
    fn take(&mut self, number: u64, entry: &LogEntry) {
        match entry {
            LogEntry::Owner { name } => {
                let known = self.owner.get_or_insert_with(|| name.clone());
                if known != name {
                    self.note(number, "it names another site than an earlier record");
                }
                return;
            }
            LogEntry::Policy { cap } => {
                self.cap = Some(*cap);
                return;
            }
            _ => {}
        }
        let known = self.runs.iter_mut().find(|(account, _)| Some(&account.run) == entry.run());
        match (entry, known) {
            (LogEntry::Accepted { run, manifest, epsilon, delta, .. }, None) => {
                self.begin(RunAccount::accepted(*run, *manifest, (*epsilon, *delta), None));
            }
            (LogEntry::AcceptedGrant { run, manifest, pair, grant, .. }, None) => {
                let accepted = AcceptedPromise { pair: *pair, grant: grant.clone() };
                self.begin(RunAccount::accepted(*run, *manifest, limits_of(grant), Some(accepted)));
            }
            (LogEntry::Accepted { .. } | LogEntry::AcceptedGrant { .. }, Some(_)) => {
                self.note(number, "it accepts a run a second time")
            }
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

    fn begin(&mut self, account: RunAccount) {
        self.runs.push((account, AttemptOutcomes::default()));
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
                if matches!(record.entry, LedgerEntry::Charged(_)) =>
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
        | LogEntry::AcceptedGrant { .. }
        | LogEntry::Closed { .. }
        | LogEntry::Owner { .. }
        | LogEntry::Policy { .. } => {}
    }
}
