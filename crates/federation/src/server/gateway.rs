//! What parties reach over the network: certificates are looked at, requests are brought to the run, invites are redeemed.

use super::engine::{Call, CallerIdentity};
use super::run_service::{RunMetrics, RunService};
use super::throttle::LogThrottle;
use crate::dashboard::{Metrics, RefusalReason};
use crate::identity::{
    Authority, EnrolError, IdentityKey, PartyName, PartyRole, PartyStanding, Peer, join, renew, standing,
};
use crate::message::{Instruction, RefusalCode, Request};
use crate::store::{PartyRow, ServerStore, StoreError};
use crate::transport::{CallFuture, CallRefusal, Enroller, Handler, InviteRefusal, LengthLimit, PeerCertificate};
use crate::wire::{self, SMALL_BYTES, Sender, ServerReply, UnverifiedContent, proto};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How old what is known of parties may be: a revocation counts after so long.
const FRESH: Duration = Duration::from_secs(2);

/// The time, in seconds since 1970: certificates are the only thing that it decides on.
pub type UnixClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A server as the network sees it.
pub struct Gateway {
    store: Arc<dyn ServerStore>,
    authority: Arc<Authority>,
    key: Arc<IdentityKey>,
    name: PartyName,
    /// Where parties are told to go after they have joined.
    address: String,
    clock: UnixClock,
    /// The run, once there is one.
    service: watch::Receiver<Option<Arc<RunService>>>,
    known: Mutex<Option<(Instant, Arc<Vec<PartyRow>>)>>,
    told: Arc<dyn RequestMetrics>,
    /// Lines on each kind of refusal.
    complaints: [LogThrottle; RefusalReason::ALL.len()],
    /// Lines about those who were not enrolled: anybody may knock.
    unwelcome: LogThrottle,
}

/// Hears of requests and refusals, for metrics: kinds only, nothing of their contents.
pub trait RequestMetrics: Send + Sync {
    /// A request came.
    fn requested(&self, request: &Request);
    /// A caller or a request was refused.
    fn refused(&self, reason: RefusalReason);
    /// Whether somebody who joins or renews could be kept.
    fn enrolled(&self, _kept: bool) {}
}

impl RequestMetrics for Metrics {
    fn requested(&self, request: &Request) {
        Self::requested(self, request);
    }
    fn refused(&self, reason: RefusalReason) {
        Self::refused(self, reason);
    }
    fn enrolled(&self, kept: bool) {
        match kept {
            true => self.recovered(),
            false => self.unkept("the store of parties failed"),
        }
    }
}

impl RunMetrics for Metrics {
    fn committed(&self, _: usize, time: Duration) {
        Self::committed(self, time);
    }
    fn unkept(&self, error: &StoreError) {
        Self::unkept(self, &error.to_string());
    }
    fn unread(&self) {
        Self::unread(self);
    }
    fn is_failing(&self) -> bool {
        self.failure().is_some()
    }
    fn parked(&self, polls: usize) {
        Self::parked(self, polls);
    }
    fn rounded(&self, time: Duration) {
        Self::rounded(self, time);
    }
}

impl Gateway {
    /// A gateway to the run that the channel holds, now or later.
    #[allow(clippy::too_many_arguments)] // everything that a server is made of
    pub fn new(
        store: Arc<dyn ServerStore>,
        authority: Arc<Authority>,
        key: Arc<IdentityKey>,
        name: PartyName,
        address: String,
        clock: UnixClock,
        service: watch::Receiver<Option<Arc<RunService>>>,
        told: Arc<dyn RequestMetrics>,
    ) -> Self {
        let (known, complaints, unwelcome) = (Mutex::new(None), Default::default(), LogThrottle::default());
        Self { store, authority, key, name, address, clock, service, known, told, complaints, unwelcome }
    }

    /// Counts a refusal, and says so from time to time.
    fn refuse(&self, reason: RefusalReason, whom: Option<&Peer>) {
        self.told.refused(reason);
        let complaint = reason.place().and_then(|place| self.complaints.get(place));
        if let Some(held) = complaint.and_then(|complaint| complaint.passes(Instant::now())) {
            let (role, name) = whom.map_or(("", ""), |peer| (peer.role.word(), peer.name.as_str()));
            tracing::warn!(reason = reason.word(), role, name, held, "refused a party or a request");
        }
    }

    /// All parties, as they were known a moment ago.
    fn remembered(&self) -> Option<Arc<Vec<PartyRow>>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|(at, _)| at.elapsed() < FRESH).map(|(_, rows)| rows.clone())
    }

    /// All parties, as they are known now.
    async fn parties(&self) -> Result<Arc<Vec<PartyRow>>, CallRefusal> {
        let store = self.store.clone();
        let rows = tokio::task::spawn_blocking(move || store.parties()).await.map_err(|_| CallRefusal::Unavailable)?;
        let rows = Arc::new(rows.map_err(|_| CallRefusal::Unavailable)?);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), rows.clone()));
        Ok(rows)
    }

    async fn admit(&self, certificate: &PeerCertificate) -> Result<Peer, CallRefusal> {
        let peer = Peer::of_der(&certificate.0).map_err(|_| self.refusing(CallRefusal::NotPermitted, None))?;
        let now = (self.clock)();
        if self.remembered().is_some_and(|rows| standing(&rows, &peer, now) == PartyStanding::Good) {
            return Ok(peer);
        }
        let rows = self.parties().await.map_err(|refused| self.refusing(refused, Some(&peer)))?;
        match RefusalReason::of_standing(standing(&rows, &peer, now)) {
            None => Ok(peer),
            Some(reason) => {
                self.refuse(reason, Some(&peer));
                Err(CallRefusal::NotPermitted)
            }
        }
    }

    /// A call that is refused as a whole is counted.
    fn refusing(&self, refused: CallRefusal, whom: Option<&Peer>) -> CallRefusal {
        self.refuse(RefusalReason::of_call(refused), whom);
        refused
    }

    async fn answer(&self, certificate: PeerCertificate, content: proto::Signed) -> Result<proto::Signed, CallRefusal> {
        let peer = self.admit(&certificate).await?;
        self.hear(&peer, content).await.map_err(|refused| self.refusing(refused, Some(&peer)))
    }

    /// Answers a party that is listened to.
    async fn hear(&self, peer: &Peer, content: proto::Signed) -> Result<proto::Signed, CallRefusal> {
        let said = UnverifiedContent::of(content).map_err(|_| CallRefusal::Malformed)?;
        let call = Call::new(CallerIdentity { role: peer.role, name: peer.name.clone(), key: peer.key }, &said);
        match call.request() {
            Err(RefusalCode::Malformed) => return Err(CallRefusal::Malformed),
            Err(_) => {}
            Ok(request) => self.told.requested(request),
        }
        if let Ok(Request::Renew { request }) = call.request() {
            return self.renew(peer, &said, request.clone()).await;
        }
        let service = self.service.borrow().clone();
        let Some(service) = service else {
            self.refuse(RefusalReason::Reply(RefusalCode::NoRun), Some(peer));
            return Ok(self.say(&said, Instruction::Refuse(RefusalCode::NoRun)));
        };
        let draft = service.call(call).await.ok_or(CallRefusal::Unavailable)?;
        if let Some(refusal) = draft.refuses() {
            self.refuse(RefusalReason::Reply(refusal), Some(peer));
        }
        Ok(draft.sign())
    }

    /// A new certificate for the same key.
    async fn renew(
        &self,
        peer: &Peer,
        said: &UnverifiedContent,
        request: Vec<u8>,
    ) -> Result<proto::Signed, CallRefusal> {
        let (store, authority, peer, now) = (self.store.clone(), self.authority.clone(), peer.clone(), (self.clock)());
        let renewed =
            tokio::task::spawn_blocking(move || renew(store.as_ref(), authority.as_ref(), &peer, &request, now));
        let renewed = renewed.await.map_err(|_| CallRefusal::Unavailable)?;
        self.note_enrolled(renewed.as_ref().err());
        let chain = renewed.map_err(refused)?;
        Ok(self.say(said, Instruction::Certificate { chain }))
    }

    fn say(&self, to: &UnverifiedContent, instruction: Instruction) -> proto::Signed {
        let sender = Sender { role: PartyRole::Server, name: self.name.clone(), manifest: None };
        let reply = ServerReply { to: to.digest(), seen: None, instructions: vec![instruction] };
        wire::sign_reply(&self.key, &sender, &reply)
    }

    async fn enrol(&self, request: proto::JoinRequest) -> Result<proto::JoinReply, CallRefusal> {
        self.admit_new(request).await.map_err(|refused| self.refusing(refused, None))
    }

    /// What became of somebody who joins or renews: whether it could be kept, if it came to that.
    fn note_enrolled(&self, error: Option<&EnrolError>) {
        match error {
            None => self.told.enrolled(true),
            Some(EnrolError::Unavailable) => self.told.enrolled(false),
            Some(_) => {}
        }
    }

    async fn admit_new(&self, request: proto::JoinRequest) -> Result<proto::JoinReply, CallRefusal> {
        if request.version != wire::VERSION {
            return Err(CallRefusal::Malformed);
        }
        let (store, authority, now) = (self.store.clone(), self.authority.clone(), (self.clock)());
        let joined = tokio::task::spawn_blocking(move || {
            let proto::JoinRequest { secret, request, sealing, .. } = &request;
            join(store.as_ref(), authority.as_ref(), secret, request, sealing, now)
        });
        let joined = joined.await.map_err(|_| CallRefusal::Unavailable)?;
        self.note_enrolled(joined.as_ref().err());
        let joined = joined.map_err(|error| {
            if let Some(held) = self.unwelcome.passes(Instant::now()) {
                tracing::warn!(%error, held, "enrolled nobody");
            }
            unwelcome(error)
        })?;
        tracing::info!(role = %joined.party.role, name = %joined.party.name, "a party has joined");
        Ok(proto::JoinReply { chain: joined.chain, authority: joined.root, server: self.address.clone() })
    }
}

fn refused(error: EnrolError) -> CallRefusal {
    match error {
        EnrolError::Unavailable => CallRefusal::Unavailable,
        EnrolError::Request | EnrolError::Sealing => CallRefusal::Malformed,
        _ => CallRefusal::NotPermitted,
    }
}

/// What somebody who joins is told.
fn unwelcome(error: EnrolError) -> CallRefusal {
    match error {
        EnrolError::UnknownInvite => CallRefusal::Invite(InviteRefusal::Unknown),
        EnrolError::InviteExpired => CallRefusal::Invite(InviteRefusal::Expired),
        EnrolError::InviteUsed => CallRefusal::Invite(InviteRefusal::Used),
        EnrolError::Taken => CallRefusal::Invite(InviteRefusal::Taken),
        EnrolError::Revoked => CallRefusal::Invite(InviteRefusal::Revoked),
        other => refused(other),
    }
}

impl Handler for Gateway {
    fn longest(&self, certificate: &PeerCertificate) -> LengthLimit {
        let service = self.service.borrow().clone();
        match (service, Peer::of_der(&certificate.0)) {
            (None, _) => LengthLimit::SoFar(SMALL_BYTES),
            (Some(_), Err(_)) => LengthLimit::Final(SMALL_BYTES),
            (Some(service), Ok(peer)) => LengthLimit::Final(service.longest(&peer)),
        }
    }

    fn exchange(&self, peer: PeerCertificate, content: proto::Signed) -> CallFuture<'_, proto::Signed> {
        Box::pin(self.answer(peer, content))
    }
}

impl Enroller for Gateway {
    fn join(&self, request: proto::JoinRequest) -> CallFuture<'_, proto::JoinReply> {
        Box::pin(self.enrol(request))
    }
}
