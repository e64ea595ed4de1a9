//! The tables, written once for both databases.
//!
//! What is written once (a manifest, an answer) is kept apart from what is written with every change (a header), so that a
//! change writes little. Values that are made of more than one part are kept in their canonical bytes.

use super::StoreError;
use super::sql::unreadable;

/// The version of the tables and of the bytes in them.
pub(super) const VERSION: u64 = 1;

/// Makes everything. PostgreSQL's words for `BLOB` and `INTEGER` are `BYTEA` and `BIGINT`.
pub(super) const TABLES: [&str; 13] = [
    "CREATE TABLE runs (
        run BLOB PRIMARY KEY,
        created INTEGER NOT NULL,
        manifest BLOB NOT NULL)",
    // The version is the fence between servers: a change is kept only on top of the version that it was made from.
    "CREATE TABLE headers (
        run BLOB PRIMARY KEY REFERENCES runs (run),
        version INTEGER NOT NULL,
        header BLOB NOT NULL)",
    "CREATE TABLE states (
        run BLOB PRIMARY KEY REFERENCES runs (run),
        state BLOB NOT NULL)",
    "CREATE TABLE queries (
        run BLOB PRIMARY KEY REFERENCES runs (run),
        query BLOB NOT NULL)",
    // An attempt is accepted once, whatever a server believes.
    "CREATE TABLE accepted (
        run BLOB NOT NULL REFERENCES runs (run),
        number INTEGER NOT NULL,
        site INTEGER NOT NULL,
        round INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        digest BLOB NOT NULL,
        answer BLOB NOT NULL,
        PRIMARY KEY (run, number),
        UNIQUE (run, site, round, attempt))",
    // Accepted answers that have no receipt yet.
    "CREATE TABLE waiting (
        run BLOB NOT NULL REFERENCES runs (run),
        site INTEGER NOT NULL,
        round INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        PRIMARY KEY (run, site, round, attempt))",
    "CREATE TABLE folds (
        run BLOB NOT NULL REFERENCES runs (run),
        number INTEGER NOT NULL,
        fold BLOB NOT NULL,
        PRIMARY KEY (run, number))",
    "CREATE TABLE receipts (
        run BLOB NOT NULL REFERENCES runs (run),
        site INTEGER NOT NULL,
        receipt BLOB NOT NULL,
        PRIMARY KEY (run, site))",
    "CREATE TABLE letters (
        run BLOB NOT NULL REFERENCES runs (run),
        number INTEGER NOT NULL,
        letter BLOB NOT NULL,
        PRIMARY KEY (run, number))",
    // A sequence comes from outside and may be any number: eight bytes, the highest first, so that they compare as it does.
    "CREATE TABLE heads (
        party BLOB PRIMARY KEY,
        sequence BLOB NOT NULL,
        digest BLOB NOT NULL)",
    "CREATE TABLE invites (
        secret BLOB PRIMARY KEY,
        role TEXT NOT NULL,
        name TEXT NOT NULL,
        expires INTEGER NOT NULL,
        request BLOB)",
    // One that was revoked stays, beside the one that has its name now.
    "CREATE TABLE parties (
        role TEXT NOT NULL,
        name TEXT NOT NULL,
        party BLOB NOT NULL,
        sealing BLOB,
        expires INTEGER NOT NULL,
        revoked INTEGER,
        PRIMARY KEY (role, name, party))",
    "CREATE UNIQUE INDEX living ON parties (role, name) WHERE revoked IS NULL",
];

/// Refuses tables of another version.
pub(super) fn check(found: u64) -> Result<(), StoreError> {
    match found {
        VERSION => Ok(()),
        newer if newer > VERSION => Err(unreadable(format!(
            "a newer version of this program created it (version {newer} of the tables, expected {VERSION})"
        ))),
        other => Err(unreadable(format!("found version {other} of the tables, expected {VERSION}"))),
    }
}
