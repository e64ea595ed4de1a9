//! What the dashboard shows from the first moment: who has yet to join, the runs that are kept, and then the run that is served.

use super::run_monitor::{RunMonitor, phase};
use federation::dashboard::{CertificateView, DashboardSource, RunDetail, RunPhase, RunSummary, RunView};
use federation::log::RunId;
use federation::manifest::Manifest;
use federation::store::{RunRow, ServerStore};
use federation::studies::Studies;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use study::digits::hexadecimal;
use tokio::sync::watch;

/// How old the list of runs may be.
const FRESH: Duration = Duration::from_secs(5);

/// Most runs in the list, the latest ones.
const MOST: usize = 200;

/// A run that there will be.
pub(super) struct ServerSource {
    store: Arc<dyn ServerStore>,
    studies: Studies,
    run: OnceLock<Arc<RunMonitor>>,
    seen: Mutex<ListCache>,
    risen: watch::Sender<u64>,
}

/// What was looked up a moment ago.
#[derive(Default)]
struct ListCache {
    waiting: Option<String>,
    listed: Option<(Instant, Vec<RunSummary>)>,
    /// Runs that are over do not change any more.
    over: BTreeMap<RunId, RunSummary>,
}

impl ServerSource {
    pub(super) fn new(store: Arc<dyn ServerStore>, studies: Studies) -> Self {
        Self { store, studies, run: OnceLock::new(), seen: Mutex::default(), risen: watch::channel(0).0 }
    }

    /// Says who is waited for.
    pub(super) fn wait_for(&self, names: Option<String>) {
        self.seen().waiting = names;
        self.risen.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// From now on the run is shown; who looks already hears of it and of its changes.
    pub(super) fn show(&self, run: Arc<RunMonitor>) {
        let mut changes = run.changes();
        if self.run.set(run).is_err() {
            return;
        }
        self.wait_for(None);
        let risen = self.risen.clone();
        tokio::spawn(async move {
            loop {
                risen.send_modify(|count| *count = count.wrapping_add(1));
                if changes.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn seen(&self) -> MutexGuard<'_, ListCache> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All runs of the store, the latest first, as they were known a moment ago.
    fn kept(&self) -> Vec<RunSummary> {
        let mut seen = self.seen();
        if let Some((at, listed)) = &seen.listed
            && at.elapsed() < FRESH
        {
            return listed.clone();
        }
        let rows = self.store.runs().unwrap_or_default();
        let listed: Vec<RunSummary> =
            rows.iter().take(MOST).filter_map(|row| self.summary(row, &mut seen.over)).collect();
        seen.listed = Some((Instant::now(), listed.clone()));
        listed
    }

    fn summary(&self, row: &RunRow, over: &mut BTreeMap<RunId, RunSummary>) -> Option<RunSummary> {
        if let Some(known) = over.get(&row.run) {
            return Some(known.clone());
        }
        let manifest = Manifest::read(&row.manifest).ok()?;
        let header = self.store.load(&row.run).ok()?.header;
        let summary = RunSummary {
            id: hexadecimal(&row.run),
            name: self.studies.of(&manifest).map_or_else(|_| String::new(), |study| study.name),
            method: manifest.method.clone(),
            phase: phase(&header.phase, &manifest),
            round: header.round,
            rounds: manifest.pace.rounds,
            sites: manifest.sites.len(),
            started: row.created,
            detail: RunDetail::Line,
        };
        if matches!(summary.phase, RunPhase::Finished(_)) {
            over.insert(row.run, summary.clone());
        }
        Some(summary)
    }
}

impl DashboardSource for ServerSource {
    fn runs(&self) -> Vec<RunSummary> {
        let mut runs = self.kept();
        if let Some(current) = self.run.get().map(|run| run.summary()) {
            match runs.iter_mut().find(|run| run.id == current.id) {
                Some(kept) => *kept = current,
                None => runs.insert(0, current),
            }
        }
        runs
    }

    fn waiting(&self) -> Option<String> {
        self.seen().waiting.clone()
    }

    fn run(&self, id: &str) -> Option<RunView> {
        self.run.get()?.run(id)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.risen.subscribe()
    }

    fn posterior_json(&self, id: &str) -> Option<String> {
        self.run.get()?.posterior_json(id)
    }

    fn manifest_json(&self, id: &str) -> Option<String> {
        self.run.get()?.manifest_json(id)
    }

    fn certificates(&self) -> Vec<CertificateView> {
        let rows = self.store.parties().unwrap_or_default();
        let living = rows.into_iter().filter(|row| row.revoked.is_none());
        living
            .map(|row| CertificateView {
                role: row.role.word().to_owned(),
                name: row.name.to_string(),
                ends: row.expires,
            })
            .collect()
    }

    fn healthy(&self) -> bool {
        self.run.get().map_or_else(|| self.store.runs().is_ok(), |run| run.healthy())
    }
}
