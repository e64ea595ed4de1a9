//! What time it is, and the processor time of this process.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970, for certificates and invites alone; no result and no privacy decision depends on it.
pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Seconds of processor time that the process has used so far, all threads together.
///
/// From the system's own account on Linux; zero where there is none, so that no result claims a time that was not
/// measured.
pub(crate) fn cpu_seconds() -> f64 {
    let ticks = || -> Option<u64> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name in brackets may hold blanks; utime and stime are fields 14 and 15.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    // The unit is fixed at 1/100 s for user space.
    ticks().map_or(0.0, |ticks| ticks as f64 / 100.0)
}
