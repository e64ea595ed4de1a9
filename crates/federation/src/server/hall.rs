//! Where requests queue up: one thread takes what has come, keeps it in one transaction, and lets the replies go.
//!
//! Polls that find nothing wait here, and are answered when something has changed for them.

use super::engine::{Answer, Call, Draft, Engine, Ticket, Woken};
use crate::coordinator::Header;
use crate::failpoint;
use crate::identity::Peer;
use crate::manifest::Manifest;
use crate::message::Member;
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
pub struct Glance {
    /// Everything but the algorithm's state.
    pub header: Header,
    /// The algorithm's state.
    pub state: Arc<Vec<u8>>,
    /// When each member was heard last.
    pub heard: BTreeMap<Member, Instant>,
    /// Who was told that the run is over.
    pub dismissed: BTreeSet<Member>,
}

/// Counts and times, for metrics; nothing here is private.
pub trait Watcher: Send + Sync {
    /// So many requests were kept together, in this time.
    fn committed(&self, requests: usize, time: Duration);
}

/// Watches nothing.
pub struct Unwatched;

impl Watcher for Unwatched {
    fn committed(&self, _: usize, _: Duration) {}
}

/// A request, and where its reply is awaited.
type Caller = (Call, oneshot::Sender<Draft>);

enum Visit {
    Call(Box<Caller>),
    Close,
}

/// A run that requests can be brought to.
pub struct Hall {
    visits: Sender<Visit>,
    worker: Mutex<Option<JoinHandle<()>>>,
    glance: Arc<Mutex<Glance>>,
    changes: watch::Receiver<u64>,
    manifest: Arc<Manifest>,
    longest: usize,
}

impl Hall {
    /// Opens the doors.
    pub fn open(engine: Engine, watcher: Arc<dyn Watcher>) -> std::io::Result<Self> {
        let (visits, receiver) = channel();
        let (manifest, longest) = (engine.manifest().clone(), engine.longest_request());
        let glance = Glance {
            header: engine.coordinator().header().clone(),
            state: Arc::new(engine.coordinator().state().to_vec()),
            heard: BTreeMap::new(),
            dismissed: BTreeSet::new(),
        };
        let glance = Arc::new(Mutex::new(glance));
        let (changed, changes) = watch::channel(0);
        let desk = Desk {
            engine,
            receiver,
            parked: Vec::new(),
            heard: BTreeMap::new(),
            dismissed: BTreeSet::new(),
            glance: glance.clone(),
            changed,
            start: Instant::now(),
            watcher,
        };
        let worker = std::thread::Builder::new().name("run".into()).spawn(move || desk.work())?;
        Ok(Self { visits, worker: Mutex::new(Some(worker)), glance, changes, manifest, longest })
    }

    /// Brings a request, and waits for its reply; none if the doors are closed.
    pub async fn call(&self, call: Call) -> Option<Draft> {
        let (sender, receiver) = oneshot::channel();
        self.visits.send(Visit::Call(Box::new((call, sender)))).ok()?;
        receiver.await.ok()
    }

    /// Longest request of a party, in bytes as it is sent: only members have anything long to say.
    pub fn longest(&self, party: &Peer) -> usize {
        let member = self.manifest.member(party.role, &party.name, &party.key);
        member.map_or(SMALL_BYTES, |_| self.longest)
    }

    /// The run as it was kept last.
    pub fn glance(&self) -> Glance {
        self.glance.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves whenever the run does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// Answers all who wait, and closes. What was accepted is kept.
    pub fn close(&self) {
        let _ = self.visits.send(Visit::Close);
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(worker) = worker {
            let _ = worker.join();
        }
    }
}

struct Parked {
    ticket: Ticket,
    reply: oneshot::Sender<Draft>,
    until: Instant,
}

struct Desk {
    engine: Engine,
    receiver: Receiver<Visit>,
    parked: Vec<Parked>,
    heard: BTreeMap<Member, Instant>,
    dismissed: BTreeSet<Member>,
    glance: Arc<Mutex<Glance>>,
    changed: watch::Sender<u64>,
    start: Instant,
    watcher: Arc<dyn Watcher>,
}

impl Desk {
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
    }

    /// What has come; false if the doors are to be closed.
    fn gather(&self) -> (Vec<Caller>, bool) {
        let mut batch = Vec::new();
        match self.receiver.recv_timeout(TICK) {
            Ok(Visit::Call(caller)) => batch.push(*caller),
            Ok(Visit::Close) | Err(RecvTimeoutError::Disconnected) => return (batch, false),
            Err(RecvTimeoutError::Timeout) => return (batch, true),
        }
        while batch.len() < MOST_TOGETHER {
            match self.receiver.try_recv() {
                Ok(Visit::Call(caller)) => batch.push(*caller),
                Ok(Visit::Close) => return (batch, false),
                Err(_) => break,
            }
        }
        (batch, true)
    }

    fn serve(&mut self, batch: Vec<Caller>) {
        let (calls, replies): (Vec<Call>, Vec<_>) = batch.into_iter().unzip();
        let now = Instant::now();
        for call in &calls {
            self.heard.extend(self.engine.member(call.caller()).map(|member| (member, now)));
        }
        let (answers, woken) = self.engine.take(&calls);
        self.watcher.committed(calls.len(), now.elapsed());
        failpoint::pass("reply");
        for (answer, reply) in answers.into_iter().zip(replies) {
            match answer {
                Answer::Reply(draft) => self.send(reply, draft),
                Answer::Wait(ticket) => {
                    let wait = Duration::from_millis(u64::from(ticket.wait.min(LONGEST_WAIT)));
                    self.parked.push(Parked { ticket, reply, until: now + wait });
                }
            }
        }
        self.wake(&woken);
    }

    /// Lets a reply go. Who has left in the meantime will ask again.
    fn send(&mut self, to: oneshot::Sender<Draft>, draft: Draft) {
        let dismissed = draft.tells_the_end();
        if to.send(draft).is_ok() {
            self.dismissed.extend(dismissed);
        }
    }

    /// Answers those who wait, as far as there is something to say to them now.
    fn wake(&mut self, woken: &Woken) {
        if *woken != Woken::Only(BTreeSet::new()) {
            let mut waiting = Vec::with_capacity(self.parked.len());
            for one in std::mem::take(&mut self.parked) {
                let concerned = match woken {
                    Woken::All => true,
                    Woken::Only(members) => members.contains(&one.ticket.member()),
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
            woken = Woken::All;
        }
        self.wake(&woken);
        let now = Instant::now();
        let (over, waiting) = std::mem::take(&mut self.parked)
            .into_iter()
            .filter(|one| !one.reply.is_closed())
            .partition(|one| one.until <= now);
        self.parked = waiting;
        let over: Vec<Parked> = over;
        for one in over {
            let _ = one.reply.send(self.engine.rest(&one.ticket));
        }
        self.show();
    }

    fn show(&mut self) {
        let coordinator = self.engine.coordinator();
        let mut glance = self.glance.lock().unwrap_or_else(PoisonError::into_inner);
        (glance.heard, glance.dismissed) = (self.heard.clone(), self.dismissed.clone());
        if glance.header == *coordinator.header() {
            return;
        }
        if glance.header.folds != coordinator.header().folds {
            glance.state = Arc::new(coordinator.state().to_vec());
        }
        glance.header = coordinator.header().clone();
        drop(glance);
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}
