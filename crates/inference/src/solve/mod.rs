//! Local solvers: how a client moves its factor, and where the gate stands.
//!
//! A client of partitioned variational inference is asked with a q and finds a better one for its own
//! rows. The local problem is the same for all solvers: find q near the served one that maximises the
//! local free energy
//!
//! ```text
//! E_q[log p(rows | θ)] − KL(q ‖ cavity),    cavity ∝ q / t_m
//! ```
//!
//! They differ in how they solve it, and in what passes the gate:
//!
//! | solver | study | released | grain | source |
//! |---|---|---|---|---|
//! | [`Clear`] | `clear` | the change, unclipped and without noise | – | Algorithm 1 of Ashman et al. 2022 |
//! | [`Descend`] | `dp-optimisation` | every step's sum of clipped gradients | example | section 3.1 of Heikkilä et al. 2022 |
//! | [`Perturb`] | `perturb` | the clipped change, once | whole | section 3.2 |
//! | [`Average`] | `average` | the sum of K clipped changes, read as a mean | part | Algorithm 2, Theorem 4 |
//! | [`Virtual`] | `virtual` | the sum of K clipped changes | part | Algorithm 3, Theorem 9 |
//! | [`Analytic`] | `analytic` | each row's clipped sufficient statistics, every update | example | section 4.2.2 of Sharma's thesis |
//! | [`Hybrid`] | `hybrid` | statistics first, then gradients | example | section 4.2.3 |
//! | [`Likelihood`] | `likelihood` | statistics once, reused for free | example | section 5.1 |
//!
//! A solver is one file. It implements [`LocalSolve`] for its settings and states a
//! [`Descriptor`]; the registry has one line for it. A solver of one's own needs nothing else: the
//! example `own_method` of the facade adds one outside this crate.
//!
//! # Examples
//! Solvers are constructed from their settings, and say what they release:
//! ```
//! use inference::Family;
//! use inference::settings::Local;
//! use inference::solve::{Average, LocalSolve, Perturb, Virtual};
//! use privacy::Grain;
//!
//! let family = Family::MeanField { dimension: 10 };
//! let local = Local::whole_step();
//! let whole = Perturb { local }.releases(family);
//! assert_eq!((whole.main.grain, whole.main.sums), (Grain::Whole, 1));
//!
//! let parts = [Average { parts: 100, local }.releases(family), Virtual { parts: 100, local }.releases(family)];
//! assert!(parts.iter().all(|releases| releases.main.grain == Grain::Part { count: 100 }));
//! assert_eq!(Average { parts: 100, local }.weight(), 0.01, "the sum stands for a mean");
//! ```

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
pub use parts::PartSolver;
pub use perturb::Perturb;
pub use products::RowSums;
pub use virtual_clients::Virtual;

use crate::algorithm::StepNoise;
use crate::describe::{Canonical, Conflict, Descriptor, Limits};
use crate::optimiser::OptimiserState;
use crate::public::{Derived, PublicNumbers};
use crate::release::Releases;
use crate::settings::Promise;
use crate::{ClientView, Family, Model, PriorTerm, Terms};
use optimum::optimum;
use privacy::{Bounded, Gate, PrivacyError, Released, StudyConstant};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What is learnt: the likelihood, the family of q, and the prior's natural parameters. A constant of
/// the study, the same at every site.
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

    /// The prior by mean and precision; none where it is not proper.
    pub fn prior_term(&self) -> Option<PriorTerm> {
        PriorTerm::of_natural(self.family, &self.prior.0)
    }
}

/// Natural parameters of p(θ), a constant of the study.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior(pub Vec<f64>);

impl StudyConstant for Prior {}

/// The local problem: find q near `start` that maximises E_q[log p(rows | θ)] − KL(q ‖ cavity).
///
/// Both vectors are natural parameters of the problem's family. They follow from released values, so
/// that solvers take a [`Released`] task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What q is without this client's factor. May be improper.
    pub cavity: Vec<f64>,
    /// Where the search begins: the served q.
    pub start: Vec<f64>,
}

/// What a solver keeps from one update of a client to its next. It is a function of released values:
/// state between rounds must be public (`docs/maths/state-between-rounds.md`).
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

/// What a solver found: a change that has passed the gate inside the solver, or a clipped sum that
/// the algorithm lets pass afterwards.
///
/// The difference matters under an aggregator: a sealed sum can be added up with those of other
/// clients before it is opened, a released change cannot.
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
///
/// The methods fall into three groups. `descriptor`, `describe` and `describe_local` say what it is.
/// `releases`, `limits`, `check` and `weight` say what is released and with what it goes, before any
/// row is read. `solve` and `solve_from_memory` do the work.
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

    /// Solves the task on the client's rows. Private numbers leave through the gate only: inside the
    /// solver, or after it.
    ///
    /// The gate draws the rows of a step, clips nothing itself, and counts down what was charged. A
    /// solver that asks it for more sums than [`LocalSolve::releases`] states is refused.
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

    /// How it solves the parts of a client's rows one by one; none where it does not deal them to parts. Noise-aware PVI asks
    /// these parts for their factors.
    fn of_parts(&self) -> Option<PartSolver> {
        None
    }

    /// The noise that an update on these terms leaves in the means, where the solver knows it.
    fn noise_of_means(&self, _: &Terms) -> Option<StepNoise> {
        None
    }

    /// Whether [`LocalSolve::noise_of_means`] has an answer.
    fn tracks_noise(&self) -> bool {
        false
    }

    /// Rounds that an algorithm makes with it where a study leaves them out; none where it must state them.
    fn starting_rounds(&self) -> Option<u64> {
        None
    }

    /// What its settings and those of the algorithm that asks it should be for these public numbers, with the reason for each;
    /// keys are those of the method. A solver that has a clip among them has [`LocalSolve::starting_rounds`].
    fn derived(&self, _promise: &Promise, _public: &PublicNumbers) -> Vec<Derived> {
        Vec::new()
    }

    /// Whether a client takes steps of its own, whose noise moves q about from round to round.
    fn takes_noisy_steps(&self) -> bool {
        false
    }
}

/// Assigns rows to parts, the same in every run: a constant of the program.
const PARTS_KEY: u64 = 0x706f_7374_6572;
