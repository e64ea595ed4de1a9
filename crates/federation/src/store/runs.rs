//! How runs are kept in tables: the statements, and the order in which a change is written.

use super::sql::{SqlRow, SqlSession, SqlValue, encoded, uncanonical, unreadable};
use super::{History, RunRow, StoreError};
use crate::coordinator::{AcceptedAnswer, AnswerReceipt, Change, Fold, Header, SavedRun};
use crate::identity::PublicKey;
use crate::log::{Position, RunId};
use crate::message::{Attempt, SealedMessage};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn create(session: &mut dyn SqlSession, row: &RunRow, saved: &SavedRun) -> Result<(), StoreError> {
    if !saved.waiting.is_empty() {
        return Err(StoreError::Failed { why: "a new run already has answers, expected none".into() });
    }
    let run = SqlValue::bytes(&row.run);
    let values = [run, SqlValue::number(row.created)?, SqlValue::bytes(&row.manifest)];
    let insert = "INSERT INTO runs (run, created, manifest) VALUES (?1, ?2, ?3) ON CONFLICT (run) DO NOTHING";
    if session.run(insert, &values)? == 0 {
        return Err(StoreError::Exists);
    }
    let header = header_bytes(&saved.header)?;
    session.run(
        "INSERT INTO headers (run, version, header) VALUES (?1, ?2, ?3)",
        &[run, SqlValue::number(saved.version)?, SqlValue::bytes(&header)],
    )?;
    session.run("INSERT INTO states (run, state) VALUES (?1, ?2)", &[run, SqlValue::bytes(&saved.state)])?;
    session.run("INSERT INTO queries (run, query) VALUES (?1, ?2)", &[run, SqlValue::bytes(&saved.query)])?;
    keep_receipts(session, &row.run, &saved.receipts)?;
    post(session, &row.run, &saved.letters)
}

pub(super) fn runs(session: &mut dyn SqlSession) -> Result<Vec<RunRow>, StoreError> {
    let rows = session.rows("SELECT run, created, manifest FROM runs ORDER BY created DESC, run", &[])?;
    rows.into_iter().map(run_row).collect()
}

fn run_row(mut row: SqlRow) -> Result<RunRow, StoreError> {
    Ok(RunRow { run: row.array()?, created: row.number()?, manifest: row.bytes()? })
}

pub(super) fn version(session: &mut dyn SqlSession, run: &RunId) -> Result<u64, StoreError> {
    only(session.rows("SELECT version FROM headers WHERE run = ?1", &[SqlValue::bytes(run)])?)?.number()
}

/// The first row, or that there is no such run.
fn only(rows: Vec<SqlRow>) -> Result<SqlRow, StoreError> {
    rows.into_iter().next().ok_or(StoreError::NoRun)
}

pub(super) fn load(session: &mut dyn SqlSession, run: &RunId) -> Result<SavedRun, StoreError> {
    let of_run = [SqlValue::bytes(run)];
    let mut row = only(session.rows(
        "SELECT headers.version, headers.header, states.state, queries.query FROM headers
         JOIN states ON states.run = headers.run JOIN queries ON queries.run = headers.run WHERE headers.run = ?1",
        &of_run,
    )?)?;
    let (version, header, state, query) = (row.number()?, row.bytes()?, row.bytes()?, row.bytes()?);
    let header = Header::read(&header).map_err(|error| unreadable(error.to_string()))?;
    let waiting = session.rows(
        "SELECT accepted.site, accepted.answer FROM accepted JOIN waiting
         ON waiting.run = accepted.run AND waiting.site = accepted.site
         AND waiting.round = accepted.round AND waiting.attempt = accepted.attempt
         WHERE accepted.run = ?1 ORDER BY accepted.number",
        &of_run,
    )?;
    let receipts = session.rows("SELECT receipt FROM receipts WHERE run = ?1 ORDER BY site", &of_run)?;
    let letters = session.rows("SELECT number, letter FROM letters WHERE run = ?1 ORDER BY number", &of_run)?;
    Ok(SavedRun {
        version,
        header,
        state,
        query,
        waiting: waiting.into_iter().map(|mut row| Ok((row.place()?, row.decoded()?))).collect::<Result<_, _>>()?,
        receipts: receipts.into_iter().map(|mut row| row.decoded()).collect::<Result<_, _>>()?,
        letters: letters.into_iter().map(|mut row| Ok((row.number()?, row.decoded()?))).collect::<Result<_, _>>()?,
    })
}

fn header_bytes(header: &Header) -> Result<Vec<u8>, StoreError> {
    header.bytes().map_err(|error| uncanonical(&error))
}

/// Keeps a change. The first statement compares the version and moves it on: whoever else tries so waits for the end of this
/// transaction, and then finds another version.
pub(super) fn commit(
    session: &mut dyn SqlSession,
    run: &RunId,
    expected: u64,
    header: &Header,
    change: &Change,
) -> Result<u64, StoreError> {
    let (id, next, header) = (SqlValue::bytes(run), expected.saturating_add(1), header_bytes(header)?);
    let moved = session.run(
        "UPDATE headers SET version = ?3, header = ?4 WHERE run = ?1 AND version = ?2",
        &[id, SqlValue::number(expected)?, SqlValue::number(next)?, SqlValue::bytes(&header)],
    )?;
    if moved == 0 {
        return Err(StoreError::Stale { found: version(session, run)?, expected });
    }
    if let Some(state) = &change.state {
        session.run("UPDATE states SET state = ?2 WHERE run = ?1", &[id, SqlValue::bytes(state)])?;
    }
    if let Some(query) = &change.query {
        session.run("UPDATE queries SET query = ?2 WHERE run = ?1", &[id, SqlValue::bytes(query)])?;
    }
    accept(session, run, &change.accepted, &change.receipts)?;
    for fold in &change.folds {
        let (number, bytes) = (SqlValue::number(fold.number)?, encoded(fold)?);
        session
            .run("INSERT INTO folds (run, number, fold) VALUES (?1, ?2, ?3)", &[id, number, SqlValue::bytes(&bytes)])?;
    }
    settle(session, run, &change.accepted, &change.receipts)?;
    if change.cleared {
        session.run("DELETE FROM letters WHERE run = ?1", &[id])?;
    }
    post(session, run, &change.posted)?;
    for number in &change.delivered {
        session.run("DELETE FROM letters WHERE run = ?1 AND number = ?2", &[id, SqlValue::number(*number)?])?;
    }
    see(session, &change.heads)?;
    Ok(next)
}

/// Keeps answers, after those that were accepted before. Those without a receipt in the same change wait for one.
fn accept(
    session: &mut dyn SqlSession,
    run: &RunId,
    accepted: &[AcceptedAnswer],
    receipts: &[AnswerReceipt],
) -> Result<(), StoreError> {
    if accepted.is_empty() {
        return Ok(());
    }
    let id = SqlValue::bytes(run);
    let last = only(session.rows("SELECT MAX(number) FROM accepted WHERE run = ?1", &[id])?)?.optional_number()?;
    let settled: BTreeSet<(usize, Attempt)> = receipts.iter().map(|kept| (kept.site, kept.at)).collect();
    for (number, AcceptedAnswer { site, update, digest }) in
        (last.map_or(0, |last| last.saturating_add(1))..).zip(accepted)
    {
        let answer = encoded(update)?;
        let (round, attempt) = (SqlValue::number(update.at.round)?, SqlValue::number(update.at.attempt)?);
        let (number, place) = (SqlValue::number(number)?, SqlValue::place(*site)?);
        session.run(
            "INSERT INTO accepted (run, number, site, round, attempt, digest, answer)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            &[id, number, place, round, attempt, SqlValue::bytes(digest), SqlValue::bytes(&answer)],
        )?;
        if !settled.contains(&(*site, update.at)) {
            let waits = "INSERT INTO waiting (run, site, round, attempt) VALUES (?1, ?2, ?3, ?4)";
            session.run(waits, &[id, place, round, attempt])?;
        }
    }
    Ok(())
}

/// Keeps receipts; the answers that they are for wait no longer. Those of the same change have never waited.
fn settle(
    session: &mut dyn SqlSession,
    run: &RunId,
    accepted: &[AcceptedAnswer],
    receipts: &[AnswerReceipt],
) -> Result<(), StoreError> {
    let new: BTreeSet<(usize, Attempt)> = accepted.iter().map(|one| (one.site, one.update.at)).collect();
    for AnswerReceipt { site, at, .. } in receipts.iter().filter(|kept| !new.contains(&(kept.site, kept.at))) {
        session.run(
            "DELETE FROM waiting WHERE run = ?1 AND site = ?2 AND round = ?3 AND attempt = ?4",
            &[
                SqlValue::bytes(run),
                SqlValue::place(*site)?,
                SqlValue::number(at.round)?,
                SqlValue::number(at.attempt)?,
            ],
        )?;
    }
    keep_receipts(session, run, receipts)
}

/// Keeps the last receipt of each site.
fn keep_receipts(session: &mut dyn SqlSession, run: &RunId, receipts: &[AnswerReceipt]) -> Result<(), StoreError> {
    let last: BTreeMap<usize, &AnswerReceipt> = receipts.iter().map(|kept| (kept.site, kept)).collect();
    for (site, kept) in last {
        let bytes = encoded(kept)?;
        session.run(
            "INSERT INTO receipts (run, site, receipt) VALUES (?1, ?2, ?3)
             ON CONFLICT (run, site) DO UPDATE SET receipt = excluded.receipt",
            &[SqlValue::bytes(run), SqlValue::place(site)?, SqlValue::bytes(&bytes)],
        )?;
    }
    Ok(())
}

fn post(session: &mut dyn SqlSession, run: &RunId, letters: &[(u64, SealedMessage)]) -> Result<(), StoreError> {
    for (number, letter) in letters {
        let bytes = encoded(letter)?;
        session.run(
            "INSERT INTO letters (run, number, letter) VALUES (?1, ?2, ?3)",
            &[SqlValue::bytes(run), SqlValue::number(*number)?, SqlValue::bytes(&bytes)],
        )?;
    }
    Ok(())
}

/// Moves heads forward, never back. Always in the order of the keys, so that no two servers wait for each other.
fn see(session: &mut dyn SqlSession, heads: &[(PublicKey, Position)]) -> Result<(), StoreError> {
    let mut last: BTreeMap<&PublicKey, &Position> = BTreeMap::new();
    for (key, position) in heads {
        let furthest = last.entry(key).or_insert(position);
        if position.sequence > furthest.sequence {
            *furthest = position;
        }
    }
    for (key, position) in last {
        session.run(
            "INSERT INTO heads (party, sequence, digest) VALUES (?1, ?2, ?3)
             ON CONFLICT (party) DO UPDATE SET sequence = excluded.sequence, digest = excluded.digest
             WHERE heads.sequence < excluded.sequence",
            &[
                SqlValue::bytes(&key.0),
                SqlValue::bytes(&position.sequence.to_be_bytes()),
                SqlValue::bytes(&position.digest),
            ],
        )?;
    }
    Ok(())
}

pub(super) fn head(session: &mut dyn SqlSession, key: &PublicKey) -> Result<Option<Position>, StoreError> {
    let rows = session.rows("SELECT sequence, digest FROM heads WHERE party = ?1", &[SqlValue::bytes(&key.0)])?;
    let place = |mut row: SqlRow| Ok(Position { sequence: u64::from_be_bytes(row.array()?), digest: row.array()? });
    rows.into_iter().next().map(place).transpose()
}

pub(super) fn history(session: &mut dyn SqlSession, run: &RunId) -> Result<History, StoreError> {
    version(session, run)?;
    let of_run = [SqlValue::bytes(run)];
    let accepted = session.rows("SELECT site, answer, digest FROM accepted WHERE run = ?1 ORDER BY number", &of_run)?;
    let accepted = accepted
        .into_iter()
        .map(|mut row| Ok(AcceptedAnswer { site: row.place()?, update: row.decoded()?, digest: row.array()? }))
        .collect::<Result<_, StoreError>>()?;
    let folds = session.rows("SELECT fold FROM folds WHERE run = ?1 ORDER BY number", &of_run)?;
    let folds = folds.into_iter().map(|mut row| row.decoded::<Fold>()).collect::<Result<_, _>>()?;
    Ok(History { accepted, folds })
}
