//! What a node must have kept before it speaks: after a restart it says the same again, or nothing.

use super::{Session, Words};
use crate::noise::Digest;
use serde::{Deserialize, Serialize};

/// A node's part of the total, with the digest of the set that it is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partial {
    /// The node.
    pub node: u32,
    /// Digest of session, set and holdings, equal at all nodes.
    pub digest: Digest,
    /// n: how many clients are in the set.
    pub contributors: u64,
    /// Shares of these clients, and the node's noise, modulo 2^64.
    pub words: Words,
}

/// How far a node has come in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    /// It has drawn its noise and takes contributions; these are not kept, so a restart here ends the attempt.
    Started,
    /// It has confirmed a set; its partial sum is fixed, and goes out when all nodes have confirmed the same.
    Prepared(Partial),
    /// All nodes have confirmed the set: the partial sum is public.
    Published(Partial),
}

/// The last thing that a node has kept of a run. A driver has one for each run and node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The session.
    pub session: Session,
    /// The node.
    pub node: u32,
    /// How far it has come.
    pub progress: Progress,
}
