//! Standard normal draws for models, initial values and simulations: functions of a generator, never privacy noise.

use privacy::noise::RoundedGaussian;
use rand_core::Rng;
use std::sync::LazyLock;

/// Units of one deviation.
const UNITS: f64 = (1_u64 << 40) as f64;

/// A normal variable of deviation 2^40, rounded to an integer. This deviation is one that the sampler takes.
static SAMPLER: LazyLock<Option<RoundedGaussian>> = LazyLock::new(|| RoundedGaussian::new(UNITS).ok());

/// Fills with independent N(0, 1) draws, each rounded to a multiple of 2^-40.
///
/// Were there no sampler the draws would be NaN, which no later step takes for a number.
pub(crate) fn standard_normals(rng: &mut impl Rng, into: &mut [f64]) {
    match &*SAMPLER {
        Some(sampler) => into.iter_mut().for_each(|x| *x = sampler.sample(rng) as f64 / UNITS),
        None => into.fill(f64::NAN),
    }
}

/// A gamma variable of this shape and rate 1, by the method of Marsaglia and Tsang (2000).
///
/// With d = a − ⅓ and c = 1/√(9d), d(1 + cx)³ for a standard normal x is taken with a probability that makes it exact; of a shape under
/// 1 one of a + 1 is multiplied by U^(1/a).
pub(crate) fn standard_gamma(rng: &mut impl Rng, shape: f64) -> f64 {
    let boost = if shape < 1.0 { libm::pow(uniform(rng), shape.recip()) } else { 1.0 };
    let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let mut x = [0.0];
        standard_normals(rng, &mut x);
        let cube = (1.0 + c * x[0]).powi(3);
        // Not a number is taken as it is: it stays one, and no later step takes it for a number.
        if !(cube <= 0.0 || libm::log(uniform(rng)) >= 0.5 * x[0] * x[0] + d * (1.0 - cube + libm::log(cube))) {
            return boost * d * cube;
        }
    }
}

/// Uniform in (0, 1).
pub(crate) fn uniform(rng: &mut impl Rng) -> f64 {
    ((rng.next_u64() >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand_core::SeedableRng;

    #[test]
    fn gamma_draws_have_the_moments_of_their_shape() {
        for shape in [0.4, 1.0, 3.7] {
            let mut rng = ChaCha8Rng::from_seed([9; 32]);
            let draws: Vec<f64> = (0..100_000).map(|_| standard_gamma(&mut rng, shape)).collect();
            let mean = draws.iter().sum::<f64>() / 1e5;
            let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 1e5;
            // Four and a half standard errors of each: the variance of a squared deviation is 2a² + 6a.
            assert!((mean - shape).abs() < 4.5 * (shape / 1e5).sqrt(), "{shape}: {mean}");
            let slack = 4.5 * ((2.0 * shape * shape + 6.0 * shape) / 1e5).sqrt();
            assert!((variance - shape).abs() < slack, "{shape}: {variance}");
        }
    }

    #[test]
    fn draws_have_the_moments_of_a_standard_normal() {
        let mut x = vec![0.0; 200_000];
        standard_normals(&mut ChaCha8Rng::from_seed([3; 32]), &mut x);
        let moment = |k: i32| x.iter().map(|v| v.powi(k)).sum::<f64>() / x.len() as f64;
        // Four and a half standard errors of each.
        for (k, value, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let slack = 4.5 * f64::sqrt(variance / x.len() as f64);
            assert!((moment(k) - value).abs() < slack, "moment {k}: {}", moment(k));
        }
    }
}
