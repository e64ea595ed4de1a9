//! Reading a table: comma-separated text with a header, gzipped or not, into encoded rows.
//!
//! Two readings share this code. Strict: for studies, any doubt is an error with its line. Lenient: for
//! agents, one line makes exactly one row whatever it holds, so that neighbouring files make
//! neighbouring tables.

use crate::data::encode::{Encoder, RowReading, is_missing, level};
use crate::data::keys::{PersonKey, RecordId, RowKeys};
use crate::data::line::Lines;
use crate::data::nearest::nearest;
use crate::data::schema::{Kind, Only, Schema};
use crate::{DataError, Rows};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;

/// No header is longer.
const MOST_HEADER: u64 = 1 << 20;

/// The header's line, and the first after it.
pub(super) const FIRST_ROW: u64 = 2;

/// A table after encoding: rows, and what tells them apart. Cells are kept as text only where a study asks for a column, to split
/// or partition by it. Its `Debug` shows no cell.
#[derive(Clone, PartialEq)]
pub struct Encoded {
    /// The rows.
    pub rows: Rows,
    /// For each row its slot, the number of its line after the header; its record's id and its person's key where the schema
    /// names them.
    pub keys: RowKeys,
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// The columns that were to be kept as text, by name; one entry for each row.
    pub columns: BTreeMap<String, Vec<String>>,
}

impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoded({} inputs)", self.inputs.len())
    }
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

    /// The line of the file that a row stands on, counted from one.
    pub fn line(&self, row: usize) -> u64 {
        FIRST_ROW + self.keys.slots()[row]
    }
}

/// Reads a table by its schema; `keep` names columns that are wanted as text too, to split or partition by.
///
/// Header and schema must agree: a column of the schema that is not in the file is an error (unless it is ignored), and
/// in a strict reading so is a column of the file that the schema does not name: say `ignore`, so that nobody wonders
/// whether it was used. Spaces around cells do not count.
///
/// One line is one slot, and nothing on it reaches another. A strict reading passes over blank lines and stops at broken
/// ones, and wants one row at least; a lenient one makes a row of each line, of no line no row, so that files which differ
/// in one line become tables that differ in one row. Lines that the schema's `only` leaves out are no rows of a strict
/// reading, and rows of zeros in a lenient one.
///
/// # Errors
/// Columns that are not in the file, or not in the schema. In a strict reading also broken lines, cells
/// that the schema does not cover, records without an id or with that of another row, and a table without
/// rows. A lenient reading refuses nothing about a row.
pub fn read(
    reader: impl Read,
    schema: &Schema,
    bias: bool,
    keep: &[&str],
    reading: RowReading,
) -> Result<Encoded, DataError> {
    let mut lines = Lines::open(reader)?;
    let header = names(&mut lines)?;
    let places = Places::of(&header, schema, keep, reading)?;
    let (mut encoder, mut rows) = Encoder::new(schema, bias, reading)?;
    let mut kept: Vec<Vec<String>> = vec![Vec::new(); keep.len()];
    let (mut records, mut persons) = (Records::new(reading), PersonColumn::new(reading));
    let (mut slots, mut selection) = (Vec::new(), Selection::of(schema));
    while lines.advance()? {
        if reading == RowReading::Strict {
            if lines.is_blank() {
                continue;
            }
            check(&lines, header.len())?;
        }
        let line = lines.number();
        let cells = texts(&lines, reading)?;
        let cell = |place: Option<usize>| place.and_then(|i| cells.get(i).copied()).unwrap_or("");
        let inputs: Vec<&str> = places.columns.iter().map(|place| cell(*place)).collect();
        let is_row = if selection.takes(cell(places.only)) {
            encoder.push(line, &inputs, cell(Some(places.outcome)), &mut rows)?
        } else {
            encoder.leave_out(&mut rows)?
        };
        if is_row {
            slots.push(line - FIRST_ROW);
            if let (Some(column), Some(place)) = (schema.record_id(), places.record) {
                records.push(line, column, cell(Some(place)))?;
            }
            if let (Some(column), Some(place)) = (schema.person_id(), places.person) {
                persons.push(line, column, lines.cells().nth(place).unwrap_or_default())?;
            }
            for (column, place) in kept.iter_mut().zip(&places.keep) {
                column.push(cell(Some(*place)).to_owned());
            }
        }
    }
    if rows.is_empty() && reading == RowReading::Strict {
        selection.check()?;
        return Err(DataError::Table { line: None, what: "the table has no rows".into() });
    }
    let keys = RowKeys::of_slots(slots);
    let keys = if places.record.is_some() { keys.with_records(records.ids) } else { keys };
    let keys = if places.person.is_some() { keys.with_persons(persons.keys) } else { keys };
    let columns = keep.iter().map(|name| (*name).to_owned()).zip(kept).collect();
    Ok(Encoded { rows, keys, inputs: schema.inputs(bias), columns })
}

/// Values of the column of `only` that a hint may choose from.
const MOST_SEEN: usize = 100;

/// Which lines are rows, by the schema's `only`.
pub(super) struct Selection<'a> {
    /// The level that a row must have.
    only: Option<&'a Only>,
    /// Whether any line had it.
    taken: bool,
    /// Other values of its column.
    seen: BTreeSet<String>,
}

impl<'a> Selection<'a> {
    /// The selection of this schema, before any line.
    pub(super) fn of(schema: &'a Schema) -> Self {
        Self { only: schema.only(), taken: false, seen: BTreeSet::new() }
    }

    /// True if the line with this cell is a row.
    pub(super) fn takes(&mut self, cell: &str) -> bool {
        let Some(only) = self.only else { return true };
        let takes = level(std::slice::from_ref(&only.level), cell).is_some();
        self.taken |= takes;
        if !takes && !self.taken && self.seen.len() < MOST_SEEN {
            self.seen.insert(cell.to_owned());
        }
        takes
    }

    /// Refuses a level that no line of a strict reading has, with the one that was meant.
    pub(super) fn check(&self) -> Result<(), DataError> {
        let Some(Only { column, level }) = self.only.filter(|_| !self.taken && !self.seen.is_empty()) else {
            return Ok(());
        };
        let hint = match nearest(level, self.seen.iter().map(String::as_str)) {
            Some(close) => format!("did you mean `{close}`? The schema's `only` wants `{level}`"),
            // Cells are not shown: the column may hold names.
            None => format!("the schema's `only` wants `{level}`; compare its spelling with the column's code book"),
        };
        Err(DataError::Column { column: column.clone(), what: "has the level of `only` in no row", hint })
    }
}

/// The names in a table's first line. Nothing else is looked at.
///
/// # Errors
/// A file that cannot be read, is an archive or a spreadsheet, or has no header.
pub fn header(reader: impl Read) -> Result<Vec<String>, DataError> {
    names(&mut Lines::open(reader)?.at_most(MOST_HEADER))
}

/// Checks that a header has what a strict reading by this schema would ask of it.
pub fn agree(header: &[String], schema: &Schema, keep: &[&str]) -> Result<(), DataError> {
    Places::of(header, schema, keep, RowReading::Strict).map(|_| ())
}

/// The header's names. Refused: an empty header, an open quote, columns that are not set apart by
/// commas, and a name that is there twice.
pub(super) fn names(lines: &mut Lines<'_>) -> Result<Vec<String>, DataError> {
    let broken = |what: String| Err(DataError::Table { line: Some(1), what });
    if !lines.advance()? || lines.is_blank() {
        return broken("the header is empty".into());
    }
    if !lines.is_closed() {
        return broken("a quote in the header is not closed".into());
    }
    let header: Vec<String> = texts(lines, RowReading::Strict)?.into_iter().map(str::to_owned).collect();
    if let [only] = header.as_slice()
        && let Some((separator, word)) =
            [(';', "`;`"), ('\t', "a tab"), ('|', "`|`")].into_iter().find(|(c, _)| only.contains(*c))
    {
        let first = only.split(separator).next().unwrap_or("");
        return broken(format!("the columns are separated by {word} (after `{first}`), expected commas"));
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
pub(super) struct Places {
    /// Of each column of the schema; none of an ignored one.
    pub(super) columns: Vec<Option<usize>>,
    pub(super) outcome: usize,
    pub(super) record: Option<usize>,
    pub(super) person: Option<usize>,
    pub(super) only: Option<usize>,
    /// Of the columns to keep as text.
    keep: Vec<usize>,
}

impl Places {
    /// Where the header has the columns of the schema and those to keep.
    ///
    /// # Errors
    /// A column that is not in the file; in a strict reading one of the file that the schema does not name;
    /// and a record id among the columns to keep, because ids stay in their file.
    pub(super) fn of(
        header: &[String],
        schema: &Schema,
        keep: &[&str],
        reading: RowReading,
    ) -> Result<Self, DataError> {
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
            record: schema.record_id().map(must).transpose()?,
            person: schema.person_id().map(must).transpose()?,
            only: schema.only().map(|only| must(&only.column)).transpose()?,
            keep: keep.iter().map(|name| must(name)).collect::<Result<_, _>>()?,
        };
        let ids = [(schema.record_id(), "is the record id"), (schema.person_id(), "is the person id")];
        if let Some((Some(id), what)) = ids.into_iter().find(|(id, _)| id.is_some_and(|id| keep.contains(&id))) {
            let hint = "ids stay in their file: split and partition by another column".to_owned();
            return Err(DataError::Column { column: id.to_owned(), what, hint });
        }
        match header.iter().find(|name| !schema.names(name)) {
            Some(extra) if reading == RowReading::Strict => Err(DataError::Column {
                column: extra.clone(),
                what: "is in the file and not in the schema",
                hint: format!("add {{ name = \"{extra}\", kind = \"ignore\" }} to the schema, or another kind"),
            }),
            _ => Ok(places),
        }
    }
}

/// A column that the header does not have, with the one that may be meant.
fn lacking(name: &str, header: &[String]) -> DataError {
    let close = nearest(name, header.iter().map(String::as_str));
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

/// The ids of the records. In a strict reading no two rows have one id, and none has none.
///
/// A lenient reading takes any cell: a row's part follows from its own cell in any case.
pub(super) struct Records {
    reading: RowReading,
    /// Where each id was seen first.
    seen: BTreeMap<String, u64>,
    ids: Vec<RecordId>,
}

impl Records {
    /// Before the first row.
    pub(super) fn new(reading: RowReading) -> Self {
        Self { reading, seen: BTreeMap::new(), ids: Vec::new() }
    }

    /// Adds the id of one row.
    pub(super) fn push(&mut self, line: u64, column: &str, cell: &str) -> Result<(), DataError> {
        if self.reading == RowReading::Strict {
            let refuse = |what: String| Err(DataError::Record { line, column: column.to_owned(), what });
            if is_missing(cell) {
                return refuse("there is no record id".into());
            }
            if let Some(first) = self.seen.insert(cell.to_owned(), line) {
                return refuse(format!("the record id is that of line {first}"));
            }
        }
        self.ids.push(RecordId::of(cell));
        Ok(())
    }
}

/// Whose each row is. A strict reading refuses a row without a person; in a lenient one all such rows are those of one person.
///
/// An id is its bytes, in whatever encoding: if ids that are no text were taken for missing ones, the rows of one person would
/// count as those of many.
pub(super) struct PersonColumn {
    reading: RowReading,
    /// The slot of each id.
    seen: BTreeMap<String, u64>,
    count: u64,
    keys: Vec<PersonKey>,
}

impl PersonColumn {
    /// Before the first row.
    pub(super) fn new(reading: RowReading) -> Self {
        Self { reading, seen: BTreeMap::new(), count: 0, keys: Vec::new() }
    }

    /// Adds the person of one row.
    pub(super) fn push(&mut self, line: u64, column: &str, cell: &[u8]) -> Result<(), DataError> {
        let id = match std::str::from_utf8(cell) {
            Ok(text) if !is_missing(text) => text.to_owned(),
            Ok(_) if self.reading == RowReading::Strict => {
                let what = "there is no person id".to_owned();
                return Err(DataError::Record { line, column: column.to_owned(), what });
            }
            // No cell holds a line break: these are nobody else's ids.
            Ok(_) => "\n".to_owned(),
            Err(_) => cell.iter().fold("\n".to_owned(), |id, byte| format!("{id}{byte:02x}")),
        };
        let key = RecordId::of(&id);
        let next = self.count;
        let slot = *self.seen.entry(id).or_insert(next);
        self.count += u64::from(slot == next);
        self.keys.push(PersonKey { slot, id: key });
        Ok(())
    }
}

/// Refuses a line that is not one row.
pub(super) fn check(lines: &Lines<'_>, expected: usize) -> Result<(), DataError> {
    let broken = |what| Err(DataError::Table { line: Some(lines.number()), what });
    match lines.cells().len() {
        _ if !lines.is_closed() => broken("a quote is not closed before the line ends".to_owned()),
        found if found != expected => broken(format!("found {found} cells, expected {expected} as in the header")),
        _ => Ok(()),
    }
}

/// The cells as text. Bytes that are no text are an error, or a missing cell where that is not allowed.
pub(super) fn texts<'l>(lines: &'l Lines<'_>, reading: RowReading) -> Result<Vec<&'l str>, DataError> {
    let text = |cell: &'l [u8]| match (std::str::from_utf8(cell), reading) {
        (Ok(text), _) => Ok(text),
        (Err(_), RowReading::Lenient) => Ok(""),
        (Err(_), RowReading::Strict) => {
            let what = "a cell is not text in UTF-8; save the file with that encoding".to_owned();
            Err(DataError::Table { line: Some(lines.number()), what })
        }
    };
    lines.cells().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
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
    const WITH_IDS: &str = r#"
        outcome = { column = "y", levels = ["no", "yes"] }
        record_id = "patient"
        column = [{ name = "x", kind = "numeric", centre = 0, scale = 1, missing = "flag" }]
    "#;
    const HEADER: &str = "site,age,ward,dose,pulse,sex,y\n";
    const LINE: &str = "a, 60 ,north,2,80,1.0,yes\n";

    fn encoded(lines: &str, reading: RowReading) -> Result<Encoded, DataError> {
        let schema = Schema::from_toml(SCHEMA)?;
        read(format!("{HEADER}{lines}").as_bytes(), &schema, true, &["site"], reading)
    }

    fn dense(encoded: &Encoded, row: usize) -> Vec<f64> {
        encoded.rows.row(row).to_dense(encoded.rows.width())
    }

    #[test]
    fn cells_become_inputs_by_public_constants() {
        let table = encoded(&format!("{LINE}b,,?,,70,0,no\n"), RowReading::Strict).unwrap();
        let names = [
            "age",
            "dose",
            "pulse",
            "age missing",
            "ward=north",
            "ward=south",
            "ward=?",
            "sex=0",
            "sex=1",
            "intercept",
        ];
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
            ("a,NaN,north,2,80,1,yes", "age", "NaN", "correct"),
            ("a,60,north,-inf,80,1,yes", "dose", "-inf", "correct"),
            ("a,60,north,1e999,80,1,yes", "dose", "1e999", "correct"),
            ("a,60,nort,2,80,1,yes", "ward", "nort", "did you mean `north`"),
            ("a,60,north,2,,1,yes", "pulse", "", "{ fill = value }"),
            ("a,60,north,2,80,,yes", "sex", "", "missing = \"level\""),
            ("a,60,north,2,80,2,yes", "sex", "2", "add the level"),
            ("a,60,north,2,80,1,Yes", "y", "Yes", "did you mean `yes`"),
            ("a,60,north,2,80,1,", "y", "", "drop"),
        ] {
            let error = encoded(&format!("{LINE}{line}\n{LINE}"), RowReading::Strict).unwrap_err();
            let DataError::Cell { line: 3, column: c, found: f, .. } = &error else { panic!("{error:?}") };
            assert_eq!((c.as_str(), f.as_str()), (column, found));
            assert!(error.hint().contains(hint), "{line}: {}", error.hint());
        }
    }

    #[test]
    fn a_lenient_reader_keeps_every_row_and_makes_it_legal() {
        let lines =
            "a,sixty,west,x,NaN,,yes\nb,60,north,2,80,1,perhaps\nc,1e999\n\u{fffd},1e300,north,1e300,-inf,9,no\n";
        let table = encoded(lines, RowReading::Lenient).unwrap();
        assert_eq!(table.rows.len(), 4);
        assert_eq!(dense(&table, 0), [0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        assert_eq!(dense(&table, 1), [0.0; 10]);
        assert_eq!(dense(&table, 2), [0.0; 10]);
        assert_eq!(table.rows.outcomes(), [1.0, 0.0, 0.0, 0.0]);
        let mut bytes = format!("{HEADER}{LINE}").into_bytes();
        let place = bytes.len() - LINE.len() + 7;
        bytes[place] = 0xff;
        let schema = Schema::from_toml(SCHEMA).unwrap();
        assert!(read(&bytes[..], &schema, true, &[], RowReading::Lenient).is_ok());
        let error = read(&bytes[..], &schema, true, &[], RowReading::Strict).unwrap_err();
        assert!(error.to_string().starts_with("line 2: "), "{error}");
    }

    #[test]
    fn header_and_schema_must_agree() {
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let refused = |text: &str, reading| read(text.as_bytes(), &schema, false, &[], reading).unwrap_err();
        let error = refused("agee,ward,dose,pulse,sex,y\n", RowReading::Lenient);
        assert!(error.to_string().contains("`age` is not in the file") && error.hint().contains("`agee`"), "{error}");
        let extra = "age,ward,dose,pulse,sex,y,z\n60,north,2,80,1,yes,9\n";
        assert!(refused(extra, RowReading::Strict).hint().contains("name = \"z\", kind = \"ignore\""));
        assert!(read(extra.as_bytes(), &schema, false, &[], RowReading::Lenient).is_ok());
        assert_eq!(refused("age,age,dose,pulse,sex,y\n", RowReading::Strict).code(), "D004");
        let short = refused(&format!("{HEADER}{LINE}a,60\n"), RowReading::Strict);
        assert_eq!(short.to_string(), "line 3: found 2 cells, expected 7 as in the header");
        assert_eq!(refused(HEADER, RowReading::Strict).code(), "D006");
        assert_eq!(refused("", RowReading::Strict).code(), "D006");
    }

    #[test]
    fn what_spreadsheets_write_is_read_or_named() {
        let table = format!("\u{feff}{}{LINE}", HEADER).replace('\n', "\r\n");
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let found = read(table.as_bytes(), &schema, true, &["site"], RowReading::Strict).unwrap();
        assert_eq!(found, encoded(LINE, RowReading::Strict).unwrap());
        let refused = |bytes: &[u8]| read(bytes, &schema, true, &[], RowReading::Strict).unwrap_err();
        let semicolons = refused(format!("{HEADER}{LINE}").replace(',', ";").as_bytes()).to_string();
        assert!(semicolons.contains("separated by `;`"), "{semicolons}");
        assert!(refused(b"PK\x03\x04...").to_string().contains("spreadsheet"));
        assert_eq!(header(&b"PKID,x\n"[..]).unwrap(), ["PKID", "x"], "found by review: a column is no archive");
        assert_eq!(header(&b"PK"[..]).unwrap(), ["PK"]);
        let comma = encoded("a,\"60,5\",north,2,80,1,yes\n", RowReading::Strict).unwrap_err();
        assert!(comma.hint().contains("decimal point"), "{}", comma.hint());
    }

    #[test]
    fn gzip_is_read_and_broken_gzip_is_an_error() {
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        zip.write_all(format!("{HEADER}{LINE}").as_bytes()).unwrap();
        let bytes = zip.finish().unwrap();
        let table = read(&bytes[..], &schema, true, &["site"], RowReading::Strict).unwrap();
        assert_eq!(table, encoded(LINE, RowReading::Strict).unwrap());
        let cut = read(&bytes[..bytes.len() - 9], &schema, true, &[], RowReading::Strict).unwrap_err();
        assert_eq!(cut.code(), "D006");
        assert_eq!(header(&bytes[..]).unwrap().len(), 7);
    }

    #[test]
    fn rows_without_an_outcome_are_dropped_where_the_schema_says_so() {
        let text = "outcome = { column = \"y\", bounds = [0, 10], centre = 5, scale = 5, missing = \"drop\" }\n\
                    column = [{ name = \"x\", kind = \"numeric\", centre = 0, scale = 1 }]";
        let schema = Schema::from_toml(text).unwrap();
        let table = read(&b"x,y\n1,10\n2,\n3,0\n"[..], &schema, false, &["x"], RowReading::Strict).unwrap();
        assert_eq!((table.rows.outcomes(), table.keys.slots()), (&[1.0, -1.0][..], &[0, 2][..]));
        assert_eq!(table.column("x").unwrap(), ["1", "3"]);
        let outside = read(&b"x,y\n1,11\n"[..], &schema, false, &[], RowReading::Strict).unwrap_err();
        assert!(outside.to_string().contains("between 0 and 10"), "{outside}");
        let lenient = read(&b"x,y\n1,11\n2,\n"[..], &schema, false, &[], RowReading::Lenient).unwrap();
        assert_eq!(lenient.rows.outcomes(), [1.0, 0.0]);
    }

    const SELECTED: &str = r#"
        outcome = { column = "y", bounds = [0, 10], centre = 5, scale = 5 }
        only = { colour = "red" }
        column = [
            { name = "x", kind = "numeric", centre = 0, scale = 1 },
            { name = "colour", kind = "ignore" },
        ]
    "#;

    #[test]
    fn only_rows_of_the_level_are_read_and_an_agent_loses_none() {
        let schema = Schema::from_toml(SELECTED).unwrap();
        // A line of another level need not fit the schema: it is no row.
        let lines = "x,colour,y\n1,red,10\nx,white,99\n3, red ,0\n4,,5\n";
        let table = read(lines.as_bytes(), &schema, true, &["colour"], RowReading::Strict).unwrap();
        assert_eq!((table.rows.outcomes(), table.keys.slots()), (&[1.0, -1.0][..], &[0, 2][..]));
        assert_eq!((table.inputs.len(), table.column("colour").unwrap()), (2, &["red".to_owned(), "red".into()][..]));
        let lenient = read(lines.as_bytes(), &schema, true, &[], RowReading::Lenient).unwrap();
        assert_eq!((lenient.rows.outcomes(), lenient.keys.slots()), (&[1.0, 0.0, -1.0, 0.0][..], &[0, 1, 2, 3][..]));
        assert_eq!((dense(&lenient, 1), dense(&lenient, 2)), (vec![0.0, 0.0], vec![3.0, 1.0]));
        let refused = |text: &str| read(text.as_bytes(), &schema, true, &[], RowReading::Strict).unwrap_err();
        let error = refused("x,colour,y\n1,Red,10\n2,white,9\n");
        assert!(error.to_string().contains("`colour` has the level of `only` in no row"), "{error}");
        assert!(error.hint().contains("did you mean `Red`?"), "{}", error.hint());
        assert!(refused("x,y\n1,10\n").to_string().contains("`colour` is not in the file"));
        assert!(refused("x,colour,y\n").to_string().contains("no rows"));
        let names = header(&b"x,y\n"[..]).unwrap();
        assert!(agree(&names, &schema, &[]).is_err(), "told from the header alone");
        assert_eq!(
            read(&b"x,colour,y\n1,white,3\n"[..], &schema, true, &[], RowReading::Lenient).unwrap().rows.len(),
            1
        );
    }

    fn small(text: &str, reading: RowReading) -> Result<Encoded, DataError> {
        read(text.as_bytes(), &Schema::from_toml(WITH_IDS)?, true, &[], reading)
    }

    #[test]
    fn record_ids_are_read_and_doubtful_ones_named_with_their_line() {
        let table = small("patient,x,y\np7,1,no\n\np8,2,yes\n", RowReading::Strict).unwrap();
        assert_eq!(table.inputs, ["x", "x missing", "intercept"], "an id is no input");
        let records = [RecordId::of("p7"), RecordId::of("p8")];
        assert_eq!(table.keys, RowKeys::of_slots(vec![0, 2]).with_records(records.to_vec()));
        for (rows, line, words) in [
            ("p7,1,no\np8,2,yes\n\np7,3,no\n", 5, "that of line 2"),
            ("p7,1,no\n,2,yes\n", 3, "no record id"),
            ("NA,1,no\n", 2, "no record id"),
        ] {
            let text = format!("patient,x,y\n{rows}");
            let error = small(&text, RowReading::Strict).unwrap_err();
            assert!(matches!(&error, DataError::Record { line: found, .. } if *found == line), "{error}");
            assert!(error.to_string().contains(words) && !error.to_string().contains("p7"), "{error}");
            assert!(small(&text, RowReading::Lenient).unwrap().keys.has_records());
        }
        assert!(small("x,y\n1,no\n", RowReading::Lenient).unwrap_err().to_string().contains("`patient` is not in"));
        let schema = Schema::from_toml(&format!("record_id = \"site\"\n{SCHEMA}")).unwrap();
        let kept =
            read(format!("{HEADER}{LINE}").as_bytes(), &schema, true, &["site"], RowReading::Strict).unwrap_err();
        assert!(kept.to_string().contains("is the record id"), "{kept}");
    }

    #[test]
    fn an_unclosed_quote_costs_its_own_row_only() {
        let lines = "a,60,\"north,2,80,1,yes\na,60,north,2,80,1,yes\n\nb,60,south,2,80,1,no\n";
        let table = encoded(lines, RowReading::Lenient).unwrap();
        assert_eq!((table.rows.len(), table.keys.slots()), (4, &[0, 1, 2, 3][..]));
        assert_eq!((dense(&table, 0), dense(&table, 2)), (vec![0.0; 10], vec![0.0; 10]));
        assert_eq!((table.rows.row(1).outcome, table.rows.row(3).numbers[0]), (1.0, 1.0));
        let error = encoded(lines, RowReading::Strict).unwrap_err();
        assert_eq!(error.to_string(), "line 2: a quote is not closed before the line ends");
        let blank = encoded(&format!("{LINE}\n{LINE}"), RowReading::Strict).unwrap();
        assert_eq!((blank.keys.slots(), blank.line(1)), (&[0, 2][..], 4), "a blank line is passed over and counted");
    }

    #[test]
    fn a_byte_order_mark_is_skipped_and_other_separators_are_named() {
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let marked = format!("\u{feff}{HEADER}{LINE}");
        let table = read(marked.as_bytes(), &schema, true, &["site"], RowReading::Strict).unwrap();
        assert_eq!(table, encoded(LINE, RowReading::Strict).unwrap());
        for (separator, named) in [(";", "`;`"), ("\t", "a tab"), ("|", "`|`")] {
            let error = header(HEADER.replace(',', separator).as_bytes()).unwrap_err();
            assert!(error.to_string().contains(&format!("separated by {named} (after `site`)")), "{error}");
        }
    }

    #[test]
    fn a_header_is_compared_without_its_rows() {
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let names = header(HEADER.as_bytes()).unwrap();
        assert_eq!(agree(&names, &schema, &["site"]), Ok(()));
        assert!(agree(&names, &schema, &["sit"]).unwrap_err().hint().contains("`site`"));
        assert!(agree(&names[..6], &schema, &[]).unwrap_err().to_string().contains("`y` is not in the file"));
    }

    /// A line that somebody might write, or a broken one.
    fn any_line() -> impl Strategy<Value = Vec<u8>> {
        let cell = prop_oneof!["[a-z0-9.]{0,4}", Just("\"".into()), Just("\"a\"".into()), Just("yes".into())];
        let line = proptest::collection::vec(cell, 0..5).prop_map(|cells| cells.join(",").into_bytes());
        let broken = proptest::collection::vec(prop_oneof![Just(b'"'), Just(b','), Just(b'\r'), any::<u8>()], 0..12);
        let one_line = broken.prop_map(|bytes| bytes.into_iter().filter(|byte| *byte != b'\n').collect());
        prop_oneof![Just(b"p1,2,yes".to_vec()), Just(Vec::new()), line, one_line]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(9), ..ProptestConfig::with_cases(500) })]

        #[test]
        fn one_changed_line_changes_at_most_one_row_and_one_line_less_is_one_row_less(
            lines in proptest::collection::vec(any_line(), 1..8), at: proptest::sample::Index, other in any_line(),
            ended: [bool; 3],
        ) {
            let schema = Schema::from_toml(WITH_IDS).unwrap();
            // The last line may end or not; one without a byte is a line only if it ends.
            let table = |lines: &[Vec<u8>], ended: bool| {
                let ended = ended || lines.last().is_some_and(Vec::is_empty);
                let end: &[u8] = if ended && !lines.is_empty() { b"\n" } else { b"" };
                let text = [&b"patient,x,y\n"[..], &lines.join(&b'\n'), end].concat();
                read(&text[..], &schema, true, &[], RowReading::Lenient).unwrap()
            };
            let at = at.index(lines.len());
            let mut changed = lines.clone();
            changed[at] = other;
            let (first, second) = (table(&lines, ended[0]), table(&changed, ended[1]));
            prop_assert_eq!((first.rows.len(), second.rows.len()), (lines.len(), lines.len()));
            let others: Vec<usize> = (0..lines.len()).filter(|row| *row != at).collect();
            prop_assert_eq!(first.rows.select(&others), second.rows.select(&others));
            prop_assert_eq!(first.keys.select(&others), second.keys.select(&others));
            prop_assert_eq!(first.keys.slots(), second.keys.slots());
            let fewer: Vec<Vec<u8>> = others.iter().map(|&row| lines[row].clone()).collect();
            let third = table(&fewer, ended[2]);
            prop_assert_eq!(&third.rows, &first.rows.select(&others));
            let kept = first.keys.select(&others);
            prop_assert_eq!(third.keys.records(), kept.records());
        }
    }

    /// Ids that are no text in UTF-8 were taken for missing ones, and each row without an id for a person of its own: the rows of one
    /// person had the weight of many.
    #[test]
    fn rows_with_one_id_are_one_person_whatever_its_bytes_and_so_are_rows_without_one() {
        let schema = Schema::from_toml(&WITH_IDS.replace("record_id", "person_id")).unwrap();
        let persons = |file: &[u8], reading: RowReading| {
            let keys = read(file, &schema, true, &[], reading)?.keys;
            Ok::<_, DataError>(keys.persons().unwrap().iter().map(|key| key.slot).collect::<Vec<u64>>())
        };
        let file =
            b"patient,x,y\nJos\xe9,1,no\nJos\xe8,1,no\nJos\xe9,2,yes\n,3,no\nNA,3,yes\nAnn,1,no\n\"Jos\xe9\",2,no\n";
        assert_eq!(persons(file, RowReading::Lenient).unwrap(), [0, 1, 0, 2, 2, 3, 0]);
        assert!(persons(file, RowReading::Strict).is_err());
    }
}
