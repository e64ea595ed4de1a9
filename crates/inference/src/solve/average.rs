//! Local averaging: every part of the rows solves the whole local problem, and the mean of their changes is released.

use super::{Kept, LocalSolve, PartSolver, Problem, Solved, Task, parts};
use crate::describe::{Conflict, Descriptor, Limits};
use crate::release::Releases;
use crate::settings::Local;
use crate::{ClientView, Family};
use privacy::{Gate, PrivacyError, Released};
use serde::Serialize;
use std::sync::Arc;

/// Algorithm 2 of Heikkilä et al. 2022, private by Theorem 4: the sum Σ_k clip(λ*_k − λ) passes the gate once, and one
/// replaced row moves one term of it. Dividing by K is left to the server, which knows K.
///
/// A part's likelihood counts K times, so that each part stands for all rows of the client and λ*_k is an estimate of the
/// client's own optimum. The noise of the mean is 1/K of the noise of the sum.
///
/// - K: number of parts, [`Average::parts`].
/// - λ: natural parameters of the served q, where the search starts.
/// - λ*_k: where the search on part k ends.
#[derive(Debug, Clone, Serialize)]
pub struct Average {
    /// K: how many parts a client's rows are dealt to.
    pub parts: u32,
    /// The optimisation of a part.
    pub local: Local,
}

/// `solver = "average"`
pub(crate) const DESCRIPTOR: Descriptor<dyn LocalSolve> = Descriptor {
    name: "average",
    also: &["local-averaging", "lfa"],
    about: "Releases the sum of the clipped changes of K parts of a client's rows, read as their mean.",
    keys: parts::KEYS,
    limits: parts::LIMITS,
    read: |reading| parts::read(reading).map(|(parts, local)| Arc::new(Average { parts, local }) as _),
};

impl Average {
    /// A part stands for all rows.
    fn part_problem(&self) -> PartSolver {
        PartSolver { parts: self.parts, weight: f64::from(self.parts), local: self.local }
    }
}

impl LocalSolve for Average {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("average of {} parts", self.parts)
    }

    fn describe_local(&self) -> String {
        self.local.words()
    }

    fn releases(&self, family: Family) -> Releases {
        parts::releases(self.parts, family)
    }

    fn limits(&self) -> Limits {
        parts::limits(&self.local)
    }

    fn check(&self, _: u64) -> Result<(), Conflict> {
        self.local.check_full_gradients()
    }

    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        _: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        parts::sum(&self.part_problem(), problem, task.get(), seat, gate)
    }

    fn weight(&self) -> f64 {
        1.0 / f64::from(self.parts)
    }

    fn of_parts(&self) -> Option<PartSolver> {
        Some(self.part_problem())
    }
}
