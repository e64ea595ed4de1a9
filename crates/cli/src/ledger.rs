//! `posterity ledger`: what a site's ledger says, and whether it is sound. It is read only, also beside a running agent.

use crate::account_table::{TableRows, lines};
use crate::arguments::LedgerQuestion;
use crate::failure::Failure;
use crate::federation::commands::bundle;
use federation::log::{Account, FILE, FolderView, Log, RunAccount, RunStanding};
use federation::policy::GrantTotals;
use privacy::{FilterMember, MemberGauge, Portfolio, PortfolioAccount, PrivacyError, PromisePair};
use serde_json::{Value, json};
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;
use study::digits::{hexadecimal, shortest, up};

/// The answer, as text or as one object.
pub(crate) fn run(asked: &LedgerQuestion, json: bool) -> Result<String, Failure> {
    let home = match asked {
        LedgerQuestion::Verify { bundle: Some(bundle), .. } => return bundle::verify(bundle, json),
        LedgerQuestion::Show { home } | LedgerQuestion::Verify { home, bundle: None } => home,
    };
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
    let granted = (!account.has_several_pairs()).then(|| account.granted());
    let lifetime = account.cap.map(|cap| Lifetime::of(account, &Portfolio::new(cap)));
    if json {
        let runs = account.runs.iter().zip(&spent).map(|(run, spent)| object(run, *spent));
        let mut object = head(log, account);
        object["runs"] = runs.collect();
        object["granted"] =
            granted.map(|GrantTotals { epsilon, delta }| json!({ "epsilon": limited(epsilon), "delta": delta })).into();
        object["lifetime"] = match &lifetime {
            Some(Ok(lifetime)) => lifetime.object(),
            Some(Err(why)) => json!({ "counts_as": null, "why": why.to_string() }),
            None => Value::Null,
        };
        return Ok(format!("{object}\n"));
    }
    let mut text = String::new();
    for (run, spent) in account.runs.iter().zip(&spent) {
        text.push_str(&lines(&of_run(run, *spent)));
        text.push('\n');
    }
    let mut rows: TableRows = Vec::new();
    if account.runs.len() > 1 && lifetime.is_none() {
        let together = match granted {
            Some(GrantTotals { epsilon, delta }) => {
                format!("{} at δ = {} in all runs together", epsilon_words(epsilon), up(delta))
            }
            None => "no total: the runs have different relations or units, which do not add up".into(),
        };
        rows.push(("granted", together));
    }
    match &lifetime {
        Some(Ok(lifetime)) => rows.extend(lifetime.rows(account)),
        Some(Err(why)) => rows.push(("all runs", format!("no total: {why}"))),
        None => {}
    }
    rows.extend(ends(log, account));
    let _ = write!(text, "{}", lines(&rows));
    Ok(text)
}

/// All runs of a site in the lifetime budget that was in force when the last one was accepted.
struct Lifetime {
    /// With everything that open runs may still charge.
    all: PortfolioAccount,
    /// By what was charged so far.
    charged: PortfolioAccount,
    /// How many more like the last one fit.
    room: Option<u64>,
}

impl Lifetime {
    /// Refused where no theorem converts the promise of one of the runs.
    fn of(account: &Account, portfolio: &Portfolio) -> Result<Self, PrivacyError> {
        let (all, charged) = (account.lifetime(portfolio, None)?, account.charged(portfolio)?);
        Ok(Self { all, charged, room: account.room(portfolio)? })
    }

    fn rows(&self, account: &Account) -> TableRows {
        let cap = self.all.portfolio().cap();
        let (most, delta) = (up(cap.epsilon.get()), up(cap.delta.get()));
        let counts = match self.all.counts_as() {
            Some(gauge) => format!("count as ε = {} of {most} at δ = {delta} (by {})", up(gauge.epsilon), gauge.member),
            None => format!("count as more than any ε; the policy allows {most} at δ = {delta}"),
        };
        let mut rows: TableRows = vec![("all runs", format!("{counts}, {}", cap.pair))];
        let gauges = self.all.gauges();
        let shown = [FilterMember::Gdp, FilterMember::Renyi, FilterMember::AddedUp];
        let of = |member: FilterMember| gauges.iter().find(|gauge| gauge.member == member);
        let words = |gauge: &MemberGauge| format!("{} {}", gauge.member, gauge_words(gauge.epsilon));
        let others: Vec<String> = shown.into_iter().filter_map(of).map(words).collect();
        let GrantTotals { epsilon, .. } = account.granted();
        rows.push(("", format!("{}; sum of the grants {}", others.join(", "), gauge_words(epsilon))));
        if let (Some(open), Some(now)) = (self.all.counts_as(), self.charged.counts_as())
            && open.epsilon > now.epsilon
        {
            rows.push(("reserved", format!("by open runs; what was charged so far counts as ε = {}", up(now.epsilon))));
        }
        rows.extend(self.room.map(|room| ("room", format!("for {room} more runs like the last, one after the other"))));
        rows
    }

    fn object(&self) -> Value {
        let cap = self.all.portfolio().cap();
        let gauges =
            self.all.gauges().into_iter().map(|gauge| (gauge.member.to_string(), json!(limited(gauge.epsilon))));
        json!({
            "max_epsilon": cap.epsilon.get(),
            "max_delta": cap.delta.get(),
            "adjacency": cap.pair.adjacency.to_string(),
            "unit": cap.pair.unit.to_string(),
            "counts_as": self.all.counts_as().map(|gauge| gauge.epsilon),
            "charged_counts_as": self.charged.counts_as().map(|gauge| gauge.epsilon),
            "members": gauges.collect::<serde_json::Map<_, _>>(),
            "room_for_more_like_the_last": self.room,
        })
    }
}

/// A member's number; none where it does not cover a run, or has no δ left.
fn gauge_words(epsilon: f64) -> String {
    if epsilon.is_finite() { up(epsilon) } else { "no bound".into() }
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
