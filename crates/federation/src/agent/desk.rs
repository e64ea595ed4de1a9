//! An agent's desk: charges in the site's log, and gates that take nothing but durable charges and keys of the system.

use crate::log::{Disk, Entry, Log, LogError, Turn};
use inference::settings::SecureNoise;
use inference::{Desk, Summing, Terms};
use privacy::noise::{Digest, NoiseContext, OsKeyed};
use privacy::{AgentGate, ChargeReceipt, Durable, Event, Gate, Journal, Ledger, LedgerRecord, Mechanism, PrivacyError};

/// Where one answer of an agent is charged, and where its gate comes from.
pub(super) struct SiteDesk<'a, D: Disk> {
    log: &'a mut Log<D>,
    turn: Turn,
    question: Digest,
    source: &'a mut OsKeyed,
    summing: Summing,
    failed: Option<LogError>,
}

impl<'a, D: Disk> SiteDesk<'a, D> {
    pub(super) fn new(
        log: &'a mut Log<D>,
        turn: Turn,
        question: Digest,
        source: &'a mut OsKeyed,
        summing: Summing,
    ) -> Self {
        Self { log, turn, question, source, summing, failed: None }
    }

    /// What the log said, if it failed: whether the charge is on record is unknown then.
    pub(super) fn failed(self) -> Option<LogError> {
        self.failed
    }
}

/// Appends to the log and remembers what went wrong.
struct Noting<'a, 'b, D: Disk>(&'a mut SiteDesk<'b, D>);

impl<D: Disk> Journal for Noting<'_, '_, D> {
    type Kept = Durable;

    fn append(&mut self, record: &LedgerRecord) -> Result<(), String> {
        let desk = &mut *self.0;
        let entry = Entry::Charge { turn: desk.turn, question: desk.question, record: record.clone() };
        desk.log.append(&entry).map(|_| ()).map_err(|error| {
            let why = error.to_string();
            desk.failed = Some(error);
            why
        })
    }
}

impl<D: Disk> Desk for SiteDesk<'_, D> {
    type Kept = Durable;

    fn charge(&mut self, ledger: &mut Ledger, event: &Event) -> Result<ChargeReceipt<Durable>, PrivacyError> {
        ledger.charge(event, &mut Noting(self))
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
                    hint: "a study that is served has `privacy`, and no curator: use `aggregator = \"secure-sum\"`",
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
