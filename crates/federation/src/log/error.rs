//! Why a log is refused, or could not be written.

use super::DiskError;

/// Why a log is refused, or could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The disk failed. Whether the record is on it is unknown.
    #[error("the ledger cannot be kept: {0}")]
    Disk(#[from] DiskError),
    /// A record is damaged, and it is not a last one that a crash tore.
    #[error("record {record} of the ledger is damaged: {what}")]
    Damaged {
        /// Its number, from 1; 0 is the file's header.
        record: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Of another version.
    #[error("the ledger is of version {found}, expected {expected}")]
    Version {
        /// Which.
        found: u32,
        /// Which is read.
        expected: u32,
    },
    /// An earlier append failed, and what is on the disk is unknown.
    #[error("an earlier record could not be kept; open the ledger again")]
    Unwritten,
    /// The log was opened to be looked at.
    #[error("the ledger was opened to be read, and cannot be written")]
    Viewed,
    /// A record is larger than a log takes. Nothing was written.
    #[error("a record of {found} bytes is too large for the ledger, which takes {most}")]
    TooLarge {
        /// Bytes of its content.
        found: usize,
        /// Bytes that it may have.
        most: usize,
    },
    /// The records of a run's own account do not follow each other, or exceed the grant.
    #[error("the charges of a run do not add up: {why}")]
    Ledger {
        /// What was found.
        why: String,
    },
    /// What a site remembers in a run is damaged, or does not fit the log.
    #[error("what this site remembers of run {run} cannot be used: {what}")]
    Memory {
        /// The run, in hexadecimal digits.
        run: String,
        /// What is wrong.
        what: &'static str,
    },
    /// The log is another site's.
    #[error("the ledger is that of {found}, and this is {expected}")]
    OtherSite {
        /// Whose it is.
        found: String,
        /// Whose it should be.
        expected: String,
    },
    /// A run has no such site.
    #[error("the run has no site {site}")]
    NoSuchSite {
        /// The number.
        site: usize,
    },
}

impl LogError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Disk(error) if error.is_full() => {
                "make room on the disk that holds this home, then start again: nothing that was kept is lost, and nothing left \
                 this site without its charge"
            }
            Self::Disk(_) => "mend the disk, or make room on it, and start again: nothing that was kept is lost",
            Self::Damaged { .. } => {
                "keep the file as it is, and find the newest good copy; without one, this site takes no more part in its \
                 runs, because what it has spent is unknown"
            }
            Self::Version { .. } => "use the version of posterity that wrote it, or a later one",
            Self::Unwritten => "start again: what was kept is read from the disk",
            Self::Viewed => "stop the agent that has it, and open it in its place",
            Self::TooLarge { .. } => "send smaller answers: fewer parameters in one block",
            Self::Ledger { .. } => "keep the file as it is and report this: a program wrote charges that do not fit",
            Self::Memory { .. } => "restore the whole folder of the ledger from its newest copy, never one file alone",
            Self::OtherSite { .. } => "put the ledger of this site back: what it has spent stands there",
            Self::NoSuchSite { .. } => "ask the server's operator which manifest names this site",
        }
    }
}
