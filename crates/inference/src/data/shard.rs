//! One site's rows.

use crate::{DataError, Rows};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The rows of one site, which solvers read and nothing else does.
///
/// Its `Debug` shows no value, and there is no way from here to a message: numbers leave through a gate.
pub struct Shard {
    rows: Rows,
    ids: Vec<u64>,
}

impl Shard {
    /// A site with these rows: at least one. Each has an id: its slot, or its record's number.
    ///
    /// A replaced row keeps its id (substitution), and rows keep theirs when another comes or goes (add-remove).
    pub fn new(rows: Rows, ids: Vec<u64>) -> Result<Self, DataError> {
        if rows.is_empty() {
            return Err(DataError::EmptyClient);
        }
        if rows.len() != ids.len() {
            return Err(DataError::Width { found: format!("{} ids for {} rows", ids.len(), rows.len()) });
        }
        Ok(Self { rows, ids })
    }

    /// The rows, for models and solvers.
    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// n: public under substitution. Under add-remove nothing that leaves may depend on it.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Never true: a site has rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows of part k of K, for every k.
    ///
    /// A part is a keyed function of a row's id alone, never of its position, its content or n: a neighbouring data set
    /// differs in one part only.
    pub(crate) fn parts(&self, count: usize, key: u64) -> Vec<Vec<usize>> {
        let mut parts = vec![Vec::new(); count.max(1)];
        for (row, &id) in self.ids.iter().enumerate() {
            parts[part_of(id, key, count.max(1))].push(row);
        }
        parts
    }
}

/// The part of an id: SHA-256 of key and id, reduced. The bias of the reduction is under 2^-40 for any real K.
fn part_of(id: u64, key: u64, count: usize) -> usize {
    let digest = Sha256::new().chain_update(key.to_le_bytes()).chain_update(id.to_le_bytes()).finalize();
    let word = digest.iter().take(8).fold(0_u64, |w, b| w << 8 | u64::from(*b));
    (word % count as u64) as usize
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shard({} inputs)", self.rows.width())
    }
}
