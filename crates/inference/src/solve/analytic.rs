//! Analytic updates of linear regression: sufficient statistics of each row, clipped, released once an update.

use super::statistics::{Reading, release, to_change};
use super::{Kept, LocalSolve, Problem, Solved, Task, check_solver_terms};
use crate::Seat;
use privacy::{Gate, Grain, PrivacyError, Released};

/// Section 4.2.2 of Sharma's thesis, for any number of inputs (`docs/maths/analytic-updates.md`).
///
/// The client's new factor is read off a released sum of clipped vectors, one for each row: (xy, xxᵀ) where q has a full
/// covariance, (x(y − xᵀμ), x²) where q is mean-field. Unlike equation 4.21 nothing is done to a noisy precision here:
/// the server repairs the total, so that noise of many clients averages out first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Analytic;

impl LocalSolve for Analytic {
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
        change.update(task, &reading, to_change);
        Ok(Solved::Released { change, kept: Released::zeros(0).map(&(), |_, ()| Kept::Nothing) })
    }
}
