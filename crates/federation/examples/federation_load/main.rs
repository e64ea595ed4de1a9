//! A server under the load of many agents, and restarts with long ledgers:
//! `cargo run --release -p posterity-federation --example federation_load -- --agents 200 --rounds 20 --numbers 216`.

mod check;
mod load;
mod measure;
mod parties;
mod restart;
mod study;

use parties::AgentKind;
use std::error::Error;
use std::path::Path;

const HELP: &str = "\
usage: federation_load [--agents 200] [--rounds 20] [--numbers 216] [--kind thin | memory | disk] [--store URL]
       federation_load --restart RECORDS
Server and agents are in one process, over TLS on loopback; the store is SQLite in a temporary folder.
thin:   agents sign answers that were made beforehand and keep no ledger: the load of the server by itself
memory: agents as at sites, with ledgers in memory; disk: with ledgers in a temporary folder, synced as at sites
Prints a line of JSON.";

/// What is asked for.
pub(crate) struct LoadArguments {
    agents: usize,
    rounds: u64,
    numbers: usize,
    kind: AgentKind,
    store: Option<String>,
    restart: Option<u64>,
}

impl LoadArguments {
    fn of(words: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut asked =
            Self { agents: 200, rounds: 20, numbers: 216, kind: AgentKind::Thin, store: None, restart: None };
        let mut words = words;
        while let Some(word) = words.next() {
            let value = words.next().ok_or(HELP)?;
            match (word.as_str(), value.as_str()) {
                ("--agents", _) => asked.agents = value.parse()?,
                ("--rounds", _) => asked.rounds = value.parse()?,
                ("--numbers", _) => asked.numbers = value.parse()?,
                ("--kind", "thin") => asked.kind = AgentKind::Thin,
                ("--kind", "memory") => asked.kind = AgentKind::Memory,
                ("--kind", "disk") => asked.kind = AgentKind::Disk,
                ("--store", _) => asked.store = Some(value),
                ("--restart", _) => asked.restart = Some(value.parse()?),
                _ => return Err(HELP.into()),
            }
        }
        Ok(asked)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let asked = LoadArguments::of(std::env::args().skip(1))?;
    let (needed, allowed) = (needed(&asked), measure::open_files());
    if needed > allowed {
        return Err(
            format!("{needed} files are to be open at a time, and {allowed} may be; hint: ulimit -n {needed}").into()
        );
    }
    let folder = std::env::temp_dir().join(format!("posterity-load-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let outcome = run(&asked, &folder);
    std::fs::remove_dir_all(&folder)?;
    outcome
}

fn run(asked: &LoadArguments, folder: &Path) -> Result<(), Box<dyn Error>> {
    match asked.restart {
        Some(records) => restart::run(records, folder),
        None => load::run(asked, folder),
    }
}

/// Both ends of every line are here; a ledger on the disk has two files more.
fn needed(asked: &LoadArguments) -> u64 {
    let each = if asked.kind == AgentKind::Disk { 5 } else { 2 };
    asked.agents as u64 * each + 100
}
