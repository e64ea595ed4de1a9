//! The discrete Laplace distribution, drawn exactly.
//!
//! P(K = k) ∝ e^{−|k|/t} on the integers: the proposal from which discrete Gaussian and Poisson draws are accepted or rejected.

use super::bernoulli::{below, bernoulli_exp};
use super::dyadic::Dyadic;
use crate::PrivacyError;
use rand_core::Rng;

/// P(Y = y) ∝ e^(−|y|/b) on the integers, of scale b.
///
/// Exact, given ideal random bits, and on integers alone: b is the dyadic rational that its f64 is. Nothing is
/// approximated; the number of random bits a draw takes is random, with a small mean for every b. Values beyond
/// ±(2^63 − 1), of probability below exp(−2^22), are returned as ±(2^63 − 1). Not constant in time.
///
/// # Examples
///
/// ```
/// use privacy::noise::{DiscreteLaplace, NoiseContext, NoiseSource, Seeded};
///
/// let mut stream = Seeded::new(1).stream(&NoiseContext::default())?;
/// let noise = DiscreteLaplace::new(3.0)?;
/// assert!((0..100).any(|_| noise.sample(&mut stream) != 0));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiscreteLaplace {
    /// b = numerator / denominator.
    numerator: u128,
    denominator: u128,
}

impl DiscreteLaplace {
    /// Noise of scale b, in units of the grid, from 2^−20 to 2^40.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] outside this range.
    pub fn new(scale: f64) -> Result<Self, PrivacyError> {
        if !(2_f64.powi(-20)..=2_f64.powi(40)).contains(&scale) {
            return Err(PrivacyError::Parameter {
                name: "noise scale",
                found: scale.to_string(),
                expected: "a number of grid units from 2^-20 to 2^40",
            });
        }
        let (numerator, denominator) = Dyadic::of(scale).ratio();
        Ok(Self { numerator, denominator })
    }

    /// Noise of a whole scale over 0.
    pub(super) fn whole(scale: u64) -> Self {
        Self { numerator: u128::from(scale), denominator: 1 }
    }

    /// One draw. How many random bits it takes is random and does not depend on private numbers.
    ///
    /// Algorithm 2 of Canonne, Kamath and Steinke 2020 (arXiv:2004.00010), with b = t/s: X = U + t·V has
    /// P(X = x) ∝ e^(−x/t) for U uniform on {0, …, t − 1}, kept with probability e^(−U/t), and V geometric of ratio
    /// e^(−1); ⌊X/s⌋ has ratio e^(−s/t); a fair sign, and of the two zeros one is thrown away.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        loop {
            let rest = below(self.numerator, rng);
            if !bernoulli_exp(rest, self.numerator, rng) {
                continue;
            }
            let mut distance = rest;
            while bernoulli_exp(1, 1, rng) {
                distance = distance.saturating_add(self.numerator);
            }
            let distance = i64::try_from(distance / self.denominator).unwrap_or(i64::MAX);
            let negative = rng.next_u64() & 1 == 1;
            if !negative {
                return distance;
            }
            if distance != 0 {
                return -distance;
            }
        }
    }

    /// Fills a vector with independent draws.
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [i64]) {
        noise.iter_mut().for_each(|value| *value = self.sample(rng));
    }
}
