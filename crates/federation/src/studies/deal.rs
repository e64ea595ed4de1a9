//! The rows of a study, dealt out as files: one for each site with its training rows, and one with those held out.

use super::error::StudyRunError;
use inference::{Partition, RowKeys};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use study::Study;
use study::unzipped;
use study::write_whole;
use study::{Folders, datasets};

/// Files of a federation that is shown on one machine.
#[derive(Debug)]
pub struct SiteFiles {
    /// In the order of the study's `[federation]`.
    pub sites: Vec<SiteFile>,
    /// Rows that are at no site, to score by.
    pub held_out: PathBuf,
}

/// One site's file.
#[derive(Debug, PartialEq, Eq)]
pub struct SiteFile {
    /// Name of the site.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// How many rows it has.
    pub rows: u64,
}

/// Deals the rows of a study as its first seed does, and writes a file for each site into a folder: the lines of the source as
/// they are, in their order, under its header.
///
/// Lines that are no rows of a study (without an outcome, or not chosen by the schema's `only`) are not dealt, so that an
/// agent, to which every line is a row, has as many. The study's files are looked for in `folders`.
pub fn deal(study: &Study, folders: &Folders, folder: &Path) -> Result<SiteFiles, StudyRunError> {
    let source = datasets::open(&study.data.source, study.data.schema.as_deref(), folders)?;
    let keep: Vec<&str> = [study.data.split.column(), study.partition.column()].into_iter().flatten().collect();
    let table = source.read(study.model.intercept, &keep)?;
    let seed = study.seeds.first().copied().unwrap_or(1);
    let in_source = |error| StudyRunError::data(source.name.as_str(), error);
    let (train, test) = study.data.split.rows(&table, study.data.split_seed.unwrap_or(seed)).map_err(in_source)?;
    let clients = study.partition.clients(&table, &train, seed).map_err(in_source)?;
    let text =
        unzipped(&source.csv).map_err(|error| StudyRunError::file("cannot read", Path::new(&source.name), error))?;
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let write = |name: &str, rows: &[usize]| -> Result<PathBuf, StudyRunError> {
        let numbers = std::iter::once(1).chain(rows.iter().map(|&row| table.line(row)));
        let mut file = Vec::new();
        for line in numbers.filter_map(|number| lines.get(usize::try_from(number - 1).ok()?)) {
            file.extend_from_slice(line);
            file.push(b'\n');
        }
        let path = folder.join(format!("{name}.csv"));
        write_whole(&path, &file).map_err(|error| StudyRunError::file("cannot write", &path, error))?;
        Ok(path)
    };
    let mut sites = Vec::new();
    for (name, rows) in in_order(study, clients, &table.keys)? {
        let path = write(&name, &rows)?;
        sites.push(SiteFile { name, path, rows: rows.len() as u64 });
    }
    Ok(SiteFiles { sites, held_out: write("held-out", &test)? })
}

/// What a study declares of these rows: their number, or that of their persons.
fn declared(study: &Study, keys: &RowKeys, rows: &[usize]) -> u64 {
    let by_person = study.served.as_ref().is_some_and(|served| served.by_person);
    match keys.persons().filter(|_| by_person) {
        Some(persons) => rows.iter().map(|&row| persons[row].slot).collect::<BTreeSet<_>>().len() as u64,
        None => rows.len() as u64,
    }
}

/// The clients of the partition under the names and in the order of the study's sites, each with as many rows, or persons, as
/// declared.
fn in_order(
    study: &Study,
    clients: Vec<inference::Dealt>,
    keys: &RowKeys,
) -> Result<Vec<inference::Dealt>, StudyRunError> {
    let refuse = |message: String| {
        let hint = "let [partition] have the sites of [federation] as clients, and declare as many rows as the split leaves them for training";
        StudyRunError::refused("F106", message, hint)
    };
    let named = matches!(study.partition, Partition::Column { .. });
    let (Some(served), true) = (&study.served, study.simulated) else {
        return Err(refuse(format!("{} needs both [federation] and [partition]", study.file)));
    };
    if served.sites.len() != clients.len() {
        return Err(refuse(format!(
            "[partition] has {} clients, but [federation] has {} sites",
            clients.len(),
            served.sites.len()
        )));
    }
    let site = |(at, site): (usize, &study::ServedSite)| {
        let own = |(place, (name, _)): &(usize, &inference::Dealt)| {
            if named { name == site.name.as_str() } else { *place == at }
        };
        let (_, (_, rows)) = clients
            .iter()
            .enumerate()
            .find(own)
            .ok_or_else(|| refuse(format!("[partition] gives no rows to {}", site.name)))?;
        let found = declared(study, keys, rows);
        if found != site.rows {
            let units = if served.by_person { "persons" } else { "rows" };
            return Err(refuse(format!("{} has {found} training {units}, but {} are declared", site.name, site.rows)));
        }
        Ok((site.name.to_string(), rows.clone()))
    };
    served.sites.iter().enumerate().map(site).collect()
}
