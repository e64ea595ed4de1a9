//! Where a log's bytes are kept: a folder, or a simulated disk that forgets, tears and fails.

use std::fmt::Display;
use std::io;

/// Why bytes could not be kept or read. Never retried: whoever gets one starts again from what the disk holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct DiskError {
    /// The operation that failed.
    pub what: &'static str,
    /// Why it failed.
    pub why: String,
}

impl DiskError {
    /// What is tried in vain while another process has the folder.
    pub const IN_USE: &'static str = "the ledger's folder is in use";

    /// What is wrong where no room is left: somebody can make some, and nothing else is broken.
    pub const FULL: &'static str = "the disk is full";

    /// What the system said of something that was tried.
    pub fn of(what: &'static str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::full(what, error),
            _ => Self { what, why: error.to_string() },
        }
    }

    /// No room is left for what was tried.
    pub(super) fn full(what: &'static str, why: impl Display) -> Self {
        Self { what: Self::FULL, why: format!("{what} ({why})") }
    }

    /// Whether all it needs is room.
    pub fn is_full(&self) -> bool {
        self.what == Self::FULL
    }
}

/// A folder of a few files. Nothing is durable before [`Disk::sync`] or [`Disk::replace`] has returned.
pub trait Disk {
    /// The whole content; none if there is no such file.
    fn read(&self, file: &str) -> Result<Option<Vec<u8>>, DiskError>;
    /// Bytes at the end of a file, which is made if need be. May be lost or torn until it is synced.
    fn append(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError>;
    /// What was appended is durable, and so is the file's existence.
    fn sync(&mut self, file: &str) -> Result<(), DiskError>;
    /// The file ends here; durable.
    fn truncate(&mut self, file: &str, length: u64) -> Result<(), DiskError>;
    /// The file has this content, all of it or the one before; durable.
    fn replace(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError>;
}

/// A disk whose files can be listed.
pub trait ListedDisk: Disk {
    /// The names of all files.
    fn names(&self) -> Result<Vec<String>, DiskError>;
}
