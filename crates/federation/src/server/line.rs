//! What parties reach over the network: certificates are looked at, requests are brought to the run, invites are redeemed.

use super::engine::{Call, Caller};
use super::hall::{Hall, Watcher};
use crate::dashboard::Metrics;
use crate::identity::{
    Authority, EnrolError, IdentityKey, PartyName, PartyStanding, Peer, Role, join, renew, standing,
};
use crate::message::{Instruction, Refusal, Request};
use crate::store::{PartyRow, Store};
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
}

/// Hears of requests and refusals, for metrics: kinds only, nothing of their contents.
pub trait Told: Send + Sync {
    /// A request came.
    fn requested(&self, request: &Request);
    /// One was refused.
    fn refused(&self, refusal: Refusal);
    /// A caller was turned away at the door.
    fn turned_away(&self);
}

impl Told for Metrics {
    fn requested(&self, request: &Request) {
        Self::requested(self, request);
    }
    fn refused(&self, refusal: Refusal) {
        Self::refused(self, refusal);
    }
    fn turned_away(&self) {
        Self::refused(self, Refusal::NotAMember);
    }
}

impl Watcher for Metrics {
    fn committed(&self, _: usize, time: Duration) {
        Self::committed(self, time);
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
        Self { store, authority, key, name, address, clock, hall, known: Mutex::new(None), told }
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
        let peer = Peer::of_der(&certificate.0).map_err(|_| Refused::NotPermitted)?;
        let now = (self.clock)();
        if self.remembered().is_some_and(|rows| standing(&rows, &peer, now) == PartyStanding::Good) {
            return Ok(peer);
        }
        match standing(&self.parties().await?, &peer, now) {
            PartyStanding::Good => Ok(peer),
            PartyStanding::Revoked | PartyStanding::Unknown | PartyStanding::OtherKey | PartyStanding::Expired => {
                self.told.turned_away();
                tracing::warn!(role = %peer.role, name = %peer.name, "a party was turned away");
                Err(Refused::NotPermitted)
            }
        }
    }

    async fn answer(&self, certificate: PeerCertificate, content: proto::Signed) -> Result<proto::Signed, Refused> {
        let peer = self.admit(&certificate).await?;
        let said = Unverified::of(content).map_err(|_| Refused::Malformed)?;
        let call = Call::new(Caller { role: peer.role, name: peer.name.clone(), key: peer.key }, &said);
        match call.request() {
            Err(Refusal::Malformed) => return Err(Refused::Malformed),
            Err(_) => {}
            Ok(request) => self.told.requested(request),
        }
        if let Ok(Request::Renew { request }) = call.request() {
            return self.renew(&peer, &said, request.clone()).await;
        }
        let hall = self.hall.borrow().clone();
        match hall {
            None => Ok(self.say(&said, Instruction::Refuse(Refusal::NoRun))),
            Some(hall) => hall.call(call).await.map(|draft| draft.sign()).ok_or(Refused::Unavailable),
        }
    }

    /// A new certificate for the same key.
    async fn renew(&self, peer: &Peer, said: &Unverified, request: Vec<u8>) -> Result<proto::Signed, Refused> {
        let (store, authority, peer, now) = (self.store.clone(), self.authority.clone(), peer.clone(), (self.clock)());
        let renewed =
            tokio::task::spawn_blocking(move || renew(store.as_ref(), authority.as_ref(), &peer, &request, now));
        let chain = renewed.await.map_err(|_| Refused::Unavailable)?.map_err(refused)?;
        Ok(self.say(said, Instruction::Certificate { chain }))
    }

    fn say(&self, to: &Unverified, instruction: Instruction) -> proto::Signed {
        let sender = Sender { role: Role::Server, name: self.name.clone(), manifest: None };
        let reply = Reply { to: to.digest(), seen: None, instructions: vec![instruction] };
        wire::sign_reply(&self.key, &sender, &reply)
    }

    async fn enrol(&self, request: proto::JoinRequest) -> Result<proto::JoinReply, Refused> {
        if request.version != wire::VERSION {
            return Err(Refused::Malformed);
        }
        let (store, authority, now) = (self.store.clone(), self.authority.clone(), (self.clock)());
        let joined = tokio::task::spawn_blocking(move || {
            let proto::JoinRequest { secret, request, sealing, .. } = &request;
            join(store.as_ref(), authority.as_ref(), secret, request, sealing, now)
        });
        let joined = joined.await.map_err(|_| Refused::Unavailable)?.map_err(|error| {
            tracing::warn!(%error, "nobody was enrolled");
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
