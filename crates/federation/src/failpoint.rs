//! Named places at which a test build can be told to die, as by `kill -9`. Any other build does nothing here.
//!
//! `POSTERITY_FAILPOINT=name:n` ends the process at the n-th time that it passes the place; `any:n` at the n-th place that it
//! passes.

/// All places, for tests that visit each of them.
pub const PLACES: [&str; 12] = [
    "append",
    "appended",
    "sync",
    "synced",
    "replace",
    "replaced",
    "commit",
    "committed",
    "send",
    "sent",
    "heard",
    "reply",
];

/// Does nothing: only test builds can be told to die here.
#[cfg(not(feature = "rehearsal"))]
pub fn pass(_place: &'static str) {}

/// Ends the process here if the environment names this place and this is the n-th passage.
#[cfg(feature = "rehearsal")]
pub fn pass(place: &'static str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    static AWAITED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let awaited = AWAITED.get_or_init(|| {
        let text = std::env::var("POSTERITY_FAILPOINT").ok()?;
        let (name, times) = text.split_once(':')?;
        Some((name.to_owned(), times.parse().ok()?))
    });
    let Some((name, times)) = awaited else { return };
    if name != place && name != "any" {
        return;
    }
    if PASSED.fetch_add(1, Ordering::SeqCst).saturating_add(1) == *times {
        // Nothing is flushed, closed or told: as if the machine had taken the process away.
        let _ = std::process::Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
        std::process::abort();
    }
}
