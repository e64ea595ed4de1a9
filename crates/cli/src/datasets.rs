//! `posterity datasets`: what there is, what is in it; and the one way from a study's source to its rows and schema.

use crate::failure::Failure;
use crate::fetch;
use crate::registry::{self, Rows, SETS, Set};
use inference::{DataError, Encoded, Reading, Schema, header, nearest, read};
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

/// Rows as bytes, and what they mean.
#[derive(Debug)]
pub(crate) struct Source {
    /// As in the study.
    pub(crate) name: String,
    /// Comma-separated text, gzipped or not.
    pub(crate) csv: Cow<'static, [u8]>,
    /// What the columns mean.
    pub(crate) schema: Schema,
    /// The same in TOML.
    pub(crate) schema_text: String,
}

impl Source {
    /// The rows, encoded; every cell must fit the schema.
    pub(crate) fn read(&self, bias: bool, keep: &[&str]) -> Result<Encoded, Failure> {
        let table = read(&self.csv[..], &self.schema, bias, keep, Reading::Strict);
        table.map_err(|error| Failure::data(self.name.as_str(), error))
    }
}

/// Opens the source of a study: the name of a data set, or `csv:PATH`. Paths are relative to `base`, the study's folder.
pub(crate) fn open(source: &str, schema: Option<&Path>, base: &Path) -> Result<Source, Failure> {
    let (name, csv) = match own_file(source, base) {
        Some(path) => {
            let csv = fs::read(&path).map_err(|error| Failure::file("cannot read", &path, error))?;
            (path.display().to_string(), csv.into())
        }
        None => match known(source)? {
            Set { name, rows_from: Rows::Bundled(bytes), .. } => ((*name).to_owned(), Cow::Borrowed(*bytes)),
            set => (set.name.to_owned(), stored(set)?.into()),
        },
    };
    let (schema_text, schema) = schema_of(source, schema, base)?;
    Ok(Source { name, csv, schema, schema_text })
}

/// The schema of a source, as text and as meant, without its rows.
///
/// It is the one given, or that of the data set, or the file of the same name as the rows' that ends in `.toml`.
pub(crate) fn schema_of(source: &str, schema: Option<&Path>, base: &Path) -> Result<(String, Schema), Failure> {
    match (schema, own_file(source, base)) {
        (Some(path), _) => read_schema(&base.join(path)),
        (None, Some(path)) => read_schema(&schema_beside(&path)),
        (None, None) => own_schema(known(source)?),
    }
}

/// The names in a source's header; of a set that is yet to be fetched, those that its file has. No row is read.
pub(crate) fn header_of(source: &str, base: &Path) -> Result<Vec<String>, Failure> {
    let names = |found: Result<_, DataError>| found.map_err(|error| Failure::data(source, error));
    let file = |path: &Path| match fs::File::open(path) {
        Ok(file) => names(header(file)),
        Err(error) => Err(Failure::file("cannot read", path, error)),
    };
    if let Some(path) = own_file(source, base) {
        return file(&path);
    }
    let set = known(source)?;
    match &set.rows_from {
        Rows::Bundled(bytes) => names(header(*bytes)),
        Rows::Fetched { .. } if is_here(set) => file(&fetch::stored_path(set)?),
        Rows::Fetched { columns, .. } => Ok(columns.iter().map(|name| (*name).to_owned()).collect()),
    }
}

/// The file of `csv:PATH`.
fn own_file(source: &str, base: &Path) -> Option<PathBuf> {
    source.strip_prefix("csv:").map(|path| base.join(path))
}

/// True if the rows of a set are in the program, or were fetched.
pub(crate) fn is_here(set: &Set) -> bool {
    set.is_bundled() || fetch::stored_path(set).is_ok_and(|path| path.exists())
}

/// The data set of this name, or a hint at the one that was meant.
pub(crate) fn known(name: &str) -> Result<&'static Set, Failure> {
    registry::find(name).ok_or_else(|| {
        let names: Vec<&str> = SETS.iter().map(|set| set.name).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(close) => format!("did you mean `{close}`? A file of your own is csv:PATH"),
            None => format!("one of {}; a file of your own is csv:PATH", names.join(", ")),
        };
        Failure::dataset(format!("there is no data set `{name}`"), hint)
    })
}

fn own_schema(set: &Set) -> Result<(String, Schema), Failure> {
    let schema = Schema::from_toml(set.schema).map_err(|error| Failure::data(format!("{}.toml", set.name), error))?;
    Ok((set.schema.to_owned(), schema))
}

fn read_schema(path: &Path) -> Result<(String, Schema), Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::file("cannot read the schema", path, error))?;
    let schema = Schema::from_toml(&text).map_err(|error| Failure::data(path.display().to_string(), error))?;
    Ok((text, schema))
}

/// `rows.toml` beside `rows.csv` or `rows.csv.gz`.
fn schema_beside(path: &Path) -> PathBuf {
    let zipped = path.extension().is_some_and(|end| end == "gz");
    if zipped { path.with_extension("").with_extension("toml") } else { path.with_extension("toml") }
}

/// The rows of a set that was fetched.
fn stored(set: &Set) -> Result<Vec<u8>, Failure> {
    let path = fetch::stored_path(set)?;
    fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let message = format!("{} was not fetched yet: there is no {}", set.name, path.display());
            Failure::dataset(message, format!("posterity datasets fetch {}", set.name))
        }
        _ => Failure::file("cannot read", &path, error),
    })
}

/// All data sets.
pub(crate) fn list(json: bool) -> String {
    if json {
        let sets: Vec<_> = SETS.iter().map(object).collect();
        return format!("{}\n", serde_json::json!({ "datasets": sets }));
    }
    let line = |set: &Set| {
        let place = if set.is_bundled() { "bundled" } else { "to fetch" };
        format!("{:<16}{:>8}  {:<10}{place:<10}{}\n", set.name, set.rows, set.outcome, set.about)
    };
    let head = format!("{:<16}{:>8}  {:<10}{:<10}{}\n", "name", "rows", "outcome", "where", "about");
    head + &SETS.iter().map(line).collect::<String>()
}

fn object(set: &Set) -> serde_json::Value {
    let fetch = match &set.rows_from {
        Rows::Bundled(_) => None,
        Rows::Fetched { by_hand, .. } => Some(by_hand),
    };
    serde_json::json!({
        "name": set.name, "about": set.about, "rows": set.rows, "outcome": set.outcome, "sha256": set.sha256,
        "licence": set.licence, "citation": set.citation, "address": set.address, "bundled": set.is_bundled(),
        "fetch": fetch,
    })
}

/// What a data set or a file holds; a file is read and checked against its schema.
pub(crate) fn show(source: &str, schema: Option<&Path>, json: bool) -> Result<String, Failure> {
    let set = if source.starts_with("csv:") { None } else { Some(known(source)?) };
    let here = Path::new("");
    let table = if set.is_none_or(is_here) { Some(open(source, schema, here)?.read(false, &[])?) } else { None };
    Ok(if json { shown_object(source, set, table.as_ref()) } else { shown_text(source, set, table.as_ref()) })
}

fn shown_object(source: &str, set: Option<&Set>, table: Option<&Encoded>) -> String {
    let mut shown = set.map_or_else(|| serde_json::json!({ "name": source }), object);
    shown["available"] = table.is_some().into();
    if let Some(table) = table {
        shown["rows_used"] = table.rows.len().into();
        shown["inputs"] = table.inputs.clone().into();
    }
    format!("{shown}\n")
}

fn shown_text(source: &str, set: Option<&Set>, table: Option<&Encoded>) -> String {
    let mut lines = vec![("source", source.to_owned())];
    if let Some(set) = set {
        lines.push(("about", set.about.to_owned()));
        lines.push(("outcome", set.outcome.to_owned()));
        lines.push(("rows", set.rows.to_string()));
        lines.push(("licence", set.licence.to_owned()));
        lines.push(("cite", set.citation.to_owned()));
        lines.push(("address", set.address.to_owned()));
        lines.push(("sha256", set.sha256.to_owned()));
    }
    match (table, set.map(|set| &set.rows_from)) {
        (Some(table), _) => {
            lines.push(("rows used", table.rows.len().to_string()));
            lines.push(("inputs", format!("{}: {}", table.inputs.len(), table.inputs.join(", "))));
        }
        (None, Some(Rows::Fetched { by_hand, .. })) => lines.push(("to fetch", (*by_hand).to_owned())),
        (None, _) => {}
    }
    lines.iter().map(|(label, text)| format!("{label:<12}{text}\n")).collect()
}
