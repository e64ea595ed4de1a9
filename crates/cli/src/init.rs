//! `posterity init`: skeletons of a study and a schema from the names in a table's header. No value is looked at.

use crate::failure::Failure;
use inference::header;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Cursor, Read, Write as _};
use std::path::{Path, PathBuf};

/// No header is longer.
const MOST_BYTES: u64 = 1 << 20;

/// Writes `study.toml` and `schema.toml` into a folder that has neither.
pub(crate) fn run(folder: &Path, table: &Path, json: bool) -> Result<String, Failure> {
    let columns = columns(table)?;
    let files = [("schema.toml", schema(&columns)), ("study.toml", study(table)?)];
    for (name, _) in &files {
        let path = folder.join(name);
        if path.exists() {
            let message = format!("{} is there already and is not overwritten", path.display());
            return Err(Failure::usage(message, "name a new folder, or move the file away"));
        }
    }
    fs::create_dir_all(folder).map_err(|error| Failure::file("cannot create", folder, error))?;
    let written =
        files.iter().map(|(name, text)| write_new(&folder.join(name), text)).collect::<Result<Vec<_>, _>>()?;
    Ok(report(&written, columns.len(), json))
}

/// The names in the first line. What follows it is not decoded, parsed or kept.
fn columns(table: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error| Failure::file("cannot read", table, error);
    let mut reader = BufReader::new(File::open(table).map_err(failed)?);
    let zipped = reader.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
    let plain: Box<dyn Read> =
        if zipped { Box::new(flate2::read::MultiGzDecoder::new(reader)) } else { Box::new(reader) };
    let mut line = Vec::new();
    BufReader::new(plain.take(MOST_BYTES)).read_until(b'\n', &mut line).map_err(failed)?;
    header(Cursor::new(line)).map_err(|error| Failure::data(table.display().to_string(), error))
}

fn write_new(path: &Path, text: &str) -> Result<PathBuf, Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map(|()| path.to_owned()).map_err(|error| Failure::file("cannot write", path, error))
}

/// A string of TOML; the escapes of JSON are valid there.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The last column is taken for the outcome, every other one is ignored until somebody says what it is.
fn schema(columns: &[String]) -> String {
    let (outcome, others) = columns.split_last().map_or(("", columns), |(last, rest)| (last.as_str(), rest));
    let lines: String =
        others.iter().map(|name| format!("  {{ name = {}, kind = \"ignore\" }},\n", quoted(name))).collect();
    format!(
        "\
# What the columns mean. Every number here is public: take it from a code book or from common knowledge, never from the
# rows, because what the rows say about centres, bounds or levels is private too.

# What is predicted: classes by their levels, the first is 0; or a number:
#   outcome = {{ column = \"weight\", bounds = [0, 200], centre = 70, scale = 15 }}
# Rows without an outcome are an error, or left out with missing = \"drop\".
outcome = {{ column = {}, levels = [\"0\", \"1\"] }}

# What it is predicted from. Columns are ignored until you say what they are:
#   {{ name = \"age\", kind = \"numeric\", centre = 55, scale = 10, bounds = [18, 100], missing = \"flag\" }}
#   {{ name = \"dose\", kind = \"numeric\", centre = 0, scale = 1, missing = {{ fill = 0 }} }}
#   {{ name = \"ward\", kind = \"category\", levels = [\"north\", \"south\"], missing = \"level\" }}
# Numbers are clamped to the bounds, then centred and scaled; log = true takes the logarithm first.
column = [
{lines}]
",
        quoted(outcome)
    )
}

fn study(table: &Path) -> Result<String, Failure> {
    let path = fs::canonicalize(table).map_err(|error| Failure::file("cannot read", table, error))?;
    let source = quoted(&format!("csv:{}", path.display()));
    Ok(format!(
        "\
schema = 1

[study]
name = \"my-study\"
seeds = [1, 2, 3]

[data]
source = {source}
schema = \"schema.toml\"
split = {{ test = 0.2 }}                 # or {{ column = \"split\" }}, or {{ half = true }}

[partition]
kind = \"even\"                          # or \"column\" with column = \"hospital\"; or \"skewed\" with rho and kappa
clients = 4

[model]
kind = \"logistic\"                      # \"linear\" for an outcome that is a number
bias = true
prior = {{ precision = 1.0 }}

[[method]]
name = \"DP optimisation\"
algorithm = \"pvi\"
solver = \"dp-optimisation\"
schedule = \"sequential\"
rounds = 20
damping = 0.1
local = {{ steps = 10, rate = 0.05, optimiser = \"adam\", learning_rate = 0.05 }}
# The promise: to each row, however the others look; delta well under one over the number of rows.
privacy = {{ unit = \"example\", adjacency = \"substitute\", epsilon = 1.0, delta = 1e-5, clip = 2.0, aggregator = \"none\" }}
"
    ))
}

fn report(written: &[PathBuf], columns: usize, json: bool) -> String {
    if json {
        return format!("{}\n", serde_json::json!({ "written": written, "columns": columns }));
    }
    let paths: String = written.iter().map(|path| format!("wrote       {}\n", path.display())).collect();
    format!("{paths}next        say in the schema what the {columns} columns are; they are ignored until then\n")
}
