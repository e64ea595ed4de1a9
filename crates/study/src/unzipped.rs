//! The text of a table, zipped or not.

use flate2::read::MultiGzDecoder;
use std::io::Read;

/// A table's text without a byte-order mark, unzipped where it is zipped.
pub fn unzipped(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        MultiGzDecoder::new(bytes).read_to_end(&mut text)?;
    } else {
        text.extend_from_slice(bytes);
    }
    Ok(text.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(text))
}
