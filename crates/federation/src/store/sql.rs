//! The few words in which statements speak to either database: values, rows, and one transaction at a time.

use super::StoreError;
use serde::{Serialize, de::DeserializeOwned};

/// A value for a placeholder of a statement, `?1`, `?2` and so on.
#[derive(Debug, Clone, Copy)]
pub(super) enum SqlValue<'a> {
    /// A number, or nothing.
    Number(Option<i64>),
    /// Bytes, or nothing.
    Bytes(Option<&'a [u8]>),
    /// A UTF-8 text.
    Text(&'a str),
}

/// A value of a row.
#[derive(Debug, Clone)]
pub(super) enum SqlCell {
    /// A number.
    Number(i64),
    /// A byte string.
    Bytes(Vec<u8>),
    /// A UTF-8 text.
    Text(String),
    /// SQL's NULL.
    Nothing,
}

/// A row, read from the left to the right.
#[derive(Debug)]
pub(super) struct SqlRow(std::vec::IntoIter<SqlCell>);

/// An open transaction.
pub(super) trait SqlSession {
    /// Runs a statement, and gives the number of rows that it has changed.
    fn run(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<u64, StoreError>;
    /// The rows of a query.
    fn rows(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<Vec<SqlRow>, StoreError>;
}

/// A database that understands the statements. A body that returns an error leaves no trace.
pub(super) trait Database: Send + Sync {
    /// One consistent view.
    fn read<T>(&self, body: impl FnOnce(&mut dyn SqlSession) -> Result<T, StoreError>) -> Result<T, StoreError>;
    /// All or nothing, and durable when it returns.
    fn write<T>(&self, body: impl FnOnce(&mut dyn SqlSession) -> Result<T, StoreError>) -> Result<T, StoreError>;
}

impl<'a> SqlValue<'a> {
    /// A number; one that the database has no room for is refused.
    pub(super) fn number(number: u64) -> Result<Self, StoreError> {
        let signed = i64::try_from(number)
            .map_err(|_| StoreError::Failed { why: format!("a number is {number}, expected less than 2^63") })?;
        Ok(Self::Number(Some(signed)))
    }

    /// The number of a site.
    pub(super) fn place(site: usize) -> Result<Self, StoreError> {
        Self::number(site as u64)
    }

    /// A byte string as a value.
    pub(super) fn bytes(bytes: &'a [u8]) -> Self {
        Self::Bytes(Some(bytes))
    }
}

impl SqlRow {
    /// A row of these values.
    pub(super) fn new(cells: Vec<SqlCell>) -> Self {
        Self(cells.into_iter())
    }

    /// The next value, a number.
    pub(super) fn number(&mut self) -> Result<u64, StoreError> {
        self.optional_number()?.ok_or_else(|| unexpected("a number"))
    }

    /// The next value, a number or nothing.
    pub(super) fn optional_number(&mut self) -> Result<Option<u64>, StoreError> {
        match self.0.next() {
            Some(SqlCell::Number(signed)) => {
                Ok(Some(u64::try_from(signed).map_err(|_| unexpected("a number from 0"))?))
            }
            Some(SqlCell::Nothing) => Ok(None),
            _ => Err(unexpected("a number")),
        }
    }

    /// The next value, the number of a site.
    pub(super) fn place(&mut self) -> Result<usize, StoreError> {
        usize::try_from(self.number()?).map_err(|_| unexpected("the number of a site"))
    }

    /// The next value, bytes.
    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        match self.0.next() {
            Some(SqlCell::Bytes(bytes)) => Ok(bytes),
            _ => Err(unexpected("bytes")),
        }
    }

    /// The next value, so many bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        self.optional_array()?.ok_or_else(|| unexpected("bytes"))
    }

    /// The next value, so many bytes or nothing.
    pub(super) fn optional_array<const N: usize>(&mut self) -> Result<Option<[u8; N]>, StoreError> {
        match self.0.next() {
            Some(SqlCell::Bytes(bytes)) => {
                let found = bytes.len();
                let fits = bytes.try_into();
                Ok(Some(fits.map_err(|_| unreadable(format!("found {found} bytes, expected {N}")))?))
            }
            Some(SqlCell::Nothing) => Ok(None),
            _ => Err(unexpected("bytes")),
        }
    }

    /// The next value, a text.
    pub(super) fn text(&mut self) -> Result<String, StoreError> {
        match self.0.next() {
            Some(SqlCell::Text(text)) => Ok(text),
            _ => Err(unexpected("a text")),
        }
    }

    /// The next value, in canonical bytes.
    pub(super) fn decoded<T: DeserializeOwned>(&mut self) -> Result<T, StoreError> {
        match postcard::take_from_bytes(&self.bytes()?) {
            Ok((value, [])) => Ok(value),
            Ok((_, rest)) => Err(unreadable(format!("{} bytes are left over, expected none", rest.len()))),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }
}

/// The canonical bytes of a value.
pub(super) fn encoded<T: Serialize>(value: &T) -> Result<Vec<u8>, StoreError> {
    postcard::to_allocvec(value).map_err(|error| uncanonical(&error))
}

/// What is to be kept cannot be written down.
pub(super) fn uncanonical(error: &postcard::Error) -> StoreError {
    StoreError::Failed { why: format!("a value has no canonical bytes: {error}") }
}

/// What was kept is not what it should be.
pub(super) fn unreadable(why: String) -> StoreError {
    StoreError::Unreadable { why }
}

fn unexpected(expected: &str) -> StoreError {
    unreadable(format!("a column has another type, expected {expected}"))
}
