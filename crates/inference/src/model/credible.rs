//! How sure a posterior is of a row's probability.

use crate::special::sigmoid;
use crate::{Gaussian, Rows};

/// For each row the interval of σ(xᵀθ) that lies `reach` posterior deviations of xᵀθ around its mean.
///
/// xᵀθ ~ N(m, v) under q and σ increases, so [σ(m − z√v), σ(m + z√v)] has the probability of [−z, z] under N(0, 1).
/// reach: z, 1.96 for 95 in 100.
pub fn credible(rows: &Rows, q: &Gaussian, reach: f64) -> Vec<(f64, f64)> {
    let projections = q.projections();
    let interval = |(mean, variance): (f64, f64)| {
        let half = reach * variance.sqrt();
        (sigmoid(mean - half), sigmoid(mean + half))
    };
    rows.iter().map(|row| interval(projections.of(&row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Logistic, Model, Prediction, Row};

    #[test]
    fn the_interval_is_that_of_the_score_and_holds_the_prediction() {
        let mut rows = Rows::new(2, 2).unwrap();
        rows.push(Row { numbers: &[1.0, 2.0], ones: &[], outcome: 0.0 }).unwrap();
        // xᵀθ has mean 0.5 − 1 = −0.5 and variance 0.25 + 4 · 0.16 = 0.89.
        let q = Gaussian::new_diagonal(vec![0.5, -0.5], vec![0.25, 0.16]).unwrap();
        let (low, high) = credible(&rows, &q, 1.96)[0];
        let expected = |z: f64| 1.0 / (1.0 + (0.5 - z * 0.89_f64.sqrt()).exp());
        assert!((low - expected(-1.96)).abs() < 1e-12 && (high - expected(1.96)).abs() < 1e-12, "{low} {high}");
        let Prediction::Probability(p) = Logistic::default().predict(&rows, &q)[0] else { panic!() };
        assert!(low < p && p < high);
    }
}
