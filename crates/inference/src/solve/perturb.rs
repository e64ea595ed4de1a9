//! Parameter perturbation: solve in the clear and clip the change, which passes the gate once.

use super::{Kept, LocalSolve, Problem, Solved, Task, check_solver_terms, optimum};
use crate::Seat;
use crate::settings::Local;
use privacy::{Bounded, Gate, Grain, PrivacyError, Released};

/// Section 3.2 of Heikkilä et al. 2022; with a unit of one client, Algorithm 3 of Sharma's thesis without its clipping of
/// shares. With an open gate it is PVI itself (Algorithm 1).
#[derive(Debug, Clone)]
pub struct Perturb {
    /// The optimisation in the clear.
    pub local: Local,
}

impl LocalSolve for Perturb {
    fn check(&self, seat: &Seat<'_>) -> Result<(), PrivacyError> {
        check_solver_terms(seat, Grain::Whole, 1)
    }

    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        _: &Released<Kept>,
        seat: &Seat<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        let rows: Vec<usize> = (0..seat.shard.len()).collect();
        let change = optimum(problem, task.get(), seat.shard.rows(), &rows, 1.0, &self.local);
        Ok(Solved::Sum(Bounded::whole(*gate.shape(), &change)?))
    }
}
