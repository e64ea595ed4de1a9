//! Local solvers: how a site moves its factor, and where the gate stands.

mod analytic;
mod average;
mod clear;
mod descend;
mod hybrid;
mod likelihood;
mod perturb;
mod products;
mod statistics;
mod virtual_clients;

pub use analytic::Analytic;
pub use average::Average;
pub use descend::Descend;
pub use hybrid::Hybrid;
pub use likelihood::Likelihood;
pub use perturb::Perturb;
pub use products::Asked;
pub use virtual_clients::Virtual;

pub(crate) use clear::optimum;

use crate::optimiser::Moments;
use crate::{Family, Model, Seat};
use privacy::{Adjacency, Bounded, Gate, Grain, PrivacyError, Released, StudyConstant};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What is learnt: the likelihood, the family, and the prior's natural parameters.
#[derive(Debug, Clone)]
pub struct Problem {
    /// p(y | x, θ).
    pub model: Arc<dyn Model>,
    /// What q may be.
    pub family: Family,
    /// η of p(θ).
    pub prior: Prior,
}

impl Problem {
    /// Natural parameters that learning starts from: the model's own choice, or the prior.
    pub fn start(&self) -> Prior {
        let natural = self.model.initial(self.family.dimension()).map(|q| self.family.natural(&q));
        natural.map_or_else(|| self.prior.clone(), Prior)
    }
}

/// Natural parameters of p(θ), a constant of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior(pub Vec<f64>);

impl StudyConstant for Prior {}

/// The local problem: find q near `start` that maximises E_q[log p(rows | θ)] − KL(q ‖ cavity). Natural parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What q is without this client's factor. May be improper.
    pub cavity: Vec<f64>,
    /// Where the search begins: the served q.
    pub start: Vec<f64>,
}

/// What a solver keeps from one update of a client to its next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Kept {
    /// Nothing.
    #[default]
    Nothing,
    /// The optimiser's moments.
    Moments(Moments),
    /// Sufficient statistics of the rows, as released.
    Statistics(Vec<f64>),
}

/// What a solver found.
#[derive(Debug)]
pub enum Solved {
    /// A change computed from released values only.
    Released {
        /// η at the end minus η at the start.
        change: Released<Vec<f64>>,
        /// What the solver keeps for the client's next update.
        kept: Released<Kept>,
    },
    /// A clipped sum of changes, which has yet to pass the gate.
    Sum(Bounded),
}

/// How the local problem is solved.
pub trait LocalSolve: fmt::Debug + Send + Sync {
    /// Solves the task on the seat's rows. Private numbers leave through the gate only: inside the solver, or after it.
    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
        seat: &Seat<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError>;

    /// The change that follows from what was kept alone; none where the rows are needed.
    ///
    /// It is given no rows and no gate, so that it is a function of released values by its signature, and costs nothing.
    fn solve_from_memory(&self, _: &Problem, _: &Released<Task>, _: &Released<Kept>) -> Option<Released<Vec<f64>>> {
        None
    }

    /// Refuses terms on which [`LocalSolve::solve`] would fail, by public numbers alone: before anything is charged.
    fn check(&self, seat: &Seat<'_>) -> Result<(), PrivacyError>;

    /// How many numbers a released sum has: those of a change, unless the solver releases something else.
    fn numbers(&self, family: Family) -> usize {
        family.len()
    }

    /// What one change is of the sum: 1, or 1/K where the sum of K changes stands for their mean.
    fn weight(&self) -> f64 {
        1.0
    }
}

/// Refuses sums of another grain than a solver makes, and a charge of fewer releases.
pub(crate) fn check_solver_terms(seat: &Seat<'_>, grain: Grain, releases: u64) -> Result<(), PrivacyError> {
    let (found, covered) = (seat.terms.shape.grain(), seat.terms.event.steps().get());
    if found == grain && covered >= releases {
        return Ok(());
    }
    Err(PrivacyError::Shape {
        found: format!("{} in {covered} agreed releases", in_words(found)),
        expected: format!("{} in {releases}", in_words(grain)),
    })
}

fn in_words(grain: Grain) -> String {
    match grain {
        Grain::Example => "clipped examples".into(),
        Grain::Whole => "one whole change".into(),
        Grain::Part { count } => format!("changes of {count} parts"),
    }
}

/// The same for sums over parts, which under add-remove need the records' ids.
fn check_part_terms(seat: &Seat<'_>, parts: u32) -> Result<(), PrivacyError> {
    check_solver_terms(seat, Grain::Part { count: u64::from(parts) }, 1)?;
    match seat.terms.event.adjacency() {
        Adjacency::Substitute => Ok(()),
        Adjacency::AddRemove => seat.shard.keys().records().map(|_| ()),
    }
}
