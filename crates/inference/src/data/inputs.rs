//! Rows to predict: the inputs of a table, and nothing else of it.
//!
//! New rows have no outcome yet, and no partition. Every column that the model has as an input must be
//! there; all others may be, in any order.

use super::encode::{Encoder, RowReading};
use super::keys::RowKeys;
use super::line::Lines;
use super::nearest::nearest;
use super::schema::{Kind, Schema};
use super::table::{Encoded, FIRST_ROW, check, names, texts};
use crate::DataError;
use std::collections::BTreeMap;
use std::io::Read;

/// Reads the inputs of a table's rows, as [`super::read`] does in a strict reading. Other columns, an id, a site or the
/// outcome among them, may be there or not; outcomes are those of any row.
///
/// # Errors
/// A header without an input's column, a cell that the schema does not cover, with its line, and a table
/// without rows.
pub fn read_inputs(reader: impl Read, schema: &Schema, bias: bool) -> Result<Encoded, DataError> {
    let mut lines = Lines::open(reader)?;
    let header = names(&mut lines)?;
    let places = places(&header, schema)?;
    let outcome = schema.outcome().example();
    let (mut encoder, mut rows) = Encoder::new(schema, bias, RowReading::Strict)?;
    let mut slots = Vec::new();
    while lines.advance()? {
        if lines.is_blank() {
            continue;
        }
        check(&lines, header.len())?;
        let cells = texts(&lines, RowReading::Strict)?;
        let inputs: Vec<&str> = places.iter().map(|place| place.map_or("", |place| cells[place])).collect();
        if encoder.push(lines.number(), &inputs, &outcome, &mut rows)? {
            slots.push(lines.number() - FIRST_ROW);
        }
    }
    if rows.is_empty() {
        return Err(DataError::Table { line: None, what: "the table has no rows".into() });
    }
    Ok(Encoded { rows, keys: RowKeys::of_slots(slots), inputs: schema.inputs(bias), columns: BTreeMap::new() })
}

/// Where the columns that are inputs stand in the file; one that does not is refused with the names of all.
fn places(header: &[String], schema: &Schema) -> Result<Vec<Option<usize>>, DataError> {
    let inputs = || schema.columns().iter().filter(|c| c.kind != Kind::Ignore).map(|c| c.name.as_str());
    let found = |name: &str| header.iter().position(|other| other == name);
    let Some(lacking) = inputs().find(|name| found(name).is_none()) else {
        let place = |c: &super::schema::Column| if c.kind == Kind::Ignore { None } else { found(&c.name) };
        return Ok(schema.columns().iter().map(place).collect());
    };
    let needed = inputs().collect::<Vec<_>>().join(", ");
    let unknown = header.iter().map(String::as_str).filter(|name| inputs().all(|other| other != *name));
    let hint = match nearest(lacking, unknown) {
        Some(close) => format!("is it `{close}` in the file? The columns needed are {needed}"),
        None => format!("the columns needed are {needed}; others are not looked at"),
    };
    Err(DataError::Column { column: lacking.to_owned(), what: "is not in the file", hint })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read;

    const SCHEMA: &str = "outcome = { column = \"y\", levels = [\"no\", \"yes\"] }\ncolumn = [\n  \
                          { name = \"age\", kind = \"numeric\", centre = 0, scale = 1 },\n  \
                          { name = \"ward\", kind = \"category\", levels = [\"a, b\", \"c\"] },\n]\n";

    #[test]
    fn rows_are_those_of_a_full_reading_and_keep_their_lines() {
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let full = "y,age,ward\nno,60,\"a, b\"\n\nno,40, \"a, b\"\r\nno,20,c\n";
        let bare = "id,ward,age\nx,\"a, b\",60\n\nz, \"a, b\",40\r\nw,c,20\n";
        let whole = read(full.as_bytes(), &schema, true, &[], RowReading::Strict).unwrap();
        let inputs = read_inputs(bare.as_bytes(), &schema, true).unwrap();
        assert_eq!(inputs, whole);
        assert_eq!(inputs.keys.slots(), [0, 2, 3], "a blank line counts");
    }

    #[test]
    fn a_column_that_lacks_is_named_with_all_that_are_needed() {
        let schema = Schema::from_toml(SCHEMA).unwrap();
        let error = read_inputs(&b"agee,ward\n1,c\n"[..], &schema, true).unwrap_err();
        assert!(error.hint().contains("is it `agee`") && error.hint().contains("age, ward"), "{}", error.hint());
        let error = read_inputs(&b"age,ward\n1,c\n2\n"[..], &schema, true).unwrap_err();
        assert_eq!(error.to_string(), "line 3: found 1 cells, expected 2 as in the header");
    }
}
