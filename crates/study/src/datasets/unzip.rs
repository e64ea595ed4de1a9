//! The first table inside a zip file, as far as data archives need it: stored or deflated, not encrypted, under 4 GB.

use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::io::Read;

/// Signature and length of the record at the end of an archive, without its comment.
const END: (&[u8; 4], usize) = (b"PK\x05\x06", 22);
/// Signature and fixed length of an entry of the directory.
const ENTRY: (&[u8; 4], usize) = (b"PK\x01\x02", 46);
/// Fixed length of the header in front of a file's bytes.
const LOCAL: usize = 30;

/// The bytes of the first file whose name ends in `.csv`, at most so many of them.
pub(crate) fn first_csv(archive: &[u8], most: u64) -> Result<Vec<u8>, &'static str> {
    const CUT: &str = "its zip is cut off";
    let places = (0..=archive.len().saturating_sub(END.1)).rev();
    let end = places.into_iter().find(|at| archive[*at..].starts_with(END.0)).ok_or(CUT)?;
    let mut at = number(archive, end + 16, 4).ok_or(CUT)?;
    loop {
        let name_length = number(archive, at + 28, 2).ok_or(CUT)?;
        let name = archive.get(at + ENTRY.1..at + ENTRY.1 + name_length).ok_or(CUT)?;
        if !archive[at..].starts_with(ENTRY.0) {
            return Err("its zip holds no .csv file");
        }
        if name.to_ascii_lowercase().ends_with(b".csv") {
            return extract(archive, at, most).ok_or(CUT)?;
        }
        let (extra, comment) = (number(archive, at + 30, 2).ok_or(CUT)?, number(archive, at + 32, 2).ok_or(CUT)?);
        at += ENTRY.1 + name_length + extra + comment;
    }
}

/// The bytes of the file with this entry of the directory; none if the archive ends before them.
fn extract(archive: &[u8], entry: usize, most: u64) -> Option<Result<Vec<u8>, &'static str>> {
    let (method, crc) = (number(archive, entry + 10, 2)?, number(archive, entry + 16, 4)?);
    let (packed, local) = (number(archive, entry + 20, 4)?, number(archive, entry + 42, 4)?);
    let start = local + LOCAL + number(archive, local + 26, 2)? + number(archive, local + 28, 2)?;
    let bytes = archive.get(start..start.checked_add(packed)?)?;
    let mut text = Vec::new();
    let read = match method {
        0 => bytes.take(most).read_to_end(&mut text),
        8 => DeflateDecoder::new(bytes).take(most).read_to_end(&mut text),
        _ => return Some(Err("its zip uses a method other than deflate")),
    };
    let mut sum = Crc::new();
    sum.update(&text);
    let good = read.is_ok() && sum.sum() as usize == crc;
    Some(if good { Ok(text) } else { Err("its zip is broken: the checksum does not fit") })
}

/// A number of 2 or 4 bytes, the lowest first.
fn number(archive: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let bytes = archive.get(at..at.checked_add(bytes)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by Python's zipfile: a.txt ("no", stored) and b.csv ("x,y\n" 20 times, deflated).
    const ARCHIVE: &str = include_str!("../../tests/archive.hex");

    fn archive() -> Vec<u8> {
        let digits = ARCHIVE.trim().as_bytes();
        let value = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(value).collect()
    }

    #[test]
    fn the_table_comes_out_and_damage_is_an_error() {
        let whole = archive();
        assert_eq!(first_csv(&whole, 1000).unwrap(), b"x,y\n".repeat(20));
        assert!(first_csv(&whole, 79).is_err(), "over the limit");
        for length in 0..whole.len() {
            assert!(first_csv(&whole[..length], 1000).is_err(), "{length}");
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x55;
            let _ = first_csv(&damaged, 1000); // Must return, whatever it says.
        }
    }
}
