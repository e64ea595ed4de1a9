//! Parameter perturbation: solve without noise and clip the change, which passes the gate once.

use super::{Kept, LocalSolve, PartSolver, Problem, Solved, Task};
use crate::describe::{ANY_UNIT, Allowed, Conflict, Descriptor, Limits, PrivacyNeed};
use crate::release::{Clipped, Release, Releases};
use crate::settings::{Covariance, Local, Optimiser, WHOLE_KEY};
use crate::{ClientView, Family};
use privacy::{Gate, Grain, PrivacyError, Released};
use serde::Serialize;
use std::sync::Arc;

/// Section 3.2 of Heikkilä et al. 2022; with a unit of one client, Algorithm 3 of Sharma's thesis without its clipping of
/// shares. With an open gate it is PVI itself (Algorithm 1).
///
/// The change λ* − λ is computed from all rows, so that one replaced row may move it anywhere inside
/// the ball of radius C: the sensitivity is 2C for a row, and 2C for a whole client
/// (`docs/maths/sensitivity.md`).
///
/// - λ: natural parameters of the served q, where the search starts.
/// - λ*: where the search on all rows ends.
/// - C: the promise's bound of the norm of λ* − λ.
#[derive(Debug, Clone, Serialize)]
pub struct Perturb {
    /// The optimisation without noise.
    pub local: Local,
}

/// `solver = "perturb"`
pub(crate) const DESCRIPTOR: Descriptor<dyn LocalSolve> = Descriptor {
    name: "perturb",
    also: &["parameter-perturbation", "output-perturbation"],
    about: "Solves without noise, clips the whole change and noises it once; the solver for unit = \"client\".",
    keys: &[WHOLE_KEY],
    limits: Limits { privacy: PrivacyNeed::Required, units: ANY_UNIT, ..Limits::NONE },
    read: |reading| Ok(Arc::new(Perturb { local: Local::read_whole(&reading.keys)? })),
};

/// Which families a search without noise can move: correlations by natural steps only.
pub(super) fn covariances(local: &Local) -> Allowed<Covariance> {
    match local.optimiser {
        Optimiser::Natural => Limits::NONE.covariances,
        Optimiser::Sgd | Optimiser::Adagrad | Optimiser::Adam => Allowed {
            values: &[Covariance::MeanField],
            because: "a full covariance is moved by natural steps only (optimiser = \"natural\")",
        },
    }
}

impl LocalSolve for Perturb {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        &DESCRIPTOR
    }

    fn describe_local(&self) -> String {
        self.local.words()
    }

    fn releases(&self, family: Family) -> Releases {
        Release::of_all_rows(Grain::Whole, family.len(), Clipped::Change).into()
    }

    fn limits(&self) -> Limits {
        Limits { covariances: covariances(&self.local), ..DESCRIPTOR.limits }
    }

    fn check(&self, _: u64) -> Result<(), Conflict> {
        self.local.check_full_gradients()
    }

    /// All rows are one part.
    fn of_parts(&self) -> Option<PartSolver> {
        Some(PartSolver { parts: 1, weight: 1.0, local: self.local })
    }

    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        _: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        Ok(Solved::Sum(seat.optimum(problem, task.get(), &self.local).clipped(*gate.shape())?))
    }
}
