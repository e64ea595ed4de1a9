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

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha8Rng;
    use rand_core::SeedableRng;

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
