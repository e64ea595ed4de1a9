//! The vectors that a node was sent, until the set of clients is fixed.
//!
//! A node cannot take a vector out of a total again. So it keeps them apart, and a client that has sent its vector and not all its seeds
//! is left out; else such a client could end every attempt.

use super::message::WordVector;
use super::{Assembly, ClientSet};
use std::collections::BTreeMap;

/// Most bytes of vectors that a node keeps apart.
const MOST_APART: u64 = 256 << 20;

/// The vectors that a node was sent.
pub(super) enum ReceivedVectors {
    /// Each by itself until the set is fixed: a client whose other shares are not at all nodes is left out, and nobody else is.
    Apart(BTreeMap<u64, WordVector>),
    /// In the total already, and known by a fingerprint: they are too many to be kept. A client of which a seed is missing then
    /// ends the attempt.
    Added(BTreeMap<u64, u64>),
}

impl ReceivedVectors {
    /// None yet, of a sum on these terms: all nodes keep them in the same way.
    pub(super) fn none(assembly: &Assembly) -> Self {
        let most = assembly.cohort().clients().div_ceil(u64::from(assembly.nodes()));
        let bytes = most.saturating_mul(8).saturating_mul(assembly.shape().dimension() as u64);
        if bytes <= MOST_APART { Self::Apart(BTreeMap::new()) } else { Self::added() }
    }

    /// None yet, and each is added as it comes.
    pub(super) fn added() -> Self {
        Self::Added(BTreeMap::new())
    }

    /// Whether this is the vector that came from the client.
    pub(super) fn knows(&self, client: u64, words: &WordVector) -> bool {
        match self {
            Self::Apart(vectors) => vectors.get(&client) == Some(words),
            Self::Added(fingerprints) => fingerprints.get(&client) == Some(&words.fingerprint()),
        }
    }

    /// Takes a client's vector, and adds it to the total unless it is kept apart.
    pub(super) fn take(&mut self, client: u64, words: WordVector, total: &mut WordVector) {
        match self {
            Self::Apart(vectors) => drop(vectors.insert(client, words)),
            Self::Added(fingerprints) => {
                fingerprints.insert(client, words.fingerprint());
                total.add(&words);
            }
        }
    }

    /// Adds the vectors of a set that are not in the total yet. All are wiped.
    pub(super) fn settle(&mut self, set: &ClientSet, total: &mut WordVector) {
        if let Self::Apart(vectors) = self {
            let taken = std::mem::take(vectors).into_iter().filter(|(client, _)| set.contains(*client));
            taken.for_each(|(_, words)| total.add(&words));
        }
    }

    /// Forgets all of them.
    pub(super) fn wipe(&mut self) {
        *self = Self::added();
    }
}
