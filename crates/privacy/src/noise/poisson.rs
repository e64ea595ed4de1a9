//! The Poisson distribution, drawn exactly at a cost that does not grow with its mean.
//!
//! Skellam noise of large variance needs Poisson draws of large mean. The sampler proposes from discrete Laplace noise around the
//! mean and corrects by a thinned Poisson process, on integers alone.

use super::bernoulli::{below, bernoulli, bernoulli_exp, geometric};
use super::discrete_laplace::DiscreteLaplace;
use super::dyadic::Dyadic;
use crate::PrivacyError;
use rand_core::Rng;

/// Below this whole mean a draw is a sum of draws of mean one.
const SMALL: u64 = 32;

/// P(K = k) = e^(−λ)·λ^k/k!, of mean λ.
///
/// Exact, given ideal random bits, and on integers alone: λ is the dyadic rational that its f64 is. The number of
/// random bits a draw takes is random, with a mean that is bounded for all λ. Not constant in time.
/// The construction and its proof: `docs/maths/discrete-noise.md`.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, NoiseSource, Poisson, Seeded};
///
/// let mut stream = Seeded::new(1).stream(&NoiseContext::default())?;
/// let counts = Poisson::new(2.5)?;
/// assert!((0..100).all(|_| counts.sample(&mut stream) >= 0));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Poisson {
    /// L = ⌊λ⌋, the whole part of the mean.
    whole: u64,
    /// λ − L, as a fraction.
    rest: (u128, u128),
    large: LargePoisson,
}

impl Poisson {
    /// Draws of mean λ, from 2^−21 to 2^59.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] outside this range.
    pub fn new(mean: f64) -> Result<Self, PrivacyError> {
        if !(2_f64.powi(-21)..=2_f64.powi(59)).contains(&mean) {
            return Err(PrivacyError::Parameter {
                name: "Poisson mean",
                found: mean.to_string(),
                expected: "a number from 2^-21 to 2^59",
            });
        }
        let (numerator, denominator) = Dyadic::of(mean).ratio();
        let whole = (numerator / denominator) as u64;
        Ok(Self { whole, rest: (numerator % denominator, denominator), large: LargePoisson::new(whole.max(1)) })
    }

    /// One draw: Poisson(L) plus Poisson(λ − L), the latter by keeping each point of Poisson(1) with probability λ − L.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        let whole = if self.whole < SMALL {
            (0..self.whole).map(|_| mean_one(rng) as i64).sum()
        } else {
            self.large.sample(rng)
        };
        let (a, b) = self.rest;
        let points = if a == 0 { 0 } else { mean_one(rng) };
        whole.saturating_add((0..points).filter(|_| bernoulli(a, b, rng)).count() as i64)
    }
}

/// Poisson(1), by rejection: propose k with probability 2^−(k+1), keep it with probability 2^(k−1)/k!.
///
/// 2^(k−1)/k! = 1/2 for k = 0, one for k = 1 and 2, and Π_(j=3..k) 2/j beyond.
fn mean_one<R: Rng + ?Sized>(rng: &mut R) -> u64 {
    loop {
        let k = geometric(rng);
        let kept = if k == 0 { bernoulli(1, 2, rng) } else { (3..=k).all(|j| bernoulli(2, u128::from(j), rng)) };
        if kept {
            return k;
        }
    }
}

/// Which way from the mode.
#[derive(Clone, Copy)]
enum ModeSide {
    Right,
    Left,
}

/// A probability top/bottom, with both terms kept exact.
#[derive(Clone, Copy)]
struct Fraction {
    top: u128,
    bottom: u128,
}

/// Poisson(L) for a whole L ≥ 1, by rejection from discrete Laplace noise around L.
#[derive(Debug, Clone)]
struct LargePoisson {
    /// L, the whole mean.
    mean: u128,
    /// t = ⌊√L⌋, up to which proposals are thinned to a flat top.
    reach: u128,
    /// T = ⌈L/t⌉ + 1, the scale of the proposal.
    scale: u128,
    proposal: DiscreteLaplace,
}

impl LargePoisson {
    /// The proposal for a whole mean; t and T are as in `docs/maths/discrete-noise.md`.
    fn new(mean: u64) -> Self {
        let reach = mean.isqrt();
        let scale = mean.div_ceil(reach) + 1;
        let proposal = DiscreteLaplace::whole(scale);
        Self { mean: u128::from(mean), reach: u128::from(reach), scale: u128::from(scale), proposal }
    }

    /// Keeps L + y, proposed with weight e^((t − |y|)/T), with probability P(L + y)/P(L) · e^(−(t − |y|)/T).
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> i64 {
        loop {
            let y = self.proposal.sample(rng);
            let steps = u128::from(y.unsigned_abs());
            let side = if y < 0 { ModeSide::Left } else { ModeSide::Right };
            if bernoulli_exp(self.reach.saturating_sub(steps), self.scale, rng) && self.survives(side, steps, rng) {
                return y.saturating_add(self.mean as i64);
            }
        }
    }

    /// d_j, with 1 − d_j the ratio of the probabilities of step j and step j − 1 away from the mode:
    /// L/(L + j) to the right, (L − j + 1)/L to the left. It grows with j.
    fn decay(&self, side: ModeSide, j: u128) -> Fraction {
        match side {
            ModeSide::Right => Fraction { top: j, bottom: self.mean + j },
            ModeSide::Left => Fraction { top: j - 1, bottom: self.mean },
        }
    }

    /// True with probability Π_(j=1..y) (1 − d_j)·e^(c_j), where c_j = 1/T for j > t and 0 otherwise; c_j ≤ d_j.
    ///
    /// That is the probability that a Poisson process with rate −ln(1 − d_j) − c_j at step j has no point. A process
    /// of the larger rate D/(1 − D), D = d_y, at every step is thinned to it.
    fn survives<R: Rng + ?Sized>(&self, side: ModeSide, steps: u128, rng: &mut R) -> bool {
        if steps == 0 {
            return true;
        }
        let last = self.decay(side, steps);
        let Fraction { top, bottom } = last;
        if top >= bottom {
            return false; // left of zero
        }
        // Poisson(y·D/(1 − D)) as so many Poisson(1), each point kept with the probability that is left.
        let (total, unit) = (steps * top, bottom - top);
        let parts = total.div_ceil(unit);
        let mut part = 0;
        while part < parts {
            for _ in 0..mean_one(rng) {
                if bernoulli(total, unit * parts, rng) && self.arrives(side, steps, last, rng) {
                    return false;
                }
            }
            part += 1;
        }
        true
    }

    /// Whether a point of the larger process belongs to the thinned one.
    ///
    /// −ln(1 − d) = Σ_(n≥1) d^n/n and D/(1 − D) = Σ_(n≥1) D^n: give the point a uniform step j and an order n with
    /// probability ∝ D^n, keep it with probability (d_j/D)^n/n, and for n = 1 with (d_j/D)·(1 − c_j/d_j).
    fn arrives<R: Rng + ?Sized>(&self, side: ModeSide, steps: u128, last: Fraction, rng: &mut R) -> bool {
        let j = 1 + below(steps, rng);
        let Fraction { top: a, bottom: b } = self.decay(side, j);
        let mut order = 1;
        while bernoulli(last.top, last.bottom, rng) {
            order += 1;
        }
        if !(0..order).all(|_| bernoulli(a * last.bottom, b * last.top, rng)) {
            return false;
        }
        match order {
            1 if j > self.reach => bernoulli(self.scale * a - b, self.scale * a, rng),
            _ => bernoulli(1, order, rng),
        }
    }
}
