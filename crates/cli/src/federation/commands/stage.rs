//! What the dashboard shows from the first moment: an empty list until there is a run, and then the run.

use super::watch::Watch;
use federation::dashboard::{RunSummary, RunView, Source};
use federation::store::Store;
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;

/// A run that there will be.
pub(super) struct Stage {
    store: Arc<dyn Store>,
    run: OnceLock<Arc<Watch>>,
    risen: watch::Sender<u64>,
}

impl Stage {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, run: OnceLock::new(), risen: watch::channel(0).0 }
    }

    /// From now on the run is shown; who looks already hears of it and of its changes.
    pub(super) fn show(&self, run: Arc<Watch>) {
        let mut changes = run.changes();
        if self.run.set(run).is_err() {
            return;
        }
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
}

impl Source for Stage {
    fn runs(&self) -> Vec<RunSummary> {
        self.run.get().map_or_else(Vec::new, |run| run.runs())
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

    fn healthy(&self) -> bool {
        self.run.get().map_or_else(|| self.store.runs().is_ok(), |run| run.healthy())
    }
}
