//! One private likelihood, reused: the first update releases sufficient statistics, all later ones follow from them.

use super::statistics::{FactorReading, release, to_change};
use super::{Kept, LocalSolve, Problem, Solved, Task, analytic};
use crate::describe::{Allowed, Descriptor, Limits};
use crate::release::Releases;
use crate::settings::{Covariance, Local};
use crate::{ClientView, Family};
use privacy::{Gate, PrivacyError, Released};
use serde::Serialize;
use std::sync::Arc;

/// Section 5.1 of Sharma's thesis: a private estimate of a client's likelihood is made once and used with exact updates.
///
/// For a full covariance only. A mean-field update at another mean needs Σxxᵀ as a whole, which makes the full
/// posterior, at the same cost (`docs/maths/analytic-updates.md`).
///
/// The first answer costs what an analytic update costs. Later ones are made by
/// [`LocalSolve::solve_from_memory`], which is given neither rows nor a gate, so that they are free by
/// their types. Rounds after the first let the clients agree on q, at no further cost.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Likelihood;

/// `solver = "likelihood"`
pub(crate) const DESCRIPTOR: Descriptor<dyn LocalSolve> = Descriptor {
    name: "likelihood",
    also: &[],
    about: "Linear regression: releases sufficient statistics once and reuses them for all later updates.",
    keys: &[analytic::LOCAL],
    limits: Limits {
        covariances: Allowed { values: &[Covariance::Full], because: "a reused likelihood is a full Gaussian factor" },
        ..analytic::LIMITS
    },
    read: |reading| {
        let local = reading.keys.has("local").then(|| Local::read_whole(&reading.keys)).transpose()?;
        analytic::check_whole_step(local)?;
        Ok(Arc::new(Likelihood))
    },
};

impl LocalSolve for Likelihood {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        "one likelihood, released once and reused".to_owned()
    }

    fn describe_local(&self) -> String {
        Local::whole_step().words()
    }

    fn releases(&self, family: Family) -> Releases {
        Releases { reused: true, ..analytic::release(family).into() }
    }

    /// Releases the statistics, keeps them, and reads the change off them.
    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        _: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        let reading = FactorReading::of(problem)?;
        let mut change = release(problem, task, seat, gate)?;
        let kept = change.clone().map(&(), |sum, ()| Kept::Statistics(sum));
        change.update(task, &reading, to_change);
        Ok(Solved::Released { change, kept })
    }

    /// The change at the new task, from the statistics that were kept.
    fn solve_from_memory(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
    ) -> Option<Released<Vec<f64>>> {
        let numbers = problem.family.len();
        let whole = matches!(kept.get(), Kept::Statistics(sum) if sum.len() == numbers);
        let reading = FactorReading::of(problem).ok().filter(|_| whole)?;
        let mut change = kept.clone().map(&(), statistics);
        change.update(task, &reading, to_change);
        Some(change)
    }
}

/// The released sum that was kept.
fn statistics(kept: Kept, (): &()) -> Vec<f64> {
    match kept {
        Kept::Statistics(sum) => sum,
        Kept::Nothing | Kept::Moments(_) => Vec::new(),
    }
}
