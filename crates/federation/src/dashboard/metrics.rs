//! What a server counts of its own work, and whether the last change that it tried was kept.

use super::refusals::RefusalReason;
use crate::message::Request;
use crate::transport::{ConnectionObserver, Excesses, Presence};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What requests are called, in the order of [`kind`].
pub(super) const REQUESTS: [&str; 8] =
    ["attend", "agree", "decline", "update", "letters", "contributed", "standing", "renew"];

/// Classes of answers of the dashboard itself.
pub(super) const PAGES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// Counters that the server moves and the dashboard shows. None says anything of rows.
#[derive(Debug, Default)]
pub struct Metrics {
    pub(super) requests: [AtomicU64; REQUESTS.len()],
    pub(super) refusals: [AtomicU64; RefusalReason::ALL.len()],
    pub(super) commits: TimeHistogram<12>,
    pub(super) unkept: AtomicU64,
    pub(super) unread: AtomicU64,
    pub(super) rounds: TimeHistogram<10>,
    pub(super) parked: AtomicU64,
    pub(super) connections: [AtomicU64; Port::ALL.len()],
    pub(super) pages: [AtomicU64; PAGES.len()],
    pub(super) denied: AtomicU64,
    excesses: Arc<Excesses>,
    /// When the server's own certificate ends, in seconds since 1970; 0 if that is not known.
    pub(super) certificate_ends: AtomicU64,
    /// Why the last change was not kept; none if it was.
    failure: Mutex<Option<String>>,
}

/// Times by upper bounds in seconds; one more bucket takes the rest.
#[derive(Debug)]
pub(super) struct TimeHistogram<const N: usize> {
    pub(super) bounds: [f64; N],
    pub(super) buckets: [AtomicU64; N],
    pub(super) beyond: AtomicU64,
    pub(super) nanoseconds: AtomicU64,
}

impl<const N: usize> TimeHistogram<N> {
    fn of(bounds: [f64; N]) -> Self {
        let buckets = std::array::from_fn(|_| AtomicU64::new(0));
        Self { bounds, buckets, beyond: AtomicU64::new(0), nanoseconds: AtomicU64::new(0) }
    }

    fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let place = self.bounds.iter().position(|bound| seconds <= *bound);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        place.and_then(|place| self.buckets.get(place)).unwrap_or(&self.beyond).fetch_add(1, Ordering::Relaxed);
    }
}

/// Of commits: from a millisecond to five seconds.
impl Default for TimeHistogram<12> {
    fn default() -> Self {
        Self::of([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0])
    }
}

/// Of rounds: from a tenth of a second to a day.
impl Default for TimeHistogram<10> {
    fn default() -> Self {
        Self::of([0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0, 7200.0, 86_400.0])
    }
}

/// A port of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// Where sites and nodes call.
    Parties,
    /// Where invites are redeemed.
    Enrolment,
    /// Where the dashboard is.
    Dashboard,
}

impl Port {
    /// Every port, in the order of the counters.
    pub const ALL: [Self; 3] = [Self::Parties, Self::Enrolment, Self::Dashboard];

    /// The value of the label `port`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Parties => "parties",
            Self::Enrolment => "enrolment",
            Self::Dashboard => "dashboard",
        }
    }
}

/// A connection that counts as open until this is dropped.
struct OpenConnection(Arc<Metrics>, Port);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if let Some(open) = self.0.connections.get(self.1 as usize) {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Counts the connections of one port.
struct PortCounter(Arc<Metrics>, Port);

impl ConnectionObserver for PortCounter {
    fn opened(&self) -> Presence {
        self.0.connected(self.1)
    }

    fn refused(&self) {
        self.0.refused(RefusalReason::Handshake);
    }
}

impl Metrics {
    /// A request came in.
    pub fn requested(&self, request: &Request) {
        count(&self.requests, kind(request));
    }

    /// Somebody was turned away.
    pub fn refused(&self, reason: RefusalReason) {
        if let Some(place) = reason.place() {
            count(&self.refusals, place);
        }
    }

    /// A change was kept durably, which took so long.
    pub fn committed(&self, took: Duration) {
        self.commits.observe(took);
        self.recovered();
    }

    /// A change was not kept, or it is unknown whether it was. The server is ill from now on until one is.
    pub fn unkept(&self, why: &str) {
        self.unkept.fetch_add(1, Ordering::Relaxed);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
    }

    /// The store takes changes again.
    pub fn recovered(&self) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Why the last change that was tried was not kept; none if it was. For those who may see it: the text is the database's.
    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is kept could not be read.
    pub fn unread(&self) {
        self.unread.fetch_add(1, Ordering::Relaxed);
    }

    /// A round was made, which took so long.
    pub fn rounded(&self, took: Duration) {
        self.rounds.observe(took);
    }

    /// So many polls are held back now.
    pub fn parked(&self, polls: usize) {
        self.parked.store(polls as u64, Ordering::Relaxed);
    }

    /// A connection is open from now until what is given is dropped.
    pub fn connected(self: &Arc<Self>, port: Port) -> Presence {
        count(&self.connections, port as usize);
        Box::new(OpenConnection(Arc::clone(self), port))
    }

    /// Whoever counts the connections of a port.
    pub fn observer(self: &Arc<Self>, port: Port) -> Arc<dyn ConnectionObserver> {
        Arc::new(PortCounter(Arc::clone(self), port))
    }

    /// Where all ports of the server count what was over their limits.
    pub fn excesses(&self) -> &Arc<Excesses> {
        &self.excesses
    }

    /// The server has a certificate that ends then, in seconds since 1970.
    pub fn certified(&self, ends: u64) {
        self.certificate_ends.store(ends, Ordering::Relaxed);
    }

    /// The dashboard has answered with this status.
    pub(super) fn answered(&self, status: u16) {
        count(&self.pages, usize::from(status / 100).saturating_sub(2));
    }

    /// Somebody came with a wrong token.
    pub(super) fn denied(&self) {
        self.denied.fetch_add(1, Ordering::Relaxed);
    }
}

fn count<const N: usize>(counters: &[AtomicU64; N], place: usize) {
    if let Some(counter) = counters.get(place) {
        counter.fetch_add(1, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_was_not_kept_is_remembered_until_one_is() {
        let metrics = Metrics::default();
        assert_eq!(metrics.failure(), None);
        metrics.unkept("the disk is full");
        metrics.unkept("the disk is still full");
        assert_eq!(metrics.failure().as_deref(), Some("the disk is still full"));
        metrics.committed(Duration::ZERO);
        assert_eq!((metrics.failure(), metrics.unkept.load(Ordering::Relaxed)), (None, 2));
    }

    #[test]
    fn a_connection_counts_until_it_is_dropped_at_its_own_port() {
        let metrics = Arc::new(Metrics::default());
        let open = |port: Port| metrics.connections[port as usize].load(Ordering::Relaxed);
        let observer = metrics.observer(Port::Enrolment);
        let both = (observer.opened(), metrics.connected(Port::Enrolment));
        assert_eq!(Port::ALL.map(open), [0, 2, 0]);
        drop(both);
        assert_eq!(Port::ALL.map(open), [0; 3]);
    }
}
