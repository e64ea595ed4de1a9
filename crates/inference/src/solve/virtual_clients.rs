//! Virtual clients: every part of a site's rows is a client of its own, and only the sum of their changes leaves.

use super::{Kept, LocalSolve, Problem, Solved, Task, check_part_terms, optimum};
use crate::Seat;
use crate::settings::Local;
use privacy::{Bounded, Gate, PrivacyError, Released};

/// Algorithm 3 of Heikkilä et al. 2022, private by Theorem 9, with one difference: a part's factor is an even share of
/// the site's public factor, t_m^(1/K).
///
/// The paper keeps a factor for each part. With noise these would carry it from round to round, every part's next
/// answer would depend on the replaced row, and Corollary 10 would not hold (`docs/maths/state-between-rounds.md`).
#[derive(Debug, Clone)]
pub struct Virtual {
    /// K.
    pub parts: u32,
    /// Assigns rows to parts.
    pub key: u64,
    /// The optimisation of a part.
    pub local: Local,
}

impl LocalSolve for Virtual {
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
        let part_task = share_of(task.get(), f64::from(self.parts));
        let rows = seat.shard.rows();
        let changes: Vec<Vec<f64>> = seat
            .parts(self.parts, self.key)?
            .iter()
            .map(|part| optimum(problem, &part_task, rows, part, 1.0, &self.local))
            .collect();
        Ok(Solved::Sum(Bounded::parts(*gate.shape(), changes.iter().map(Vec::as_slice))?))
    }
}

/// The task of one of K parts: the site's factor, start − cavity, is split evenly over them.
fn share_of(task: &Task, parts: f64) -> Task {
    let cavity = task.start.iter().zip(&task.cavity).map(|(q, c)| q - (q - c) / parts).collect();
    Task { cavity, start: task.start.clone() }
}
