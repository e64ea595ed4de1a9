//! The marginal of one parameter in numbers: moments and quantiles of a posterior that is no Gaussian.

use serde::{Deserialize, Serialize};

/// Levels of [`Quantiles`]: the ends of central intervals of 95, 90, 80 and 50 %, and the median.
pub const QUANTILE_LEVELS: [f64; 9] = [0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975];

/// Nominal levels of the intervals that [`Quantiles`] have.
const NOMINAL: [f64; 4] = [0.95, 0.9, 0.8, 0.5];

/// Quantiles of one parameter at [`QUANTILE_LEVELS`].
///
/// # Examples
/// ```
/// use inference::Quantiles;
/// let uniform = Quantiles([0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975]);
/// assert_eq!(uniform.interval(0.9), Some((0.05, 0.95)));
/// assert_eq!((uniform.median(), uniform.interval(0.7)), (0.5, None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantiles(pub [f64; 9]);

impl Quantiles {
    /// The central interval of this nominal level: 0.5, 0.8, 0.9 or 0.95; none of others.
    pub fn interval(&self, nominal: f64) -> Option<(f64, f64)> {
        let place = NOMINAL.iter().position(|level| *level == nominal)?;
        Some((self.0[place], self.0[self.0.len() - 1 - place]))
    }

    /// The 95 % interval.
    pub fn ends(&self) -> (f64, f64) {
        (self.0[0], self.0[self.0.len() - 1])
    }

    /// The median.
    pub fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }
}

/// One parameter of a posterior whose moments and quantiles are known to many digits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExactMarginal {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
    /// Quantiles.
    pub quantiles: Quantiles,
}

impl ExactMarginal {
    /// The law of shift + factor·θ, for a factor over 0.
    #[must_use]
    pub(crate) fn moved(self, shift: f64, factor: f64) -> Self {
        Self {
            mean: shift + factor * self.mean,
            deviation: factor * self.deviation,
            quantiles: Quantiles(self.quantiles.0.map(|q| shift + factor * q)),
        }
    }

    /// From moments and a distribution function on (least, most); none where a number is not finite.
    pub(crate) fn of(
        mean: f64,
        variance: f64,
        (least, most): (f64, f64),
        distribution: impl Fn(f64) -> f64,
    ) -> Option<Self> {
        let deviation = variance.sqrt();
        if !(mean.is_finite() && deviation.is_finite() && deviation > 0.0) {
            return None;
        }
        let end = |side: f64| (mean + side * FAR * deviation).clamp(least, most);
        let within = (end(-1.0), end(1.0));
        let inverse = Inverse { within, at_ends: (distribution(within.0), distribution(within.1)) };
        let quantiles = Quantiles(QUANTILE_LEVELS.map(|p| inverse.at(p, &distribution)));
        Some(Self { mean, deviation, quantiles })
    }
}

/// How many standard deviations from the mean quantiles are looked for. By Cantelli's inequality a quantile at .025 or more lies
/// within √39 < 7 of them.
const FAR: f64 = 7.0;

/// Most evaluations for one quantile: a bisection alone would need fewer.
const MOST_STEPS: usize = 200;

/// A quantile is found where the distribution function is this near to its level.
const NEAR: f64 = 1e-13;

/// Where quantiles are looked for, and the distribution function there.
struct Inverse {
    within: (f64, f64),
    at_ends: (f64, f64),
}

impl Inverse {
    /// The x at which the distribution function is p: regula falsi in the form of Illinois, with a bisection at every third step.
    fn at(&self, p: f64, distribution: impl Fn(f64) -> f64) -> f64 {
        let ((mut low, mut high), (mut below, mut above)) = (self.within, (self.at_ends.0 - p, self.at_ends.1 - p));
        let mut last_was_low = None;
        for step in 0..MOST_STEPS {
            let middle = 0.5 * (low + high);
            let chord = (low * above - high * below) / (above - below);
            let x = if step % 3 == 2 || !(chord > low && chord < high) { middle } else { chord };
            let off = distribution(x) - p;
            if off.abs() <= NEAR || !(x > low && x < high) {
                return x;
            }
            let is_low = off < 0.0;
            if is_low {
                (low, below) = (x, off);
            } else {
                (high, above) = (x, off);
            }
            if last_was_low == Some(is_low) {
                if is_low { above *= 0.5 } else { below *= 0.5 }
            }
            last_was_low = Some(is_low);
        }
        0.5 * (low + high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_a_distribution_wherever_it_rises() {
        // The exponential law, a steep one on a part of its support, and one with an atom-like rise.
        let exponential = |x: f64| -libm::expm1(-x.max(0.0));
        let found = ExactMarginal::of(1.0, 1.0, (0.0, f64::MAX), exponential).unwrap();
        for (p, x) in QUANTILE_LEVELS.into_iter().zip(found.quantiles.0) {
            assert!((x + libm::log1p(-p)).abs() < 1e-11, "{p}: {x}");
        }
        let steep = |x: f64| 1.0 / (1.0 + libm::exp(-(x - 3.0) * 1e6));
        let found = ExactMarginal::of(3.0, 1e-12, (f64::MIN, f64::MAX), steep).unwrap();
        assert!((found.quantiles.median() - 3.0).abs() < 1e-12);
        assert!((found.moved(1.0, 2.0).quantiles.median() - 7.0).abs() < 1e-12);
        assert_eq!(ExactMarginal::of(f64::NAN, 1.0, (0.0, 1.0), |x| x), None);
    }
}
