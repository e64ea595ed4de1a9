//! Hybrid: analytic updates open, DP optimisation goes on from where they led.

use super::{Analytic, Descend, Kept, LocalSolve, Problem, Solved, Task};
use crate::{Seat, Stage};
use privacy::{Gate, PrivacyError, Released};

/// Section 4.2.3 of Sharma's thesis. Which of the two is next follows from how much was charged: the ledger's plan
/// has both, in this order, and the terms of an answer say where in it the answer is.
#[derive(Debug, Clone)]
pub struct Hybrid {
    /// What comes after the opening.
    pub descend: Descend,
}

impl LocalSolve for Hybrid {
    fn check(&self, seat: &Seat<'_>) -> Result<(), PrivacyError> {
        match seat.terms.stage {
            Stage::Opening => Analytic.check(seat),
            Stage::Main => self.descend.check(seat),
        }
    }

    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
        seat: &Seat<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        match seat.terms.stage {
            Stage::Opening => Analytic.solve(problem, task, kept, seat, gate),
            Stage::Main => self.descend.solve(problem, task, kept, seat, gate),
        }
    }
}
