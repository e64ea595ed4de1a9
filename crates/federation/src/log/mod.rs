//! A site's log: every charge, every answer and what became of it, linked by digests, durable before anything leaves.

mod accept;
mod account;
mod chain;
mod disk;
mod entry;
mod error;
mod folder;
mod frame;
mod journal;
mod record;
mod simulated;
mod snapshot;

pub use accept::NewRun;
pub(crate) use accept::counted;
pub use account::{Account, RunAccount, RunStanding};
pub use disk::{Disk, DiskError, ListedDisk};
pub use entry::{LogEntry, MemorySnapshot, Position, RunAttempt, RunId};
pub(crate) use error::LIFETIME_HINT;
pub use error::LogError;
pub use folder::{FolderDisk, FolderView};
pub(crate) use frame::Frame;
pub use journal::{FILE, Log, RunJournal};
pub use simulated::{FailureEffect, SimulatedDisk};
pub(crate) use snapshot::run_of;
