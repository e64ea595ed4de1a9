//! What can go wrong on a line, as far as its owner must tell it apart.

use super::invite::InviteRefusal;
use crate::calendar::{moment, span};
use crate::identity::EARLY;
use crate::wire::MOST_BYTES;
use rustls::{AlertDescription as Alert, CertificateError};
use std::io;
use tonic::{Code, Status};

/// Why two parties do not trust each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// The server refuses this party's certificate.
    #[error("the server refuses this party's certificate")]
    OurCertificate,
    /// The server's certificate is refused here.
    #[error("the server's certificate is not from the authority that this party joined")]
    ServersCertificate,
    /// The server refuses this party's certificate for its time: by its clock it has ended, or has not begun.
    #[error("by the server's clock this party's certificate has expired or is not valid yet")]
    OurTime {
        /// When the server made its own certificate, by its clock, in seconds since 1970: minutes ago. None if that was not seen.
        server: Option<u64>,
    },
    /// The server's certificate is good at another time than this machine's clock says.
    #[error("{}", clock_words(*here, *from, *until))]
    Clock {
        /// What this machine's clock says, in seconds since 1970.
        here: u64,
        /// When a certificate of the server begins, if it has not begun.
        from: Option<u64>,
        /// When a certificate of the server ended, if it has.
        until: Option<u64>,
    },
    /// They have no TLS in common.
    #[error("the server does not use TLS 1.3 as this program does")]
    Protocol,
}

impl Distrust {
    /// What to do about it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::OurCertificate => {
                "the certificate has expired, was revoked, or is from another authority: ask for a new invite and join again"
            }
            Self::OurTime { .. } => {
                "if it has expired, ask for a new invite and join again; otherwise compare the clocks of both machines"
            }
            Self::Clock { .. } => "compare the clocks of both machines, and correct the wrong one",
            Self::ServersCertificate => "check the address; if it is right, ask the server's operator",
            Self::Protocol => "check address and port",
        }
    }
}

/// By how much this machine's clock is off, as far as the server's certificate tells: it begins an hour before it is made.
fn clock_words(here: u64, from: Option<u64>, until: Option<u64>) -> String {
    let says = format!("this machine's clock says {}", moment(here));
    match (from, until) {
        (Some(from), _) => {
            let made = from.saturating_add(EARLY);
            let behind = span(made.saturating_sub(here));
            format!(
                "this machine's clock is behind the server's by at least {behind}: {says}, but the server's certificate was issued at {}",
                moment(made)
            )
        }
        (None, until) => {
            let until = until.unwrap_or(here);
            let over = span(here.saturating_sub(until));
            format!(
                "this machine's clock is ahead of the server's by at least {over}, or the server's certificate has expired: {says}, but the \
                 certificate is valid until {}",
                moment(until)
            )
        }
    }
}

/// Why an exchange failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionError {
    /// No TCP connection could be opened.
    #[error("no connection to {address}: {found}")]
    Connect {
        /// The address of the server, `host:port`.
        address: String,
        /// What the system says.
        found: io::ErrorKind,
    },
    /// Somebody is there, but without trust nothing is said.
    #[error("no exchange with {address}: {found}")]
    Tls {
        /// The address of the server, `host:port`.
        address: String,
        /// Who distrusts whom.
        found: Distrust,
    },
    /// The connection broke. The request may have been handled or not.
    #[error("the connection broke before the reply arrived")]
    Lost,
    /// The time is up. The request may have been handled or not.
    #[error("no reply in time")]
    TimedOut,
    /// The server gives this party no right to it.
    #[error("the server does not permit this request")]
    NotPermitted,
    /// The server gives nobody a certificate for this invite, or not to this key.
    #[error("{0}")]
    Invite(InviteRefusal),
    /// The server cannot understand the request, or this program the reply.
    #[error("the message or its reply cannot be understood")]
    Malformed,
    /// The request or the reply is too large.
    #[error("the message or its reply is larger than the other side accepts (at most {MOST_BYTES} bytes)")]
    TooLarge,
    /// The server cannot do it just now.
    #[error("the server is unavailable at the moment")]
    Unavailable,
    /// What replied is no server of a federation.
    #[error("the address does not belong to a server of a federation")]
    Strange,
}

impl ConnectionError {
    /// Whether the same bytes may succeed later, without anybody doing anything about it.
    pub fn is_worth_retrying(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::Lost | Self::TimedOut | Self::Unavailable)
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Connect { .. } => {
                "check the address, that the server is running, and that this machine may connect to it"
            }
            Self::Tls { found, .. } => found.hint(),
            Self::Lost | Self::TimedOut | Self::Unavailable => "try again; sending the same message twice is safe",
            Self::NotPermitted => {
                "ask the server's operator whether this party was revoked or its certificate has expired"
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
        rustls::Error::InvalidCertificate(CertificateError::NotValidYetContext { time, not_before }) => {
            Some(Distrust::Clock { here: time.as_secs(), from: Some(not_before.as_secs()), until: None })
        }
        rustls::Error::InvalidCertificate(CertificateError::ExpiredContext { time, not_after }) => {
            Some(Distrust::Clock { here: time.as_secs(), from: None, until: Some(not_after.as_secs()) })
        }
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
        // Rustls says so of a certificate that has not begun, too.
        Alert::CertificateExpired => Distrust::OurTime { server: None },
        Alert::NoCertificate
        | Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::CertificateRevoked
        | Alert::CertificateUnknown
        | Alert::UnknownCA
        | Alert::AccessDenied
        | Alert::DecryptError
        | Alert::CertificateRequired => Distrust::OurCertificate,
        _ => Distrust::Protocol,
    }
}
