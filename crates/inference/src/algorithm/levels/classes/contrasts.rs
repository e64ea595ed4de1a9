//! Orthonormal contrasts of K classes: coordinates in which probabilities have no null direction.
//!
//! Coefficients of K classes are determined up to a common shift. With U of K − 1 orthonormal rows, each at right angles to 1, the
//! contrasts UΘ hold all that probabilities depend on, residuals keep their norm (‖U(e_y − p)‖ = ‖e_y − p‖, since both sum to 1),
//! and equal independent priors of the classes stay equal and independent.

use crate::linalg::{packed, place};

/// U, by Helmert: row a compares class a + 1 with the mean of those before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrasts {
    classes: usize,
    /// K − 1 rows of K numbers.
    rows: Vec<f64>,
}

impl Contrasts {
    /// Of K classes, at least two.
    pub fn new(classes: usize) -> Self {
        let classes = classes.max(2);
        let mut rows = vec![0.0; (classes - 1) * classes];
        for (a, row) in rows.chunks_mut(classes).enumerate() {
            let before = (a + 1) as f64;
            let unit = 1.0 / (before * (before + 1.0)).sqrt();
            row[..=a].fill(-unit);
            row[a + 1] = before * unit;
        }
        Self { classes, rows }
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// K − 1.
    pub fn count(&self) -> usize {
        self.classes - 1
    }

    /// U_ak.
    pub(super) fn entry(&self, a: usize, k: usize) -> f64 {
        self.rows[a * self.classes + k]
    }

    /// Uᵀb: numbers of classes that sum to 0.
    pub(super) fn spread(&self, contrasts: &[f64], into: &mut [f64]) {
        into.fill(0.0);
        for (row, b) in self.rows.chunks(self.classes).zip(contrasts) {
            into.iter_mut().zip(row).for_each(|(v, u)| *v += u * b);
        }
    }

    /// Uv.
    pub(super) fn of(&self, classes: &[f64], into: &mut [f64]) {
        for (value, row) in into.iter_mut().zip(self.rows.chunks(self.classes)) {
            *value = row.iter().zip(classes).map(|(u, v)| u * v).sum();
        }
    }

    /// Adds weight·U(diag p − ppᵀ)Uᵀ to a packed matrix, given the contrasts of p.
    pub(super) fn add_curvature(&self, weight: f64, p: &[f64], contrasts: &[f64], into: &mut [f64]) {
        debug_assert_eq!(into.len(), packed(self.count()));
        for a in 0..self.count() {
            for b in 0..=a {
                // Row b is 0 after class b + 1.
                let shared: f64 = (0..=b + 1).map(|k| self.entry(a, k) * self.entry(b, k) * p[k]).sum();
                into[place(a, b)] += weight * (shared - contrasts[a] * contrasts[b]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_orthonormal_and_lose_the_common_shift_alone() {
        for classes in [2, 3, 10] {
            let u = Contrasts::new(classes);
            for a in 0..u.count() {
                let dot = |b: usize| (0..classes).map(|k| u.entry(a, k) * u.entry(b, k)).sum::<f64>();
                assert!((0..classes).map(|k| u.entry(a, k)).sum::<f64>().abs() < 1e-14);
                (0..u.count()).for_each(|b| assert!((dot(b) - f64::from(u8::from(a == b))).abs() < 1e-14));
            }
            let v: Vec<f64> = (0..classes).map(|k| (k * k) as f64 - 3.0).collect();
            let (mut b, mut back) = (vec![0.0; u.count()], vec![0.0; classes]);
            u.of(&v, &mut b);
            u.spread(&b, &mut back);
            let mean = v.iter().sum::<f64>() / classes as f64;
            assert!(back.iter().zip(&v).all(|(x, v)| (x - (v - mean)).abs() < 1e-11));
        }
    }

    #[test]
    fn curvature_is_that_of_the_classes_seen_in_contrasts() {
        let (u, p) = (Contrasts::new(3), [0.2, 0.5, 0.3]);
        let (mut contrasts, mut packed) = ([0.0; 2], [0.0; 3]);
        u.of(&p, &mut contrasts);
        u.add_curvature(2.0, &p, &contrasts, &mut packed);
        let h = |k: usize, l: usize| if k == l { p[k] * (1.0 - p[k]) } else { -p[k] * p[l] };
        for (a, b) in [(0, 0), (1, 0), (1, 1)] {
            let pairs = (0..9).map(|i| (i / 3, i % 3));
            let expected: f64 = pairs.map(|(k, l)| 2.0 * u.entry(a, k) * h(k, l) * u.entry(b, l)).sum();
            assert!((packed[place(a, b)] - expected).abs() < 1e-14);
        }
    }
}
