//! Reading a table: comma-separated text with a header, gzipped or not, into encoded rows.

use crate::data::encode::{Encoder, Reading};
use crate::data::nearest::nearest;
use crate::data::schema::{Kind, Schema};
use crate::{DataError, Rows};
use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};

/// A table after encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// The rows.
    pub rows: Rows,
    /// For each row, its place among the lines of the file, from 0.
    pub ids: Vec<u64>,
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// The columns that were to be kept as text, by name; one entry for each row.
    pub columns: BTreeMap<String, Vec<String>>,
}

impl Encoded {
    /// A column that was kept, or an error that says which there are.
    pub fn column(&self, name: &str) -> Result<&[String], DataError> {
        self.columns.get(name).map(Vec::as_slice).ok_or_else(|| DataError::Column {
            column: name.to_owned(),
            what: "was not kept when the table was read",
            hint: "name it among the columns to keep".into(),
        })
    }
}

/// Reads a table by its schema; `keep` names columns that are wanted as text too, to split or partition by.
///
/// Header and schema must agree: a column of the schema that is not in the file is an error (unless it is ignored), and
/// in a strict reading so is a column of the file that the schema does not name: say `ignore`, so that nobody wonders
/// whether it was used. Spaces around cells do not count.
pub fn read(
    reader: impl Read,
    schema: &Schema,
    bias: bool,
    keep: &[&str],
    reading: Reading,
) -> Result<Encoded, DataError> {
    let mut table = open(reader, reading == Reading::Lenient)?;
    let header = names(&mut table)?;
    let places = Places::of(&header, schema, keep, reading)?;
    let (mut encoder, mut rows) = Encoder::new(schema, bias, reading)?;
    let mut kept: Vec<Vec<String>> = vec![Vec::new(); keep.len()];
    let mut ids = Vec::new();
    let mut record = csv::ByteRecord::new();
    let mut slot = 0;
    while table.read_byte_record(&mut record).map_err(|error| broken(&error))? {
        let line = record.position().map_or(0, csv::Position::line);
        let cells = texts(&record, line, reading)?;
        let cell = |place: Option<usize>| place.and_then(|i| cells.get(i).copied()).unwrap_or("");
        let inputs: Vec<&str> = places.columns.iter().map(|place| cell(*place)).collect();
        if encoder.push(line, &inputs, cell(Some(places.outcome)), &mut rows)? {
            ids.push(slot);
            for (column, place) in kept.iter_mut().zip(&places.keep) {
                column.push(cell(Some(*place)).to_owned());
            }
        }
        slot += 1;
    }
    if rows.is_empty() {
        return Err(DataError::Table { line: None, what: "the table has no rows".into() });
    }
    let columns = keep.iter().map(|name| (*name).to_owned()).zip(kept).collect();
    Ok(Encoded { rows, ids, inputs: schema.inputs(bias), columns })
}

/// The names in a table's first line. Nothing else is looked at.
pub fn header(reader: impl Read) -> Result<Vec<String>, DataError> {
    names(&mut open(reader, false)?)
}

/// What some programs write in front of UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

type Table<'a> = csv::Reader<Box<dyn Read + 'a>>;

/// A reader of lines, unzipped if the first bytes say gzip.
fn open<'a>(mut reader: impl Read + 'a, flexible: bool) -> Result<Table<'a>, DataError> {
    let mut start = Vec::new();
    let unreadable = |error: std::io::Error| DataError::Table { line: None, what: error.to_string() };
    reader.by_ref().take(3).read_to_end(&mut start).map_err(unreadable)?;
    if start.starts_with(b"PK") {
        let what = "this is a zip archive or a spreadsheet; save the sheet as CSV".to_owned();
        return Err(DataError::Table { line: None, what });
    }
    let zipped = start.starts_with(&[0x1f, 0x8b]);
    if start == BYTE_ORDER_MARK {
        start.clear();
    }
    let whole = Cursor::new(start).chain(reader);
    let plain: Box<dyn Read + 'a> = if zipped { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
    Ok(csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(flexible).from_reader(plain))
}

fn names(table: &mut Table<'_>) -> Result<Vec<String>, DataError> {
    let header: Vec<String> = table.headers().map_err(|error| broken(&error))?.iter().map(str::to_owned).collect();
    if header.iter().all(String::is_empty) {
        return Err(DataError::Table { line: Some(1), what: "the header is empty".into() });
    }
    for (place, name) in header.iter().enumerate() {
        if header[..place].contains(name) {
            let hint = "rename one of the two".to_owned();
            return Err(DataError::Column { column: name.clone(), what: "is in the header twice", hint });
        }
    }
    Ok(header)
}

/// Where in a line the cells of the schema stand.
struct Places {
    columns: Vec<Option<usize>>,
    outcome: usize,
    keep: Vec<usize>,
}

impl Places {
    fn of(header: &[String], schema: &Schema, keep: &[&str], reading: Reading) -> Result<Self, DataError> {
        let find = |name: &str| header.iter().position(|other| other == name);
        let must = |name: &str| find(name).ok_or_else(|| lacking(name, header));
        let column = |column: &crate::data::schema::Column| match column.kind {
            Kind::Ignore => Ok(None),
            _ => must(&column.name).map(Some),
        };
        let columns = schema.columns().iter().map(column).collect::<Result<_, _>>()?;
        let places = Self {
            columns,
            outcome: must(&schema.outcome().column)?,
            keep: keep.iter().map(|name| must(name)).collect::<Result<_, _>>()?,
        };
        let known = |name: &String| {
            *name == schema.outcome().column || schema.columns().iter().any(|column| column.name == *name)
        };
        match header.iter().find(|name| !known(name)) {
            Some(extra) if reading == Reading::Strict => Err(DataError::Column {
                column: extra.clone(),
                what: "is in the file and not in the schema",
                hint: format!("add {{ name = \"{extra}\", kind = \"ignore\" }} to the schema, or another kind"),
            }),
            _ => Ok(places),
        }
    }
}

fn lacking(name: &str, header: &[String]) -> DataError {
    let close = nearest(name, header.iter().map(String::as_str));
    let other = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];
    if let ([whole], Some((_, sign))) = (header, other.iter().find(|(sign, _)| header[0].contains(*sign))) {
        let hint = format!("the header `{}` is one cell, with {sign} in it: expected commas between cells", cut(whole));
        return DataError::Column { column: name.to_owned(), what: "is not in the file", hint };
    }
    let hint = match close {
        Some(close) => format!("did you mean `{close}`? Header and schema must use the same names"),
        None => format!("the header has {}", cut(&header.join(", "))),
    };
    DataError::Column { column: name.to_owned(), what: "is not in the file", hint }
}

/// As much of a text as a hint can bear.
fn cut(text: &str) -> String {
    text.chars().take(300).collect()
}

/// The cells as text. Bytes that are no text are an error, or a missing cell where that is not allowed.
fn texts(record: &csv::ByteRecord, line: u64, reading: Reading) -> Result<Vec<&str>, DataError> {
    let text = |cell| match (std::str::from_utf8(cell), reading) {
        (Ok(text), _) => Ok(text),
        (Err(_), Reading::Lenient) => Ok(""),
        (Err(_), Reading::Strict) => {
            let what = "a cell is not text in UTF-8; save the file with that encoding".to_owned();
            Err(DataError::Table { line: Some(line), what })
        }
    };
    record.iter().map(text).collect()
}

/// What the reader of lines stumbled over.
fn broken(error: &csv::Error) -> DataError {
    let line = error.position().map(csv::Position::line);
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("found {len} cells, expected {expected_len} as in the header")
        }
        csv::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    };
    DataError::Table { line, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const SCHEMA: &str = r#"
        outcome = { column = "y", levels = ["no", "yes"] }
        column = [
            { name = "age", kind = "numeric", centre = 50, scale = 10, bounds = [0, 100], missing = "flag" },
            { name = "ward", kind = "category", levels = ["north", "south"], missing = "level" },
            { name = "dose", kind = "numeric", centre = 0, scale = 2, missing = { fill = 4 } },
            { name = "pulse", kind = "numeric", centre = 70, scale = 10 },
            { name = "sex", kind = "category", levels = ["0", "1"] },
            { name = "site", kind = "ignore" },
        ]
    "#;
    const HEADER: &str = "site,age,ward,dose,pulse,sex,y\n";
    const LINE: &str = "a, 60 ,north,2,80,1.0,yes\n";

    fn encoded(lines: &str, reading: Reading) -> Result<Encoded, DataError> {
        let schema = Schema::from_toml(SCHEMA)?;
        read(format!("{HEADER}{lines}").as_bytes(), &schema, true, &["site"], reading)
    }

    fn dense(encoded: &Encoded, row: usize) -> Vec<f64> {
        encoded.rows.row(row).to_dense(encoded.rows.width())
    }

    #[test]
    fn cells_become_inputs_by_public_constants() {
        let table = encoded(&format!("{LINE}b,,?,,70,0,no\n"), Reading::Strict).unwrap();
        let names =
            ["age", "dose", "pulse", "age missing", "ward=north", "ward=south", "ward=?", "sex=0", "sex=1", "bias"];
        assert_eq!(table.inputs, names);
        assert_eq!(dense(&table, 0), [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
        assert_eq!(dense(&table, 1), [0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
        assert_eq!(table.rows.outcomes(), [1.0, 0.0]);
        assert_eq!(table.column("site").unwrap(), ["a", "b"]);
        assert_eq!(table.column("ward").unwrap_err().code(), "D004");
    }

    #[test]
    fn a_strict_reader_names_line_column_and_what_was_meant() {
        for (line, column, found, hint) in [
            ("a,sixty,north,2,80,1,yes", "age", "sixty", "missing = \"flag\""),
            ("a,NaN,north,2,80,1,yes", "age", "NaN", "mend"),
            ("a,60,north,-inf,80,1,yes", "dose", "-inf", "mend"),
            ("a,60,north,1e999,80,1,yes", "dose", "1e999", "mend"),
            ("a,60,nort,2,80,1,yes", "ward", "nort", "did you mean `north`"),
            ("a,60,north,2,,1,yes", "pulse", "nothing", "{ fill = value }"),
            ("a,60,north,2,80,,yes", "sex", "nothing", "missing = \"level\""),
            ("a,60,north,2,80,2,yes", "sex", "2", "add the level"),
            ("a,60,north,2,80,1,Yes", "y", "Yes", "did you mean `yes`"),
            ("a,60,north,2,80,1,", "y", "nothing", "drop"),
        ] {
            let error = encoded(&format!("{LINE}{line}\n{LINE}"), Reading::Strict).unwrap_err();
            let DataError::Cell { line: 3, column: c, found: f, .. } = &error else { panic!("{error:?}") };
            assert_eq!((c.as_str(), f.as_str()), (column, found));
            assert!(error.hint().contains(hint), "{line}: {}", error.hint());
        }
    }

    #[test]
    fn a_lenient_reader_keeps_every_row_and_makes_it_legal() {
        let lines =
            "a,sixty,west,x,NaN,,yes\nb,60,north,2,80,1,perhaps\nc,1e999\n\u{fffd},1e300,north,1e300,-inf,9,no\n";
        let table = encoded(lines, Reading::Lenient).unwrap();
        assert_eq!(table.rows.len(), 4);
        assert_eq!(dense(&table, 0), [0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(dense(&table, 1), [0.0; 10]);
        assert_eq!(dense(&table, 2), [0.0; 10]);
        assert_eq!(table.rows.outcomes(), [1.0, 0.0, 0.0, 0.0]);
        let mut bytes = format!("{HEADER}{LINE}").into_bytes();
        let place = bytes.len() - LINE.len() + 7;
        bytes[place] = 0xff;
        let schema = Schema::from_toml(SCHEMA).unwrap();
        assert!(read(&bytes[..], &schema, true, &[], Reading::Lenient).is_ok());
        let error = read(&bytes[..], &schema, true, &[], Reading::Strict).unwrap_err();
        assert!(error.to_string().starts_with("line 2: "), "{error}");
    }

    #[test]
    fn header_and_schema_must_agree() {
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let refused = |text: &str, reading| read(text.as_bytes(), &schema, false, &[], reading).unwrap_err();
        let error = refused("agee,ward,dose,pulse,sex,y\n", Reading::Lenient);
        assert!(error.to_string().contains("`age` is not in the file") && error.hint().contains("`agee`"), "{error}");
        let extra = "age,ward,dose,pulse,sex,y,z\n60,north,2,80,1,yes,9\n";
        assert!(refused(extra, Reading::Strict).hint().contains("name = \"z\", kind = \"ignore\""));
        assert!(read(extra.as_bytes(), &schema, false, &[], Reading::Lenient).is_ok());
        assert_eq!(refused("age,age,dose,pulse,sex,y\n", Reading::Strict).code(), "D004");
        let short = refused(&format!("{HEADER}{LINE}a,60\n"), Reading::Strict);
        assert_eq!(short.to_string(), "line 3: found 2 cells, expected 7 as in the header");
        assert_eq!(refused(HEADER, Reading::Strict).code(), "D006");
        assert_eq!(refused("", Reading::Strict).code(), "D006");
    }

    #[test]
    fn what_spreadsheets_write_is_read_or_named() {
        let table = format!("\u{feff}{}{LINE}", HEADER).replace('\n', "\r\n");
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let found = read(table.as_bytes(), &schema, true, &["site"], Reading::Strict).unwrap();
        assert_eq!(found, encoded(LINE, Reading::Strict).unwrap());
        let refused = |bytes: &[u8]| read(bytes, &schema, true, &[], Reading::Strict).unwrap_err();
        assert!(
            refused(format!("{HEADER}{LINE}").replace(',', ";").as_bytes()).hint().contains("with semicolons in it")
        );
        assert!(refused(b"PK\x03\x04...").to_string().contains("spreadsheet"));
        let comma = encoded("a,\"60,5\",north,2,80,1,yes\n", Reading::Strict).unwrap_err();
        assert!(comma.hint().contains("decimal point"), "{}", comma.hint());
    }

    #[test]
    fn gzip_is_read_and_broken_gzip_is_an_error() {
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        zip.write_all(format!("{HEADER}{LINE}").as_bytes()).unwrap();
        let bytes = zip.finish().unwrap();
        let table = read(&bytes[..], &schema, true, &["site"], Reading::Strict).unwrap();
        assert_eq!(table, encoded(LINE, Reading::Strict).unwrap());
        let cut = read(&bytes[..bytes.len() - 9], &schema, true, &[], Reading::Strict).unwrap_err();
        assert_eq!(cut.code(), "D006");
        assert_eq!(header(&bytes[..]).unwrap().len(), 7);
    }

    #[test]
    fn rows_without_an_outcome_are_dropped_where_the_schema_says_so() {
        let text = "outcome = { column = \"y\", bounds = [0, 10], centre = 5, scale = 5, missing = \"drop\" }\n\
                    column = [{ name = \"x\", kind = \"numeric\", centre = 0, scale = 1 }]";
        let schema = Schema::from_toml(text).unwrap();
        let table = read(&b"x,y\n1,10\n2,\n3,0\n"[..], &schema, false, &["x"], Reading::Strict).unwrap();
        assert_eq!((table.rows.outcomes(), table.ids.as_slice()), (&[1.0, -1.0][..], &[0, 2][..]));
        assert_eq!(table.column("x").unwrap(), ["1", "3"]);
        let outside = read(&b"x,y\n1,11\n"[..], &schema, false, &[], Reading::Strict).unwrap_err();
        assert!(outside.to_string().contains("between 0 and 10"), "{outside}");
        let lenient = read(&b"x,y\n1,11\n2,\n"[..], &schema, false, &[], Reading::Lenient).unwrap();
        assert_eq!(lenient.rows.outcomes(), [1.0, 0.0]);
    }
}
