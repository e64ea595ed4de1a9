//! Mutants of sampling and randomness, each beside the check that catches it (names as in the list of mutants).

mod common;

use common::{private_methods, rng, rows, simulation, sites};
use inference::message::Direct;
use inference::{Progress, Rows};
use privacy::noise::{NoiseContext, Seeded};
use privacy::record::{NoiseCall, Tape};
use privacy::{
    Adjacency, Batch, Bounded, Event, Gate, Grant, Ledger, LocalGate, Mechanism, MemoryJournal, NoiseMultiplier,
    Released, Sampling, SamplingRate, Shape, Steps, Unit,
};
use rand_core::Rng;

/// True if no two noise vectors of a run are the same.
fn noise_is_fresh(calls: &[NoiseCall]) -> bool {
    let blocks: Vec<&Vec<i64>> = calls.iter().flat_map(|c| &c.noise).collect();
    blocks.iter().enumerate().all(|(i, a)| blocks[i + 1..].iter().all(|b| a != b))
}

#[test]
fn noise_is_fresh_over_rounds_and_clients_of_every_method() {
    let (sites, test) = (sites(), rows(2, 1));
    for method in private_methods() {
        let simulation = simulation(&method, &sites, &test);
        let built = simulation.build().unwrap();
        let tape = Tape::record();
        let mut drive = simulation.start(&built, &Direct, Some(&tape)).unwrap();
        while drive.rounds() < 3 && drive.round().unwrap() == Progress::Moved {}
        assert!(tape.calls().len() > 1 || method.name.contains("committee"), "{}", method.name);
        assert!(noise_is_fresh(&tape.calls()), "{}", method.name);
    }
}

fn event(rate: f64, steps: u64) -> Event {
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0).unwrap() };
    let sampling = Sampling::Poisson { rate: SamplingRate::new(rate).unwrap() };
    Event::new(mechanism, Adjacency::AddRemove, Unit::Example, sampling, Steps::new(steps).unwrap()).unwrap()
}

fn gate(event: &Event, context: &NoiseContext, tape: Option<&Tape>) -> LocalGate {
    let bound = privacy::NormBound::new(1.0).unwrap();
    let grid = privacy::Grid::for_noise(bound, 1.0).unwrap();
    let shape = Shape::new(4, bound, privacy::Grain::Example, grid).unwrap();
    let mut journal = MemoryJournal::default();
    let receipt = Ledger::open(Grant::Unlimited, &mut journal).unwrap().charge(event, &mut journal).unwrap();
    let source = &mut Seeded::new(3);
    match tape {
        Some(tape) => LocalGate::recorded(receipt, shape, source, context, tape).unwrap(),
        None => LocalGate::simulated(receipt, shape, source, context).unwrap(),
    }
}

/// One empty release at a gate with this context.
fn release(context: &NoiseContext, tape: &Tape) {
    let mut gate = gate(&event(0.5, 1), context, Some(tape));
    let mut batch = Batch::default();
    gate.batch(3, &mut batch).unwrap();
    let sum = Bounded::examples(*gate.shape(), &batch).unwrap();
    gate.release(&sum, &mut Released::zeros(4)).unwrap();
}

#[test]
fn mutant_m12_generator_restored_from_a_checkpoint_is_caught() {
    let (tape, mutant) = (Tape::record(), Tape::record());
    for round in 0..3 {
        release(&NoiseContext { round, ..NoiseContext::default() }, &tape);
        release(&NoiseContext::default(), &mutant); // every round starts from the saved state
    }
    assert!(noise_is_fresh(&tape.calls()) && !noise_is_fresh(&mutant.calls()));
}

#[test]
fn mutant_m13_forked_worker_is_caught() {
    let (tape, mutant) = (Tape::record(), Tape::record());
    for site in 0..3 {
        release(&NoiseContext { site, ..NoiseContext::default() }, &tape);
        release(&NoiseContext { site: 0, round: 1, ..NoiseContext::default() }, &mutant); // children of one parent
    }
    assert!(noise_is_fresh(&tape.calls()) && !noise_is_fresh(&mutant.calls()));
}

const ROWS: usize = 10;
const RATE: f64 = 0.3;
const DRAWS: usize = 20_000;

/// True if rows, pairs within a batch, and a row in two batches in a row come up as under Poisson sampling.
fn looks_poisson(mut draw: impl FnMut() -> Vec<usize>) -> bool {
    let (mut single, mut pair, mut again) = (0_u64, 0_u64, 0_u64);
    let mut before: Vec<usize> = Vec::new();
    for _ in 0..DRAWS {
        let batch = draw();
        let k = batch.len() as u64;
        single += k;
        pair += k * k.saturating_sub(1) / 2;
        again += batch.iter().filter(|i| before.contains(i)).count() as u64;
        before = batch;
    }
    let n = ROWS as f64;
    let close = |count: u64, trials: f64, p: f64| {
        // Pairs share rows, so their count varies more than a binomial: six deviations of the largest possible.
        let (mean, sd) = (DRAWS as f64 * trials * p, (DRAWS as f64 * trials * p).sqrt() * (1.0 + trials * p).sqrt());
        (count as f64 - mean).abs() < 6.0 * sd
    };
    close(single, n, RATE) && close(pair, n * (n - 1.0) / 2.0, RATE * RATE) && close(again, n, RATE * RATE)
}

#[test]
fn batches_of_a_gate_look_poisson() {
    let mut gate = gate(&event(RATE, DRAWS as u64), &NoiseContext::default(), None);
    let (mut batch, mut into) = (Batch::default(), Released::zeros(4));
    assert!(looks_poisson(|| {
        gate.batch(ROWS, &mut batch).unwrap();
        let sum = Bounded::examples(*gate.shape(), &batch).unwrap();
        gate.release(&sum, &mut into).unwrap();
        batch.rows().to_vec()
    }));
}

#[test]
fn mutant_m14_cyclic_batches_are_caught() {
    let mut start = 0;
    assert!(!looks_poisson(|| {
        let batch = (start..start + 3).map(|i| i % ROWS).collect();
        start = (start + 3) % ROWS;
        batch
    }));
}

#[test]
fn mutant_m15_shuffled_epochs_are_caught() {
    let (mut rng, mut order) = (rng(5), Vec::new());
    assert!(!looks_poisson(|| {
        if order.len() < 3 {
            order = (0..ROWS).collect();
            (1..ROWS).rev().for_each(|i| order.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize));
        }
        order.split_off(order.len() - 3)
    }));
}

/// A descent whose step divides by what it is told: the expected batch, or the realised one.
fn descend(rows: &Rows, tape: &Tape, divisor: fn(&Batch) -> f64) -> Vec<f64> {
    let mut gate = gate(&event(RATE, 8), &NoiseContext::default(), Some(tape));
    let (mut batch, mut into, mut theta) = (Batch::default(), Released::zeros(4), vec![0.0; 4]);
    for _ in 0..8 {
        gate.batch(rows.len(), &mut batch).unwrap();
        let mut sum = Bounded::examples(*gate.shape(), &batch).unwrap();
        for &i in batch.rows() {
            sum.push(&rows.row(i).to_dense(5)[..4]).unwrap();
        }
        gate.release(&sum, &mut into).unwrap();
        theta.iter_mut().zip(into.get()).for_each(|(t, g)| *t += g / divisor(&batch));
    }
    theta
}

#[test]
fn mutant_m16_dividing_by_the_realised_batch_is_caught() {
    let all = rows(10, 4);
    let fewer = all.select(&(0..9).collect::<Vec<_>>());
    let transcripts_agree = |divisor: fn(&Batch) -> f64| {
        let tape = Tape::record();
        let first = descend(&all, &tape, divisor);
        first == descend(&fewer, &tape.replay(), divisor)
    };
    assert!(transcripts_agree(|_| 3.0), "a declared constant");
    assert!(!transcripts_agree(|batch| batch.rows().len().max(1) as f64), "the realised batch is private");
}
