//! The bytes of one record: length, checksum, number, link, content.
//!
//! ```text
//! u32 length of the body | u32 CRC-32C of all that follows | u64 sequence | 32 bytes digest before | body
//! ```
//!
//! Numbers are little-endian. The body is the postcard form of an [`LogEntry`]. The digest of a record is SHA-256 over
//! sequence, digest before and body.

use super::LogEntry;
use privacy::noise::Digest;
use sha2::{Digest as _, Sha256};

/// Bytes of a body, at most.
pub(super) const MOST_BYTES: usize = 64 << 20;
/// Bytes of the length and the checksum, before the linked part.
const PREFIX: usize = 8;
/// Sequence and digest of the record before.
const LINK: usize = 40;
/// All but the body.
pub(super) const FRAME: usize = PREFIX + LINK;

/// A record whose checksum fits: it was written whole.
pub(super) struct WholeRecord<'a> {
    pub(super) sequence: u64,
    pub(super) previous: Digest,
    pub(super) body: &'a [u8],
    pub(super) digest: Digest,
    /// Bytes in the file.
    pub(super) size: usize,
}

/// The bytes of a record and its digest; none if the body is larger than a record may be.
pub(super) fn frame(sequence: u64, previous: &Digest, body: &[u8]) -> Option<(Vec<u8>, Digest)> {
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= MOST_BYTES)?;
    let mut linked = Vec::with_capacity(LINK + body.len());
    linked.extend_from_slice(&sequence.to_le_bytes());
    linked.extend_from_slice(previous);
    linked.extend_from_slice(body);
    let mut bytes = Vec::with_capacity(PREFIX + linked.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&crc32c::crc32c(&linked).to_le_bytes());
    bytes.extend_from_slice(&linked);
    Some((bytes, Sha256::digest(&linked).into()))
}

/// The length that the bytes claim for the body of the record they begin with; none if it is not there, or none can be.
pub(super) fn claimed(bytes: &[u8]) -> Option<usize> {
    let length = usize::try_from(word(bytes, 0)?).ok()?;
    (1..=MOST_BYTES).contains(&length).then_some(length)
}

/// The sequence that the bytes claim for the record they begin with.
pub(super) fn claimed_sequence(bytes: &[u8]) -> Option<u64> {
    bytes.get(PREFIX..PREFIX + 8)?.try_into().ok().map(u64::from_le_bytes)
}

/// The record that the bytes begin with, if all of it is there and its checksum fits.
pub(super) fn whole(bytes: &[u8]) -> Option<WholeRecord<'_>> {
    let size = FRAME + claimed(bytes)?;
    let linked = bytes.get(PREFIX..size)?;
    if crc32c::crc32c(linked) != word(bytes, 4)? {
        return None;
    }
    let sequence = claimed_sequence(bytes)?;
    let previous = linked.get(8..LINK)?.try_into().ok()?;
    let body = linked.get(LINK..)?;
    Some(WholeRecord { sequence, previous, body, digest: Sha256::digest(linked).into(), size })
}

/// The content of a record; none if this version cannot read all of it.
pub(super) fn content(body: &[u8]) -> Option<LogEntry> {
    match postcard::take_from_bytes::<LogEntry>(body) {
        Ok((entry, [])) => Some(entry),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}
