//! Sufficient statistics of linear regression: one clipped vector a row, and the factor that is read
//! off their sum.
//!
//! Shared by [`Analytic`](super::Analytic), [`Likelihood`](super::Likelihood) and
//! [`Hybrid`](super::Hybrid). The derivation is in `docs/maths/analytic-updates.md`.

use super::{Problem, Task};
use crate::data::Row;
use crate::family::{MOST_NATURAL, as_natural};
use crate::{ClientView, Family, UnitBatch, linalg};
use privacy::{Gate, PrivacyError, Released, StudyConstant};
use std::f64::consts::SQRT_2;

/// How a released sum is read: a constant of the study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FactorReading {
    family: Family,
    /// s²: the variance of y around xᵀθ.
    variance: f64,
}

impl StudyConstant for FactorReading {}

impl FactorReading {
    /// For a likelihood that is Gaussian; a method on another one is refused before a run.
    pub(super) fn of(problem: &Problem) -> Result<Self, PrivacyError> {
        let variance = problem.model.outcome_variance().ok_or(PrivacyError::Shape {
            found: "a likelihood without sufficient statistics".into(),
            expected: "linear regression".into(),
        })?;
        Ok(Self { family: problem.family, variance })
    }

    /// The natural parameters of the factor of rows with this sum, at a mean-field q of this mean.
    ///
    /// Full: (Σxy, −½Σxxᵀ)/s². Mean-field: (Σx(y − xᵀμ) + Σx²∘μ, −½Σx²)/s², the gradient of E_q log p by the mean
    /// parameters, of which Σxᵢxⱼ, i ≠ j, is no longer needed.
    fn factor(&self, sum: &[f64], mean: &[f64]) -> Vec<f64> {
        let d = self.family.dimension();
        let (first, second) = sum.split_at(d.min(sum.len()));
        match self.family {
            Family::Full { .. } => {
                let precision: Vec<f64> =
                    second.iter().zip(linalg::isometric_weights(d)).map(|(v, w)| v / (w * self.variance)).collect();
                first.iter().map(|v| v / self.variance).chain(as_natural(&precision, d)).collect()
            }
            Family::MeanField { .. } => {
                let pulled = first.iter().zip(second).zip(mean).map(|((r, p), m)| (r + p * m) / self.variance);
                pulled.chain(second.iter().map(|p| -0.5 * p / self.variance)).collect()
            }
        }
    }
}

/// Σ over all rows of clip(statistics), through the gate once. The mean of the task matters to a
/// mean-field family only, whose statistics are taken at it.
pub(super) fn release(
    problem: &Problem,
    task: &Released<Task>,
    seat: &ClientView<'_>,
    gate: &mut dyn Gate,
) -> Result<Released<Vec<f64>>, PrivacyError> {
    let (rows, family) = (seat.shard.rows(), problem.family);
    let mean = mean_of(task.get(), family);
    let mut units = UnitBatch::default();
    seat.draw(gate, &mut units)?;
    let mut sum = units.sum(*gate.shape())?;
    let (mut positions, mut values) = (Vec::new(), Vec::new());
    for &i in units.rows() {
        positions.clear();
        values.clear();
        of_row(&rows.row(i), &mean, family, &mut positions, &mut values);
        sum.push_sparse(&positions, &values)?;
    }
    let mut released = Released::zeros(0);
    gate.release(&sum, &mut released)?;
    Ok(released)
}

/// One row's vector. Full: (xy, xxᵀ packed isometrically). Mean-field: (x(y − xᵀμ), x²).
///
/// The packing multiplies entries off the diagonal by √2, so that the norm of the vector is that of
/// the matrix and clipping does not depend on coordinates. Positions increase, and zeros are left out.
fn of_row(row: &Row<'_>, mean: &[f64], family: Family, positions: &mut Vec<u32>, values: &mut Vec<f64>) {
    let (d, full) = (family.dimension(), matches!(family, Family::Full { .. }));
    let outcome = if full { row.outcome } else { row.outcome - row.dot(mean) };
    let mut put = |position: usize, value: f64| {
        positions.push(position as u32);
        values.push(value);
    };
    row.entries().for_each(|(j, x)| put(j, x * outcome));
    for (i, x) in row.entries() {
        if full {
            let below = row.entries().take_while(|(j, _)| *j < i);
            below.for_each(|(j, other)| put(d + linalg::place(i, j), SQRT_2 * x * other));
            put(d + linalg::place(i, i), x * x);
        } else {
            put(d + i, x * x);
        }
    }
}

/// From a released sum to the change of η: cavity + factor − start. The new η is held within what can be sent, which a
/// factor that was read at the mean of a huge q need not be.
pub(super) fn to_change(sum: &mut Vec<f64>, task: &Task, reading: &FactorReading) {
    let mut change = reading.factor(sum, &mean_of(task, reading.family));
    for (c, (cavity, start)) in change.iter_mut().zip(task.cavity.iter().zip(&task.start)) {
        *c = (*c + cavity).clamp(-MOST_NATURAL, MOST_NATURAL) - start;
    }
    *sum = change;
}

/// μ of the q that was asked with; zeros if it is not proper, which no server sends.
fn mean_of(task: &Task, family: Family) -> Vec<f64> {
    family.gaussian(&task.start).map_or_else(|| vec![0.0; family.dimension()], |q| q.mean().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::Prior;
    use crate::{Gaussian, Linear, Model, Rows};
    use std::sync::Arc;

    const ROWS: [([f64; 3], f64); 3] = [([0.5, -2.0, 1.0], 1.5), ([1.0, 0.0, 3.0], -2.0), ([-0.3, 0.7, 0.1], 0.4)];

    fn rows() -> Rows {
        let mut rows = Rows::new(3, 3).unwrap();
        ROWS.iter().for_each(|(x, y)| rows.push(Row { numbers: x, ones: &[], outcome: *y }).unwrap());
        rows
    }

    fn dense(row: &Row<'_>, mean: &[f64], family: Family) -> Vec<f64> {
        let (mut positions, mut values) = (Vec::new(), Vec::new());
        of_row(row, mean, family, &mut positions, &mut values);
        assert!(positions.windows(2).all(|w| w[0] < w[1]), "a clipped sum takes increasing positions");
        let mut out = vec![0.0; family.len()];
        positions.iter().zip(values).for_each(|(p, v)| out[*p as usize] = v);
        out
    }

    /// ‖(xy, xxᵀ)‖² = ‖x‖²y² + ‖x‖⁴: the bound is one on rows, whatever the coordinates are called.
    #[test]
    fn the_packing_keeps_lengths_so_that_clipping_does_not_depend_on_coordinates() {
        let family = Family::Full { dimension: 3 };
        for (x, y) in ROWS {
            let norm2: f64 = x.iter().map(|v| v * v).sum();
            let packed = dense(&Row { numbers: &x, ones: &[], outcome: y }, &[0.0; 3], family);
            let found: f64 = packed.iter().map(|v| v * v).sum();
            assert!((found - norm2 * (y * y + norm2)).abs() < 1e-12 * found, "{found}");
        }
    }

    #[test]
    fn the_factor_of_an_unclipped_sum_is_the_models_own() {
        let (rows, model) = (rows(), Linear::known(0.7));
        let q = Gaussian::new_diagonal(vec![0.4, -1.0, 2.0], vec![0.5, 1.0, 0.2]).unwrap();
        for family in [Family::Full { dimension: 3 }, Family::MeanField { dimension: 3 }] {
            let problem = Problem { model: Arc::new(model), family, prior: Prior(family.prior(1.0)) };
            let reading = FactorReading::of(&problem).unwrap();
            let mut sum = vec![0.0; family.len()];
            for row in rows.iter() {
                sum.iter_mut().zip(dense(&row, q.mean(), family)).for_each(|(s, v)| *s += v);
            }
            let expected = model.statistics(&rows, &[0, 1, 2], &q, family);
            let start = family.natural(&q);
            let cavity: Vec<f64> = start.iter().map(|s| 0.9 * s).collect();
            let task = Task { cavity: cavity.clone(), start: start.clone() };
            to_change(&mut sum, &task, &reading);
            for (k, found) in sum.iter().enumerate() {
                assert!((found - (cavity[k] + expected[k] - start[k])).abs() < 1e-12, "{family:?}, {k}: {found}");
            }
        }
    }
}
