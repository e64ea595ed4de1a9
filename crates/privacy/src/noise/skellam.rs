//! The symmetric Skellam distribution, drawn exactly.
//!
//! Skellam variables add up to Skellam variables, so that the total of clients' shares has a law that is known exactly.

use super::poisson::Poisson;
use crate::PrivacyError;
use rand_core::Rng;

/// The difference of two independent Poisson variables of mean μ/2: mean zero, variance μ.
///
/// Exact, given ideal random bits, and on integers alone: μ is the dyadic rational that its f64 is. Closed under sums:
/// the sum of independent Skellam variables is Skellam, and the variances add. A draw costs two of `Poisson`, the same
/// for all large μ. Not constant in time.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, NoiseSource, Seeded, Skellam};
///
/// let mut stream = Seeded::new(1).stream(&NoiseContext::default())?;
/// let noise = Skellam::new(16.0)?;
/// assert!((0..100).all(|_| noise.sample(&mut stream).abs() < 50));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Skellam {
    variance: f64,
    half: Poisson,
}

impl Skellam {
    /// Noise of variance μ, in squared units of the grid, from 2^−20 to 2^60.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] outside this range.
    pub fn new(variance: f64) -> Result<Self, PrivacyError> {
        let half = Poisson::new(variance / 2.0).map_err(|_| PrivacyError::Parameter {
            name: "noise variance",
            found: variance.to_string(),
            expected: "a number of squared grid units from 2^-20 to 2^60",
        })?;
        Ok(Self { variance, half })
    }

    /// μ, in squared units of the grid.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// One draw. How many random bits it takes is random and does not depend on private numbers.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        self.half.sample(rng) - self.half.sample(rng)
    }

    /// Fills a vector with independent draws.
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [i64]) {
        noise.iter_mut().for_each(|value| *value = self.sample(rng));
    }
}
