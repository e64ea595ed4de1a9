//! One private likelihood, reused: the first update releases sufficient statistics, all later ones follow from them.

use super::statistics::{Reading, release, to_change};
use super::{Kept, LocalSolve, Problem, Solved, Task, check_solver_terms};
use crate::Seat;
use privacy::{Gate, Grain, PrivacyError, Released};

/// Section 5.1 of Sharma's thesis: a private estimate of a client's likelihood is made once and used with exact updates.
///
/// For a full covariance only. A mean-field update at another mean needs Σxxᵀ as a whole, which makes the full
/// posterior, at the same cost (`docs/maths/analytic-updates.md`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Likelihood;

impl LocalSolve for Likelihood {
    fn check(&self, seat: &Seat<'_>) -> Result<(), PrivacyError> {
        check_solver_terms(seat, Grain::Example, 1)
    }

    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        _: &Released<Kept>,
        seat: &Seat<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        let reading = Reading::of(problem)?;
        let mut change = release(problem, task, seat, gate)?;
        let kept = change.clone().map(&(), |sum, ()| Kept::Statistics(sum));
        change.update(task, &reading, to_change);
        Ok(Solved::Released { change, kept })
    }

    fn solve_from_memory(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
    ) -> Option<Released<Vec<f64>>> {
        let numbers = problem.family.len();
        let whole = matches!(kept.get(), Kept::Statistics(sum) if sum.len() == numbers);
        let reading = Reading::of(problem).ok().filter(|_| whole)?;
        let mut change = kept.clone().map(&(), statistics);
        change.update(task, &reading, to_change);
        Some(change)
    }
}

fn statistics(kept: Kept, (): &()) -> Vec<f64> {
    match kept {
        Kept::Statistics(sum) => sum,
        Kept::Nothing | Kept::Moments(_) => Vec::new(),
    }
}
