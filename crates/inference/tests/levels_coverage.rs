//! Noise-aware levels on made-up designs: hard cases that must be read, and coverage of intervals.

use crate::common::levels::{Inputs, Study};
use crate::common::sized;
use inference::algorithm::levels::DRAWS;

fn seed(case: usize, replicate: usize) -> [u8; 32] {
    let mut seed = [0; 32];
    seed[0] = case as u8;
    seed[1..9].copy_from_slice(&(replicate as u64).to_le_bytes());
    seed
}

/// Few rows, much noise, many inputs.
#[test]
fn hard_cases_serve_a_proper_posterior() {
    let replicates = sized(2, 60);
    let hard = [
        Study { sources: 10, epsilon: 0.05, ..Study::of(Inputs::Correlated(0.8), 50, 30) },
        Study { sources: 10, epsilon: 0.3, ..Study::of(Inputs::Categories, 300, 46) },
        Study { sources: 10, epsilon: 3.0, ..Study::of(Inputs::Categories, 2_000, 46) },
        Study { sources: 10, epsilon: 0.3, ..Study::of(Inputs::Flags, 100, 30) },
        Study { sources: 1, epsilon: 8.0, ..Study::of(Inputs::Categories, 300, 30) },
    ];
    for (case, study) in hard.iter().enumerate() {
        for replicate in 0..replicates {
            let seed = seed(case, replicate);
            let posterior = study.made(seed).run(study).posterior(&seed);
            let posterior = posterior.unwrap_or_else(|| panic!("{study:?}, replicate {replicate}: no posterior"));
            let case = format!("{study:?}, replicate {replicate}");
            assert!(posterior.mean.iter().all(|v| v.is_finite()), "{case}");
            assert_eq!(posterior.draws, DRAWS, "{case}");
            let d = posterior.mean.len();
            let full = |i: usize, j: usize| posterior.covariance[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
            assert!(nalgebra::DMatrix::from_fn(d, d, full).cholesky().is_some(), "{case}");
            // The prior's variance is 1/4; draws that disagree add to it.
            let widest = (0..d).map(|j| full(j, j)).fold(0.0, f64::max);
            assert!(widest < 1.0, "{case}: a variance of {widest}");
        }
    }
}
