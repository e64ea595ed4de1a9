//! Log lines that come no more often than a person reads them, however often their cause does.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two lines of one kind.
const PAUSE: Duration = Duration::from_secs(10);

/// Lets the first line of a kind through at once, then one in each pause.
#[derive(Debug, Default)]
pub(super) struct LogThrottle(Mutex<ThrottleState>);

#[derive(Debug, Default)]
struct ThrottleState {
    last: Option<Instant>,
    /// Held back since then.
    held: u64,
}

impl LogThrottle {
    /// Whether a line may be written now, and how many were held back since the last one.
    pub(super) fn passes(&self, now: Instant) -> Option<u64> {
        let mut passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if passed.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            passed.held = passed.held.saturating_add(1);
            return None;
        }
        passed.last = Some(now);
        Some(std::mem::take(&mut passed.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_passes_at_once_and_later_ones_once_in_a_pause_with_a_count() {
        let (lines, start) = (LogThrottle::default(), Instant::now());
        let at = |seconds| lines.passes(start + Duration::from_secs(seconds));
        assert_eq!([0, 1, 9, 10, 11, 25].map(at), [Some(0), None, None, Some(2), None, Some(1)]);
        assert_eq!(at(3), None, "a clock that went back holds lines back");
    }
}
