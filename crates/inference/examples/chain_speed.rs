//! Times iterations of a private Barker chain, as `posterity sample` makes them, and prints one JSON object per line.
//!
//! The mixture of two normal components: batches of 1,000 rows without replacement, ratios clipped, noise that completes
//! the batch's own to C = 2, data that count as 100 rows, a charge in the ledger and messages in bytes at every iteration.
//! The argument is the number of rows; CPU time of all threads.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)] // an example prints and looks at the clock

mod barker_chain;
mod watch;

use barker_chain::{Length, method};
use chacha20::ChaCha8Rng;
use inference::algorithm::chain::TestNoise;
use inference::message::Direct;
use inference::{Mixture, Row, RowKeys, Rows, Shard, Simulation, Site};
use rand_core::{Rng as _, SeedableRng as _};
use std::error::Error;
use std::sync::Arc;
use watch::{Watch, megabytes};

type Outcome<T> = Result<T, Box<dyn Error>>;

const BATCH: u64 = 1000;
const ITERATIONS: u64 = 20_000;
/// Stretches of the iterations that are timed by themselves; the median counts.
const STRETCHES: u64 = 10;

fn main() -> Outcome<()> {
    let count: usize = std::env::args().nth(1).ok_or("a number of rows")?.parse()?;
    let (sites, test) = ([site(count)?], mixture(1, 2)?);
    let length = Length { iterations: ITERATIONS, chains: 1, warm_up: 1000 };
    let method = method(0.5, TestNoise::Completed { variance: 2.0 }, (BATCH, 100), length, 10.0)?;
    let model = Arc::new(Mixture { variance: 2.0, precisions: [0.1, 1.0] });
    let simulation = Simulation {
        method: &method,
        sites: &sites,
        test: &test,
        model,
        prior: 1.0.into(),
        seed: 1,
        data: [0; 32],
        costs: Arc::default(),
    };
    let built = simulation.build()?;
    let mut drive = simulation.start(&built, &Direct, None)?;
    let mut stretches = Vec::new();
    let (mut accepted, mut before) = (0, Vec::new());
    for _ in 0..STRETCHES {
        let watch = Watch::start();
        for _ in 0..ITERATIONS / STRETCHES {
            drive.round()?;
            let theta = drive.last_draw()?.map(|(_, theta)| theta).unwrap_or_default();
            accepted += u64::from(theta != before);
            before = theta;
        }
        stretches.push(watch.cpu_seconds() * 1e6 * STRETCHES as f64 / ITERATIONS as f64);
    }
    stretches.sort_by(f64::total_cmp);
    println!(
        r#"{{"peer":"posterity","rows":{count},"microseconds":{:.3},"fastest":{:.3},"accepted":{:.4},"megabytes":{:.1}}}"#,
        stretches[stretches.len() / 2],
        stretches[0],
        accepted as f64 / ITERATIONS as f64,
        megabytes("VmHWM:")
    );
    Ok(())
}

fn site(count: usize) -> Outcome<Site> {
    let keys = RowKeys::of_slots((0..count as u64).collect());
    Ok(Site { name: "one".into(), shard: Shard::new(mixture(count, 1)?, keys)?, own: Vec::new() })
}

/// Draws from ½N(0, 2) + ½N(1, 2), and an input that nobody looks at.
fn mixture(count: usize, seed: u64) -> Outcome<Rows> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = Rows::new(1, 0)?;
    for _ in 0..count {
        let mut uniform = || (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
        let bell = (-2.0 * libm::log(uniform())).sqrt() * libm::cos(std::f64::consts::TAU * uniform());
        let outcome = f64::from(u8::from(uniform() < 0.5)) + std::f64::consts::SQRT_2 * bell;
        rows.push(Row { numbers: &[], ones: &[], outcome })?;
    }
    Ok(rows)
}
