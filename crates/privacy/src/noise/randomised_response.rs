//! k-randomised response: the true category or, with probability γ, a uniform one.
//!
//! The oldest mechanism of local privacy: plausible deniability by a coin. γ is drawn bit by bit, so that even a γ of 1e-100 is met.

use super::bernoulli::{below, bernoulli};
use super::dyadic::Dyadic;
use crate::{Categories, Gamma, PrivacyError};
use rand_core::Rng;

/// P(answer = c) = γ/k, plus 1 − γ for the true category.
///
/// Exact, given ideal random bits: γ is the dyadic rational that its f64 is. Not constant in time, but the time depends
/// on the random bits alone, never on the true category.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, NoiseSource, RandomisedResponse, Seeded};
/// use privacy::{Categories, Gamma};
///
/// let mut stream = Seeded::new(1).stream(&NoiseContext::default())?;
/// let response = RandomisedResponse::new(Categories::new(4)?, Gamma::new(0.5)?);
/// assert!(response.respond(2, &mut stream)? < 4);
/// assert!(response.respond(4, &mut stream).is_err());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RandomisedResponse {
    categories: Categories,
    /// γ = mantissa / 2^(64 + zeros), with a mantissa of at most 2^64.
    mantissa: u128,
    zeros: u32,
}

impl RandomisedResponse {
    /// Answers among k categories that are uniform with probability γ.
    pub fn new(categories: Categories, gamma: Gamma) -> Self {
        let Dyadic { mantissa, exponent } = Dyadic::of(gamma.get());
        // γ ≤ 1, so that −exponent is the number of bits after the point.
        let places = exponent.unsigned_abs();
        let zeros = places.saturating_sub(64);
        Self { categories, mantissa: u128::from(mantissa) << (64 + zeros - places), zeros }
    }

    /// An answer in place of the true category, which counts from zero. Both coins are thrown whatever the truth is.
    pub fn respond<R: Rng + ?Sized>(&self, truth: u64, rng: &mut R) -> Result<u64, PrivacyError> {
        let categories = self.categories.get();
        if truth >= categories {
            return Err(PrivacyError::Parameter {
                name: "category",
                found: "beyond the last one".into(),
                expected: "a number below the number of categories",
            });
        }
        let uniform = below(u128::from(categories), rng) as u64;
        Ok(if self.is_uniform(rng) { uniform } else { truth })
    }

    /// True with probability γ: first `zeros` bits that are all zero, then 64 bits below the mantissa.
    fn is_uniform<R: Rng + ?Sized>(&self, rng: &mut R) -> bool {
        let mut left = self.zeros;
        while left > 0 {
            let bits = left.min(64);
            if rng.next_u64() >> (64 - bits) != 0 {
                return false;
            }
            left -= bits;
        }
        bernoulli(self.mantissa, 1 << 64, rng)
    }
}
