//! `posterity agent check`: validates a site's file against a schema on the site's own terminal, before it joins a federation.

use crate::failure::Failure;
use crate::terminal;
use inference::warning::Warning;
use inference::warning::rows::{LastLine, cut_off, off_scale, rows_differ, small_sites};
use inference::{DataError, Kind, RowReading, Schema, examine, header, read};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use study::unzipped;
use study::words::row;

/// Problems that are shown in full.
const SHOWN: usize = 10;

/// What stands in a file, line by line.
#[derive(Debug, Default)]
struct FileFindings {
    /// Lines after the header: to an agent each is a row.
    rows: u64,
    /// Persons whose they are, where the schema tells.
    persons: Option<u64>,
    /// Blank ones.
    blank: u64,
    /// Without an outcome where the schema drops these, or not chosen by its `only`.
    left_out: u64,
    /// With something that the schema does not allow.
    problems: u64,
    /// The same by column; the empty name is that of lines that are broken.
    columns: BTreeMap<String, u64>,
    /// The first of them.
    first: Vec<DataError>,
    /// Columns of the file that the schema does not name.
    unnamed: Vec<String>,
    /// Whether the last line ends with a line break.
    ended: bool,
    /// Whether the last line has something that the schema does not allow.
    last_is_wrong: bool,
    /// Rows that the study declares for this site.
    declared: Option<u64>,
    /// Whether numbers are far from the schema's bounds, centre or scale.
    off_scale: Option<Warning>,
}

/// What an agent would make of a file. Problems of cells are told and are no error: an agent maps such a cell to a legal
/// value. What no agent could read at all is one, and so is a column without one legal cell: an agent cannot refuse it, because a
/// site that does not sign tells of its rows, and would charge for noise alone.
pub(crate) fn text(data: &Path, schema: &Path, declared: Option<u64>, json: bool) -> Result<String, Failure> {
    let read_file = |path: &Path| std::fs::read(path).map_err(|source| Failure::file("cannot read", path, source));
    let (bytes, schema_text) = (read_file(data)?, String::from_utf8_lossy(&read_file(schema)?).into_owned());
    let in_schema = |error| Failure::data(schema.display().to_string(), error);
    let in_data = |error| Failure::data(data.display().to_string(), error);
    let meant = Schema::from_toml(&schema_text).map_err(in_schema)?;
    let numbers = meant.columns().iter().filter(|column| matches!(column.kind, Kind::Numeric(_)));
    let numbers: Vec<&str> = numbers.map(|column| column.name.as_str()).collect();
    // What this refuses, an agent would refuse.
    let table = read(&bytes[..], &meant, true, &numbers, RowReading::Lenient).map_err(in_data)?;
    if !table.rows.is_empty() {
        examine(&bytes[..], &meant).and_then(|exam| exam.check_columns()).map_err(in_data)?;
    }
    let names = header(&bytes[..]).map_err(in_data)?;
    let unnamed: Vec<String> = names.into_iter().filter(|name| !meant.names(name)).collect();
    let strict = Schema::from_toml(&ignoring(&schema_text, &unnamed)).map_err(in_schema)?;
    let text = unzipped(&bytes).map_err(|source| Failure::file("cannot read", data, source))?;
    let found = FileFindings { unnamed, declared, off_scale: off_scale(&table, &meant), ..look(&text, &strict) };
    Ok(if json { format!("{}\n", found.object()) } else { found.words() })
}

/// The schema with some columns ignored that it does not name.
fn ignoring(schema: &str, unnamed: &[String]) -> String {
    let Ok(mut table) = toml::from_str::<toml::Table>(schema) else { return schema.to_owned() };
    if let Some(columns) = table.get_mut("column").and_then(toml::Value::as_array_mut) {
        let ignored = |name: &String| {
            let keys = [("name".to_owned(), name.clone().into()), ("kind".to_owned(), "ignore".into())];
            toml::Value::Table(keys.into_iter().collect())
        };
        columns.extend(unnamed.iter().map(ignored));
    }
    table.to_string()
}

/// Reads every line strictly and by itself, so that one with a problem does not hide the next.
fn look(text: &[u8], schema: &Schema) -> FileFindings {
    let mut found = FileFindings { ended: text.ends_with(b"\n"), ..FileFindings::default() };
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    let head = lines.next().unwrap_or_default();
    for (line, number) in lines.zip(2..) {
        found.rows += 1;
        found.last_is_wrong = false;
        if line.trim_ascii().is_empty() {
            found.blank += 1;
            continue;
        }
        match read(&[head, line].concat()[..], schema, true, &[], RowReading::Strict) {
            Ok(_) => {}
            Err(DataError::Table { line: None, .. } | DataError::Column { .. }) => found.left_out += 1,
            Err(error) => {
                found.last_is_wrong = true;
                found.take(placed(error, number));
            }
        }
    }
    found.persons = persons(text, schema);
    if found.problems == 0
        && let Err(error @ DataError::Record { .. }) = read(text, schema, true, &[], RowReading::Strict)
    {
        found.take(error);
    }
    found
}

/// How many persons an agent finds in the file, where the schema tells whose rows are.
fn persons(text: &[u8], schema: &Schema) -> Option<u64> {
    let table = read(text, schema, true, &[], RowReading::Lenient).ok()?;
    let slots: BTreeSet<u64> = table.keys.persons()?.iter().map(|person| person.slot).collect();
    Some(slots.len() as u64)
}

/// The same error with its line in the whole file.
fn placed(mut error: DataError, number: u64) -> DataError {
    match &mut error {
        DataError::Cell { line, .. } | DataError::Record { line, .. } => *line = number,
        DataError::Table { line, .. } => *line = Some(number),
        _ => {}
    }
    error
}

impl FileFindings {
    fn take(&mut self, error: DataError) {
        self.problems += 1;
        let column = match &error {
            DataError::Cell { column, .. } | DataError::Record { column, .. } => column.clone(),
            _ => String::new(),
        };
        *self.columns.entry(column).or_default() += 1;
        if self.first.len() < SHOWN {
            self.first.push(error);
        }
    }

    /// What the file as a whole warns of. It is read from rows, and so for this terminal alone.
    fn warnings(&self) -> Vec<Warning> {
        // A study that protects persons declares persons.
        let declared = self.declared.filter(|declared| Some(*declared) != self.persons);
        let declared = declared.and_then(|declared| rows_differ("this site", declared, self.rows));
        let last = LastLine { ended: self.ended, fits: !self.last_is_wrong, alone: false };
        let all = [declared, small_sites([("the file", self.rows)]), cut_off(last, None), self.off_scale.clone()];
        all.into_iter().flatten().collect()
    }

    fn words(&self) -> String {
        let plural = |count: u64, word: &str| if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") };
        let rows = format!("{}, one for each line after the header", plural(self.rows, "row"));
        let mut lines = vec![row("rows", rows)];
        if let Some(persons) = self.persons {
            let what = "by the schema's person_id: what a study with unit = \"person\" declares";
            lines.push(row("persons", format!("{} {what}", plural(persons, "person"))));
        }
        if self.blank > 0 {
            lines.push(row("blank", format!("{}, each read as a row of zeros", plural(self.blank, "line"))));
        }
        if self.left_out > 0 {
            let why = "without an outcome, or not selected by `only`, each read as a row of zeros";
            lines.push(row("left out", format!("{} {why}", plural(self.left_out, "line"))));
        }
        if !self.unnamed.is_empty() {
            lines.push(row("not used", format!("{} (not in the schema)", self.unnamed.join(", "))));
        }
        match self.problems {
            0 => lines.push(row("problems", "none: every cell matches the schema")),
            problems => {
                let what = "with a value that the schema does not allow; an agent treats it as missing";
                lines.push(row("problems", format!("{} {what}", plural(problems, "line"))));
            }
        }
        for (column, count) in &self.columns {
            let name = if column.is_empty() { "lines that cannot be split into cells" } else { column };
            lines.push(row("", format!("{name}: {}", plural(*count, "line"))));
        }
        for error in &self.first {
            lines.push(row("", format!("{error}; {}", error.hint())));
        }
        for warning in self.warnings() {
            lines.push(row("warning", format!("{}: {}; {}", warning.code.as_str(), warning.what, warning.hint)));
        }
        lines.push(row("private", "these numbers stay on this terminal; an agent never sends them"));
        terminal::rows(&lines)
    }

    fn object(&self) -> serde_json::Value {
        let first =
            |error: &DataError| json!({ "code": error.code(), "message": error.to_string(), "hint": error.hint() });
        json!({
            "rows": self.rows, "persons": self.persons, "blank": self.blank, "left_out": self.left_out, "problems": self.problems,
            "columns": self.columns, "first": self.first.iter().map(first).collect::<Vec<_>>(),
            "not_used": self.unnamed, "warnings": self.warnings(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"
        outcome = { column = "ill", levels = ["no", "yes"], missing = "drop" }
        record_id = "patient"
        column = [
            { name = "age", kind = "numeric", centre = 55, scale = 10 },
            { name = "ward", kind = "category", levels = ["a", "b"] },
        ]
    "#;

    fn found(lines: &str) -> FileFindings {
        look(format!("patient,age,ward,ill\n{lines}").as_bytes(), &Schema::from_toml(SCHEMA).unwrap())
    }

    #[test]
    fn every_line_is_looked_at_whatever_stands_before_it() {
        let found = found("1,50,a,yes\n2,x,a,no\n\n3,50,c,no\n4,50,a,\n5,y,b,no\n6,50\n,50,b,no\n7,50,b,no");
        assert_eq!((found.rows, found.blank, found.left_out, found.problems), (9, 1, 1, 5));
        let columns = [("", 1), ("age", 2), ("patient", 1), ("ward", 1)];
        assert_eq!(found.columns, columns.map(|(name, count)| (name.to_owned(), count)).into());
        let told = found.words();
        assert!(told.contains("line 3") && told.contains("line 7") && told.contains("age: 2 lines"), "{told}");
        assert_eq!(found.object()["problems"], 5);
    }

    /// The codes of all warnings of a file with so many whole rows and this behind them.
    fn codes(rows: usize, end: &str, declared: Option<u64>) -> Vec<&'static str> {
        let lines: String = (0..rows).map(|row| format!("{row},50,a,yes\n")).collect();
        let found = FileFindings { declared, ..found(&format!("{lines}{end}")) };
        assert_eq!(found.object()["warnings"].as_array().unwrap().len(), found.warnings().len());
        found.warnings().iter().map(|warning| warning.code.as_str()).collect()
    }

    #[test]
    fn few_rows_cut_files_and_other_declared_rows_are_warned_of_on_the_sites_terminal() {
        assert!(codes(12, "", None).is_empty() && codes(12, "", Some(12)).is_empty());
        assert_eq!(codes(9, "", None), ["W006"]);
        assert_eq!(codes(12, "", Some(13)), ["W005"]);
        assert_eq!(codes(12, "13,5", None), ["W007"], "cut off in mid-line");
        assert!(codes(12, "13,50,a,yes", None).is_empty(), "whole, without a line break at its end");
        assert!(codes(12, "13,5\n", None).is_empty(), "broken, and a problem, but not cut off");
        let told = found("1,50,a,yes\n").words();
        assert!(told.contains("warning     W006: the file has 1 row: fewer than 10"), "{told}");
    }

    /// An agent must not refuse such a file, because a site that does not sign tells of its rows: its owner has to hear it here.
    #[test]
    fn a_file_with_a_column_that_is_never_legal_is_refused() {
        let folder = std::env::temp_dir().join(format!("posterity-never-legal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (data, schema) = (folder.join("rows.csv"), folder.join("schema.toml"));
        std::fs::write(&schema, SCHEMA).unwrap();
        let checked = |lines: &str| {
            std::fs::write(&data, format!("patient,age,ward,ill\n{lines}")).unwrap();
            text(&data, &schema, None, false)
        };
        let refused = checked("1,50,a,0\n2,50,b,1\n").unwrap_err();
        assert_eq!(refused.code(), "D005");
        assert!(refused.to_string().contains("column `ill`: 2 of 2 cells are not allowed"), "{refused}");
        assert!(checked("1,50,a,0\n2,50,b,yes\n").unwrap().contains("ill: 1 line"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn persons_are_counted_where_the_schema_tells_whose_rows_are() {
        let schema = Schema::from_toml(&SCHEMA.replace("record_id", "person_id")).unwrap();
        let lines = "1,50,a,yes\n2,50,a,no\n1,51,b,no\n1,49,a,yes\n";
        let found =
            FileFindings { declared: Some(2), ..look(format!("patient,age,ward,ill\n{lines}").as_bytes(), &schema) };
        assert_eq!((found.rows, found.persons, found.problems), (4, Some(2), 0));
        assert!(found.words().contains("2 persons by the schema's person_id"), "{}", found.words());
        assert!(found.warnings().iter().all(|warning| warning.code.as_str() != "W005"), "two persons are declared");
    }

    #[test]
    fn a_repeated_record_is_found_where_all_else_is_well() {
        let found = found("1,50,a,yes\n1,51,a,no\n");
        assert_eq!(found.problems, 1);
        assert!(found.words().contains("line 3"), "{}", found.words());
        assert_eq!(super::tests::found("1,50,a,yes\n2,51,a,no\n").problems, 0);
    }

    #[test]
    fn a_column_that_the_schema_does_not_name_is_not_used_and_no_problem() {
        let schema = Schema::from_toml(&ignoring(SCHEMA, &["room".into()])).unwrap();
        let found = look(b"patient,room,age,ward,ill\n1,9,50,a,yes\n", &schema);
        assert_eq!((found.rows, found.problems), (1, 0));
    }
}
