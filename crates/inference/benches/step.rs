//! Microseconds of one private gradient step of logistic regression: 108 inputs, batches of about 100 of 2,000 rows.
#![allow(missing_docs)]

use chacha20::ChaCha8Rng;
use divan::Bencher;
use inference::settings::{Batching, Chart, Gradients, Local, Optimiser};
use inference::{Descent, Expectation, Logistic, Model, Row, Rows, Scratch};
use privacy::noise::{NoiseContext, Seeded};
use privacy::{
    Adjacency, Batch, Bounded, Event, Gate, Grain, Grant, Grid, Ledger, LocalGate, Mechanism, MemoryJournal,
    NoiseMultiplier, NormBound, Released, Sampling, SamplingRate, Shape, Steps, Unit,
};
use rand_core::{Rng, SeedableRng};

const WIDTH: usize = 108;
const DENSE: usize = 6;
const ONES: usize = 8;
const ROWS: usize = 2000;
const EXPECTED_BATCH: f64 = 100.0;
const CLIP: f64 = 2.0;
const NOISE_MULTIPLIER: f64 = 1.0;

const LOCAL: Local = Local {
    steps: 1,
    batch: Batching::All,
    optimiser: Optimiser::Adam,
    learning_rate: 1e-3,
    keep_state: false,
    chart: Chart::LogDeviation,
    gradients: Gradients::Full,
};

fn main() {
    divan::main();
}

/// Six numbers between −1 and 1 and eight ones, one in each block of the others.
fn rows() -> Rows {
    let mut rng = ChaCha8Rng::from_seed([1; 32]);
    let mut rows = Rows::new(WIDTH, DENSE).expect("a width");
    let block = (WIDTH - DENSE) / ONES;
    for _ in 0..ROWS {
        let numbers: Vec<f64> = (0..DENSE).map(|_| f64::from(rng.next_u32()) / f64::from(1_u32 << 31) - 1.0).collect();
        let ones: Vec<u32> = (0..ONES).map(|b| (DENSE + b * block + rng.next_u32() as usize % block) as u32).collect();
        let outcome = f64::from(rng.next_u32() % 2);
        rows.push(Row { numbers: &numbers, ones: &ones, outcome }).expect("a row that fits");
    }
    rows
}

fn shape() -> Shape {
    let bound = NormBound::new(CLIP).expect("a bound");
    let grid = Grid::for_noise(bound, 2.0 * CLIP * NOISE_MULTIPLIER).expect("a grid");
    Shape::new(2 * WIDTH, bound, Grain::Example, grid).expect("a shape")
}

fn gate() -> LocalGate {
    let noise_multiplier = NoiseMultiplier::new(NOISE_MULTIPLIER).expect("a multiplier");
    let rate = SamplingRate::new(EXPECTED_BATCH / ROWS as f64).expect("a rate");
    let (sampling, steps) = (Sampling::Poisson { rate }, Steps::new(1_000_000_000).expect("steps"));
    let mechanism = Mechanism::Gaussian { noise_multiplier };
    let event = Event::new(mechanism, Adjacency::Substitute, Unit::Example, sampling, steps).expect("an event");
    let mut journal = MemoryJournal::default();
    let mut ledger = Ledger::open(Grant::Unlimited, &mut journal).expect("a ledger");
    let receipt = ledger.charge(&event, &mut journal).expect("a charge");
    LocalGate::simulated(receipt, shape(), &mut Seeded::new(1), &NoiseContext::default()).expect("a gate")
}

const MODELS: [(&str, Expectation); 2] =
    [("closed form", Expectation::Mixture), ("one sample", Expectation::MonteCarlo { draws: 1 })];

fn model(name: &str) -> Logistic {
    let expectation = MODELS.iter().find(|m| m.0 == name).expect("a name from the list").1;
    Logistic { expectation, ..Logistic::default() }
}

fn start() -> Descent {
    Descent::new(&[0.1; WIDTH], &[0.5; WIDTH], &LOCAL)
}

/// Batch, gradients, clipping, exact noise, optimiser.
#[divan::bench(args = MODELS.map(|m| m.0), sample_size = 100)]
fn whole_step(bencher: Bencher, name: &str) {
    let (rows, model, mut gate, mut q) = (rows(), model(name), gate(), start());
    let (mut batch, mut released, mut scratch) = (Batch::default(), Released::zeros(2 * WIDTH), Scratch::default());
    gate.batch(ROWS, &mut batch).expect("a batch");
    let mut sum = Bounded::examples(shape(), &batch).expect("a sum");
    let mut seed = 0;
    bencher.bench_local(|| {
        sum.begin(&batch).expect("a new sum");
        seed += 1;
        model.gradients(&rows, batch.rows(), q.point(), seed, &mut scratch, &mut sum).expect("gradients");
        gate.release(&sum, &mut released).expect("a release");
        q.step(released.get(), &LOCAL);
        gate.batch(ROWS, &mut batch).expect("a batch");
    });
}

/// Gradients of 100 rows into a plain sum.
#[divan::bench(args = MODELS.map(|m| m.0), sample_size = 100)]
fn gradients_in_the_clear(bencher: Bencher, name: &str) {
    let (rows, model, q, mut scratch) = (rows(), model(name), start(), Scratch::default());
    let which: Vec<usize> = (0..100).map(|i| i * 20).collect();
    let mut sum = vec![0.0; 2 * WIDTH];
    bencher.bench_local(|| model.gradients(&rows, &which, q.point(), 1, &mut scratch, &mut sum).expect("gradients"));
}

/// Poisson sampling, exact noise on 216 coordinates, and nothing else.
#[divan::bench(sample_size = 100)]
fn batch_and_noise(bencher: Bencher) {
    let (mut gate, mut batch, mut released) = (gate(), Batch::default(), Released::zeros(2 * WIDTH));
    gate.batch(ROWS, &mut batch).expect("a batch");
    let mut sum = Bounded::examples(shape(), &batch).expect("a sum");
    bencher.bench_local(|| {
        sum.begin(&batch).expect("a new sum");
        gate.release(&sum, &mut released).expect("a release");
        gate.batch(ROWS, &mut batch).expect("a batch");
    });
}
