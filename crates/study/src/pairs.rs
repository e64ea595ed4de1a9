//! All pairs of work and seed, several at a time: each on threads of its own, with the same results in the same order.

use super::engine::{Engine, Work};
use super::observer::{Piece, RunObserver, Watched};
use super::state::Finished;
use super::store::Store;
use crate::error::StudyError;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Threads that a pair has at least, as far as there are cores: the last pair of a study should not have one alone, and
/// threads without work sleep.
const THREADS_OF_A_PAIR: usize = 8;

/// Runs every piece of work with every seed, or takes it from the directory where it is finished: a list for each piece of
/// work, in the order of the seeds.
///
/// Pairs are taken seed by seed, so that few seeds' rows are in memory at a time. Each is kept as soon as it is finished.
/// After a failure none is begun any more, and the failure is that of the first pair in this order that has one: those
/// before it were all begun.
pub(super) fn run(
    works: &[Work<'_>],
    seeds: &[u64],
    engine: &dyn Engine,
    store: &Store,
    observer: &dyn RunObserver,
) -> Result<Vec<Vec<Finished>>, StudyError> {
    let pairs: Vec<(u64, Work<'_>)> = seeds.iter().flat_map(|&seed| works.iter().map(move |&w| (seed, w))).collect();
    let workers = rayon::current_num_threads().clamp(1, pairs.len().max(1));
    let threads = (rayon::current_num_threads() / workers).max(rayon::current_num_threads().min(THREADS_OF_A_PAIR));
    observer.begins(pairs.len());
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let found: Mutex<Vec<Option<Result<Finished, StudyError>>>> = Mutex::new(pairs.iter().map(|_| None).collect());
    let work = || {
        while !stopped.load(Ordering::Acquire) {
            let at = next.fetch_add(1, Ordering::AcqRel);
            let Some(&(seed, work)) = pairs.get(at) else { return };
            let result = one(work, seed, engine, store, observer, threads);
            stopped.fetch_or(result.is_err(), Ordering::AcqRel);
            found.lock().unwrap_or_else(std::sync::PoisonError::into_inner)[at] = Some(result);
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    observer.ends();
    let mut by_work: Vec<Vec<Finished>> = works.iter().map(|_| Vec::new()).collect();
    let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (at, result) in found.into_iter().flatten().enumerate() {
        by_work[at % works.len()].push(result?);
    }
    Ok(by_work)
}

/// One pair: found, or run on a pool of its own and kept. Without threads to be had it runs where it is.
fn one(
    work: Work<'_>,
    seed: u64,
    engine: &dyn Engine,
    store: &Store,
    observer: &dyn RunObserver,
    threads: usize,
) -> Result<Finished, StudyError> {
    if observer.stops() {
        return Err(StudyError::Stopped);
    }
    let piece = Piece::of(&work, seed);
    if let Some(finished) = store.finished(work.name(), seed) {
        observer.finished(piece, finished.scores.main().copied(), true);
        return Ok(finished);
    }
    let run = || engine.run(work, seed, &mut Watched { piece, observer });
    let finished = match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(run),
        Err(_) => run(),
    }?;
    store.keep(work.name(), &finished)?;
    observer.finished(piece, finished.scores.main().copied(), false);
    Ok(finished)
}
