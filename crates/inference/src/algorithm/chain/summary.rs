//! Mean and covariance of the draws so far, which the served Gaussian has.

use crate::family::as_natural;
use crate::{Family, Gaussian, linalg};
use serde::{Deserialize, Serialize};

/// Draws, their mean, and sums of products of deviations from it (Welford 1962): lower triangle, packed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    count: u64,
    mean: Vec<f64>,
    products: Vec<f64>,
}

impl Summary {
    /// No draws yet, of so many parameters; with products of all pairs, or squares alone.
    pub(super) fn new(family: Family) -> Self {
        let d = family.dimension();
        let products = family.len() - d;
        Self { count: 0, mean: vec![0.0; d], products: vec![0.0; products] }
    }

    /// One more draw.
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

    /// Natural parameters of the Gaussian of these moments; none where the draws do not span all directions.
    pub(super) fn natural(&self, family: Family) -> Option<Vec<f64>> {
        if self.count < 2 {
            return None;
        }
        let share = 1.0 / (self.count - 1) as f64;
        let covariance: Vec<f64> = self.products.iter().map(|p| share * p).collect();
        match family {
            Family::MeanField { .. } => {
                Gaussian::new_diagonal(self.mean.clone(), covariance).map(|q| family.natural(&q))
            }
            Family::Full { dimension } => {
                let precision = linalg::inverse(&linalg::cholesky(&covariance, dimension)?, dimension);
                let first = linalg::symmetric_times(&precision, &self.mean);
                let natural: Vec<f64> = first.into_iter().chain(as_natural(&precision, dimension)).collect();
                family.gaussian(&natural).map(|_| natural)
            }
        }
    }
}
