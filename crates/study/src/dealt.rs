//! Rows as they were dealt for a seed: all work of the seed shares them, and the last few seeds are kept.

use crate::error::StudyError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was dealt for the last seeds that were asked for.
pub(super) struct DealtOnce<T> {
    /// As many as there are pairs at a time: these are taken seed by seed, and none goes back.
    most: usize,
    by_seed: Mutex<Vec<(u64, DealtSlot<T>)>>,
}

/// Where the rows of a seed are, or come to be.
type DealtSlot<T> = Arc<Mutex<Option<Arc<T>>>>;

impl<T> DealtOnce<T> {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self { most: rayon::current_num_threads().max(1), by_seed: Mutex::new(Vec::new()) }
    }

    /// The rows of a seed, dealt now if they are not there; whoever asks meanwhile waits. A failure is not kept.
    pub(super) fn of(&self, seed: u64, deal: impl FnOnce() -> Result<T, StudyError>) -> Result<Arc<T>, StudyError> {
        let place = self.place(seed);
        let mut place = locked(&place);
        if let Some(dealt) = place.as_ref() {
            return Ok(dealt.clone());
        }
        let dealt = Arc::new(deal()?);
        *place = Some(dealt.clone());
        Ok(dealt)
    }

    fn place(&self, seed: u64) -> DealtSlot<T> {
        let mut all = locked(&self.by_seed);
        if let Some((_, place)) = all.iter().find(|(known, _)| *known == seed) {
            return place.clone();
        }
        if all.len() >= self.most {
            all.remove(0);
        }
        let place = DealtSlot::default();
        all.push((seed, place.clone()));
        place
    }
}

/// What another thread left, whole or not: nothing here is ever half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn rows_are_dealt_once_for_each_seed_and_a_failure_is_tried_again() {
        let (dealt, count) = (DealtOnce { most: 2, by_seed: Mutex::default() }, AtomicUsize::new(0));
        let deal = |seed: u64| {
            dealt.of(seed, || {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(seed * 10)
            })
        };
        let all: Vec<u64> = [1, 1, 2, 1, 2, 3, 3, 2].into_iter().map(|seed| *deal(seed).unwrap()).collect();
        assert_eq!((all.as_slice(), count.load(Ordering::Relaxed)), ([10, 10, 20, 10, 20, 30, 30, 20].as_slice(), 3));
        assert_eq!((*deal(1).unwrap(), count.load(Ordering::Relaxed)), (10, 4), "the oldest was let go");
        assert!(dealt.of(9, || Err(StudyError::usage("no rows", "none"))).is_err());
        assert_eq!(*deal(9).unwrap(), 90);
    }
}
