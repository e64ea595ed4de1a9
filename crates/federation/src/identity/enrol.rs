//! What a server does when somebody joins or renews, and whether it listens to a party: decided over a store and an authority.

use super::authority::{Authority, IssuedCertificate, PARTY_LIFE};
use super::certificate::{Peer, requested_key};
use super::invite::InviteSecret;
use super::key::PublicKey;
use super::name::{PartyName, PartyRole};
use crate::store::{PartyRow, Redemption, ServerStore, StoreError};
use privacy::noise::Digest;
use sha2::{Digest as _, Sha256};

/// Why nobody was enrolled and nothing renewed: one of a fixed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EnrolError {
    /// There is no such invite.
    #[error("the invite is unknown")]
    UnknownInvite,
    /// The time of the invite is over.
    #[error("the invite has expired")]
    InviteExpired,
    /// The invite was used, for another key.
    #[error("the invite was already used")]
    InviteUsed,
    /// Somebody else has this name, and was not revoked.
    #[error("the name is taken; its holder must be revoked first")]
    Taken,
    /// The request cannot be read, or was not signed by the key that it is for.
    #[error("the certificate request is not valid")]
    Request,
    /// A node has a key for shares, and nobody else has one.
    #[error("only a node sends a sealing key, of 32 bytes")]
    Sealing,
    /// A server is not invited.
    #[error("a server does not join with an invite")]
    Role,
    /// The party was revoked.
    #[error("the party was revoked")]
    Revoked,
    /// No such party has joined.
    #[error("the party has not joined")]
    UnknownParty,
    /// A renewal is for the key that the party has.
    #[error("the party has another key")]
    OtherKey,
    /// The authority cannot issue just now. The server's own log says why.
    #[error("the authority cannot issue a certificate at the moment")]
    Authority,
    /// The store failed. The same request may come again.
    #[error("the server cannot store anything at the moment; try again")]
    Unavailable,
}

impl EnrolError {
    /// What somebody who joins can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownInvite | Self::InviteExpired | Self::InviteUsed => "ask for a new invite",
            Self::Taken => "ask the server's operator to revoke the holder of the name, then join again",
            Self::Request | Self::Sealing | Self::Role => "use the same version of posterity as the server",
            Self::Revoked | Self::UnknownParty | Self::OtherKey => {
                "ask the server's operator for a new invite, and join with a new home folder"
            }
            Self::Authority => "ask the server's operator, who may have to renew the authority",
            Self::Unavailable => "try again later",
        }
    }
}

/// A party that has joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnrolledParty {
    /// As what, and under which name.
    pub party: PartyRow,
    /// Its certificate and the issuing one, in PEM.
    pub chain: String,
    /// The root's certificate, in PEM.
    pub root: String,
}

/// How a party stands with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartyStanding {
    /// It is listened to.
    Good,
    /// It was revoked.
    Revoked,
    /// It has never joined here.
    Unknown,
    /// Another key has its name now.
    OtherKey,
    /// Its certificate has ended while it was connected.
    Expired,
}

/// Enrols the holder of an invite. The same request may come again, and gets another certificate for the same key.
///
/// `sealing` is empty for all but a node.
pub fn join(
    store: &dyn ServerStore,
    authority: &Authority,
    secret: &[u8],
    request: &[u8],
    sealing: &[u8],
    now: u64,
) -> Result<EnrolledParty, EnrolError> {
    let secret = InviteSecret::of_bytes(secret).ok_or(EnrolError::UnknownInvite)?;
    let key = requested_key(request).map_err(|_| EnrolError::Request)?;
    // Before the invite is touched: it stays good for the new folder of who was revoked.
    if store.parties().map_err(unavailable)?.iter().any(|row| row.key == key && row.revoked.is_some()) {
        return Err(EnrolError::Revoked);
    }
    let invite = match store.redeem(&secret.digest(), &same_request(&key, sealing), now).map_err(unavailable)? {
        Redemption::Good(invite) => invite,
        Redemption::Unknown => return Err(EnrolError::UnknownInvite),
        Redemption::Expired => return Err(EnrolError::InviteExpired),
        Redemption::Used => return Err(EnrolError::InviteUsed),
    };
    let sealing = match (invite.role, sealing) {
        (PartyRole::Node, key) => Some(<[u8; 32]>::try_from(key).map_err(|_| EnrolError::Sealing)?),
        (PartyRole::Server, _) => return Err(EnrolError::Role),
        (_, []) => None,
        _ => return Err(EnrolError::Sealing),
    };
    if party(store, invite.role, &invite.name)?.is_some_and(|row| row.key != key && row.revoked.is_none()) {
        return Err(EnrolError::Taken);
    }
    let issued = issue(authority, invite.role, &invite.name, &key, now)?;
    let party = PartyRow { role: invite.role, name: invite.name, key, sealing, expires: issued.expires, revoked: None };
    store.enrol(&party).map_err(unavailable)?;
    Ok(EnrolledParty { party, chain: issued.chain, root: authority.root_pem().to_owned() })
}

/// A new certificate for a party, by its request for the key that it has. The chain, in PEM.
pub fn renew(
    store: &dyn ServerStore,
    authority: &Authority,
    peer: &Peer,
    request: &[u8],
    now: u64,
) -> Result<String, EnrolError> {
    let row = party(store, peer.role, &peer.name)?.ok_or(EnrolError::UnknownParty)?;
    let key = requested_key(request).map_err(|_| EnrolError::Request)?;
    if row.key != peer.key || row.key != key {
        return Err(EnrolError::OtherKey);
    }
    if row.revoked.is_some() {
        return Err(EnrolError::Revoked);
    }
    let issued = issue(authority, row.role, &row.name, &key, now)?;
    store.enrol(&PartyRow { expires: issued.expires, ..row }).map_err(unavailable)?;
    Ok(issued.chain)
}

/// Whether a server listens to a party, as far as these rows know; asked with each request, because a connection may outlast
/// a certificate.
pub fn standing(rows: &[PartyRow], peer: &Peer, now: u64) -> PartyStanding {
    let named = || rows.iter().filter(|row| row.role == peer.role && row.name == peer.name);
    match named().find(|row| row.key == peer.key) {
        None if named().next().is_some() => PartyStanding::OtherKey,
        None => PartyStanding::Unknown,
        Some(row) if row.revoked.is_some() => PartyStanding::Revoked,
        Some(row) if now > row.expires.max(peer.expires) => PartyStanding::Expired,
        Some(_) => PartyStanding::Good,
    }
}

/// Requests are the same if they are for the same keys, however they are written.
fn same_request(key: &PublicKey, sealing: &[u8]) -> Digest {
    Sha256::new().chain_update(b"posterity 1 join\0").chain_update(key.0).chain_update(sealing).finalize().into()
}

fn party(store: &dyn ServerStore, role: PartyRole, name: &PartyName) -> Result<Option<PartyRow>, EnrolError> {
    let rows = store.parties().map_err(unavailable)?;
    // Under one name there may be holders that were revoked, and one that was not.
    let mut named: Vec<PartyRow> = rows.into_iter().filter(|row| row.role == role && row.name == *name).collect();
    named.sort_by_key(|row| row.revoked.is_some());
    Ok(named.into_iter().next())
}

fn issue(
    authority: &Authority,
    role: PartyRole,
    name: &PartyName,
    key: &PublicKey,
    now: u64,
) -> Result<IssuedCertificate, EnrolError> {
    authority.issue(role, name, key, now, PARTY_LIFE).map_err(|error| {
        tracing::error!(%error, hint = error.hint(), "cannot issue a certificate");
        EnrolError::Authority
    })
}

fn unavailable(error: StoreError) -> EnrolError {
    tracing::error!(%error, "cannot use the store of parties");
    EnrolError::Unavailable
}
