//! One run at a server: signed requests go in, what they change is kept, and only then do signed replies come out.
//!
//! Requests that come together are kept together, in one transaction. Any number of servers may do this on one store: a
//! commit that another has overtaken changes nothing, and its requests are taken again from what is kept now.

use super::run_service::{NoMetrics, RunMetrics};
use super::size::longest_request;
use super::throttle::LogThrottle;
use crate::coordinator::{Change, Coordinator, CoordinatorPhase, CoordinatorStep, MemberReport, SiteProgress};
use crate::failpoint;
use crate::identity::{IdentityKey, PartyName, PartyRole, PublicKey};
use crate::log::RunId;
use crate::manifest::{Manifest, RunParts};
use crate::message::{Instruction, MemberId, RefusalCode, Request};
use crate::store::{RunRow, ServerStore, StoreError};
use crate::wire::{self, Sender, ServerReply, UnverifiedContent};
use privacy::noise::Digest;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// How often a store that has failed is tried again where nothing asks for it, in milliseconds.
const PROBE: u64 = 1000;

/// How often a batch is taken again after another server was faster.
const MOST_RETRIES: usize = 64;

/// Who is at the other end, by its certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerIdentity {
    /// The role.
    pub role: PartyRole,
    /// The name.
    pub name: PartyName,
    /// The key.
    pub key: PublicKey,
}

/// A request as it came, held against the caller's key.
pub struct Call {
    caller: CallerIdentity,
    sender: Sender,
    digest: Digest,
    request: Result<Request, RefusalCode>,
}

impl Call {
    /// What somebody has said, if the signature is of the key at the other end.
    pub fn new(caller: CallerIdentity, said: &UnverifiedContent) -> Self {
        let request = said.request(&caller.key).map_err(|error| match error {
            wire::WireError::Signature => RefusalCode::Signature,
            _ => RefusalCode::Malformed,
        });
        Self { sender: said.sender().clone(), digest: said.digest(), caller, request }
    }

    /// Who is at the other end.
    pub fn caller(&self) -> &CallerIdentity {
        &self.caller
    }

    /// The request, or what is wrong with it.
    pub fn request(&self) -> Result<&Request, RefusalCode> {
        self.request.as_ref().map_err(|refusal| *refusal)
    }
}

/// A reply that may leave, and is not signed yet: whoever sends it does that, beside the run and not in its way.
#[derive(Debug, Clone)]
pub struct ReplyDraft {
    key: Arc<IdentityKey>,
    sender: Sender,
    to: Option<MemberId>,
    reply: ServerReply,
}

impl ReplyDraft {
    /// What it refuses, if it does.
    pub fn refuses(&self) -> Option<RefusalCode> {
        self.reply.instructions.iter().find_map(|instruction| match instruction {
            Instruction::Refuse(refusal) => Some(*refusal),
            _ => None,
        })
    }

    /// Who hears by it that the run is over, if it says so.
    pub fn tells_the_end(&self) -> Option<MemberId> {
        let end = |instruction: &Instruction| matches!(instruction, Instruction::Finished(_));
        self.to.filter(|_| self.reply.instructions.iter().any(end))
    }

    /// The reply as it is sent.
    pub fn sign(&self) -> wire::proto::Signed {
        wire::sign_reply(&self.key, &self.sender, &self.reply)
    }
}

/// What a request leads to.
#[derive(Debug)]
pub enum CallOutcome {
    /// This is to be sent.
    Reply(ReplyDraft),
    /// There is nothing to say yet, and the caller can wait.
    Wait(WaitingPoll),
}

/// A poll that waits.
#[derive(Debug, Clone)]
pub struct WaitingPoll {
    member: MemberId,
    known: MemberReport,
    to: Digest,
    /// Milliseconds for which it may wait.
    pub wait: u32,
}

impl WaitingPoll {
    /// The member whose poll waits.
    pub fn member(&self) -> MemberId {
        self.member
    }
}

/// Whose polls may have an answer now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeUp {
    /// Anybody's.
    All,
    /// Only polls of these members.
    Only(BTreeSet<MemberId>),
}

/// Who says what, and the digest of it; or why it is refused.
type IdentifiedCall<'a> = Result<(MemberId, &'a Request, Digest), RefusalCode>;

/// A run, and the store that it is kept in.
pub struct RunEngine {
    store: Arc<dyn ServerStore>,
    run: RunId,
    key: Arc<IdentityKey>,
    name: PartyName,
    manifest: Arc<Manifest>,
    parts: Arc<RunParts>,
    coordinator: Coordinator,
    version: u64,
    /// What is kept is unknown: nothing is said before it was loaded again.
    lost: bool,
    watcher: Arc<dyn RunMetrics>,
    /// Lines on a store that fails.
    complaints: LogThrottle,
    /// When a store that has failed is tried next, by the clock of [`RunEngine::tick`].
    probe: u64,
}

impl RunEngine {
    /// Keeps a new run, which nobody but the server has signed.
    pub fn create(
        store: &Arc<dyn ServerStore>,
        manifest: Arc<Manifest>,
        parts: Arc<RunParts>,
        key: Arc<IdentityKey>,
        created: u64,
    ) -> Result<RunId, StoreError> {
        let heads = manifest.sites.iter().map(|site| store.head(&site.key));
        let seen = heads.collect::<Result<Vec<_>, _>>()?;
        let failed = |why: inference::RunError| StoreError::Failed { why: why.to_string() };
        let (_, saved) = Coordinator::new(manifest.clone(), parts, key, seen).map_err(failed)?;
        let run = manifest.run();
        store.create(&RunRow { run, manifest: manifest.bytes(), created }, &saved)?;
        Ok(run)
    }

    /// Takes up a run as it was kept.
    pub fn open(
        store: Arc<dyn ServerStore>,
        manifest: Arc<Manifest>,
        parts: Arc<RunParts>,
        key: Arc<IdentityKey>,
        name: PartyName,
    ) -> Result<Self, StoreError> {
        let run = manifest.run();
        let saved = store.load(&run)?;
        let version = saved.version;
        let coordinator = Coordinator::load(manifest.clone(), parts.clone(), key.clone(), saved);
        let (watcher, complaints) = (Arc::new(NoMetrics), LogThrottle::default());
        Ok(Self {
            store,
            run,
            key,
            name,
            manifest,
            parts,
            coordinator,
            version,
            lost: false,
            watcher,
            complaints,
            probe: 0,
        })
    }

    /// The same run; what its store does is told to this one.
    #[must_use]
    pub fn watched_by(self, watcher: Arc<dyn RunMetrics>) -> Self {
        Self { watcher, ..self }
    }

    /// Takes requests that came together. Their replies may be sent when this returns, and not before.
    pub fn take(&mut self, calls: &[Call]) -> (Vec<CallOutcome>, WakeUp) {
        let requests: Vec<IdentifiedCall<'_>> = calls.iter().map(|call| self.identify(call)).collect();
        let (mut news, begun) = (false, Instant::now());
        for _ in 0..MOST_RETRIES {
            if self.lost {
                if self.reload().is_err() {
                    break;
                }
                news = true;
            }
            let mut change = Change::default();
            let mut said = Vec::with_capacity(calls.len());
            for one in &requests {
                let step = match one {
                    Ok((member, request, digest)) => self.coordinator.handle(*member, request, *digest),
                    Err(refusal) => {
                        CoordinatorStep { change: Change::default(), reply: vec![Instruction::Refuse(*refusal)] }
                    }
                };
                change.merge(step.change);
                said.push(step.reply);
            }
            let answers = calls.iter().zip(&requests).zip(said);
            let answers: Vec<CallOutcome> = answers.map(|((call, one), said)| self.answer(call, one, said)).collect();
            match self.commit(&change, calls.len(), begun) {
                // What another server has changed may concern anybody.
                Ok(()) => return (answers, if news { WakeUp::All } else { woken(&change) }),
                Err(StoreError::Stale { .. }) => {}
                Err(_) => break,
            }
        }
        let unavailable = calls.iter().map(|call| CallOutcome::Reply(self.refuse(call, RefusalCode::Unavailable)));
        (unavailable.collect(), WakeUp::Only(BTreeSet::new()))
    }

    /// Time passes: a round may do without its stragglers. `now` is in milliseconds of a clock that does not go back.
    pub fn tick(&mut self, now: u64) -> WakeUp {
        let news = self.lost;
        if news && self.reload().is_err() {
            return WakeUp::Only(BTreeSet::new());
        }
        let mut change = self.coordinator.tick(now);
        // After a commit that failed somebody waits to hear of one that did not, though nothing may come to be kept.
        if self.watcher.is_failing() && now >= self.probe {
            self.probe = now.saturating_add(PROBE);
            change.dirty = true;
        }
        match self.commit(&change, 0, Instant::now()) {
            Ok(()) if news => WakeUp::All,
            Ok(()) => woken(&change),
            Err(_) => WakeUp::Only(BTreeSet::new()),
        }
    }

    /// Looks whether another server has moved the run on; true if it has.
    pub fn refresh(&mut self) -> Result<bool, StoreError> {
        if !self.lost {
            let found = self.store.version(&self.run).inspect_err(|error| self.complain(error))?;
            if found == self.version {
                return Ok(false);
            }
        }
        self.reload().map(|()| true)
    }

    /// A store that fails is never passed over in silence.
    fn complain(&self, error: &StoreError) {
        self.watcher.unread();
        if let Some(held) = self.complaints.passes(Instant::now()) {
            tracing::error!(%error, hint = error.hint(), held, "cannot read the store");
        }
    }

    /// The reply to a poll that waited, if there is something to say by now.
    pub fn look(&self, ticket: &WaitingPoll) -> Option<ReplyDraft> {
        let said = self.coordinator.instruct(ticket.member, ticket.known);
        (!self.lost && said != [Instruction::Rest]).then(|| self.reply(ticket.member, ticket.to, said))
    }

    /// The reply to a poll that has waited long enough.
    pub fn rest(&self, ticket: &WaitingPoll) -> ReplyDraft {
        self.reply(ticket.member, ticket.to, vec![Instruction::Rest])
    }

    /// Certificate, sender, manifest, membership and signature, in this order.
    fn identify<'a>(&self, Call { caller, sender, digest, request }: &'a Call) -> IdentifiedCall<'a> {
        if sender.role != caller.role || sender.name != caller.name {
            return Err(RefusalCode::NotAMember);
        }
        if sender.manifest.is_some_and(|manifest| manifest != self.coordinator.digest()) {
            return Err(RefusalCode::OtherManifest);
        }
        let member = self.member(caller).ok_or(RefusalCode::NotAMember)?;
        match (request, sender.manifest) {
            (Err(refusal), _) => Err(*refusal),
            (Ok(request @ (Request::Attend { .. } | Request::Renew { .. })), _) | (Ok(request), Some(_)) => {
                Ok((member, request, *digest))
            }
            (Ok(_), None) => Err(RefusalCode::OtherManifest),
        }
    }

    fn answer(&self, call: &Call, one: &IdentifiedCall<'_>, said: Vec<Instruction>) -> CallOutcome {
        match one {
            Err(_) => CallOutcome::Reply(self.draft(None, call.digest, said)),
            Ok((member, Request::Attend { wait, begun, unsettled, mail, closed, .. }, to))
                if *wait > 0 && said == [Instruction::Rest] =>
            {
                let known = MemberReport { begun: *begun, unsettled: *unsettled, mail: *mail, closed: *closed };
                CallOutcome::Wait(WaitingPoll { member: *member, known, to: *to, wait: *wait })
            }
            Ok((member, _, to)) => CallOutcome::Reply(self.reply(*member, *to, said)),
        }
    }

    fn refuse(&self, call: &Call, refusal: RefusalCode) -> ReplyDraft {
        self.draft(None, call.digest, vec![Instruction::Refuse(refusal)])
    }

    fn reply(&self, member: MemberId, to: Digest, instructions: Vec<Instruction>) -> ReplyDraft {
        self.draft(Some(member), to, instructions)
    }

    fn draft(&self, member: Option<MemberId>, to: Digest, instructions: Vec<Instruction>) -> ReplyDraft {
        let seen = match member {
            Some(MemberId::Site(site)) => self.coordinator.header().sites.get(site).and_then(SiteProgress::known),
            Some(MemberId::Node(_) | MemberId::Server) | None => None,
        };
        let manifest = Some(self.coordinator.digest());
        let sender = Sender { role: PartyRole::Server, name: self.name.clone(), manifest };
        ReplyDraft { key: self.key.clone(), sender, to: member, reply: ServerReply { to, seen, instructions } }
    }

    fn commit(&mut self, change: &Change, requests: usize, begun: Instant) -> Result<(), StoreError> {
        if !change.dirty {
            return Ok(());
        }
        failpoint::pass("commit");
        let kept = self.store.commit(&self.run, self.version, self.coordinator.header(), change);
        failpoint::pass("committed");
        match kept {
            Ok(version) => {
                self.version = version;
                self.watcher.committed(requests, begun.elapsed());
                Ok(())
            }
            Err(error) => {
                self.lost = true;
                // One that another server has overtaken is made again: nothing has failed.
                if !matches!(error, StoreError::Stale { .. }) {
                    self.watcher.unkept(&error);
                    if let Some(held) = self.complaints.passes(Instant::now()) {
                        tracing::error!(%error, hint = error.hint(), held, "cannot store a change");
                    }
                }
                Err(error)
            }
        }
    }

    fn reload(&mut self) -> Result<(), StoreError> {
        let saved = self.store.load(&self.run).inspect_err(|error| self.complain(error))?;
        (self.version, self.lost) = (saved.version, false);
        let since = self.coordinator.since();
        let (manifest, parts, key) = (self.manifest.clone(), self.parts.clone(), self.key.clone());
        self.coordinator = Coordinator::load(manifest, parts, key, saved).with_since(since);
        Ok(())
    }

    /// The member that a caller is by its certificate, if it is one.
    pub fn member(&self, caller: &CallerIdentity) -> Option<MemberId> {
        self.manifest.member(caller.role, &caller.name, &caller.key)
    }

    /// What all have signed, or are to sign.
    pub fn manifest(&self) -> &Arc<Manifest> {
        &self.manifest
    }

    /// Longest request of a member, in bytes as it is sent.
    pub fn longest_request(&self) -> usize {
        longest_request(&self.manifest, &self.parts)
    }

    /// The run as it is now.
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// Whether what is known here is what is kept: not so after a commit that failed, until the run was loaded again.
    pub fn is_certain(&self) -> bool {
        !self.lost
    }

    /// Whether the run is over.
    pub fn is_finished(&self) -> bool {
        matches!(self.coordinator.header().phase, CoordinatorPhase::Finished(_))
    }
}

/// After a fold, a new question or a new attempt anybody may have something to hear; else those with receipts or letters.
fn woken(change: &Change) -> WakeUp {
    if !change.folds.is_empty() || change.query.is_some() || change.cleared || change.wakes {
        return WakeUp::All;
    }
    let letters = change.posted.iter().map(|(_, letter)| letter.to);
    WakeUp::Only(letters.chain(change.receipts.iter().map(|kept| MemberId::Site(kept.site))).collect())
}
