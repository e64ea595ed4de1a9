//! The correction distribution: V_cor, with N(0, C) + V_cor nearly the standard logistic distribution.
//!
//! Barker's test accepts with probability S(Δ) = 1/(1 + e^(−Δ)), that is if Δ + V > 0 for V logistic. A private test
//! adds N(0, C) for privacy, or has it from sampling, and V_cor makes up the rest. No distribution makes it up exactly,
//! for any C > 0 (`docs/maths/correction.md`), so V_cor is a symmetric mixture of few Gaussians, as in Supplement 5 of
//! Heikkilä et al. 2019 (arXiv:1901.10275), found by `examples/fit_correction.rs` and shipped as constants.

use super::correction_table::TABLES;
use crate::draws::standard_normals;
use rand_core::Rng;
use std::borrow::Cow;
use std::f64::consts::{E, FRAC_1_SQRT_2, PI};

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

impl Component {
    /// With normal noise of this variance added.
    fn widened(self, variance: f64) -> Self {
        Self { deviation: (self.deviation * self.deviation + variance).sqrt(), ..self }
    }
}

/// V_cor for one variance C of the Gaussian part, over 0 and under π²/3, the variance of the logistic distribution.
///
/// Errors of F, the distribution function of N(0, C) + V_cor, against the logistic S: largest |F − S|, and largest
/// |log(F/(1 − F)) − x| for |x| ≤ 5, which is how far acceptance is from detailed balance.
///
/// | C | of the distribution function | of the logit | components |
/// |---|---|---|---|
/// | 3.25 | 2.31e-2 | 2.7e-1 | 3 |
/// | 3 | 1.64e-2 | 1.7e-1 | 4 |
/// | 2.75 | 1.06e-2 | 9.1e-2 | 4 |
/// | 2.5 | 6.07e-3 | 4.6e-2 | 5 |
/// | 2.25 | 2.96e-3 | 2.6e-2 | 6 |
/// | 2 | 1.16e-3 | 8.8e-3 | 6 |
/// | 1.75 | 3.4e-4 | 2.9e-3 | 7 |
/// | 1.5 | 6.0e-5 | 5.2e-4 | 9 |
/// | 1.25 | 5.5e-6 | 4.5e-5 | 10 |
/// | 1 | 2.7e-7 | 4.7e-6 | 13 |
///
/// Of a C without a table the next larger C′ with one lends its own: N(0, C) + N(0, C′ − C) + V_cor is N(0, C′) + V_cor, so that V_cor
/// widened by C′ − C has the errors of C′. Over the largest table V_cor is N(0, π²/3 − C) alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Correction {
    /// C.
    variance: f64,
    /// The mixture that stands for V_cor.
    components: Cow<'static, [Component]>,
}

/// How far F is from S.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AcceptanceError {
    /// The largest |F − S| on a grid.
    pub found: f64,
    /// At least sup |F − S|.
    pub proved: f64,
    /// The largest |log(F/(1 − F)) − x| for |x| ≤ 5 on the grid.
    pub logit: f64,
}

/// π²/3, the variance of the logistic distribution.
const LOGISTIC_VARIANCE: f64 = PI * PI / 3.0;

/// Spacing of the grid on which errors are looked for, and the number of its steps: up to 40.
const SPACING: f64 = 1.0 / 256.0;
const STEPS: u32 = 40 * 256;

impl Correction {
    /// The largest C that has a correction: a little less than π²/3.
    pub const LARGEST_VARIANCE: f64 = LOGISTIC_VARIANCE - 1e-3;

    /// The correction for Gaussian noise of variance C, if C is over 0 and at most [`Correction::LARGEST_VARIANCE`].
    pub fn for_variance(variance: f64) -> Option<Self> {
        if !(variance > 0.0 && variance <= Self::LARGEST_VARIANCE) {
            return None;
        }
        let next = TABLES.iter().filter(|table| table.0 >= variance).min_by(|a, b| a.0.total_cmp(&b.0));
        let components = match next {
            Some((of, table)) if *of == variance => Cow::Borrowed(*table),
            Some((of, table)) => table.iter().map(|component| component.widened(of - variance)).collect(),
            None => Cow::Owned(vec![
                Component { weight: 1.0, mean: 0.0, deviation: 0.0 }.widened(LOGISTIC_VARIANCE - variance),
            ]),
        };
        Some(Self { variance, components })
    }

    /// C.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// The mixture.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// How far acceptance is from Barker's.
    ///
    /// F − S is odd, so x ≥ 0 suffices. Between places h apart |F − S| is at most the larger of its values there plus
    /// h²/8 · sup |F″ − S″|, and |F″ − S″| ≤ 1/(C√(2πe)) + 1/(6√3). Beyond the last place both tails are under their values there
    /// (`docs/maths/correction.md`).
    pub fn error(&self) -> AcceptanceError {
        let logistic = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        let curvature = 1.0 / (self.variance * (2.0 * PI * E).sqrt()) + 1.0 / (6.0 * 3.0_f64.sqrt());
        let (mut found, mut logit) = (0.0_f64, 0.0_f64);
        for x in (0..=STEPS).map(|step| f64::from(step) * SPACING) {
            let tail = self.distribution(-x);
            found = found.max((tail - logistic(-x)).abs());
            if x <= 5.0 {
                logit = logit.max((libm::log(self.distribution(x) / tail) - x).abs());
            }
        }
        let last = f64::from(STEPS) * SPACING;
        let proved = found + SPACING * SPACING / 8.0 * curvature + self.distribution(-last).max(logistic(-last));
        AcceptanceError { found, proved, logit }
    }

    /// A draw of V_cor. Weights are followed to 2^-53, normal draws are multiples of 2^-40.
    pub fn draw(&self, rng: &mut impl Rng) -> f64 {
        let bits = rng.next_u64();
        let mut left = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
        let mut normal = [0.0];
        standard_normals(rng, &mut normal);
        let (mut mean, mut deviation) = (0.0, 0.0);
        for component in self.components.iter() {
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
    fn every_variance_under_that_of_the_logistic_has_a_correction_with_the_errors_of_the_next_table() {
        let error = |variance| Correction::for_variance(variance).unwrap().error();
        for (variance, of) in [(0.05, 1.0), (0.999, 1.0), (1.2, 1.25), (1.7, 1.75)] {
            let (ours, next) = (error(variance), error(of));
            assert!((ours.found / next.found - 1.0).abs() < 1e-6 && ours.proved >= ours.found, "{variance}: {ours:?}");
        }
        // Of N(0, π²/3) alone.
        let last = error(Correction::LARGEST_VARIANCE);
        assert!((last.found - 0.0226).abs() < 1e-4, "{last:?}");
        for variance in [0.0, -1.0, f64::NAN, PI * PI / 3.0] {
            assert!(Correction::for_variance(variance).is_none(), "{variance}");
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
