//! Record-play on random neighbouring data sets: no input of any method moves beyond its declared sensitivity, and given
//! the same releases both worlds send the same bytes.

mod common;

use common::{private_methods, rng, rows, simulation, site};
use inference::algorithm::{Cavity, Protocol, Pvi};
use inference::message::Direct;
use inference::settings::{Method, Solver};
use inference::solve::{Kept, Likelihood, LocalSolve, Problem, Solved, Task};
use inference::{Built, Progress, Row, Rows, Seat, Site};
use privacy::record::{Divergence, Tape};
use privacy::{Adjacency, Gate, Grant, Grid, PrivacyError, Released, Unit};
use rand_core::Rng;

/// Pairs of neighbouring data sets for each method.
const PAIRS: u64 = 1000;

/// Everything that became public.
type Transcript = (Vec<u8>, u64, u64);

fn play(method: &Method, built: &Built, sites: &[Site], test: &Rows, tape: &Tape) -> Transcript {
    play_with(built.protocol.as_ref(), method, built, sites, test, tape)
}

fn play_with(
    protocol: &dyn Protocol,
    method: &Method,
    built: &Built,
    sites: &[Site],
    test: &Rows,
    tape: &Tape,
) -> Transcript {
    let simulation = simulation(method, sites, test);
    let mut drive = simulation.start_with(protocol, built, &Direct, Some(tape)).unwrap();
    while drive.rounds() < 3 && drive.round().unwrap() == Progress::Moved {}
    (drive.state().to_vec(), drive.messages(), drive.bytes())
}

/// A row that nobody expects: huge, tiny, or of the other class.
fn strange_row(rng: &mut impl Rng) -> ([f64; 2], u32, f64) {
    let sizes = [0.0, 1e-300, 0.5, -3.0, 1e3, -1e6, 1e150];
    let pick = |rng: &mut dyn FnMut() -> u64| sizes[(rng() % sizes.len() as u64) as usize];
    let mut draw = || rng.next_u64();
    ([pick(&mut draw), pick(&mut draw)], 2 + (draw() % 2) as u32, (draw() % 2) as f64)
}

fn replaced(rows: &Rows, at: usize, rng: &mut impl Rng) -> Rows {
    let mut out = Rows::new(rows.width(), rows.dense()).unwrap();
    for (i, row) in rows.iter().enumerate() {
        if i == at {
            let (numbers, level, outcome) = strange_row(rng);
            out.push(Row { numbers: &numbers, ones: &[level, 4], outcome }).unwrap();
        } else {
            out.push(row).unwrap();
        }
    }
    out
}

/// The neighbouring rows of one site: a row replaced, the last row gone, or all rows replaced.
fn neighbour(rows: &Rows, method: &Method, rng: &mut impl Rng) -> Rows {
    let promise = method.promise.unwrap();
    match (promise.unit, promise.adjacency) {
        (Unit::Client, _) => (0..rows.len()).fold(rows.clone(), |rows, i| replaced(&rows, i, rng)),
        (Unit::Example, Adjacency::Substitute) => {
            let at = (rng.next_u64() % rows.len() as u64) as usize;
            replaced(rows, at, rng)
        }
        // Batches are drawn by position: only without the last row are the coins of all others the same.
        (Unit::Example, Adjacency::AddRemove) => rows.select(&(0..rows.len() - 1).collect::<Vec<_>>()),
    }
}

fn worlds(method: &Method, pair: u64) -> (Vec<Site>, Vec<Site>) {
    let mut rng = rng(pair);
    let sizes = [5, 9, 4];
    let data: Vec<Rows> = sizes.iter().map(|&n| rows(n, rng.next_u64())).collect();
    let changed = (rng.next_u64() % 3) as usize;
    let second: Vec<Rows> = data
        .iter()
        .enumerate()
        .map(|(m, rows)| if m == changed { neighbour(rows, method, &mut rng) } else { rows.clone() })
        .collect();
    let sites = |data: Vec<Rows>| data.into_iter().map(|rows| site("a site", rows)).collect();
    (sites(data), sites(second))
}

/// The declared constants of a method, and ledgers without limit: what is spent is not the matter here.
fn build(method: &Method, sites: &[Site], test: &Rows) -> Built {
    let mut built = simulation(method, sites, test).build().unwrap();
    built.grants = vec![Grant::Unlimited; sites.len()];
    built
}

#[test]
fn no_input_moves_beyond_its_declared_sensitivity() {
    let test = rows(2, 1);
    for method in private_methods() {
        let built = build(&method, &worlds(&method, 0).0, &test);
        for pair in 0..PAIRS {
            let (first, second) = worlds(&method, pair);
            let tape = Tape::record();
            let sent = play(&method, &built, &first, &test, &tape);
            let replay = tape.replay();
            let sent_again = play(&method, &built, &second, &test, &replay);
            assert_eq!(replay.verdict(), Ok(()), "{}, pair {pair}", method.name);
            assert!(sent == sent_again, "{}, pair {pair}: given the same releases, another transcript", method.name);
        }
    }
}

#[test]
fn mutant_m17_rates_from_the_real_number_of_rows_are_caught() {
    let test = rows(2, 1);
    let add_remove = |m: &Method| m.promise.unwrap().adjacency == Adjacency::AddRemove;
    let mut method = private_methods().into_iter().find(add_remove).unwrap();
    method.local.batch = inference::settings::Batching::PoissonOf { fraction: 0.3, at_least: 1 };
    let caught = (0..20).any(|pair| {
        let (first, second) = worlds(&method, pair);
        let tape = Tape::record();
        play(&method, &build(&method, &first, &test), &first, &test, &tape);
        let replay = tape.replay();
        play(&method, &build(&method, &second, &test), &second, &test, &replay);
        matches!(replay.verdict(), Err(Divergence::Calls { .. }))
    });
    assert!(caught, "each world planned with its own row count, and nobody noticed");
}

/// A mutant: what is kept for free answers is computed from the rows, past the gate, and read back as released.
#[derive(Debug)]
struct KeepsPrivateStatistics(Likelihood);

impl LocalSolve for KeepsPrivateStatistics {
    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
        seat: &Seat<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        let solved = self.0.solve(problem, task, kept, seat, gate)?;
        let Solved::Released { change, .. } = solved else { return Ok(solved) };
        let private = Kept::Statistics(vec![seat.shard.len() as f64; change.get().len()]);
        let kept = serde_json::from_value(serde_json::to_value(private).unwrap()).unwrap();
        Ok(Solved::Released { change, kept })
    }

    fn solve_from_memory(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
    ) -> Option<Released<Vec<f64>>> {
        self.0.solve_from_memory(problem, task, kept)
    }
}

#[test]
fn mutant_a_free_answer_from_private_rows_is_caught() {
    let test = rows(2, 1);
    let reused = |m: &Method| m.solver == Solver::Likelihood && m.promise.unwrap().adjacency == Adjacency::AddRemove;
    let method = private_methods().into_iter().find(reused).unwrap();
    let built = build(&method, &worlds(&method, 0).0, &test);
    let agree = |solver: fn() -> Box<dyn LocalSolve>| {
        let (kept, readout, factor) = (method.damping, method.readout, method.factor);
        let (problem, sending, cavity) = (built.problem.clone(), Grid::new(24).unwrap(), Cavity::OwnFactor);
        let pvi = Pvi { problem, solver: solver(), cavity, factor, kept, readout, finest: sending, sending };
        (0..20).all(|pair| {
            let (first, second) = worlds(&method, pair);
            let tape = Tape::record();
            let sent = play_with(&pvi, &method, &built, &first, &test, &tape);
            let replay = tape.replay();
            sent == play_with(&pvi, &method, &built, &second, &test, &replay) && replay.verdict().is_ok()
        })
    };
    assert!(agree(|| Box::new(Likelihood)));
    assert!(!agree(|| Box::new(KeepsPrivateStatistics(Likelihood))));
}
