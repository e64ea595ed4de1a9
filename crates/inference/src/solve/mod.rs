//! Local solvers: how a site moves its factor, and where the gate stands.

mod analytic;
mod average;
mod clear;
mod descend;
mod hybrid;
mod likelihood;
mod perturb;
mod statistics;
mod virtual_clients;

pub use analytic::Analytic;
pub use average::Average;
pub use descend::Descend;
pub use hybrid::Hybrid;
pub use likelihood::Likelihood;
pub use perturb::Perturb;
pub use virtual_clients::Virtual;

pub(crate) use clear::optimum;

use crate::optimiser::Moments;
use crate::{Family, Model, Seat};
use privacy::{Bounded, Gate, PrivacyError, Released, StudyConstant};
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

    /// What one change is of the sum: 1, or 1/K where the sum of K changes stands for their mean.
    fn weight(&self) -> f64 {
        1.0
    }
}
