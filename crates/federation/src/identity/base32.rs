//! Bytes as letters and digits that can be read over the telephone: base 32 of RFC 4648, in small letters, unpadded.

const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The bytes in base 32.
pub(super) fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in bytes {
        held = held << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(letter(held >> bits));
        }
    }
    if bits > 0 {
        text.push(letter(held << (5 - bits)));
    }
    text
}

/// The bytes of a text; none if it is not exactly what [`encoded`] writes.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 5 / 8);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for letter in text.bytes() {
        let value = LETTERS.iter().position(|other| *other == letter)?;
        held = held << 5 | u32::try_from(value).ok()?;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    let unused = held & ((1 << bits) - 1);
    (bits < 5 && unused == 0).then_some(bytes)
}

fn letter(value: u32) -> char {
    LETTERS.get((value & 31) as usize).map_or('a', |letter| char::from(*letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_hold() {
        for (bytes, text) in
            [("", ""), ("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foob", "mzxw6yq"), ("foobar", "mzxw6ytboi")]
        {
            assert_eq!(encoded(bytes.as_bytes()), text);
            assert_eq!(decoded(text).unwrap(), bytes.as_bytes());
        }
        for text in ["m", "mz", "mzx", "MY", "m1", "my=", "mzxw6y"] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }
}
