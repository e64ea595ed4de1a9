//! Noise-aware levels of several classes: coverage of their intervals on a made-up design.

use crate::common::class_levels::ClassStudy;
use crate::common::sized;
use inference::algorithm::levels::{DRAWS, ServedPrior};

/// How often intervals of 90 % cover, over all coefficients and replicates, and the root mean square error.
fn coverage(study: &ClassStudy, replicates: usize) -> (f64, f64) {
    let (mut covered, mut all, mut squares) = (0, 0, 0.0);
    for replicate in 0..replicates {
        let mut seed = [0; 32];
        seed[0] = 77;
        seed[1..9].copy_from_slice(&(replicate as u64).to_le_bytes());
        let made = study.made(seed);
        let posterior = made.posterior(study, ServedPrior::Stated).unwrap();
        assert_eq!(posterior.draws, DRAWS, "{study:?}, replicate {replicate}");
        let size = posterior.mean.len();
        let full = |i: usize, j: usize| posterior.precision[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
        let covariance = nalgebra::DMatrix::from_fn(size, size, full).cholesky().unwrap().inverse();
        // Differences from the first class: they do not depend on the common shift.
        let d = study.inputs + 1;
        for k in d..size {
            let j = k % d;
            let off = posterior.mean[k] - posterior.mean[j] - (made.theta[k] - made.theta[j]);
            let variance = covariance[(k, k)] + covariance[(j, j)] - 2.0 * covariance[(k, j)];
            covered += usize::from(off.abs() < 1.645 * variance.sqrt());
            squares += off * off;
            all += 1;
        }
    }
    (covered as f64 / all as f64, (squares / all as f64).sqrt())
}

/// ε = 1 and 3, one and ten sources.
#[test]
fn intervals_of_three_classes_cover() {
    let replicates = sized(4, 40);
    for (sources, epsilon) in [(1, 1.0), (1, 3.0), (10, 1.0), (10, 3.0)] {
        let study = ClassStudy { rows: 5_000, inputs: 5, classes: 3, sources, epsilon };
        let (covered, error) = coverage(&study, replicates);
        // 48 coefficients of a small run, within replicates correlated.
        let (least, most) = sized((0.70, 1.0), (0.86, 0.94));
        assert!((least..=most).contains(&covered), "{study:?}: {covered}, root mean square error {error}");
    }
}
