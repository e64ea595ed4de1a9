//! A store in PostgreSQL, for any number of servers at once.
//!
//! The client waits for its answers by itself. Call it, and drop it, on threads that may block, never inside asynchronous code.

use super::sql::{Database, SqlCell, SqlRow, SqlSession, SqlValue, unreadable};
use super::{StoreError, schema};
use ::postgres::config::{Host, SslMode};
use ::postgres::error::SqlState;
use ::postgres::types::{ToSql, Type};
use ::postgres::{Client, Config, Error, IsolationLevel, NoTls, Statement, Transaction};
use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Connections of one server.
const MOST: usize = 4;

/// Said at the start of every connection. A server that stands still in the middle of a change must not hold the run for ever.
const MANNERS: &str = "SET search_path TO posterity; SET statement_timeout TO '60s'; SET lock_timeout TO '20s';
    SET idle_in_transaction_session_timeout TO '30s'; SET client_min_messages TO warning";

/// Any number that no other program locks: one server makes the tables, the others wait.
const MAKING: &str = "SELECT pg_advisory_xact_lock(7021979452)";

/// A store in PostgreSQL, in the schema `posterity` of a database.
pub struct PostgresStore {
    config: Config,
    pool: Mutex<ConnectionPool>,
    freed: Condvar,
}

#[derive(Default)]
struct ConnectionPool {
    idle: Vec<PooledConnection>,
    /// Connections that are in use.
    out: usize,
}

/// A connection, with the statements that it knows.
struct PooledConnection {
    client: Client,
    statements: BTreeMap<&'static str, Statement>,
    broken: bool,
}

impl PostgresStore {
    /// Connects, and makes the tables if there are none.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        Self::with(url, MissingTables::Made)
    }

    /// Connects to a database that a server has made tables in.
    pub fn beside(url: &str) -> Result<Self, StoreError> {
        Self::with(url, MissingTables::Expected)
    }

    fn with(url: &str, tables: MissingTables) -> Result<Self, StoreError> {
        let mut config: Config = url.parse().map_err(|error| address(&said(&error)))?;
        refuse_open_networks(&config)?;
        config.application_name("posterity");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        let mut link = PooledConnection::new(&config)?;
        prepare(&mut link.client, tables)?;
        let pool = Mutex::new(ConnectionPool { idle: vec![link], out: 0 });
        Ok(Self { config, pool, freed: Condvar::new() })
    }

    fn pool(&self) -> MutexGuard<'_, ConnectionPool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that is free, or a new one, or the next that becomes free.
    fn borrow(&self) -> Result<ConnectionGuard<'_>, StoreError> {
        let mut pool = self.pool();
        while pool.out >= MOST {
            pool = self.freed.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        pool.out += 1;
        let mut borrowed = ConnectionGuard { store: self, link: pool.idle.pop() };
        drop(pool);
        if borrowed.link.is_none() {
            borrowed.link = Some(PooledConnection::new(&self.config)?);
        }
        Ok(borrowed)
    }

    fn within<T>(
        &self,
        of: TransactionKind,
        body: impl FnOnce(&mut dyn SqlSession) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut borrowed = self.borrow()?;
        let Some(PooledConnection { client, statements, broken }) = &mut borrowed.link else {
            return Err(StoreError::Failed { why: "there is no connection".into() });
        };
        let builder = match of {
            TransactionKind::Read => {
                client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true)
            }
            TransactionKind::Write => client.build_transaction().isolation_level(IsolationLevel::ReadCommitted),
        };
        let transaction = builder.start().map_err(|error| noticed(broken, &error))?;
        let mut open = PostgresSession { transaction, statements, broken };
        let value = body(&mut open)?;
        let PostgresSession { transaction, broken, .. } = open;
        transaction.commit().map_err(|error| noticed(broken, &error))?;
        Ok(value)
    }
}

/// What a transaction is for.
#[derive(Clone, Copy)]
enum TransactionKind {
    /// One consistent view.
    Read,
    /// A change. Every one begins with a statement that compares and writes in one: who comes second sees what the first wrote.
    Write,
}

/// What is done about a database without tables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingTables {
    /// The store creates them.
    Made,
    /// The store refuses the database.
    Expected,
}

impl PooledConnection {
    fn new(config: &Config) -> Result<Self, StoreError> {
        let mut client = config.connect(NoTls).map_err(|error| failed(&error))?;
        client.batch_execute(MANNERS).map_err(|error| failed(&error))?;
        let settings = "SELECT current_setting('fsync'), current_setting('synchronous_commit')";
        let row = client.query_one(settings, &[]).map_err(|error| failed(&error))?;
        let [fsync, commits] = [0, 1].map(|at| row.try_get::<_, String>(at).unwrap_or_default());
        if fsync != "on" {
            let why =
                format!("the PostgreSQL server has fsync = {fsync}, expected on; without it, a commit is not durable");
            return Err(StoreError::Failed { why });
        }
        if commits == "off" {
            client.batch_execute("SET synchronous_commit TO on").map_err(|error| failed(&error))?;
        }
        Ok(Self { client, statements: BTreeMap::new(), broken: false })
    }
}

/// A connection in use; it goes back when this is dropped.
struct ConnectionGuard<'a> {
    store: &'a PostgresStore,
    link: Option<PooledConnection>,
}

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        let mut pool = self.store.pool();
        pool.out = pool.out.saturating_sub(1);
        // Where one connection broke, the others most likely did too.
        let broken = self.link.as_ref().is_none_or(|link| link.broken || link.client.is_closed());
        let mut dropped = if broken { std::mem::take(&mut pool.idle) } else { Vec::new() };
        let place = if broken { &mut dropped } else { &mut pool.idle };
        place.extend(self.link.take());
        drop(pool);
        self.store.freed.notify_one();
        drop(dropped);
    }
}

/// There is no TLS to PostgreSQL here, so what is sent must not leave the machine.
fn refuse_open_networks(config: &Config) -> Result<(), StoreError> {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(address("it names no host, expected a unix socket or localhost"));
    }
    if config.get_ssl_mode() == SslMode::Require {
        return Err(address("it requires TLS, which this program does not use with PostgreSQL"));
    }
    let named = config.get_hosts().iter().enumerate().find(|(at, host)| match host {
        Host::Tcp(_) if config.get_hostaddrs().get(*at).is_some() => false,
        Host::Tcp(name) => name != "localhost" && !name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => false,
    });
    let remote = match (named, config.get_hostaddrs().iter().find(|ip| !ip.is_loopback())) {
        (Some((_, Host::Tcp(name))), _) => name.clone(),
        (_, Some(ip)) => ip.to_string(),
        _ => return Ok(()),
    };
    Err(address(&format!("PostgreSQL is on {remote}, and the connection would not use TLS")))
}

/// Makes the tables if there are none, and checks their version if there are.
fn prepare(client: &mut Client, wanted: MissingTables) -> Result<(), StoreError> {
    let failed = |error| failed(&error);
    let mut transaction = client.transaction().map_err(failed)?;
    transaction.execute(MAKING, &[]).map_err(failed)?;
    let there = "SELECT to_regnamespace('posterity') IS NOT NULL, to_regclass('posterity.tables') IS NOT NULL";
    let row = transaction.query_one(there, &[]).map_err(failed)?;
    let [namespace, tables] = [0, 1].map(|at| row.try_get::<_, bool>(at).unwrap_or_default());
    if tables {
        let row = transaction.query_one("SELECT MAX(version) FROM tables", &[]).map_err(failed)?;
        let version: Option<i64> = row.try_get(0).map_err(failed)?;
        return schema::check(version.and_then(|version| u64::try_from(version).ok()).unwrap_or_default());
    }
    if wanted == MissingTables::Expected {
        return Err(StoreError::Missing { place: "the database: no server has created its tables".into() });
    }
    if !namespace {
        transaction.batch_execute("CREATE SCHEMA posterity").map_err(failed)?;
    }
    for statement in schema::TABLES {
        let statement = statement.replace("BLOB", "BYTEA").replace("INTEGER", "BIGINT");
        transaction.batch_execute(&statement).map_err(failed)?;
    }
    let version = format!("CREATE TABLE tables (version BIGINT); INSERT INTO tables VALUES ({})", schema::VERSION);
    transaction.batch_execute(&version).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// What PostgreSQL or the way to it has said, without values.
fn said(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(of), _) => format!("{} ({})", of.message(), of.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}

fn failed(error: &Error) -> StoreError {
    StoreError::Failed { why: format!("PostgreSQL: {}", said(error)) }
}

fn address(why: &str) -> StoreError {
    StoreError::Place { place: "postgres://…".into(), why: why.to_owned() }
}

/// A failure; whether the connection is still good is noted.
fn noticed(broken: &mut bool, error: &Error) -> StoreError {
    let ends = |code: &SqlState| code.code().starts_with("08") || code.code().starts_with("57P");
    *broken |= error.as_db_error().is_none_or(|of| ends(of.code()) || matches!(of.severity(), "FATAL" | "PANIC"));
    failed(error)
}

impl Database for PostgresStore {
    fn read<T>(&self, body: impl FnOnce(&mut dyn SqlSession) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.within(TransactionKind::Read, body)
    }
    fn write<T>(&self, body: impl FnOnce(&mut dyn SqlSession) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.within(TransactionKind::Write, body)
    }
}

struct PostgresSession<'a> {
    transaction: Transaction<'a>,
    statements: &'a mut BTreeMap<&'static str, Statement>,
    broken: &'a mut bool,
}

impl PostgresSession<'_> {
    /// A statement in PostgreSQL's words, prepared once in a connection.
    fn statement(&mut self, text: &'static str) -> Result<Statement, StoreError> {
        if let Some(known) = self.statements.get(text) {
            return Ok(known.clone());
        }
        let prepared = self.transaction.prepare(&text.replace('?', "$"));
        let prepared = prepared.map_err(|error| noticed(self.broken, &error))?;
        self.statements.insert(text, prepared.clone());
        Ok(prepared)
    }
}

impl SqlSession for PostgresSession<'_> {
    fn run(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<u64, StoreError> {
        let statement = self.statement(statement)?;
        let values: Vec<_> = values.iter().map(parameter).collect();
        self.transaction.execute(&statement, &values).map_err(|error| noticed(self.broken, &error))
    }

    fn rows(&mut self, statement: &'static str, values: &[SqlValue<'_>]) -> Result<Vec<SqlRow>, StoreError> {
        let statement = self.statement(statement)?;
        let values: Vec<_> = values.iter().map(parameter).collect();
        let rows = self.transaction.query(&statement, &values).map_err(|error| noticed(self.broken, &error))?;
        rows.iter().map(row).collect()
    }
}

fn parameter<'a>(value: &'a SqlValue<'_>) -> &'a (dyn ToSql + Sync) {
    match value {
        SqlValue::Number(number) => number,
        SqlValue::Bytes(bytes) => bytes,
        SqlValue::Text(text) => text,
    }
}

fn row(row: &::postgres::Row) -> Result<SqlRow, StoreError> {
    let cells = row.columns().iter().enumerate().map(|(at, column)| match *column.type_() {
        Type::INT8 => row.try_get::<_, Option<i64>>(at).map(|cell| cell.map(SqlCell::Number)),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at).map(|cell| cell.map(SqlCell::Bytes)),
        _ => row.try_get::<_, Option<String>>(at).map(|cell| cell.map(SqlCell::Text)),
    });
    let cells = cells.map(|cell| cell.map(|cell| cell.unwrap_or(SqlCell::Nothing)));
    Ok(SqlRow::new(cells.collect::<Result<_, _>>().map_err(|error| unreadable(said(&error)))?))
}
