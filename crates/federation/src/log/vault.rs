//! The file of what a site remembers in a run.
//!
//! ```text
//! 8 bytes "POSTVALT" | u32 version | u32 CRC-32C of the body | body: postcard of a Vault
//! ```

use super::{LogError, RunId, Vault};
use crate::digits::hexadecimal;

const MAGIC: [u8; 8] = *b"POSTVALT";
const VERSION: u32 = 1;
const HEADER: usize = 16;

/// The name of its file.
pub(super) fn file(run: &RunId) -> String {
    format!("vault-{}", hexadecimal(run))
}

/// The bytes of a vault.
pub(super) fn encode(vault: &Vault) -> Result<Vec<u8>, LogError> {
    let body = postcard::to_allocvec(vault).map_err(|_| damaged(&vault.run, "it has no canonical bytes"))?;
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Reads the vault of a run; `last` is the last record of the log.
pub(super) fn decode(bytes: &[u8], run: &RunId, last: u64) -> Result<Vault, LogError> {
    let refuse = |what| Err(damaged(run, what));
    if !bytes.starts_with(&MAGIC) {
        return refuse("the file does not begin as a vault does");
    }
    let word = |from: usize| bytes.get(from..from + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
    if word(8) != Some(VERSION) {
        return refuse("it is of another version");
    }
    let body = bytes.get(HEADER..).unwrap_or_default();
    if word(12) != Some(crc32c::crc32c(body)) {
        return refuse("its checksum does not fit");
    }
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
