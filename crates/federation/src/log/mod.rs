//! A site's log: every charge, every answer and what became of it, linked by digests, durable before anything leaves.

mod disk;
mod entry;
mod journal;

pub use disk::{Disk, DiskError};
pub use entry::{Entry, Position, RunId, Turn, Vault};
pub use journal::{Log, LogError, RunJournal};
