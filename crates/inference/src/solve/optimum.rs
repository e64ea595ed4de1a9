//! The optimisation without noise that perturbation, averaging and virtual clients share.

use super::{Problem, Task};
use crate::model::Scratch;
use crate::optimiser::{Descent, kl_gradient};
use crate::settings::{Local, Optimiser};
use crate::{ClientView, Family, Gaussian, Rows};
use privacy::{Bounded, PrivacyError, Shape};
use std::fmt;

/// The change of η after `local.steps` steps on the local free energy, from the task's start, on all
/// rows of `which` at once:
///
/// ```text
/// weight · Σ_{i in which} E_q[log p(yᵢ | xᵢ, θ)] − KL(q ‖ cavity)
/// ```
///
/// - `which`: the rows of a client, or of one of its parts.
/// - `weight`: how often each of these rows counts; K where a part stands for all rows.
/// - `local`: steps, step size and optimiser. Its batch is not looked at.
///
/// The result is private: it goes into a clipped sum and nowhere else. A search that diverges gives
/// numbers that are not finite, which contribute zero there.
pub(super) fn optimum(
    problem: &Problem,
    task: &Task,
    rows: &Rows,
    which: &[usize],
    weight: f64,
    local: &Local,
) -> Vec<f64> {
    let Some(q) = problem.family.gaussian(&task.start) else {
        return vec![0.0; task.start.len()];
    };
    let end = match local.optimiser {
        Optimiser::Natural => by_natural_gradients(problem, task, rows, which, weight, local, q),
        Optimiser::Sgd | Optimiser::Adagrad | Optimiser::Adam => {
            by_gradients(problem, task, rows, which, weight, local, &q)
        }
    };
    end.iter().zip(&task.start).map(|(end, start)| end - start).collect()
}

/// A change of η before noise: a private vector that can be edited and clipped, and not read.
///
/// It has no accessor and no serialiser, and its `Debug` shows its length only. [`PrivateChange::edit`] takes a plain `fn`,
/// which can capture nothing, so that a solver does not carry a number out by accident. [`PrivateChange::clipped`] is the
/// way on, to a sum that only a gate can read.
///
/// # Examples
///
/// A function that captures something is refused by the compiler:
///
/// ```compile_fail,E0308
/// fn leak(change: &mut inference::solve::PrivateChange) -> f64 {
///     let mut first = 0.0;
///     change.edit(&(), |change, ()| first = change[0]);
///     first
/// }
/// ```
pub struct PrivateChange(Vec<f64>);

impl PrivateChange {
    /// Changes the numbers in place, by a function of them and of what is handed over beside them.
    pub fn edit<P>(&mut self, by: &P, f: fn(&mut [f64], &P)) {
        f(&mut self.0, by);
    }

    /// The whole change as one clipped vector.
    ///
    /// # Errors
    ///
    /// As by [`Bounded::whole`]: for a shape of examples, or of another length.
    pub fn clipped(&self, shape: Shape) -> Result<Bounded, PrivacyError> {
        Bounded::whole(shape, &self.0)
    }
}

impl fmt::Debug for PrivateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateChange({} numbers)", self.0.len())
    }
}

impl ClientView<'_> {
    /// The change that the optimisation without noise finds on all rows of this client. The solver sees neither.
    pub fn optimum(&self, problem: &Problem, task: &Task, local: &Local) -> PrivateChange {
        let all: Vec<usize> = (0..self.shard.len()).collect();
        PrivateChange(optimum(problem, task, self.shard.rows(), &all, 1.0, local))
    }
}

/// η ← (1 − ρ)η + ρ(cavity + weight·statistics(q)): the fixed point of PVI (Property A.4 of Heikkilä et al. 2022),
/// reached in one step of ρ = 1 where the likelihood is conjugate. Stops where q would become improper.
fn by_natural_gradients(
    problem: &Problem,
    task: &Task,
    rows: &Rows,
    which: &[usize],
    weight: f64,
    local: &Local,
    mut q: Gaussian,
) -> Vec<f64> {
    let (mut eta, rho) = (task.start.clone(), local.learning_rate);
    for _ in 0..local.steps {
        let statistics = problem.model.statistics(rows, which, &q, problem.family);
        let next: Vec<f64> = eta
            .iter()
            .zip(&task.cavity)
            .zip(&statistics)
            .map(|((e, c), s)| (1.0 - rho) * e + rho * (c + weight * s))
            .collect();
        match problem.family.gaussian(&next) {
            Some(proper) => (eta, q) = (next, proper),
            None => break,
        }
    }
    eta
}

/// Steps along the gradient by means and log standard deviations. The likelihood's part is summed over
/// the rows, the KL term's part is exact ([`kl_gradient`]). Stops where the model cannot go on.
fn by_gradients(
    problem: &Problem,
    task: &Task,
    rows: &Rows,
    which: &[usize],
    weight: f64,
    local: &Local,
    q: &Gaussian,
) -> Vec<f64> {
    let d = q.mean().len();
    let mut descent = Descent::new(q.mean(), &q.deviations(), local);
    let mut scratch = Scratch::default();
    let mut likelihood = vec![0.0; 2 * d];
    let mut slope = vec![0.0; 2 * d];
    for step in 0..local.steps {
        likelihood.fill(0.0);
        let point = descent.point();
        if problem.model.gradients(rows, which, point, step, &mut scratch, &mut likelihood).is_err() {
            break;
        }
        kl_gradient(point, &task.cavity, &mut slope);
        slope.iter_mut().zip(&likelihood).for_each(|(s, l)| *s += weight * l);
        descent.step(&slope, local);
    }
    natural_of(&descent, problem.family)
}

/// η of the q that a descent stands at; NaN where its deviations are no longer those of a Gaussian, so
/// that the change contributes nothing to a clipped sum.
pub(super) fn natural_of(descent: &Descent, family: Family) -> Vec<f64> {
    let point = descent.point();
    let variances: Vec<f64> = point.deviation.iter().map(|s| s * s).collect();
    match Gaussian::new_diagonal(point.mean.to_vec(), variances) {
        Some(q) => family.natural(&q),
        None => vec![f64::NAN; family.len()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privacy::{Grain, Grid, NormBound};

    #[test]
    fn a_private_change_is_edited_and_clipped_and_prints_no_number() {
        let mut change = PrivateChange(vec![0.123456, -78.9]);
        change.edit(&2.0, |change, factor| change.iter_mut().for_each(|c| *c *= factor));
        assert_eq!(change.0, [0.246912, -157.8]);
        assert_eq!(format!("{change:?}"), "PrivateChange(2 numbers)");
        let shape =
            |dimension| Shape::new(dimension, NormBound::new(1.0).unwrap(), Grain::Whole, Grid::new(20).unwrap());
        assert!(change.clipped(shape(2).unwrap()).is_ok() && change.clipped(shape(3).unwrap()).is_err());
    }
}
