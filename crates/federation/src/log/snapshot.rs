//! The file of what a site remembers in a run: postcard of a [`MemorySnapshot`].

use super::{Frame, LogError, MemorySnapshot, RunId};
use study::digits::hexadecimal;

const FRAME: Frame = Frame { magic: *b"POSTVALT", version: 1 };

/// How the name of its file begins.
const PREFIX: &str = "vault-";

/// What is wrong with the file of a run that the ledger does not know.
pub(super) const UNKNOWN: &str =
    "the ledger does not have this run: it is missing, was restored from an old copy, or was truncated";

/// The name of its file.
pub(super) fn file(run: &RunId) -> String {
    format!("{PREFIX}{}", hexadecimal(run))
}

/// The run of a file with such a name, in hexadecimal digits. A file that was never put in its place is of no run.
pub(crate) fn run_of(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX).filter(|run| run.bytes().all(|digit| digit.is_ascii_hexdigit()))
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
