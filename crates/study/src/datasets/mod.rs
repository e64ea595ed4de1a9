//! Data sets: those that are known by name, and the one way from a study's source to its rows and schema.

mod fetch;
mod registry;
mod unzip;

pub use fetch::{Fetched, fetch};
pub use registry::{KnownRows, Levels, SETS, Set, find};

use crate::error::StudyError;
use crate::load::Folders;
use inference::{DataError, Encoded, RowReading, Schema, header, nearest, read};
use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

/// The schema of a study whose table has none of its own beside it.
pub(crate) const SCHEMA_FILE: &str = "schema.toml";

/// Rows as bytes, and what they mean.
#[derive(Debug)]
pub struct DataSource {
    /// As in the study.
    pub name: String,
    /// Comma-separated text, gzipped or not.
    pub csv: Cow<'static, [u8]>,
    /// What the columns mean.
    pub schema: Schema,
    /// The same in TOML.
    pub schema_text: String,
}

impl DataSource {
    /// The rows, encoded; every cell must fit the schema.
    pub fn read(&self, bias: bool, keep: &[&str]) -> Result<Encoded, StudyError> {
        let table = read(&self.csv[..], &self.schema, bias, keep, RowReading::Strict);
        table.map_err(|error| StudyError::data(self.name.as_str(), error))
    }
}

/// Opens the source of a study: the name of a data set, or `csv:PATH`. Its files are looked for in these folders.
pub fn open(source: &str, schema: Option<&Path>, folders: &Folders) -> Result<DataSource, StudyError> {
    let (name, csv) = match own_file(source, folders) {
        Some(path) => {
            let csv = fs::read(&path).map_err(|error| StudyError::file("cannot read the table", &path, error))?;
            (path.display().to_string(), csv.into())
        }
        None => match known(source)? {
            Set { name, rows_from: KnownRows::Bundled(bytes), .. } => ((*name).to_owned(), Cow::Borrowed(*bytes)),
            set => (set.name.to_owned(), stored(set, folders)?.into()),
        },
    };
    let (schema_text, schema) = schema_of(source, schema, folders)?;
    Ok(DataSource { name, csv, schema, schema_text })
}

/// The schema of a source, as text and as meant, without its rows.
///
/// It is the one given, or that of the data set; of a file of one's own, the file of the same name that ends in `.toml`, or else
/// `schema.toml` beside the study.
pub fn schema_of(source: &str, schema: Option<&Path>, folders: &Folders) -> Result<(String, Schema), StudyError> {
    match (schema, own_file(source, folders)) {
        (Some(path), _) => read_schema(&folders.study.join(path)),
        (None, Some(path)) => {
            let (beside, general) = (schema_beside(&path), folders.study.join(SCHEMA_FILE));
            let taken = general.exists() && (!beside.exists() || is_study(&beside));
            read_schema(if taken { &general } else { &beside })
        }
        (None, None) => own_schema(known(source)?),
    }
}

/// The names in a source's header; of a set that is yet to be fetched, those that its file has. No row is read.
pub fn header_of(source: &str, folders: &Folders) -> Result<Vec<String>, StudyError> {
    let names = |found: Result<_, DataError>| found.map_err(|error| StudyError::data(source, error));
    let file = |path: &Path, action: &'static str| match fs::File::open(path) {
        Ok(file) => names(header(file)),
        Err(error) => Err(StudyError::file(action, path, error)),
    };
    if let Some(path) = own_file(source, folders) {
        return file(&path, "cannot read the table");
    }
    let set = known(source)?;
    match &set.rows_from {
        KnownRows::Bundled(bytes) => names(header(*bytes)),
        KnownRows::Fetched { .. } if is_here(set, folders) => file(&stored_path(set, folders)?, "cannot read"),
        KnownRows::Fetched { columns, .. } => Ok(columns.iter().map(|name| (*name).to_owned()).collect()),
    }
}

/// The file of `csv:PATH`.
pub(crate) fn own_file(source: &str, folders: &Folders) -> Option<PathBuf> {
    source.strip_prefix("csv:").map(|path| folders.study.join(path))
}

/// True if the rows of a set are in the program, or were fetched.
pub fn is_here(set: &Set, folders: &Folders) -> bool {
    set.is_bundled() || stored_path(set, folders).is_ok_and(|path| path.exists())
}

/// Where a fetched set is kept.
fn stored_path(set: &Set, folders: &Folders) -> Result<PathBuf, StudyError> {
    let hint = "name a folder by `to` or in the variable POSTERITY_DATA";
    let lacking = || StudyError::usage("there is no home directory to keep data in", hint);
    Ok(folders.data.as_ref().ok_or_else(lacking)?.join(format!("{}.csv.gz", set.name)))
}

/// The data set of this name, or a hint at the one that was meant.
pub fn known(name: &str) -> Result<&'static Set, StudyError> {
    find(name).ok_or_else(|| {
        let names: Vec<&str> = SETS.iter().map(|set| set.name).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(close) => format!("did you mean `{close}`? A file of your own is csv:PATH"),
            None => format!("one of {}; a file of your own is csv:PATH", names.join(", ")),
        };
        StudyError::dataset(format!("there is no data set `{name}`"), hint)
    })
}

/// Whether a file is a study, which may have the name of its table.
fn is_study(path: &Path) -> bool {
    let table = fs::read_to_string(path).ok().and_then(|text| text.parse::<toml::Table>().ok());
    table.is_some_and(|table| table.contains_key("data") && table.contains_key("model"))
}

fn own_schema(set: &Set) -> Result<(String, Schema), StudyError> {
    let schema =
        Schema::from_toml(set.schema).map_err(|error| StudyError::data(format!("{}.toml", set.name), error))?;
    Ok((set.schema.to_owned(), schema))
}

fn read_schema(path: &Path) -> Result<(String, Schema), StudyError> {
    let text = fs::read_to_string(path).map_err(|error| StudyError::file("cannot read the schema", path, error))?;
    let schema = Schema::from_toml(&text).map_err(|error| StudyError::data(path.display().to_string(), error))?;
    Ok((text, schema))
}

/// `rows.toml` beside `rows.csv` or `rows.csv.gz`.
pub(crate) fn schema_beside(path: &Path) -> PathBuf {
    let zipped = path.extension().is_some_and(|end| end == "gz");
    if zipped { path.with_extension("").with_extension("toml") } else { path.with_extension("toml") }
}

/// The rows of a set that was fetched.
fn stored(set: &Set, folders: &Folders) -> Result<Vec<u8>, StudyError> {
    let path = stored_path(set, folders)?;
    fs::read(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let message = format!("{} was not fetched yet: there is no {}", set.name, path.display());
            StudyError::dataset(message, format!("fetch the data set {}", set.name))
        }
        _ => StudyError::file("cannot read", &path, error),
    })
}
