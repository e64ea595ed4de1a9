//! What time it is.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970, for certificates and invites alone; no result and no privacy decision depends on it.
pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
