//! Whether anything was lost: every answer is kept exactly once, and the state follows from what is kept.

use crate::study::LoadStudy;
use federation::coordinator::{Fold, FoldInput};
use federation::log::RunId;
use federation::message::{Attempt, Update};
use federation::store::ServerStore;
use inference::algorithm::Answers;
use rusqlite::{Connection, OpenFlags, params};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

/// Reads a SQLite store fold by fold, so that a history larger than memory can be checked. Gives the answers found.
pub(crate) fn file(path: &Path, study: &LoadStudy, store: &dyn ServerStore) -> Result<u64, Box<dyn Error>> {
    let run = study.manifest.run();
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut folds = connection.prepare("SELECT fold FROM folds WHERE run = ?1 ORDER BY number")?;
    let folds = folds.query_map([&run[..]], |row| row.get::<_, Vec<u8>>(0))?.collect::<Result<Vec<_>, _>>()?;
    let folds = folds.iter().map(|bytes| postcard::from_bytes(bytes)).collect::<Result<Vec<Fold>, _>>()?;
    let find = "SELECT answer FROM accepted WHERE run = ?1 AND site = ?2 AND round = ?3 AND attempt = ?4";
    let mut find = connection.prepare(find)?;
    let mut answer = |site: usize, at: Attempt| -> Result<Update, Box<dyn Error>> {
        let place = params![&run[..], site as i64, at.round as i64, at.attempt as i64];
        let bytes = find.query_row(place, |row| row.get::<_, Vec<u8>>(0))?;
        Ok(postcard::from_bytes(&bytes)?)
    };
    let folded = replay(study, &folds, &mut answer, &store.load(&run)?.state)?;
    let count = |sql| connection.query_row(sql, [&run[..]], |row| row.get::<_, i64>(0));
    let all = count("SELECT COUNT(*) FROM accepted WHERE run = ?1")?;
    let distinct = count("SELECT COUNT(*) FROM (SELECT DISTINCT site, round, attempt FROM accepted WHERE run = ?1)")?;
    complete(study, &[all as u64, distinct as u64, folded])
}

/// The same of any store, by way of memory.
pub(crate) fn history(study: &LoadStudy, store: &dyn ServerStore) -> Result<u64, Box<dyn Error>> {
    let run: RunId = study.manifest.run();
    let history = store.history(&run)?;
    let all = history.accepted.len() as u64;
    let by_place: BTreeMap<(usize, Attempt), Update> =
        history.accepted.into_iter().map(|one| ((one.site, one.update.at), one.update)).collect();
    let mut answer = |site: usize, at: Attempt| by_place.get(&(site, at)).cloned().ok_or("an answer is missing".into());
    let folded = replay(study, &history.folds, &mut answer, &store.load(&run)?.state)?;
    complete(study, &[all, by_place.len() as u64, folded])
}

type Find<'a> = &'a mut dyn FnMut(usize, Attempt) -> Result<Update, Box<dyn Error>>;

/// Folds everything again from nothing, and holds the outcome against the state that is kept. Gives the answers folded.
fn replay(study: &LoadStudy, folds: &[Fold], answer: Find<'_>, kept: &[u8]) -> Result<u64, Box<dyn Error>> {
    let protocol = &study.parts.built.protocol;
    let (mut state, mut folded) = (protocol.start()?, 0);
    for fold in folds {
        let FoldInput::Each(tries) = &fold.of else { return Err("a sum, expected answers".into()) };
        folded += tries.len() as u64;
        let each = tries.iter().map(|&(site, at)| Ok((site, answer(site, at)?.answer)));
        state = protocol.fold(&state, &Answers::Each(each.collect::<Result<_, Box<dyn Error>>>()?))?.state;
    }
    if state == kept { Ok(folded) } else { Err("the state does not follow from the answers that are kept".into()) }
}

fn complete(study: &LoadStudy, found: &[u64]) -> Result<u64, Box<dyn Error>> {
    let expected = study.manifest.sites.len() as u64 * study.manifest.pace.rounds;
    match found.iter().find(|one| **one != expected) {
        None => Ok(expected),
        Some(_) => Err(format!("{found:?} answers kept, distinct and folded, expected {expected}").into()),
    }
}
