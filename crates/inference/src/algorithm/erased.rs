//! Any algorithm as functions of bytes: what drivers use, so that all of them run the same code.
//!
//! Bytes are postcard's: one value has one encoding, and trailing bytes are refused. A query becomes a
//! [`Released`] value when it is decoded, because it was made from released values by the server.

use super::{Algorithm, Answers, Natural};
use crate::Quantiles;
use crate::warning::Warning;
use crate::{ClientView, RunError, Stage, Total};
use privacy::{Gate, GridVector, Outgoing, Released};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An [`Algorithm`] whose state, queries and memories are canonical bytes.
pub trait Protocol: Send + Sync {
    /// The first state.
    fn start(&self) -> Result<Vec<u8>, RunError>;
    /// The question in a state.
    fn ask(&self, state: &[u8]) -> Result<Vec<u8>, RunError>;
    /// Refuses a question, a memory or terms that [`Protocol::answer`] would refuse: before anything is charged.
    fn check(&self, query: &[u8], memory: &[u8], seat: &ClientView<'_>) -> Result<(), RunError>;
    /// On which of a client's terms a question is answered, where that follows from the question.
    fn stage(&self, query: &[u8]) -> Result<Option<Stage>, RunError>;
    /// A site's answer and its drafted memory. An empty memory is that of a new site.
    fn answer(
        &self,
        query: &[u8],
        memory: &[u8],
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<(Outgoing, Vec<u8>), RunError>;
    /// The answer that follows from a site's memory alone, and costs nothing; none where its rows are needed. What
    /// [`Protocol::check`] refuses is refused here too; nothing but that check is given the seat's rows.
    fn answer_from_memory(
        &self,
        query: &[u8],
        memory: &[u8],
        seat: &ClientView<'_>,
    ) -> Result<Option<(Outgoing, Vec<u8>)>, RunError>;
    /// The state after some answers.
    fn fold(&self, state: &[u8], answers: &Answers) -> Result<Folded, RunError>;
    /// Whether a client's answer has the shape that [`Protocol::fold`] takes in this state; an error if the state is none.
    fn fits(&self, state: &[u8], client: usize, answer: &GridVector) -> Result<bool, RunError>;
    /// Whether an answer to an earlier question may still be folded: see [`Algorithm::folds_late_answers`].
    fn folds_late_answers(&self) -> bool;
    /// The memory after a receipt, which is a [`Total`] in bytes; an error if no memory follows from it.
    fn settle(&self, draft: &[u8], applied: &[u8]) -> Result<Vec<u8>, RunError>;
    /// What is served.
    fn posterior(&self, state: &[u8]) -> Result<Vec<f64>, RunError>;
    /// The variance of the outcome around its mean, where the method learns it.
    fn outcome_variance(&self, state: &[u8]) -> Result<Option<f64>, RunError>;
    /// Quantiles of every parameter, where the served posterior is known to many digits and is no Gaussian.
    fn quantiles(&self, state: &[u8]) -> Result<Option<Vec<Quantiles>>, RunError>;
    /// What is to be warned of in what is served, from released values alone.
    fn warning(&self, state: &[u8]) -> Result<Option<Warning>, RunError>;
    /// How many draws there are so far, and the last of them, where the method draws.
    fn last_draw(&self, state: &[u8]) -> Result<Option<(u64, Vec<f64>)>, RunError>;
    /// What a client has learnt for itself, if the method lets it.
    fn at_home(&self, client: usize, memory: &[u8]) -> Result<Option<Natural>, RunError>;
}

/// A new state and what of each answer is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Folded {
    /// The state.
    pub state: Vec<u8>,
    /// What was applied, in the order of the answers.
    pub applied: Vec<Total>,
}

impl<A: Algorithm> Protocol for A {
    fn start(&self) -> Result<Vec<u8>, RunError> {
        encode(&Algorithm::start(self), "a state")
    }

    fn ask(&self, state: &[u8]) -> Result<Vec<u8>, RunError> {
        encode(&Algorithm::ask(self, &decode(state, "a state")?), "a query")
    }

    fn check(&self, query: &[u8], memory: &[u8], seat: &ClientView<'_>) -> Result<(), RunError> {
        Ok(Algorithm::check(self, &decode(query, "a query")?, &remembered(memory)?, seat)?)
    }

    fn stage(&self, query: &[u8]) -> Result<Option<Stage>, RunError> {
        Ok(Algorithm::stage(self, &decode(query, "a query")?))
    }

    fn answer(
        &self,
        query: &[u8],
        memory: &[u8],
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<(Outgoing, Vec<u8>), RunError> {
        let query: Released<A::Query> = decode(query, "a query")?;
        let memory = remembered(memory)?;
        // Drivers have asked before; one that forgot to learns nothing either.
        Algorithm::check(self, query.get(), &memory, seat)?;
        let answer = Algorithm::answer(self, &query, &memory, seat, gate)?;
        Ok((answer.outgoing, encode(&answer.draft, "a memory")?))
    }

    fn answer_from_memory(
        &self,
        query: &[u8],
        memory: &[u8],
        seat: &ClientView<'_>,
    ) -> Result<Option<(Outgoing, Vec<u8>)>, RunError> {
        if memory.is_empty() {
            return Ok(None);
        }
        let query: Released<A::Query> = decode(query, "a query")?;
        let memory = decode(memory, "a memory")?;
        Algorithm::check(self, query.get(), &memory, seat)?;
        let answer = Algorithm::answer_from_memory(self, &query, &memory, seat.terms)?;
        answer.map(|answer| Ok((answer.outgoing, encode(&answer.draft, "a memory")?))).transpose()
    }

    fn fold(&self, state: &[u8], answers: &Answers) -> Result<Folded, RunError> {
        let step = Algorithm::fold(self, decode(state, "a state")?, answers)?;
        Ok(Folded { state: encode(&step.state, "a state")?, applied: step.applied })
    }

    fn fits(&self, state: &[u8], client: usize, answer: &GridVector) -> Result<bool, RunError> {
        Ok(Algorithm::fits(self, &decode(state, "a state")?, client, answer))
    }

    fn folds_late_answers(&self) -> bool {
        Algorithm::folds_late_answers(self)
    }

    fn settle(&self, draft: &[u8], applied: &[u8]) -> Result<Vec<u8>, RunError> {
        let settled = Algorithm::settle(self, decode(draft, "a memory")?, &decode(applied, "a receipt")?)?;
        encode(&settled, "a memory")
    }

    fn posterior(&self, state: &[u8]) -> Result<Vec<f64>, RunError> {
        Ok(Algorithm::posterior(self, &decode(state, "a state")?))
    }

    fn outcome_variance(&self, state: &[u8]) -> Result<Option<f64>, RunError> {
        Ok(Algorithm::outcome_variance(self, &decode(state, "a state")?))
    }

    fn quantiles(&self, state: &[u8]) -> Result<Option<Vec<Quantiles>>, RunError> {
        Ok(Algorithm::quantiles(self, &decode(state, "a state")?))
    }

    fn warning(&self, state: &[u8]) -> Result<Option<Warning>, RunError> {
        Ok(Algorithm::warning(self, &decode(state, "a state")?))
    }

    fn last_draw(&self, state: &[u8]) -> Result<Option<(u64, Vec<f64>)>, RunError> {
        Ok(Algorithm::last_draw(self, &decode(state, "a state")?))
    }

    fn at_home(&self, client: usize, memory: &[u8]) -> Result<Option<Natural>, RunError> {
        Ok(Algorithm::at_home(self, client, &remembered(memory)?))
    }
}

/// A memory from its bytes: that of a new site from none.
fn remembered<M: DeserializeOwned + Default>(bytes: &[u8]) -> Result<M, RunError> {
    if bytes.is_empty() { Ok(M::default()) } else { decode(bytes, "a memory") }
}

/// Canonical bytes.
pub(crate) fn encode<T: Serialize>(value: &T, what: &'static str) -> Result<Vec<u8>, RunError> {
    postcard::to_allocvec(value).map_err(|_| RunError::Message { what })
}

/// From canonical bytes, all of them.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], what: &'static str) -> Result<T, RunError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        _ => Err(RunError::Message { what }),
    }
}
