//! Gets a data set that is not bundled, checks it, and stores it. This is the one place that reaches a network, by `curl`.

use super::{KnownRows, Set, known, stored_path, unzip};
use crate::digits::hexadecimal;
use crate::error::StudyError;
use crate::load::Folders;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use inference::{RowReading, Schema, read};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// No known data set is larger than this, zipped or not.
const MOST_BYTES: u64 = 64 << 20;

/// Five years, in days.
const FIVE_YEARS: f64 = 1826.0;

/// SHA-256 in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// How sure it is that a file is the right one.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Checked {
    /// The file, or the text in it, has the expected digest.
    Digest,
    /// Its rows have the expected number and fit the schema; its publisher names no digest.
    Contents,
}

/// A data set that is where it should be.
#[derive(Debug)]
pub struct Fetched {
    /// What is known of it.
    pub set: &'static Set,
    /// Where it was written; none of a bundled one that nobody wanted written.
    pub path: Option<PathBuf>,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Whether its text has the expected SHA-256. If not, its rows have the expected number and fit the schema, and its
    /// publisher names no digest.
    pub verified: bool,
}

/// Gets a data set from a file or from its official address, by the system's `curl`, and stores it in a folder. A bundled one
/// is written out if a folder is named; there is nothing to fetch.
pub fn fetch(name: &str, from: Option<&Path>, to: Option<&Path>, folders: &Folders) -> Result<Fetched, StudyError> {
    let set = known(name)?;
    let fetched = |path, bytes: &[u8], checked| Fetched {
        set,
        path,
        sha256: digest(bytes),
        verified: checked == Checked::Digest,
    };
    if let (KnownRows::Bundled(bytes), None, None) = (&set.rows_from, from, to) {
        return Ok(fetched(None, bytes, Checked::Digest));
    }
    let (bytes, checked) = match (&set.rows_from, from) {
        (KnownRows::Bundled(bytes), None) => (bytes.to_vec(), Checked::Digest),
        (_, Some(path)) => clean(set, &read_file(path)?)?,
        (KnownRows::Fetched { download, by_hand, .. }, None) => clean(set, &downloaded(set, *download, by_hand)?)?,
    };
    let path = match to {
        Some(folder) => folder.join(format!("{name}.csv.gz")),
        None => stored_path(set, folders)?,
    };
    store(&path, &bytes)?;
    Ok(fetched(Some(path), &bytes, checked))
}

fn read_file(path: &Path) -> Result<Vec<u8>, StudyError> {
    let failed = |error| StudyError::file("cannot read", path, error);
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(failed)?.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// The file at the official address, by `curl`: https only, limited in size and time.
fn downloaded(set: &Set, address: Option<&str>, by_hand: &str) -> Result<Vec<u8>, StudyError> {
    let Some(address) = address else {
        return Err(StudyError::download(format!("{} has no file to download", set.name), by_hand));
    };
    let limit = MOST_BYTES.to_string();
    let https = ["--proto", "=https", "--proto-redir", "=https", "--location", "--fail"];
    let limits = ["--silent", "--show-error", "--max-time", "300", "--max-filesize", &limit];
    let done = Command::new("curl").args(https).args(limits).arg(address).output();
    let done = done.map_err(|error| StudyError::download(format!("curl does not start: {error}"), by_hand))?;
    if !done.status.success() {
        let reason = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        return Err(StudyError::download(format!("{address} cannot be fetched: {reason}"), by_hand));
    }
    Ok(done.stdout)
}

/// The clean, gzipped file, made from whatever form was given: that file itself, its text, the official file, a zip.
fn clean(set: &Set, given: &[u8]) -> Result<(Vec<u8>, Checked), StudyError> {
    if given.len() as u64 > MOST_BYTES {
        return Err(wrong(set, "the file is larger than 64 MB"));
    }
    if digest(given) == set.sha256 {
        return Ok((given.to_vec(), Checked::Digest));
    }
    let KnownRows::Fetched { text_sha256, columns, .. } = &set.rows_from else {
        return Err(wrong(set, &format!("its SHA-256 is {}, expected {}", digest(given), set.sha256)));
    };
    let text = plain(set, given)?;
    if digest(&text) == *text_sha256 {
        return Ok((zipped(&text)?, Checked::Digest));
    }
    let (text, rows) = converted(set, &text, columns)?;
    if rows != set.rows {
        return Err(wrong(set, &format!("it has {rows} rows, expected {}", set.rows)));
    }
    let schema = Schema::from_toml(set.schema).map_err(|error| StudyError::data(set.name, error))?;
    read(&text[..], &schema, false, &[], RowReading::Strict).map_err(|error| StudyError::data(set.name, error))?;
    let checked = if digest(&text) == *text_sha256 { Checked::Digest } else { Checked::Contents };
    Ok((zipped(&text)?, checked))
}

fn wrong(set: &Set, what: &str) -> StudyError {
    let hint = match &set.rows_from {
        KnownRows::Bundled(_) => "this set is bundled: leave `from` out",
        KnownRows::Fetched { by_hand, .. } => by_hand,
    };
    StudyError::dataset(format!("this is not the file of {}: {what}", set.name), hint)
}

/// The text inside a gzip or zip file, or the text itself.
fn plain(set: &Set, given: &[u8]) -> Result<Vec<u8>, StudyError> {
    if given.starts_with(b"PK\x03\x04") {
        return unzip::first_csv(given, MOST_BYTES).map_err(|what| wrong(set, what));
    }
    if !given.starts_with(&[0x1f, 0x8b]) {
        return Ok(given.to_vec());
    }
    let mut text = Vec::new();
    let read = MultiGzDecoder::new(given).take(MOST_BYTES).read_to_end(&mut text);
    read.map_err(|error| wrong(set, &format!("its gzip is broken: {error}")))?;
    Ok(text)
}

/// The official table in our columns: `_` for `.` in names, empty cells for NA; and its number of rows.
///
/// `id`, where the table has none, is the row's number. `death5y` of flchain is 1 for a death within five years, 0 for
/// those followed for longer, and empty for the rest.
fn converted(set: &Set, text: &[u8], columns: &[&str]) -> Result<(Vec<u8>, u64), StudyError> {
    let unreadable = |error: csv::Error| wrong(set, &error.to_string());
    let mut table = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
    let header: Vec<String> = table.headers().map_err(unreadable)?.iter().map(|name| name.replace('.', "_")).collect();
    let find = |name: &str| header.iter().position(|other| other == name);
    let made = |name: &str| matches!((set.name, name), ("support2", "id") | ("flchain", "death5y"));
    if let Some(lacking) = columns.iter().find(|name| find(name).is_none() && !made(name)) {
        return Err(wrong(set, &format!("there is no column `{lacking}`")));
    }
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(columns).map_err(unreadable)?;
    let mut rows = 0;
    for record in table.records() {
        let record = record.map_err(unreadable)?;
        rows += 1;
        let cell = |name: &str| find(name).and_then(|i| record.get(i)).filter(|cell| *cell != "NA").unwrap_or("");
        let value = |name: &&str| match *name {
            "id" if find("id").is_none() => rows.to_string(),
            "death5y" if find("death5y").is_none() => death_within_five_years(cell("futime"), cell("death")).to_owned(),
            name => cell(name).to_owned(),
        };
        out.write_record(columns.iter().map(value)).map_err(unreadable)?;
    }
    let text = out.into_inner().map_err(|error| wrong(set, &error.to_string()))?;
    Ok((text, rows))
}

fn death_within_five_years(days: &str, death: &str) -> &'static str {
    match (days.parse::<f64>(), death) {
        (Ok(days), _) if days > FIVE_YEARS => "0",
        (Ok(_), "1") => "1",
        _ => "",
    }
}

fn zipped(text: &[u8]) -> Result<Vec<u8>, StudyError> {
    let mut zip = GzEncoder::new(Vec::new(), flate2::Compression::best());
    let bytes = zip.write_all(text).and_then(|()| zip.finish());
    bytes.map_err(|error| StudyError::file("cannot zip", Path::new("the table"), error))
}

/// Writes beside the place and renames, so that no half file is ever found there.
fn store(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    let half = path.with_extension("part");
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(|error| StudyError::file("cannot create", folder, error))?;
    let written = fs::write(&half, bytes).and_then(|()| fs::rename(&half, path));
    written.map_err(|error| StudyError::file("cannot write", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::registry::find;

    fn columns(set: &Set) -> &'static [&'static str] {
        match set.rows_from {
            KnownRows::Fetched { columns, .. } => columns,
            KnownRows::Bundled(_) => &[],
        }
    }

    #[test]
    fn an_export_of_r_becomes_our_table() {
        let set = find("flchain").unwrap();
        let raw = "\"age\",\"sex\",\"sample.yr\",\"kappa\",\"lambda\",\"flc.grp\",\"creatinine\",\"mgus\",\"futime\",\"death\",\"chapter\"\n\
                   97,\"F\",1997,5.7,4.86,10,1.7,0,85,1,\"Circulatory\"\n\
                   60,\"M\",1999,1.1,1.2,3,NA,0,4000,1,\"Skin\"\n\
                   61,\"M\",1999,1.1,1.2,3,NA,0,200,0,NA\n";
        let (text, rows) = converted(set, raw.as_bytes(), columns(set)).unwrap();
        let expected = "age,sex,sample_yr,kappa,lambda,flc_grp,creatinine,mgus,futime,death,chapter,death5y\n\
                        97,F,1997,5.7,4.86,10,1.7,0,85,1,Circulatory,1\n\
                        60,M,1999,1.1,1.2,3,,0,4000,1,Skin,0\n\
                        61,M,1999,1.1,1.2,3,,0,200,0,,\n";
        assert_eq!((String::from_utf8(text).unwrap().as_str(), rows), (expected, 3));
        let error = clean(set, raw.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("3 rows, expected 7874"), "{error}");
        let error = clean(set, b"a,b\n1,2\n").unwrap_err();
        assert!(error.to_string().contains("no column `age`"), "{error}");
    }

    #[test]
    fn a_bundled_set_is_taken_by_digest_only() {
        let set = find("heart").unwrap();
        let KnownRows::Bundled(bytes) = set.rows_from else { panic!() };
        assert_eq!(clean(set, bytes).unwrap().1, Checked::Digest);
        assert_eq!(clean(set, &bytes[1..]).unwrap_err().code(), "D009");
    }
}
