//! Local solvers: how a site moves its factor, and where the gate stands.

mod average;
mod clear;
mod descend;
mod perturb;
mod virtual_clients;

pub use average::Average;
pub use descend::Descend;
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

/// What a solver found.
#[derive(Debug)]
pub enum Solved {
    /// A change computed from released values only, and the optimiser's moments.
    Released {
        /// η at the end minus η at the start.
        change: Released<Vec<f64>>,
        /// What the optimiser may keep for the client's next update.
        moments: Released<Option<Moments>>,
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
        moments: &Released<Option<Moments>>,
        seat: &Seat<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError>;

    /// What one change is of the sum: 1, or 1/K where the sum of K changes stands for their mean.
    fn weight(&self) -> f64 {
        1.0
    }
}
