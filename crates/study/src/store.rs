//! The directory of a run: files appear whole or not at all, and finished work is found again by its key.

use super::Fault;
use super::state::Finished;
use crate::digits::hexadecimal;
use crate::error::StudyError;
use inference::results::Results;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Folder of finished work inside a run's directory.
const STATE: &str = "state";

/// File of the results in a run's directory.
pub(crate) const RESULTS: &str = "results.json";

/// Folder of the tables that are made of a run's results.
pub const EXPORTED: &str = "tables";

/// File whose lock says that a run writes here, and that names its process.
const LOCK: &str = ".lock";

/// A run's directory, held for one process until it is dropped.
#[derive(Debug)]
pub(crate) struct Store {
    root: PathBuf,
    key: String,
    /// Held, never read. The lock goes with the process, also when it is killed.
    _lock: fs::File,
}

/// Takes a directory for this process alone: two runs would write over each other's results.
fn lock(root: &Path) -> Result<fs::File, StudyError> {
    let path = root.join(LOCK);
    let unusable = |source| StudyError::file("cannot write", &path, source);
    let mut file = fs::File::options().create(true).truncate(false).write(true).open(&path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).map_err(unusable)?;
            Ok(file)
        }
        Err(fs::TryLockError::Error(source)) => Err(unusable(source)),
        Err(fs::TryLockError::WouldBlock) => {
            let process = fs::read_to_string(&path).unwrap_or_default();
            let who = if process.is_empty() { String::new() } else { format!(", process {process}") };
            Err(Fault {
                code: "S020",
                place: root.display().to_string(),
                message: format!("another run writes into this directory{who}"),
                hint: "wait until it has ended, stop it, or name another directory; the same simulation goes on after \
                       the work that it has finished"
                    .to_owned(),
            }
            .into())
        }
    }
}

/// Rises whenever the same study, data and seed would give other numbers: work that was finished under another revision is not
/// taken for this one's.
pub const REVISION: u32 = 5;

/// Names what is computed: the revision of the numbers, the text of the study, and the rows.
/// What is in the way where a directory of results is to be made.
pub(crate) fn occupied_by(path: &Path) -> &'static str {
    if path.is_file() { "this is a file, not a directory" } else { "there are other files in this directory" }
}

fn key(revision: u32, study: &str, data_digest: &str) -> String {
    let digest = Sha256::new()
        .chain_update(revision.to_le_bytes())
        .chain_update(study)
        .chain_update([0])
        .chain_update(data_digest)
        .finalize();
    hexadecimal(&digest).chars().take(16).collect()
}

impl Store {
    /// A new directory, an empty one, or one that an earlier run made.
    ///
    /// The key is a digest of the study, the data and the [`REVISION`] of the numbers: what was finished under another key is
    /// left alone and not used.
    pub(crate) fn open(root: &Path, name: &str, study: &str, data_digest: &str) -> Result<Self, StudyError> {
        let ours = root.join(STATE).is_dir();
        let occupied = root.is_file() || fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some());
        if occupied && !ours {
            return Err(Fault {
                code: "S013",
                place: root.display().to_string(),
                message: occupied_by(root).to_owned(),
                hint: "name a new or empty directory".to_owned(),
            }
            .into());
        }
        if let Some(other) = finished_study(root).filter(|other| other != name) {
            return Err(Fault {
                code: "S013",
                place: root.display().to_string(),
                message: format!("the results of another study, {other:?}, are in this directory"),
                hint: "name another directory, or remove this one".to_owned(),
            }
            .into());
        }
        let state = root.join(STATE);
        fs::create_dir_all(&state).map_err(|source| StudyError::file("cannot make", &state, source))?;
        let lock = lock(root)?;
        let key = key(REVISION, study, data_digest);
        Ok(Self { root: root.to_owned(), key, _lock: lock })
    }

    /// Finished work under this study's key. A file that does not read back is run again.
    pub(crate) fn finished(&self, name: &str, seed: u64) -> Option<Finished> {
        let text = fs::read_to_string(self.state_file(name, seed)).ok()?;
        serde_json::from_str(&text).ok().filter(|finished: &Finished| finished.seed == seed)
    }

    /// Keeps finished work.
    pub(crate) fn keep(&self, name: &str, finished: &Finished) -> Result<(), StudyError> {
        self.write_json(&self.state_file(name, finished.seed), finished)
    }

    fn state_file(&self, name: &str, seed: u64) -> PathBuf {
        self.root.join(STATE).join(format!("{}-{}-{seed}.json", self.key, file_name(name)))
    }

    /// Writes a file of the run, whole or not at all.
    pub(crate) fn write(&self, name: &str, value: &impl Serialize) -> Result<PathBuf, StudyError> {
        let path = self.root.join(name);
        self.write_json(&path, value)?;
        Ok(path)
    }

    /// Removes what was made of other results that this directory had: tables, and posteriors that were not written now.
    ///
    /// Whoever finds tables beside results takes them for tables of these. Draws stay: a study may have been sampled by itself.
    pub(crate) fn remove_stale(&self, results: &Results, posteriors: &BTreeSet<PathBuf>) -> Result<(), StudyError> {
        // Both are read from text, so that numbers are compared as they are written.
        let told = |text: String| {
            let mut value: serde_json::Value = serde_json::from_str(&text).ok()?;
            value.as_object_mut()?.remove("provenance");
            Some(value)
        };
        let earlier = fs::read_to_string(self.root.join(RESULTS)).ok().and_then(told);
        if earlier.is_none() || earlier == serde_json::to_string(results).ok().and_then(told) {
            return Ok(());
        }
        let failed = |path: &Path, source| StudyError::file("cannot remove", path, source);
        let tables = self.root.join(EXPORTED);
        if tables.is_dir() {
            fs::remove_dir_all(&tables).map_err(|source| failed(&tables, source))?;
        }
        let stored = fs::read_dir(self.root.join("posterior")).into_iter().flatten().filter_map(Result::ok);
        for path in stored.map(|entry| entry.path()).filter(|path| !posteriors.contains(path)) {
            fs::remove_file(&path).map_err(|source| failed(&path, source))?;
        }
        Ok(())
    }

    fn write_json(&self, path: &Path, value: &impl Serialize) -> Result<(), StudyError> {
        let mut text = serde_json::to_vec_pretty(value)
            .map_err(|error| StudyError::file("cannot write", path, std::io::Error::other(error)))?;
        text.push(b'\n');
        write_whole(path, &text).map_err(|source| StudyError::file("cannot write", path, source))
    }
}

/// What to say of a directory whose run was stopped before its end; none if it is not such a directory.
pub fn unfinished(root: &Path) -> Option<StudyError> {
    if root.join(RESULTS).exists() || !root.join(STATE).is_dir() {
        return None;
    }
    let kept = fs::read_dir(root.join(STATE)).ok()?.filter_map(Result::ok);
    let kept = kept.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "json")).count();
    let pieces = if kept == 1 { "1 piece of work is".to_owned() } else { format!("{kept} pieces of work are") };
    let fault = Fault {
        code: "S013",
        place: root.display().to_string(),
        message: format!("this run is not finished: {pieces} done, and results are written when all are"),
        hint: format!("simulate the study again into {}: it goes on where it stopped", root.display()),
    };
    Some(fault.into())
}

/// The study whose results are in a directory; none if there are none.
fn finished_study(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join(RESULTS)).ok()?;
    let results: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(results.get("study")?.as_str()?.to_owned())
}

/// Writes beside the file, waits for the disk, then renames.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension(format!("{}.unfinished", std::process::id()));
    let written = fs::File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

/// A name for a file: letters and digits of the method's name, and a digest, since two names may have the same.
pub fn file_name(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let digest = Sha256::digest(name);
    let tail: String = hexadecimal(&digest).chars().take(6).collect();
    format!("{}-{tail}", plain.chars().take(40).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_into_one_folder_lock_each_other_out_by_name() {
        let folder = std::env::temp_dir().join(format!("posterity-two-runs-{}", std::process::id()));
        let open = |name: &str| Store::open(&folder, "study", "text", name);
        let first = open("rows").unwrap();
        let second = open("rows").unwrap_err();
        assert_eq!(second.code(), "S020");
        let told = second.to_string();
        assert!(told.contains(&folder.display().to_string()), "{told}");
        assert!(told.contains(&format!("process {}", std::process::id())), "{told}");
        assert!(second.hint().contains("another directory"), "{}", second.hint());
        drop(first);
        open("rows").unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn finished_work_is_found_by_what_it_computes_and_by_nothing_else() {
        let same = key(REVISION, "study", "rows");
        assert_eq!(same, key(REVISION, "study", "rows"));
        for other in
            [key(REVISION + 1, "study", "rows"), key(REVISION, "studies", "rows"), key(REVISION, "study", "row")]
        {
            assert_ne!(same, other);
        }
        assert_ne!(key(1, "ab", "c"), key(1, "a", "bc"), "where a text ends is part of it");
    }

    #[test]
    fn a_full_disk_has_a_code_and_a_hint_of_its_own() {
        let full =
            |kind: std::io::ErrorKind| StudyError::file("cannot write", Path::new("out/results.json"), kind.into());
        for kind in [std::io::ErrorKind::StorageFull, std::io::ErrorKind::QuotaExceeded] {
            let failure = full(kind);
            assert_eq!(failure.code(), "C004", "{failure}");
            assert!(failure.to_string().contains("out/results.json") && failure.hint().starts_with("make room"));
        }
        assert_eq!(full(std::io::ErrorKind::Other).code(), "C003");
    }
}
