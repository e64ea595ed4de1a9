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

/// Σ_k clip(change of part k), which has yet to pass the gate.
///
/// The change of a part is the [`optimum`] of `task` on the part's rows, whose likelihood counts `weight` times.
pub(super) fn sum(
    parts: u32,
    local: &Local,
    problem: &Problem,
    task: &Task,
    weight: f64,
    seat: &ClientView<'_>,
    gate: &dyn Gate,
) -> Result<Solved, PrivacyError> {
    let rows = seat.shard.rows();
    let changes: Vec<Vec<f64>> =
        seat.parts(parts, PARTS_KEY)?.iter().map(|part| optimum(problem, task, rows, part, weight, local)).collect();
    Ok(Solved::Sum(Bounded::parts(*gate.shape(), changes.iter().map(Vec::as_slice))?))
}
