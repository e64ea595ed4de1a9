//! Mean and covariance of the draws so far, which the served Gaussian has.

use crate::family::as_natural;
use crate::{Family, Gaussian, linalg};
use serde::{Deserialize, Serialize};

/// Variance of a parameter that did not move, as a share of the prior's.
const LEAST_SHARE: f64 = 1e-12;

/// Draws, their mean, and sums of products of deviations from it (Welford 1962): lower triangle, packed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawMoments {
    /// n.
    count: u64,
    /// Of the draws so far.
    mean: Vec<f64>,
    /// Σ (θ − mean)(θ − mean)ᵀ, packed, or its diagonal.
    products: Vec<f64>,
}

impl DrawMoments {
    /// No draws yet, of so many parameters; with products of all pairs, or squares alone.
    pub(super) fn new(family: Family) -> Self {
        let d = family.dimension();
        let products = family.len() - d;
        Self { count: 0, mean: vec![0.0; d], products: vec![0.0; products] }
    }

    /// One more draw.
    /// Mean and products are updated in one pass, without cancellation of large numbers (Welford 1962).
    pub(super) fn add(&mut self, theta: &[f64]) {
        self.count += 1;
        let share = 1.0 / self.count as f64;
        let before: Vec<f64> = theta.iter().zip(&self.mean).map(|(t, m)| t - m).collect();
        self.mean.iter_mut().zip(&before).for_each(|(m, b)| *m += share * b);
        let after: Vec<f64> = theta.iter().zip(&self.mean).map(|(t, m)| t - m).collect();
        if self.products.len() == self.mean.len() {
            let squares = before.iter().zip(&after).map(|(b, a)| b * a);
            self.products.iter_mut().zip(squares).for_each(|(p, s)| *p += s);
            return;
        }
        for (j, b) in before.iter().enumerate() {
            let row = &mut self.products[linalg::place(j, 0)..=linalg::place(j, j)];
            row.iter_mut().zip(&after).for_each(|(p, a)| *p += b * a);
        }
    }

    /// Natural parameters of the Gaussian of these moments; none of fewer than two draws.
    ///
    /// Draws that do not span all directions have no precision: then it is that of their variances alone, and of a parameter
    /// that did not move a millionth of the prior's deviation stands for its own.
    pub(super) fn natural(&self, family: Family, prior_precisions: &[f64]) -> Option<Vec<f64>> {
        if self.count < 2 {
            return None;
        }
        let share = 1.0 / (self.count - 1) as f64;
        let covariance: Vec<f64> = self.products.iter().map(|p| share * p).collect();
        self.spanning(family, &covariance).or_else(|| self.apart(family, &covariance, prior_precisions))
    }

    /// The Gaussian of mean and covariance; none where draws do not span all directions.
    fn spanning(&self, family: Family, covariance: &[f64]) -> Option<Vec<f64>> {
        match family {
            Family::MeanField { .. } => {
                Gaussian::new_diagonal(self.mean.clone(), covariance.to_vec()).map(|q| family.natural(&q))
            }
            Family::Full { dimension } => {
                let precision = linalg::inverse(&linalg::cholesky(covariance, dimension)?, dimension);
                let first = linalg::symmetric_times(&precision, &self.mean);
                let natural: Vec<f64> = first.into_iter().chain(as_natural(&precision, dimension)).collect();
                family.gaussian(&natural).map(|_| natural)
            }
        }
    }

    /// The Gaussian of mean and variances alone, each at least a small share of the prior's.
    fn apart(&self, family: Family, covariance: &[f64], prior_precisions: &[f64]) -> Option<Vec<f64>> {
        let variance = |(j, precision): (usize, &f64)| {
            let own =
                if matches!(family, Family::Full { .. }) { covariance[linalg::place(j, j)] } else { covariance[j] };
            own.max(LEAST_SHARE / precision)
        };
        let variances = prior_precisions.iter().enumerate().map(variance).collect();
        Gaussian::new_diagonal(self.mean.clone(), variances).map(|q| family.natural(&q))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found: chains that moved less often than they have parameters were served as the prior.
    #[test]
    fn draws_that_do_not_span_all_directions_keep_their_mean() {
        for family in [Family::Full { dimension: 3 }, Family::MeanField { dimension: 3 }] {
            let mut summary = DrawMoments::new(family);
            assert!(summary.natural(family, &[1.0; 3]).is_none());
            [[1.0, 2.0, 5.0], [1.5, 2.0, 4.0], [2.0, 2.0, 3.0]].iter().for_each(|theta| summary.add(theta));
            let q = family.gaussian(&summary.natural(family, &[1.0, 4.0, 1.0]).unwrap()).unwrap();
            for (found, expected) in q.mean().iter().chain(&q.variances()).zip([1.5, 2.0, 4.0, 0.25, 0.25e-12, 1.0]) {
                assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected} {family:?}");
            }
        }
    }
}
