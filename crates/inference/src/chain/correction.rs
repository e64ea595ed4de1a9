//! The correction distribution: V_cor, with N(0, C) + V_cor nearly the standard logistic distribution.
//!
//! Barker's test accepts with probability S(Δ) = 1/(1 + e^(−Δ)), that is if Δ + V > 0 for V logistic. A private test
//! adds N(0, C) for privacy, or has it from sampling, and V_cor makes up the rest. No distribution makes it up exactly,
//! for any C > 0 (`docs/maths/correction.md`), so V_cor is a symmetric mixture of few Gaussians, as in Supplement 5 of
//! Heikkilä et al. 2019 (arXiv:1901.10275), found by `examples/fit_correction.rs` and shipped as constants.

use super::correction_table::TABLES;
use crate::draws::standard_normals;
use rand_core::Rng;
use std::f64::consts::FRAC_1_SQRT_2;

/// A mirrored component: half its weight at N(mean, deviation²) and half at N(−mean, deviation²).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Component {
    /// Its share of the mixture; those of all components sum to one.
    pub weight: f64,
    /// Distance of both halves from zero.
    pub mean: f64,
    /// Deviation of both halves.
    pub deviation: f64,
}

/// V_cor for one variance C of the Gaussian part.
///
/// Errors of F, the distribution function of N(0, C) + V_cor, against the logistic S: largest |F − S|, and largest
/// |log(F/(1 − F)) − x| for |x| ≤ 5, which is how far acceptance is from detailed balance.
///
/// | C | of the distribution function | of the logit | components |
/// |---|---|---|---|
/// | 2 | 1.16e-3 | 8.8e-3 | 6 |
/// | 1.5 | 6.0e-5 | 5.2e-4 | 9 |
/// | 1 | 2.7e-7 | 4.7e-6 | 13 |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correction {
    /// C.
    variance: f64,
    /// The mixture that stands for V_cor.
    components: &'static [Component],
}

impl Correction {
    /// The correction for Gaussian noise of variance C, if there is a table for it: C = 2, 1.5 or 1.
    pub fn for_variance(variance: f64) -> Option<Self> {
        let table = TABLES.iter().find(|table| table.0 == variance)?;
        Some(Self { variance, components: table.1 })
    }

    /// C.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The mixture.
    pub fn components(&self) -> &'static [Component] {
        self.components
    }

    /// A draw of V_cor. Weights are followed to 2^-53, normal draws are multiples of 2^-40.
    pub fn draw(&self, rng: &mut impl Rng) -> f64 {
        let bits = rng.next_u64();
        let mut left = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
        let mut normal = [0.0];
        standard_normals(rng, &mut normal);
        let (mut mean, mut deviation) = (0.0, 0.0);
        for component in self.components {
            (mean, deviation) = (component.mean, component.deviation);
            left -= component.weight;
            if left < 0.0 {
                break;
            }
        }
        sign * mean + deviation * normal[0]
    }

    /// F(x): the distribution function of N(0, C) + V_cor. Both tails are accurate: F(−x) = 1 − F(x) is not cancelled.
    pub fn distribution(&self, x: f64) -> f64 {
        let at = |component: &Component| {
            let spread = (self.variance + component.deviation * component.deviation).sqrt();
            let below = |mean: f64| libm::erfc((mean - x) / spread * FRAC_1_SQRT_2);
            0.25 * component.weight * (below(component.mean) + below(-component.mean))
        };
        self.components.iter().map(at).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Kolmogorov's statistic times √n is over 1.95 once in a thousand times; seeds are fixed.
    #[test]
    fn a_normal_draw_plus_a_correction_follows_the_distribution_function() {
        for (variance, near_logistic) in [(2.0, 1.17e-3), (1.5, 6.1e-5), (1.0, 2.9e-7)] {
            let correction = Correction::for_variance(variance).unwrap();
            let mut rng = ChaCha8Rng::from_seed([41; 32]);
            let mut sums = vec![0.0; 200_000];
            standard_normals(&mut rng, &mut sums);
            sums.iter_mut().for_each(|x| *x = *x * variance.sqrt() + correction.draw(&mut rng));
            sums.sort_by(f64::total_cmp);
            let n = sums.len() as f64;
            let apart = |f: &dyn Fn(f64) -> f64| {
                let at = |(i, &x): (usize, &f64)| (f(x) - i as f64 / n).abs().max((f(x) - (i + 1) as f64 / n).abs());
                sums.iter().enumerate().map(at).fold(0.0, f64::max)
            };
            let slack = 1.95 / n.sqrt();
            let ours = apart(&|x| correction.distribution(x));
            assert!(ours < slack, "C = {variance}: {ours}");
            let logistic = apart(&|x| 1.0 / (1.0 + libm::exp(-x)));
            assert!(logistic < slack + near_logistic, "C = {variance}: {logistic}");
        }
    }

    #[test]
    fn distant_components_are_drawn_as_often_as_they_weigh() {
        let correction = Correction::for_variance(2.0).unwrap();
        let mut rng = ChaCha8Rng::from_seed([42; 32]);
        let draws: Vec<f64> = (0..400_000).map(|_| correction.draw(&mut rng)).collect();
        for component in &correction.components()[..4] {
            let near = |x: &&f64| (x.abs() - component.mean).abs() < 0.5;
            let share = draws.iter().filter(near).count() as f64 / draws.len() as f64;
            let slack = 4.0 * (component.weight / draws.len() as f64).sqrt();
            assert!((share - component.weight).abs() < slack, "{component:?}: {share}");
        }
    }
}
