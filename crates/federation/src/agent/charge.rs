//! How an agent charges an answer in the site's log and gets its gate, which takes only durable charges and keys of the system.

use crate::log::{Disk, Log, LogEntry, LogError, RunAttempt};
use inference::settings::SecureNoise;
use inference::{ChargeAndGate, Summing, Terms};
use privacy::noise::{Digest, NoiseContext, OsKeyed};
use privacy::{AgentGate, ChargeReceipt, Durable, Event, Gate, Journal, Ledger, LedgerRecord, Mechanism, PrivacyError};

/// What one charge covers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Coverage {
    /// One attempt: the answer is released at the site's gate.
    Attempt,
    /// All attempts at the sum of a round, on the terms with this digest.
    Round(Digest),
}

/// Where one answer of an agent is charged, and where its gate comes from.
pub(super) struct SiteChargeAndGate<'a, D: Disk> {
    log: &'a mut Log<D>,
    turn: RunAttempt,
    question: Digest,
    coverage: Coverage,
    source: &'a mut OsKeyed,
    summing: Summing,
    failed: Option<LogError>,
}

impl<'a, D: Disk> SiteChargeAndGate<'a, D> {
    pub(super) fn new(
        log: &'a mut Log<D>,
        turn: RunAttempt,
        question: Digest,
        coverage: Coverage,
        source: &'a mut OsKeyed,
        summing: Summing,
    ) -> Self {
        Self { log, turn, question, coverage, source, summing, failed: None }
    }

    /// Appends a record, and remembers what went wrong.
    fn keep(&mut self, entry: &LogEntry) -> Result<(), String> {
        self.log.append(entry).map(|_| ()).map_err(|error| {
            let why = error.to_string();
            self.failed = Some(error);
            why
        })
    }

    /// What the log said, if it failed: whether the charge is on record is unknown then.
    pub(super) fn failed(self) -> Option<LogError> {
        self.failed
    }
}

/// Appends to the log and remembers what went wrong.
struct RecordingJournal<'a, 'b, D: Disk>(&'a mut SiteChargeAndGate<'b, D>);

impl<D: Disk> Journal for RecordingJournal<'_, '_, D> {
    type Kept = Durable;

    fn append(&mut self, record: &LedgerRecord) -> Result<(), String> {
        let (turn, question, record) = (self.0.turn, self.0.question, record.clone());
        self.0.keep(&match self.0.coverage {
            Coverage::Attempt => LogEntry::Charge { turn, question, record },
            Coverage::Round(terms) => LogEntry::RoundCharged { turn, question, terms, record },
        })
    }

    fn reopen(&mut self, last: &Digest) -> Result<(), String> {
        if self.0.log.account_head(&self.0.turn.run) != *last {
            return Err("the ledger is not that of the log".into());
        }
        self.0.keep(&LogEntry::Resumed { turn: self.0.turn, question: self.0.question })
    }
}

impl<D: Disk> ChargeAndGate for SiteChargeAndGate<'_, D> {
    type Kept = Durable;

    fn charge(&mut self, ledger: &mut Ledger, event: &Event) -> Result<ChargeReceipt<Durable>, PrivacyError> {
        ledger.charge(event, &mut RecordingJournal(self))
    }

    fn reopen(&mut self, ledger: &mut Ledger, event: &Event) -> Result<ChargeReceipt<Durable>, PrivacyError> {
        ledger.reopen_last(event, &mut RecordingJournal(self))
    }

    fn gate(
        &mut self,
        terms: &Terms,
        receipt: ChargeReceipt<Durable>,
        context: &NoiseContext,
    ) -> Result<Box<dyn Gate>, PrivacyError> {
        let (shape, source) = (terms.shape, &mut *self.source);
        let gate = match (self.summing, terms.event.mechanism()) {
            (_, Mechanism::Open) | (Summing::Curator, _) => {
                return Err(PrivacyError::WrongGate {
                    what: "an answer without noise",
                    gate: "agent's",
                    hint: "a served study needs `privacy` and no curator: use `aggregator = \"secure-sum\"`",
                });
            }
            (Summing::Nobody, Mechanism::BarkerTest { .. }) => AgentGate::test(receipt, shape, source, context)?,
            (Summing::Nobody, _) => AgentGate::local(receipt, shape, source, context)?,
            (Summing::Secure { noise: SecureNoise::Nodes, .. }, _) => {
                AgentGate::sealed(receipt, shape, source, context)?
            }
            (Summing::Secure { cohort, noise: SecureNoise::Clients(_), .. }, _) => {
                AgentGate::share(receipt, shape, &cohort, source, context)?
            }
        };
        Ok(Box::new(gate))
    }
}
