//! Everything that a monitor is told, as OpenMetrics text. The guide lists the names, and which of them to be woken by.

use super::metrics::{Metrics, PAGES, Port, REQUESTS, TimeHistogram};
use super::openmetrics::{Exposition, MetricKind, number};
use super::refusals::RefusalReason;
use super::view::{DashboardSource, RunPhase, RunSummary, RunView, SiteStatus};
use crate::transport::Excess;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs that are told one by one: the latest, so that the number of time series stays bounded.
const TOLD: usize = 16;

impl Metrics {
    /// Everything as OpenMetrics text.
    pub(super) fn text(&self, source: &dyn DashboardSource) -> String {
        let mut text = Exposition::default();
        text.family("posterity_build", MetricKind::Info, "Version of the server program.");
        text.sample("posterity_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
        self.counters(&mut text);
        self.store(&mut text);
        self.process(&mut text);
        self.certificates(&mut text, source);
        let runs = source.runs();
        phases(&mut text, &runs);
        let views: Vec<RunView> = runs.iter().take(TOLD).filter_map(|run| source.run(&run.id)).collect();
        progress(&mut text, &views);
        failures(&mut text, &views);
        members(&mut text, &views);
        sites(&mut text, &views);
        text.finish()
    }

    fn counters(&self, text: &mut Exposition) {
        text.family("posterity_requests", MetricKind::Counter, "Requests from sites and nodes, by kind.");
        for (name, value) in REQUESTS.iter().zip(&self.requests) {
            text.sample("posterity_requests_total", &[("kind", name)], read(value));
        }
        text.family("posterity_refusals", MetricKind::Counter, "Refused connections, parties and messages, by reason.");
        for (reason, value) in RefusalReason::ALL.iter().zip(&self.refusals) {
            text.sample("posterity_refusals_total", &[("reason", reason.word())], read(value));
        }
        text.family("posterity_parked_polls", MetricKind::Gauge, "Polls that wait for something to report.");
        text.sample("posterity_parked_polls", &[], read(&self.parked));
        text.family("posterity_connections", MetricKind::Gauge, "Open connections, by port.");
        for (port, value) in Port::ALL.iter().zip(&self.connections) {
            text.sample("posterity_connections", &[("port", port.word())], read(value));
        }
        text.family(
            "posterity_dashboard_answers",
            MetricKind::Counter,
            "Responses of the dashboard, by class of status.",
        );
        for (name, value) in PAGES.iter().zip(&self.pages) {
            text.sample("posterity_dashboard_answers_total", &[("status", name)], read(value));
        }
        text.family("posterity_dashboard_denials", MetricKind::Counter, "Wrong tokens sent to the dashboard.");
        text.sample("posterity_dashboard_denials_total", &[], read(&self.denied));
        text.family("posterity_excesses", MetricKind::Counter, "Connections and calls closed by a limit, by limit.");
        for excess in Excess::ALL {
            let count = self.excesses().so_far(excess) as f64;
            text.sample("posterity_excesses_total", &[("limit", excess.word())], count);
        }
    }

    /// Whether changes are kept, and how fast.
    fn store(&self, text: &mut Exposition) {
        histogram(text, "posterity_commit_seconds", "Time until a change was durable.", &self.commits);
        text.family("posterity_commit_failures", MetricKind::Counter, "Changes that could not be stored.");
        text.sample("posterity_commit_failures_total", &[], read(&self.unkept));
        text.family("posterity_commit_failing", MetricKind::Gauge, "1 if the last change could not be stored, else 0.");
        text.sample("posterity_commit_failing", &[], f64::from(u8::from(self.failure().is_some())));
        text.family("posterity_read_failures", MetricKind::Counter, "Failed reads of the store.");
        text.sample("posterity_read_failures_total", &[], read(&self.unread));
        histogram(text, "posterity_round_seconds", "Duration of a complete round.", &self.rounds);
    }

    fn process(&self, text: &mut Exposition) {
        if let Some(bytes) = resident_bytes() {
            text.family("process_resident_memory_bytes", MetricKind::Gauge, "Resident memory of the server process.");
            text.sample("process_resident_memory_bytes", &[], bytes);
        }
    }

    /// When certificates end: the server's own, and those of all parties as they were issued.
    fn certificates(&self, text: &mut Exposition, source: &dyn DashboardSource) {
        const NAME: &str = "posterity_certificate_end_timestamp_seconds";
        text.family(NAME, MetricKind::Gauge, "When a certificate expires, in seconds since 1970.");
        let own = self.certificate_ends.load(Ordering::Relaxed);
        if own > 0 {
            text.sample(NAME, &[("role", "server"), ("name", "server")], own as f64);
        }
        for party in source.certificates() {
            text.sample(NAME, &[("role", &party.role), ("name", &party.name)], party.ends as f64);
        }
    }
}

fn read(counter: &AtomicU64) -> f64 {
    counter.load(Ordering::Relaxed) as f64
}

fn histogram<const N: usize>(text: &mut Exposition, name: &str, help: &str, of: &TimeHistogram<N>) {
    text.family(name, MetricKind::Histogram, help);
    let (bucket, mut below) = (format!("{name}_bucket"), 0.0);
    for (bound, value) in of.bounds.iter().chain([&f64::INFINITY]).zip(of.buckets.iter().chain([&of.beyond])) {
        below += read(value);
        text.sample(&bucket, &[("le", &number(*bound))], below);
    }
    text.sample(&format!("{name}_count"), &[], below);
    text.sample(&format!("{name}_sum"), &[], read(&of.nanoseconds) / 1e9);
}

/// Memory of this process in bytes, where the system says so: Linux does.
pub(super) fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

fn phases(text: &mut Exposition, runs: &[RunSummary]) {
    text.family("posterity_runs", MetricKind::Gauge, "Runs, by phase.");
    for word in RunPhase::WORDS {
        let count = runs.iter().filter(|run| run.phase.word() == word).count();
        text.sample("posterity_runs", &[("phase", word)], count as f64);
    }
}

/// Rounds and folds of each run, and how those that are over have ended.
fn progress(text: &mut Exposition, views: &[RunView]) {
    text.family("posterity_round", MetricKind::Gauge, "Completed rounds.");
    for view in views {
        text.sample("posterity_round", &[("run", &view.id)], view.round as f64);
    }
    text.family("posterity_folds", MetricKind::Counter, "Updates of the posterior.");
    for view in views {
        text.sample("posterity_folds_total", &[("run", &view.id)], view.folds as f64);
    }
    text.family("posterity_round_age_seconds", MetricKind::Gauge, "Age of the current round.");
    for view in views {
        if let Some(age) = view.round_age {
            text.sample("posterity_round_age_seconds", &[("run", &view.id)], age as f64);
        }
    }
    text.family(
        "posterity_run_ended",
        MetricKind::Gauge,
        "1 for a run that has ended, with its outcome and the member that caused a failure.",
    );
    for view in views {
        if let Some(end) = &view.end {
            let member = end.member.as_deref().unwrap_or_default();
            let labels = [("run", view.id.as_str()), ("outcome", &end.outcome), ("member", member)];
            text.sample("posterity_run_ended", &labels, 1.0);
        }
    }
}

/// Attempts at sums that came to nothing.
fn failures(text: &mut Exposition, views: &[RunView]) {
    let help = "Attempts at a secure sum that failed because of a member. They cost the sites nothing.";
    text.family("posterity_attempts_failed", MetricKind::Counter, help);
    for member in all_members(views) {
        text.sample("posterity_attempts_failed_total", &member.labels(), member.failed_attempts as f64);
    }
}

/// How long nothing was heard of each member. One that has never called is as silent as the server is old: an alarm on silence
/// must ring for it too.
fn members(text: &mut Exposition, views: &[RunView]) {
    let help = "Time since the last request of a member, or since this server started the run if there was none.";
    text.family("posterity_silence_seconds", MetricKind::Gauge, help);
    for member in all_members(views) {
        text.sample("posterity_silence_seconds", &member.labels(), member.silence as f64);
    }
}

/// A site or a node of a run.
struct MemberMetrics<'a> {
    run: &'a str,
    role: &'static str,
    name: &'a str,
    /// Seconds since it was heard.
    silence: u64,
    failed_attempts: u64,
}

impl<'a> MemberMetrics<'a> {
    fn labels(&self) -> [(&'static str, &'a str); 3] {
        [("run", self.run), ("role", self.role), ("name", self.name)]
    }
}

/// Every site and node of these runs.
fn all_members(views: &[RunView]) -> impl Iterator<Item = MemberMetrics<'_>> {
    views.iter().flat_map(|view| {
        let line = |role, name, heard: Option<u64>, failed_attempts| MemberMetrics {
            run: &view.id,
            role,
            name,
            silence: heard.unwrap_or(view.watched),
            failed_attempts,
        };
        let sites = view.sites.iter().map(move |site| line("site", &site.name, site.last_heard, site.failed_attempts));
        let nodes = view.nodes.iter().map(move |node| line("node", &node.name, node.last_heard, node.failed_attempts));
        sites.chain(nodes)
    })
}

/// What is public of each site: members of manifests, so that their number is bounded.
fn sites(text: &mut Exposition, views: &[RunView]) {
    let sites = || views.iter().flat_map(|view| view.sites.iter().map(move |site| (view.id.as_str(), site)));
    text.family("posterity_site_standing", MetricKind::Gauge, "1 for the status of a site in a run, 0 for all others.");
    for view in views {
        for site in &view.sites {
            let now = site.standing_at(view.taken);
            for standing in SiteStatus::ALL {
                let labels = [("run", view.id.as_str()), ("site", &site.name), ("standing", standing.word())];
                text.sample("posterity_site_standing", &labels, f64::from(u8::from(now == standing)));
            }
        }
    }
    text.family("posterity_answers_accepted", MetricKind::Counter, "Accepted answers of a site.");
    for (run, site) in sites() {
        text.sample("posterity_answers_accepted_total", &[("run", run), ("site", &site.name)], site.answers as f64);
    }
    text.family(
        "posterity_epsilon_spent",
        MetricKind::Gauge,
        "Upper bound on the epsilon of a site's accepted answers in a run. The site's ledger may hold more.",
    );
    for (run, site) in sites() {
        text.sample("posterity_epsilon_spent", &[("run", run), ("site", &site.name)], site.epsilon_spent);
    }
    text.family("posterity_epsilon_granted", MetricKind::Gauge, "Epsilon that a site granted to a run.");
    for (run, site) in sites() {
        text.sample("posterity_epsilon_granted", &[("run", run), ("site", &site.name)], site.epsilon_granted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{RefusalCode, Request};
    use std::time::Duration;

    #[test]
    fn buckets_are_cumulative_and_a_bound_belongs_to_its_bucket() {
        let metrics = Metrics::default();
        for milliseconds in [1, 2, 100, 60_000] {
            metrics.committed(Duration::from_millis(milliseconds));
        }
        let mut text = Exposition::default();
        metrics.store(&mut text);
        let text = text.finish();
        for line in ["{le=\"0.001\"} 1", "{le=\"0.0025\"} 2", "{le=\"0.1\"} 3", "{le=\"5\"} 3", "{le=\"+Inf\"} 4"] {
            assert!(text.contains(&format!("posterity_commit_seconds_bucket{line}")), "{line} in {text}");
        }
        assert!(text.contains("_count 4") && text.contains("_sum 60.103"), "{text}");
    }

    #[test]
    fn requests_and_refusals_are_counted_under_their_own_words() {
        let metrics = Metrics::default();
        metrics.requested(&Request::Letters(Vec::new()));
        RefusalReason::ALL.into_iter().for_each(|reason| metrics.refused(reason));
        metrics.refused(RefusalReason::Reply(RefusalCode::Conflict));
        metrics.parked(3);
        let mut text = Exposition::default();
        metrics.counters(&mut text);
        let text = text.finish();
        assert!(text.contains("{kind=\"letters\"} 1") && text.contains("{kind=\"update\"} 0"), "{text}");
        assert!(text.contains("{reason=\"conflict\"} 2") && text.contains("{reason=\"no-run\"} 1"), "{text}");
        assert!(text.contains("posterity_parked_polls 3\n"), "{text}");
    }
}
