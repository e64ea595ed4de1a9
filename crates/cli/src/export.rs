//! `posterity export`: the tables of a finished run as files, or one of them on standard output.

use crate::arguments::{ExportArguments, ExportFormat, ExportName};
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use std::path::Path;
use study::export::{ExportTable, tables};
use study::{EXPORTED, RunResults, StudyError, write_whole};

/// Writes the tables, or returns the text of one.
pub(crate) fn run(asked: &ExportArguments, json: bool) -> Result<String, Failure> {
    let tables = tables(&RunResults::open(&asked.results)?);
    if let Some(wanted) = asked.table {
        return one(&tables, wanted, asked, json);
    }
    let folder = match asked.results.is_dir() {
        true => asked.results.clone(),
        false => asked.results.parent().unwrap_or(Path::new(".")).to_owned(),
    };
    let out = asked.out.clone().unwrap_or_else(|| folder.join(EXPORTED));
    let mut object = Map::new();
    let mut text = String::new();
    for table in &tables {
        let (ending, words) = written(table, asked.format);
        let path = out.join(format!("{}.{ending}", table.name));
        write_whole(&path, words.as_bytes()).map_err(|source| Failure::file("cannot write", &path, source))?;
        let rows = if table.rows.len() == 1 { "1 row".to_owned() } else { format!("{} rows", table.rows.len()) };
        text += &format!("{:<12}{} ({rows})\n", table.name, path.display());
        object.insert(table.name.to_owned(), json!(path.display().to_string()));
    }
    Ok(if json { format!("{}\n", Value::from(object)) } else { text })
}

fn one(tables: &[ExportTable], wanted: ExportName, asked: &ExportArguments, json: bool) -> Result<String, Failure> {
    let name = match wanted {
        ExportName::Effects => "effects",
        ExportName::Parameters => "parameters",
        ExportName::Scores => "scores",
        ExportName::Privacy => "privacy",
    };
    let Some(table) = tables.iter().find(|table| table.name == name) else {
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        let message = format!("{} has no table of {name}", asked.results.display());
        return Err(StudyError::usage(message, format!("its tables are: {}", names.join(", "))).into());
    };
    Ok(if json { format!("{}\n", json!({ name: table.json() })) } else { written(table, asked.format).1 })
}

/// The ending of the file, and its text.
fn written(table: &ExportTable, format: ExportFormat) -> (&'static str, String) {
    match format {
        ExportFormat::Csv => ("csv", table.csv()),
        ExportFormat::Latex => ("tex", table.latex()),
    }
}
