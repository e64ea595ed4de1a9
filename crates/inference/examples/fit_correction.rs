//! Prints `src/chain/correction_table.rs`: the correction distributions, by non-negative least squares.
//!
//! `cargo run --release -p posterity-inference --example fit_correction > crates/inference/src/chain/correction_table.rs`.
//! The largest errors of each mixture go to standard error. `docs/maths/correction.md` says why it is done this way;
//! `tests/correction.rs` fits again, and proves the errors of what is shipped.
#![allow(clippy::disallowed_macros)] // an example prints

use inference::chain::Component;
use std::f64::consts::FRAC_1_SQRT_2;

/// The variances C that have a table.
pub(crate) const VARIANCES: [f64; 10] = [3.25, 3.0, 2.75, 2.5, 2.25, 2.0, 1.75, 1.5, 1.25, 1.0];
/// Distance of neighbouring candidates for a component's mean, and of neighbouring points of the fit.
const SPACING: f64 = 1.0 / 16.0;
/// Deviation of every candidate.
const DEVIATION: f64 = 1.0 / 32.0;
/// Candidates stand at 0, 1/16, …, 16; beyond lies 2e-7 of the logistic distribution.
const CANDIDATES: usize = 257;
/// Points of the fit lie between 0 and 20.
const POINTS: usize = 320;
/// A candidate enters the mixture if it goes down steeper than this, relative to the lengths of its column and the target.
const STEEPNESS: f64 = 1e-14;
/// More rounds than any fit needs.
const ROUNDS: usize = 2000;

/// P(N(±mean, spread²) > x), both signs alike.
fn tail(x: f64, mean: f64, spread: f64) -> f64 {
    let above = |mean: f64| libm::erfc((x - mean) / spread * FRAC_1_SQRT_2);
    0.25 * (above(mean) + above(-mean))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// One column for each candidate beside zero, and the target: rows of F = S, each divided by √(S(1 − S)).
///
/// The candidate at zero has the weight that the others leave, so that the weights sum to one. Its column is subtracted
/// from theirs and from the target.
fn equations(variance: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let points: Vec<f64> = (0..POINTS).map(|i| (i as f64 + 0.5) * SPACING).collect();
    let beyond = |x: f64| 1.0 / (1.0 + libm::exp(x));
    let scale = |x: f64| 1.0 / (beyond(x) * beyond(-x)).sqrt();
    let spread = (variance + DEVIATION * DEVIATION).sqrt();
    let column = |k: usize| {
        let mean = k as f64 * SPACING;
        points.iter().map(|&x| scale(x) * (tail(x, mean, spread) - tail(x, 0.0, spread))).collect()
    };
    let target = points.iter().map(|&x| scale(x) * (beyond(x) - tail(x, 0.0, spread))).collect();
    ((1..CANDIDATES).map(column).collect(), target)
}

/// The z that minimises ‖target − Σ z_j column_j‖, by modified Gram-Schmidt with the target as the last column.
///
/// As accurate as Householder's reflections: Björck 1967 (BIT 7).
fn least_squares(columns: &[Vec<f64>], chosen: &[usize], target: &[f64]) -> Vec<f64> {
    let mut work: Vec<Vec<f64>> = chosen.iter().map(|&j| columns[j].clone()).chain([target.to_vec()]).collect();
    let n = chosen.len();
    let mut triangle = vec![vec![0.0; n + 1]; n];
    for j in 0..n {
        let length = dot(&work[j], &work[j]).sqrt();
        let (done, rest) = work.split_at_mut(j + 1);
        let direction = &mut done[j];
        direction.iter_mut().for_each(|value| *value /= length);
        triangle[j][j] = length;
        for (k, column) in rest.iter_mut().enumerate() {
            let along = dot(direction, column);
            triangle[j][j + 1 + k] = along;
            column.iter_mut().zip(direction.iter()).for_each(|(value, unit)| *value -= along * unit);
        }
    }
    let mut z = vec![0.0; n];
    for j in (0..n).rev() {
        z[j] = (triangle[j][n] - dot(&triangle[j][j + 1..n], &z[j + 1..])) / triangle[j][j];
    }
    z
}

/// The same over z ≥ 0: Lawson and Hanson 1974, *Solving Least Squares Problems*, algorithm NNLS (23.10).
///
/// Candidates enter by the steepest way down; one whose weight would become negative leaves. The answer is sparse: it
/// solves the equations of its own few candidates and no other candidate would improve it.
fn non_negative(columns: &[Vec<f64>], target: &[f64]) -> Vec<f64> {
    let length = |v: &[f64]| dot(v, v).sqrt();
    let lengths: Vec<f64> = columns.iter().map(|column| length(column)).collect();
    let enough = STEEPNESS * length(target);
    let mut weights = vec![0.0; columns.len()];
    let mut chosen: Vec<usize> = Vec::new();
    for _ in 0..ROUNDS {
        let mut rest = target.to_vec();
        for &j in &chosen {
            rest.iter_mut().zip(&columns[j]).for_each(|(value, entry)| *value -= weights[j] * entry);
        }
        let steepness = |j: usize| dot(&columns[j], &rest) / lengths[j];
        let mut open: Vec<(f64, usize)> =
            (0..columns.len()).filter(|j| !chosen.contains(j)).map(|j| (steepness(j), j)).collect();
        open.retain(|(down, _)| *down > enough);
        open.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Round-off may send the steepest back at once; then the next one is tried.
        let entered = open.iter().find_map(|&(_, j)| {
            let with: Vec<usize> = chosen.iter().copied().chain([j]).collect();
            let z = least_squares(columns, &with, target);
            (z.last().is_some_and(|&weight| weight > 0.0)).then_some((with, z))
        });
        let Some((with, mut z)) = entered else { break };
        chosen = with;
        while z.iter().any(|&weight| weight <= 0.0) {
            let step = |(&j, &to): (&usize, &f64)| (to <= 0.0).then(|| weights[j] / (weights[j] - to));
            let share = chosen.iter().zip(&z).filter_map(step).fold(1.0, f64::min);
            for (&j, &to) in chosen.iter().zip(&z) {
                weights[j] += share * (to - weights[j]);
                if to <= 0.0 && weights[j] <= 1e-15 {
                    weights[j] = 0.0;
                }
            }
            chosen.retain(|&j| weights[j] > 0.0);
            z = least_squares(columns, &chosen, target);
        }
        chosen.iter().zip(&z).for_each(|(&j, &to)| weights[j] = to);
    }
    weights
}

/// Neighbouring candidates become one component with their weight, mean and variance.
fn merged(weights: &[f64]) -> Vec<Component> {
    let groups = weights.split(|&weight| weight == 0.0);
    let mut place = 0.0;
    let mut components = Vec::new();
    for group in groups {
        if !group.is_empty() {
            let means: Vec<f64> = (0..group.len()).map(|k| (place + k as f64) * SPACING).collect();
            let weight: f64 = group.iter().sum();
            let mean = dot(group, &means) / weight;
            let squares: f64 = group.iter().zip(&means).map(|(w, m)| w * (m - mean) * (m - mean)).sum();
            let deviation = (squares / weight + DEVIATION * DEVIATION).sqrt();
            components.push(Component { weight, mean, deviation });
        }
        place += group.len() as f64 + 1.0;
    }
    components
}

/// The mixture for a variance C of the Gaussian part.
pub(crate) fn fit(variance: f64) -> Vec<Component> {
    let (columns, target) = equations(variance);
    let others = non_negative(&columns, &target);
    let centre = 1.0 - others.iter().sum::<f64>();
    merged(&[&[centre][..], &others].concat())
}

/// Largest |F − S|, and largest |log(F/(1 − F)) − x| for |x| ≤ 5, on a grid.
fn errors(variance: f64, mixture: &[Component]) -> (f64, f64) {
    let beyond = |x: f64| -> f64 {
        let spread = |c: &Component| (variance + c.deviation * c.deviation).sqrt();
        mixture.iter().map(|c| c.weight * tail(x, c.mean, spread(c))).sum()
    };
    let grid = (0..=20_000).map(|i| f64::from(i) * 1e-3);
    grid.fold((0.0, 0.0), |(most, logit), x| {
        let error = (beyond(x) - 1.0 / (1.0 + libm::exp(x))).abs();
        let bias = if x <= 5.0 { (libm::log(beyond(-x) / beyond(x)) - x).abs() } else { 0.0 };
        (f64::max(most, error), f64::max(logit, bias))
    })
}

fn main() {
    println!("//! The correction distributions, printed by `examples/fit_correction.rs`.\n");
    println!("use super::Component;\n");
    println!("/// C and its mixture.");
    println!("pub(super) const TABLES: [(f64, &[Component]); {}] = [", VARIANCES.len());
    for variance in VARIANCES {
        let mixture = fit(variance);
        let (most, logit) = errors(variance, &mixture);
        eprintln!("C = {variance}: {} components, |F − S| ≤ {most:.3e}, logit {logit:.3e}", mixture.len());
        println!("    (\n        {variance:?},\n        &[");
        for Component { weight, mean, deviation } in mixture {
            println!("            Component {{ weight: {weight:?}, mean: {mean:?}, deviation: {deviation:?} }},");
        }
        println!("        ],\n    ),");
    }
    println!("];");
}
