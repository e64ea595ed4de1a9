//! Clocks, counts and what the system says of this process.

use federation::dashboard::RefusalReason;
use federation::message::Request;
use federation::server::{RequestMetrics, RunMetrics};
use std::fs::read_to_string;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What is counted and timed during a load.
#[derive(Default)]
pub(crate) struct Clocks {
    /// Durable accepts, at the agents, in seconds.
    accepts: Mutex<Vec<f64>>,
    /// Batches at the server: requests, and seconds.
    batches: Mutex<Vec<(usize, f64)>>,
    /// Processor time of agents at work, in nanoseconds.
    agents: AtomicU64,
    /// Processor time of the thread that works on the run, in nanoseconds.
    server: AtomicU64,
    /// Requests that came.
    pub(crate) requests: AtomicU64,
    /// Answers among them.
    pub(crate) updates: AtomicU64,
    /// Requests that were refused, and callers that were turned away.
    pub(crate) refused: AtomicU64,
    /// Lines that were lost.
    pub(crate) lost: AtomicU64,
}

impl Clocks {
    pub(crate) fn accepted(&self, time: Duration) {
        self.accepts.lock().unwrap_or_else(PoisonError::into_inner).push(time.as_secs_f64());
    }

    pub(crate) fn worked(&self, seconds: f64) {
        self.agents.fetch_add((seconds * 1e9) as u64, Ordering::Relaxed);
    }

    /// Times of durable accepts, in order.
    pub(crate) fn accepts(&self) -> Vec<f64> {
        sorted(self.accepts.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Times of batches, in order, and the mean number of requests in one.
    pub(crate) fn batches(&self) -> (Vec<f64>, f64) {
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let requests: usize = batches.iter().map(|(requests, _)| requests).sum();
        let mean = requests as f64 / batches.len().max(1) as f64;
        (sorted(batches.into_iter().map(|(_, time)| time).collect()), mean)
    }

    /// Processor time of the agents' own work, and of the thread that works on the run.
    pub(crate) fn processor(&self) -> (f64, f64) {
        let seconds = |of: &AtomicU64| of.load(Ordering::Relaxed) as f64 / 1e9;
        (seconds(&self.agents), seconds(&self.server))
    }
}

impl RunMetrics for Clocks {
    fn committed(&self, requests: usize, time: Duration) {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner).push((requests, time.as_secs_f64()));
        self.server.store((thread_seconds() * 1e9) as u64, Ordering::Relaxed);
    }
}

impl RequestMetrics for Clocks {
    fn requested(&self, request: &Request) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if matches!(request, Request::Update(_)) {
            self.updates.fetch_add(1, Ordering::Relaxed);
        }
    }
    fn refused(&self, _: RefusalReason) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// Numbers in order.
pub(crate) fn sorted(mut numbers: Vec<f64>) -> Vec<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers
}

/// The value below which this share of sorted numbers lies.
pub(crate) fn quantile(numbers: &[f64], share: f64) -> f64 {
    let place = (numbers.len() as f64 * share) as usize;
    numbers.get(place.min(numbers.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

/// Processor time of this thread in seconds.
pub(crate) fn thread_seconds() -> f64 {
    let text = read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Processor time of this process in seconds.
pub(crate) fn process_seconds() -> f64 {
    let text = read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    let ticks = |place: usize| after.split_whitespace().nth(place).and_then(|word| word.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}

/// Megabytes of memory of this process: at most so far, or now.
pub(crate) fn megabytes(field: &str) -> f64 {
    let text = read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1024.0
}

/// Files that this process may have open at a time.
pub(crate) fn open_files() -> u64 {
    let text = read_to_string("/proc/self/limits").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(u64::MAX)
}

/// How many wanted to run during the last minute.
pub(crate) fn load_average() -> f64 {
    let text = read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}
