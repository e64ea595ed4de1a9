//! Why a log is refused, or could not be written.

use super::DiskError;

/// Why a log is refused, or could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The disk failed. Whether the record is on it is unknown.
    #[error("the ledger cannot be used: {0}")]
    Disk(#[from] DiskError),
    /// A record is damaged, and it is not a last one that a crash tore.
    #[error("record {record} of the ledger is damaged: {what}")]
    Damaged {
        /// Its number, from 1; 0 is the file's header.
        record: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Another version of the program wrote the ledger.
    #[error("the ledger has version {found}, expected {expected}")]
    Version {
        /// The version of the ledger.
        found: u32,
        /// The version that this program reads.
        expected: u32,
    },
    /// An earlier append failed, and what is on the disk is unknown.
    #[error("an earlier record could not be written; open the ledger again")]
    Unwritten,
    /// The log was opened to be looked at.
    #[error("the ledger was opened for reading and cannot be written")]
    Viewed,
    /// A record is larger than a log takes. Nothing was written.
    #[error("a record has {found} bytes, but the ledger takes at most {most}")]
    TooLarge {
        /// Bytes of its content.
        found: usize,
        /// Bytes that it may have.
        most: usize,
    },
    /// The records of a run's own account do not follow each other, or exceed the grant.
    #[error("the charges of a run are inconsistent: {why}")]
    Ledger {
        /// Which record is inconsistent, and how.
        why: String,
    },
    /// What a site remembers in a run is damaged, or does not fit the log.
    #[error("this site's memory of run {run} cannot be used: {what}")]
    Memory {
        /// The run, in hexadecimal digits.
        run: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The log is another site's.
    #[error("the ledger belongs to site {found}, but this is site {expected}")]
    OtherSite {
        /// Whose it is.
        found: String,
        /// Whose it should be.
        expected: String,
    },
    /// A run was closed on record, and is charged again.
    #[error("run {run} is closed on record, so that it cannot be charged")]
    ClosedRun {
        /// The run, in hexadecimal digits.
        run: String,
    },
    /// All runs together would exceed what the site promises. Nothing was written.
    #[error("all runs at this site together would count as {counts}, but its policy allows {cap}")]
    Lifetime {
        /// What they count as, in words.
        counts: String,
        /// The cap.
        cap: String,
    },
    /// A run has no such site.
    #[error("the run has no site {site}")]
    NoSuchSite {
        /// The number of the site in the manifest.
        site: usize,
    },
}

/// What to do where the lifetime budget of a site has no room for a run.
pub(crate) const LIFETIME_HINT: &str = "ask for a study with a smaller ε or more noise, wait until an open run ends or leave one \
     (`posterity agent withdraw`), or raise max_epsilon if the site can justify it to the people in its rows";

impl LogError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Disk(error) if error.is_full() => {
                "make room on the disk that holds this home, then start again. No written record is lost, and this site sent nothing \
                 without a charge"
            }
            Self::Disk(_) => "repair the disk, or make room on it, then start again; no written record is lost",
            Self::Damaged { .. } => {
                "do not change the file, and find the newest intact copy. Without one, this site cannot continue its runs, because \
                 what it has spent is unknown"
            }
            Self::Version { .. } => "use the version of posterity that wrote it, or a later one",
            Self::Unwritten => "start again; the agent reads its records from the disk",
            Self::Viewed => "stop the agent that uses the ledger, then open it for writing",
            Self::TooLarge { .. } => "use smaller answers: fewer parameters in one block",
            Self::Ledger { .. } => {
                "do not change the file, and report this as a bug: a program wrote inconsistent charges"
            }
            Self::Memory { .. } => "restore the whole ledger folder from its newest copy, never a single file",
            Self::OtherSite { .. } => "put this site's own ledger back: it records what the site has spent",
            Self::ClosedRun { .. } => "report this as a bug: a program asked a closed run for another answer",
            Self::Lifetime { .. } => LIFETIME_HINT,
            Self::NoSuchSite { .. } => "ask the server's operator which manifest names this site",
        }
    }
}
