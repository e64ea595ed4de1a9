//! Without privacy: the local problem is solved as it is, and the change passes an open gate.

use super::{Descend, Kept, LocalSolve, Perturb, Problem, Solved, Task};
use crate::describe::{Conflict, Descriptor, Limits, PrivacyNeed};
use crate::release::Releases;
use crate::settings::{LOCAL_KEY, Local, Optimiser};
use crate::{ClientView, Family};
use privacy::{Gate, PrivacyError, Released};
use serde::Serialize;
use std::sync::Arc;

/// Partitioned VI itself (Algorithm 1 of Ashman et al. 2022): natural steps on all rows, or stochastic
/// gradients.
///
/// It does the work of [`Perturb`] or of [`Descend`], by the optimiser, through an open gate. The
/// method that uses it cannot promise privacy ([`PrivacyNeed::Never`]) and a record of it has no ε.
#[derive(Debug, Clone, Serialize)]
pub struct Clear {
    /// The optimisation.
    pub local: Local,
}

/// `solver = "clear"`
pub(crate) const DESCRIPTOR: Descriptor<dyn LocalSolve> = Descriptor {
    name: "clear",
    also: &["non-private", "none"],
    about: "Solves without noise; for comparison only.",
    keys: &[LOCAL_KEY],
    limits: Limits { privacy: PrivacyNeed::Never, ..Limits::NONE },
    read: |reading| Ok(Arc::new(Clear { local: Local::read(&reading.keys)? })),
};

impl Clear {
    /// The solver that does the work: one natural search, or steps on drawn rows.
    fn with<T>(&self, work: impl FnOnce(&dyn LocalSolve) -> T) -> T {
        match self.local.optimiser {
            Optimiser::Natural => work(&Perturb { local: self.local }),
            Optimiser::Sgd | Optimiser::Adagrad | Optimiser::Adam => work(&Descend { local: self.local }),
        }
    }
}

impl LocalSolve for Clear {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        &DESCRIPTOR
    }

    fn describe_local(&self) -> String {
        self.local.words()
    }

    fn releases(&self, family: Family) -> Releases {
        self.with(|solver| solver.releases(family))
    }

    /// Those of the solver that does the work, without its needs of a model, and never with privacy.
    fn limits(&self) -> Limits {
        let of_solver = self.with(|solver| solver.limits());
        Limits { privacy: PrivacyNeed::Never, needs: &[], ..of_solver }
    }

    fn check(&self, _: u64) -> Result<(), Conflict> {
        self.local.check_batch()?;
        self.local.check_full_gradients()
    }

    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        self.with(|solver| solver.solve(problem, task, kept, seat, gate))
    }
}
