//! What was too much: every connection or call that a limit has ended is counted here, by the limit, and told at intervals.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two lines of the log about one limit: a flood fills no disk.
const PACE: Duration = Duration::from_secs(10);

/// A limit that ended something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// Callers from one address without a certificate: the one that was idle longest gave way to a new one.
    Address,
    /// Connections of one party: the one that was idle longest gave way to a new one.
    Party,
    /// Connections in all: one of the holder with most gave way, or the new one was refused.
    Connections,
    /// The handshake took too long.
    Handshake,
    /// A connection without a call was closed.
    Idle,
    /// A message was larger than any that is expected; it was refused by its announced length.
    Message,
    /// A request came too slowly.
    Reading,
}

impl Excess {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 7] =
        [Self::Address, Self::Party, Self::Connections, Self::Handshake, Self::Idle, Self::Message, Self::Reading];

    /// The limit in one word, for metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Party => "party",
            Self::Connections => "connections",
            Self::Handshake => "handshake",
            Self::Idle => "idle",
            Self::Message => "message",
            Self::Reading => "reading",
        }
    }
}

/// Counts of all limits of a server's ports.
#[derive(Debug, Default)]
pub struct Excesses([ExcessCount; Excess::ALL.len()]);

#[derive(Debug, Default)]
struct ExcessCount {
    count: AtomicU64,
    /// When it was told last, and what the count was.
    told: Mutex<Option<(Instant, u64)>>,
}

impl Excesses {
    /// Counts one more, and tells the log at most once in [`PACE`].
    pub fn count(&self, what: Excess) {
        let Some(tally) = self.tally(what) else { return };
        let count = tally.count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut told = tally.told.lock().unwrap_or_else(PoisonError::into_inner);
        let (due, before) = told.map_or((true, 0), |(at, before)| (at.elapsed() >= PACE, before));
        if due {
            *told = Some((Instant::now(), count));
            let times = count.saturating_sub(before);
            tracing::warn!(limit = what.word(), times, "reached a limit on connections or messages");
        }
    }

    /// How often a limit was reached since the start.
    pub fn so_far(&self, what: Excess) -> u64 {
        self.tally(what).map_or(0, |tally| tally.count.load(Ordering::Relaxed))
    }

    fn tally(&self, what: Excess) -> Option<&ExcessCount> {
        Excess::ALL.iter().position(|one| *one == what).and_then(|place| self.0.get(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_counted_under_its_own_word() {
        let excesses = Excesses::default();
        Excess::ALL.into_iter().for_each(|what| excesses.count(what));
        excesses.count(Excess::Message);
        let mut words = Excess::ALL.map(Excess::word);
        assert_eq!(Excess::ALL.map(|what| excesses.so_far(what)), [1, 1, 1, 1, 1, 2, 1]);
        words.sort_unstable();
        assert!(words.windows(2).all(|two| two[0] != two[1]));
    }
}
