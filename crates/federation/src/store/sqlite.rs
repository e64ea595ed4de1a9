//! A store in one SQLite file, for a server on one machine: durable at every commit, and of one server only.

use super::sql::{Database, SqlCell, SqlRow, SqlSession, SqlValue, unreadable};
use super::{StoreError, schema};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, Transaction, TransactionBehavior, params_from_iter};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a statement waits for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(10);

/// A store in one file, with its log of changes beside it.
pub struct SqliteStore {
    /// One connection writes; another reads, also while the first waits for the disk.
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    /// The disk has failed. What it holds is unknown until the file is opened again.
    broken: AtomicBool,
    /// Held for as long as the store is served.
    _lock: Option<File>,
}

impl SqliteStore {
    /// Opens a file, or makes one. A server may be running on it: use [`SqliteStore::serve`] to be that server.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::with(path, None)
    }

    /// Opens a file, or makes one, as its only server, until the store is dropped.
    pub fn serve(path: &Path) -> Result<Self, StoreError> {
        let lock = lock(path)?;
        Self::with(path, Some(lock))
    }

    fn with(path: &Path, lock: Option<File>) -> Result<Self, StoreError> {
        // In full, for SQLite takes some short names for more than a file.
        let path = &std::path::absolute(path).map_err(|error| cannot_open(path, &error))?;
        private(path)?;
        let mut writer = connect(path)?;
        prepare(&mut writer).map_err(|error| in_file(path, error))?;
        let reader = connect(path)?;
        reader.pragma_update(None, "query_only", true).map_err(failed)?;
        let (writer, reader) = (Mutex::new(writer), Mutex::new(reader));
        Ok(Self { writer, reader, broken: AtomicBool::new(false), _lock: lock })
    }

    fn within<T>(
        &self,
        connection: &Mutex<Connection>,
        behaviour: TransactionBehavior,
        body: impl FnOnce(&mut dyn SqlSession) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.broken.load(Ordering::Acquire) {
            let why = "the disk failed before; restart the server to use it again";
            return Err(StoreError::Failed { why: why.into() });
        }
        // A panic in another call has rolled its transaction back.
        let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
        let noticing = |error: rusqlite::Error| self.notice(error);
        let transaction = connection.transaction_with_behavior(behaviour).map_err(noticing)?;
        let mut open = SqliteSession { transaction, store: self };
        let value = body(&mut open)?;
        open.transaction.commit().map_err(noticing)?;
        Ok(value)
    }

    /// After a failure of the disk nothing more is tried: a second attempt can seem to succeed and be lost.
    fn notice(&self, error: rusqlite::Error) -> StoreError {
        let code = error.sqlite_error_code();
        if matches!(code, Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)) {
            self.broken.store(true, Ordering::Release);
        }
        failed(error)
    }
}

/// Opens a file, or makes one that nobody else can read.
fn private(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| cannot_open(path, &error))
}

/// Becomes the only server of a file; a file beside it says who is.
fn lock(path: &Path) -> Result<File, StoreError> {
    let beside = PathBuf::from(format!("{}.lock", path.display()));
    let mut file = private(&beside)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut who = String::new();
            // Its number is a help for people only: without it the store is refused all the same.
            let _ = file.read_to_string(&mut who);
            let who = if who.trim().is_empty() { "another server".into() } else { format!("process {}", who.trim()) };
            let path = path.display();
            return Err(StoreError::Locked { why: format!("{path} is already served by {who}") });
        }
        Err(TryLockError::Error(error)) => return Err(cannot_open(&beside, &error)),
    }
    let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|error| cannot_open(&beside, &error))?;
    Ok(file)
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| in_file(path, failed(error)))?;
    configure(&connection).map_err(|error| in_file(path, error))?;
    Ok(connection)
}

fn configure(connection: &Connection) -> Result<(), StoreError> {
    connection.busy_timeout(PATIENCE).map_err(failed)?;
    let mode = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
    let mode = connection.pragma_update_and_check(None, "journal_mode", "WAL", mode).map_err(failed)?;
    if mode != "wal" {
        let why = format!("the journal mode is {mode}, expected wal; use a file on a local disk");
        return Err(StoreError::Failed { why });
    }
    for (name, value) in [("synchronous", "FULL"), ("fullfsync", "ON"), ("foreign_keys", "ON")] {
        connection.pragma_update(None, name, value).map_err(failed)?;
    }
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Makes the tables in a new file, and checks their version in one that is there.
fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let count = |sql: &str| transaction.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(failed);
    let (version, tables) = (count("PRAGMA user_version")?, count("SELECT COUNT(*) FROM sqlite_schema")?);
    match (u64::try_from(version).unwrap_or(0), tables) {
        (0, 0) => {
            for statement in schema::TABLES {
                let strict = if statement.starts_with("CREATE TABLE") { " STRICT" } else { "" };
                transaction.execute_batch(&format!("{statement}{strict}")).map_err(failed)?;
            }
            transaction.pragma_update(None, "user_version", schema::VERSION as i64).map_err(failed)?;
        }
        (0, _) => return Err(unreadable("it has tables of another program".into())),
        (found, _) => schema::check(found)?,
    }
    transaction.commit().map_err(failed)
}

fn failed(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => unreadable(error.to_string()),
        _ => StoreError::Failed { why: error.to_string() },
    }
}

fn cannot_open(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Failed { why: format!("{} cannot be opened: {error}", path.display()) }
}

/// Names the file in an error.
fn in_file(path: &Path, error: StoreError) -> StoreError {
    let named = |why: String| format!("{}: {why}", path.display());
    match error {
        StoreError::Failed { why } => StoreError::Failed { why: named(why) },
        StoreError::Unreadable { why } => StoreError::Unreadable { why: named(why) },
        other => other,
    }
}

impl Database for SqliteStore {
    fn read<T>(&self, body: impl FnOnce(&mut dyn SqlSession) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.within(&self.reader, TransactionBehavior::Deferred, body)
    }
    fn write<T>(&self, body: impl FnOnce(&mut dyn SqlSession) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.within(&self.writer, TransactionBehavior::Immediate, body)
    }
}

struct SqliteSession<'a> {
    transaction: Transaction<'a>,
    store: &'a SqliteStore,
}

impl SqlSession for SqliteSession<'_> {
    fn run(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<u64, StoreError> {
        let run = || self.transaction.prepare_cached(statement)?.execute(params_from_iter(values));
        run().map(|changed| changed as u64).map_err(|error| self.store.notice(error))
    }

    fn rows(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<Vec<SqlRow>, StoreError> {
        let read = || {
            let mut statement = self.transaction.prepare_cached(statement)?;
            let columns = statement.column_count();
            let cells = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get_ref(at).map(cell)).collect();
            statement.query_map(params_from_iter(values), cells)?.collect::<Result<Vec<Vec<SqlCell>>, _>>()
        };
        Ok(read().map_err(|error| self.store.notice(error))?.into_iter().map(SqlRow::new).collect())
    }
}

fn cell(value: ValueRef<'_>) -> SqlCell {
    match value {
        ValueRef::Integer(number) => SqlCell::Number(number),
        ValueRef::Blob(bytes) => SqlCell::Bytes(bytes.to_vec()),
        ValueRef::Text(text) => SqlCell::Text(String::from_utf8_lossy(text).into_owned()),
        // No table has a column for real numbers.
        ValueRef::Null | ValueRef::Real(_) => SqlCell::Nothing,
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Number(number) => number.to_sql(),
            Self::Bytes(bytes) => bytes.to_sql(),
            Self::Text(text) => text.to_sql(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{PartyName, PartyRole};
    use crate::store::{InviteRow, Redemption, ServerStore};

    /// A store in a folder of its own, which the test removes.
    fn fresh(name: &str) -> (PathBuf, SqliteStore) {
        let folder = std::env::temp_dir().join(format!("posterity-sqlite-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let store = SqliteStore::open(&folder.join("server.db")).unwrap();
        (folder, store)
    }

    fn invite(store: &SqliteStore, number: u16) -> Result<(), StoreError> {
        let mut secret = [0; 32];
        secret[..2].copy_from_slice(&number.to_be_bytes());
        store.invite(&InviteRow { secret, role: PartyRole::Site, name: PartyName::new("oulu").unwrap(), expires: 9 })
    }

    #[test]
    fn a_full_disk_refuses_a_commit_and_keeps_what_was_there() {
        let (folder, store) = fresh("full");
        let limit = |pages: i64| {
            let writer = store.writer.lock().unwrap();
            writer.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
        };
        limit(1);
        let kept = (0..1000).take_while(|number| invite(&store, *number).is_ok()).count() as u16;
        assert!(kept < 1000 && matches!(invite(&store, kept), Err(StoreError::Failed { .. })));
        assert_eq!(store.redeem(&[255; 32], &[0; 32], 1), Ok(Redemption::Unknown));
        limit(1 << 20);
        invite(&store, kept).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_is_tried_again_after_the_disk_has_failed() {
        let (folder, store) = fresh("broken");
        invite(&store, 1).unwrap();
        let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_FSYNC);
        store.notice(rusqlite::Error::SqliteFailure(error, None));
        for result in [invite(&store, 2), store.parties().map(|_| ())] {
            assert!(result.unwrap_err().to_string().contains("the disk failed before"));
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
