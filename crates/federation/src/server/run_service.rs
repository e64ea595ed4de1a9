//! Where requests queue up: one thread takes what has come, keeps it in one transaction, and lets the replies go.
//!
//! Polls that find nothing wait here, and are answered when something has changed for them.

use super::engine::{Call, CallOutcome, ReplyDraft, RunEngine, WaitingPoll, WakeUp};
use super::rounds::RoundClock;
use crate::coordinator::{Coordinator, CoordinatorPhase, Header};
use crate::failpoint;
use crate::identity::Peer;
use crate::manifest::Manifest;
use crate::message::{MemberId, RunOutcome};
use crate::store::StoreError;
use crate::wire::SMALL_BYTES;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Most requests that are kept together.
const MOST_TOGETHER: usize = 512;

/// How often the clock is looked at, and other servers' work.
const TICK: Duration = Duration::from_millis(100);

/// Longest wait of a poll, whatever it asks for.
const LONGEST_WAIT: u32 = 60_000;

/// What is known of a run outside of the thread that works on it.
#[derive(Debug, Clone)]
pub struct RunSnapshot {
    /// Everything but the algorithm's state.
    pub header: Header,
    /// The algorithm's state.
    pub state: Arc<Vec<u8>>,
    /// When each member was heard last.
    pub heard: BTreeMap<MemberId, Instant>,
    /// Who was told that the run is over.
    pub dismissed: BTreeSet<MemberId>,
    /// When this process took up the run.
    pub opened: Instant,
    /// Since when the present round is known to be under way; none if none is.
    pub round_since: Option<Instant>,
}

/// Counts and times, for metrics; nothing here is private.
pub trait RunMetrics: Send + Sync {
    /// A change is durable: so many requests were kept together, in this time.
    fn committed(&self, requests: usize, time: Duration);
    /// A change was not kept, or it is unknown whether it was.
    fn unkept(&self, _error: &StoreError) {}
    /// What is kept could not be read.
    fn unread(&self) {}
    /// Whether the last change that was tried was not kept: then one is tried again before long.
    fn is_failing(&self) -> bool {
        false
    }
    /// So many polls are held back.
    fn parked(&self, _polls: usize) {}
    /// A round was made, in this time.
    fn rounded(&self, _time: Duration) {}
}

/// Watches nothing.
pub struct NoMetrics;

impl RunMetrics for NoMetrics {
    fn committed(&self, _: usize, _: Duration) {}
}

/// A request, and where its reply is awaited.
type QueuedCall = (Call, oneshot::Sender<ReplyDraft>);

enum WorkerMessage {
    Call(Box<QueuedCall>),
    Close,
}

/// A run that requests can be brought to.
pub struct RunService {
    visits: Sender<WorkerMessage>,
    worker: Mutex<Option<JoinHandle<()>>>,
    snapshot: Arc<Mutex<RunSnapshot>>,
    changes: watch::Receiver<u64>,
    manifest: Arc<Manifest>,
    longest: usize,
}

impl RunService {
    /// Starts the thread that works on the run.
    pub fn open(engine: RunEngine, watcher: Arc<dyn RunMetrics>) -> std::io::Result<Self> {
        let (visits, receiver) = channel();
        let (manifest, longest) = (engine.manifest().clone(), engine.longest_request());
        let snapshot = RunSnapshot {
            header: engine.coordinator().header().clone(),
            state: Arc::new(engine.coordinator().state().to_vec()),
            heard: BTreeMap::new(),
            dismissed: BTreeSet::new(),
            opened: Instant::now(),
            round_since: None,
        };
        let snapshot = Arc::new(Mutex::new(snapshot));
        let (changed, changes) = watch::channel(0);
        let mut run_worker = RunWorker {
            engine: engine.watched_by(watcher.clone()),
            receiver,
            parked: Vec::new(),
            heard: BTreeMap::new(),
            dismissed: BTreeSet::new(),
            snapshot: snapshot.clone(),
            changed,
            start: Instant::now(),
            rounds: RoundClock::default(),
            watcher,
        };
        run_worker.show();
        let worker = std::thread::Builder::new().name("run".into()).spawn(move || run_worker.work())?;
        Ok(Self { visits, worker: Mutex::new(Some(worker)), snapshot, changes, manifest, longest })
    }

    /// Brings a request, and waits for its reply; none if the service is closed.
    pub async fn call(&self, call: Call) -> Option<ReplyDraft> {
        let (sender, receiver) = oneshot::channel();
        self.visits.send(WorkerMessage::Call(Box::new((call, sender)))).ok()?;
        receiver.await.ok()
    }

    /// Longest request of a party, in bytes as it is sent: only members have anything long to say.
    pub fn longest(&self, party: &Peer) -> usize {
        let member = self.manifest.member(party.role, &party.name, &party.key);
        member.map_or(SMALL_BYTES, |_| self.longest)
    }

    /// The run as it was kept last.
    pub fn snapshot(&self) -> RunSnapshot {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves whenever the run does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// Answers all who wait, and closes. What was accepted is kept.
    pub fn close(&self) {
        let _ = self.visits.send(WorkerMessage::Close);
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = worker {
            let _ = worker.join();
        }
    }
}

struct ParkedPoll {
    ticket: WaitingPoll,
    reply: oneshot::Sender<ReplyDraft>,
    until: Instant,
}

struct RunWorker {
    engine: RunEngine,
    receiver: Receiver<WorkerMessage>,
    parked: Vec<ParkedPoll>,
    heard: BTreeMap<MemberId, Instant>,
    dismissed: BTreeSet<MemberId>,
    snapshot: Arc<Mutex<RunSnapshot>>,
    changed: watch::Sender<u64>,
    start: Instant,
    rounds: RoundClock,
    watcher: Arc<dyn RunMetrics>,
}

impl RunWorker {
    fn work(mut self) {
        let mut ticked = Instant::now();
        loop {
            let (batch, open) = self.gather();
            if !batch.is_empty() {
                self.serve(batch);
            }
            if !open {
                break;
            }
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                self.tick();
            }
        }
        for one in std::mem::take(&mut self.parked) {
            let _ = one.reply.send(self.engine.rest(&one.ticket));
        }
        self.watcher.parked(0);
    }

    /// The calls that have arrived; false if the service is to close.
    fn gather(&self) -> (Vec<QueuedCall>, bool) {
        let mut batch = Vec::new();
        match self.receiver.recv_timeout(TICK) {
            Ok(WorkerMessage::Call(caller)) => batch.push(*caller),
            Ok(WorkerMessage::Close) | Err(RecvTimeoutError::Disconnected) => return (batch, false),
            Err(RecvTimeoutError::Timeout) => return (batch, true),
        }
        while batch.len() < MOST_TOGETHER {
            match self.receiver.try_recv() {
                Ok(WorkerMessage::Call(caller)) => batch.push(*caller),
                Ok(WorkerMessage::Close) => return (batch, false),
                Err(_) => break,
            }
        }
        (batch, true)
    }

    fn serve(&mut self, batch: Vec<QueuedCall>) {
        let (calls, replies): (Vec<Call>, Vec<_>) = batch.into_iter().unzip();
        let now = Instant::now();
        for call in &calls {
            self.heard.extend(self.engine.member(call.caller()).map(|member| (member, now)));
        }
        let (answers, woken) = self.engine.take(&calls);
        failpoint::pass("reply");
        for (answer, reply) in answers.into_iter().zip(replies) {
            match answer {
                CallOutcome::Reply(draft) => self.send(reply, draft),
                CallOutcome::Wait(ticket) => {
                    let wait = Duration::from_millis(u64::from(ticket.wait.min(LONGEST_WAIT)));
                    self.parked.push(ParkedPoll { ticket, reply, until: now + wait });
                }
            }
        }
        self.wake(&woken);
        self.watcher.parked(self.parked.len());
    }

    /// Lets a reply go. Who has left in the meantime will ask again.
    fn send(&mut self, to: oneshot::Sender<ReplyDraft>, draft: ReplyDraft) {
        let dismissed = draft.tells_the_end();
        if to.send(draft).is_ok() {
            self.dismissed.extend(dismissed);
        }
    }

    /// Answers those who wait, as far as there is something to say to them now.
    fn wake(&mut self, woken: &WakeUp) {
        if *woken != WakeUp::Only(BTreeSet::new()) {
            let mut waiting = Vec::with_capacity(self.parked.len());
            for one in std::mem::take(&mut self.parked) {
                let concerned = match woken {
                    WakeUp::All => true,
                    WakeUp::Only(members) => members.contains(&one.ticket.member()),
                };
                match concerned.then(|| self.engine.look(&one.ticket)).flatten() {
                    Some(draft) => self.send(one.reply, draft),
                    None => waiting.push(one),
                }
            }
            self.parked = waiting;
            self.show();
        }
    }

    fn tick(&mut self) {
        let milliseconds = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut woken = self.engine.tick(milliseconds);
        if self.engine.refresh() == Ok(true) {
            woken = WakeUp::All;
        }
        self.wake(&woken);
        let now = Instant::now();
        let (over, waiting) = std::mem::take(&mut self.parked)
            .into_iter()
            .filter(|one| !one.reply.is_closed())
            .partition(|one| one.until <= now);
        self.parked = waiting;
        let over: Vec<ParkedPoll> = over;
        for one in over {
            let _ = one.reply.send(self.engine.rest(&one.ticket));
        }
        self.watcher.parked(self.parked.len());
        self.show();
    }

    fn show(&mut self) {
        let coordinator = self.engine.coordinator();
        if let Some(time) = self.rounds.look(coordinator.header(), Instant::now()) {
            self.watcher.rounded(time);
        }
        let mut snapshot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        (snapshot.heard, snapshot.dismissed) = (self.heard.clone(), self.dismissed.clone());
        snapshot.round_since = self.rounds.since();
        if snapshot.header == *coordinator.header() {
            return;
        }
        if snapshot.header.folds != coordinator.header().folds {
            snapshot.state = Arc::new(coordinator.state().to_vec());
        }
        tell_failures(coordinator, &snapshot.header);
        snapshot.header = coordinator.header().clone();
        drop(snapshot);
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// Says of attempts that have failed since, and of a run that has ended by them, because of whom.
fn tell_failures(coordinator: &Coordinator, before: &Header) {
    let (header, manifest) = (coordinator.header(), coordinator.manifest());
    for (member, total) in &header.failures.total {
        if before.failures.total.get(member) != Some(total) {
            let (member, round) = (manifest.title(*member), header.round + 1);
            tracing::warn!(%member, round, total, "an attempt at a secure sum failed, which is free for the sites");
        }
    }
    for lost in header.failures.lost.iter().skip(before.failures.lost.len()) {
        let names = |nodes: &BTreeSet<u32>| {
            nodes.iter().map(|node| manifest.title(MemberId::Node(*node))).collect::<Vec<_>>().join(", ")
        };
        let (published, missing, round) = (names(&lost.published), names(&lost.missing), lost.at.round + 1);
        tracing::error!(
            round,
            published,
            missing,
            "a round is lost: its sum was published in part; each site has charged it"
        );
    }
    if let (CoordinatorPhase::Finished(RunOutcome::SumFailed(member)), true) =
        (header.phase, header.phase != before.phase)
    {
        let member = manifest.title(member);
        tracing::error!(%member, round = header.round + 1, "the run ended: the secure sum of a round cannot be opened");
    }
}
