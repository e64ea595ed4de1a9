//! Record-play on random neighbouring data sets: no input of any method moves beyond its declared sensitivity, and given
//! the same releases both worlds send the same bytes and warn of the same things.

use crate::common::redescribed::RedescribedSolver;
use crate::common::variants::{refused, variants};
use crate::common::{
    adam, add_remove, chain, chain_method, damping, method, model_of, private_methods, promise, pvi, rng, rows,
    simulation, site,
};
use inference::algorithm::chain::{BarkerSampler, ChainSettings, TestNoise};
use inference::algorithm::{Cavity, Pvi};
use inference::settings::{
    Aggregator, Batching, Chart, Covariance, FactorRule, Local, NoiseReading, Optimiser, Promise, Rates, Readout,
    Repair, Schedule,
};
use inference::solve::{Descend, Kept, Likelihood, LocalSolve, Solved};
use inference::testing::{self, Transcript, declared, neighbours_of, replaced, stays_within_its_sensitivity};
use inference::warning::rows::small_sites;
use inference::warning::{PublicWarnings, WarningSource};
use inference::{Built, Method, RowKeys, RunError, Shard, Site};
use privacy::record::{Divergence, Tape};
use privacy::{Adjacency, Epsilon, Grid, Unit};
use rand_core::Rng;
use std::sync::Arc;

/// Pairs of neighbouring data sets for each method.
const PAIRS: u64 = 1000;

/// Pairs for each further variant of a method.
const FURTHER: u64 = 150;

/// What the filter is for: on neighbouring tables warnings that are read from rows differ.
#[test]
fn mutant_a_warning_from_rows_would_be_caught() {
    let rows_come_and_go = |p: Promise| p.unit == Unit::Example && p.adjacency == Adjacency::AddRemove;
    let method = private_methods().into_iter().find(|m| m.promise.is_some_and(rows_come_and_go)).unwrap();
    let rows_of = |sites: &[Site]| small_sites(sites.iter().map(|site| (site.name.as_str(), site.shard.len() as u64)));
    let worlds = neighbours_of(&method, 0);
    let (first, second) = (rows_of(&worlds.first), rows_of(&worlds.second));
    assert!(first.is_some() && first != second, "one row less, and the warning says so");
    assert_eq!(PublicWarnings::of(first), PublicWarnings::of(second));
}

/// Warnings are made where there is something to warn of, or equal ones would say nothing.
#[test]
fn the_played_methods_do_warn() {
    let warns = |method: &Method| {
        let worlds = neighbours_of(method, 0);
        let built = declared(method, &model_of(method), &worlds.first);
        let found = play(method, &built, (&worlds.first, None), &Tape::record()).3;
        assert!(found.iter().all(|warning| warning.source() == WarningSource::Public));
        found != PublicWarnings::default()
    };
    assert!(private_methods().iter().any(warns));
}

/// Plays a method with the model of its laws.
fn play(method: &Method, built: &Built, (sites, absent): (&[Site], Option<usize>), tape: &Tape) -> Transcript {
    testing::play(method, &model_of(method), built, (sites, absent), tape)
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
    let built = declared(&method, &model_of(&method), &[site("one", rows(30, 1))]);
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
    let built = declared(&method, &model_of(&method), &[site("one", rows(21, 1))]);
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
        let worlds = neighbours_of(method, pair);
        let of = |sites: &[Site], tape: &Tape| {
            play(method, &declared(method, &model_of(method), sites), (sites, None), tape)
        };
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
        let mut built = declared(&method, &model_of(&method), &neighbours_of(&method, 0).first);
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
            let worlds = neighbours_of(&method, pair);
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
    let built = declared(&method, &model_of(&method), &[site("a site", rows(9, 1))]);
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
