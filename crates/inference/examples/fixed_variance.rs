//! The bias of a fixed noise variance in Barker's test, beside noise that completes the batch's own, at the same ε.
//!
//! Prints the table of `docs/maths/dp-mcmc.md`, section 6: conjugate regression, so that the tempered posterior is known exactly.
#![allow(clippy::disallowed_macros)] // an example prints

mod barker_chain;

use barker_chain::{Length, method};
use chacha20::ChaCha8Rng;
use inference::algorithm::chain::TestNoise;
use inference::{Gaussian, Linear, Row, RowKeys, Rows, Shard, Simulation, Site};
use rand_core::{Rng as _, SeedableRng as _};
use std::error::Error;
use std::sync::Arc;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// N, N₀, and rows of a batch.
const ROWS: usize = 20_000;
const COUNTS_AS: u64 = 100;
const BATCHES: [u64; 4] = [100, 300, 1000, 3000];
/// An ε at which bounds of log-ratios are so wide that nothing is clipped.
const UNCLIPPED: f64 = 100.0;
const COMPLETED: TestNoise = TestNoise::Completed { variance: 2.0 };
const FIXED: TestNoise = TestNoise::Fixed { variance: 2.0 };

fn main() -> Outcome<()> {
    let rows = regression(ROWS)?;
    let exact = exact(&rows)?;
    let keys = RowKeys::of_slots((0..ROWS as u64).collect());
    let sites = [Site { name: "one".into(), shard: Shard::new(rows, keys)?, own: Vec::new() }];
    println!(
        "| b | ε | completed: mean off by | deviation | fixed: mean off by | deviation | fixed, unclipped | deviation |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for batch in BATCHES {
        let (epsilon, completed) = run(&sites, COMPLETED, batch, 100.0)?;
        let (_, fixed) = run(&sites, FIXED, batch, epsilon)?;
        let (_, unclipped) = run(&sites, FIXED, batch, UNCLIPPED)?;
        let [completed, fixed, unclipped] = [completed, fixed, unclipped].map(|found| {
            let (mean, deviation) = off(&found, &exact);
            format!("{mean:.3} | ×{deviation:.3}")
        });
        println!("| {batch} | {epsilon:.2} | {completed} | {fixed} | {unclipped} |");
    }
    Ok(())
}

/// ε that was spent, and the Gaussian with the moments of all draws.
fn run(sites: &[Site], noise: TestNoise, batch: u64, epsilon: f64) -> Outcome<(f64, Gaussian)> {
    let length = Length { iterations: 21_000, chains: 8, warm_up: 1000 };
    let (method, test) = (method(0.2, noise, (batch, COUNTS_AS), length, epsilon)?, regression(1)?);
    let model = Arc::new(Linear::known(1.0));
    let simulation = Simulation {
        method: &method,
        sites,
        test: &test,
        model,
        prior: 1.0.into(),
        seed: 1,
        data: [0; 32],
        costs: Arc::default(),
    };
    let record = simulation.run(&mut ())?;
    let spent = record.spending.first().map_or(f64::NAN, |spent| spent.certified);
    Ok((spent, record.posterior))
}

/// How far the means are off, in deviations (root of the mean square), and how much too wide draws are (geometric mean).
fn off(found: &Gaussian, exact: &Gaussian) -> (f64, f64) {
    let (mut square, mut ratio) = (0.0, 1.0);
    for j in 0..2 {
        square += 0.5 * ((found.mean()[j] - exact.mean()[j]) / exact.deviations()[j]).powi(2);
        ratio *= (found.deviations()[j] / exact.deviations()[j]).sqrt();
    }
    (square.sqrt(), ratio)
}

/// Inputs uniform within ±1, y = x₁ − x₂/2 + N(0, 1).
fn regression(count: usize) -> Outcome<Rows> {
    let mut rng = ChaCha8Rng::seed_from_u64(count as u64);
    let mut rows = Rows::new(2, 2)?;
    for _ in 0..count {
        let mut uniform = || (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
        let bell = (-2.0 * libm::log(uniform())).sqrt() * libm::cos(std::f64::consts::TAU * uniform());
        let x = [2.0 * uniform() - 1.0, 2.0 * uniform() - 1.0];
        rows.push(Row { numbers: &x, ones: &[], outcome: x[0] - 0.5 * x[1] + bell })?;
    }
    Ok(rows)
}

/// Precision 1 + (N₀/N) Σxxᵀ.
fn exact(rows: &Rows) -> Outcome<Gaussian> {
    let temper = COUNTS_AS as f64 / rows.len() as f64;
    let (mut precision, mut pull) = ([1.0, 0.0, 1.0], vec![0.0; 2]);
    for row in rows.iter() {
        let x = row.numbers;
        for (p, square) in precision.iter_mut().zip([x[0] * x[0], x[0] * x[1], x[1] * x[1]]) {
            *p += temper * square;
        }
        pull.iter_mut().zip(x).for_each(|(p, x)| *p += temper * x * row.outcome);
    }
    let determinant = precision[0] * precision[2] - precision[1] * precision[1];
    let mean = vec![
        (precision[2] * pull[0] - precision[1] * pull[1]) / determinant,
        (precision[0] * pull[1] - precision[1] * pull[0]) / determinant,
    ];
    Gaussian::from_precision(mean, &precision).ok_or_else(|| "a proper posterior".into())
}
