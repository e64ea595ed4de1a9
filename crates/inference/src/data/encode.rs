//! From the cells of one line to one encoded row.
//!
//! Numbers come first, one for each numeric column. Ones follow in the order of the columns: a flag for
//! a missing number, the level of a category, and last the intercept. Messages about a cell name its
//! line and column and show at most 60 letters of it; they are for the owner of the file alone.

use crate::data::nearest::nearest;
use crate::data::schema::{Column, Kind, Missing, Numeric, Outcome, OutcomeKind, Schema};
use crate::{DataError, Row, Rows};

/// What happens to cells outside the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowReading {
    /// They are errors: for studies, where somebody can mend the file or the schema.
    Strict,
    /// Every row becomes a legal one, and none is lost: for agents, where an error or a count would tell about a row.
    ///
    /// A level that is not known is no level (all zeros); a number that cannot be read is a missing one; a row without
    /// a readable outcome, or one that the schema's `only` leaves out, becomes all zeros, bias and all, so that it adds
    /// nothing to a linear predictor's gradient.
    Lenient,
}

/// What a cell is to the schema of its column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CellVerdict {
    /// A value that the schema allows.
    Legal,
    /// A missing one, where the schema says what that is.
    Missing,
    /// Neither. A strict reading refuses it, and the schema says what a lenient one makes of it.
    Mapped(DataError, &'static str),
    /// Neither, and the schema says nothing.
    Illegal(DataError),
}

/// Encodes lines by a schema.
pub(crate) struct Encoder<'a> {
    schema: &'a Schema,
    /// Whether an intercept is added.
    bias: bool,
    /// What happens to cells outside the schema.
    reading: RowReading,
    /// Inputs that are numbers, which come first.
    dense: usize,
    /// All inputs.
    width: usize,
    /// Numbers of the present row.
    numbers: Vec<f64>,
    /// Positions of its ones, increasing.
    ones: Vec<u32>,
}

/// Where a cell stands, for messages.
#[derive(Debug, Clone, Copy)]
struct CellPlace<'a> {
    line: u64,
    column: &'a str,
}

impl<'a> Encoder<'a> {
    /// An encoder, and the empty rows that it fills.
    pub(crate) fn new(schema: &'a Schema, bias: bool, reading: RowReading) -> Result<(Self, Rows), DataError> {
        let layout = schema.layout(bias)?;
        let (width, dense) = (layout.width(), layout.numbers());
        let rows = Rows::of(layout);
        Ok((Self { schema, bias, reading, dense, width, numbers: Vec::new(), ones: Vec::new() }, rows))
    }

    /// Adds one line: `cells` has one entry for each column of the schema, in its order. False if it was left out.
    pub(crate) fn push(
        &mut self,
        line: u64,
        cells: &[&str],
        outcome: &str,
        rows: &mut Rows,
    ) -> Result<bool, DataError> {
        if self.schema.outcome().drop_missing && is_missing(outcome) {
            return self.leave_out(rows);
        }
        let Some(outcome) = self.outcome(line, outcome)? else { return self.leave_out(rows) };
        self.numbers.clear();
        self.ones.clear();
        let mut first = self.dense;
        for (column, cell) in self.schema.columns().iter().zip(cells) {
            let place = CellPlace { line, column: &column.name };
            match &column.kind {
                Kind::Numeric(numeric) => self.numeric(place, numeric, cell, first)?,
                Kind::Category { levels, missing_level } => {
                    self.category(place, levels, *missing_level, cell, first)?;
                }
                Kind::Ignore => {}
            }
            first += column.ones_count();
        }
        if self.bias {
            self.ones.push(self.width as u32 - 1);
        }
        rows.push(Row { numbers: &self.numbers, ones: &self.ones, outcome })?;
        Ok(true)
    }

    /// A line that is no row: nothing in a strict reading, false; all zeros in a lenient one, true.
    pub(crate) fn leave_out(&self, rows: &mut Rows) -> Result<bool, DataError> {
        if self.reading == RowReading::Lenient {
            let numbers = vec![0.0; self.dense];
            rows.push(Row { numbers: &numbers, ones: &[], outcome: self.default_outcome() })?;
        }
        Ok(self.reading == RowReading::Lenient)
    }

    /// Adds the input of a numeric cell: its encoded value, or what the schema says of a missing one.
    fn numeric(&mut self, place: CellPlace<'_>, numeric: &Numeric, cell: &str, flag: usize) -> Result<(), DataError> {
        if let Some(value) = encoded(numeric, cell) {
            self.numbers.push(value);
            return Ok(());
        }
        if self.reading == RowReading::Strict {
            refuse_number(place, numeric, cell)?;
        }
        match numeric.missing {
            Missing::Refused => self.numbers.push(0.0),
            Missing::Fill(value) => self.numbers.push(numeric.encode(value)),
            Missing::Flag => {
                self.numbers.push(0.0);
                self.ones.push(flag as u32);
            }
        }
        Ok(())
    }

    /// Adds a one for the level of a cell. In a lenient reading an unknown level is no level: all zeros.
    fn category(
        &mut self,
        place: CellPlace<'_>,
        levels: &[String],
        missing_level: bool,
        cell: &str,
        first: usize,
    ) -> Result<(), DataError> {
        match level(levels, cell) {
            Some(index) => self.ones.push((first + index) as u32),
            None if missing_level && is_missing(cell) => self.ones.push((first + levels.len()) as u32),
            None if self.reading == RowReading::Strict => return Err(refuse_level(place, levels, cell)),
            None => {}
        }
        Ok(())
    }

    /// The encoded outcome; none where a lenient reader cannot read it.
    fn outcome(&self, line: u64, cell: &str) -> Result<Option<f64>, DataError> {
        let outcome = self.schema.outcome();
        let place = CellPlace { line, column: &outcome.column };
        match (encoded_outcome(&outcome.kind, cell, self.reading), self.reading) {
            (None, RowReading::Strict) => Err(refuse_outcome(place, &outcome.kind, cell)),
            (found, _) => Ok(found),
        }
    }

    /// A legal outcome that no cell gave.
    fn default_outcome(&self) -> f64 {
        match &self.schema.outcome().kind {
            OutcomeKind::Classes(_) => 0.0,
            OutcomeKind::Number(numeric) => numeric.encode(numeric.centre),
        }
    }
}

/// Empty, `?` and `NA` are missing, unless they are a level.
pub(crate) fn is_missing(cell: &str) -> bool {
    matches!(cell, "" | "?" | "NA")
}

/// A finite number.
fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The place of a level: by its letters, or, where both are numbers, by their value (1 and 1.0).
pub(crate) fn level(levels: &[String], cell: &str) -> Option<usize> {
    levels.iter().position(|level| level == cell).or_else(|| {
        let value = number(cell)?;
        levels.iter().position(|level| number(level) == Some(value))
    })
}

/// What a cell is to a column of inputs. Nothing is said of a column that is ignored.
pub(crate) fn judge(column: &Column, line: u64, cell: &str) -> CellVerdict {
    let place = CellPlace { line, column: &column.name };
    match &column.kind {
        Kind::Ignore => CellVerdict::Legal,
        Kind::Numeric(numeric) if encoded(numeric, cell).is_some() => CellVerdict::Legal,
        Kind::Numeric(numeric) => match (refuse_number(place, numeric, cell), numeric.missing) {
            (Ok(()), _) => CellVerdict::Missing,
            (Err(error), Missing::Refused) => CellVerdict::Illegal(error),
            (Err(error), _) => CellVerdict::Mapped(error, "they count as missing"),
        },
        Kind::Category { levels, .. } if level(levels, cell).is_some() => CellVerdict::Legal,
        Kind::Category { missing_level: true, .. } if is_missing(cell) => CellVerdict::Missing,
        Kind::Category { levels, missing_level } => {
            let error = refuse_level(place, levels, cell);
            match missing_level {
                true => CellVerdict::Mapped(error, "they count as none of the levels"),
                false => CellVerdict::Illegal(error),
            }
        }
    }
}

/// What a cell is to the outcome.
pub(crate) fn judge_outcome(outcome: &Outcome, line: u64, cell: &str) -> CellVerdict {
    let place = CellPlace { line, column: &outcome.column };
    if outcome.drop_missing && is_missing(cell) {
        return CellVerdict::Missing;
    }
    let readable = |reading| encoded_outcome(&outcome.kind, cell, reading).is_some();
    if readable(RowReading::Strict) {
        return CellVerdict::Legal;
    }
    let error = refuse_outcome(place, &outcome.kind, cell);
    if readable(RowReading::Lenient) {
        CellVerdict::Mapped(error, "they count as the nearest bound")
    } else if outcome.drop_missing {
        CellVerdict::Mapped(error, "their rows are left out")
    } else {
        CellVerdict::Illegal(error)
    }
}

/// The encoded value of a numeric cell, if it has one.
fn encoded(numeric: &Numeric, cell: &str) -> Option<f64> {
    number(cell).map(|value| numeric.encode(value)).filter(|value| value.is_finite())
}

/// The encoded outcome, if the cell has one. A lenient reading takes a number outside the bounds for the nearest bound.
fn encoded_outcome(kind: &OutcomeKind, cell: &str, reading: RowReading) -> Option<f64> {
    match kind {
        OutcomeKind::Classes(levels) => level(levels, cell).map(|index| index as f64),
        OutcomeKind::Number(numeric) => {
            let within = |value: &f64| {
                let inside = numeric.bounds.is_none_or(|(low, high)| (low..=high).contains(value));
                inside || reading == RowReading::Lenient
            };
            number(cell).filter(within).map(|value| numeric.encode(value)).filter(|value| value.is_finite())
        }
    }
}

/// Missing cells with a rule are fine; everything else that is no number is not.
fn refuse_number(place: CellPlace<'_>, numeric: &Numeric, cell: &str) -> Result<(), DataError> {
    let missing = is_missing(cell);
    if missing && numeric.missing != Missing::Refused {
        return Ok(());
    }
    let hint = if number(&cell.replace(',', ".")).is_some() {
        "write numbers with a decimal point, and without separators of thousands"
    } else if missing {
        "say in the schema what a missing cell is: missing = \"flag\", or missing = { fill = value }"
    } else {
        "correct the cell, or leave it empty and say in the schema what a missing cell is: missing = \"flag\""
    };
    Err(refuse(place, cell, "a finite number".into(), hint.into()))
}

/// A cell that is no level, with the level that was probably meant.
fn refuse_level(place: CellPlace<'_>, levels: &[String], cell: &str) -> DataError {
    let hint = match nearest(cell, levels.iter().map(String::as_str)) {
        Some(level) if !cell.is_empty() => format!("did you mean `{level}`? Otherwise add the level to the schema"),
        _ if is_missing(cell) => "say in the schema that a missing cell is a level: missing = \"level\"".into(),
        _ => "correct the cell, or add the level to the schema".into(),
    };
    refuse(place, cell, one_of(levels), hint)
}

/// A cell that is no outcome.
fn refuse_outcome(place: CellPlace<'_>, kind: &OutcomeKind, cell: &str) -> DataError {
    let drop = "rows without an outcome are left out if the schema's outcome says missing = \"drop\"";
    match kind {
        _ if is_missing(cell) => refuse(place, cell, "an outcome".into(), drop.into()),
        OutcomeKind::Classes(levels) => refuse_level(place, levels, cell),
        OutcomeKind::Number(numeric) => {
            let (low, high) = numeric.bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            let hint = "correct the cell, or widen the outcome's bounds in the schema";
            refuse(place, cell, format!("a number between {low} and {high}"), hint.into())
        }
    }
}

/// The error of one cell.
fn refuse(place: CellPlace<'_>, found: &str, expected: String, hint: String) -> DataError {
    let found = found.chars().take(60).collect();
    DataError::Cell { line: place.line, column: place.column.to_owned(), found, expected, hint }
}

/// A few levels, in words.
fn one_of(levels: &[String]) -> String {
    let shown: Vec<String> = levels.iter().take(6).map(|level| format!("`{level}`")).collect();
    let rest = levels.len() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("one of {}{more}", shown.join(", "))
}
