//! Which store a text means: an address of PostgreSQL, or the path of a SQLite file.

use super::{PostgresStore, ServerStore, SqliteStore, StoreError};
use std::path::Path;

/// Opens a store beside whoever serves it: to invite, to list, to revoke. One that no server has made is refused.
pub fn open(place: &str) -> Result<Box<dyn ServerStore>, StoreError> {
    match StoreAddress::of(place)? {
        StoreAddress::Postgres(url) => Ok(Box::new(PostgresStore::beside(url)?)),
        StoreAddress::File(path) if matches!(path.try_exists(), Ok(false)) => {
            Err(StoreError::Missing { place: path.display().to_string() })
        }
        StoreAddress::File(path) => Ok(Box::new(SqliteStore::open(path)?)),
    }
}

/// Opens a store to serve from it, or makes one. A file has one server; any number of servers may share PostgreSQL.
pub fn serve(place: &str) -> Result<Box<dyn ServerStore>, StoreError> {
    match StoreAddress::of(place)? {
        StoreAddress::Postgres(url) => Ok(Box::new(PostgresStore::open(url)?)),
        StoreAddress::File(path) => Ok(Box::new(SqliteStore::serve(path)?)),
    }
}

enum StoreAddress<'a> {
    Postgres(&'a str),
    File(&'a Path),
}

impl<'a> StoreAddress<'a> {
    /// A text with another scheme is no file: somebody meant a database.
    fn of(text: &'a str) -> Result<Self, StoreError> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(text)),
            Some((scheme, _)) => Err(StoreError::Place {
                place: format!("{scheme}://…"),
                why: "found an unknown scheme, expected a file or postgres://…".into(),
            }),
            None => Ok(Self::File(Path::new(text))),
        }
    }
}
