//! The chain of records in a file: every one is checked, and what a torn write left behind is told from damage.
//!
//! A record is appended only after the one before is durable, so a crash can tear one record: the last. What remains
//! after the last good record is a **torn tail**, and may be cut off, only if all of this holds:
//!
//! 1. It does not begin with a whole record: one that ends within the file and whose checksum fits. (A whole record with
//!    a wrong number, link or content was not torn but forged, or is of a later version.)
//! 2. At no later place in it begins a whole record with the expected number or a higher one. A flipped bit in the length
//!    of an earlier record is found so: what follows it is still there.
//! 3. The record that it begins with ends, by its own length, at or after the last byte that is not zero. Bytes beyond
//!    were a later record, and that this one was durable follows. (Zeros may stand for blocks that were never written. A
//!    length that no record has is of an unwritten block, or was never whole: then rules 1 and 2 decide.)
//!
//! Everything else is damage, and refused with the record's number; nothing is ever repaired or skipped. A last record
//! that was durable and then lost a bit looks like a torn one and is cut off: the server, which has countersigned it, and
//! the memory snapshot, which names it, then say that the ledger is behind.

use super::record::{self, FRAME};
use super::{LogEntry, LogError};
use privacy::noise::Digest;

/// First bytes of the file.
const MAGIC: [u8; 8] = *b"POSTLEDG";
/// The version that is written, and read.
const VERSION: u32 = 1;
/// Bytes of the header.
pub(super) const HEADER: usize = 16;

/// What was found in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RecordChain {
    /// Digest of each record.
    pub(super) digests: Vec<Digest>,
    /// Where the last good record ends; 0 if there is no whole header.
    pub(super) end: usize,
    /// Bytes after it.
    pub(super) torn: usize,
}

/// The header of a file.
pub(super) fn header() -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    let parts = MAGIC.into_iter().chain(VERSION.to_le_bytes());
    bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
    bytes
}

/// Checks every record of a file and shows it, in order.
pub(super) fn walk(
    bytes: &[u8],
    see: &mut dyn FnMut(u64, LogEntry) -> Result<(), LogError>,
) -> Result<RecordChain, LogError> {
    if !has_header(bytes)? {
        return Ok(RecordChain { digests: Vec::new(), end: 0, torn: bytes.len() });
    }
    let (mut digests, mut end) = (Vec::new(), HEADER);
    let mut previous = Digest::default();
    loop {
        let rest = bytes.get(end..).unwrap_or_default();
        let number = digests.len() as u64 + 1;
        if rest.is_empty() {
            break;
        }
        let damaged = |what| LogError::Damaged { record: number, what };
        let Some(found) = record::whole(rest) else {
            torn_tail(rest, number)?;
            break;
        };
        if found.sequence != number {
            return Err(damaged("it has the wrong number"));
        }
        if found.previous != previous {
            return Err(damaged("it does not follow the record before"));
        }
        let entry = record::content(found.body).ok_or(damaged("its content is unknown to this version"))?;
        see(number, entry)?;
        previous = found.digest;
        digests.push(found.digest);
        end += found.size;
    }
    Ok(RecordChain { digests, end, torn: bytes.len().saturating_sub(end) })
}

/// Whether the file has its header. One that was torn when the file was made is a beginning of it, and zeros.
fn has_header(bytes: &[u8]) -> Result<bool, LogError> {
    let expected = header();
    let alike = bytes.iter().zip(&expected).take_while(|(found, expected)| found == expected).count();
    if alike == HEADER {
        return Ok(true);
    }
    if bytes.len() <= HEADER && bytes.iter().skip(alike).all(|byte| *byte == 0) {
        return Ok(false);
    }
    let version = bytes.get(8..12).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
    match version {
        Some(found) if bytes.starts_with(&MAGIC) && found != VERSION => {
            Err(LogError::Version { found, expected: VERSION })
        }
        _ => Err(LogError::Damaged { record: 0, what: "the file does not begin with a ledger's header" }),
    }
}

/// Refuses what is not a torn tail: the rules 2 and 3 above.
fn torn_tail(tail: &[u8], number: u64) -> Result<(), LogError> {
    let damaged = |what| Err(LogError::Damaged { record: number, what });
    let written = tail.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if record::claimed(tail).is_some_and(|length| FRAME + length < written) {
        return damaged("its checksum is wrong, and more data follows it");
    }
    // No more records fit into the tail than this, so that most places are passed by at a glance.
    let most = number.saturating_add((tail.len() / FRAME) as u64);
    let later = (1..written).filter_map(|at| tail.get(at..)).any(|rest| {
        record::claimed_sequence(rest).is_some_and(|found| (number..=most).contains(&found))
            && record::whole(rest).is_some()
    });
    if later { damaged("it cannot be read, and intact records follow it") } else { Ok(()) }
}
