//! The home of an owner: keys, limits, the ledger of all fits, and what is known of a fit that is not finished.

use super::FitError;
use super::prepare::PreparedFit;
use crate::identity::{
    FileError, Home, HomeError, PartyRole, Readers, is_there, private_folder, read_private, remove, replace,
};
use crate::log::{Disk, FILE as LEDGER, FolderDisk, ListedDisk, Log, LogError, RunId, run_of};
use crate::policy::{GrantTotals, Policy};
use inference::settings::Promise;
use privacy::Unit;
use privacy::noise::Digest;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use study::digits::{down, hexadecimal, shortest, up_to};

/// The limits of a home. Where it stands beside a key, the folder is the home of an owner and not of a site.
const LIMITS: &str = "fit.toml";

/// What is known of a fit that has not written its results yet.
const UNFINISHED: &str = "unfinished.json";

/// Fits like the first that the limits of a new home allow at least.
const ALLOWED: usize = 3;

/// An open home. No other process has it.
pub(super) struct FitHome {
    pub(super) home: Home,
    pub(super) policy: Policy,
}

/// A fit whose results are not written yet. It has a digest of the rows, and never leaves the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnfinishedFit {
    /// For people who find the file.
    what: String,
    /// The run, in hexadecimal digits.
    run: String,
    /// Digest of the table and its schema, in hexadecimal digits.
    data: String,
}

impl UnfinishedFit {
    /// A fit that begins.
    pub(super) fn new(run: &RunId, data: &Digest) -> Self {
        let what = "A fit that has not written its results yet. Private: do not publish this file.".to_owned();
        Self { what, run: hexadecimal(run), data: hexadecimal(data) }
    }

    /// Whether it is this run.
    pub(super) fn is_run(&self, run: &RunId) -> bool {
        self.run == hexadecimal(run)
    }

    /// Whether it is of these data.
    pub(super) fn is_of(&self, data: &Digest) -> bool {
        self.data == hexadecimal(data)
    }
}

impl FitHome {
    /// Whether there is no home in this folder yet.
    pub(super) fn is_new(folder: &Path) -> Result<bool, FitError> {
        Ok(!there(&folder.join(LIMITS))?)
    }

    /// Refuses a first fit that no limits of a home could allow, before there is a home.
    pub(super) fn check_first(fit: &PreparedFit) -> Result<(), FitError> {
        let (_, delta) = fit.granted();
        // Limits leave four times the δ of a fit to all fits together.
        if 4.0 * delta < most_delta(fit) {
            return Ok(());
        }
        let (delta, rows, method) = (shortest(delta), fit.rows, &fit.parts.method);
        let units = if method.unit() == Unit::Person { "persons" } else { "rows" };
        let message = format!(
            "δ = {delta} of method {:?} is not less than 1 / {}, a quarter of one over the {rows} {units} of the table",
            method.name,
            rows.saturating_mul(4)
        );
        let hint = "write a much smaller δ, such as delta = 1e-5: δ of all fits together has to stay under one over that number";
        Err(FitError::refused("F121", message, hint))
    }

    /// Opens the home with its ledger, or makes one whose limits allow three fits like this one.
    ///
    /// A home is made under the lock of its ledger: the ledger first, then keys, and the limits last. One that has no limits and no
    /// record yet was interrupted while it was made. One whose ledger is gone is refused, for nobody knows what it has spent.
    pub(super) fn open(folder: &Path, fit: &PreparedFit) -> Result<(Self, Log<FolderDisk>), FitError> {
        let ledger = folder.join("ledger");
        if Self::is_new(folder)? && Home::is_in(folder)? && !there(&ledger.join(LEDGER))? {
            return Err(no_home_of_an_owner(folder));
        }
        private_folder(folder).map_err(HomeError::from)?;
        let disk = FolderDisk::open(&ledger).map_err(LogError::from)?;
        let (is_new, is_home) = (Self::is_new(folder)?, Home::is_in(folder)?);
        let is_used = !is_new || is_home || there(&folder.join(UNFINISHED))? || has_snapshots(&disk)?;
        let bytes = disk.read(LEDGER).map_err(LogError::from)?;
        if is_used && bytes.is_none_or(|bytes| bytes.is_empty()) {
            return Err(lost_ledger(folder));
        }
        let log = Log::open(disk)?;
        log.check_snapshots()?;
        let has_records = log.head().sequence > 0;
        if is_new && is_home && has_records {
            return Err(no_home_of_an_owner(folder));
        }
        let home = match is_home || has_records {
            // The keys of a ledger with records are not made anew: somebody has lost them.
            true => Home::open(folder)?,
            false => Home::create(folder, PartyRole::Site)?,
        };
        let limits = folder.join(LIMITS);
        if is_new {
            replace(&limits, limits_of(fit).as_bytes(), Readers::Owner).map_err(HomeError::from)?;
        }
        let text = read_private(&limits).map_err(HomeError::from)?;
        let policy = Policy::read(&String::from_utf8_lossy(&text)).map_err(|error| {
            let hint = "correct the line; max_epsilon and max_delta are the limits of all fits of this home together";
            FitError::refused(error.code(), format!("{}: {error}", limits.display()), hint)
        })?;
        Ok((Self { home, policy }, log))
    }

    /// The fit whose results are not written yet. A file that cannot be read counts as none.
    pub(super) fn unfinished(&self) -> Result<Option<UnfinishedFit>, FitError> {
        match read_private(&self.home.folder().join(UNFINISHED)) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(HomeError::from(error).into()),
        }
    }

    /// Keeps, durably, which fit begins.
    pub(super) fn begin(&self, fit: &UnfinishedFit) -> Result<(), FitError> {
        let text = serde_json::to_vec_pretty(fit).unwrap_or_default();
        Ok(replace(&self.home.folder().join(UNFINISHED), &text, Readers::Owner).map_err(HomeError::from)?)
    }

    /// No fit is unfinished.
    pub(super) fn end(&self) -> Result<(), FitError> {
        Ok(remove(&self.home.folder().join(UNFINISHED)).map_err(HomeError::from)?)
    }
}

/// Refuses a home inside the folder that may be published, and results inside the home.
pub(super) fn check_apart(home: &Path, out: &Path) -> Result<(), FitError> {
    let (real_home, real_out) = (resolved(home), resolved(out));
    if !real_home.starts_with(&real_out) && !real_out.starts_with(&real_home) {
        return Ok(());
    }
    Err(FitError::refused(
        "F126",
        format!("the home {} and the results {} are in one folder", home.display(), out.display()),
        "give --home and --out folders of which neither is inside the other: the home is private, and the results may be published",
    ))
}

/// The path without links, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let real = |part: &Path| Some((part.canonicalize().ok()?, path.strip_prefix(part).ok()?.to_owned()));
    path.ancestors().find_map(real).map_or_else(|| path.clone(), |(real, rest)| real.join(rest))
}

/// Whether a fit has left what a site remembers in a run.
fn has_snapshots(disk: &FolderDisk) -> Result<bool, FitError> {
    let names = disk.names().map_err(LogError::from)?;
    Ok(names.iter().any(|name| run_of(name).is_some()))
}

fn no_home_of_an_owner(folder: &Path) -> FitError {
    FitError::refused(
        "F122",
        format!("{} is the home of a federation's party, or its {LIMITS} is missing", folder.display()),
        "choose a new folder for this table; a home that lost the file gets it back from a backup",
    )
}

fn lost_ledger(folder: &Path) -> FitError {
    FitError::refused(
        "F125",
        format!("the ledger of {} is missing or empty, and other files there show that it had one", folder.display()),
        "restore the whole home from its newest backup. Without one, this home cannot be used again: the published results.json of \
         each earlier fit says what it was granted, and the next home must allow that much less",
    )
}

fn there(path: &Path) -> Result<bool, FitError> {
    is_there(path).map_err(|error: FileError| HomeError::from(error).into())
}

/// δ of all fits together has to stay under this number: one over the number of rows or persons, where these are protected, and 1.
fn most_delta(fit: &PreparedFit) -> f64 {
    let by_client = fit.parts.method.unit() == Unit::Client;
    if by_client { 1.0 } else { (fit.rows.max(1) as f64).recip().min(1.0) }
}

/// A sum of budgets as a limit that people read: in three digits, rounded upwards, where it has many.
fn limit(sum: f64) -> f64 {
    if shortest(sum).len() <= 8 { sum } else { up_to(sum, 3).parse().unwrap_or(sum) }
}

/// The limit on δ of all fits: room for this one and, where that is under [`most_delta`], for all that a new home allows.
fn delta_limit(sum: f64, fit: &PreparedFit) -> f64 {
    let (limit, most) = (limit(sum), most_delta(fit));
    if limit < most { limit } else { down(most.next_down()).parse::<f64>().unwrap_or(0.0).max(4.0 * fit.granted().1) }
}

/// The limits of a new home, in the language of a site's policy.
fn limits_of(fit: &PreparedFit) -> String {
    let (epsilon, delta) = fit.granted();
    let most = (0..ALLOWED).fold(GrantTotals::NOTHING, |total, _| total.and(epsilon, delta));
    // Simple composition has a quarter of δ, so that it admits the fits whatever their mechanism is.
    let most_delta = 4.0 * most.delta;
    let pair = |word: fn(&Promise) -> String| fit.parts.method.promise.as_ref().map_or_else(String::new, word);
    let (adjacency, unit) = (pair(|p| p.adjacency.to_string()), pair(|p| p.unit.to_string()));
    format!(
        r#"# The home of `posterity fit` for the table of one owner. It holds the owner's keys and the ledger of every fit of this table.
# Keep it private and back it up as a whole. Use it for this table only, and use no other home for the table: the budgets of two
# homes do not know of each other.
schema = 2

# The total budget of all fits, for the whole life of the table. A finished fit counts with what it charged, and fits count together
# as less than the sum of their ε where their noise allows it. These numbers allow at least three fits like the first, if their δ
# leave max_delta under 1 / rows. Raise them as far as you can justify to the people in the rows.
max_epsilon = {:?}
max_delta = {:?}

# The relation and the unit of the promise. Costs for other pairs do not add up with it: a fit with another pair is refused, unless
# a theorem converts it.
adjacency = "{adjacency}"
unit = "{unit}"

# As in a site's policy (`posterity agent policy init`). There is one owner, who approves a fit by starting it.
allowed_models = "any"
allowed_columns = "any"
minimum_rows = 1
minimum_sites = 1
require_secure_sum = false
approval = "automatic"
"#,
        limit(most.epsilon),
        delta_limit(most_delta, fit)
    )
}
