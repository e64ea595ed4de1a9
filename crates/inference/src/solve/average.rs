//! Local averaging: the mean of the changes of K parts, each solved with the likelihood raised to the power K.

use super::{Kept, LocalSolve, PARTS_KEY, Problem, Solved, Task, optimum, perturb};
use crate::describe::{Conflict, Descriptor, Key, Limits, Otherwise, PrivacyNeed, ValueKind};
use crate::release::{Clipped, Release, Releases};
use crate::settings::{Local, WHOLE_KEY};
use crate::{ClientView, Family};
use privacy::{Bounded, Gate, Grain, PrivacyError, Released};
use serde::Serialize;
use std::sync::Arc;

/// Algorithm 2 of Heikkilä et al. 2022, private by Theorem 4: the sum Σ_k clip(λ*_k − λ) passes the gate once, and one
/// replaced row moves one term of it. Dividing by K is left to the server, which knows K.
#[derive(Debug, Clone, Serialize)]
pub struct Average {
    /// K: how many parts a client's rows are dealt to.
    pub parts: u32,
    /// The optimisation of a part.
    pub local: Local,
}

/// `parts`
pub(super) const PARTS: Key = Key {
    name: "parts",
    about: "K: parts that a client's rows are dealt to",
    kind: ValueKind::Count { least: 1, most: u32::MAX as u64 },
    otherwise: Otherwise::Required,
    example: "100",
};

/// `solver = "average"`
pub(crate) const DESCRIPTOR: Descriptor<dyn LocalSolve> = Descriptor {
    name: "average",
    also: &["local-averaging", "lfa"],
    about: "Releases the sum of the clipped changes of K parts of a client's rows, read as their mean.",
    keys: &[WHOLE_KEY, PARTS],
    limits: Limits { privacy: PrivacyNeed::Required, ..Limits::NONE },
    read: |reading| {
        let parts = reading.keys.small_count("parts")?;
        Ok(Arc::new(Average { parts, local: Local::read_whole(&reading.keys)? }))
    },
};

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
        let grain = Grain::Part { count: u64::from(self.parts) };
        Release::of_all_rows(grain, family.len(), Clipped::Change).into()
    }

    fn limits(&self) -> Limits {
        Limits { covariances: perturb::covariances(&self.local), ..DESCRIPTOR.limits }
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
        let (rows, weight) = (seat.shard.rows(), f64::from(self.parts));
        let changes: Vec<Vec<f64>> = seat
            .parts(self.parts, PARTS_KEY)?
            .iter()
            .map(|part| optimum(problem, task.get(), rows, part, weight, &self.local))
            .collect();
        Ok(Solved::Sum(Bounded::parts(*gate.shape(), changes.iter().map(Vec::as_slice))?))
    }

    fn weight(&self) -> f64 {
        1.0 / f64::from(self.parts)
    }
}
