//! Which store a text means: an address of PostgreSQL, or the path of a SQLite file.

use super::{PostgresStore, SqliteStore, Store, StoreError};
use std::path::Path;

/// Opens a store beside whoever serves it: to invite, to list, to revoke.
pub fn open(place: &str) -> Result<Box<dyn Store>, StoreError> {
    match Place::of(place) {
        Place::Postgres(url) => Ok(Box::new(PostgresStore::open(url)?)),
        Place::File(path) => Ok(Box::new(SqliteStore::open(path)?)),
    }
}

/// Opens a store to serve from it. A file has one server; any number of servers may share PostgreSQL.
pub fn serve(place: &str) -> Result<Box<dyn Store>, StoreError> {
    match Place::of(place) {
        Place::Postgres(url) => Ok(Box::new(PostgresStore::open(url)?)),
        Place::File(path) => Ok(Box::new(SqliteStore::serve(path)?)),
    }
}

enum Place<'a> {
    Postgres(&'a str),
    File(&'a Path),
}

impl<'a> Place<'a> {
    fn of(text: &'a str) -> Self {
        let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
        if is_url { Self::Postgres(text) } else { Self::File(Path::new(text)) }
    }
}
