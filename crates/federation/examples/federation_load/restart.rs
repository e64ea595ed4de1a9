//! How long a site and a server take to come back with so many records on their disks.

use crate::measure::{load_average, megabytes};
use crate::study::LoadStudy;
use federation::agent::{Agent, AgentOpening};
use federation::coordinator::{AcceptedAnswer, AnswerReceipt, Change, Fold, FoldInput};
use federation::identity::PartyName;
use federation::log::{Disk, DiskError, FILE, FolderDisk, Log, LogEntry, Position, RunAttempt};
use federation::manifest::DOMAIN;
use federation::message::{Attempt, Update};
use federation::server::RunEngine;
use federation::store::{self, ServerStore};
use privacy::noise::OsKeyed;
use privacy::{GridVector, LedgerRecord};
use serde_json::json;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Sites of the run at the server.
const SITES: u64 = 1000;

/// Numbers in an answer.
const NUMBERS: usize = 216;

/// Fills a ledger and a store with so many records, opens both again, and prints two lines of JSON.
pub(crate) fn run(records: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    site(records, &folder.join("site"))?;
    server(records, &folder.join("server.db"))
}

/// A disk that is not told to keep anything until the end.
struct LazyDisk(FolderDisk);

impl Disk for LazyDisk {
    fn read(&self, file: &str) -> Result<Option<Vec<u8>>, DiskError> {
        self.0.read(file)
    }
    fn append(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError> {
        self.0.append(file, bytes)
    }
    fn sync(&mut self, _: &str) -> Result<(), DiskError> {
        Ok(())
    }
    fn truncate(&mut self, file: &str, length: u64) -> Result<(), DiskError> {
        self.0.truncate(file, length)
    }
    fn replace(&mut self, file: &str, bytes: &[u8]) -> Result<(), DiskError> {
        self.0.replace(file, bytes)
    }
}

fn site(records: u64, folder: &Path) -> Result<(), Box<dyn Error>> {
    // Three records for each answer: its charge, its outbox, its receipt.
    let rounds = records / 3;
    let study = LoadStudy::new(1, rounds, NUMBERS)?;
    let log = Agent::open(opening(&study)?, Log::open(LazyDisk(FolderDisk::open(folder)?))?)?.into_log();
    let mut disk = fill(&study, rounds, log)?.into_disk().0;
    disk.sync(FILE)?;
    drop(disk);
    let (before, memory) = (Instant::now(), megabytes("VmRSS"));
    let log = Log::open(FolderDisk::open(folder)?)?;
    let opened = before.elapsed().as_secs_f64();
    let agent = Agent::open(opening(&study)?, log)?;
    let (ready, length) = (before.elapsed().as_secs_f64(), agent.log().head().sequence);
    let bytes = std::fs::metadata(folder.join(FILE))?.len();
    let line = json!({
        "what": "restart of a site", "records": length, "charges": agent.member().ledger().length(),
        "megabytes": bytes >> 20, "log_open_s": opened, "ready_s": ready,
        "memory_mb": megabytes("VmRSS") - memory, "peak_mb": megabytes("VmHWM"), "load_average": load_average(),
    });
    println!("{line}");
    Ok(())
}

fn opening(study: &LoadStudy) -> Result<AgentOpening, Box<dyn Error>> {
    let (_, key) = study.sites.first().cloned().ok_or("there is no site")?;
    let digest = study.manifest.digest();
    Ok(AgentOpening {
        manifest: study.manifest.clone(),
        signatures: vec![key.sign(DOMAIN, &digest), study.server.sign(DOMAIN, &digest)],
        parts: study.parts.clone(),
        site: 0,
        shard: study.shard.clone(),
        data_version: [0; 32],
        key,
        source: OsKeyed::new([0; 32]),
        cap: super::parties::cap()?,
    })
}

/// Appends what so many answers leave in a ledger.
fn fill<D: Disk>(study: &LoadStudy, rounds: u64, mut log: Log<D>) -> Result<Log<D>, Box<dyn Error>> {
    let run = study.manifest.run();
    let event = study.parts.built.terms.first().ok_or("there are no terms")?.event.clone();
    let mut previous = log.charges(&run)?.last().ok_or("the account was not opened")?.digest();
    for round in 0..rounds {
        let turn = RunAttempt { run, round, attempt: 0 };
        let record =
            LedgerRecord { sequence: round + 1, previous, entry: privacy::LedgerEntry::Charged(event.clone()) };
        previous = record.digest();
        log.append(&LogEntry::Charge { turn, question: [0; 32], record })?;
        log.append(&LogEntry::Outbox { turn, bytes: vec![7; 4 * NUMBERS] })?;
        log.append(&LogEntry::Settled { turn, applied: vec![7; 4 * NUMBERS] })?;
    }
    Ok(log)
}

/// The last round's answers wait, as they do when a server goes down in the middle of one.
fn server(records: u64, file: &Path) -> Result<(), Box<dyn Error>> {
    let rounds = records.div_ceil(SITES);
    let study = LoadStudy::new(usize::try_from(SITES)?, rounds, NUMBERS)?;
    let (run, key, name) = (study.manifest.run(), study.server.clone(), PartyName::new("server")?);
    let store: Arc<dyn ServerStore> = Arc::from(store::serve(&file.to_string_lossy())?);
    RunEngine::create(&store, study.manifest.clone(), study.parts.clone(), key.clone(), 0)?;
    let saved = store.load(&run)?;
    let grid = study.parts.built.terms.first().ok_or("there are no terms")?.shape.grid();
    let receipt = vec![7; 4 * NUMBERS];
    for round in 0..rounds {
        let last = round + 1 == rounds;
        let change = answers(round, last, grid, &receipt);
        store.commit(&run, round, &saved.header, &change)?;
    }
    drop(store);
    let (before, memory) = (Instant::now(), megabytes("VmRSS"));
    let store: Arc<dyn ServerStore> = Arc::from(store::serve(&file.to_string_lossy())?);
    let engine = RunEngine::open(store, study.manifest.clone(), study.parts.clone(), key, name)?;
    let line = json!({
        "what": "restart of a server", "records": rounds * SITES, "sites": engine.coordinator().header().sites.len(),
        "megabytes": std::fs::metadata(file)?.len() >> 20, "ready_s": before.elapsed().as_secs_f64(),
        "memory_mb": megabytes("VmRSS") - memory, "peak_mb": megabytes("VmHWM"), "load_average": load_average(),
    });
    println!("{line}");
    Ok(())
}

/// A round of answers, folded unless it is the last.
fn answers(round: u64, last: bool, grid: privacy::Grid, receipt: &[u8]) -> Change {
    let at = Attempt { round, attempt: 0 };
    let answer = GridVector::new(grid, vec![1 << 20; NUMBERS]);
    let position = Position { sequence: 3 * round + 3, digest: [0; 32] };
    let update = Update { at, question: [0; 32], answer, position };
    let sites = 0..SITES as usize;
    let accepted = sites.clone().map(|site| AcceptedAnswer { site, update: update.clone(), digest: [0; 32] }).collect();
    let mut change = Change { dirty: true, accepted, ..Change::default() };
    if !last {
        let of = FoldInput::Each(sites.clone().map(|site| (site, at)).collect());
        change.folds = vec![Fold { number: round, round, of }];
        change.receipts = sites.map(|site| AnswerReceipt { site, at, applied: Some(receipt.to_vec()) }).collect();
    }
    change
}
