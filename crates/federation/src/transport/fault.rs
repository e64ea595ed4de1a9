//! What can go wrong on a line, as far as its owner must tell it apart.

use super::invite::InviteRefusal;
use crate::wire::MOST_BYTES;
use rustls::AlertDescription as Alert;
use std::io;
use tonic::{Code, Status};

/// Why two parties do not trust each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// The server refuses this party's certificate.
    #[error("it refuses this party's certificate")]
    OurCertificate,
    /// The server's certificate is refused here.
    #[error("its certificate is not of the authority that was joined")]
    ServersCertificate,
    /// They have no TLS in common.
    #[error("it does not speak TLS 1.3 as this program does")]
    Protocol,
}

impl Distrust {
    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::OurCertificate => {
                "it has ended, was revoked, or is of another authority: ask for an invite and join again"
            }
            Self::ServersCertificate => "check the address; if it is right, ask who keeps the server",
            Self::Protocol => "check address and port",
        }
    }
}

/// Why an exchange failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Nobody is there.
    #[error("no connection to {address}: {found}")]
    Connect {
        /// Where.
        address: String,
        /// What the system says.
        found: io::ErrorKind,
    },
    /// Somebody is there, but without trust nothing is said.
    #[error("no exchange with {address}: {found}")]
    Tls {
        /// Where.
        address: String,
        /// Who distrusts whom.
        found: Distrust,
    },
    /// The connection broke. The request may have been handled or not.
    #[error("the connection broke before the reply was there")]
    Lost,
    /// The time is up. The request may have been handled or not.
    #[error("no reply in time")]
    TimedOut,
    /// The server gives this party no right to it.
    #[error("the server does not permit it")]
    NotPermitted,
    /// The server gives nobody a certificate for this invite, or not to this key.
    #[error("{0}")]
    Invite(InviteRefusal),
    /// The server cannot understand the request, or this program the reply.
    #[error("the message or its reply cannot be understood")]
    Malformed,
    /// The request or the reply is too large.
    #[error("the message or its reply is larger than the other side takes (never more than {MOST_BYTES} bytes)")]
    TooLarge,
    /// The server cannot do it just now.
    #[error("the server is unavailable just now")]
    Unavailable,
    /// What replied is no server of a federation.
    #[error("what replied is no server of a federation")]
    Strange,
}

impl LineError {
    /// Whether the same bytes may succeed later, without anybody doing anything about it.
    pub fn is_worth_retrying(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Lost | Self::TimedOut | Self::Unavailable)
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "check the address, that the server is running, and that this machine may call it",
            Self::Tls { found, .. } => found.hint(),
            Self::Lost | Self::TimedOut | Self::Unavailable => "try again: the same may be sent twice",
            Self::NotPermitted => {
                "ask the server's keeper whether this party was revoked, or its certificate has ended"
            }
            Self::Invite(refusal) => refusal.hint(),
            Self::Malformed | Self::TooLarge => "run the same version of posterity on both sides",
            Self::Strange => "check address and port",
        }
    }

    /// Whether the connection is of no use any more.
    pub(super) fn ends_the_connection(&self) -> bool {
        !matches!(self, Self::NotPermitted | Self::Invite(_) | Self::Malformed | Self::TooLarge | Self::Unavailable)
    }

    /// What a status says that came over a working connection.
    pub(super) fn of_status(status: &Status) -> Self {
        match status.code() {
            Code::PermissionDenied | Code::Unauthenticated => Self::NotPermitted,
            Code::FailedPrecondition => InviteRefusal::of_text(status.message()).map_or(Self::Strange, Self::Invite),
            Code::InvalidArgument | Code::Internal => Self::Malformed,
            Code::ResourceExhausted | Code::OutOfRange => Self::TooLarge,
            Code::Unavailable => Self::Unavailable,
            Code::DeadlineExceeded | Code::Cancelled => Self::TimedOut,
            _ => Self::Strange,
        }
    }
}

/// Whether an error of a TLS stream means distrust, and which; all others mean that the connection broke.
pub(super) fn distrust(error: &io::Error) -> Option<Distrust> {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>())?;
    match inner {
        rustls::Error::InvalidCertificate(_)
        | rustls::Error::NoCertificatesPresented
        | rustls::Error::UnsupportedNameType => Some(Distrust::ServersCertificate),
        rustls::Error::AlertReceived(alert) => Some(of_alert(*alert)),
        // Bytes that were damaged on their way look like this.
        rustls::Error::DecryptError | rustls::Error::PeerSentOversizedRecord => None,
        _ => Some(Distrust::Protocol),
    }
}

fn of_alert(alert: Alert) -> Distrust {
    match alert {
        Alert::NoCertificate
        | Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::CertificateRevoked
        | Alert::CertificateExpired
        | Alert::CertificateUnknown
        | Alert::UnknownCA
        | Alert::AccessDenied
        | Alert::DecryptError
        | Alert::CertificateRequired => Distrust::OurCertificate,
        _ => Distrust::Protocol,
    }
}
