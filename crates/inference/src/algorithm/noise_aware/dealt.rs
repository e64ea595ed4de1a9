//! Noise-aware PVI by parts: what every part of a client's rows says of its factor, sheared, scaled and clipped.

use super::LevelQuestion;
use crate::ClientView;
use crate::solve::{PartSolver, Problem, Task};
use privacy::{Bounded, PrivacyError, Shape};

/// Σ_k clip_C(s∘(t₁ − μ∘Λ), a·Λ) over the parts of a client's rows, where (t₁, Λ) are Λμ and the precision of the factor that
/// part k finds: its optimum divided by its cavity, λ*_k − cavity.
///
/// The cavity leaves out the part's share of the public total, (q/p)^w, with w the client's share of the rows, and 1/K of it where
/// a part is a client of its own. So question, cavity and scales are public, and a part's vector is a function of them and of
/// its own rows: one replaced row moves one clipped vector (`docs/maths/noise-aware.md`).
///
/// With one natural step of size 1 the factor of a part is Σᵢ (rᵢ + vᵢ∘μ, vᵢ) over its rows, so that its vector is
/// Σᵢ (s∘rᵢ, a·vᵢ), what rule B clips row by row.
///
/// - μ: mean of q, which the question has. s: the whitening. a: `weight` of the precisions.
pub(super) fn sum_of_parts(
    solver: &PartSolver,
    problem: &Problem,
    question: &LevelQuestion,
    weight: f64,
    seat: &ClientView<'_>,
    shape: Shape,
) -> Result<Bounded, PrivacyError> {
    let d = question.mean.len();
    let precisions = question.deviation.iter().map(|s| 1.0 / (s * s));
    let q: Vec<f64> = (question.mean.iter().zip(precisions.clone()).map(|(m, l)| m * l))
        .chain(precisions.map(|l| -0.5 * l))
        .collect();
    let share = seat.terms.weight * solver.share();
    let cavity: Vec<f64> = q.iter().zip(&problem.prior.0).map(|(q, p)| q - share * (q - p)).collect();
    let task = Task { cavity, start: q };
    let mut levels = solver.changes(problem, &task, seat)?;
    for level in &mut levels {
        level.iter_mut().zip(task.start.iter().zip(&task.cavity)).for_each(|(l, (q, c))| *l += q - c);
        for j in 0..d {
            let precision = -2.0 * level[d + j];
            level[j] = question.scales.of(j) * (level[j] - question.mean[j] * precision);
            level[d + j] = weight * precision;
        }
    }
    Bounded::parts(shape, levels.iter().map(Vec::as_slice))
}
