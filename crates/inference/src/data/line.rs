//! The lines of a table and their cells: one line, one row, whatever stands in it.

use crate::DataError;
use flate2::read::MultiGzDecoder;
use std::io::{BufRead, BufReader, Cursor, Read};

/// A table's text, line by line; unzipped if its first bytes say gzip, without a byte-order mark.
///
/// Everything after the first line is rows: a terminator or a byte makes one, so that an empty line is a row and nothing
/// after the last terminator is none. A line ends where it ends, also inside a quote: a broken line cannot reach into the next one, so that changing one
/// line of a file changes one row. Cells are those of RFC 4180: set apart by commas, or in quotes, where a quote is
/// written twice. Spaces around cells do not count.
pub(crate) struct Lines<'a> {
    reader: Box<dyn BufRead + 'a>,
    number: u64,
    line: Vec<u8>,
    /// The cells of the line, one after the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
    closed: bool,
}

impl<'a> Lines<'a> {
    /// Before the first line.
    pub(crate) fn open(mut reader: impl Read + 'a) -> Result<Self, DataError> {
        let mut start = Vec::new();
        reader.by_ref().take(4).read_to_end(&mut start).map_err(unreadable)?;
        if start == *b"PK\x03\x04" {
            let what = "this is a zip archive or a spreadsheet; save the sheet as CSV".to_owned();
            return Err(DataError::Table { line: None, what });
        }
        let zipped = start.starts_with(&[0x1f, 0x8b]);
        let whole = BufReader::new(Cursor::new(start).chain(reader));
        let reader: Box<dyn BufRead + 'a> =
            if zipped { Box::new(BufReader::new(MultiGzDecoder::new(whole))) } else { Box::new(whole) };
        Ok(Self { reader, number: 0, line: Vec::new(), text: Vec::new(), ends: Vec::new(), closed: true })
    }

    /// The same, cut off after so many bytes.
    pub(crate) fn at_most(self, bytes: u64) -> Self {
        Self { reader: Box::new(self.reader.take(bytes)), ..self }
    }

    /// Goes to the next line; false if there is none.
    pub(crate) fn advance(&mut self) -> Result<bool, DataError> {
        self.line.clear();
        if self.reader.read_until(b'\n', &mut self.line).map_err(unreadable)? == 0 {
            return Ok(false);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        }
        if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        self.split();
        Ok(true)
    }

    /// The line's number, counted from one.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// True if there is nothing in the line.
    pub(crate) fn is_blank(&self) -> bool {
        self.line.trim_ascii().is_empty()
    }

    /// True if every quote was closed in its line.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The cells of the line.
    pub(crate) fn cells(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let start = |cell: usize| cell.checked_sub(1).map_or(0, |before| self.ends[before]);
        (0..self.ends.len()).map(move |cell| self.text[start(cell)..self.ends[cell]].trim_ascii())
    }

    /// Splits the line at commas outside quotes. A quote opens a cell only at its beginning; two quotes
    /// inside a quoted cell are one.
    fn split(&mut self) {
        self.text.clear();
        self.ends.clear();
        let (mut quoted, mut fresh) = (false, true);
        let mut bytes = self.line.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' if fresh => (quoted, fresh) = (true, false),
                b'"' if quoted && bytes.next_if_eq(&b'"').is_some() => self.text.push(b'"'),
                b'"' if quoted => quoted = false,
                b',' if !quoted => {
                    self.ends.push(self.text.len());
                    fresh = true;
                }
                _ => {
                    fresh = fresh && byte.is_ascii_whitespace();
                    self.text.push(byte);
                }
            }
        }
        self.ends.push(self.text.len());
        self.closed = !quoted;
    }
}

/// A file that ends in the middle, or a broken archive.
fn unreadable(error: std::io::Error) -> DataError {
    DataError::Table { line: None, what: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str) -> (Vec<String>, bool) {
        let mut lines = Lines::open(line.as_bytes()).unwrap();
        assert!(lines.advance().unwrap());
        let cells = lines.cells().map(|cell| String::from_utf8(cell.to_vec()).unwrap()).collect();
        (cells, lines.is_closed())
    }

    #[test]
    fn cells_are_those_of_the_standard() {
        for (line, expected) in [
            ("a,b", vec!["a", "b"]),
            (" a , b c \r", vec!["a", "b c"]),
            ("", vec![""]),
            (",", vec!["", ""]),
            ("\"a, b\",c", vec!["a, b", "c"]),
            ("1, \"the \"\"ward\"\"\" ,2", vec!["1", "the \"ward\"", "2"]),
            ("a\"b\",c", vec!["a\"b\"", "c"]),
            ("\"a\"b,c", vec!["ab", "c"]),
            ("\"\",x", vec!["", "x"]),
        ] {
            let line = format!("{line}\n");
            let line = if line == "\n" { "\n" } else { &line };
            assert_eq!(cells(line), (expected.into_iter().map(str::to_owned).collect(), true), "{line:?}");
        }
        assert_eq!(cells("a,\"b,c"), (vec!["a".to_owned(), "b,c".to_owned()], false));
    }

    #[test]
    fn lines_end_where_they_end_and_the_last_needs_no_end() {
        let mut lines = Lines::open(&b"\xef\xbb\xbfa\n\"b\n\nc\n"[..]).unwrap();
        let mut seen = Vec::new();
        while lines.advance().unwrap() {
            seen.push((lines.number(), lines.line.clone(), lines.is_blank()));
        }
        let expected = [(1, &b"a"[..], false), (2, b"\"b", false), (3, b"", true), (4, b"c", false)];
        assert_eq!(seen, expected.map(|(number, line, blank)| (number, line.to_vec(), blank)));
        assert_eq!(cells("\u{feff}name").0, ["name"]);
    }
}
