//! Protocols that differ from another one in how clients answer or how answers are folded, and a gate
//! that shuts.
//!
//! Laws use them to spoil one thing and look whether the rest holds: a client that is absent, an answer
//! that is lost after its charge, a gate that refuses in the middle of an update.

use crate::Quantiles;
use crate::algorithm::{Answers, Folded, Natural, Protocol};
use crate::warning::Warning;
use crate::{ClientView, RunError, Stage};
use privacy::{Batch, Bounded, Gate, GridVector, Outgoing, PrivacyError, Released, Shape};

/// What a client answers, and its drafted memory.
pub type Reply = Result<(Outgoing, Vec<u8>), RunError>;

/// How a client answers in place of the inner protocol: of query, memory, seat and gate.
pub type Answering<'f> =
    dyn Fn(&dyn Protocol, &[u8], &[u8], &ClientView<'_>, &mut dyn Gate) -> Reply + Send + Sync + 'f;

/// How answers are folded in place of the inner protocol.
pub type Folding<'f> = dyn Fn(&dyn Protocol, &[u8], &Answers) -> Result<Folded, RunError> + Send + Sync + 'f;

/// A protocol with another way to answer and to fold.
pub struct Altered<'a> {
    /// The protocol that is altered.
    inner: &'a dyn Protocol,
    /// How clients answer in its place.
    answering: &'a Answering<'a>,
    /// How answers are folded in its place.
    folding: &'a Folding<'a>,
}

impl<'a> Altered<'a> {
    /// Clients answer in this way.
    pub fn answering(inner: &'a dyn Protocol, answering: &'a Answering<'a>) -> Self {
        Self { inner, answering, folding: &|inner, state, answers| inner.fold(state, answers) }
    }

    /// Answers are folded in this way.
    pub fn folding(inner: &'a dyn Protocol, folding: &'a Folding<'a>) -> Self {
        Self { inner, answering: &|inner, query, memory, seat, gate| inner.answer(query, memory, seat, gate), folding }
    }
}

impl Protocol for Altered<'_> {
    fn start(&self) -> Result<Vec<u8>, RunError> {
        self.inner.start()
    }
    fn ask(&self, state: &[u8]) -> Result<Vec<u8>, RunError> {
        self.inner.ask(state)
    }
    fn check(&self, query: &[u8], memory: &[u8], seat: &ClientView<'_>) -> Result<(), RunError> {
        self.inner.check(query, memory, seat)
    }
    fn answer(&self, query: &[u8], memory: &[u8], seat: &ClientView<'_>, gate: &mut dyn Gate) -> Reply {
        (self.answering)(self.inner, query, memory, seat, gate)
    }
    fn answer_from_memory(
        &self,
        query: &[u8],
        memory: &[u8],
        seat: &ClientView<'_>,
    ) -> Result<Option<(Outgoing, Vec<u8>)>, RunError> {
        self.inner.answer_from_memory(query, memory, seat)
    }
    fn fold(&self, state: &[u8], answers: &Answers) -> Result<Folded, RunError> {
        (self.folding)(self.inner, state, answers)
    }
    fn fits(&self, state: &[u8], client: usize, answer: &GridVector) -> Result<bool, RunError> {
        self.inner.fits(state, client, answer)
    }
    fn folds_late_answers(&self) -> bool {
        self.inner.folds_late_answers()
    }
    fn settle(&self, draft: &[u8], applied: &[u8]) -> Result<Vec<u8>, RunError> {
        self.inner.settle(draft, applied)
    }
    fn stage(&self, query: &[u8]) -> Result<Option<Stage>, RunError> {
        self.inner.stage(query)
    }

    fn outcome_variance(&self, state: &[u8]) -> Result<Option<f64>, RunError> {
        self.inner.outcome_variance(state)
    }

    fn quantiles(&self, state: &[u8]) -> Result<Option<Vec<Quantiles>>, RunError> {
        self.inner.quantiles(state)
    }

    fn warning(&self, state: &[u8]) -> Result<Option<Warning>, RunError> {
        self.inner.warning(state)
    }

    fn last_draw(&self, state: &[u8]) -> Result<Option<(u64, Vec<f64>)>, RunError> {
        self.inner.last_draw(state)
    }

    fn at_home(&self, client: usize, memory: &[u8]) -> Result<Option<Natural>, RunError> {
        self.inner.at_home(client, memory)
    }

    fn posterior(&self, state: &[u8]) -> Result<Vec<f64>, RunError> {
        self.inner.posterior(state)
    }
}

/// A gate that lets so many releases through and refuses the next.
pub struct Shutting<'a> {
    /// The gate.
    pub inner: &'a mut dyn Gate,
    /// How many releases are left.
    pub left: u64,
}

impl Shutting<'_> {
    /// One release less; refused where none is left.
    fn pass(&mut self) -> Result<(), PrivacyError> {
        self.left = self.left.checked_sub(1).ok_or(PrivacyError::ReceiptSpent { covered: 0 })?;
        Ok(())
    }
}

impl Gate for Shutting<'_> {
    fn shape(&self) -> &Shape {
        self.inner.shape()
    }
    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        self.inner.batch(rows, into)
    }
    fn release(&mut self, sum: &Bounded, into: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        self.pass()?;
        self.inner.release(sum, into)
    }
    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        self.pass()?;
        self.inner.send(sum)
    }
}
