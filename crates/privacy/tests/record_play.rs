//! Record-play on neighbouring data sets: a small DP-SGD passes; wrong clipping, wrong sensitivity and a private memory
//! that carries noise are caught.

use crate::common::{charge, context, gaussian_event, shape_for};
use chacha20::ChaCha20Rng;
use privacy::noise::Seeded;
use privacy::record::{Divergence, Tape};
use privacy::{
    Adjacency, Assembly, Batch, Bounded, Cohort, Gate, Grain, LocalGate, NoiseMultiplier, Released, Sampling,
    SamplingRate, SecureSum, Shape, ShareGate, ShareNoise, Steps, SumNoise, Unit,
};
use rand_core::{Rng, SeedableRng};

const Z: f64 = 1.5;
const C: f64 = 1.0;
const D: usize = 4;

type RowTable = Vec<Vec<f64>>;
/// Turns the rows of a batch into vectors of a sum, at the current state.
type PushRows = fn(&RowTable, &Batch, &[f64], &mut Bounded);

fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    rng.next_u64() as f64 / u64::MAX as f64 * 2.0 - 1.0
}

fn random_rows(rng: &mut ChaCha20Rng, count: usize) -> RowTable {
    (0..count).map(|_| (0..D).map(|_| 3.0 * uniform(rng)).collect()).collect()
}

/// A row as an adversary would choose it: ordinary, huge, opposite, not a number, or empty.
fn canary(rng: &mut ChaCha20Rng, kind: usize) -> Vec<f64> {
    let mut row: Vec<f64> = (0..D).map(|_| 3.0 * uniform(rng)).collect();
    match kind % 5 {
        0 => {}
        1 => row.iter_mut().for_each(|x| *x *= 1000.0),
        2 => row = vec![-1e6; D],
        3 => row[1] = f64::NAN,
        _ => row = vec![0.0; D],
    }
    row
}

/// Gradient of ½‖θ − x‖² per row, clipped by the sum.
fn honest_step(rows: &RowTable, batch: &Batch, theta: &[f64], sum: &mut Bounded) {
    for &i in batch.rows() {
        let slope: Vec<f64> = rows[i].iter().zip(theta).map(|(x, t)| t - x).collect();
        sum.push(&slope).unwrap();
    }
}

/// DP-SGD: the gate stands inside the loop, the state is released.
fn descend(rows: &RowTable, adjacency: Adjacency, step: PushRows, tape: &Tape) -> Vec<f64> {
    let sampling = Sampling::Poisson { rate: SamplingRate::new(0.3).unwrap() };
    let event = gaussian_event(Z, adjacency, sampling, 12);
    let shape = shape_for(D, C, Grain::Example, Z);
    let mut gate = LocalGate::recorded(charge(&event), shape, &mut Seeded::new(11), &context(0, 0), tape).unwrap();
    let (mut batch, mut slope, mut theta) = (Batch::default(), Released::zeros(D), Released::zeros(D));
    for _ in 0..12 {
        gate.batch(rows.len(), &mut batch).unwrap();
        let mut sum = Bounded::examples(shape, &batch).unwrap();
        step(rows, &batch, theta.get(), &mut sum);
        gate.release(&sum, &mut slope).unwrap();
        theta.update(&slope, &(), |t, s, ()| t.iter_mut().zip(s).for_each(|(t, s)| *t -= 0.05 * s));
    }
    theta.into_inner()
}

/// Runs both worlds and returns the verdict; the public results must agree.
fn play(first: &RowTable, second: &RowTable, adjacency: Adjacency, step: PushRows) -> Result<(), Divergence> {
    let tape = Tape::record();
    let result = descend(first, adjacency, step, &tape);
    let replay = tape.replay();
    assert_eq!(result, descend(second, adjacency, step, &replay), "the transcripts differ");
    replay.verdict()
}

fn substituted(seed: u8, kind: usize) -> (RowTable, RowTable) {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    let first = random_rows(&mut rng, 20);
    let mut second = first.clone();
    second[kind % 20] = canary(&mut rng, kind);
    (first, second)
}

#[test]
fn dp_sgd_stays_within_its_sensitivity_under_substitution() {
    for pair in 0..200 {
        let (first, second) = substituted(pair, usize::from(pair));
        assert_eq!(play(&first, &second, Adjacency::Substitute, honest_step), Ok(()), "pair {pair}");
    }
}

/// Releases Σ zzᵀ over all rows, twice, as a local gate does for sufficient statistics.
fn release_products(rows: &RowTable, push: fn(&mut Bounded, &[f64]), tape: &Tape) {
    let event = gaussian_event(Z, Adjacency::Substitute, Sampling::None, 2);
    let shape = shape_for(D * (D + 1) / 2, C, Grain::Example, Z);
    let mut gate = LocalGate::recorded(charge(&event), shape, &mut Seeded::new(11), &context(0, 0), tape).unwrap();
    let (mut batch, mut total) = (Batch::default(), Released::zeros(shape.dimension()));
    for _ in 0..2 {
        gate.batch(rows.len(), &mut batch).unwrap();
        let mut sum = Bounded::outer_products(shape, &batch).unwrap();
        batch.rows().iter().for_each(|&i| push(&mut sum, &rows[i]));
        gate.release(&sum, &mut total).unwrap();
    }
}

fn play_products(pair: u8, push: fn(&mut Bounded, &[f64])) -> Result<(), Divergence> {
    let (first, second) = substituted(pair, usize::from(pair));
    let tape = Tape::record();
    release_products(&first, push, &tape);
    let replay = tape.replay();
    release_products(&second, push, &replay);
    replay.verdict()
}

#[test]
fn sums_of_outer_products_stay_within_their_sensitivity() {
    for pair in 0..200 {
        assert_eq!(play_products(pair, |sum, z| sum.push_outer(z).unwrap()), Ok(()), "pair {pair}");
    }
    // A row that is counted twice moves the sum twice as far.
    let twice = |sum: &mut Bounded, z: &[f64]| drop(sum.push_outer(z).and_then(|()| sum.push_outer(z)));
    assert!((0..20).any(|pair| matches!(play_products(pair, twice), Err(Divergence::Moved { .. }))));
}

#[test]
fn dp_sgd_stays_within_its_sensitivity_under_add_remove() {
    for pair in 0..200 {
        let (first, mut second) = substituted(pair, usize::from(pair));
        second.clone_from(&first);
        second.pop();
        assert_eq!(play(&first, &second, Adjacency::AddRemove, honest_step), Ok(()), "pair {pair}");
    }
}

/// True if some neighbouring pair shows the flaw.
fn caught(adjacency: Adjacency, step: PushRows) -> bool {
    (0..20).any(|pair| {
        let (first, second) = substituted(pair, usize::from(pair));
        play(&first, &second, adjacency, step).is_err()
    })
}

#[test]
fn mutant_m4_substitution_charged_as_add_remove_is_caught() {
    assert!(caught(Adjacency::AddRemove, honest_step));
}

#[test]
fn mutant_m7_clipping_the_batch_mean_is_caught() {
    assert!(caught(Adjacency::Substitute, |rows, batch, theta, sum| {
        let n = batch.rows().len() as f64;
        let mean: Vec<f64> =
            (0..D).map(|j| batch.rows().iter().map(|&i| theta[j] - rows[i][j]).sum::<f64>() / n).collect();
        batch.rows().iter().for_each(|_| sum.push(&mean).unwrap());
    }));
}

#[test]
fn a_step_that_looks_at_other_rows_is_caught() {
    // Each slope is divided by the largest norm of the batch: every vector moves with one row.
    assert!(caught(Adjacency::Substitute, |rows, batch, _, sum| {
        let norm = |r: &[f64]| r.iter().map(|x| x * x).sum::<f64>().sqrt();
        let most = batch.rows().iter().map(|&i| norm(&rows[i])).fold(1e-9, f64::max);
        for &i in batch.rows() {
            sum.push(&rows[i].iter().map(|x| x / most).collect::<Vec<_>>()).unwrap();
        }
    }));
}

#[test]
fn a_tape_that_compares_nothing_says_so() {
    assert_eq!(Tape::record().verdict(), Err(Divergence::Nothing));
    assert_eq!(Tape::record().replay().verdict(), Err(Divergence::Nothing));
    let tape = Tape::record();
    descend(&random_rows(&mut ChaCha20Rng::from_seed([1; 32]), 5), Adjacency::Substitute, honest_step, &tape);
    assert_eq!(tape.verdict(), Err(Divergence::Nothing), "a first world has nothing to be compared with");
}

/// What a client remembers between rounds under a secure sum.
#[derive(Clone, Copy, PartialEq)]
enum ClientMemory {
    /// The public total, split evenly.
    Public,
    /// Its own contribution with its own noise: the flaw of TMLR's trusted aggregator and the thesis' Algorithm 3.
    Noisy,
}

/// Rounds of a secure sum with noise of the clients, in which a client answers with a clipped function of its rows and its memory.
fn share_rounds(data: &RowTable, memory: ClientMemory, tape: &Tape) {
    let clients = data.len();
    let cohort = Cohort::new(clients as u64, 0, 0).unwrap();
    let shape: Shape = shape_for(D, C, Grain::Whole, Z);
    let z = NoiseMultiplier::new(Z).unwrap();
    let event = cohort
        .event(ShareNoise::DiscreteGaussian, &shape, z, Adjacency::Substitute, Unit::Example, Steps::ONE)
        .unwrap();
    let terms = Assembly::new(cohort, 2, SumNoise::Clients, &event, shape).unwrap();
    let mut memories = vec![vec![0.0; D]; clients];
    for round in 0..3 {
        let mut sum = SecureSum::new(&terms, &context(u64::MAX, round), &mut Seeded::new(2), Some(tape)).unwrap();
        let mut answers = Vec::new();
        for (site, (x, kept)) in data.iter().zip(&memories).enumerate() {
            let answer: Vec<f64> = x.iter().zip(kept).map(|(x, t)| x - 4.0 * t).collect();
            let mut source = Seeded::new(2);
            let mut gate =
                ShareGate::new(charge(&event), shape, &cohort, &mut source, &context(site as u64, round)).unwrap();
            sum.add(gate.send(&Bounded::whole(shape, &answer).unwrap()).unwrap()).unwrap();
            answers.push(answer);
        }
        let total = sum.open().unwrap().into_inner().values();
        let noise = tape.calls().pop().unwrap().noise;
        for (site, kept) in memories.iter_mut().enumerate() {
            for j in 0..D {
                kept[j] += match memory {
                    ClientMemory::Public => total[j] / clients as f64,
                    ClientMemory::Noisy => shape.grid().value(noise[site][j]) + answers[site][j].clamp(-C, C),
                } / 10.0;
            }
        }
    }
}

fn play_shares(memory: ClientMemory, pair: u8) -> Result<(), Divergence> {
    let mut rng = ChaCha20Rng::from_seed([pair; 32]);
    let first = random_rows(&mut rng, 20);
    let mut second = first.clone();
    second[0] = canary(&mut rng, usize::from(pair));
    let tape = Tape::record();
    share_rounds(&first, memory, &tape);
    let replay = tape.replay();
    share_rounds(&second, memory, &replay);
    replay.verdict()
}

#[test]
fn a_secure_sum_with_public_memory_passes() {
    for pair in 0..50 {
        assert_eq!(play_shares(ClientMemory::Public, pair), Ok(()), "pair {pair}");
    }
}

#[test]
fn a_secure_sum_with_a_noisy_private_memory_is_caught() {
    let failures = (0..50).filter(|&pair| play_shares(ClientMemory::Noisy, pair).is_err()).count();
    assert!(failures > 0, "no pair showed the flaw");
    // The first round is sound: the flaw shows itself from the second on.
    let verdict = (0..50).find_map(|pair| play_shares(ClientMemory::Noisy, pair).err()).unwrap();
    assert!(matches!(verdict, Divergence::Moved { call: 1.., .. }), "{verdict}");
}
