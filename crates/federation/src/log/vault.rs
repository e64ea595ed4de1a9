//! The file of what a site remembers in a run: postcard of a [`Vault`].

use super::{Frame, LogError, RunId, Vault};
use study::digits::hexadecimal;

const FRAME: Frame = Frame { magic: *b"POSTVALT", version: 1 };

/// The name of its file.
pub(super) fn file(run: &RunId) -> String {
    format!("vault-{}", hexadecimal(run))
}

/// The bytes of a vault.
pub(super) fn encode(vault: &Vault) -> Result<Vec<u8>, LogError> {
    let body = postcard::to_allocvec(vault).map_err(|_| damaged(&vault.run, "it has no canonical bytes"))?;
    Ok(FRAME.around(&body))
}

/// Reads the vault of a run; `last` is the last record of the log.
pub(super) fn decode(bytes: &[u8], run: &RunId, last: u64) -> Result<Vault, LogError> {
    let refuse = |what| Err(damaged(run, what));
    let body = FRAME.content(bytes).map_err(|what| damaged(run, what))?;
    let Ok((vault, [])) = postcard::take_from_bytes::<Vault>(body) else {
        return refuse("its content cannot be read");
    };
    if vault.run != *run {
        return refuse("it is of another run");
    }
    if vault.sequence > last {
        return refuse("it names a later record than the ledger has: the ledger was restored from an old copy, or cut");
    }
    Ok(vault)
}

fn damaged(run: &RunId, what: &'static str) -> LogError {
    LogError::Vault { run: hexadecimal(run), what }
}
