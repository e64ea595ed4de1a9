//! Nanoseconds per draw of the exact samplers, over ChaCha20.
#![allow(missing_docs)]

use chacha20::ChaCha20Rng;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use privacy::noise::{DiscreteGaussian, DiscreteLaplace, RoundedGaussian, Skellam};
use rand_core::{Rng, SeedableRng};

/// Draws of one measured call.
const DRAWS: usize = 4096;

fn main() {
    divan::main();
}

/// Measures `DRAWS` draws at a time, so that the printed items are draws.
fn draws(bencher: Bencher, mut fill: impl FnMut(&mut ChaCha20Rng, &mut [i64])) {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let mut noise = vec![0; DRAWS];
    bencher.counter(ItemsCount::new(DRAWS)).bench_local(|| fill(&mut rng, black_box(&mut noise)));
}

/// The generator alone: one word a draw.
#[divan::bench]
fn words(bencher: Bencher) {
    draws(bencher, |rng, noise| noise.iter_mut().for_each(|value| *value = rng.next_u64() as i64));
}

#[divan::bench(args = [0.5, 1.0, 5.0, 300.0, 1_048_576.0, 1_073_741_824.0])]
fn rounded_gaussian(bencher: Bencher, deviation: f64) {
    let sampler = RoundedGaussian::new(deviation).expect("a valid deviation");
    draws(bencher, |rng, noise| sampler.fill(rng, noise));
}

#[divan::bench(args = [1.0, 300.0, 1_048_576.0])]
fn discrete_gaussian(bencher: Bencher, deviation: f64) {
    let sampler = DiscreteGaussian::new(deviation * deviation).expect("a valid variance");
    draws(bencher, |rng, noise| sampler.fill(rng, noise));
}

#[divan::bench(args = [1.0, 300.0, 1_048_576.0])]
fn discrete_laplace(bencher: Bencher, scale: f64) {
    let sampler = DiscreteLaplace::new(scale).expect("a valid scale");
    draws(bencher, |rng, noise| sampler.fill(rng, noise));
}

#[divan::bench(args = [1.0, 5.0, 300.0, 1_048_576.0])]
fn skellam(bencher: Bencher, deviation: f64) {
    let sampler = Skellam::new(deviation * deviation).expect("a valid variance");
    draws(bencher, |rng, noise| sampler.fill(rng, noise));
}
