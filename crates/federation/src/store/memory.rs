//! A store in memory, for simulators and tests: what a store means, in plain values, and how one can fail.

use super::{History, InviteRow, PartyRow, Redemption, RunRow, ServerStore, StoreError};
use crate::coordinator::{AcceptedAnswer, Change, Header, SavedRun};
use crate::identity::{PartyName, PartyRole, PublicKey};
use crate::log::{Position, RunId};
use crate::message::Attempt;
use privacy::noise::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a commit fails. Whoever made it is told the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFailure {
    /// Before anything was kept.
    Before,
    /// After all of it was kept.
    After,
}

/// A store in memory. All clones of a handle are one store, as servers that share a database.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    runs: BTreeMap<RunId, StoredRun>,
    heads: Heads,
    invites: BTreeMap<Digest, (InviteRow, Option<Digest>)>,
    parties: BTreeMap<(PartyRole, PartyName, PublicKey), PartyRow>,
    failing: Option<CommitFailure>,
    /// Only of a store that forgets: what a crash brings back.
    memory: MemoryDurability,
}

type Heads = BTreeMap<PublicKey, Position>;

#[derive(Default)]
enum MemoryDurability {
    #[default]
    Durable,
    Forgetful(Option<Box<(RunId, StoredRun, Heads)>>),
}

#[derive(Clone)]
struct StoredRun {
    row: RunRow,
    saved: SavedRun,
    history: History,
    /// Attempts that were accepted: each only once.
    attempts: BTreeSet<(usize, Attempt)>,
}

impl MemoryStore {
    /// An empty store that forgets nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that loses the last commit in a crash, though it said that it was kept: what tests of durability must
    /// notice.
    pub fn forgetful() -> Self {
        Self(Arc::new(Mutex::new(Inner { memory: MemoryDurability::Forgetful(None), ..Inner::default() })))
    }

    /// The next commit fails.
    pub fn fail_next(&self, failing: CommitFailure) {
        self.inner().failing = Some(failing);
    }

    /// The machine goes down and comes back.
    pub fn crash(&self) {
        let mut inner = self.inner();
        if let MemoryDurability::Forgetful(lost) = &mut inner.memory
            && let Some(before) = lost.take()
        {
            let (id, run, heads) = *before;
            inner.runs.insert(id, run);
            inner.heads = heads;
        }
    }

    /// A panic elsewhere leaves whole values: every call checks first and writes then.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn run(&self, run: &RunId) -> Result<&StoredRun, StoreError> {
        self.runs.get(run).ok_or(StoreError::NoRun)
    }

    fn commit(&mut self, id: &RunId, version: u64, header: &Header, change: &Change) -> Result<u64, StoreError> {
        let failing = self.failing.take();
        if failing == Some(CommitFailure::Before) {
            return Err(failed("the test asked for this failure"));
        }
        let run = self.runs.get_mut(id).ok_or(StoreError::NoRun)?;
        if run.saved.version != version {
            return Err(StoreError::Stale { found: run.saved.version, expected: version });
        }
        run.check(change)?;
        if let MemoryDurability::Forgetful(before) = &mut self.memory {
            *before = Some(Box::new((*id, run.clone(), self.heads.clone())));
        }
        run.apply(header, change);
        for (key, position) in &change.heads {
            let head = self.heads.entry(*key).or_insert(*position);
            if position.sequence > head.sequence {
                *head = *position;
            }
        }
        match failing {
            None => Ok(run.saved.version),
            Some(_) => Err(failed("the test asked for this failure")),
        }
    }
}

impl StoredRun {
    /// Refuses what is there already.
    fn check(&self, change: &Change) -> Result<(), StoreError> {
        let mut attempts = BTreeSet::new();
        for AcceptedAnswer { site, update, .. } in &change.accepted {
            if self.attempts.contains(&(*site, update.at)) || !attempts.insert((*site, update.at)) {
                return Err(failed("an attempt was already accepted"));
            }
        }
        let mut numbers: BTreeSet<u64> = self.history.folds.iter().map(|fold| fold.number).collect();
        if !change.folds.iter().all(|fold| numbers.insert(fold.number)) {
            return Err(failed("an update has the number of another"));
        }
        let mut letters: BTreeSet<u64> = self.saved.letters.iter().map(|(number, _)| *number).collect();
        if change.cleared {
            letters.clear();
        }
        if !change.posted.iter().all(|(number, _)| letters.insert(*number)) {
            return Err(failed("a message has the number of another"));
        }
        Ok(())
    }

    /// What a change means.
    fn apply(&mut self, header: &Header, change: &Change) {
        let saved = &mut self.saved;
        saved.version = saved.version.saturating_add(1);
        saved.header = header.clone();
        saved.state = change.state.as_ref().unwrap_or(&saved.state).clone();
        saved.query = change.query.as_ref().unwrap_or(&saved.query).clone();
        saved.waiting.extend(change.accepted.iter().map(|one| (one.site, one.update.clone())));
        for kept in &change.receipts {
            saved.waiting.retain(|(site, update)| (*site, update.at) != (kept.site, kept.at));
            saved.receipts.retain(|earlier| earlier.site != kept.site);
            saved.receipts.push(kept.clone());
        }
        if change.cleared {
            saved.letters.clear();
        }
        saved.letters.extend(change.posted.iter().cloned());
        saved.letters.retain(|(number, _)| !change.delivered.contains(number));
        in_order(saved);
        self.attempts.extend(change.accepted.iter().map(|one| (one.site, one.update.at)));
        self.history.accepted.extend(change.accepted.iter().cloned());
        self.history.folds.extend(change.folds.iter().cloned());
        self.history.folds.sort_by_key(|fold| fold.number);
    }
}

/// Receipts by their sites, messages by their numbers.
fn in_order(saved: &mut SavedRun) {
    saved.receipts.sort_by_key(|kept| kept.site);
    saved.letters.sort_by_key(|(number, _)| *number);
}

fn failed(why: &str) -> StoreError {
    StoreError::Failed { why: why.into() }
}

impl ServerStore for MemoryStore {
    fn create(&self, row: &RunRow, saved: &SavedRun) -> Result<(), StoreError> {
        if !saved.waiting.is_empty() {
            return Err(failed("a new run already has answers, expected none"));
        }
        let mut inner = self.inner();
        if inner.runs.contains_key(&row.run) {
            return Err(StoreError::Exists);
        }
        let (mut saved, history) = (saved.clone(), History::default());
        in_order(&mut saved);
        inner.runs.insert(row.run, StoredRun { row: row.clone(), saved, history, attempts: BTreeSet::new() });
        Ok(())
    }

    fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        let mut all: Vec<RunRow> = self.inner().runs.values().map(|run| run.row.clone()).collect();
        all.sort_by_key(|row| std::cmp::Reverse(row.created));
        Ok(all)
    }

    fn version(&self, run: &RunId) -> Result<u64, StoreError> {
        Ok(self.inner().run(run)?.saved.version)
    }

    fn load(&self, run: &RunId) -> Result<SavedRun, StoreError> {
        Ok(self.inner().run(run)?.saved.clone())
    }

    fn commit(&self, run: &RunId, version: u64, header: &Header, change: &Change) -> Result<u64, StoreError> {
        self.inner().commit(run, version, header, change)
    }

    fn history(&self, run: &RunId) -> Result<History, StoreError> {
        Ok(self.inner().run(run)?.history.clone())
    }

    fn head(&self, key: &PublicKey) -> Result<Option<Position>, StoreError> {
        Ok(self.inner().heads.get(key).copied())
    }

    fn invite(&self, invite: &InviteRow) -> Result<(), StoreError> {
        let mut inner = self.inner();
        let (kept, _) = inner.invites.entry(invite.secret).or_insert_with(|| (invite.clone(), None));
        if kept == invite { Ok(()) } else { Err(failed("another invitation has this secret, expected none")) }
    }

    fn redeem(&self, secret: &Digest, request: &Digest, now: u64) -> Result<Redemption, StoreError> {
        let mut inner = self.inner();
        let Some((invite, used)) = inner.invites.get_mut(secret) else { return Ok(Redemption::Unknown) };
        Ok(match used {
            Some(other) if other != request => Redemption::Used,
            _ if invite.expires < now => Redemption::Expired,
            _ => {
                *used = Some(*request);
                Redemption::Good(invite.clone())
            }
        })
    }

    fn enrol(&self, party: &PartyRow) -> Result<(), StoreError> {
        let mut inner = self.inner();
        let place = (party.role, party.name.clone(), party.key);
        let revoked = inner.parties.get(&place).and_then(|kept| kept.revoked);
        if revoked.is_none() {
            let named = |row: &PartyRow| row.role == party.role && row.name == party.name;
            inner.parties.retain(|_, row| !named(row) || row.revoked.is_some());
        }
        inner.parties.insert(place, PartyRow { revoked: revoked.or(party.revoked), ..party.clone() });
        Ok(())
    }

    fn parties(&self) -> Result<Vec<PartyRow>, StoreError> {
        Ok(self.inner().parties.values().cloned().collect())
    }

    fn revoke(&self, role: PartyRole, name: &PartyName, now: u64) -> Result<bool, StoreError> {
        let mut inner = self.inner();
        let mut living = inner.parties.values_mut();
        let found = living.find(|row| row.role == role && row.name == *name && row.revoked.is_none());
        Ok(found.map(|row| row.revoked = Some(now)).is_some())
    }
}
