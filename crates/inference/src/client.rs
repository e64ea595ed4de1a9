//! A simulated client: its rows, its own ledger, its memory, and the gate that it opens for each answer.

use crate::algorithm::Protocol;
use crate::message::{Ask, Receipt};
use crate::settings::SecureNoise;
use crate::{Opening, RunError, Seat, Shard, Stage, Terms};
use privacy::noise::{NoiseContext, Seeded};
use privacy::record::Tape;
use privacy::{
    BarkerGate, ChargeReceipt, Cohort, CuratorGate, Event, Gate, Grant, InMemory, Ledger, LocalGate, Mechanism,
    MemoryJournal, OpenGate, Outgoing, PrivacyError, Sampling, ShareGate,
};

/// Who adds up in this run, as a gate needs to know it.
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
pub struct Workshop {
    /// Seeds noise, batches and schedules.
    pub seed: u64,
    /// The run's name in noise keys.
    pub run: [u8; 16],
    /// Who adds up.
    pub summing: Summing,
    /// Hears of every noise call, if there is one.
    pub tape: Option<Tape>,
}

/// One client of a simulation.
#[derive(Debug)]
pub struct Client<'a> {
    index: usize,
    shard: &'a Shard,
    opening: Option<Opening>,
    terms: Terms,
    ledger: Ledger,
    journal: MemoryJournal,
    memory: Vec<u8>,
    draft: Option<Vec<u8>>,
}

impl<'a> Client<'a> {
    /// A client that has answered nothing yet. A plan that does not fit the grant is refused here.
    pub fn new(index: usize, shard: &'a Shard, terms: Terms, grant: Grant) -> Result<Self, PrivacyError> {
        let mut journal = MemoryJournal::default();
        let ledger = Ledger::open(grant, &mut journal)?;
        Ok(Self { index, shard, opening: None, terms, ledger, journal, memory: Vec::new(), draft: None })
    }

    /// The same client, with other terms for its first answers.
    #[must_use]
    pub fn with_opening(self, opening: Option<Opening>) -> Self {
        Self { opening, ..self }
    }

    /// Another client that has answered nothing yet, with the grant of this one: its plan is not costed again.
    pub fn alike<'b>(&self, index: usize, shard: &'b Shard, terms: Terms) -> Result<Client<'b>, PrivacyError> {
        let mut journal = MemoryJournal::default();
        let ledger = self.ledger.open_alike(&mut journal)?;
        Ok(Client { index, shard, opening: None, terms, ledger, journal, memory: Vec::new(), draft: None })
    }

    /// The client's number.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whether its budget covers another answer, or the answer to this question is free.
    pub fn can_answer(&self, protocol: &dyn Protocol, query: &[u8]) -> Result<bool, RunError> {
        let seat = Seat { index: self.index, shard: self.shard, terms: self.terms_for(protocol, query)? };
        let covered = self.ledger.fits(&seat.terms.event)? >= seat.terms.event.steps().get();
        Ok(covered || protocol.answer_from_memory(query, self.remembered(), &seat)?.is_some())
    }

    /// Checks, and answers from memory, which is free; or charges, opens the gate, answers.
    ///
    /// What is wrong with the question or the terms is found before the charge, which leaves the ledger as it was. What
    /// was charged stays charged, whatever happens then.
    pub fn answer(&mut self, protocol: &dyn Protocol, ask: &Ask, workshop: &Workshop) -> Result<Outgoing, RunError> {
        let terms = self.terms_for(protocol, &ask.query)?.clone();
        let seat = Seat { index: self.index, shard: self.shard, terms: &terms };
        protocol.check(&ask.query, self.remembered(), &seat)?;
        let (outgoing, draft) = match protocol.answer_from_memory(&ask.query, self.remembered(), &seat)? {
            Some(answer) => answer,
            None => {
                check_gate(&seat, workshop)?;
                let context = ask.context(workshop.run, self.index as u64, self.ledger.head());
                let receipt = self.ledger.charge(&terms.event, &mut self.journal)?;
                let mut gate = gate(&terms, receipt, workshop, &context)?;
                protocol.answer(&ask.query, self.remembered(), &seat, gate.as_mut())?
            }
        };
        self.draft = Some(draft);
        Ok(outgoing)
    }

    /// Remembers what the server says it applied. A second receipt for the same answer changes nothing, and neither does
    /// one that is refused: draft and memory stay for the right one.
    pub fn settle(&mut self, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError> {
        if let Some(draft) = &self.draft {
            self.memory = protocol.settle(draft, &receipt.applied)?;
            self.draft = None;
        }
        Ok(())
    }

    /// What it remembers, in canonical bytes. Stays at the client.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// What it answers from: its memory, or the draft of an answer of which it was never told that it arrived. Nothing
    /// of what was sent is applied in a draft, but what was released for it is not lost.
    fn remembered(&self) -> &[u8] {
        self.draft.as_deref().unwrap_or(&self.memory)
    }

    /// What the answer to a question is charged as: the question says it, or the ledger by the answers that there were.
    pub(crate) fn terms_for(&self, protocol: &dyn Protocol, query: &[u8]) -> Result<&Terms, RunError> {
        let Some(opening) = &self.opening else { return Ok(&self.terms) };
        let early = (self.ledger.events().len() as u64) < opening.answers;
        Ok(match protocol.stage(query)? {
            Some(Stage::Opening) => &opening.terms,
            None if early => &opening.terms,
            Some(Stage::Main) | None => &self.terms,
        })
    }

    /// Its account.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What was agreed for it, after its opening if it has one.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }
}

/// Whether a gate can be opened on the agreed terms, and the rows are as many as fixed batches are drawn from.
fn check_gate(seat: &Seat<'_>, workshop: &Workshop) -> Result<(), PrivacyError> {
    let Terms { event, shape, .. } = seat.terms;
    match workshop.summing {
        _ if *event.mechanism() == Mechanism::Open => OpenGate::check(event)?,
        Summing::Nobody if is_test(event) => BarkerGate::check(event, shape)?,
        Summing::Nobody => LocalGate::check(event, shape)?,
        Summing::Curator | Summing::Secure { noise: SecureNoise::Nodes, .. } => CuratorGate::check(event, shape)?,
        Summing::Secure { cohort, noise: SecureNoise::Clients(_), .. } => ShareGate::check(event, shape, &cohort)?,
    }
    match *event.sampling() {
        // Fixed batches go with substitution, under which the number of rows is public.
        Sampling::WithoutReplacement { of, .. } if of != seat.shard.len() as u64 => Err(PrivacyError::Shape {
            found: format!("{} rows", seat.shard.len()),
            expected: format!("the {of} rows of the declared sampling"),
        }),
        _ => Ok(()),
    }
}

/// Whether noise makes up the spread of a batch.
fn is_test(event: &Event) -> bool {
    matches!(event.mechanism(), Mechanism::BarkerTest { .. })
}

fn gate(
    terms: &Terms,
    receipt: ChargeReceipt<InMemory>,
    workshop: &Workshop,
    context: &NoiseContext,
) -> Result<Box<dyn Gate>, PrivacyError> {
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
