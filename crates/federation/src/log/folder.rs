//! A disk that is a folder: one process at a time, and durable means that the system has said so.

use super::{Disk, DiskError, ListedDisk};
use crate::failpoint;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file whose lock says that the folder is in use.
const LOCK: &str = "lock";

/// A folder that this process alone writes. The lock goes with it, also when the process is killed.
#[derive(Debug)]
pub struct FolderDisk {
    path: PathBuf,
    /// Files that were written, and whether their place in the folder is durable.
    files: BTreeMap<String, (File, bool)>,
    /// What failed first. After that nothing is tried: what the system has kept is unknown.
    failed: Option<DiskError>,
    /// Held, never read.
    _lock: File,
}

/// A folder that is read only, whoever else writes it.
#[derive(Debug, Clone)]
pub struct FolderView {
    path: PathBuf,
}

impl FolderDisk {
    /// Opens a folder, which is made if need be, for this process alone. Refused if others could read it, or if another
    /// process has it.
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        make(path).map_err(because("cannot create the ledger's folder"))?;
        private(path)?;
        let lock = options().open(path.join(LOCK)).map_err(because("cannot open the lock of the ledger's folder"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), files: BTreeMap::new(), failed: None, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(DiskError {
                what: DiskError::IN_USE,
                why: "another process of this site uses it; a site runs one agent".into(),
            }),
            Err(TryLockError::Error(error)) => Err(because("cannot lock the ledger's folder")(error)),
        }
    }

    /// Does it unless something has failed before; remembers if it fails.
    fn attempt(&mut self, what: &'static str, task: impl FnOnce(&mut Self) -> io::Result<()>) -> Result<(), DiskError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        task(self).map_err(because(what)).inspect_err(|error| self.failed = Some(error.clone()))
    }

    fn file(&mut self, file: &str) -> io::Result<&mut (File, bool)> {
        let path = place(&self.path, file)?;
        match self.files.entry(file.to_owned()) {
            std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::btree_map::Entry::Vacant(entry) => Ok(entry.insert((options().open(path)?, false))),
        }
    }

    fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

impl Disk for FolderDisk {
    fn read(&self, file: &str) -> Result<Option<Vec<u8>>, DiskError> {
        read(&self.path, file)
    }

    fn append(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError> {
        failpoint::pass("append");
        self.attempt("cannot write the ledger", |disk| disk.file(file)?.0.write_all(bytes))?;
        failpoint::pass("appended");
        Ok(())
    }

    fn sync(&mut self, file: &str) -> Result<(), DiskError> {
        failpoint::pass("sync");
        self.attempt("cannot make the ledger durable", |disk| {
            let (open, placed) = disk.file(file)?;
            open.sync_all()?;
            if !*placed {
                *placed = true;
                disk.sync_folder()?;
            }
            Ok(())
        })?;
        failpoint::pass("synced");
        Ok(())
    }

    fn truncate(&mut self, file: &str, length: u64) -> Result<(), DiskError> {
        self.attempt("cannot cut off the ledger's torn end", |disk| {
            let (open, _) = disk.file(file)?;
            open.set_len(length)?;
            open.sync_all()
        })
    }

    fn replace(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError> {
        self.attempt("cannot replace a file of the ledger", |disk| {
            let (path, beside) = (place(&disk.path, file)?, place(&disk.path, &format!("{file}.new"))?);
            disk.files.remove(file);
            let mut new = options().open(&beside)?;
            new.set_len(0)?;
            new.write_all(bytes)?;
            new.sync_all()?;
            failpoint::pass("replace");
            fs::rename(&beside, &path)?;
            failpoint::pass("replaced");
            disk.sync_folder()
        })
    }
}

impl FolderView {
    /// A folder that is there.
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        let there = fs::metadata(path).map_err(because("cannot read the ledger's folder"))?;
        if !there.is_dir() {
            return Err(DiskError { what: "cannot read the ledger's folder", why: "it is not a folder".into() });
        }
        Ok(Self { path: path.to_owned() })
    }
}

impl Disk for FolderView {
    fn read(&self, file: &str) -> Result<Option<Vec<u8>>, DiskError> {
        read(&self.path, file)
    }

    fn append(&mut self, _file: &str, _bytes: &[u8]) -> Result<(), DiskError> {
        Err(only_read())
    }

    fn sync(&mut self, _file: &str) -> Result<(), DiskError> {
        Err(only_read())
    }

    fn truncate(&mut self, _file: &str, _length: u64) -> Result<(), DiskError> {
        Err(only_read())
    }

    fn replace(&mut self, _file: &str, _bytes: &[u8]) -> Result<(), DiskError> {
        Err(only_read())
    }
}

impl ListedDisk for FolderDisk {
    fn names(&self) -> Result<Vec<String>, DiskError> {
        names(&self.path)
    }
}

impl ListedDisk for FolderView {
    fn names(&self) -> Result<Vec<String>, DiskError> {
        names(&self.path)
    }
}

fn names(folder: &Path) -> Result<Vec<String>, DiskError> {
    let list = || -> io::Result<Vec<String>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    list().map_err(because("cannot read the ledger's folder"))
}

fn only_read() -> DiskError {
    DiskError { what: "cannot write the ledger", why: "it was opened for reading".into() }
}

fn read(folder: &Path, file: &str) -> Result<Option<Vec<u8>>, DiskError> {
    let what = "cannot read the ledger";
    match fs::read(place(folder, file).map_err(because(what))?) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(because(what)(error)),
    }
}

/// A file of the folder itself, and of no other.
fn place(folder: &Path, file: &str) -> io::Result<PathBuf> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    if file.is_empty() || file.starts_with('.') || !file.chars().all(plain) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a file's name has letters, digits, '-' and '.'"));
    }
    Ok(folder.join(file))
}

fn because(what: &'static str) -> impl Fn(io::Error) -> DiskError {
    move |error| DiskError::of(what, &error)
}

/// Files are appended to, made if need be, and for their owner alone.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder for its owner alone, durably; one that is there stays as it is.
fn make(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)?;
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(unix)]
fn private(path: &Path) -> Result<(), DiskError> {
    use std::os::unix::fs::PermissionsExt;
    let what = "the ledger's folder is not private";
    let mode = fs::metadata(path).map_err(because(what))?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(DiskError { what, why: format!("its mode is {mode:03o}, expected 700 (`chmod 700 {}`)", path.display()) })
}

#[cfg(not(unix))]
fn private(_path: &Path) -> Result<(), DiskError> {
    Ok(())
}
