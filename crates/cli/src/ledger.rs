//! `posterity ledger`: what a site's ledger says, and whether it is sound. It is read only, also beside a running agent.

use crate::account_table::{TableRows, lines};
use crate::arguments::LedgerQuestion;
use crate::failure::Failure;
use federation::log::{Account, FILE, FolderView, Log, RunAccount, RunStanding};
use federation::policy::{GrantTotals, PromisePair, PromiseScope};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;
use study::digits::{hexadecimal, shortest, up};

/// The answer, as text or as one object.
pub(crate) fn run(asked: &LedgerQuestion, json: bool) -> Result<String, Failure> {
    let (LedgerQuestion::Show { home } | LedgerQuestion::Verify { home }) = asked;
    let log = view(home)?;
    let account = Account::of(&log)?;
    match asked {
        LedgerQuestion::Show { .. } => show(&log, &account, json),
        LedgerQuestion::Verify { .. } => verify(&log, &account, json),
    }
}

/// The ledger of a home, with every record checked.
fn view(home: &Path) -> Result<Log<FolderView>, Failure> {
    let folder = home.join("ledger");
    match std::fs::metadata(folder.join(FILE)) {
        Ok(found) if found.is_file() => {}
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(Failure::file("cannot read", &folder, error));
        }
        _ => return Err(Failure::NoLedger { path: folder.display().to_string() }),
    }
    Ok(Log::view(FolderView::open(&folder).map_err(federation::log::LogError::from)?)?)
}

/// Replays every run's account, and reads what the site remembers: of runs that the ledger has, and of no others.
fn verify(log: &Log<FolderView>, account: &Account, json: bool) -> Result<String, Failure> {
    for run in &account.runs {
        run.replay()?;
    }
    let remembered = log.check_snapshots()?;
    if json {
        let mut object = head(log, account);
        object["sound"] = true.into();
        object["runs"] = account.runs.len().into();
        object["vaults"] = remembered.into();
        return Ok(format!("{object}\n"));
    }
    let records = account.head.sequence;
    let charges: u64 = account.runs.iter().map(|run| run.charges).sum();
    let mut rows: TableRows = vec![
        ("sound", format!("{records} records, each with its checksum and linked to the one before")),
        ("", format!("{} runs with {charges} charges, replayed within their grants", account.runs.len())),
        ("", format!("{remembered} files of what the site remembers, none ahead of the ledger")),
    ];
    rows.extend(ends(log, account));
    Ok(lines(&rows))
}

/// One line a run, then the sums and the last record.
fn show(log: &Log<FolderView>, account: &Account, json: bool) -> Result<String, Failure> {
    let spent = account.runs.iter().map(RunAccount::spent).collect::<Result<Vec<f64>, _>>()?;
    let GrantTotals { epsilon, delta, promised } = account.granted();
    let adds_up = promised != PromiseScope::Several;
    if json {
        let runs = account.runs.iter().zip(&spent).map(|(run, spent)| object(run, *spent));
        let mut object = head(log, account);
        object["runs"] = runs.collect();
        object["granted"] = adds_up.then(|| json!({ "epsilon": limited(epsilon), "delta": delta })).into();
        return Ok(format!("{object}\n"));
    }
    let mut text = String::new();
    for (run, spent) in account.runs.iter().zip(&spent) {
        text.push_str(&lines(&of_run(run, *spent)));
        text.push('\n');
    }
    let mut rows: TableRows = Vec::new();
    if account.runs.len() > 1 {
        let together = match adds_up {
            true => format!("{} at δ = {} in all runs together", epsilon_words(epsilon), up(delta)),
            false => "no total: the runs have different relations or units, which do not add up".into(),
        };
        rows.push(("granted", together));
    }
    rows.extend(ends(log, account));
    let _ = write!(text, "{}", lines(&rows));
    Ok(text)
}

fn of_run(run: &RunAccount, spent: f64) -> TableRows {
    let granted = format!("{} at δ = {}", epsilon_words(run.epsilon), shortest(run.delta));
    let promise = run.promise().map_or_else(
        || "none on record yet".into(),
        |PromisePair { adjacency, unit }| format!("neighbours by {adjacency} of one {unit}"),
    );
    let standing = match run.standing {
        RunStanding::Open => "open",
        RunStanding::Closed => "closed",
    };
    vec![
        ("run", format!("{} ({standing})", hexadecimal(&run.run))),
        ("manifest", hexadecimal(&run.manifest)),
        ("granted", granted),
        ("spent", format!("at most {} at the same δ, by what was charged", epsilon_words(spent))),
        ("promise", promise),
        ("charges", format!("{}, of which {} burnt: charged, and no answer made", run.charges, run.burnt)),
        ("answers", answers(run)),
    ]
}

/// What became of answers. The server says it of single ones; of a secure sum, the nodes.
fn answers(run: &RunAccount) -> String {
    match run.contributed {
        0 => format!("{} in a total, {} in none", run.settled, run.lapsed),
        held => format!("{held} held by all nodes of their secure sums"),
    }
}

/// The last record, and what comes after it.
fn ends(log: &Log<FolderView>, account: &Account) -> TableRows {
    let mut rows: TableRows = account.owner.iter().map(|owner| ("site", owner.clone())).collect();
    rows.push(("last record", format!("{} {}", account.head.sequence, hexadecimal(&account.head.digest))));
    if log.torn() > 0 {
        rows.push((
            "torn end",
            format!("{} bytes after it are no record: an agent writes one now, or was", log.torn()),
        ));
        rows.push(("", "stopped while it did, and will cut them off when it starts".into()));
    }
    rows
}

fn head(log: &Log<FolderView>, account: &Account) -> Value {
    let last = json!({ "sequence": account.head.sequence, "digest": hexadecimal(&account.head.digest) });
    json!({ "site": account.owner, "last_record": last, "torn_bytes": log.torn() })
}

fn object(run: &RunAccount, spent: f64) -> Value {
    let (adjacency, unit) = run.promise().map(|pair| (pair.adjacency, pair.unit)).unzip();
    json!({
        "run": hexadecimal(&run.run),
        "manifest": hexadecimal(&run.manifest),
        "open": run.standing == RunStanding::Open,
        "granted": { "epsilon": limited(run.epsilon), "delta": run.delta },
        "spent": { "epsilon": limited(spent), "delta": run.delta },
        "adjacency": adjacency.map(|a| a.to_string()),
        "unit": unit.map(|u| u.to_string()),
        "charges": run.charges,
        "burnt": run.burnt,
        "contributed": run.contributed,
        "settled": run.settled,
        "lapsed": run.lapsed,
    })
}

fn epsilon_words(epsilon: f64) -> String {
    if epsilon.is_finite() { format!("ε = {}", up(epsilon)) } else { "ε without a limit".into() }
}

/// JSON has no infinity: none is "without a limit".
fn limited(epsilon: f64) -> Option<f64> {
    epsilon.is_finite().then_some(epsilon)
}
