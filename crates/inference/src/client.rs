//! A simulated client: a member with its rows at hand, charges in memory, and gates with seeded noise.
//!
//! It is the same [`Member`] that an agent drives; what differs is where charges are kept and where the
//! noise comes from. An agent has a durable journal and noise keys from the operating system.

use crate::algorithm::Protocol;
use crate::member::{ChargeAndGate, Member, is_test};
use crate::message::{Ask, Receipt};
use crate::settings::SecureNoise;
use crate::{Opening, RunError, Shard, Terms};
use privacy::noise::{NoiseContext, Seeded};
use privacy::record::Tape;
use privacy::secure_sum::{Assembly, SumNoise};
use privacy::{
    BarkerGate, CertifiedPlan, ChargeReceipt, Cohort, CuratorGate, Event, Gate, Grant, InMemory, Ledger, LocalGate,
    Mechanism, MemoryJournal, OpenGate, Outgoing, PrivacyError, ShareGate,
};

/// Who adds up in this run, as a gate needs to know it: it decides which gate a client opens, and how
/// much noise is in the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summing {
    /// Nobody: answers are released at their gates.
    Nobody,
    /// A curator.
    Curator,
    /// A secure sum.
    Secure {
        /// The clients, and how many of them it must do without.
        cohort: Cohort,
        /// Compute nodes.
        nodes: u32,
        /// Who adds the noise.
        noise: SecureNoise,
    },
}

impl Summing {
    /// The terms of a secure sum of answers on these terms; none where answers are not sealed, or a curator adds them up.
    pub fn assembly(&self, terms: &Terms) -> Result<Option<Assembly>, PrivacyError> {
        let Self::Secure { cohort, nodes, noise } = *self else { return Ok(None) };
        let noise = match noise {
            SecureNoise::Nodes => SumNoise::Nodes,
            SecureNoise::Clients(_) => SumNoise::Clients,
        };
        let (event, shape) = terms.summed();
        Assembly::new(cohort, nodes, noise, event, *shape).map(Some)
    }

    /// The variance of the noise in a sum of so many contributions, in units of what the event promises.
    pub fn times(&self, contributions: usize) -> f64 {
        match self {
            Self::Nobody | Self::Curator => 1.0,
            Self::Secure { nodes, noise: SecureNoise::Nodes, .. } => f64::from(*nodes),
            Self::Secure { cohort, noise: SecureNoise::Clients(_), .. } => {
                contributions as f64 / cohort.honest_shares() as f64
            }
        }
    }
}

/// What simulated gates share.
#[derive(Debug, Clone)]
pub struct SimulationContext {
    /// Seeds noise, batches and schedules.
    pub seed: u64,
    /// The run's name in noise keys.
    pub run: [u8; 16],
    /// Who adds up.
    pub summing: Summing,
    /// Hears of every noise call, if there is one.
    pub tape: Option<Tape>,
}

/// One client of a simulation: its rows, its ledger and its memory.
#[derive(Debug)]
pub struct Client<'a> {
    /// Its rows.
    shard: &'a Shard,
    /// Its ledger, its memory and its terms.
    member: Member,
    /// Where its charges are kept, in memory.
    journal: MemoryJournal,
}

impl<'a> Client<'a> {
    /// A client that has answered nothing yet. A plan that does not fit the grant is refused here.
    ///
    /// # Errors
    /// A grant whose plan costs more than it grants, or that no accountant certifies.
    pub fn new(index: usize, shard: &'a Shard, terms: Terms, grant: Grant) -> Result<Self, PrivacyError> {
        let mut journal = MemoryJournal::default();
        let ledger = Ledger::open(grant, &mut journal)?;
        Ok(Self { shard, member: Member::new(index, terms, ledger), journal })
    }

    /// The same as [`Client::new`], with the certified cost of the grant's plan, where it is known: it is not costed again.
    pub fn certified(
        index: usize,
        shard: &'a Shard,
        terms: Terms,
        grant: Grant,
        known: Option<&CertifiedPlan>,
    ) -> Result<Self, PrivacyError> {
        let Some(known) = known else { return Self::new(index, shard, terms, grant) };
        let mut journal = MemoryJournal::default();
        let ledger = Ledger::open_certified(grant, known, &mut journal)?;
        Ok(Self { shard, member: Member::new(index, terms, ledger), journal })
    }

    /// The same client, with other terms for its first answers.
    #[must_use]
    pub fn with_openings(self, openings: Vec<Opening>) -> Self {
        Self { member: self.member.with_openings(openings), ..self }
    }

    /// Another client that has answered nothing yet, with the grant of this one: its plan is not costed again.
    pub fn alike<'b>(&self, index: usize, shard: &'b Shard, terms: Terms) -> Result<Client<'b>, PrivacyError> {
        let mut journal = MemoryJournal::default();
        let ledger = self.member.ledger().open_alike(&mut journal)?;
        Ok(Client { shard, member: Member::new(index, terms, ledger), journal })
    }

    /// The client's number.
    pub fn index(&self) -> usize {
        self.member.index()
    }

    /// Whether its budget covers another answer, or the answer to this question is free.
    pub fn can_answer(&self, protocol: &dyn Protocol, query: &[u8]) -> Result<bool, RunError> {
        self.member.can_answer(protocol, query, self.shard)
    }

    /// Answers as [`Member::answer`] does, with charges in memory and seeded noise.
    ///
    /// # Errors
    /// Before the charge: a question, a memory or terms that the protocol refuses, and a budget that is spent.
    /// After it: a gate that refuses a sum. What was charged stays charged.
    pub fn answer(
        &mut self,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Outgoing, RunError> {
        let context = ask.context(workshop.run, self.index() as u64, self.member.ledger().head());
        let mut desk = Simulated { journal: &mut self.journal, workshop };
        self.member.answer(protocol, &ask.query, self.shard, workshop.summing, &context, &mut desk)
    }

    /// Remembers what the server says it applied.
    ///
    /// # Errors
    /// A receipt that is no [`Total`](crate::Total), or from which no memory follows.
    pub fn settle(&mut self, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError> {
        self.member.settle(protocol, &receipt.applied)
    }

    /// What it remembers, in canonical bytes. Stays at the client.
    pub fn memory(&self) -> &[u8] {
        self.member.memory()
    }

    /// What the answer to a question is charged as.
    pub(crate) fn terms_for(&self, protocol: &dyn Protocol, query: &[u8]) -> Result<&Terms, RunError> {
        self.member.terms_for(protocol, query)
    }

    /// Its account.
    pub fn ledger(&self) -> &Ledger {
        self.member.ledger()
    }

    /// What was agreed for it, after its openings if it has any.
    pub fn terms(&self) -> &Terms {
        self.member.terms()
    }
}

/// Charges in memory, and gates with seeded noise, recorded if there is a tape.
struct Simulated<'a> {
    journal: &'a mut MemoryJournal,
    workshop: &'a SimulationContext,
}

impl ChargeAndGate for Simulated<'_> {
    type Kept = InMemory;

    fn charge(&mut self, ledger: &mut Ledger, event: &Event) -> Result<ChargeReceipt<InMemory>, PrivacyError> {
        ledger.charge(event, self.journal)
    }

    fn reopen(&mut self, ledger: &mut Ledger, event: &Event) -> Result<ChargeReceipt<InMemory>, PrivacyError> {
        ledger.reopen_last(event, self.journal)
    }

    fn gate(
        &mut self,
        terms: &Terms,
        receipt: ChargeReceipt<InMemory>,
        context: &NoiseContext,
    ) -> Result<Box<dyn Gate>, PrivacyError> {
        let workshop = self.workshop;
        let (shape, source) = (terms.shape, &mut Seeded::new(workshop.seed));
        let open = *terms.event.mechanism() == Mechanism::Open;
        Ok(match (workshop.summing, &workshop.tape) {
            _ if open => Box::new(OpenGate::new(receipt, shape, source, context)?),
            (Summing::Nobody, tape) if is_test(&terms.event) => {
                Box::new(BarkerGate::simulated(receipt, shape, source, context, tape.as_ref())?)
            }
            (Summing::Nobody, None) => Box::new(LocalGate::simulated(receipt, shape, source, context)?),
            (Summing::Nobody, Some(tape)) => Box::new(LocalGate::recorded(receipt, shape, source, context, tape)?),
            (Summing::Curator | Summing::Secure { noise: SecureNoise::Nodes, .. }, _) => {
                Box::new(CuratorGate::new(receipt, shape, source, context)?)
            }
            (Summing::Secure { cohort, noise: SecureNoise::Clients(_), .. }, _) => {
                Box::new(ShareGate::new(receipt, shape, &cohort, source, context)?)
            }
        })
    }
}
