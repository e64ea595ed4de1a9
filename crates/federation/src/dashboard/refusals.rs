//! Reasons for which a server turns somebody away, as `posterity_refusals_total` counts them.
//!
//! A new reason needs four things: a variant of [`RefusalReason`] with its place in [`RefusalReason::ALL`], its word in
//! [`RefusalReason::word`], a call of [`crate::dashboard::Metrics::refused`] where it happens, and a case in `tests/alarms.rs` that provokes it over TLS:
//! a test there fails for a reason that nobody provokes. The guide lists the words. What a limit ends is counted apart, in
//! [`crate::transport::Excesses`].

use crate::identity::PartyStanding;
use crate::message::RefusalCode;
use crate::transport::CallRefusal;

/// Why a connection, a caller or a message was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// The server said this in a reply.
    Reply(RefusalCode),
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
        Self::Reply(RefusalCode::NoRun),
        Self::Reply(RefusalCode::OtherManifest),
        Self::Reply(RefusalCode::NotAMember),
        Self::Reply(RefusalCode::Shape),
        Self::Reply(RefusalCode::NotAsked),
        Self::Reply(RefusalCode::Conflict),
        Self::Reply(RefusalCode::Frozen),
        Self::Reply(RefusalCode::Signature),
        Self::Reply(RefusalCode::Malformed),
        Self::Reply(RefusalCode::Unavailable),
        Self::Revoked,
        Self::CertificateEnded,
        Self::Invite,
        Self::Handshake,
    ];

    /// The value of the label `reason`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reply(RefusalCode::NoRun) => "no-run",
            Self::Reply(RefusalCode::OtherManifest) => "other-manifest",
            Self::Reply(RefusalCode::NotAMember) => "not-a-member",
            Self::Reply(RefusalCode::Shape) => "shape",
            Self::Reply(RefusalCode::NotAsked) => "not-asked",
            Self::Reply(RefusalCode::Conflict) => "conflict",
            Self::Reply(RefusalCode::Frozen) => "frozen",
            Self::Reply(RefusalCode::Signature) => "signature",
            Self::Reply(RefusalCode::Malformed) => "malformed",
            Self::Reply(RefusalCode::Unavailable) => "unavailable",
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
            PartyStanding::Unknown | PartyStanding::OtherKey => Some(Self::Reply(RefusalCode::NotAMember)),
        }
    }

    /// Why a call was refused as a whole.
    pub(crate) fn of_call(refused: CallRefusal) -> Self {
        match refused {
            CallRefusal::NotPermitted => Self::Reply(RefusalCode::NotAMember),
            CallRefusal::Invite(_) => Self::Invite,
            CallRefusal::Malformed | CallRefusal::TooLarge => Self::Reply(RefusalCode::Malformed),
            CallRefusal::Unavailable => Self::Reply(RefusalCode::Unavailable),
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
        assert!(RefusalCode::ALL.iter().all(|refusal| RefusalReason::Reply(*refusal).place().is_some()));
    }
}
