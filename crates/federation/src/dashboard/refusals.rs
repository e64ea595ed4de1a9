//! Reasons for which a server turns somebody away, as `posterity_refusals_total` counts them.
//!
//! A new reason needs four things: a variant of [`RefusalReason`] with its place in [`RefusalReason::ALL`], its word in
//! [`RefusalReason::word`], a call of [`crate::dashboard::Metrics::refused`] where it happens, and a case in `tests/alarms.rs` that provokes it over TLS:
//! a test there fails for a reason that nobody provokes. The guide lists the words. What a limit ends is counted apart, in
//! [`crate::transport::Excesses`].

use crate::identity::PartyStanding;
use crate::message::Refusal;
use crate::transport::Refused;

/// Why a connection, a caller or a message was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// The server said this in a reply.
    Reply(Refusal),
    /// The party was revoked.
    Revoked,
    /// The party's certificate has ended while it was connected.
    CertificateEnded,
    /// Somebody came with an invite that is not good.
    Invite,
    /// No connection came about: no certificate, a wrong one, or another protocol. Slow ones are counted with the limits.
    Handshake,
}

impl RefusalReason {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 14] = [
        Self::Reply(Refusal::NoRun),
        Self::Reply(Refusal::OtherManifest),
        Self::Reply(Refusal::NotAMember),
        Self::Reply(Refusal::Shape),
        Self::Reply(Refusal::NotAsked),
        Self::Reply(Refusal::Conflict),
        Self::Reply(Refusal::Frozen),
        Self::Reply(Refusal::Signature),
        Self::Reply(Refusal::Malformed),
        Self::Reply(Refusal::Unavailable),
        Self::Revoked,
        Self::CertificateEnded,
        Self::Invite,
        Self::Handshake,
    ];

    /// The value of the label `reason`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reply(Refusal::NoRun) => "no-run",
            Self::Reply(Refusal::OtherManifest) => "other-manifest",
            Self::Reply(Refusal::NotAMember) => "not-a-member",
            Self::Reply(Refusal::Shape) => "shape",
            Self::Reply(Refusal::NotAsked) => "not-asked",
            Self::Reply(Refusal::Conflict) => "conflict",
            Self::Reply(Refusal::Frozen) => "frozen",
            Self::Reply(Refusal::Signature) => "signature",
            Self::Reply(Refusal::Malformed) => "malformed",
            Self::Reply(Refusal::Unavailable) => "unavailable",
            Self::Revoked => "revoked",
            Self::CertificateEnded => "certificate-ended",
            Self::Invite => "invite",
            Self::Handshake => "handshake",
        }
    }

    /// Its place in [`RefusalReason::ALL`].
    pub(crate) fn place(self) -> Option<usize> {
        Self::ALL.iter().position(|one| *one == self)
    }

    /// Why a party that stands so is not listened to; none if it is.
    pub(crate) fn of_standing(standing: PartyStanding) -> Option<Self> {
        match standing {
            PartyStanding::Good => None,
            PartyStanding::Revoked => Some(Self::Revoked),
            PartyStanding::Expired => Some(Self::CertificateEnded),
            PartyStanding::Unknown | PartyStanding::OtherKey => Some(Self::Reply(Refusal::NotAMember)),
        }
    }

    /// Why a call was refused as a whole.
    pub(crate) fn of_call(refused: Refused) -> Self {
        match refused {
            Refused::NotPermitted => Self::Reply(Refusal::NotAMember),
            Refused::Invite(_) => Self::Invite,
            Refused::Malformed | Refused::TooLarge => Self::Reply(Refusal::Malformed),
            Refused::Unavailable => Self::Reply(Refusal::Unavailable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_reason_has_one_place_and_a_word_of_its_own_and_every_refusal_is_one() {
        let words: BTreeSet<&str> = RefusalReason::ALL.iter().map(|reason| reason.word()).collect();
        assert_eq!(words.len(), RefusalReason::ALL.len());
        for (place, reason) in RefusalReason::ALL.iter().enumerate() {
            assert_eq!(reason.place(), Some(place));
        }
        assert!(Refusal::ALL.iter().all(|refusal| RefusalReason::Reply(*refusal).place().is_some()));
    }
}
