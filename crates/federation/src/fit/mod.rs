//! One owner's table, fitted with a promise: the agent's gate and ledger in one process, without a federation.
//!
//! [`fit`] draws its noise from the operating system and charges a durable ledger in the owner's home. The order is that of an
//! agent: limits, charge on the disk, noise key, answer, answer on the disk, update. A crash burns one charge at most and never
//! reuses noise; the same call goes on from what the disk holds. What is written for publication is made by [`publish`] from
//! releases and public numbers: that module never sees a row.

mod baselines;
mod error;
mod home;
mod prepare;
mod publish;
mod run;

pub use baselines::NOT_FOR_PUBLICATION;
pub use error::FitError;

use crate::agent::AgentOpening;
use crate::log::{Account, FolderDisk, Log, LogEntry, RunId, RunStanding};
use crate::manifest::{self, Manifest};
use crate::message::RunOutcome;
use crate::policy::GrantTotals;
use crate::studies::check_room;
use home::{FitHome, UnfinishedFit};
use inference::RunError;
use inference::warning::Warning;
use inference::warning::rows::repeated_persons_unnumbered;
use prepare::PreparedFit;
use privacy::LifetimeCap;
use privacy::noise::OsKeyed;
use publish::Release;
use run::FitRun;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use study::{FitLifetime, FitResults, Folders, Made, Study};

/// What is to be fitted, and where.
#[derive(Debug, Clone, Copy)]
pub struct FitRequest<'a> {
    /// The study. Its `[partition]`, split and seeds of simulations have no meaning here: all rows are fitted.
    pub study: &'a Study,
    /// Where the files that the study names are looked for.
    pub folders: &'a Folders,
    /// The table, in place of the study's source.
    pub table: Option<&'a Path>,
    /// The owner's home, with keys and ledger; made if it is not there.
    pub home: &'a Path,
    /// Where the results go.
    pub out: &'a Path,
    /// The method; without a name, the study's first with a promise.
    pub method: Option<&'a str>,
    /// When and by which program the results are written.
    pub made: &'a Made,
    /// Whether scores and baselines are written too, into a file that is not for publication.
    pub baselines: bool,
}

/// A finished fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// What was published.
    pub results: FitResults,
    /// The folder that may be published: results, report, posterior and draws.
    pub out: PathBuf,
    /// The file that must not be published, if it was asked for.
    pub not_for_publication: Option<PathBuf>,
}

/// What the owner should know while a fit goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FitNote {
    /// An earlier call was interrupted; the fit goes on after so many rounds.
    Resumed {
        /// Rounds that were made before.
        rounds: u64,
    },
    /// An unfinished fit of another study or table, or of another version of the program, is given up. Its grant stays counted.
    GivenUp,
    /// An interruption has burnt a charge that the method cannot do without; the fit begins anew, with a grant of its own.
    BeginsAnew,
    /// What the ledger will have after this fit, before anything of it is charged.
    Granted(FitLifetime),
}

/// Who watches a fit, and may stop it. `()` does neither.
pub trait FitObserver {
    /// Something that the owner should know.
    fn note(&self, _note: FitNote) {}
    /// A warning that is computed from the rows: for the owner's eyes alone, before anything is charged.
    fn warn(&self, _warning: &Warning) {}
    /// Cells of one column that the schema does not allow, and what they count as: for the owner's eyes alone, too.
    fn mapped(&self, _cells: &str) {}
    /// So many rounds of so many are made.
    fn round(&self, _round: u64, _of: u64) {}
    /// Whether to stop between two rounds.
    fn stops(&self) -> bool {
        false
    }
}

impl FitObserver for () {}

/// Fits a table with the noise of the operating system, and writes what may be published.
///
/// A second call on the same home is charged on top, unless the first was interrupted: then it is taken up where it stopped, if
/// study, table and program are the same.
///
/// # Errors
/// [`FitError`]. Before the first charge: a study, table, home or folder that cannot be used, and limits that do not allow the
/// fit. After it: a disk that fails, or an observer that stops the fit; the same call goes on from there.
pub fn fit(request: &FitRequest<'_>, observer: &dyn FitObserver) -> Result<Fitted, FitError> {
    fit_with(request, observer, &|secret| OsKeyed::new(*secret))
}

/// The same with seeded noise, for tests: nothing that it writes is private.
#[cfg(feature = "rehearsal")]
pub fn rehearse(request: &FitRequest<'_>, observer: &dyn FitObserver, seed: u64) -> Result<Fitted, FitError> {
    fit_with(request, observer, &|_| OsKeyed::rehearsing(seed))
}

/// Makes a source of noise from the home's secret.
type NoiseOf<'a> = &'a dyn Fn(&[u8; 32]) -> OsKeyed;

fn fit_with(request: &FitRequest<'_>, observer: &dyn FitObserver, noise: NoiseOf<'_>) -> Result<Fitted, FitError> {
    home::check_apart(request.home, request.out)?;
    let prepared = PreparedFit::of(request)?;
    if prepared.repeated.is_some() {
        observer.warn(&repeated_persons_unnumbered());
    }
    prepared.mapped.iter().for_each(|cells| observer.mapped(cells));
    if FitHome::is_new(request.home)? {
        FitHome::check_first(&prepared)?;
        check_room(request.out, None)?;
    }
    let (home, mut log) = FitHome::open(request.home, &prepared)?;
    let mut begun = resumable(request, &prepared, &home, &mut log, observer)?;
    // A charge that cannot be done without is burnt once at most: the second run is not interrupted by this process.
    loop {
        let resumed = begun.is_some();
        let manifest = match begun.take() {
            Some(manifest) => manifest,
            None => begin(request, &prepared, &home, &log, observer)?,
        };
        let cap = home.policy.cap(&Account::of(&log)?).map_err(RunError::from)?;
        let opening = opening(&manifest, &prepared, &home, noise, cap)?;
        let mut run = FitRun::open(opening, log)?;
        if resumed {
            observer.note(FitNote::Resumed { rounds: run.rounds() });
        }
        let outcome = run.drive(observer)?;
        if is_whole(&run, outcome) {
            return finish(request, &prepared, &home, run);
        }
        home.end()?;
        if outcome == RunOutcome::Failed {
            return Err(RunError::Diverged.into());
        }
        if !resumed {
            let what = "the run ended without an update to serve".to_owned();
            return Err(RunError::Unusable { what }.into());
        }
        observer.note(FitNote::BeginsAnew);
        log = run.agent.into_log();
    }
}

/// The manifest of an unfinished fit of the same study, table and program; one of another is given up.
fn resumable(
    request: &FitRequest<'_>,
    prepared: &PreparedFit,
    home: &FitHome,
    log: &mut Log<FolderDisk>,
    observer: &dyn FitObserver,
) -> Result<Option<Arc<Manifest>>, FitError> {
    let Some(unfinished) = home.unfinished()? else { return Ok(None) };
    let Some((run, kept)) = accepted(log, &unfinished)? else { return Ok(None) };
    let same = match &kept {
        Some(kept) if unfinished.is_of(&prepared.data_version) => {
            prepared.manifest(request.study, home.home.key(), kept.nonce)? == *kept
        }
        _ => false,
    };
    if let Some(kept) = kept.filter(|_| same) {
        check_room(request.out, Some(&run))?;
        return Ok(Some(Arc::new(kept)));
    }
    observer.note(FitNote::GivenUp);
    home.end()?;
    log.append(&LogEntry::Closed { run })?;
    Ok(None)
}

/// The run of an unfinished fit, if its acceptance is on record, and its manifest, if this program can read it.
fn accepted(log: &Log<FolderDisk>, unfinished: &UnfinishedFit) -> Result<Option<(RunId, Option<Manifest>)>, FitError> {
    let mut found = None;
    log.scan(&mut |_, entry| {
        if let LogEntry::Accepted { run, bytes, .. } | LogEntry::AcceptedGrant { run, bytes, .. } = entry
            && unfinished.is_run(run)
        {
            let manifest = postcard::take_from_bytes::<Vec<u8>>(bytes).ok();
            found = Some((*run, manifest.and_then(|(manifest, _)| Manifest::read(&manifest).ok())));
        }
    })?;
    Ok(found)
}

/// A new fit: room for its results, the limits of the home, and which fit it is, durable.
fn begin(
    request: &FitRequest<'_>,
    prepared: &PreparedFit,
    home: &FitHome,
    log: &Log<FolderDisk>,
    observer: &dyn FitObserver,
) -> Result<Arc<Manifest>, FitError> {
    check_room(request.out, None)?;
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|_| crate::identity::HomeError::Randomness)?;
    let manifest = prepared.manifest(request.study, home.home.key(), nonce)?;
    let account = Account::of(log)?;
    home.policy.check(&manifest, &prepared.parts, 0, &account)?;
    observer.note(FitNote::Granted(lifetime(&account, &manifest.run(), prepared.granted())));
    home.begin(&UnfinishedFit::new(&manifest.run(), &prepared.data_version))?;
    Ok(Arc::new(manifest))
}

/// What all fits of the home were granted, with this one, by basic composition.
fn lifetime(account: &Account, run: &RunId, (epsilon, delta): (f64, f64)) -> FitLifetime {
    let others = account.runs.iter().filter(|other| other.run != *run);
    let before = others.clone().fold(GrantTotals::NOTHING, |sum, other| sum.and(other.epsilon, other.delta));
    let after = before.and(epsilon, delta);
    FitLifetime {
        earlier_fits: others.count() as u64,
        earlier_epsilon: before.epsilon,
        earlier_delta: before.delta,
        epsilon: after.epsilon,
        delta: after.delta,
    }
}

fn opening(
    manifest: &Arc<Manifest>,
    prepared: &PreparedFit,
    home: &FitHome,
    noise: NoiseOf<'_>,
    cap: LifetimeCap,
) -> Result<AgentOpening, FitError> {
    let key = home.home.key().clone();
    let signature = key.sign(manifest::DOMAIN, &manifest.digest());
    let source = noise(home.home.noise_secret()?);
    let (manifest, parts, shard) = (manifest.clone(), prepared.parts.clone(), prepared.shard.clone());
    let signatures = vec![signature.clone(), signature];
    Ok(AgentOpening {
        manifest,
        signatures,
        parts,
        site: 0,
        shard,
        data_version: prepared.data_version,
        key,
        source,
        cap,
    })
}

/// Whether what the run has left is a posterior of the method: all its first looks and one update at least are in it.
fn is_whole(run: &FitRun, outcome: RunOutcome) -> bool {
    let openings = run.coordinator.parts().built.openings.first();
    let looks: u64 = openings.into_iter().flatten().map(|opening| opening.answers).sum();
    match outcome {
        RunOutcome::Complete => true,
        RunOutcome::Failed => false,
        RunOutcome::Spent | RunOutcome::QuorumLost | RunOutcome::SumFailed(_) => run.rounds() > looks,
    }
}

/// Writes what may be published, then what may not, and takes the fit off the list of unfinished ones.
fn finish(request: &FitRequest<'_>, prepared: &PreparedFit, home: &FitHome, run: FitRun) -> Result<Fitted, FitError> {
    let manifest = run.coordinator.manifest().clone();
    let account = Account::of(run.agent.log())?;
    let own = account.run(&manifest.run()).filter(|own| own.standing == RunStanding::Closed);
    let missing = || RunError::Unusable { what: "the ledger does not say that the run is over".into() };
    let own = own.ok_or_else(missing)?;
    let lifetime = lifetime(&account, &manifest.run(), prepared.granted());
    let (rounds, before) = (run.rounds(), run.before().map(<[f64]>::to_vec));
    let state = run.coordinator.state().to_vec();
    let release = Release {
        study: request.study,
        manifest: &manifest,
        parts: &prepared.parts,
        state: &state,
        rounds,
        before: before.as_deref(),
        granted: prepared.granted(),
        account: own,
        lifetime,
        made: request.made,
    };
    let written = release.publish(request.out, run.drawn).and_then(|results| {
        let private = match request.baselines {
            true => Some(baselines::write(request, prepared, &state)?),
            false => baselines::remove_stale(request.out).map(|()| None)?,
        };
        Ok((results, private))
    });
    // What has no posterior now has none the next time: only a disk is worth another attempt.
    if !written.as_ref().is_err_and(FitError::is_of_disk) {
        home.end()?;
    }
    let (results, not_for_publication) = written?;
    Ok(Fitted { results, out: request.out.to_owned(), not_for_publication })
}
