//! Files that only their owner may read, and writes that happen whole or not at all.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Larger than any file of an identity.
const MOST: u64 = 1 << 20;

/// Why a file of an identity could not be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Failed {
        /// The operation, a verb after "cannot".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others than the owner may use what must be secret.
    #[error("other users can access {}, expected mode {expected:o}", path.display())]
    Exposed {
        /// Which file or folder.
        path: PathBuf,
        /// The mode that it should have.
        expected: u32,
    },
}

impl FileError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Failed { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                "existing files are never overwritten: choose a new folder".into()
            }
            Self::Failed { .. } => "check that the path exists and that you have permission to use it".into(),
            Self::Exposed { path, expected: 0o700 } => {
                format!("run `chmod 700 {}`, or choose a new folder", path.display())
            }
            Self::Exposed { path, expected } => {
                format!("run `chmod {expected:o} {}`; if others may have read it, create a new key", path.display())
            }
        }
    }

    /// Whether it failed because there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Failed { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Its owner alone.
    Owner,
    /// Everybody.
    All,
}

impl Readers {
    #[cfg(unix)]
    fn mode(self) -> u32 {
        match self {
            Self::Owner => 0o600,
            Self::All => 0o644,
        }
    }
}

/// A folder for its owner alone, made if it is not there.
pub(crate) fn private_folder(path: &Path) -> Result<(), FileError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(failed("make", path))?;
    let metadata = fs::metadata(path).map_err(failed("look at", path))?;
    closed(path, &metadata, 0o700)
}

/// Writes a file that is not there yet, durably.
pub(super) fn write_new(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), FileError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, readers.mode());
    #[cfg(not(unix))]
    let _ = readers;
    let mut file = options.open(path).map_err(failed("write", path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed("write", path))?;
    sync_folder(path)
}

/// Puts a file in the place of another, durably: after a crash it is the old one or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8], readers: Readers) -> Result<(), FileError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let draft = path.with_file_name(name);
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("write", &draft)(error)),
        _ => write_new(&draft, bytes, readers)?,
    }
    fs::rename(&draft, path).map_err(failed("write", path))?;
    sync_folder(path)
}

/// Whether there is such a file; an error if that cannot be seen.
pub(crate) fn is_there(path: &Path) -> Result<bool, FileError> {
    path.try_exists().map_err(failed("look at", path))
}

/// Removes a file, if there is one.
pub(crate) fn remove(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Reads a secret, and refuses one that others can read too.
pub(crate) fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let file = File::open(path).map_err(failed("read", path))?;
    let metadata = file.metadata().map_err(failed("read", path))?;
    closed(path, &metadata, 0o600)?;
    content(file, &metadata, path)
}

/// Reads what everybody may read.
pub(super) fn read_public(path: &Path) -> Result<String, FileError> {
    let file = File::open(path).map_err(failed("read", path))?;
    let metadata = file.metadata().map_err(failed("read", path))?;
    let bytes = content(file, &metadata, path)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| failed("read", path)(io::ErrorKind::InvalidData.into()))
}

/// The bytes of a file, in one allocation, so that no copy of a secret is left behind.
fn content(file: File, metadata: &Metadata, path: &Path) -> Result<Zeroizing<Vec<u8>>, FileError> {
    let length = metadata.len().min(MOST);
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(length).unwrap_or_default()));
    file.take(length).read_to_end(&mut bytes).map_err(failed("read", path))?;
    Ok(bytes)
}

/// Renames and new files last only when their folder is synced.
fn sync_folder(path: &Path) -> Result<(), FileError> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("sync", folder))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError::Failed { action, path, source }
}

/// Refuses what the group or others can use in any way.
#[cfg(unix)]
fn closed(path: &Path, metadata: &Metadata, expected: u32) -> Result<(), FileError> {
    use std::os::unix::fs::PermissionsExt as _;
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(FileError::Exposed { path: path.to_owned(), expected })
}

/// Without modes there is no way to tell who can read a file.
#[cfg(not(unix))]
fn closed(path: &Path, _: &Metadata, expected: u32) -> Result<(), FileError> {
    Err(FileError::Exposed { path: path.to_owned(), expected })
}
