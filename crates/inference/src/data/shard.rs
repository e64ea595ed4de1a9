//! One site's rows.

use crate::data::units::Persons;
use crate::method::Method;
use crate::{DataError, Encoded, RowKeys, Rows};
use privacy::{PrivacyError, Unit};
use std::fmt;

/// The rows of one site, which solvers read and nothing else does.
///
/// Its `Debug` shows no value, and there is no way from here to a message: numbers leave through a gate.
pub struct Shard {
    rows: Rows,
    keys: RowKeys,
    /// The rows by person, where it is known whose they are.
    persons: Option<Persons>,
}

impl Shard {
    /// A site with these rows and their keys. None is a number of rows like any other: under add-remove a site of one
    /// row and its neighbour without it must not be told apart by an error.
    pub fn new(rows: Rows, keys: RowKeys) -> Result<Self, DataError> {
        if !keys.fit(rows.len()) {
            return Err(DataError::Width { found: format!("{} slots for {} rows", keys.slots().len(), rows.len()) });
        }
        let persons = keys.persons().map(Persons::of);
        Ok(Self { rows, keys, persons })
    }

    /// All rows of a site's own table, as this method reads them: with an input of the site's own, where it has an intercept
    /// of each site's own.
    pub fn of(table: Encoded, method: &Method) -> Result<Self, DataError> {
        let shard = Self::new(table.rows, table.keys)?;
        Ok(if method.own_parameters() > 0 { shard.with_a_one() } else { shard })
    }

    /// The same rows with one more input that is 1 in all of them.
    pub(crate) fn with_a_one(&self) -> Self {
        Self { rows: self.rows.with_a_one(), keys: self.keys.clone(), persons: self.persons.clone() }
    }

    /// The rows, for models and solvers.
    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// What tells the rows apart.
    pub(crate) fn keys(&self) -> &RowKeys {
        &self.keys
    }

    /// The rows by person, which a promise to persons cannot do without.
    pub(crate) fn persons(&self) -> Result<&Persons, PrivacyError> {
        self.keys.known_persons()?;
        self.persons.as_ref().ok_or(PrivacyError::Shape {
            found: "rows that are not sorted by person".into(),
            expected: "a site whose rows say whose they are".into(),
        })
    }

    /// How many persons have rows here, where it is known whose these are: public where persons are substituted.
    pub fn person_count(&self) -> Option<usize> {
        self.persons.as_ref().map(Persons::len)
    }

    /// What rates, δ, weights and declared numbers go by under a promise to this unit: persons, or rows.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::NoTheorem`] if persons are the unit and the rows do not say whose they are.
    pub fn count(&self, unit: Unit) -> Result<usize, PrivacyError> {
        match unit {
            Unit::Person => Ok(self.persons()?.len()),
            Unit::Example | Unit::Client => Ok(self.len()),
        }
    }

    /// The number of rows: n, public under substitution of rows. Under add-remove, and where persons are the unit,
    /// nothing that leaves may depend on it.
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
