//! Record-play on random neighbouring data sets: no input of any method moves beyond its declared sensitivity, and given
//! the same releases both worlds send the same bytes and warn of the same things.

use crate::common::altered::{Altered, Reply};
use crate::common::redescribed::RedescribedSolver;
use crate::common::variants::{refused, variants};
use crate::common::{
    adam, add_remove, chain, chain_method, damping, method, model_of, private_methods, promise, pvi, rng, rows,
    simulation, site, site_of_records,
};
use inference::algorithm::chain::{BarkerSampler, ChainSettings, TestNoise};
use inference::algorithm::{Cavity, Protocol, Pvi};
use inference::chain::{Collected, shown};
use inference::message::Direct;
use inference::settings::{
    Aggregator, Batching, Chart, Covariance, FactorRule, Local, NoiseReading, Optimiser, Promise, Rates, Readout,
    Repair, Schedule,
};
use inference::solve::{Descend, Kept, Likelihood, LocalSolve, Solved};
use inference::warning::public::{ServedPosterior, moves, of_plan, of_served};
use inference::warning::rows::small_sites;
use inference::warning::{Code, PublicWarnings, WarningSource};
use inference::{Built, ClientView, Method, Model, Progress, Row, RowKeys, Rows, RunError, Shard, Simulation, Site};
use privacy::record::{Divergence, Tape};
use privacy::{Adjacency, Bounded, Epsilon, Gate, Grant, Grid, Unit};
use rand_core::Rng;
use std::sync::Arc;

/// Pairs of neighbouring data sets for each method.
const PAIRS: u64 = 1000;

/// Pairs for each further variant of a method.
const FURTHER: u64 = 150;

/// Everything that became public: the state, messages and bytes, and the warnings that anybody may see.
type Transcript = (Vec<u8>, u64, u64, PublicWarnings);

/// Two neighbouring federations.
struct Worlds {
    first: Vec<Site>,
    second: Vec<Site>,
    /// The client that is not there in one of the two worlds: its change is 0, its noise stays.
    absent: [Option<usize>; 2],
}

/// Plays a method on these sites, with one client's change replaced by 0 if it is absent.
fn play(method: &Method, built: &Built, (sites, absent): (&[Site], Option<usize>), tape: &Tape) -> Transcript {
    let test = rows(2, 1);
    let simulation = simulation(method, sites, &test);
    let nothing_of_the_absent =
        move |inner: &dyn Protocol, query: &[u8], memory: &[u8], seat: &ClientView<'_>, gate: &mut dyn Gate| -> Reply {
            if Some(seat.index) != absent {
                return inner.answer(query, memory, seat, gate);
            }
            let nothing = Bounded::whole(*gate.shape(), &vec![0.0; gate.shape().dimension()])?;
            Ok((gate.send(&nothing)?, Vec::new()))
        };
    let protocol = Altered::answering(built.protocol.as_ref(), &nothing_of_the_absent);
    let mut drive = simulation.start_with(&protocol, built, &Direct, Some(tape)).unwrap();
    let (mut before, mut drawn) = (drive.state().to_vec(), Collected::new(method));
    while drive.rounds() < 3 {
        let last = drive.state().to_vec();
        if drive.round().unwrap() == Progress::Spent {
            break;
        }
        before = last;
        drawn.take(drive.last_draw().unwrap());
    }
    let warnings = warned(method, built, sites, (&before, drive.state()), drawn);
    (drive.state().to_vec(), drive.messages(), drive.bytes(), warnings)
}

/// Everything that could be warned of after a run, as a served run would filter it.
fn warned(
    method: &Method,
    built: &Built,
    sites: &[Site],
    (before, now): (&[u8], &[u8]),
    drawn: Collected,
) -> PublicWarnings {
    let served = |state: &[u8]| built.problem.family.gaussian(&built.protocol.posterior(state).unwrap());
    let (Some(before), Some(now)) = (served(before), served(now)) else { return PublicWarnings::default() };
    let chain = drawn.draws().then(|| shown(&drawn.into_chains(), 0, now.mean().len()).unwrap());
    let served = ServedPosterior {
        names: &[],
        prior_precisions: &vec![1.0; now.mean().len()],
        mean: now.mean(),
        last_moves: &moves(before.mean(), now.mean(), &now.deviations()),
        draws: chain.as_ref().map(Option::as_ref),
    };
    let (of_run, of_plan) = (of_served(&served), of_plan(method, &built.plan));
    // A site's own terminal warns of its rows; here every site is small, and how small is private under add-remove.
    let of_rows = small_sites(sites.iter().map(|site| (site.name.as_str(), site.shard.len() as u64)));
    PublicWarnings::of(of_run.iter().chain(of_plan.iter()).cloned().chain(of_rows))
}

/// What the filter is for: on neighbouring tables warnings that are read from rows differ.
#[test]
fn mutant_a_warning_from_rows_would_be_caught() {
    let rows_come_and_go = |p: Promise| p.unit == Unit::Example && p.adjacency == Adjacency::AddRemove;
    let method = private_methods().into_iter().find(|m| m.promise.is_some_and(rows_come_and_go)).unwrap();
    let rows_of = |sites: &[Site]| small_sites(sites.iter().map(|site| (site.name.as_str(), site.shard.len() as u64)));
    let worlds = worlds(&method, 0);
    let (first, second) = (rows_of(&worlds.first), rows_of(&worlds.second));
    assert!(first.is_some() && first != second, "one row less, and the warning says so");
    assert_eq!(PublicWarnings::of(first), PublicWarnings::of(second));
}

/// Warnings are made where there is something to warn of, or equal ones would say nothing.
#[test]
fn the_played_methods_do_warn() {
    let method = &private_methods()[0];
    let built = build(method, &model_of(method), &worlds(method, 0).first);
    let found = play(method, &built, (&worlds(method, 0).first, None), &Tape::record()).3;
    assert!(found.iter().any(|warning| warning.code == Code::StillMoving), "{found:?}");
    assert!(found.iter().all(|warning| warning.source() == WarningSource::Public));
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

/// So many rows that nobody expects.
fn strange_rows(count: usize, rng: &mut impl Rng) -> Rows {
    let mut out = Rows::new(5, 2).unwrap();
    for _ in 0..count {
        let (numbers, level, outcome) = strange_row(rng);
        out.push(Row { numbers: &numbers, ones: &[level, 4], outcome }).unwrap();
    }
    out
}

/// Rows, and which records they are.
type Data = (Rows, Vec<u64>);

/// A record that nobody else is.
const NEW_RECORD: u64 = 1_000;

/// One site in two worlds: with a row replaced by a strange one of another record, without a strange row, or with other
/// rows and another number of them. A client that joins or leaves keeps its rows, and says nothing.
fn neighbours((rows, records): &Data, method: &Method, rng: &mut impl Rng) -> [Data; 2] {
    let (promise, n) = (method.promise.unwrap(), rows.len());
    let usual = (rows.clone(), records.clone());
    match (promise.unit, promise.adjacency) {
        (Unit::Client, Adjacency::AddRemove) => [usual.clone(), usual],
        (Unit::Client, Adjacency::Substitute) => {
            let count = 1 + (rng.next_u64() % 12) as usize;
            let count = if count == n { count + 1 } else { count };
            [usual, (strange_rows(count, rng), (0..count as u64).collect())]
        }
        (Unit::Example, Adjacency::Substitute) => {
            let at = (rng.next_u64() % n as u64) as usize;
            let mut records = records.clone();
            records[at] = NEW_RECORD;
            [usual, (replaced(rows, at, rng), records)]
        }
        (Unit::Example, Adjacency::AddRemove) => {
            // Batches are drawn by position: only without the last row are the coins of all others the same.
            let drawn = method.algorithm.releases(1).main.batch != Batching::All;
            let gone = if drawn { n - 1 } else { (rng.next_u64() % n as u64) as usize };
            let rest: Vec<usize> = (0..n).filter(|row| *row != gone).collect();
            let with = replaced(rows, gone, rng);
            let without = (with.select(&rest), rest.iter().map(|&row| records[row]).collect());
            [(with, records.clone()), without]
        }
    }
}

/// A pair of neighbouring federations; every other pair the other way round.
fn worlds(method: &Method, pair: u64) -> Worlds {
    let mut rng = rng(pair);
    let sizes = [5, 9, 4];
    let mut first: Vec<Data> = sizes.iter().map(|&n| (rows(n, rng.next_u64()), (0..n as u64).collect())).collect();
    let changed = (rng.next_u64() % 3) as usize;
    let mut second = first.clone();
    [first[changed], second[changed]] = neighbours(&first[changed], method, &mut rng);
    let sites =
        |data: Vec<Data>| data.into_iter().map(|(rows, records)| site_of_records("a site", rows, &records)).collect();
    let promise = method.promise.unwrap();
    let leaves = (promise.unit, promise.adjacency) == (Unit::Client, Adjacency::AddRemove);
    let mut absent = [None, leaves.then_some(changed)];
    if pair % 2 == 1 {
        (first, second) = (second, first);
        absent.reverse();
    }
    Worlds { first: sites(first), second: sites(second), absent }
}

/// The declared constants of a method, and ledgers without limit: what is spent is not the matter here.
fn build(method: &Method, model: &Arc<dyn Model>, sites: &[Site]) -> Built {
    let test = rows(2, 1);
    let simulation = Simulation { model: model.clone(), ..simulation(method, sites, &test) };
    let mut built = simulation.build().unwrap_or_else(|error| panic!("{}: {error}", method.name));
    built.grants = vec![Grant::Unlimited; sites.len()];
    built
}

/// Plays both worlds of every pair, with constants declared once.
fn stays_within_its_sensitivity(method: &Method, model: &Arc<dyn Model>, pairs: u64) {
    let built = build(method, model, &worlds(method, 0).first);
    for pair in 0..pairs {
        let worlds = worlds(method, pair);
        let tape = Tape::record();
        let sent = play(method, &built, (&worlds.first, worlds.absent[0]), &tape);
        let replay = tape.replay();
        let sent_again = play(method, &built, (&worlds.second, worlds.absent[1]), &replay);
        assert_eq!(replay.verdict(), Ok(()), "{}, pair {pair}", method.name);
        assert!(sent == sent_again, "{}, pair {pair}: given the same releases, another transcript", method.name);
    }
}

#[test]
fn no_input_moves_beyond_its_declared_sensitivity() {
    private_methods().iter().for_each(|method| stays_within_its_sensitivity(method, &model_of(method), PAIRS));
}

#[test]
fn nor_does_one_of_other_relations_batches_bounds_families_and_models() {
    variants().iter().for_each(|(method, model)| stays_within_its_sensitivity(method, model, FURTHER));
}

/// Barker's test on batches of twenty rows, whose noise makes up for the batch's own.
fn completed(step: f64) -> Method {
    let sampler = BarkerSampler { step, noise: TestNoise::Completed { variance: 2.0 } };
    let (batch, covariance) = (Batching::WithoutReplacement(20), Covariance::MeanField);
    let promise = Promise { epsilon: Epsilon::new(100.0).unwrap(), ..promise(1.0, Aggregator::None) };
    chain_method("chain, completed", ChainSettings { batch, covariance, ..chain(sampler, 12) }, promise)
}

/// One site, whose noise depends on its batch: sums move by one ratio's range, and the noise by what the theorem knows of.
#[test]
fn a_test_that_completes_its_batch_stays_within_its_theorem() {
    let method = completed(0.2);
    let built = build(&method, &model_of(&method), &[site("one", rows(30, 1))]);
    for pair in 0..PAIRS {
        let mut rng = rng(pair);
        let first = rows(30, pair);
        let second = replaced(&first, (rng.next_u64() % 30) as usize, &mut rng);
        let tape = Tape::record();
        let sent = play(&method, &built, (&[site("one", first)], None), &tape);
        let replay = tape.replay();
        let sent_again = play(&method, &built, (&[site("one", second)], None), &replay);
        assert_eq!(replay.verdict(), Ok(()), "pair {pair}");
        assert!(sent == sent_again, "pair {pair}: given the same releases, another transcript");
    }
}

/// Two rows in place of one: sums or spreads move too far.
#[test]
fn mutant_two_replaced_rows_of_a_test_are_caught() {
    let method = completed(5.0);
    let built = build(&method, &model_of(&method), &[site("one", rows(21, 1))]);
    let verdict = |pair: u64| {
        let mut rng = rng(pair);
        let first = rows(21, pair);
        let second = (0..2).fold(first.clone(), |rows, at| replaced(&rows, at, &mut rng));
        let tape = Tape::record();
        play(&method, &built, (&[site("one", first)], None), &tape);
        let replay = tape.replay();
        play(&method, &built, (&[site("one", second)], None), &replay);
        replay.verdict()
    };
    assert!((0..100).any(|pair| matches!(verdict(pair), Err(Divergence::Moved { .. }))));
}

#[test]
fn what_is_not_played_is_refused_with_its_key_and_code() {
    for (method, key, code) in refused() {
        let found = match inference::plan::plan(&method, &[5, 9, 4], 5) {
            Ok(_) => (String::new(), "planned"),
            Err(RunError::Conflict(conflict)) => (conflict.key, conflict.code),
            Err(RunError::Privacy(error)) => (String::new(), error.code()),
            Err(_) => (String::new(), "another error"),
        };
        assert_eq!(found, (key.to_owned(), code), "{}", method.name);
    }
}

/// True if record-play notices that each world plans with its own number of rows.
fn own_constants_are_caught(method: &Method) -> bool {
    (0..20).any(|pair| {
        let worlds = worlds(method, pair);
        let of =
            |sites: &[Site], tape: &Tape| play(method, &build(method, &model_of(method), sites), (sites, None), tape);
        let tape = Tape::record();
        of(&worlds.first, &tape);
        let replay = tape.replay();
        of(&worlds.second, &replay);
        matches!(replay.verdict(), Err(Divergence::Calls { .. }))
    })
}

#[test]
fn mutant_m17_rates_from_the_real_number_of_rows_are_caught() {
    let batch = Batching::PoissonOf { fraction: 0.3, at_least: 1 };
    let (optimiser, chart) = (Optimiser::Adagrad, Chart::LogVariance);
    let local = Local { batch, keep_state: true, optimiser, chart, ..adam(5) };
    let (settings, schedule) = (pvi(Descend { local }), Schedule::Asynchronous(Rates::InverseRows));
    let method = method("rates by rows", settings, schedule, add_remove(promise(1.0, Aggregator::None)));
    assert!(own_constants_are_caught(&method), "each world planned with its own row count, and nobody noticed");
}

/// A mutant: what is kept for free answers is computed from the rows, past the gate, and read back as released.
fn keeping_private_statistics() -> RedescribedSolver {
    RedescribedSolver::solving(Likelihood, |inner, problem, task, kept, seat, gate| {
        let solved = inner.solve(problem, task, kept, seat, gate)?;
        let Solved::Released { change, .. } = solved else { return Ok(solved) };
        let private = Kept::Statistics(vec![seat.shard.len() as f64; change.get().len()]);
        let kept = serde_json::from_value(serde_json::to_value(private).unwrap()).unwrap();
        Ok(Solved::Released { change, kept })
    })
}

#[test]
fn mutant_a_free_answer_from_private_rows_is_caught() {
    let reused = |m: &Method| m.algorithm.releases(1).reused && m.promise.unwrap().adjacency == Adjacency::AddRemove;
    let method = private_methods().into_iter().find(reused).unwrap();
    let agree = |solver: Arc<dyn LocalSolve>| {
        let mut built = build(&method, &model_of(&method), &worlds(&method, 0).first);
        let readout = Readout { repair: Repair::Project, average: 1, noise: NoiseReading::Plain };
        let (problem, sending, cavity) = (built.problem.clone(), Grid::new(24).unwrap(), Cavity::OwnFactor);
        built.protocol = Box::new(Pvi {
            problem,
            home: None,
            solver,
            cavity,
            factor: FactorRule::Free,
            kept: damping(),
            readout,
            wander: Vec::new(),
            finest: sending,
            sending,
        });
        (0..20).all(|pair| {
            let worlds = worlds(&method, pair);
            let tape = Tape::record();
            let sent = play(&method, &built, (&worlds.first, None), &tape);
            let replay = tape.replay();
            sent == play(&method, &built, (&worlds.second, None), &replay) && replay.verdict().is_ok()
        })
    };
    assert!(agree(Arc::new(Likelihood)));
    assert!(!agree(Arc::new(keeping_private_statistics())));
}

/// What records are for: where a record is a row's position, a row less moves the rows after it to other parts.
#[test]
fn mutant_records_by_position_are_caught() {
    let method = private_methods().into_iter().find(Method::needs_record_ids).unwrap();
    let built = build(&method, &model_of(&method), &[site("a site", rows(9, 1))]);
    let caught = (0..50).any(|seed| {
        let mut rng = rng(seed);
        let whole = (0..9).fold(rows(9, seed), |rows, at| replaced(&rows, at, &mut rng));
        let rest = whole.select(&(1..9).collect::<Vec<_>>());
        let tape = Tape::record();
        play(&method, &built, (&[site("a site", whole)], None), &tape);
        let replay = tape.replay();
        play(&method, &built, (&[site("a site", rest)], None), &replay);
        matches!(replay.verdict(), Err(Divergence::Moved { .. }))
    });
    assert!(caught, "rows moved to other parts, and nobody noticed");
}

#[test]
fn a_method_that_needs_record_ids_is_refused_without_them() {
    let test = rows(2, 1);
    let method = private_methods().into_iter().find(Method::needs_record_ids).unwrap();
    let keys = RowKeys::of_slots((0..9).collect());
    let bare = vec![Site { name: "bare".into(), shard: Shard::new(rows(9, 1), keys).unwrap(), own: Vec::new() }];
    let error = simulation(&method, &bare, &test).build().err().unwrap();
    assert!(error.to_string().contains("parts under add-remove of rows without record ids"), "{error}");
    let with = vec![site("with ids", rows(9, 1))];
    assert!(simulation(&method, &with, &test).build().is_ok());
}
