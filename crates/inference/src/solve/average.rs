//! Local averaging: the mean of the changes of K parts, each solved with the likelihood raised to the power K.

use super::{Kept, LocalSolve, Problem, Solved, Task, check_part_terms, optimum};
use crate::Seat;
use crate::settings::Local;
use privacy::{Bounded, Gate, PrivacyError, Released};

/// Algorithm 2 of Heikkilä et al. 2022, private by Theorem 4: the sum Σ_k clip(λ*_k − λ) passes the gate once, and one
/// replaced row moves one term of it. Dividing by K is left to the server, which knows K.
#[derive(Debug, Clone)]
pub struct Average {
    /// K.
    pub parts: u32,
    /// Assigns rows to parts.
    pub key: u64,
    /// The optimisation of a part.
    pub local: Local,
}

impl LocalSolve for Average {
    fn check(&self, seat: &Seat<'_>) -> Result<(), PrivacyError> {
        check_part_terms(seat, self.parts)
    }

    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        _: &Released<Kept>,
        seat: &Seat<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        let (rows, weight) = (seat.shard.rows(), f64::from(self.parts));
        let changes: Vec<Vec<f64>> = seat
            .parts(self.parts, self.key)?
            .iter()
            .map(|part| optimum(problem, task.get(), rows, part, weight, &self.local))
            .collect();
        Ok(Solved::Sum(Bounded::parts(*gate.shape(), changes.iter().map(Vec::as_slice))?))
    }

    fn weight(&self) -> f64 {
        1.0 / f64::from(self.parts)
    }
}
