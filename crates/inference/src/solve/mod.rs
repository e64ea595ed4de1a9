//! Local solvers: how a site moves its factor, and where the gate stands.

pub(crate) mod analytic;
pub(crate) mod average;
pub(crate) mod clear;
pub(crate) mod descend;
pub(crate) mod hybrid;
pub(crate) mod likelihood;
mod optimum;
mod parts;
pub(crate) mod perturb;
mod products;
mod statistics;
pub(crate) mod virtual_clients;

pub use analytic::Analytic;
pub use average::Average;
pub use clear::Clear;
pub use descend::Descend;
pub use hybrid::Hybrid;
pub use likelihood::Likelihood;
pub use optimum::PrivateChange;
pub use perturb::Perturb;
pub use products::RowSums;
pub use virtual_clients::Virtual;

use crate::algorithm::StepNoise;
use crate::describe::{Canonical, Conflict, Descriptor, Limits};
use crate::optimiser::OptimiserState;
use crate::release::Releases;
use crate::{ClientView, Family, Model, Terms};
use optimum::optimum;
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

/// What a solver keeps from one update of a client to its next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Kept {
    /// Nothing.
    #[default]
    Nothing,
    /// The optimiser's moments.
    Moments(OptimiserState),
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

/// How the local problem is solved. Implemented by a solver's settings, in its own file.
pub trait LocalSolve: fmt::Debug + Canonical + Send + Sync {
    /// How it is found and read.
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve>;

    /// What it is, in a few words.
    fn describe(&self) -> String {
        self.descriptor().name.to_owned()
    }

    /// What a client does in an update, in words.
    fn describe_local(&self) -> String;

    /// What it releases for a q of this family.
    fn releases(&self, family: Family) -> Releases;

    /// What it can be combined with, by these settings.
    fn limits(&self) -> Limits {
        self.descriptor().limits
    }

    /// Refuses settings that have no meaning; `most_rounds` is how often a client is asked.
    fn check(&self, _most_rounds: u64) -> Result<(), Conflict> {
        Ok(())
    }

    /// Solves the task on the seat's rows. Private numbers leave through the gate only: inside the solver, or after it.
    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
        seat: &ClientView<'_>,
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

    /// The noise that an update on these terms leaves in the means, where the solver knows it.
    fn noise_of_means(&self, _: &Terms) -> Option<StepNoise> {
        None
    }

    /// Whether [`LocalSolve::noise_of_means`] has an answer.
    fn tracks_noise(&self) -> bool {
        false
    }

    /// Whether a client takes steps of its own, whose noise moves q about from round to round.
    fn takes_noisy_steps(&self) -> bool {
        false
    }
}

/// Assigns rows to parts, the same in every run: a constant of the program.
const PARTS_KEY: u64 = 0x706f_7374_6572;
