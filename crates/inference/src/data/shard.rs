//! One site's rows.

use crate::method::Method;
use crate::{DataError, Encoded, RowKeys, Rows};
use std::fmt;

/// The rows of one site, which solvers read and nothing else does.
///
/// Its `Debug` shows no value, and there is no way from here to a message: numbers leave through a gate.
pub struct Shard {
    rows: Rows,
    keys: RowKeys,
}

impl Shard {
    /// A site with these rows and their keys. None is a number of rows like any other: under add-remove a site of one
    /// row and its neighbour without it must not be told apart by an error.
    pub fn new(rows: Rows, keys: RowKeys) -> Result<Self, DataError> {
        if !keys.fit(rows.len()) {
            return Err(DataError::Width { found: format!("{} slots for {} rows", keys.slots().len(), rows.len()) });
        }
        Ok(Self { rows, keys })
    }

    /// All rows of a site's own table, as this method reads them: with an input of the site's own, where it has an intercept
    /// of each site's own.
    pub fn of(table: Encoded, method: &Method) -> Result<Self, DataError> {
        let shard = Self::new(table.rows, table.keys)?;
        Ok(if method.own_parameters() > 0 { shard.with_a_one() } else { shard })
    }

    /// The same rows with one more input that is 1 in all of them.
    pub(crate) fn with_a_one(&self) -> Self {
        Self { rows: self.rows.with_a_one(), keys: self.keys.clone() }
    }

    /// The rows, for models and solvers.
    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// What tells the rows apart.
    pub(crate) fn keys(&self) -> &RowKeys {
        &self.keys
    }

    /// n: public under substitution. Under add-remove nothing that leaves may depend on it.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no rows: as private as their number.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shard({} inputs)", self.rows.width())
    }
}
