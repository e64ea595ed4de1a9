//! What solvers that deal a client's rows to K parts share: keys, limits, the release, and the clipped sum of K changes.
//!
//! [`Average`](super::Average) and [`Virtual`](super::Virtual) differ in the local problem of a part and in how the sum is
//! read. Everything that privacy depends on stands here, once: the grain ([`Grain::Part`]), the deal of rows to parts, and
//! the clipping of every part's change by itself. One replaced row moves one part, so one term of the sum, by at most 2C.

use super::{PARTS_KEY, Problem, Solved, Task, optimum, perturb};
use crate::describe::{ANY_UNIT, Conflict, Key, Limits, PrivacyNeed, Reading, ValueKind};
use crate::release::{Clipped, Release, Releases};
use crate::settings::{Local, WHOLE_KEY};
use crate::{ClientView, Family};
use privacy::{Bounded, Gate, Grain, PrivacyError};
use serde::Serialize;

/// `local` and `parts`.
pub(super) const KEYS: &[Key] = &[
    WHOLE_KEY,
    Key::new("parts", ValueKind::Count { least: 1, most: u32::MAX as u64 }, "100")
        .about("K: parts that a client's rows are dealt to"),
];

/// Before the settings are known: clipped changes have no meaning without noise.
pub(super) const LIMITS: Limits = Limits { privacy: PrivacyNeed::Required, units: ANY_UNIT, ..Limits::NONE };

/// K and the optimisation of a part, from [`KEYS`].
pub(super) fn read(reading: &Reading<'_>) -> Result<(u32, Local), Conflict> {
    Ok((reading.keys.small_count("parts")?, Local::read_whole(&reading.keys)?))
}

/// One sum of K changes, each as long as the natural parameters of the family.
pub(super) fn releases(parts: u32, family: Family) -> Releases {
    let grain = Grain::Part { count: u64::from(parts) };
    Release::of_all_rows(grain, family.len(), Clipped::Change).into()
}

/// [`LIMITS`], with the families that the optimiser of a part can move.
pub(super) fn limits(local: &Local) -> Limits {
    Limits { covariances: perturb::covariances(local), ..LIMITS }
}

/// How a solver treats the K parts of a client's rows: what it takes to solve them one by one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PartSolver {
    /// K.
    pub parts: u32,
    /// How often the likelihood of a part counts: K where it stands for all rows, else 1.
    pub weight: f64,
    /// The optimisation of a part.
    pub local: Local,
}

impl PartSolver {
    /// What a part has of its client's share of the total: all where it stands for all rows, else 1/K.
    pub(crate) fn share(&self) -> f64 {
        self.weight / f64::from(self.parts)
    }

    /// The change of every part: the [`optimum`] of `task` on its rows, less where the search began. Private: for a clipped
    /// sum, and nothing else.
    pub(crate) fn changes(
        &self,
        problem: &Problem,
        task: &Task,
        seat: &ClientView<'_>,
    ) -> Result<Vec<Vec<f64>>, PrivacyError> {
        let (rows, parts) = (seat.shard.rows(), seat.parts(self.parts, PARTS_KEY)?);
        Ok(parts.iter().map(|part| optimum(problem, task, rows, part, self.weight, &self.local)).collect())
    }
}

/// Σ_k clip(change of part k), which has yet to pass the gate.
///
/// The change of a part is the [`optimum`] of `task` on the part's rows.
pub(super) fn sum(
    solver: &PartSolver,
    problem: &Problem,
    task: &Task,
    seat: &ClientView<'_>,
    gate: &dyn Gate,
) -> Result<Solved, PrivacyError> {
    let changes = solver.changes(problem, task, seat)?;
    Ok(Solved::Sum(Bounded::parts(*gate.shape(), changes.iter().map(Vec::as_slice))?))
}
