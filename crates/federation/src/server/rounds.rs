//! How long rounds take, by the clock of the process that serves them.

use crate::coordinator::{CoordinatorPhase, Header};
use std::time::{Duration, Instant};

/// The round that is under way, and since when it was seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RoundClock {
    running: Option<RunningRound>,
    /// Whether the run was seen before: what was under way by then began at a time that nobody here knows.
    looked: bool,
}

#[derive(Debug, Clone, Copy)]
struct RunningRound {
    round: u64,
    since: Instant,
    whole: bool,
}

impl RoundClock {
    /// Looks at the run, and gives the time of a round that was seen from its beginning to its end.
    pub(super) fn look(&mut self, header: &Header, now: Instant) -> Option<Duration> {
        let whole = std::mem::replace(&mut self.looked, true);
        let before = self.running;
        if header.phase != CoordinatorPhase::Running {
            self.running = None;
        } else if before.is_none_or(|running| running.round != header.round) {
            self.running = Some(RunningRound { round: header.round, since: now, whole });
        }
        let made = |running: &RunningRound| running.whole && header.round == running.round.saturating_add(1);
        before.filter(made).map(|running| now.saturating_duration_since(running.since))
    }

    /// Since when the present round is known to be under way; none if none is.
    pub(super) fn since(&self) -> Option<Instant> {
        self.running.map(|running| running.since)
    }
}
