//! The optimisation without noise that perturbation, averaging and virtual clients share.

use super::{Problem, Task};
use crate::model::Scratch;
use crate::optimiser::{Descent, kl_gradient};
use crate::settings::{Local, Optimiser};
use crate::{ClientView, Family, Gaussian, Rows};

/// The change of η after `local.steps` steps on the local free energy
/// weight·Σ_{i in which} E_q[log p(yᵢ | xᵢ, θ)] − KL(q ‖ cavity), from the task's start, on all the rows at once.
///
/// The result is private: it goes into a clipped sum and nowhere else. A search that diverges gives numbers that are not
/// finite, which contribute zero there.
pub fn optimum(problem: &Problem, task: &Task, rows: &Rows, which: &[usize], weight: f64, local: &Local) -> Vec<f64> {
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

impl ClientView<'_> {
    /// [`optimum`] on all rows of this seat, which a solver needs not see for it.
    pub fn optimum(&self, problem: &Problem, task: &Task, local: &Local) -> Vec<f64> {
        let all: Vec<usize> = (0..self.shard.len()).collect();
        optimum(problem, task, self.shard.rows(), &all, 1.0, local)
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

/// η of the q that a descent stands at.
pub(super) fn natural_of(descent: &Descent, family: Family) -> Vec<f64> {
    let point = descent.point();
    let variances: Vec<f64> = point.deviation.iter().map(|s| s * s).collect();
    match Gaussian::new_diagonal(point.mean.to_vec(), variances) {
        Some(q) => family.natural(&q),
        None => vec![f64::NAN; family.len()],
    }
}
