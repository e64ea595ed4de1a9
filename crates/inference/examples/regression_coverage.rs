//! Prints how often 90 % intervals of noise-aware and naive posteriors hold the truth, and how wide they are.
//!
//! x ~ N(0, Ω_xx), y = xᵀθ + N(0, 1), θ ~ N(0, I). One Gaussian release of the clipped statistics at (ε, 1e-5), one row
//! replaced: sensitivity √2·R². The argument is the number of replicates, 400 by default.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // an example prints and takes an argument

use chacha20::ChaCha8Rng;
use inference::regression::{NoiseVariance, ObservedSums, Units, default_radius, noise_aware};
use inference::{Gaussian, PriorTerm};
use privacy::accounting::calibrate::calibrate;
use privacy::accounting::gdp::Gdp;
use privacy::{Adjacency, Delta, Epsilon, Event, Steps};
use rand_core::SeedableRng as _;
use rayon::prelude::*;
use std::error::Error;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// Half a 90 % interval of a normal distribution, in deviations.
const HALF: f64 = 1.644_853_626_951_472_7;

/// One row of the table.
#[derive(Clone, Copy)]
struct Cell {
    inputs: usize,
    rows: u64,
    epsilon: f64,
    /// Correlation of neighbouring inputs.
    correlation: f64,
}

/// Averages over replicates and coordinates.
#[derive(Clone, Copy, Default)]
struct Found {
    covered: f64,
    covered_naive: f64,
    width: f64,
    width_naive: f64,
    width_clear: f64,
    squared_error: f64,
    squared_error_ridge: f64,
}

impl Found {
    fn plus(self, other: Self, share: f64) -> Self {
        Self {
            covered: self.covered + share * other.covered,
            covered_naive: self.covered_naive + share * other.covered_naive,
            width: self.width + share * other.width,
            width_naive: self.width_naive + share * other.width_naive,
            width_clear: self.width_clear + share * other.width_clear,
            squared_error: self.squared_error + share * other.squared_error,
            squared_error_ridge: self.squared_error_ridge + share * other.squared_error_ridge,
        }
    }
}

fn normals(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    Gaussian::new_diagonal(vec![0.0; count], vec![1.0; count]).map_or_else(Vec::new, |q| q.sample(rng))
}

/// Σ w² zzᵀ, packed, of rows drawn from the cell's model; also without clipping.
fn statistics(cell: &Cell, theta: &[f64], unit: f64, radius: f64, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
    let p = cell.inputs + 1;
    let mut sums = (vec![0.0; p * (p + 1) / 2], vec![0.0; p * (p + 1) / 2]);
    let rest = (1.0 - cell.correlation * cell.correlation).sqrt();
    for _ in 0..cell.rows {
        let mut z = normals(rng, p);
        (1..cell.inputs).for_each(|j| z[j] = cell.correlation * z[j - 1] + rest * z[j]);
        let mean: f64 = z.iter().zip(theta).map(|(x, t)| x * t).sum();
        z[cell.inputs] = (mean + z[cell.inputs]) / unit;
        let weight = (radius * radius / z.iter().map(|v| v * v).sum::<f64>()).min(1.0);
        let entries = (0..p).flat_map(|i| (0..=i).map(move |j| (i, j)));
        for (k, (i, j)) in entries.enumerate() {
            sums.0[k] += weight * z[i] * z[j];
            sums.1[k] += z[i] * z[j];
        }
    }
    sums
}

/// One replicate.
fn replicate(cell: &Cell, multiplier: f64, index: u64) -> Result<Found, Box<dyn Error + Send + Sync>> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&index.to_le_bytes());
    seed[8..16].copy_from_slice(&cell.rows.to_le_bytes());
    seed[16..24].copy_from_slice(&cell.epsilon.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(seed);
    let (d, radius) = (cell.inputs, default_radius(cell.inputs));
    let (ones, unit) = (vec![1.0; d], (1.0 + d as f64).sqrt());
    let units = Units { inputs: &ones, outcome: unit };
    let improper = "a posterior is not proper";
    let about_zero = PriorTerm::independent(vec![0.0; d], ones.clone()).ok_or(improper)?;
    let prior = units.prior(&about_zero, NoiseVariance::InverseGamma { shape: 2.0, scale: 1.0 });
    let theta = normals(&mut rng, d);
    let (mut matrix, clear) = statistics(cell, &theta, unit, radius, &mut rng);
    let deviation = multiplier * SQRT_2 * radius * radius;
    let shares = (0..=d).flat_map(|i| (0..=i).map(move |j| if i == j { 1.0 } else { FRAC_1_SQRT_2 }));
    let noise = normals(&mut rng, matrix.len());
    matrix.iter_mut().zip(shares.zip(noise)).for_each(|(m, (share, e))| *m += share * deviation * e);
    let seen = ObservedSums { rows: cell.rows, inputs: d, matrix, deviation, radius };
    let clear = ObservedSums { matrix: clear, deviation: 0.0, radius: f64::INFINITY, ..seen.clone() };
    let aware = noise_aware(&seen, &prior, seed)?.in_data_units(&units);
    let variance = 1.0 / (unit * unit);
    let naive = seen.statistics().naive(&prior.coefficients, variance).ok_or(improper)?;
    let ridge = seen.statistics().ridge(&prior.coefficients, variance).ok_or(improper)?;
    let clear = clear.statistics().naive(&prior.coefficients, variance).ok_or(improper)?;
    let (mean, naive_half, clear_half) = (aware.mean(), naive.deviations(), clear.deviations());
    let coordinate = |j: usize| {
        let ([low, high], truth) = (aware.interval(j, 0.9), theta[j]);
        let off = (naive.mean()[j] * unit - truth).abs();
        Found {
            covered: f64::from(low <= truth && truth <= high),
            covered_naive: f64::from(off <= HALF * naive_half[j] * unit),
            width: high - low,
            width_naive: 2.0 * HALF * naive_half[j] * unit,
            width_clear: 2.0 * HALF * clear_half[j] * unit,
            squared_error: (mean[j] - truth) * (mean[j] - truth),
            squared_error_ridge: (ridge.mean()[j] * unit - truth) * (ridge.mean()[j] * unit - truth),
        }
    };
    Ok((0..d).fold(Found::default(), |sum, j| sum.plus(coordinate(j), 1.0 / d as f64)))
}

fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (inputs, correlation) in [(1, 0.0), (5, 0.0), (10, 0.0), (5, 0.5)] {
        for rows in [1_000, 10_000] {
            cells.extend([0.1, 1.0, 3.0].map(|epsilon| Cell { inputs, rows, epsilon, correlation }));
        }
    }
    cells
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let replicates: u64 = std::env::args().nth(1).map_or(Ok(400), |text| text.parse())?;
    println!(
        "| d | N | ε | correlation | noise-aware covers | naive covers | width | naive | no privacy | error | ridge |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for cell in cells() {
        let plan = |z| Ok(vec![Event::gaussian(z, Adjacency::Substitute, Steps::ONE)]);
        let multiplier = calibrate(&Gdp, &plan, Epsilon::new(cell.epsilon)?, Delta::new(1e-5)?)?.get();
        let found: Vec<Found> =
            (0..replicates).into_par_iter().map(|k| replicate(&cell, multiplier, k)).collect::<Result<_, _>>()?;
        let mean = found.iter().fold(Found::default(), |sum, one| sum.plus(*one, 1.0 / replicates as f64));
        println!(
            "| {} | {} | {} | {} | {:.1} % | {:.1} % | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} |",
            cell.inputs,
            cell.rows,
            cell.epsilon,
            cell.correlation,
            100.0 * mean.covered,
            100.0 * mean.covered_naive,
            mean.width,
            mean.width_naive,
            mean.width_clear,
            mean.squared_error.sqrt(),
            mean.squared_error_ridge.sqrt(),
        );
    }
    Ok(())
}
