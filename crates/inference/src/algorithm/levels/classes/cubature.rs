//! Fixed points and weights for expectations over a few standard normal variables.
//!
//! Up to three variables: products of 15 Gauss-Hermite points, without those of negligible weight. More: orthogonal frames of a
//! fixed seed with their opposites, of equal weight, transformed so that their second moments are exactly those of a normal.

use super::super::moments::POINTS;
use crate::linalg::{cholesky, packed, place, solve_lower};
use crate::model::frame::frames;

/// Most variables of product rules.
const MOST_OF_PRODUCTS: usize = 3;
/// Least weight of a point of a product rule.
const LEAST_WEIGHT: f64 = 1e-8;
/// Points of frames, about.
const FRAME_POINTS: usize = 1_000;
/// Seed of the frames: the points are constants.
const FRAME_SEED: u64 = 1;

/// Points with weights that add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct NormalPoints {
    dimension: usize,
    points: Vec<f64>,
    weights: Vec<f64>,
}

impl NormalPoints {
    /// For so many variables.
    pub fn new(dimension: usize) -> Self {
        let dimension = dimension.max(1);
        if dimension <= MOST_OF_PRODUCTS { Self::products(dimension) } else { Self::frames(dimension) }
    }

    fn products(dimension: usize) -> Self {
        let line: Vec<(f64, f64)> = POINTS
            .iter()
            .flat_map(|(x, w)| if *x > 0.0 { vec![(*x, *w), (-*x, *w)] } else { vec![(*x, *w)] })
            .collect();
        let mut all: Vec<(Vec<f64>, f64)> = vec![(Vec::new(), 1.0)];
        for _ in 0..dimension {
            let extended = |(point, weight): &(Vec<f64>, f64)| {
                let with = |(x, w): &(f64, f64)| (point.iter().copied().chain([*x]).collect(), weight * w);
                line.iter().map(with).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(extended).filter(|(_, weight)| *weight > LEAST_WEIGHT).collect();
        }
        let total: f64 = all.iter().map(|(_, weight)| weight).sum();
        Self {
            dimension,
            weights: all.iter().map(|(_, weight)| weight / total).collect(),
            points: all.into_iter().flat_map(|(point, _)| point).collect(),
        }
    }

    fn frames(dimension: usize) -> Self {
        let mut points = Vec::new();
        frames(dimension, FRAME_POINTS.div_ceil(2 * dimension), FRAME_SEED, &mut points);
        let count = points.len() / dimension;
        let mut second = vec![0.0; packed(dimension)];
        for g in points.chunks(dimension) {
            for i in 0..dimension {
                (0..=i).for_each(|j| second[place(i, j)] += g[i] * g[j] / count as f64);
            }
        }
        if let Some(factor) = cholesky(&second, dimension) {
            points.chunks_mut(dimension).for_each(|g| solve_lower(&factor, g));
        }
        Self { dimension, points, weights: vec![1.0 / count as f64; count] }
    }

    /// Points with their weights.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.points.chunks(self.dimension).zip(self.weights.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_normal_variables() {
        for dimension in [1, 2, 3, 4, 9] {
            let points = NormalPoints::new(dimension);
            let mean = |f: &dyn Fn(&[f64]) -> f64| points.iter().map(|(g, w)| w * f(g)).sum::<f64>();
            assert!((mean(&|_| 1.0) - 1.0).abs() < 1e-12);
            for i in 0..dimension {
                assert!(mean(&|g| g[i]).abs() < 1e-12);
                for j in 0..=i {
                    let expected = f64::from(u8::from(i == j));
                    let found = mean(&|g| g[i] * g[j]);
                    assert!((found - expected).abs() < 1e-4, "{dimension} {i} {j}: {found}");
                }
                let fourth = mean(&|g| g[i].powi(4));
                assert!((fourth - 3.0).abs() < 0.6, "{dimension} {i}: {fourth}");
            }
        }
    }
}
