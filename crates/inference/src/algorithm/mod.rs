//! The skeleton that all methods share: what is asked, what a site answers, how answers are folded,
//! what is remembered.
//!
//! An [`Algorithm`] is four functions. The server calls `ask` and `fold`, a site calls `answer`, and
//! after the server's receipt `settle`:
//!
//! ```text
//! server   state ── ask ──► query ─────────────────────────┐
//!                                                           ▼
//! site     memory, rows, gate ── answer ──► outgoing, draft
//!                                              │
//! server   state, answers ── fold ──► state, applied ───────┐
//!                                                           ▼
//! site     draft, applied ── settle ──► memory
//! ```
//!
//! All states, queries and memories have canonical bytes. [`Protocol`] is the same four functions over
//! bytes; it is what the in-process [`Drive`](crate::Drive), a network coordinator and the fault
//! simulator all drive, so that a method runs the same code in each.
//!
//! | algorithm | study | what is asked | source |
//! |---|---|---|---|
//! | [`Pvi`] | `pvi` | natural parameters of q | Ashman et al. 2022, Heikkilä et al. 2022 |
//! | [`NoiseAware`] | `noise-aware` | q and public scales | `docs/maths/noise-aware.md` |
//! | [`Statistics`] | `statistics` | sums over rows | Heikkilä et al. 2017, Bernstein and Sheldon 2019 |
//! | [`Conjugate`] | `conjugate` | one sum over rows | Heikkilä 2023, Bernstein and Sheldon 2018 |
//! | [`chain::Chain`] | `chain` | a proposal, or a point for a slope | Heikkilä et al. 2019 and others |
//! | [`Committee`] | `committee` | nothing | Tresp 2000 |
//! | [`GlobalVi`] | `global-vi` | mean and deviations of q | Jälkö et al. 2017 |
//! | [`GlobalViAtClients`] | `global-vi-at-clients` | the same | Sharma et al. 2019 |
//!
//! A new algorithm is one file: the type that implements [`Algorithm`], its settings with
//! [`AlgorithmSettings`](crate::method::AlgorithmSettings), and a descriptor.
//!
//! # State between rounds
//!
//! What a site remembers must be public, or belong to exactly what is clipped; otherwise one row moves
//! later answers beyond their bound (`docs/maths/state-between-rounds.md`). Memories of this crate are
//! [`Released`] values or empty.

pub mod chain;
pub(crate) mod committee;
pub(crate) mod conjugate;
mod erased;
pub(crate) mod global_vi;
pub(crate) mod global_vi_at_clients;
mod home;
pub mod levels;
pub(crate) mod noise_aware;
mod own;
pub(crate) mod pvi;
mod reading;
mod readout;
mod sheared;
mod source;
pub mod statistics;
mod wander;

pub use committee::{Committee, CommitteePrior, CommitteeSettings};
pub use conjugate::{Conjugate, ConjugateSettings, ConjugateState};
pub use erased::{Folded, Protocol};
pub(crate) use erased::{decode, encode};
pub use global_vi::{GlobalVi, GlobalViSettings};
pub use global_vi_at_clients::{GlobalViAtClients, GlobalViAtClientsSettings};
pub use home::{Natural, SiteProblem};
pub use noise_aware::{
    Curvature, LevelQuestion, NoiseAware, NoiseAwareConstants, NoiseAwareSettings, NoiseAwareState, RoundBudget,
    SumKind,
};
pub use own::InterceptState;
pub use pvi::{Cavity, Pvi, PviSettings, PviState, Remembered};
pub use reading::ServedRegression;
pub use readout::Whitening;
pub use source::{ReleaseSource, SourceTerms};
pub use statistics::{Statistics, StatisticsReading, StatisticsSettings, StatisticsState};
pub use wander::StepNoise;

use crate::Quantiles;
use crate::solve::{Kept, Solved};
use crate::warning::Warning;
use crate::{ClientView, RunError, Stage, Terms, Total};
use privacy::{Gate, GridVector, Outgoing, PrivacyError, Released, StudyConstant};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One method. Five things vary independently: this, the local solver, the gate, the schedule, and who
/// adds up.
///
/// States, queries and memories have canonical bytes, so that a driver in one process and a network
/// are two drivers of the same functions (see [`Protocol`]).
///
/// The contract, which the laws in `inference::testing` try on every method:
///
/// - `check` refuses by public numbers alone, before anything is charged.
/// - `answer` passes the gate as often as the method's releases state, and sends nothing else.
/// - `fold` is a function of state and answers. It returns what was applied of each answer, exactly.
/// - `settle` is called once for an answer that arrived, and never for one that was lost.
/// - `posterior` is proper whatever noise came in.
pub trait Algorithm: Send + Sync {
    /// What the server knows: a function of released values only.
    type State: Serialize + DeserializeOwned;
    /// What is asked: public.
    type Query: Serialize + DeserializeOwned;
    /// What a site keeps between its answers. It stays at the site.
    type Memory: Serialize + DeserializeOwned + Default;

    /// The state before anything was asked.
    fn start(&self) -> Self::State;

    /// What is asked now.
    fn ask(&self, state: &Self::State) -> Self::Query;

    /// Refuses a question that this algorithm never asks, a memory that it never makes, and terms that are not its own,
    /// by public numbers alone.
    ///
    /// A site asks this before it charges its ledger and before it looks at a row: a refused question costs nothing and
    /// learns nothing.
    fn check(&self, query: &Self::Query, memory: &Self::Memory, seat: &ClientView<'_>) -> Result<(), PrivacyError>;

    /// On which of a client's terms a question is answered, where that follows from the question; otherwise from the number
    /// of its answers.
    fn stage(&self, _query: &Self::Query) -> Option<Stage> {
        None
    }

    /// A site's answer, through its gate, and what it will remember if the server keeps the answer.
    fn answer(
        &self,
        query: &Released<Self::Query>,
        memory: &Self::Memory,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<Self::Memory>, PrivacyError>;

    /// The answer that follows from what the site remembers alone; none where its rows are needed.
    ///
    /// Such an answer is free. It is given neither rows nor a gate, and without a gate the only way to an [`Outgoing`] is
    /// from a [`Released`] value: a free answer is post-processing by its types.
    fn answer_from_memory(
        &self,
        _query: &Released<Self::Query>,
        _memory: &Self::Memory,
        _terms: &Terms,
    ) -> Result<Option<Answer<Self::Memory>>, PrivacyError> {
        Ok(None)
    }

    /// Takes in the answers to one query, and says what was applied of each.
    fn fold(&self, state: Self::State, answers: &Answers) -> Result<Step<Self::State>, RunError>;

    /// Whether a client's answer has the shape that [`Algorithm::fold`] takes in this state: its length, its grid, and a client
    /// that the study knows. Says nothing about other answers of the round, and computes no state.
    fn fits(&self, state: &Self::State, client: usize, answer: &GridVector) -> bool;

    /// Whether an answer to an earlier question may still be folded. True only where answers are changes that add to the
    /// state, whatever state they were computed from.
    fn folds_late_answers(&self) -> bool {
        false
    }

    /// What the site remembers after the server's receipt. Refuses one that would make a memory which
    /// [`Algorithm::check`] refuses.
    fn settle(&self, draft: Self::Memory, applied: &Released<Total>) -> Result<Self::Memory, PrivacyError>;

    /// The natural parameters that are served: always proper.
    fn posterior(&self, state: &Self::State) -> Vec<f64>;

    /// The variance of the outcome around its mean, where the method learns it too.
    fn outcome_variance(&self, _state: &Self::State) -> Option<f64> {
        None
    }

    /// Quantiles of every parameter, where the served posterior is known to many digits and is no Gaussian; what
    /// [`Algorithm::posterior`] has are its moments then.
    fn quantiles(&self, _state: &Self::State) -> Option<Vec<Quantiles>> {
        None
    }

    /// What is to be warned of in what is served, from released values alone.
    fn warning(&self, _state: &Self::State) -> Option<Warning> {
        None
    }

    /// How many draws there are so far, and the last of them, where the method draws from the posterior.
    fn last_draw(&self, _state: &Self::State) -> Option<(u64, Vec<f64>)> {
        None
    }

    /// What a client has learnt for itself: natural parameters of its own intercept. They stay with it.
    fn at_home(&self, _client: usize, _memory: &Self::Memory) -> Option<Natural> {
        None
    }
}

/// What a site answers and what it drafts to remember.
#[derive(Debug)]
pub struct Answer<M> {
    /// Goes out.
    pub outgoing: Outgoing,
    /// Stays. A memory in which nothing of what was sent is applied yet, only what concerns the site alone: what remains if it
    /// never arrives.
    pub draft: M,
}

/// Answers to one query: each by itself, or only their sum. Which of the two depends on who adds up,
/// not on the algorithm.
#[derive(Debug, Clone, PartialEq)]
pub enum Answers {
    /// Released at their gates, with the number of the client; each is folded by itself.
    Each(Vec<(usize, GridVector)>),
    /// Only their sum was opened.
    Sum {
        /// The sum, noised.
        total: GridVector,
        /// The clients whose answers are in it.
        from: Vec<usize>,
    },
}

impl Answers {
    /// What was applied of each answer, where sites need not know: a receipt that it was kept, and nothing else. A sum has no
    /// receipts.
    pub fn noted(&self) -> Vec<Total> {
        match self {
            Self::Each(each) => each.iter().map(|(_, answer)| Total::zeros(0, answer.grid())).collect(),
            Self::Sum { .. } => Vec::new(),
        }
    }
}

/// A new state, and what of each answer is in it.
#[derive(Debug)]
pub struct Step<S> {
    /// The state.
    pub state: S,
    /// What was applied, in the order of the answers. Where each answer is folded by itself there is one for each: a site
    /// without a receipt sends its answer again.
    pub applied: Vec<Total>,
}

/// The refusal of a question that is not one of this algorithm's.
fn unlike(expected: &str) -> PrivacyError {
    PrivacyError::Shape {
        found: "a question whose numbers are not finite, not proper, or not as many".into(),
        expected: expected.into(),
    }
}

/// What one change is of a sum, a constant of the study.
struct Weight(f64);

impl StudyConstant for Weight {}

/// A released change, and what the solver keeps.
type ChangeAndKept = (Released<Vec<f64>>, Released<Kept>);

/// A solver's change as a released one: as it is where it passed the gate inside the solver, else
/// after the gate, times the solver's weight.
fn released(solved: Solved, weight: f64, gate: &mut dyn Gate) -> Result<ChangeAndKept, PrivacyError> {
    match solved {
        Solved::Released { change, kept } => Ok((change, kept)),
        Solved::Sum(sum) => {
            let mut change = Released::zeros(0);
            gate.release(&sum, &mut change)?;
            let none = Released::zeros(0).map(&(), |_, ()| Kept::Nothing);
            Ok((change.map(&Weight(weight), |sum, weight| sum.iter().map(|s| s * weight.0).collect()), none))
        }
    }
}

/// The refusal of an answer that does not fit the total it belongs to.
pub(crate) fn misfit() -> RunError {
    RunError::Message { what: "an answer of another dimension or a finer grid than was agreed" }
}
