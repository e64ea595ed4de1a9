//! Where a log's bytes are kept: a folder, or a simulated disk that forgets, tears and fails.

/// Why bytes could not be kept or read. Never retried: whoever gets one starts again from what the disk holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct DiskError {
    /// What was tried.
    pub what: &'static str,
    /// Why it failed.
    pub why: String,
}

impl DiskError {
    /// What is tried in vain while another process has the folder.
    pub const IN_USE: &'static str = "the ledger's folder is in use";
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
