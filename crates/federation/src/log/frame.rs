//! Small files that are replaced whole: what they are, and a checksum, before their content.
//!
//! ```text
//! 8 bytes of the kind | u32 version | u32 CRC-32C of the content | content
//! ```

const HEADER: usize = 16;

/// A kind of file: how it begins, and the version of its content.
pub(crate) struct Frame {
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
}

impl Frame {
    /// The bytes of a file with this content.
    pub(crate) fn around(&self, content: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER + content.len());
        bytes.extend_from_slice(&self.magic);
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(content).to_le_bytes());
        bytes.extend_from_slice(content);
        bytes
    }

    /// The content of a file, or what is wrong with the file.
    pub(crate) fn content<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8], &'static str> {
        let word =
            |from: usize| bytes.get(from..from + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
        let content = bytes.get(HEADER..).unwrap_or_default();
        if !bytes.starts_with(&self.magic) {
            return Err("the file has the header of another kind of file");
        }
        if word(8) != Some(self.version) {
            return Err("it has another version");
        }
        if word(12) != Some(crc32c::crc32c(content)) {
            return Err("its checksum is wrong");
        }
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_found() {
        let frame = Frame { magic: *b"POSTTEST", version: 3 };
        let good = frame.around(b"content");
        assert_eq!(frame.content(&good), Ok(&b"content"[..]));
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(frame.content(&bad).is_err(), "bit {bit}");
        }
        assert!((0..good.len()).all(|end| frame.content(&good[..end]).is_err()), "a file that was cut");
    }
}
