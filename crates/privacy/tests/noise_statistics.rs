//! Every sampler against its exact probabilities, and deliberately wrong noise against the same statistics.
#![allow(missing_docs)]

use crate::rounded_gaussian;
use crate::statistics;

use crate::statistics::{IntegerCells, LIMIT, chi_square, correlation, phi, spread};
use chacha20::ChaCha20Rng;
use privacy::noise::{DiscreteGaussian, DiscreteLaplace, Poisson, RandomisedResponse, RoundedGaussian, Skellam};
use privacy::{Categories, Gamma};
use rand_core::{Rng, SeedableRng};
use std::collections::BTreeSet;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn gaussians(s: f64, seed: u8, count: usize) -> Vec<i64> {
    let mut noise = vec![0; count];
    RoundedGaussian::new(s).unwrap().fill(&mut rng(seed), &mut noise);
    noise
}

/// Asserts that draws have the probabilities of the cells.
fn fits(what: &str, cells: &IntegerCells, draws: usize, mut draw: impl FnMut() -> i64) {
    let result = cells.judge((0..draws).map(|_| draw()));
    assert!(result.z().abs() < LIMIT, "{what}: {result:?}, z = {}", result.z());
}

#[test]
fn rounded_gaussians_have_their_probabilities() {
    for (seed, s) in rounded_gaussian::DEVIATIONS.into_iter().enumerate() {
        let (values, bits) = rounded_gaussian::judge(s, 1_000_000, seed as u8);
        assert!(values.z().abs() < LIMIT, "s = {s}: {values:?}");
        assert!(bits.is_none_or(|bits| bits.z().abs() < LIMIT), "low bits at s = {s}: {bits:?}");
    }
}

#[test]
fn the_tails_are_there() {
    // P(|Z| > 4.5 s) = 6.8e-6, beyond the last layer: 13.6 of two million are expected.
    let far = gaussians(1e6, 1, 2_000_000).iter().filter(|k| k.abs() > 4_500_000).count();
    assert!((2..40).contains(&far), "{far} draws beyond 4.5 deviations");
}

#[test]
fn discrete_gaussians_have_their_probabilities() {
    for (seed, variance) in [2_f64.powi(-20), 0.1, 0.25, 1.0, 7.3, 2000.0 / 3.0].into_iter().enumerate() {
        let reach = (12.0 * f64::sqrt(variance)).ceil() as i64;
        let weights: Vec<f64> = (-reach..=reach).map(|k| (-(k * k) as f64 / (2.0 * variance)).exp()).collect();
        let (sampler, mut rng) = (DiscreteGaussian::new(variance).unwrap(), rng(seed as u8));
        if variance < 0.01 {
            assert!((0..10_000).all(|_| sampler.sample(&mut rng) == 0));
        } else {
            let cells = IntegerCells::points(-reach, &weights);
            fits(&format!("variance {variance}"), &cells, 300_000, || sampler.sample(&mut rng));
        }
    }
}

#[test]
fn wide_discrete_noise_has_the_normal_probabilities() {
    // Discrete Gaussian and Skellam variables of deviation s have P(K < k) = Φ((k − ½)/s) up to terms of order 1/s².
    for (seed, s) in [2_f64.powi(16), 1e5 / 3.0 * 31.0, 2_f64.powi(20), 2_f64.powi(30)].into_iter().enumerate() {
        let cells = IntegerCells::symmetric(s, |edge| phi((edge - 0.5) / s));
        let (gaussian, mut bits) = (DiscreteGaussian::new(s * s).unwrap(), rng(seed as u8 + 10));
        fits(&format!("discrete Gaussian {s}"), &cells, 300_000, || gaussian.sample(&mut bits));
        let (skellam, mut bits) = (Skellam::new(s * s).unwrap(), rng(seed as u8 + 20));
        fits(&format!("Skellam {s}"), &cells, 100_000, || skellam.sample(&mut bits));
    }
}

#[test]
fn discrete_laplace_noise_has_its_probabilities() {
    for (seed, scale) in [0.2, 1.0, 7.3, 300.0, 1e6 / 3.0].into_iter().enumerate() {
        // P(K < k) = e^((k − 1)/b)/(1 + e^(−1/b)) for k ≤ 0.
        let cells = IntegerCells::symmetric(scale * 1.5, |edge| {
            f64::exp((edge - 1.0) / scale) / (1.0 + f64::exp(-1.0 / scale))
        });
        let (sampler, mut rng) = (DiscreteLaplace::new(scale).unwrap(), rng(seed as u8));
        fits(&format!("scale {scale}"), &cells, 300_000, || sampler.sample(&mut rng));
    }
}

/// P(K = k) up to a constant, on 2·reach + 1 integers around the mode, by the ratio λ/(k + 1).
fn poisson_weights(mean: f64, first: i64, count: usize) -> Vec<f64> {
    let mode = mean.floor() as i64;
    let mut weights = vec![0.0; count];
    let at = (mode - first) as usize;
    weights[at] = 1.0;
    for i in at + 1..count {
        weights[i] = weights[i - 1] * mean / (first + i as i64) as f64;
    }
    for i in (0..at).rev() {
        weights[i] = weights[i + 1] * (first + i as i64 + 1) as f64 / mean;
    }
    weights
}

#[test]
fn poisson_variables_have_their_probabilities() {
    for (seed, mean) in
        [0.3, 1.0, 5.7, 31.9, 32.0, 33.3, 100.0, 1000.5, 12_345.6, 1e6, 2_f64.powi(31)].into_iter().enumerate()
    {
        let reach = (9.0 * f64::sqrt(mean) + 20.0) as i64;
        let first = (mean as i64 - reach).max(0);
        let count = (mean as i64 + reach - first) as usize;
        let cells =
            IntegerCells::points(first, &poisson_weights(mean, first, count)).joined(1 + (mean.sqrt() / 50.0) as usize);
        let (sampler, mut rng) = (Poisson::new(mean).unwrap(), rng(seed as u8));
        fits(&format!("mean {mean}"), &cells, 300_000, || sampler.sample(&mut rng));
    }
}

#[test]
fn skellam_noise_has_its_probabilities() {
    for (seed, variance) in [0.5, 3.0, 40.0, 400.7].into_iter().enumerate() {
        let reach = (12.0 * f64::sqrt(variance) + 20.0) as i64;
        let halves = poisson_weights(variance / 2.0, 0, (variance / 2.0) as usize + 2 * reach as usize);
        let weight = |k: i64| halves.iter().skip(k.unsigned_abs() as usize).zip(&halves).map(|(a, b)| a * b).sum();
        let weights: Vec<f64> = (-reach..=reach).map(weight).collect();
        let (sampler, mut rng) = (Skellam::new(variance).unwrap(), rng(seed as u8));
        fits(&format!("variance {variance}"), &IntegerCells::points(-reach, &weights), 300_000, || {
            sampler.sample(&mut rng)
        });
    }
}

#[test]
fn randomised_responses_have_their_probabilities() {
    for (seed, (k, gamma)) in [(2, 0.3), (5, 1.0), (64, 0.01), (3, 1e-100)].into_iter().enumerate() {
        let sampler = RandomisedResponse::new(Categories::new(k).unwrap(), Gamma::new(gamma).unwrap());
        let (mut rng, mut counts) = (rng(seed as u8), vec![0; k as usize]);
        let truth = k - 1;
        for _ in 0..300_000 {
            counts[sampler.respond(truth, &mut rng).unwrap() as usize] += 1;
        }
        if gamma <= 1e-100 {
            assert_eq!(counts[truth as usize], 300_000);
            continue;
        }
        let mut probabilities = vec![gamma / k as f64; k as usize];
        probabilities[truth as usize] += 1.0 - gamma;
        let result = chi_square(&counts, &probabilities, 300_000);
        assert!(result.z().abs() < LIMIT, "k = {k}, gamma = {gamma}: {result:?}");
        assert!(sampler.respond(k, &mut rng).is_err());
    }
}

#[test]
fn draws_are_uncorrelated() {
    let noise = gaussians(300.0, 3, 400_000);
    for lag in 1..=64 {
        let r = correlation(&noise[lag..], &noise);
        assert!(r.abs() < LIMIT, "lag {lag}: {r}");
    }
    // As coordinates of 50,000 vectors of eight.
    let coordinate = |c: usize| noise.iter().skip(c).step_by(8).copied().collect::<Vec<i64>>();
    let columns: Vec<Vec<i64>> = (0..8).map(coordinate).collect();
    for a in 0..8 {
        for b in 0..a {
            assert!(correlation(&columns[a], &columns[b]).abs() < LIMIT, "coordinates {a} and {b}");
        }
    }
    // Nor are the squares.
    let squares: Vec<i64> = noise.iter().map(|k| k * k - 90_000).collect();
    assert!((1..=16).all(|lag| correlation(&squares[lag..], &squares).abs() < LIMIT));
}

#[test]
fn two_streams_are_never_equal() {
    let streams: BTreeSet<Vec<i64>> = (0..=255).map(|seed| gaussians(300.0, seed, 16)).collect();
    assert_eq!(streams.len(), 256);
    let (a, b) = (gaussians(300.0, 1, 100_000), gaussians(300.0, 2, 100_000));
    assert!(correlation(&a, &b).abs() < LIMIT);
    assert!(spread(&a, 300.0).abs() < LIMIT && spread(&b, 300.0).abs() < LIMIT);
}

#[test]
fn samples_and_fills_are_the_same() {
    let (sampler, mut bits) = (RoundedGaussian::new(17.5).unwrap(), rng(4));
    let one_by_one: Vec<i64> = (0..1000).map(|_| sampler.sample(&mut bits)).collect();
    assert_eq!(one_by_one, gaussians(17.5, 4, 1000));
}

#[test]
fn a_fixed_key_gives_known_noise() {
    let mut bits = rng(42);
    let mut first = |draw: &dyn Fn(&mut ChaCha20Rng) -> i64| (0..6).map(|_| draw(&mut bits)).collect::<Vec<i64>>();
    let rounded = RoundedGaussian::new(300.0).unwrap();
    assert_eq!(first(&|r| rounded.sample(r)), [-35, 285, 441, 24, -112, 170]);
    let gaussian = DiscreteGaussian::new(90_000.0).unwrap();
    assert_eq!(first(&|r| gaussian.sample(r)), [2, 635, 176, -108, 101, -295]);
    let laplace = DiscreteLaplace::new(300.0).unwrap();
    assert_eq!(first(&|r| laplace.sample(r)), [-566, 482, -361, -204, -1575, -302]);
    let skellam = Skellam::new(90_000.0).unwrap();
    assert_eq!(first(&|r| skellam.sample(r)), [137, 753, -242, 269, -247, -168]);
    let response = RandomisedResponse::new(Categories::new(10).unwrap(), Gamma::new(0.5).unwrap());
    assert_eq!(first(&|r| response.respond(3, r).unwrap() as i64), [7, 7, 1, 0, 2, 7]);
    assert_eq!(bits.next_u64(), 10_761_769_024_675_817_364);
}

/// Noise of another deviation than the one that it is judged by.
fn scaled_noise_is_noticed(factor: f64) {
    let z = spread(&gaussians(300.0 * factor, 5, 50_000), 300.0);
    assert!(z.abs() > LIMIT, "noise of {factor} times the deviation passes: z = {z}");
    assert!(spread(&gaussians(300.0, 5, 50_000), 300.0).abs() < LIMIT);
    let values = IntegerCells::rounded_gaussian(300.0).judge(gaussians(300.0 * factor, 5, 1_000_000).into_iter());
    assert!(values.z() > LIMIT);
}

#[test]
fn mutant_m1_half_the_deviation() {
    scaled_noise_is_noticed(0.5);
}

#[test]
fn mutant_m2_half_the_variance() {
    scaled_noise_is_noticed(std::f64::consts::FRAC_1_SQRT_2);
}

#[test]
fn mutant_m3_three_per_cent_less() {
    scaled_noise_is_noticed(0.97);
}

#[test]
fn mutant_m10_noise_reused_each_round() {
    let rounds: Vec<Vec<i64>> = (0..4).map(|_| gaussians(300.0, 6, 1000)).collect();
    assert!(correlation(&rounds[0], &rounds[1]) > LIMIT);
    assert!(rounds.iter().collect::<BTreeSet<_>>().len() < rounds.len());
}

#[test]
fn mutant_m11_one_key_for_two_blocks() {
    // The second block is longer and of another scale: the correlation shows it all the same.
    let (weights, biases) = (gaussians(300.0, 7, 1000), gaussians(20.0, 7, 4000));
    assert!(correlation(&weights, &biases) > LIMIT);
    assert!(correlation(&weights, &gaussians(20.0, 8, 4000)).abs() < LIMIT);
}

#[test]
fn mutant_float_noise_scaled_and_truncated_shows_in_the_low_bits() {
    // A deviation of 2^30 from a normal variable of 24 bits: the low bits are not uniform.
    let coarse = gaussians(2_f64.powi(24), 9, 100_000);
    assert!(statistics::low_bits(coarse.iter().map(|k| k << 6)).z() > LIMIT);
}
