//! Labels drawn from a logistic model with known coefficients: what intervals of coefficients are checked on.

use super::synthetic::generator_of;
use super::{Federation, Rows, Site};
use crate::DataError;
use crate::draws::standard_normals;
use chacha20::ChaCha20Rng;
use rand_core::Rng;

/// Coefficients θ ~ N(0, v), a function of the seed.
pub fn drawn_coefficients(width: usize, variance: f64, seed: u64) -> Vec<f64> {
    let mut theta = vec![0.0; width];
    standard_normals(&mut generator_of(b"coefficients", seed), &mut theta);
    theta.iter_mut().for_each(|t| *t *= variance.sqrt());
    theta
}

impl Federation {
    /// The same rows at the same sites, with labels drawn anew: y = 1 with probability σ(xᵀθ), a function of the seed.
    ///
    /// # Errors
    /// [`DataError::Width`] where θ is not as wide as the rows.
    pub fn with_drawn_labels(&self, theta: &[f64], seed: u64) -> Result<Self, DataError> {
        let mut rng = generator_of(b"labels", seed);
        let mut sites = Vec::with_capacity(self.sites.len());
        for site in &self.sites {
            let (rows, keys) = (labelled(site.shard.rows(), theta, &mut rng)?, site.shard.keys().clone());
            sites.push(Site { name: site.name.clone(), shard: super::Shard::new(rows, keys)?, own: site.own.clone() });
        }
        Ok(Self { sites, test: labelled(&self.test, theta, &mut rng)? })
    }
}

/// Rows with drawn labels.
fn labelled(rows: &Rows, theta: &[f64], rng: &mut ChaCha20Rng) -> Result<Rows, DataError> {
    if theta.len() != rows.width() {
        return Err(DataError::Width { found: format!("{} coefficients of {} inputs", theta.len(), rows.width()) });
    }
    rows.with_outcomes(rows.iter().map(|row| label(row.dot(theta), rng)).collect())
}

/// 1 with probability σ(a), else 0.
pub(super) fn label(a: f64, rng: &mut ChaCha20Rng) -> f64 {
    f64::from(u8::from(uniform(rng) < 1.0 / (1.0 + (-a).exp())))
}

/// Uniform on [0, 1).
pub(super) fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::table;
    use crate::{Partition, Split};

    #[test]
    fn labels_follow_the_coefficients_and_rows_stay() {
        // The one input of a row is its place, 0 to 3999: σ(0) at the first, and ever more ones.
        let table = table(4000, 0);
        let real = Federation::new(&table, &Split::Half, &Partition::Even { clients: 2 }, 1).unwrap();
        let drawn = real.with_drawn_labels(&[0.001], 5).unwrap();
        assert_eq!(drawn.test, real.with_drawn_labels(&[0.001], 5).unwrap().test);
        assert_ne!(drawn.test, real.with_drawn_labels(&[0.001], 6).unwrap().test);
        let (mut ones, mut expected, mut variance) = (0.0, 0.0, 0.0);
        for (site, was) in drawn.sites.iter().zip(&real.sites) {
            for (row, before) in site.shard.rows().iter().zip(was.shard.rows().iter()) {
                assert_eq!(row.numbers, before.numbers);
                let p = 1.0 / (1.0 + (-0.001 * row.numbers[0]).exp());
                (ones, expected, variance) = (ones + row.outcome, expected + p, variance + p * (1.0 - p));
            }
        }
        // Five standard deviations.
        assert!(f64::abs(ones - expected) < 5.0 * f64::sqrt(variance), "{ones} {expected}");
        assert!(real.with_drawn_labels(&[1.0, 2.0], 5).is_err());
    }

    #[test]
    fn coefficients_have_the_stated_variance() {
        let theta = drawn_coefficients(20_000, 0.25, 3);
        let variance = theta.iter().map(|t| t * t).sum::<f64>() / 20_000.0;
        // Five standard errors: ¼·√(2/20,000) each.
        assert!((variance - 0.25).abs() < 0.0125, "{variance}");
        assert_ne!(theta[..3], drawn_coefficients(3, 0.25, 4));
    }
}
