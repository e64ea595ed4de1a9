//! `posterity agent withdraw`: a site leaves a run by its own ledger, also while the server is away.

use crate::failure::Failure;
use crate::federation::net::{failure, home};
use federation::log::{Account, FolderDisk, Log, LogEntry, LogError, RunAccount, RunStanding};
use serde_json::json;
use std::path::Path;
use study::digits::hexadecimal;

/// First digits that choose a run: with fewer a slip of the hand would leave whatever run there is.
const FEWEST_DIGITS: usize = 8;

/// Closes the one open run whose name begins so. The ledger has one writer: the agent has to be stopped.
pub(crate) fn run(digits: &str, folder: &Path, json: bool) -> Result<String, Failure> {
    let home = home(folder)?;
    let mut log = Log::open(FolderDisk::open(&home.folder().join("ledger")).map_err(LogError::from)?)?;
    let account = Account::of(&log)?;
    let run = open_run(digits, &account)?;
    let (run, charges) = (run.run, run.charges);
    log.append(&LogEntry::Closed { run })?;
    let name = hexadecimal(&run);
    Ok(match json {
        true => format!("{}\n", json!({ "withdrawn": name, "charges": charges })),
        false => format!(
            "withdrawn from run {name}\nit counts with its {charges} charges from now on; what it had reserved beyond them is free\n\
             no answer will be made any more; those that were made before stay in the posterior, or may still arrive\n"
        ),
    })
}

/// The one open run whose name begins so.
fn open_run<'a>(digits: &str, account: &'a Account) -> Result<&'a RunAccount, Failure> {
    let wanted = digits.to_ascii_lowercase();
    let open: Vec<&RunAccount> = account.runs.iter().filter(|run| run.standing == RunStanding::Open).collect();
    let is_meant = |run: &&&RunAccount| wanted.len() >= FEWEST_DIGITS && hexadecimal(&run.run).starts_with(&wanted);
    let found: Vec<&&RunAccount> = open.iter().filter(is_meant).collect();
    if let [run] = found.as_slice() {
        return Ok(**run);
    }
    let message = match found.len() {
        _ if wanted.len() < FEWEST_DIGITS => {
            format!("found {} digits of a run, expected at least {FEWEST_DIGITS}", wanted.len())
        }
        0 => format!("this site has no open run whose name begins with {digits:?}"),
        several => format!("{several} open runs of this site have names that begin with {digits:?}"),
    };
    let names: Vec<String> = open.iter().map(|run| hexadecimal(&run.run)).collect();
    let hint = match names.is_empty() {
        true => "no run is open; `posterity ledger show` lists all runs".to_owned(),
        false => format!("open runs: {}", names.join(", ")),
    };
    Err(failure("F210", message, hint))
}
