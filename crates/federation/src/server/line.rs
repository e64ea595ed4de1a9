//! What parties reach over the network: certificates are looked at, requests are brought to the run, invites are redeemed.

use super::engine::{Call, Caller};
use super::hall::{Hall, Watcher};
use super::sparse::Sparse;
use crate::dashboard::{Metrics, RefusalReason};
use crate::identity::{
    Authority, EnrolError, IdentityKey, PartyName, PartyStanding, Peer, Role, join, renew, standing,
};
use crate::message::{Instruction, Refusal, Request};
use crate::store::{PartyRow, Store, StoreError};
use crate::transport::{Answer, Enroller, Handler, InviteRefusal, Longest, PeerCertificate, Refused};
use crate::wire::{self, Reply, SMALL_BYTES, Sender, Unverified, proto};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How old what is known of parties may be: a revocation counts after so long.
const FRESH: Duration = Duration::from_secs(2);

/// The time, in seconds since 1970: certificates are the only thing that it decides on.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A server as the network sees it.
pub struct Reception {
    store: Arc<dyn Store>,
    authority: Arc<Authority>,
    key: Arc<IdentityKey>,
    name: PartyName,
    /// Where parties are told to go after they have joined.
    address: String,
    clock: Clock,
    /// The run, once there is one.
    hall: watch::Receiver<Option<Arc<Hall>>>,
    known: Mutex<Option<(Instant, Arc<Vec<PartyRow>>)>>,
    told: Arc<dyn Told>,
    /// Lines on each kind of refusal.
    complaints: [Sparse; RefusalReason::ALL.len()],
    /// Lines about those who were not enrolled: anybody may knock.
    unwelcome: Sparse,
}

/// Hears of requests and refusals, for metrics: kinds only, nothing of their contents.
pub trait Told: Send + Sync {
    /// A request came.
    fn requested(&self, request: &Request);
    /// A caller or a request was refused.
    fn refused(&self, reason: RefusalReason);
    /// Whether somebody who joins or renews could be kept.
    fn enrolled(&self, _kept: bool) {}
}

impl Told for Metrics {
    fn requested(&self, request: &Request) {
        Self::requested(self, request);
    }
    fn refused(&self, reason: RefusalReason) {
        Self::refused(self, reason);
    }
    fn enrolled(&self, kept: bool) {
        match kept {
            true => self.recovered(),
            false => self.unkept("the store of parties has failed"),
        }
    }
}

impl Watcher for Metrics {
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

impl Reception {
    /// A reception for a run that there is, or will be.
    #[allow(clippy::too_many_arguments)] // everything that a server is made of
    pub fn new(
        store: Arc<dyn Store>,
        authority: Arc<Authority>,
        key: Arc<IdentityKey>,
        name: PartyName,
        address: String,
        clock: Clock,
        hall: watch::Receiver<Option<Arc<Hall>>>,
        told: Arc<dyn Told>,
    ) -> Self {
        let (known, complaints, unwelcome) = (Mutex::new(None), Default::default(), Sparse::default());
        Self { store, authority, key, name, address, clock, hall, known, told, complaints, unwelcome }
    }

    /// Counts a refusal, and says so from time to time.
    fn refuse(&self, reason: RefusalReason, whom: Option<&Peer>) {
        self.told.refused(reason);
        let complaint = reason.place().and_then(|place| self.complaints.get(place));
        if let Some(held) = complaint.and_then(|complaint| complaint.passes(Instant::now())) {
            let (role, name) = whom.map_or(("", ""), |peer| (peer.role.word(), peer.name.as_str()));
            tracing::warn!(reason = reason.word(), role, name, held, "somebody was refused");
        }
    }

    /// All parties, as they were known a moment ago.
    fn remembered(&self) -> Option<Arc<Vec<PartyRow>>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.as_ref().filter(|(at, _)| at.elapsed() < FRESH).map(|(_, rows)| rows.clone())
    }

    /// All parties, as they are known now.
    async fn parties(&self) -> Result<Arc<Vec<PartyRow>>, Refused> {
        let store = self.store.clone();
        let rows = tokio::task::spawn_blocking(move || store.parties()).await.map_err(|_| Refused::Unavailable)?;
        let rows = Arc::new(rows.map_err(|_| Refused::Unavailable)?);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), rows.clone()));
        Ok(rows)
    }

    async fn admit(&self, certificate: &PeerCertificate) -> Result<Peer, Refused> {
        let peer = Peer::of_der(&certificate.0).map_err(|_| self.refusing(Refused::NotPermitted, None))?;
        let now = (self.clock)();
        if self.remembered().is_some_and(|rows| standing(&rows, &peer, now) == PartyStanding::Good) {
            return Ok(peer);
        }
        let rows = self.parties().await.map_err(|refused| self.refusing(refused, Some(&peer)))?;
        match RefusalReason::of_standing(standing(&rows, &peer, now)) {
            None => Ok(peer),
            Some(reason) => {
                self.refuse(reason, Some(&peer));
                Err(Refused::NotPermitted)
            }
        }
    }

    /// A call that is refused as a whole is counted.
    fn refusing(&self, refused: Refused, whom: Option<&Peer>) -> Refused {
        self.refuse(RefusalReason::of_call(refused), whom);
        refused
    }

    async fn answer(&self, certificate: PeerCertificate, content: proto::Signed) -> Result<proto::Signed, Refused> {
        let peer = self.admit(&certificate).await?;
        self.hear(&peer, content).await.map_err(|refused| self.refusing(refused, Some(&peer)))
    }

    /// Answers a party that is listened to.
    async fn hear(&self, peer: &Peer, content: proto::Signed) -> Result<proto::Signed, Refused> {
        let said = Unverified::of(content).map_err(|_| Refused::Malformed)?;
        let call = Call::new(Caller { role: peer.role, name: peer.name.clone(), key: peer.key }, &said);
        match call.request() {
            Err(Refusal::Malformed) => return Err(Refused::Malformed),
            Err(_) => {}
            Ok(request) => self.told.requested(request),
        }
        if let Ok(Request::Renew { request }) = call.request() {
            return self.renew(peer, &said, request.clone()).await;
        }
        let hall = self.hall.borrow().clone();
        let Some(hall) = hall else {
            self.refuse(RefusalReason::Reply(Refusal::NoRun), Some(peer));
            return Ok(self.say(&said, Instruction::Refuse(Refusal::NoRun)));
        };
        let draft = hall.call(call).await.ok_or(Refused::Unavailable)?;
        if let Some(refusal) = draft.refuses() {
            self.refuse(RefusalReason::Reply(refusal), Some(peer));
        }
        Ok(draft.sign())
    }

    /// A new certificate for the same key.
    async fn renew(&self, peer: &Peer, said: &Unverified, request: Vec<u8>) -> Result<proto::Signed, Refused> {
        let (store, authority, peer, now) = (self.store.clone(), self.authority.clone(), peer.clone(), (self.clock)());
        let renewed =
            tokio::task::spawn_blocking(move || renew(store.as_ref(), authority.as_ref(), &peer, &request, now));
        let renewed = renewed.await.map_err(|_| Refused::Unavailable)?;
        self.note_enrolled(renewed.as_ref().err());
        let chain = renewed.map_err(refused)?;
        Ok(self.say(said, Instruction::Certificate { chain }))
    }

    fn say(&self, to: &Unverified, instruction: Instruction) -> proto::Signed {
        let sender = Sender { role: Role::Server, name: self.name.clone(), manifest: None };
        let reply = Reply { to: to.digest(), seen: None, instructions: vec![instruction] };
        wire::sign_reply(&self.key, &sender, &reply)
    }

    async fn enrol(&self, request: proto::JoinRequest) -> Result<proto::JoinReply, Refused> {
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

    async fn admit_new(&self, request: proto::JoinRequest) -> Result<proto::JoinReply, Refused> {
        if request.version != wire::VERSION {
            return Err(Refused::Malformed);
        }
        let (store, authority, now) = (self.store.clone(), self.authority.clone(), (self.clock)());
        let joined = tokio::task::spawn_blocking(move || {
            let proto::JoinRequest { secret, request, sealing, .. } = &request;
            join(store.as_ref(), authority.as_ref(), secret, request, sealing, now)
        });
        let joined = joined.await.map_err(|_| Refused::Unavailable)?;
        self.note_enrolled(joined.as_ref().err());
        let joined = joined.map_err(|error| {
            if let Some(held) = self.unwelcome.passes(Instant::now()) {
                tracing::warn!(%error, held, "nobody was enrolled");
            }
            unwelcome(error)
        })?;
        tracing::info!(role = %joined.party.role, name = %joined.party.name, "a party has joined");
        Ok(proto::JoinReply { chain: joined.chain, authority: joined.root, server: self.address.clone() })
    }
}

fn refused(error: EnrolError) -> Refused {
    match error {
        EnrolError::Unavailable => Refused::Unavailable,
        EnrolError::Request | EnrolError::Sealing => Refused::Malformed,
        _ => Refused::NotPermitted,
    }
}

/// What somebody who joins is told.
fn unwelcome(error: EnrolError) -> Refused {
    match error {
        EnrolError::UnknownInvite => Refused::Invite(InviteRefusal::Unknown),
        EnrolError::InviteExpired => Refused::Invite(InviteRefusal::Expired),
        EnrolError::InviteUsed => Refused::Invite(InviteRefusal::Used),
        EnrolError::Taken => Refused::Invite(InviteRefusal::Taken),
        EnrolError::Revoked => Refused::Invite(InviteRefusal::Revoked),
        other => refused(other),
    }
}

impl Handler for Reception {
    fn longest(&self, certificate: &PeerCertificate) -> Longest {
        let hall = self.hall.borrow().clone();
        match (hall, Peer::of_der(&certificate.0)) {
            (None, _) => Longest::SoFar(SMALL_BYTES),
            (Some(_), Err(_)) => Longest::Final(SMALL_BYTES),
            (Some(hall), Ok(peer)) => Longest::Final(hall.longest(&peer)),
        }
    }

    fn exchange(&self, peer: PeerCertificate, content: proto::Signed) -> Answer<'_, proto::Signed> {
        Box::pin(self.answer(peer, content))
    }
}

impl Enroller for Reception {
    fn join(&self, request: proto::JoinRequest) -> Answer<'_, proto::JoinReply> {
        Box::pin(self.enrol(request))
    }
}
