//! The file of what a site remembers in a run: postcard of a [`MemorySnapshot`].

use super::{Frame, LogError, MemorySnapshot, RunId};
use study::digits::hexadecimal;

const FRAME: Frame = Frame { magic: *b"POSTVALT", version: 1 };

/// The name of its file.
pub(super) fn file(run: &RunId) -> String {
    format!("vault-{}", hexadecimal(run))
}

/// The bytes of a snapshot's file.
pub(super) fn encode(snapshot: &MemorySnapshot) -> Result<Vec<u8>, LogError> {
    let body = postcard::to_allocvec(snapshot).map_err(|_| damaged(&snapshot.run, "it has no canonical bytes"))?;
    Ok(FRAME.around(&body))
}

/// Reads the snapshot of a run; `last` is the last record of the log.
pub(super) fn decode(bytes: &[u8], run: &RunId, last: u64) -> Result<MemorySnapshot, LogError> {
    let refuse = |what| Err(damaged(run, what));
    let body = FRAME.content(bytes).map_err(|what| damaged(run, what))?;
    let Ok((snapshot, [])) = postcard::take_from_bytes::<MemorySnapshot>(body) else {
        return refuse("its content cannot be read");
    };
    if snapshot.run != *run {
        return refuse("it belongs to another run");
    }
    if snapshot.sequence > last {
        return refuse(
            "it names a later record than the ledger has: the ledger was restored from an old copy, or truncated",
        );
    }
    Ok(snapshot)
}

fn damaged(run: &RunId, what: &'static str) -> LogError {
    LogError::Memory { run: hexadecimal(run), what }
}
