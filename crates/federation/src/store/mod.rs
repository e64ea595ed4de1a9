//! What a server keeps: runs with their answers, and who was invited, enrolled and revoked. One trait, two databases.

mod memory;
mod open;
mod parties;
mod postgres;
mod runs;
mod schema;
mod sql;
mod sqlite;

pub use self::postgres::PostgresStore;
pub use memory::{CommitFailure, MemoryStore};
pub use open::{open, serve};
pub use sqlite::SqliteStore;

use crate::coordinator::{AcceptedAnswer, Change, Fold, Header, SavedRun};
use crate::identity::{PartyName, PartyRole, PublicKey};
use crate::log::{Position, RunId};
use privacy::noise::Digest;

/// Why something could not be kept or found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Somebody else has committed in between: load again, and try again. Nothing was kept.
    #[error("the stored run is at version {found}, expected {expected}")]
    Stale {
        /// Its version now.
        found: u64,
        /// The version that the commit was for.
        expected: u64,
    },
    /// No such run.
    #[error("the store has no such run")]
    NoRun,
    /// A run of this name is there.
    #[error("the store already has this run")]
    Exists,
    /// The database failed. Whether the commit was kept is unknown: load again.
    #[error("the store failed: {why}")]
    Failed {
        /// The database's own message, without values.
        why: String,
    },
    /// Kept by another version of the program, or damaged.
    #[error("the store cannot be read: {why}")]
    Unreadable {
        /// What is damaged, or which version wrote it.
        why: String,
    },
    /// Nothing was ever kept there.
    #[error("there is no store in {place}")]
    Missing {
        /// Where it was looked for.
        place: String,
    },
    /// The text names neither a file nor a database that is known here.
    #[error("the store {place:?} cannot be used: {why}")]
    Place {
        /// What was given, without anything secret.
        place: String,
        /// What does not fit.
        why: String,
    },
    /// Another process has this store.
    #[error("{why}")]
    Locked {
        /// Who, as far as is known.
        why: String,
    },
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } => {
                "give the store of a server, which creates it (default: server.sqlite in its home folder)"
            }
            Self::Place { .. } => {
                "give the path of a file, or postgres://USER@localhost/DATABASE through a unix socket or a tunnel that ends on this machine"
            }
            Self::Locked { .. } => "stop that server first, or choose another file",
            Self::Unreadable { .. } => "use the version of posterity that wrote it, or restore it from a backup",
            Self::Stale { .. } => "try again",
            Self::NoRun | Self::Exists => "check the name of the run",
            Self::Failed { .. } => "check the disk or the database and your permissions, then start again",
        }
    }
}

/// A run, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// The manifest, in canonical bytes.
    pub manifest: Vec<u8>,
    /// When it was made, in seconds since 1970.
    pub created: u64,
}

/// What was accepted and folded, in order: the state can be made again from it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// Answers, in the order in which they were accepted.
    pub accepted: Vec<AcceptedAnswer>,
    /// Folds, by their numbers.
    pub folds: Vec<Fold>,
}

/// An invitation to become a party.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InviteRow {
    /// SHA-256 of the secret; the secret itself is kept nowhere.
    pub secret: Digest,
    /// The role of the invited party.
    pub role: PartyRole,
    /// The name of the invited party.
    pub name: PartyName,
    /// Until when it is good, in seconds since 1970.
    pub expires: u64,
}

/// What came of an attempt to use an invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redemption {
    /// It is good, for this request and no other from now on; the same request may come again.
    Good(InviteRow),
    /// There is none with this secret.
    Unknown,
    /// Its time is over.
    Expired,
    /// It was used for another request.
    Used,
}

/// A party that has a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartyRow {
    /// The role in its certificate.
    pub role: PartyRole,
    /// The name in its certificate.
    pub name: PartyName,
    /// The key in its certificate.
    pub key: PublicKey,
    /// A node's key for shares.
    pub sealing: Option<[u8; 32]>,
    /// When its certificate ends, in seconds since 1970.
    pub expires: u64,
    /// When it was revoked, in seconds since 1970.
    pub revoked: Option<u64>,
}

/// A server's database. Every call is one transaction; when one returns without an error, what it wrote is durable.
///
/// Any number of servers may share a store. The version of a run is their fence: a commit is for the version that its
/// server has loaded, and is refused if another was kept in between.
pub trait ServerStore: Send + Sync {
    /// Keeps a new run, at version `saved.version`.
    fn create(&self, row: &RunRow, saved: &SavedRun) -> Result<(), StoreError>;
    /// All runs, newest first.
    fn runs(&self) -> Result<Vec<RunRow>, StoreError>;
    /// The version of a run.
    fn version(&self, run: &RunId) -> Result<u64, StoreError>;
    /// A run as it was kept last: one consistent view.
    fn load(&self, run: &RunId) -> Result<SavedRun, StoreError>;
    /// Keeps a change and the header after it, all or nothing, and gives the new version.
    fn commit(&self, run: &RunId, version: u64, header: &Header, change: &Change) -> Result<u64, StoreError>;
    /// What was accepted and folded.
    fn history(&self, run: &RunId) -> Result<History, StoreError>;
    /// The last place of a party's log that was seen in any run.
    fn head(&self, key: &PublicKey) -> Result<Option<Position>, StoreError>;
    /// Keeps an invitation.
    fn invite(&self, invite: &InviteRow) -> Result<(), StoreError>;
    /// Uses an invitation for a request, at this time.
    fn redeem(&self, secret: &Digest, request: &Digest, now: u64) -> Result<Redemption, StoreError>;
    /// Keeps a party in the place of one of the same role and name. One that was revoked stays revoked under its old key.
    fn enrol(&self, party: &PartyRow) -> Result<(), StoreError>;
    /// All parties, by role and name.
    fn parties(&self) -> Result<Vec<PartyRow>, StoreError>;
    /// Revokes a party; false if there is none, or it was revoked before.
    fn revoke(&self, role: PartyRole, name: &PartyName, now: u64) -> Result<bool, StoreError>;
}
