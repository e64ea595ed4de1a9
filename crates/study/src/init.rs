//! Skeletons of a study and a schema from the names in a table's header. No value is looked at.

use crate::error::StudyError;
use inference::header;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

/// Names, or parts of them, of columns that often say where a row comes from.
const SITES: [&str; 10] =
    ["hospital", "site", "centre", "center", "clinic", "practice", "institution", "region", "country", "ward"];

/// A study and a schema that were begun for a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skeleton {
    /// The files that were written.
    pub written: Vec<PathBuf>,
    /// Columns of the table.
    pub columns: usize,
    /// The column that was taken for the outcome: the last.
    pub outcome: String,
}

/// Writes `study.toml` and `schema.toml` for a table into a folder that has neither. Of the table only the header is read.
pub fn init(folder: &Path, table: &Path) -> Result<Skeleton, StudyError> {
    let columns = columns(table)?;
    for name in ["schema.toml", "study.toml"] {
        let path = folder.join(name);
        if path.exists() {
            let message = format!("{} is there already and is not overwritten", path.display());
            return Err(StudyError::usage(message, "name a new folder, or move the file away"));
        }
    }
    fs::create_dir_all(folder).map_err(|error| StudyError::file("cannot create", folder, error))?;
    let files = [("schema.toml", schema(&columns)), ("study.toml", study(&source(table, folder)?, &columns))];
    let written =
        files.iter().map(|(name, text)| write_new(&folder.join(name), text)).collect::<Result<Vec<_>, _>>()?;
    Ok(Skeleton { written, columns: columns.len(), outcome: columns.last().cloned().unwrap_or_default() })
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

/// The last column is taken for the outcome, every other one is ignored until somebody says what it is.
fn schema(columns: &[String]) -> String {
    let (outcome, others) = columns.split_last().map_or(("", columns), |(last, rest)| (last.as_str(), rest));
    let lines: String =
        others.iter().map(|name| format!("  {{ name = {}, kind = \"ignore\" }},\n", quoted(name))).collect();
    format!(
        "\
# What the columns mean. Every number here is public: take it from a code book or from common knowledge, never from the
# rows, because centres, bounds and levels that are read from the rows reveal something about them.

# The outcome: what is predicted. The last column of the header was taken for it.
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

/// A comment with the column that, by its name, may say where a row comes from.
fn site_column(columns: &[String]) -> String {
    let likely = |name: &&String| SITES.iter().any(|site| name.to_lowercase().contains(site));
    let lines = |name: &String| {
        let column = quoted(name);
        format!(
            "# If {column} says where a row comes from, use these two lines instead of the two below: one client for each value\n# kind = \"column\"\n# column = {column}\n"
        )
    };
    columns.iter().find(likely).map(lines).unwrap_or_default()
}

fn study(source: &str, columns: &[String]) -> String {
    let site = site_column(columns);
    format!(
        "\
schema = 1

[study]
name = \"my-study\"
seeds = [1, 2, 3]

[data]
source = {source}
schema = \"schema.toml\"
split = {{ test = 0.2 }}                 # rows held out to score the methods; or {{ column = \"split\", test_level = \"test\" }}
# Public numbers of rows, for `plan`: all clients together, or a list in alphabetical order of the clients' names.
# declared_rows = [1000, 1500, 500]

[partition]
{site}kind = \"even\"                          # deals the rows to so many clients of equal size
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
# The guarantee: (epsilon, delta) for each row. A person with several rows is protected less. Take delta well under
# 1 / number of rows. `posterity plan` suggests a method and a clip for this table.
privacy = {{ unit = \"example\", adjacency = \"substitute\", epsilon = 1.0, delta = 1e-5, clip = 2.0, aggregator = \"none\" }}
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
    fn a_site_column_is_suggested_by_its_name_only() {
        let columns = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert!(site_column(&columns(&["age", "Hospital_ID", "ill"])).contains("\n# column = \"Hospital_ID\"\n"));
        assert_eq!(site_column(&columns(&["age", "ill"])), "");
    }
}
