//! What a row contributes to a level of K classes.

use super::super::design::{LEVEL_RADIUS, SumBound, VectorSet, WEIGHT, level_norm};
use super::super::looks::CentredInputs;
use super::contrasts::Contrasts;
use crate::data::Row;
use crate::model::softmax::softmax;
use std::f64::consts::SQRT_2;

/// What a level asks: scores at these contrasts of coefficients of x, clipped to C.
#[derive(Debug, Clone, Copy)]
pub struct ClassPoint<'a> {
    /// How rows are centred and scaled.
    pub inputs: &'a CentredInputs,
    /// U.
    pub contrasts: &'a Contrasts,
    /// Contrasts of the coefficients of x, one after the other.
    pub theta: &'a [f64],
    /// C.
    pub clip: f64,
}

/// Room for one row.
#[derive(Debug, Clone, Default)]
pub struct ClassScratch {
    contrasts: Vec<f64>,
    probabilities: Vec<f64>,
}

impl ClassPoint<'_> {
    /// What a row contributes: (c U(e_y − p) ⊗ (s∘z))/C and .4(c − ½). `into` has d(K − 1) + 1 numbers.
    ///
    /// c = min(1, C/(‖s∘z‖·max_y ‖e_y − p‖)): the largest weight with which no label's score is over C. The largest residual is that
    /// of the least probable class, ‖e_y − p‖² = 1 − 2p_y + ‖p‖². An outcome that is no class has the residual −p, which is not longer.
    pub fn row(&self, row: &Row<'_>, scratch: &mut ClassScratch, into: &mut [f64]) {
        let (d, classes, count) = (self.inputs.width(), self.contrasts.classes(), self.contrasts.count());
        let ClassScratch { contrasts, probabilities } = scratch;
        contrasts.clear();
        contrasts.extend(self.theta.chunks(d).map(|one| row.dot(one)));
        probabilities.resize(classes, 0.0);
        self.contrasts.spread(contrasts, probabilities);
        softmax(probabilities);
        let least = probabilities.iter().copied().fold(1.0, f64::min);
        let square: f64 = probabilities.iter().map(|p| p * p).sum();
        let worst = (1.0 - 2.0 * least + square).max(0.0).sqrt();
        let weight = (self.clip / (self.inputs.row_norm(row) * worst)).min(1.0);
        for (k, p) in probabilities.iter_mut().enumerate() {
            *p = f64::from(u8::from(row.outcome == k as f64)) - *p;
        }
        self.contrasts.of(probabilities, contrasts);
        for (residual, part) in contrasts.iter().zip(into.chunks_mut(d)) {
            self.inputs.write(row, weight * residual / self.clip, part);
        }
        into[d * count] = WEIGHT * (weight - 0.5);
    }
}

/// C: what the scores of this level are clipped to, ρ/2 times the largest residual: √(1 − 1/K) at level 0, where all classes are
/// equally probable, and √2 later.
pub fn class_clip(inputs: &CentredInputs, classes: usize, level: usize) -> f64 {
    let residual = if level == 0 { first_residual(classes) } else { SQRT_2 };
    LEVEL_RADIUS * inputs.expected_norm() * residual
}

/// ‖e_y − p‖ where all classes are equally probable.
pub(super) fn first_residual(classes: usize) -> f64 {
    (1.0 - 1.0 / classes as f64).sqrt()
}

/// A level: a score of norm 1, and .4(c − ½) for a weight 0 ≤ c ≤ 1, as for two outcomes.
pub fn class_level_bound(width: usize, classes: usize) -> SumBound {
    SumBound { length: width * (classes - 1) + 1, set: VectorSet::Ball, norm: level_norm() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rows;

    /// The bound holds for any label, point and row, and the mean over labels is 0 at the point's own probabilities.
    #[test]
    fn no_label_has_a_score_over_the_bound_and_the_weight_does_not_see_it() {
        let inputs = CentredInputs::new(vec![0.4, -0.2], vec![1.0, 2.0, 1.0], 1.5);
        let mut scratch = ClassScratch::default();
        for classes in [2, 3, 7] {
            let (contrasts, bound) = (Contrasts::new(classes), class_level_bound(3, classes));
            let mut longest = 0.0_f64;
            for case in 0..300 {
                let wave = |k: usize| libm::sin(1.0 + 7.7 * (case * 31 + k) as f64);
                let size = libm::exp(4.0 * wave(50));
                let theta: Vec<f64> = (0..3 * (classes - 1)).map(|k| size * wave(k)).collect();
                let point = ClassPoint {
                    inputs: &inputs,
                    contrasts: &contrasts,
                    theta: &theta,
                    clip: class_clip(&inputs, classes, case % 2),
                };
                let numbers = [3.0 * wave(60), libm::exp(5.0 * wave(61))];
                let mut rows = Rows::new(3, 2).unwrap();
                // The last outcome is no class.
                for label in 0..=classes {
                    rows.push(Row { numbers: &numbers, ones: &[2], outcome: label as f64 }).unwrap();
                }
                let vectors: Vec<Vec<f64>> = rows
                    .iter()
                    .map(|row| {
                        let mut into = vec![0.0; bound.length];
                        point.row(&row, &mut scratch, &mut into);
                        into
                    })
                    .collect();
                let norm = |v: &Vec<f64>| v.iter().map(|x| x * x).sum::<f64>().sqrt();
                longest = vectors.iter().map(norm).fold(longest, f64::max);
                assert!(vectors.iter().all(|v| v.last() == vectors[0].last()));
                let (mut a, mut p) = (vec![0.0; classes - 1], vec![0.0; classes]);
                a.iter_mut().zip(theta.chunks(3)).for_each(|(a, one)| *a = rows.row(0).dot(one));
                contrasts.spread(&a, &mut p);
                softmax(&mut p);
                for j in 0..3 * (classes - 1) {
                    let mean: f64 = p.iter().zip(&vectors).map(|(p, v)| p * v[j]).sum();
                    assert!(mean.abs() < 1e-12, "{case} {j}: {mean}");
                }
            }
            assert!(longest <= bound.norm && longest > 0.97 * bound.norm, "{classes}: {longest}");
        }
    }
}
