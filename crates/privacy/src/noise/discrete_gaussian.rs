//! The discrete Gaussian distribution, drawn exactly.
//!
//! P(K = k) ∝ e^{−k²/2σ²} on the integers. It is the noise of clients' shares: its tails and its Rényi divergences are those of the
//! continuous Gaussian or better. A sum of several is not exactly one, which its event accounts for.

use super::bernoulli::bernoulli_exp;
use super::discrete_laplace::DiscreteLaplace;
use super::dyadic::Dyadic;
use crate::PrivacyError;
use num_bigint::BigUint;
use rand_core::Rng;

/// P(Y = y) ∝ e^(−y²/(2σ²)) on the integers. Its variance is at most σ², and nearly σ² from σ = 1 on.
///
/// Exact, given ideal random bits, and on integers alone: σ² is the dyadic rational that its f64 is. The number of
/// random bits a draw takes is random, with a small mean for every σ. Not constant in time. A sum of discrete
/// Gaussians is nearly, not exactly, a discrete Gaussian.
///
/// # Examples
///
/// ```
/// use privacy::noise::{DiscreteGaussian, NoiseContext, NoiseSource, Seeded};
///
/// let mut stream = Seeded::new(1).stream(&NoiseContext::default())?;
/// let noise = DiscreteGaussian::new(9.0)?;
/// assert!((0..100).all(|_| noise.sample(&mut stream).abs() < 30));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiscreteGaussian {
    variance: f64,
    /// Laplace noise of scale t = 2^τ, the power of two nearest to σ and at least one.
    proposal: DiscreteLaplace,
    /// σ²/t and |y| are both multiples of 2^−fine: |y| = (|y|·2^fine)/2^fine and σ²/t = centre/2^fine.
    fine: u32,
    centre: u128,
    /// 2σ²·4^fine, the denominator of the exponent of the rejection step.
    denominator: u128,
}

impl DiscreteGaussian {
    /// Noise of parameter σ², in squared units of the grid, from 2^−20 to 2^80.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] outside this range.
    pub fn new(variance: f64) -> Result<Self, PrivacyError> {
        if !(2_f64.powi(-20)..=2_f64.powi(80)).contains(&variance) {
            return Err(PrivacyError::Parameter {
                name: "noise variance",
                found: variance.to_string(),
                expected: "a number of squared grid units from 2^-20 to 2^80",
            });
        }
        let Dyadic { mantissa, exponent } = Dyadic::of(variance);
        let magnitude = exponent + mantissa.ilog2() as i32;
        let tau = ((magnitude + 1).div_euclid(2)).max(0);
        let fine = (tau - exponent).max(0);
        Ok(Self {
            variance,
            proposal: DiscreteLaplace::whole(1 << tau),
            fine: fine as u32,
            centre: u128::from(mantissa) << (exponent - tau + fine),
            denominator: u128::from(mantissa) << (exponent + 1 + 2 * fine),
        })
    }

    /// σ², in squared units of the grid.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// One draw. How many random bits it takes is random and does not depend on private numbers.
    ///
    /// Algorithm 3 of Canonne, Kamath and Steinke 2020 (arXiv:2004.00010): keep a Laplace draw y of scale t with
    /// probability e^(−(|y| − σ²/t)²/(2σ²)). The product with e^(−|y|/t) is e^(−y²/(2σ²)) up to a constant, for any t.
    /// The paper takes t = ⌊σ⌋ + 1; a power of two keeps the fractions short, and 0.6 or more of the draws for σ ≥ 1.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        loop {
            let y = self.proposal.sample(rng);
            let offset = (u128::from(y.unsigned_abs()) << self.fine).abs_diff(self.centre);
            if bernoulli_exp_square(offset, self.denominator, rng) {
                return y;
            }
        }
    }

    /// Fills a vector with independent draws.
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, noise: &mut [i64]) {
        noise.iter_mut().for_each(|value| *value = self.sample(rng));
    }
}

/// True with probability e^(−a²/b).
fn bernoulli_exp_square<R: Rng + ?Sized>(a: u128, b: u128, rng: &mut R) -> bool {
    if let Some(square) = a.checked_mul(a) {
        return bernoulli_exp(square, b, rng);
    }
    let square = BigUint::from(a) * a;
    // Both fit: the rest is below b, and a whole part of 2^128 would need 2^128 coins of e^(−1) to show true.
    let whole = u128::try_from(&square / b).unwrap_or(u128::MAX);
    let rest = u128::try_from(square % b).unwrap_or(0);
    bernoulli_exp(whole, 1, rng) && bernoulli_exp(rest, b, rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    #[test]
    fn variances_out_of_range_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 2_f64.powi(-21), 2_f64.powi(81)] {
            assert_eq!(DiscreteGaussian::new(bad).unwrap_err().code(), "P001");
        }
    }

    #[test]
    fn the_fractions_are_the_formula() {
        for variance in [2_f64.powi(-20), 0.1, 0.75, 1.0, 7.3, 1e6 / 3.0, 1e17, 2_f64.powi(80)] {
            let g = DiscreteGaussian::new(variance).unwrap();
            let unit = 2_f64.powi(g.fine as i32);
            let t = variance / (g.centre as f64 / unit);
            assert_eq!(t.log2().fract(), 0.0);
            assert_eq!(g.denominator as f64 / unit / unit, 2.0 * variance);
            assert!(t == 1.0 || (0.7..1.42).contains(&(t / variance.sqrt())));
        }
    }

    #[test]
    fn a_square_beyond_a_machine_word_is_the_same_coin() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        // a²/b = 1/2.
        let b = 1_u128 << 127;
        let hits = (0..100_000).filter(|_| bernoulli_exp_square(1 << 63, b, &mut rng)).count() as f64;
        assert!((hits / 1e5 - (-0.5_f64).exp()).abs() < 0.01);
        // a²/b = 9/2, where the square does not fit into 128 bits.
        let hits = (0..100_000).filter(|_| bernoulli_exp_square(3 << 63, b, &mut rng)).count() as f64;
        assert!((hits / 1e5 - (-4.5_f64).exp()).abs() < 0.002);
    }
}
