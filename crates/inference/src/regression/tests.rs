//! Slopes, conjugate answers, coverage and odd numbers: what the noise-aware posterior must get right.

use super::working::Working;
use super::*;
use crate::draws::standard_normals;
use chacha20::ChaCha8Rng;
use proptest::prelude::*;
use rand_core::SeedableRng;

fn generator(seed: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    ChaCha8Rng::from_seed(key)
}

fn normals(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    let mut values = vec![0.0; count];
    standard_normals(rng, &mut values);
    values
}

/// Noisy statistics of rows x ~ N(0, I), y = (xᵀθ + N(0, 1))/unit.
fn seen(theta: &[f64], rows: u64, deviation: f64, radius: f64, unit: f64, rng: &mut ChaCha8Rng) -> ObservedSums {
    let (d, entries) = (theta.len(), linalg::packed(theta.len() + 1));
    let mut matrix = vec![0.0; entries];
    for _ in 0..rows {
        let mut z = normals(rng, d + 1);
        z[d] = (linalg::dot(&z[..d], theta) + z[d]) / unit;
        let weight = (radius * radius / linalg::dot(&z, &z)).min(1.0);
        for i in 0..=d {
            (0..=i).for_each(|j| matrix[linalg::place(i, j)] += weight * z[i] * z[j]);
        }
    }
    let noise = normals(rng, entries);
    for i in 0..=d {
        for j in 0..=i {
            let share = if i == j { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
            matrix[linalg::place(i, j)] += share * deviation * noise[linalg::place(i, j)];
        }
    }
    ObservedSums { rows, inputs: d, matrix, deviation, radius }
}

fn weak(d: usize) -> RegressionPrior {
    let coefficients = PriorTerm::about_zero(vec![1.0; d]);
    RegressionPrior { coefficients, noise_variance: NoiseVariance::InverseGamma { shape: 2.0, scale: 0.5 } }
}

#[test]
fn the_slope_is_that_of_the_density() {
    let mut rng = generator(1);
    let theta = [0.5, -0.3, 0.2];
    for (radius, tolerance) in [(f64::INFINITY, 1e-4), (3.0, 0.05), (1.5, 0.1)] {
        let seen = seen(&theta, 300, 20.0, radius, 1.0, &mut rng);
        let known = RegressionPrior { noise_variance: NoiseVariance::Known(0.8), ..weak(3) };
        for prior in [weak(3), known] {
            let working = Working::new(&seen, &prior);
            let phi: Vec<f64> = normals(&mut rng, working.len()).iter().map(|v| 0.1 * v).collect();
            let (_, slope) = working.log_density(&phi).unwrap();
            let size = slope.iter().fold(0.0, |m: f64, v| v.abs().max(m));
            for k in 0..phi.len() {
                let moved = |by: f64| {
                    let mut there = phi.clone();
                    there[k] += by;
                    working.log_density(&there).unwrap().0
                };
                let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                let off = (slope[k] - expected).abs() / size;
                assert!(off < tolerance, "R = {radius}, coordinate {k}: {} against {expected}", slope[k]);
            }
        }
    }
}

/// Without noise and clipping the answer is that of conjugate regression, up to the central limit theorem.
#[test]
fn without_noise_the_posterior_is_the_conjugate_one() {
    let mut rng = generator(2);
    let theta = [0.7, -0.4];
    let seen = seen(&theta, 2000, 0.0, f64::INFINITY, 1.0, &mut rng);
    let prior = RegressionPrior { noise_variance: NoiseVariance::Known(1.0), ..weak(2) };
    let found = noise_aware(&seen, &prior, [3; 32]).unwrap();
    let exact = seen.statistics().naive(&prior.coefficients, 1.0).unwrap();
    for j in 0..2 {
        let (deviation, spread) = (exact.deviations()[j], found.covariance()[linalg::place(j, j)].sqrt());
        assert!((found.mean()[j] - exact.mean()[j]).abs() < 0.25 * deviation, "{:?} {:?}", found.mean(), exact.mean());
        assert!((spread / deviation - 1.0).abs() < 0.12, "{spread} {deviation}");
    }
    assert_eq!(found, noise_aware(&seen, &prior, [3; 32]).unwrap());
    assert_ne!(found, noise_aware(&seen, &prior, [4; 32]).unwrap());
}

/// Inputs that nearly determine each other: a prior of Ω_xx that expects independent ones holds the small eigenvalue up, and the
/// coefficients along it go towards 0 with narrow intervals (on the inputs of wine 57 % of 90 % intervals held).
#[test]
fn inputs_that_nearly_determine_each_other_keep_their_effects() {
    let (n, correlation, half) = (6000, 0.97, 0.5);
    // θ = (½, −½), σ² = 1: Ω_xy = Ω_xx θ.
    let cross = half * (1.0 - correlation);
    let packed = [1.0, correlation, 1.0, cross, -cross, 1.0 + 2.0 * half * cross];
    let matrix = packed.iter().map(|v| v * n as f64).collect();
    let seen = ObservedSums { rows: n, inputs: 2, matrix, deviation: 30.0, radius: f64::INFINITY };
    let posterior = noise_aware(&seen, &weak(2), [9; 32]).unwrap();
    for (j, truth) in [half, -half].into_iter().enumerate() {
        let spread = posterior.covariance()[linalg::place(j, j)].sqrt();
        assert!((posterior.mean()[j] - truth).abs() < 0.8 * spread, "{:?} ± {spread}", posterior.mean());
    }
}

/// Where noise drowns everything the prior is left: θ within it, intervals about ±1.645 of its deviation.
#[test]
fn noise_that_drowns_the_rows_leaves_the_prior() {
    let seen = seen(&[0.5], 50, 1e7, 1.0, 1.0, &mut generator(4));
    let posterior = noise_aware(&seen, &weak(1), [5; 32]).unwrap();
    let [low, high] = posterior.interval(0, 0.9);
    assert!((low + 1.645).abs() < 0.3 && (high - 1.645).abs() < 0.3, "{low} {high}");
}

/// Two chains from other seeds agree as well as their lengths allow: split R̂ of θ below 1.05.
#[test]
fn chains_agree() {
    for (d, deviation) in [(1, 30.0), (4, 60.0)] {
        let seen = seen(&vec![0.4; d], 1000, deviation, default_radius(d), 1.5, &mut generator(6));
        let chains: Vec<RegressionPosterior> =
            [7, 8].iter().map(|s| noise_aware(&seen, &weak(d), [*s; 32]).unwrap()).collect();
        for j in 0..=d {
            let halves: Vec<Vec<f64>> = (chains.iter())
                .flat_map(|c| {
                    let all: Vec<f64> = c.draws().map(|draw| draw[j]).collect();
                    all.chunks(all.len() / 2).map(<[f64]>::to_vec).collect::<Vec<_>>()
                })
                .collect();
            let n = halves[0].len() as f64;
            let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
            let variance = |v: &[f64]| v.iter().map(|x| (x - mean(v)).powi(2)).sum::<f64>() / (v.len() as f64 - 1.0);
            let means: Vec<f64> = halves.iter().map(|h| mean(h)).collect();
            let within = mean(&halves.iter().map(|h| variance(h)).collect::<Vec<f64>>());
            let reduction = ((n - 1.0) / n + variance(&means) / within).sqrt();
            assert!(reduction < 1.05, "d = {d}, coordinate {j}: {reduction}");
        }
    }
}

/// A small table of coverage; the example `regression_coverage` prints the whole one.
#[test]
fn intervals_cover_and_naive_ones_do_not() {
    // Deviations of the noise are those of ε = 1, δ = 1e-5 (z = 3.73) and of ε = 0.1 (z = 30.7).
    for (d, rows, multiplier) in [(1_usize, 1000_u64, 30.7), (3, 1000, 3.73)] {
        let (radius, unit) = (default_radius(d), (1.0 + d as f64).sqrt());
        let deviation = multiplier * 2.0_f64.sqrt() * radius * radius;
        let units = Units { inputs: &vec![1.0; d], outcome: unit };
        let prior =
            units.prior(&PriorTerm::about_zero(vec![1.0; d]), NoiseVariance::InverseGamma { shape: 2.0, scale: 1.0 });
        let (mut aware, mut naive) = (0.0, 0.0);
        let replicates = if std::env::var_os("POSTERITY_FULL").is_some() { 100 } else { 40 };
        for replicate in 0..replicates {
            let mut rng = generator(100 + replicate);
            let theta = normals(&mut rng, d);
            let seen = seen(&theta, rows, deviation, radius, unit, &mut rng);
            let posterior = noise_aware(&seen, &prior, [9; 32]).unwrap().in_data_units(&units);
            let word = seen.statistics().naive(&prior.coefficients, 1.0 / (unit * unit)).unwrap();
            for (j, t) in theta.iter().enumerate() {
                let [low, high] = posterior.interval(j, 0.9);
                aware += f64::from(low <= *t && *t <= high) / d as f64;
                let off = (word.mean()[j] * unit - t).abs();
                naive += f64::from(off < 1.645 * word.deviations()[j] * unit) / d as f64;
            }
        }
        let share = |covering: f64| covering / f64::from(replicates as u32);
        assert!((0.82..=0.98).contains(&share(aware)), "d = {d}: {aware} of {replicates} intervals cover");
        assert!(share(naive) < 0.7, "d = {d}: {naive} of {replicates} naive intervals cover");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_a_sentence() {
    let good = seen(&[0.5, 0.5], 50, 1.0, 2.0, 1.0, &mut generator(10));
    let refused =
        |seen: &ObservedSums, prior: &RegressionPrior| noise_aware(seen, prior, [0; 32]).unwrap_err().to_string();
    let short = ObservedSums { matrix: vec![1.0; 5], ..good.clone() };
    assert_eq!(refused(&short, &weak(2)), "sufficient statistics: found 5 statistics, expected 6 for 2 inputs");
    assert!(refused(&good, &weak(1)).contains("expected a prior of 2 coefficients"));
    assert!(refused(&ObservedSums { deviation: f64::NAN, ..good.clone() }, &weak(2)).contains("deviation"));
    assert!(refused(&ObservedSums { radius: 0.0, ..good.clone() }, &weak(2)).contains("bound"));
    let known = RegressionPrior { noise_variance: NoiseVariance::Known(0.0), ..weak(2) };
    assert!(refused(&good, &known).contains("variance"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: proptest::test_runner::RngSeed::Fixed(11), ..ProptestConfig::default() })]

    /// Any finite numbers give a proper posterior, or an error: never one that is not finite.
    #[test]
    fn any_numbers_give_finite_draws(
        d in 1_usize..4, rows in 1_u64..200, scale in -3.0_f64..9.0, deviation in -2.0_f64..9.0,
        radius in prop_oneof![Just(f64::INFINITY), 0.1_f64..10.0], seed in any::<u64>(),
    ) {
        let size = libm::exp(scale * std::f64::consts::LN_10);
        let matrix = normals(&mut generator(seed), linalg::packed(d + 1)).iter().map(|v| v * size).collect();
        let deviation = libm::exp(deviation * std::f64::consts::LN_10);
        let seen = ObservedSums { rows, inputs: d, matrix, deviation, radius };
        if let Ok(posterior) = noise_aware(&seen, &weak(d), [1; 32]) {
            prop_assert!(posterior.draws().flatten().all(|v| v.is_finite()));
            prop_assert!(posterior.noise_variance() > 0.0);
        }
    }
}
