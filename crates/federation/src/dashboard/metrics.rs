//! What a server counts of its own work, and how all of it is told to a monitor.

use super::openmetrics::{Exposition, Kind, number};
use super::view::{RunPhase, RunSummary, RunView, Source};
use crate::message::{Refusal, Request};
use crate::transport::{Excess, Excesses};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the commit histogram, in seconds; one more bucket takes the rest.
const BOUNDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0];

/// Runs that are told one by one: the latest, so that the number of time series stays bounded.
const TOLD: usize = 16;

/// What requests are called, in the order of [`kind`].
const REQUESTS: [&str; 8] = ["attend", "agree", "decline", "update", "letters", "contributed", "standing", "renew"];

/// Classes of answers of the dashboard itself.
const PAGES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// Counters that the server moves and the dashboard shows. None says anything of rows.
#[derive(Debug, Default)]
pub struct Metrics {
    requests: [AtomicU64; REQUESTS.len()],
    refusals: [AtomicU64; Refusal::ALL.len()],
    commits: [AtomicU64; BOUNDS.len() + 1],
    commit_nanoseconds: AtomicU64,
    parked: AtomicU64,
    pages: [AtomicU64; PAGES.len()],
    denied: AtomicU64,
    excesses: Arc<Excesses>,
}

/// A poll that is held back. It counts as parked until this is dropped.
#[derive(Debug)]
pub struct Parked(Arc<Metrics>);

impl Drop for Parked {
    fn drop(&mut self) {
        self.0.parked.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// A request came in.
    pub fn requested(&self, request: &Request) {
        count(&self.requests, kind(request));
    }

    /// A message was refused.
    pub fn refused(&self, refusal: Refusal) {
        if let Some(place) = Refusal::ALL.iter().position(|one| *one == refusal) {
            count(&self.refusals, place);
        }
    }

    /// A change was kept durably, which took so long.
    pub fn committed(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let place = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.commit_nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        count(&self.commits, place);
    }

    /// A poll is held back from now until the guard is dropped.
    pub fn park(self: &Arc<Self>) -> Parked {
        self.parked.fetch_add(1, Ordering::Relaxed);
        Parked(Arc::clone(self))
    }

    /// The dashboard has answered with this status.
    pub(super) fn answered(&self, status: u16) {
        count(&self.pages, usize::from(status / 100).saturating_sub(2));
    }

    /// Somebody came with a wrong token.
    pub(super) fn denied(&self) {
        self.denied.fetch_add(1, Ordering::Relaxed);
    }

    /// Where all ports of the server count what was over their limits.
    pub fn excesses(&self) -> &Arc<Excesses> {
        &self.excesses
    }

    /// Everything as OpenMetrics text.
    pub(super) fn text(&self, source: &dyn Source) -> String {
        let mut text = Exposition::default();
        text.family("posterity_build", Kind::Info, "The program that answers.");
        text.sample("posterity_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
        self.counters(&mut text);
        self.histogram(&mut text);
        let runs = source.runs();
        phases(&mut text, &runs);
        let views: Vec<RunView> = runs.iter().take(TOLD).filter_map(|run| source.run(&run.id)).collect();
        progress(&mut text, &views);
        sites(&mut text, &views);
        text.finish()
    }

    fn counters(&self, text: &mut Exposition) {
        text.family("posterity_requests", Kind::Counter, "Requests of sites and nodes.");
        for (name, value) in REQUESTS.iter().zip(&self.requests) {
            text.sample("posterity_requests_total", &[("kind", name)], read(value));
        }
        text.family("posterity_refusals", Kind::Counter, "Messages that were refused.");
        for (refusal, value) in Refusal::ALL.iter().zip(&self.refusals) {
            text.sample("posterity_refusals_total", &[("reason", reason(*refusal))], read(value));
        }
        text.family("posterity_parked_polls", Kind::Gauge, "Polls that are held back until there is something to say.");
        text.sample("posterity_parked_polls", &[], read(&self.parked));
        text.family("posterity_dashboard_answers", Kind::Counter, "Answers of the dashboard, by class of status.");
        for (name, value) in PAGES.iter().zip(&self.pages) {
            text.sample("posterity_dashboard_answers_total", &[("status", name)], read(value));
        }
        text.family("posterity_dashboard_denials", Kind::Counter, "Wrong tokens that were shown to the dashboard.");
        text.sample("posterity_dashboard_denials_total", &[], read(&self.denied));
        text.family("posterity_excesses", Kind::Counter, "Connections and calls that a limit has ended.");
        for excess in Excess::ALL {
            let count = self.excesses.so_far(excess) as f64;
            text.sample("posterity_excesses_total", &[("limit", excess.word())], count);
        }
    }

    fn histogram(&self, text: &mut Exposition) {
        text.family("posterity_commit_seconds", Kind::Histogram, "Time until a change was durable.");
        let mut below = 0.0;
        for (bound, value) in BOUNDS.iter().chain([&f64::INFINITY]).zip(&self.commits) {
            below += read(value);
            text.sample("posterity_commit_seconds_bucket", &[("le", &number(*bound))], below);
        }
        text.sample("posterity_commit_seconds_count", &[], below);
        text.sample("posterity_commit_seconds_sum", &[], read(&self.commit_nanoseconds) / 1e9);
    }
}

fn count<const N: usize>(counters: &[AtomicU64; N], place: usize) {
    if let Some(counter) = counters.get(place) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn read(counter: &AtomicU64) -> f64 {
    counter.load(Ordering::Relaxed) as f64
}

fn phases(text: &mut Exposition, runs: &[RunSummary]) {
    text.family("posterity_runs", Kind::Gauge, "Runs, by phase.");
    for word in RunPhase::WORDS {
        let count = runs.iter().filter(|run| run.phase.word() == word).count();
        text.sample("posterity_runs", &[("phase", word)], count as f64);
    }
}

/// Rounds and folds of each run.
fn progress(text: &mut Exposition, views: &[RunView]) {
    text.family("posterity_round", Kind::Gauge, "Rounds that were made.");
    for view in views {
        text.sample("posterity_round", &[("run", &view.id)], view.round as f64);
    }
    text.family("posterity_folds", Kind::Counter, "Changes of the posterior that were made.");
    for view in views {
        text.sample("posterity_folds_total", &[("run", &view.id)], view.folds as f64);
    }
}

/// What is public of each site: members of manifests, so that their number is bounded.
fn sites(text: &mut Exposition, views: &[RunView]) {
    let sites = || views.iter().flat_map(|view| view.sites.iter().map(move |site| (view.id.as_str(), site)));
    text.family("posterity_answers_accepted", Kind::Counter, "Answers of a site that were accepted.");
    for (run, site) in sites() {
        text.sample("posterity_answers_accepted_total", &[("run", run), ("site", &site.name)], site.answers as f64);
    }
    text.family("posterity_epsilon_spent", Kind::Gauge, "Upper bound of the epsilon that a site has spent in a run.");
    for (run, site) in sites() {
        text.sample("posterity_epsilon_spent", &[("run", run), ("site", &site.name)], site.epsilon_spent);
    }
    text.family("posterity_epsilon_granted", Kind::Gauge, "Epsilon that a site has granted to a run.");
    for (run, site) in sites() {
        text.sample("posterity_epsilon_granted", &[("run", run), ("site", &site.name)], site.epsilon_granted);
    }
}

/// The place of a request in [`REQUESTS`].
fn kind(request: &Request) -> usize {
    match request {
        Request::Attend { .. } => 0,
        Request::Agree { .. } => 1,
        Request::Decline { .. } => 2,
        Request::Update(_) => 3,
        Request::Letters(_) => 4,
        Request::Contributed { .. } => 5,
        Request::Standing { .. } => 6,
        Request::Renew { .. } => 7,
    }
}

/// A refusal in one word.
fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NoRun => "no-run",
        Refusal::OtherManifest => "other-manifest",
        Refusal::NotAMember => "not-a-member",
        Refusal::Shape => "shape",
        Refusal::NotAsked => "not-asked",
        Refusal::Conflict => "conflict",
        Refusal::Frozen => "frozen",
        Refusal::Signature => "signature",
        Refusal::Malformed => "malformed",
        Refusal::Unavailable => "unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_a_bound_belongs_to_its_bucket() {
        let metrics = Metrics::default();
        for milliseconds in [1, 2, 100, 60_000] {
            metrics.committed(Duration::from_millis(milliseconds));
        }
        let mut text = Exposition::default();
        metrics.histogram(&mut text);
        let text = text.finish();
        for line in ["{le=\"0.001\"} 1", "{le=\"0.0025\"} 2", "{le=\"0.1\"} 3", "{le=\"5\"} 3", "{le=\"+Inf\"} 4"] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(text.contains("_count 4") && text.contains("_sum 60.103"), "{text}");
    }

    #[test]
    fn a_poll_is_parked_until_its_guard_is_dropped() {
        let metrics = Arc::new(Metrics::default());
        let parked = (metrics.park(), metrics.park());
        assert_eq!(read(&metrics.parked), 2.0);
        drop(parked);
        assert_eq!(read(&metrics.parked), 0.0);
    }

    #[test]
    fn requests_and_refusals_are_counted_under_their_own_words() {
        let metrics = Metrics::default();
        metrics.requested(&Request::Letters(Vec::new()));
        Refusal::ALL.into_iter().for_each(|refusal| metrics.refused(refusal));
        metrics.refused(Refusal::Conflict);
        let mut text = Exposition::default();
        metrics.counters(&mut text);
        let text = text.finish();
        assert!(text.contains("{kind=\"letters\"} 1") && text.contains("{kind=\"update\"} 0"), "{text}");
        assert!(text.contains("{reason=\"conflict\"} 2") && text.contains("{reason=\"no-run\"} 1"), "{text}");
    }
}
