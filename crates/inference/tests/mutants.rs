//! Mutants of sampling and randomness, each beside the check that catches it (names as in `docs/mutants.md`).

use crate::common::{first_task, natural, private_methods, problem, rng, rows, simulation, site_of_records, sites};
use inference::message::Direct;
use inference::solve::{LocalSolve, Solved, Virtual};
use inference::{ClientView, Progress, Rows, Stage, Terms};
use privacy::noise::{NoiseContext, Seeded};
use privacy::record::{Divergence, NoiseCall, Tape};
use privacy::{
    Adjacency, Batch, Bounded, Event, Gate, Grain, Grant, Grid, Ledger, LocalGate, Mechanism, MemoryJournal,
    NoiseMultiplier, NormBound, Released, Sampling, SamplingRate, Shape, Steps, Unit,
};
use rand_core::Rng;
use std::collections::BTreeSet;

/// True if no two noise vectors of a run share a coordinate, and no number stands twice in one of them. By chance two
/// numbers are equal once in three million.
fn noise_is_fresh(calls: &[NoiseCall]) -> bool {
    let blocks: Vec<&Vec<i64>> = calls.iter().flat_map(|c| &c.noise).collect();
    let apart = |a: &[i64], b: &[i64]| a.iter().zip(b).all(|(a, b)| a != b);
    let once = |a: &[i64]| a.iter().collect::<BTreeSet<_>>().len() == a.len();
    blocks.iter().enumerate().all(|(i, a)| once(a) && blocks[i + 1..].iter().all(|b| apart(a, b)))
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
        let once = built.plan.clients[0].charges() == 1;
        assert!(tape.calls().len() > 1 || once, "{}", method.name);
        assert!(noise_is_fresh(&tape.calls()), "{}", method.name);
    }
}

/// Three rounds of one client, after something was done to their noise.
fn fresh_after(change: fn(&mut [NoiseCall])) -> bool {
    let tape = Tape::record();
    (0..3).for_each(|round| release(&NoiseContext { round, ..NoiseContext::default() }, &tape));
    let mut calls = tape.calls();
    change(&mut calls);
    noise_is_fresh(&calls)
}

#[test]
fn mutant_m10_one_coordinate_of_the_noise_kept_from_round_to_round_is_caught() {
    assert!(fresh_after(|_| ()));
    assert!(!fresh_after(|calls| calls[2].noise[0][3] = calls[0].noise[0][3]));
}

#[test]
fn mutant_m11_one_key_for_two_blocks_of_a_vector_is_caught() {
    assert!(!fresh_after(|calls| calls[1].noise[0].copy_within(..2, 2)));
}

#[test]
fn mutant_m19_a_coordinate_that_is_never_noised_is_caught() {
    assert!(!fresh_after(|calls| calls.iter_mut().for_each(|call| call.noise[0][1] = 0)));
}

fn event(rate: f64, steps: u64) -> Event {
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0).unwrap() };
    let sampling = Sampling::Poisson { rate: SamplingRate::new(rate).unwrap() };
    Event::new(mechanism, Adjacency::AddRemove, Unit::Example, sampling, Steps::new(steps).unwrap()).unwrap()
}

fn gate(event: &Event, context: &NoiseContext, tape: Option<&Tape>) -> LocalGate {
    let bound = NormBound::new(1.0).unwrap();
    let grid = Grid::for_noise(bound, 1.0).unwrap();
    let shape = Shape::new(4, bound, Grain::Example, grid).unwrap();
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

/// One answer of virtual clients at a recorded gate, under add-remove of an example.
fn answer_in_parts(rows: Rows, ids: Vec<u64>, tape: &Tape) {
    let shard = site_of_records("a site", rows, &ids).shard;
    let problem = problem();
    let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0).unwrap() };
    let event = Event::new(mechanism, Adjacency::AddRemove, Unit::Example, Sampling::None, Steps::ONE).unwrap();
    let bound = NormBound::new(0.1).unwrap();
    let grain = Grain::Part { count: PARTS };
    let shape = Shape::new(10, bound, grain, Grid::for_noise(bound, 0.2).unwrap()).unwrap();
    let mut journal = MemoryJournal::default();
    let receipt = Ledger::open(Grant::Unlimited, &mut journal).unwrap().charge(&event, &mut journal).unwrap();
    let context = NoiseContext::default();
    let mut gate = LocalGate::recorded(receipt, shape, &mut Seeded::new(3), &context, tape).unwrap();
    let terms = Terms { stage: Stage::Main, event, shape, weight: 1.0, sum: None };
    let seat = ClientView { index: 0, shard: &shard, terms: &terms };
    let none = serde_json::from_str("\"Nothing\"").unwrap();
    let solver = Virtual { parts: PARTS as u32, local: natural(1) };
    match solver.solve(&problem, &first_task(&problem), &none, &seat, &mut gate).unwrap() {
        Solved::Sum(sum) => gate.send(&sum).map(drop).unwrap(),
        Solved::Released { .. } => panic!("parts pass the gate after the solver"),
    }
}

const PARTS: u64 = 12;

#[test]
fn mutant_parts_by_position_under_add_remove_is_caught() {
    let verdict = |pair: u64, ids_without: fn(usize) -> Vec<u64>| {
        let (all, gone) = (rows(40, pair), (pair % 40) as usize);
        let kept: Vec<usize> = (0..40).filter(|&row| row != gone).collect();
        let tape = Tape::record();
        answer_in_parts(all.clone(), (0..40).collect(), &tape);
        let replay = tape.replay();
        answer_in_parts(all.select(&kept), ids_without(gone), &replay);
        replay.verdict()
    };
    // A record keeps its number when another one goes; a place in the table does not.
    let by_record = |gone: usize| (0..40).filter(|&id| id != gone as u64).collect();
    assert!((0..40).all(|pair| verdict(pair, by_record) == Ok(())));
    assert!((0..40).any(|pair| matches!(verdict(pair, |_| (0..39).collect()), Err(Divergence::Moved { .. }))));
}
