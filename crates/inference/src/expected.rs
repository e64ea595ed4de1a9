//! What a study may expect to see before anybody has rows: widths of intervals, and the smallest effects that stand out of them.
//!
//! A method that has a forecast ([`crate::method::AlgorithmSettings::expected_posterior`]) gives the covariance Σ of the posterior on a typical
//! design. An effect is a contrast cᵀθ. With s² = cᵀΣc, and v = cᵀc/p its variance under the prior N(0, 1/p):
//!
//! - The central interval of a share reaches z·s to either side.
//! - Data that are Gaussian give a posterior mean m = (1 − r)e + noise of variance (1 − r)s² for a true effect e, where r = s²/v is what
//!   the prior weighs. The 95 % interval excludes 0 on the right side with probability .8 if (1 − r)e = 1.96 s + .84 s√(1 − r).
//!
//! Both are for planning: they count the noise and the rows, and not how far real inputs are from the typical design.

use crate::linalg::symmetric_times;
use crate::method::Method;
use crate::public::PublicNumbers;
use crate::settings::Promise;

/// Nominal share of the intervals whose width is told.
pub const INTERVAL: f64 = 0.9;

/// Probability with which the smallest effect is seen.
pub const POWER: f64 = 0.8;

/// Φ⁻¹(.95): reach of a 90 % interval.
const REACH: f64 = 1.644_853_626_951_472_4;
/// Φ⁻¹(.975): reach of the interval that is to exclude 0.
const EXCLUDES: f64 = 1.959_963_984_540_054;
/// Φ⁻¹(.8).
const SEEN: f64 = 0.841_621_233_572_914_3;
/// Where the prior weighs more than this, no effect is said to be seen.
const MOST_PRIOR: f64 = 0.5;

/// What a forecast follows from.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedStudy<'a> {
    /// The method.
    pub method: &'a Method,
    /// What is promised: the method's own, or the same with another ε.
    pub promise: &'a Promise,
    /// Rows, sites and inputs.
    pub public: &'a PublicNumbers,
    /// p: precision of every coefficient under the prior.
    pub prior_precision: f64,
    /// θ of the encoded inputs, where the study states it; else all are 0, and both levels of an outcome equally frequent.
    pub coefficients: Option<&'a [f64]>,
}

/// The posterior to expect.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedPosterior {
    /// Σ of the coefficients of the encoded inputs, packed.
    pub covariance: Vec<f64>,
    /// How many there are.
    pub width: usize,
    /// p.
    pub prior_precision: f64,
}

/// The interval of one effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedInterval {
    /// s: posterior standard deviation of the contrast.
    pub deviation: f64,
    /// Smallest true contrast whose 95 % interval excludes 0 with probability [`POWER`]; none where the prior alone decides.
    pub smallest: Option<f64>,
}

impl ExpectedInterval {
    /// How far the 90 % interval reaches to either side.
    pub fn reach(&self) -> f64 {
        REACH * self.deviation
    }
}

impl ExpectedPosterior {
    /// The interval of Σ wⱼθⱼ, for places and weights of a contrast, in units of the contrast.
    pub fn along(&self, weights: &[(usize, f64)], unit: f64) -> Option<ExpectedInterval> {
        let mut c = vec![0.0; self.width];
        for (place, weight) in weights {
            *c.get_mut(*place)? += unit * weight;
        }
        let image = symmetric_times(&self.covariance, &c);
        let variance = c.iter().zip(&image).map(|(a, b)| a * b).sum::<f64>().max(0.0);
        let prior = c.iter().map(|v| v * v).sum::<f64>() / self.prior_precision;
        let (deviation, weighs) = (variance.sqrt(), variance / prior);
        let left = 1.0 - weighs;
        let smallest = (weighs < MOST_PRIOR).then(|| deviation * (EXCLUDES + SEEN * left.sqrt()) / left);
        Some(ExpectedInterval { deviation, smallest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contrast of two coefficients of variance ¼ and covariance 1/8, under a prior of variance 4 each.
    #[test]
    fn contrasts_have_their_deviation_and_the_prior_raises_what_is_seen() {
        let posterior = ExpectedPosterior { covariance: vec![0.25, 0.125, 0.25], width: 2, prior_precision: 0.25 };
        let of = |p: f64| {
            let posterior = ExpectedPosterior { prior_precision: p, ..posterior.clone() };
            posterior.along(&[(0, 1.0), (1, -1.0)], 2.0).unwrap()
        };
        let wide = of(0.25);
        assert!((wide.deviation - 1.0).abs() < 1e-15 && (wide.reach() - REACH).abs() < 1e-15);
        // The prior's variance is 2·4·4 = 32.
        let left: f64 = 31.0 / 32.0;
        assert!((wide.smallest.unwrap() - (1.959_964 + 0.841_621 * left.sqrt()) / left).abs() < 1e-5);
        assert!(of(3.0).smallest.unwrap() > wide.smallest.unwrap());
        assert_eq!(of(7.9).smallest, None, "the prior alone decides");
        assert_eq!(posterior.along(&[(2, 1.0)], 1.0), None);
    }

    /// Posterior means of a conjugate model: the stated effect is seen in .8 of the replicates.
    #[test]
    fn the_smallest_effect_is_seen_four_times_in_five() {
        let (variance, prior) = (0.09_f64, 1.0);
        let posterior = ExpectedPosterior { covariance: vec![variance], width: 1, prior_precision: prior };
        let expected = posterior.along(&[(0, 1.0)], 1.0).unwrap();
        // Data of precision 1/.09 − 1 about e.
        let told = 1.0 / variance - prior;
        let (mut draws, e) = (vec![0.0; 40_000], expected.smallest.unwrap());
        let mut rng = <chacha20::ChaCha8Rng as rand_core::SeedableRng>::from_seed([9; 32]);
        crate::draws::standard_normals(&mut rng, &mut draws);
        let mean = |z: f64| variance * told * (e + z / told.sqrt());
        let seen = draws.iter().filter(|z| mean(**z) > EXCLUDES * expected.deviation).count() as f64 / 40_000.0;
        // Five standard errors.
        assert!((seen - POWER).abs() < 0.01, "{seen}");
    }
}
