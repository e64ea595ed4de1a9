//! A member of a federation, whoever drives it: its own ledger, what it remembers, and how it comes to
//! an answer.
//!
//! The order of an answer is fixed here: check the question, try to answer from memory, check that a
//! gate can be opened, charge, open the gate, answer. A refusal before the charge costs nothing; what
//! was charged stays charged.

use crate::algorithm::Protocol;
use crate::client::Summing;
use crate::settings::SecureNoise;
use crate::{ClientView, Opening, RunError, Shard, Stage, Terms};
use privacy::noise::NoiseContext;
use privacy::{
    BarkerGate, ChargeReceipt, CuratorGate, Durability, Event, Gate, Ledger, LocalGate, Mechanism, OpenGate, Outgoing,
    PrivacyError, Sampling, ShareGate, Unit,
};

/// Where a member's charges are kept and its gates come from: a simulation's, or an agent's.
pub trait ChargeAndGate {
    /// How well charges are kept.
    type Kept: Durability;

    /// Charges the event: it is kept, as well as this desk keeps anything, before the receipt is given.
    fn charge(&mut self, ledger: &mut Ledger, event: &Event) -> Result<ChargeReceipt<Self::Kept>, PrivacyError>;

    /// Opens the last charge of an earlier life of the ledger again ([`Ledger::reopen_last`]).
    fn reopen(&mut self, ledger: &mut Ledger, event: &Event) -> Result<ChargeReceipt<Self::Kept>, PrivacyError>;

    /// The gate for one answer.
    fn gate(
        &mut self,
        terms: &Terms,
        receipt: ChargeReceipt<Self::Kept>,
        context: &NoiseContext,
    ) -> Result<Box<dyn Gate>, PrivacyError>;
}

/// One member: all that it knows but its rows, which it is shown for each answer.
///
/// A memory is what was applied of its answers. A draft is what it will remember of the last one, once
/// the server's receipt says that it arrived.
#[derive(Debug)]
pub struct Member {
    index: usize,
    /// Terms of its first answers, where these differ, stage by stage.
    openings: Vec<Opening>,
    /// Terms of all others.
    terms: Terms,
    /// What it was charged, and what it may be.
    ledger: Ledger,
    /// What was applied of its answers, in canonical bytes.
    memory: Vec<u8>,
    /// What it will remember of its last answer, until the receipt comes.
    draft: Option<Vec<u8>>,
}

impl Member {
    /// A member with its ledger, which remembers nothing yet.
    pub fn new(index: usize, terms: Terms, ledger: Ledger) -> Self {
        Self { index, openings: Vec::new(), terms, ledger, memory: Vec::new(), draft: None }
    }

    /// The same member, with other terms for its first answers.
    #[must_use]
    pub fn with_openings(self, openings: Vec<Opening>) -> Self {
        Self { openings, ..self }
    }

    /// The same member, with what it had kept of memory and draft.
    #[must_use]
    pub fn remembering(self, memory: Vec<u8>, draft: Option<Vec<u8>>) -> Self {
        Self { memory, draft, ..self }
    }

    /// Its number.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whether its budget covers another answer, or the answer to this question is free.
    pub fn can_answer(&self, protocol: &dyn Protocol, query: &[u8], shard: &Shard) -> Result<bool, RunError> {
        let seat = ClientView { index: self.index, shard, terms: self.terms_for(protocol, query)? };
        let covered = self.ledger.fits(&seat.terms.event)? >= seat.terms.event.steps().get();
        Ok(covered || protocol.answer_from_memory(query, self.remembered(), &seat)?.is_some())
    }

    /// Checks, and answers from memory, which is free; or charges, opens the gate, answers.
    ///
    /// What is wrong with the question or the terms is found before the charge, which leaves the ledger as it was. What
    /// was charged stays charged, whatever happens then.
    ///
    /// # Errors
    /// Before the charge: what [`Protocol::check`] refuses, a gate that cannot be opened on these terms, other
    /// numbers of rows than a fixed batch was declared for, and a ledger that does not cover the event. After
    /// it: what the gate or the solver refuses.
    pub fn answer<D: ChargeAndGate>(
        &mut self,
        protocol: &dyn Protocol,
        query: &[u8],
        shard: &Shard,
        summing: Summing,
        context: &NoiseContext,
        desk: &mut D,
    ) -> Result<Outgoing, RunError> {
        let terms = self.terms_for(protocol, query)?.clone();
        self.answer_on(&terms, protocol, query, shard, summing, |ledger| {
            let receipt = desk.charge(ledger, &terms.event)?;
            desk.gate(&terms, receipt, context)
        })
    }

    /// Makes the answer anew under the last charge, of which nothing was released: its process went down. A draft of that answer is
    /// none any more; who calls this has not loaded it.
    ///
    /// # Errors
    /// As [`Member::answer`], and where the charge may not be answered under again. Nothing is charged.
    pub fn answer_again<D: ChargeAndGate>(
        &mut self,
        protocol: &dyn Protocol,
        query: &[u8],
        shard: &Shard,
        summing: Summing,
        context: &NoiseContext,
        desk: &mut D,
    ) -> Result<Outgoing, RunError> {
        let before = (self.ledger.events().len() as u64).saturating_sub(1);
        let terms = self.terms_at(protocol, query, before)?.clone();
        self.answer_on(&terms, protocol, query, shard, summing, |ledger| {
            let receipt = desk.reopen(ledger, &terms.event)?;
            desk.gate(&terms, receipt, context)
        })
    }

    /// Checks, and answers from memory, or through the gate that is opened for it.
    fn answer_on(
        &mut self,
        terms: &Terms,
        protocol: &dyn Protocol,
        query: &[u8],
        shard: &Shard,
        summing: Summing,
        open: impl FnOnce(&mut Ledger) -> Result<Box<dyn Gate>, PrivacyError>,
    ) -> Result<Outgoing, RunError> {
        let seat = ClientView { index: self.index, shard, terms };
        protocol.check(query, self.remembered(), &seat)?;
        let (outgoing, draft) = match protocol.answer_from_memory(query, self.remembered(), &seat)? {
            Some(answer) => answer,
            None => {
                check_gate(&seat, summing)?;
                let mut gate = open(&mut self.ledger)?;
                protocol.answer(query, self.remembered(), &seat, gate.as_mut())?
            }
        };
        self.draft = Some(draft);
        Ok(outgoing)
    }

    /// Remembers what the server says it applied. A second receipt for the same answer changes nothing, and neither does
    /// one that is refused: draft and memory stay for the right one.
    ///
    /// # Errors
    /// Bytes that are no receipt, or one from which no memory follows.
    pub fn settle(&mut self, protocol: &dyn Protocol, applied: &[u8]) -> Result<(), RunError> {
        if let Some(draft) = &self.draft {
            self.memory = protocol.settle(draft, applied)?;
            self.draft = None;
        }
        Ok(())
    }

    /// What it remembers, in canonical bytes. Stays at the site.
    pub fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// What it will remember of its last answer if the server keeps it. Stays at the site.
    pub fn draft(&self) -> Option<&[u8]> {
        self.draft.as_deref()
    }

    /// What it answers from: its memory, or the draft of an answer of which it was never told that it arrived. Nothing
    /// of what was sent is applied in a draft, but what was released for it is not lost.
    fn remembered(&self) -> &[u8] {
        self.draft.as_deref().unwrap_or(&self.memory)
    }

    /// What the answer to a question is charged as: the question says it, or the ledger by the answers that there were.
    pub fn terms_for(&self, protocol: &dyn Protocol, query: &[u8]) -> Result<&Terms, RunError> {
        self.terms_at(protocol, query, self.ledger.events().len() as u64)
    }

    /// The same after so many charges.
    fn terms_at(&self, protocol: &dyn Protocol, query: &[u8], charges: u64) -> Result<&Terms, RunError> {
        if self.openings.is_empty() {
            return Ok(&self.terms);
        }
        Ok(match protocol.stage(query)? {
            Some(Stage::Opening(k)) => self.openings.get(usize::from(k)).map_or(&self.terms, |opening| &opening.terms),
            Some(Stage::Main) => &self.terms,
            None => self.terms_after(charges),
        })
    }

    /// What the next answer is charged as after so many, where answers come stage by stage.
    fn terms_after(&self, answers: u64) -> &Terms {
        let mut left = answers;
        for opening in &self.openings {
            match left.checked_sub(opening.answers) {
                Some(rest) => left = rest,
                None => return &opening.terms,
            }
        }
        &self.terms
    }

    /// Its account.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What was agreed for it, after its openings if it has any.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }
}

/// Whether a gate can be opened on the agreed terms, and the rows or persons are as many as fixed batches are drawn from.
fn check_gate(seat: &ClientView<'_>, summing: Summing) -> Result<(), PrivacyError> {
    let Terms { event, shape, .. } = seat.terms;
    match summing {
        _ if *event.mechanism() == Mechanism::Open => OpenGate::check(event)?,
        Summing::Nobody if is_test(event) => BarkerGate::check(event, shape)?,
        Summing::Nobody => LocalGate::check(event, shape)?,
        Summing::Curator | Summing::Secure { noise: SecureNoise::Nodes, .. } => CuratorGate::check(event, shape)?,
        Summing::Secure { cohort, noise: SecureNoise::Clients(_), .. } => ShareGate::check(event, shape, &cohort)?,
    }
    match *event.sampling() {
        // Fixed batches go with substitution, under which the number of rows is public.
        Sampling::WithoutReplacement { of, .. } => {
            let found = seat.shard.count(event.unit())? as u64;
            let units = if event.unit() == Unit::Person { "persons" } else { "rows" };
            (found == of).then_some(()).ok_or_else(|| PrivacyError::Shape {
                found: format!("{found} {units}"),
                expected: format!("the {of} {units} of the declared sampling"),
            })
        }
        _ => Ok(()),
    }
}

/// Whether noise makes up the spread of a batch.
pub(crate) fn is_test(event: &Event) -> bool {
    matches!(event.mechanism(), Mechanism::BarkerTest { .. })
}
