//! How long to wait before trying again: twice as long each time, and not all at the same moment.

use std::time::Duration;

/// The first wait, at most.
const SHORTEST: Duration = Duration::from_millis(250);

/// No wait is longer.
const LONGEST: Duration = Duration::from_secs(30);

/// Counts failures. Two with the same seed wait alike.
#[derive(Debug, Clone)]
pub(super) struct Backoff {
    seed: u64,
    failures: u32,
}

impl Backoff {
    /// Nothing has failed yet.
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, failures: 0 }
    }

    /// It failed, once more.
    pub(super) fn lengthen(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// It worked.
    pub(super) fn clear(&mut self) {
        self.failures = 0;
    }

    /// The wait before the next try: none after a success; else between half and all of what the failures call for.
    pub(super) fn length(&self) -> Option<Duration> {
        let doublings = self.failures.checked_sub(1)?;
        let most = SHORTEST.saturating_mul(1 << doublings.min(16)).min(LONGEST);
        let share = f64::from(mixed(self.seed, self.failures) >> 16) / f64::from(1 << 16);
        Some(most.mul_f64(0.5 + share / 2.0))
    }
}

/// 32 bits that depend on all of both numbers (the finaliser of SplitMix64).
fn mixed(seed: u64, count: u32) -> u32 {
    let mut z = seed.wrapping_add(u64::from(count).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_begin_anew_after_a_success() {
        for seed in 0..100 {
            let mut backoff = Backoff::new(seed);
            assert_eq!(backoff.length(), None);
            for doublings in 0..100 {
                backoff.lengthen();
                let most = (SHORTEST * (1 << doublings.min(10))).min(LONGEST);
                let length = backoff.length().unwrap();
                assert!(length >= most / 2 && length <= most, "seed {seed}, {backoff:?}");
            }
            backoff.clear();
            assert_eq!(backoff.length(), None);
        }
    }

    #[test]
    fn two_seeds_wait_differently_and_one_alike() {
        let first = |seed| {
            let mut backoff = Backoff::new(seed);
            backoff.lengthen();
            backoff.length()
        };
        let all: std::collections::BTreeSet<_> = (0..1000).map(first).collect();
        assert!(all.len() > 900, "{} different waits of 1,000 seeds", all.len());
        assert_eq!(first(7), first(7));
    }
}
