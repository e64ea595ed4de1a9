//! What a table holds beside what its schema allows: for the owner's eyes, before anything is released.
//!
//! A strict reading stops at the first such cell, and a lenient one maps it to a legal row without a word. Counts of such cells
//! are computed from the rows, and no ε covers them: they may be told on the owner's terminal and nowhere else.

use crate::DataError;
use crate::data::encode::{CellVerdict, RowReading, judge, judge_outcome};
use crate::data::line::Lines;
use crate::data::schema::{Kind, Schema};
use crate::data::table::{PersonColumn, Places, Records, Selection, check, names, texts};
use std::fmt;
use std::io::Read;

/// Lines that are named for each column.
const NAMED: usize = 3;

/// How a table compares with its schema. Its `Debug` shows no cell.
#[derive(Clone, PartialEq)]
pub struct TableExam {
    /// Lines that are rows to a lenient reading: all after the header.
    pub rows: u64,
    /// Those of them that are blank: a lenient reading makes rows of zeros of them.
    pub blank: u64,
    /// The columns that are read, in the order of the schema, and last the outcome.
    pub columns: Vec<ColumnExam>,
    /// Lines that cannot be split into the cells of the header.
    broken: CellFindings,
    /// Lines without an id where the schema names one, or with the id of another record: a lenient reading takes them.
    without_id: CellFindings,
    /// Lines with bytes that are no text, in whatever column.
    no_text: CellFindings,
}

/// How the cells of one column compare with its schema.
#[derive(Clone, PartialEq)]
pub struct ColumnExam {
    /// The column.
    pub column: String,
    /// Cells with a value that the schema allows.
    pub legal: u64,
    /// Cells that are missing, where the schema says what a missing one is.
    pub missing: u64,
    /// Whether it is the outcome.
    is_outcome: bool,
    /// Cells that the schema does not allow, where it says what they count as.
    mapped: CellFindings,
    /// What these count as.
    counts_as: &'static str,
    /// Cells that the schema does not allow, where it says nothing.
    illegal: CellFindings,
}

/// Cells or lines of one kind: how many, and the first.
#[derive(Clone, PartialEq, Default)]
struct CellFindings {
    count: u64,
    /// The lines of the first ones, counted from one.
    lines: Vec<u64>,
    first: Option<DataError>,
}

impl fmt::Debug for TableExam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableExam({} columns)", self.columns.len())
    }
}

impl fmt::Debug for ColumnExam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ColumnExam({})", self.column)
    }
}

impl CellFindings {
    fn take(&mut self, line: u64, error: DataError) {
        self.count += 1;
        if self.lines.len() < NAMED {
            self.lines.push(line);
        }
        self.first.get_or_insert(error);
    }
}

/// Compares every cell of a table with its schema. Columns that the schema does not name are passed over.
///
/// # Errors
/// A file that cannot be read, a header that lacks a column of the schema, a table without a row that has an outcome, and an `only`
/// whose level no line has.
pub fn examine(reader: impl Read, schema: &Schema) -> Result<TableExam, DataError> {
    let mut lines = Lines::open(reader)?;
    let header = names(&mut lines)?;
    let places = Places::of(&header, schema, &[], RowReading::Lenient)?;
    let mut columns: Vec<ColumnExam> = schema.columns().iter().map(|column| ColumnExam::new(&column.name)).collect();
    let mut outcome = ColumnExam { is_outcome: true, ..ColumnExam::new(&schema.outcome().column) };
    let mut exam = TableExam {
        rows: 0,
        blank: 0,
        columns: Vec::new(),
        broken: CellFindings::default(),
        without_id: CellFindings::default(),
        no_text: CellFindings::default(),
    };
    let (mut records, mut persons) = (Records::new(RowReading::Strict), PersonColumn::new(RowReading::Strict));
    let mut selection = Selection::of(schema);
    while lines.advance()? {
        let line = lines.number();
        exam.rows += 1;
        if lines.is_blank() {
            exam.blank += 1;
            continue;
        }
        if let Err(error) = check(&lines, header.len()) {
            exam.broken.take(line, error);
            continue;
        }
        if let Err(error) = texts(&lines, RowReading::Strict) {
            exam.no_text.take(line, error);
        }
        // A cell that is no text is none of a schema's: not even a missing one.
        let cells: Vec<String> = lines.cells().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect();
        let cell = |place: usize| cells.get(place).map_or("", String::as_str);
        if !selection.takes(places.only.map_or("", cell)) {
            continue;
        }
        let drops = outcome.missing;
        outcome.take(line, judge_outcome(schema.outcome(), line, cell(places.outcome)));
        if outcome.missing > drops {
            continue;
        }
        for ((exam, column), place) in columns.iter_mut().zip(schema.columns()).zip(&places.columns) {
            if let Some(place) = place {
                exam.take(line, judge(column, line, cell(*place)));
            }
        }
        let ids = [
            schema.record_id().zip(places.record).map(|(name, at)| records.push(line, name, cell(at))),
            schema
                .person_id()
                .zip(places.person)
                .map(|(name, at)| persons.push(line, name, lines.cells().nth(at).unwrap_or_default())),
        ];
        if let Some(error) = ids.into_iter().flatten().find_map(Result::err) {
            exam.without_id.take(line, error);
        }
    }
    if outcome.seen() == outcome.missing && exam.broken.count == 0 {
        selection.check()?;
        return Err(DataError::Table { line: None, what: "the table has no rows".into() });
    }
    exam.columns =
        columns.into_iter().zip(schema.columns()).filter(|(_, c)| c.kind != Kind::Ignore).map(|(e, _)| e).collect();
    exam.columns.push(outcome);
    Ok(exam)
}

impl ColumnExam {
    fn new(column: &str) -> Self {
        let (mapped, illegal) = (CellFindings::default(), CellFindings::default());
        Self { column: column.to_owned(), legal: 0, missing: 0, is_outcome: false, mapped, counts_as: "", illegal }
    }

    fn take(&mut self, line: u64, verdict: CellVerdict) {
        match verdict {
            CellVerdict::Legal => self.legal += 1,
            CellVerdict::Missing => self.missing += 1,
            CellVerdict::Mapped(error, counts_as) => {
                self.counts_as = counts_as;
                self.mapped.take(line, error);
            }
            CellVerdict::Illegal(error) => self.illegal.take(line, error),
        }
    }

    /// All its cells that were looked at.
    fn seen(&self) -> u64 {
        self.legal + self.missing + self.mapped.count + self.illegal.count
    }

    /// True if it has cells and none of them has a value that the schema allows. A column of inputs may be missing throughout.
    fn is_never_legal(&self) -> bool {
        self.legal == 0 && (self.is_outcome || self.mapped.count + self.illegal.count > 0)
    }

    /// An error about these cells; none where there are none.
    fn fault(&self, cells: &CellFindings) -> Option<DataError> {
        let of = self.seen();
        match cells.first.clone()? {
            DataError::Cell { column, found, expected, hint, .. } => Some(DataError::Cells {
                column,
                count: cells.count,
                of,
                lines: cells.lines.as_slice().into(),
                found: Some(found.into()),
                expected: expected.into(),
                hint: hint.into(),
                further: Box::default(),
            }),
            other => Some(other),
        }
    }

    /// An error where no cell is legal.
    fn never_legal(&self) -> Option<DataError> {
        let fault = || self.fault(&self.illegal).or_else(|| self.fault(&self.mapped));
        if self.is_never_legal() { fault() } else { None }
    }

    /// What a lenient reading must not pass over.
    fn refusal(&self) -> Option<DataError> {
        self.never_legal().or_else(|| self.fault(&self.illegal))
    }

    /// What the schema maps, in a line for the owner; none where there is no such cell.
    fn note(&self) -> Option<String> {
        let fault = self.fault(&self.mapped)?;
        Some(format!("{fault}; {}", self.counts_as))
    }
}

impl TableExam {
    /// Refuses what would make the rows say something else than their owner means: a column without one legal cell, a cell that the
    /// schema does not allow and gives no meaning, and lines that are no rows. All of it at once.
    ///
    /// # Errors
    /// [`DataError`], which names columns, lines and the first cell of each: for the owner's terminal alone.
    pub fn check(&self) -> Result<(), DataError> {
        let lines = self.broken.first.clone();
        all(self.columns.iter().filter_map(ColumnExam::refusal).chain(lines))
    }

    /// Refuses columns without one legal cell: whoever reads them leniently learns nothing from them.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn check_columns(&self) -> Result<(), DataError> {
        all(self.columns.iter().filter_map(ColumnExam::never_legal))
    }

    /// Refuses all that a strict reading refuses, at once.
    ///
    /// # Errors
    /// As [`check`](Self::check), and cells that a lenient reading would map.
    pub fn check_strictly(&self) -> Result<(), DataError> {
        let of = |column: &ColumnExam| {
            let both = [column.fault(&column.illegal), column.fault(&column.mapped)];
            both.into_iter().flatten().collect::<Vec<_>>()
        };
        let lines = [&self.broken, &self.without_id, &self.no_text].into_iter().filter_map(|lines| lines.first.clone());
        all(self.columns.iter().flat_map(of).chain(lines))
    }

    /// What a lenient reading passes over, one line for each column: for the owner's terminal alone.
    pub fn notes(&self) -> Vec<String> {
        let blank = match self.blank {
            0 => None,
            1 => Some("1 line is blank; it counts as a row of zeros".to_owned()),
            many => Some(format!("{many} lines are blank; each counts as a row of zeros")),
        };
        self.columns.iter().filter_map(ColumnExam::note).chain(blank).collect()
    }
}

/// One error of several; those about cells first.
fn all(errors: impl Iterator<Item = DataError>) -> Result<(), DataError> {
    let mut errors = errors;
    match errors.next() {
        None => Ok(()),
        Some(DataError::Cells { column, count, of, lines, found, expected, hint, .. }) => {
            let further = errors.collect();
            Err(DataError::Cells { column, count, of, lines, found, expected, hint, further })
        }
        Some(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::table::read;

    const SCHEMA: &str = r#"
        outcome = { column = "y", levels = ["no", "yes"], missing = "drop" }
        record_id = "id"
        column = [
            { name = "age", kind = "numeric", centre = 50, scale = 10, missing = "flag" },
            { name = "dose", kind = "numeric", centre = 0, scale = 2, missing = { fill = 4 } },
            { name = "pulse", kind = "numeric", centre = 70, scale = 10 },
            { name = "ward", kind = "category", levels = ["a", "b"], missing = "level" },
            { name = "sex", kind = "category", levels = ["0", "1"] },
            { name = "note", kind = "ignore" },
        ]
    "#;

    fn exam(lines: &str) -> TableExam {
        let table = format!("id,age,dose,pulse,ward,sex,note,y\n{lines}");
        examine(table.as_bytes(), &Schema::from_toml(SCHEMA).unwrap()).unwrap()
    }

    /// The law of the two readings: what is looked at cell by cell is refused exactly where a strict reading stops, and what a
    /// lenient one may not pass over is a part of that.
    #[test]
    fn a_table_is_strictly_sound_exactly_if_a_strict_reading_takes_it() {
        let schemas = [
            SCHEMA.to_owned(),
            SCHEMA.replace(", missing = \"drop\"", "").replace("record_id = \"id\"", "person_id = \"id\""),
        ];
        let ages = ["50", "", "x", "1e999"];
        let wards = ["a", "?", "c"];
        let (pulses, outcomes) = (["70", "", "seventy"], ["yes", "", "Yes"]);
        let mut refused = 0;
        for text in schemas {
            let schema = Schema::from_toml(&text).unwrap();
            for (age, ward) in ages.iter().flat_map(|age| wards.iter().map(move |ward| (age, ward))) {
                for (pulse, outcome) in pulses.iter().flat_map(|pulse| outcomes.iter().map(move |y| (pulse, y))) {
                    let line = format!("7,{age},{age},{pulse},{ward},1.0,n,{outcome}\n");
                    let table = format!("id,age,dose,pulse,ward,sex,note,y\n1,50,1,70,a,0,n,no\n{line}");
                    let exam = examine(table.as_bytes(), &schema).unwrap();
                    let strict = read(table.as_bytes(), &schema, true, &[], RowReading::Strict);
                    assert_eq!(exam.check_strictly().is_ok(), strict.is_ok(), "{line}: {:?}", strict.err());
                    assert!(exam.check().is_ok() || strict.is_err(), "{line}");
                    refused += u32::from(exam.check().is_err());
                }
            }
        }
        assert!(refused > 50);
        let lines = ["7,50\n", "7,50,1,70,a,\"0,n,no\n", ",50,1,70,a,0,n,no\n", "1,50,1,70,a,0,n,no\n"];
        for (line, is_row) in lines.into_iter().zip([false, false, true, true]) {
            let exam = exam(&format!("1,50,1,70,a,0,n,no\n{line}"));
            assert!(exam.check().is_ok() == is_row && exam.check_strictly().is_err(), "{line}");
        }
    }

    #[test]
    fn cells_are_counted_by_column_and_told_with_their_first_lines() {
        let sound = "1,50,1,70,a,0,n,yes\n";
        let exam = exam(&format!("{sound}2,x,1,70,c,0,n,no\n3,y,1,70,a,0,n,no\n\n4,z,,70,?,0,n,\n5,w,1,70,a,0,n,no\n"));
        assert_eq!((exam.rows, exam.blank), (6, 1));
        exam.check().unwrap();
        let notes = exam.notes();
        let words = [
            "column `age`: 3 of 4 cells are not allowed (lines 3, 4, 7, the first is `x`)",
            "column `ward`: 1 of 4",
            "1 line is blank",
        ];
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes.iter().zip(words).all(|(note, words)| note.contains(words)), "{notes:?}");
        assert!(!format!("{exam:?} {:?}", exam.columns).contains('?'), "no cell is shown");
    }

    #[test]
    fn a_column_without_a_legal_cell_is_refused_and_one_that_is_missing_throughout_is_not() {
        let refusal = exam("1,x,1,70,a,0,n,yes\n2,,1,70,a,0,n,no\n").check().unwrap_err();
        assert!(refusal.to_string().contains("column `age`: 1 of 2 cells is not allowed"), "{refusal}");
        exam("1,,1,70,?,0,n,yes\n2,NA,,70,?,0,n,no\n").check_strictly().unwrap();
    }
}
