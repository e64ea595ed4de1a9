//! Skeletons of a study and a schema from the names in a table's header. No value is looked at.

use crate::datasets::{SCHEMA_FILE, schema_beside};
use crate::error::StudyError;
use inference::{header, nearest};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

/// Names, or parts of them, of columns that often say where a row comes from.
const SITES: [&str; 10] =
    ["hospital", "site", "centre", "center", "clinic", "practice", "institution", "region", "country", "ward"];

/// What a study and a schema are begun from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkeletonRequest<'a> {
    /// Where the two files go; made if it is not there.
    pub folder: &'a Path,
    /// The table, of which only the header is read.
    pub table: &'a Path,
    /// The column that is predicted; the last one without it.
    pub outcome: Option<&'a str>,
    /// The column that says where a row comes from; simulated clients of equal size without it.
    pub sites: Option<&'a str>,
}

/// A study and a schema that were begun for a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skeleton {
    /// The files that were written.
    pub written: Vec<PathBuf>,
    /// Columns of the table.
    pub columns: usize,
    /// The column of the outcome: the one that was named, or the last.
    pub outcome: String,
    /// The column that names the sites, if there is one.
    pub sites: Option<String>,
}

/// Writes `study.toml` and `schema.toml` for a table into a folder that has neither. Of the table only the header is read.
pub fn init(asked: &SkeletonRequest<'_>) -> Result<Skeleton, StudyError> {
    let SkeletonRequest { folder, table, .. } = *asked;
    let columns = columns(table)?;
    let outcome = match asked.outcome {
        Some(name) => in_header(name, &columns, "outcome")?.to_owned(),
        None => columns.last().cloned().unwrap_or_default(),
    };
    let sites = asked.sites.map(|name| in_header(name, &columns, "sites")).transpose()?;
    if sites == Some(outcome.as_str()) {
        let message = format!("{outcome:?} cannot be both the outcome and the column of the sites");
        return Err(StudyError::usage(message, "name another column"));
    }
    for name in [SCHEMA_FILE, "study.toml"] {
        let path = folder.join(name);
        if path.exists() {
            let message = format!("{} is there already and is not overwritten", path.display());
            return Err(StudyError::usage(message, "name a new folder, or move the file away"));
        }
    }
    fs::create_dir_all(folder).map_err(|error| StudyError::file("cannot create", folder, error))?;
    let named = schema_beside(table).exists();
    let files = [
        (SCHEMA_FILE, schema(&columns, &outcome)),
        ("study.toml", study(&source(table, folder)?, named, &partition(sites, &columns, &outcome))),
    ];
    let written =
        files.iter().map(|(name, text)| write_new(&folder.join(name), text)).collect::<Result<Vec<_>, _>>()?;
    Ok(Skeleton { written, columns: columns.len(), outcome, sites: sites.map(str::to_owned) })
}

/// A column of the header by its name, or a hint at the one that was meant.
fn in_header<'a>(name: &'a str, columns: &[String], option: &str) -> Result<&'a str, StudyError> {
    if columns.iter().any(|column| column == name) {
        return Ok(name);
    }
    let names = columns.iter().map(String::as_str);
    let hint = match nearest(name, names.clone()) {
        Some(close) => format!("did you mean the column \"{close}\"?"),
        None => format!("the header has {}", names.collect::<Vec<_>>().join(", ")),
    };
    Err(StudyError::usage(format!("--{option}: the table has no column {name:?}"), hint))
}

/// The names in the first line. What follows it is not decoded, parsed or kept.
fn columns(table: &Path) -> Result<Vec<String>, StudyError> {
    let file = File::open(table).map_err(|error| StudyError::file("cannot read", table, error))?;
    header(file).map_err(|error| StudyError::data(table.display().to_string(), error))
}

/// The table's path as a study in this folder names it.
///
/// Relative, so that the two may be moved together; absolute where they have nothing but the root in common.
fn source(table: &Path, folder: &Path) -> Result<String, StudyError> {
    let whole = |path: &Path| fs::canonicalize(path).map_err(|error| StudyError::file("cannot read", path, error));
    let (table, folder) = (whole(table)?, whole(folder)?);
    let path = relative(&table, &folder).unwrap_or_else(|| table.display().to_string());
    Ok(quoted(&format!("csv:{path}")))
}

/// The way from a folder to a file, both absolute, by the nearest folder that holds both.
fn relative(file: &Path, folder: &Path) -> Option<String> {
    let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
    let shared = file.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    if !file.components().take(shared).any(|part| is_name(&part)) {
        return None;
    }
    let up = folder.components().skip(shared).map(|_| Some(".."));
    let down = file.components().skip(shared).map(|part| part.as_os_str().to_str());
    let parts: Option<Vec<&str>> = up.chain(down).collect();
    Some(parts?.join("/"))
}

fn write_new(path: &Path, text: &str) -> Result<PathBuf, StudyError> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map(|()| path.to_owned()).map_err(|error| StudyError::file("cannot write", path, error))
}

/// A string of TOML; the escapes of JSON are valid there.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Every column but the outcome is ignored until somebody says what it is.
fn schema(columns: &[String], outcome: &str) -> String {
    let others = columns.iter().filter(|name| *name != outcome);
    let lines: String = others.map(|name| format!("  {{ name = {}, kind = \"ignore\" }},\n", quoted(name))).collect();
    format!(
        "\
# What the columns mean. Every number here is public: take it from a code book or from common knowledge, never from the
# rows, because centres, bounds and levels that are read from the rows reveal something about them.

# The outcome: what is predicted.
# For classes, list the levels as they are written in the file, such as [\"no\", \"yes\"]; for two classes, predictions are the
# probability of the second. A number has bounds instead:
#   outcome = {{ column = \"weight\", bounds = [0, 200], centre = 70, scale = 15 }}
# A row without an outcome is an error; missing = \"drop\" leaves it out.
outcome = {{ column = {}, levels = [\"0\", \"1\"] }}

# The column of ids, if every row has its own. It is not an input, and ids stay in the file:
#   record_id = \"patient\"

# The inputs. Replace \"ignore\" by the kind of each column that is an input:
#   {{ name = \"age\", kind = \"numeric\", centre = 55, scale = 10, bounds = [18, 100], missing = \"flag\" }}
#   {{ name = \"dose\", kind = \"numeric\", centre = 0, scale = 1, missing = {{ fill = 0 }} }}
#   {{ name = \"ward\", kind = \"category\", levels = [\"north\", \"south\"], missing = \"level\" }}
#   {{ name = \"crp\", kind = \"numeric\", log = true, centre = 2.3, scale = 1, bounds = [0.5, 500] }}
# A number is clamped to the bounds; the input is (x - centre) / scale, which should be about -2 to 2 for most rows. With
# log = true, centre and scale are those of the natural logarithm of x, and the bounds must be positive.
# A missing cell (empty, ? or NA) is an error unless the column has a rule for it: missing = ... as above.
column = [
{lines}]
",
        quoted(outcome)
    )
}

/// The lines of `[partition]`: the column of the sites; else equal clients, with the column that may be meant by its name.
fn partition(sites: Option<&str>, columns: &[String], outcome: &str) -> String {
    if let Some(column) = sites {
        return format!("column = {}            # one site for each value\n", quoted(column));
    }
    let likely = |name: &&String| *name != outcome && SITES.iter().any(|site| name.to_lowercase().contains(site));
    let column = columns.iter().find(likely).map_or_else(|| "\"hospital\"".to_owned(), |name| quoted(name));
    format!(
        "\
clients = 4                    # rows are dealt to so many sites of equal size
# column = {column}            # instead of the line above: one site for each value of a column
"
    )
}

fn study(source: &str, schema_named: bool, partition: &str) -> String {
    let schema = if schema_named { format!("schema = \"{SCHEMA_FILE}\"\n") } else { String::new() };
    format!(
        "\
# A whole study: what is left out has a default. `posterity plan` prints every derived number with its reason.

[data]
source = {source}
{schema}
[partition]
{partition}
[model]
kind = \"logistic\"              # an outcome of two levels; \"linear\" for a number

[privacy]
epsilon = 1.0                  # for each row; a list such as [0.3, 1.0, 3.0] compares several in a simulation
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_where_that_leads_somewhere() {
        let way = |file: &str, folder: &str| relative(Path::new(file), Path::new(folder));
        assert_eq!(way("/home/a/rows.csv", "/home/a/new").as_deref(), Some("../rows.csv"));
        assert_eq!(way("/home/a/rows.csv", "/home/a").as_deref(), Some("rows.csv"));
        assert_eq!(way("/home/a/data/rows.csv", "/home/b/new").as_deref(), Some("../../a/data/rows.csv"));
        assert_eq!(way("/data/rows.csv", "/home/a"), None);
    }

    #[test]
    fn a_site_column_is_taken_as_named_and_else_suggested_by_its_name_only() {
        let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let header = columns(&["age", "Hospital_ID", "ill"]);
        assert!(partition(None, &header, "ill").contains("\n# column = \"Hospital_ID\" "));
        assert!(partition(Some("age"), &header, "ill").starts_with("column = \"age\" "));
        assert!(partition(None, &columns(&["age", "ill"]), "ill").starts_with("clients = 4 "));
    }

    #[test]
    fn what_is_written_is_a_short_study() {
        for named in [None, Some("ward")] {
            let text = study("\"csv:rows.csv\"", false, &partition(named, &["ward".to_owned()], "ill"));
            let study = crate::Study::read("study.toml", &text).unwrap();
            assert!(study.is_short() && study.simulated && study.methods.len() == 1, "{text}");
            assert_eq!(study.partition.column(), named);
        }
    }
}
