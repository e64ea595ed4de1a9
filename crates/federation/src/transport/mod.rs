//! Bytes between parties that have shown each other certificates: a server that listens, and lines that call it.
//!
//! It knows nothing of runs, machines or stores. A request arrives *at least once*: who loses a connection cannot know
//! whether its request was handled, and sends it again. That each counts once is the business of the machines.
//!
//! Whatever the configurations say, a connection here speaks HTTP/2 and is never resumed from an earlier one, so each is
//! opened by showing certificates that are good now.

mod accept;
mod accepted;
mod backoff;
mod connection;
mod deadline;
mod dial;
mod excess;
mod fault;
mod invite;
mod limits;
mod observer;
mod serve;
mod slots;

pub use accept::TlsSource;
pub use connection::{Connection, PATIENCE, join};
pub use excess::{Excess, Excesses};
pub use fault::{ConnectionError, Distrust};
pub use invite::InviteRefusal;
pub use limits::ConnectionLimits;
pub use observer::{ConnectionObserver, Presence};
pub use serve::{ServeError, serve, serve_enrolment};
pub(crate) use slots::{
    BusyGuard, ConnectionActivity, ConnectionSlot, ConnectionSlots, EntryOutcome, EvictionRule, Holder,
};

use crate::wire::proto;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// The name that a server's certificate must have, wherever the server is.
pub const SERVER_NAME: &str = "posterity-server";

/// The only protocol inside TLS.
const PROTOCOL: &[u8] = b"h2";

/// The certificate that the other side of a connection has shown, in DER, held to be good by the TLS configuration.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerCertificate(pub Vec<u8>);

impl fmt::Debug for PeerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerCertificate({} bytes)", self.0.len())
    }
}

/// Why a server refuses a call as a whole: one of a fixed list, with a fixed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallRefusal {
    /// The certificate or the invite gives no right to this.
    #[error("not permitted")]
    NotPermitted,
    /// Nobody is enrolled for this invite.
    #[error("{0}")]
    Invite(InviteRefusal),
    /// The message cannot be understood.
    #[error("the message cannot be understood")]
    Malformed,
    /// The message is larger than the server takes.
    #[error("the message is too large")]
    TooLarge,
    /// The server cannot do it just now; the same bytes may be sent again.
    #[error("unavailable at the moment")]
    Unavailable,
}

impl From<CallRefusal> for tonic::Status {
    fn from(refused: CallRefusal) -> Self {
        let code = match refused {
            CallRefusal::NotPermitted => tonic::Code::PermissionDenied,
            CallRefusal::Invite(_) => tonic::Code::FailedPrecondition,
            CallRefusal::Malformed => tonic::Code::InvalidArgument,
            CallRefusal::TooLarge => tonic::Code::ResourceExhausted,
            CallRefusal::Unavailable => tonic::Code::Unavailable,
        };
        Self::new(code, refused.to_string())
    }
}

/// What a call comes to, some time.
pub type CallFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, CallRefusal>> + Send + 'a>>;

/// How long a content may be, in bytes as it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthLimit {
    /// A longer one is too large, now and later.
    Final(usize),
    /// There is no run yet: a longer one may be welcome later, and its sender is told to come again.
    SoFar(usize),
}

/// What a server does with signed contents.
///
/// The future is dropped where it waits if the caller goes away, if it takes longer than [`ConnectionLimits::answering`], or if
/// the server is told to stop and it takes longer than [`ConnectionLimits::grace`]. What must not be left half done belongs into a
/// task of its own.
pub trait Handler: Send + Sync + 'static {
    /// Longest content that this party may send just now. A longer one is refused by its announced length.
    fn longest(&self, peer: &PeerCertificate) -> LengthLimit;

    /// Answers one content of a party that has shown this certificate. It may wait before it does.
    fn exchange(&self, peer: PeerCertificate, content: proto::Signed) -> CallFuture<'_, proto::Signed>;
}

/// What a server does with invites. Callers have no certificate yet; of the future the same holds as of a [`Handler`]'s.
pub trait Enroller: Send + Sync + 'static {
    /// Gives a certificate for an invite.
    fn join(&self, request: proto::JoinRequest) -> CallFuture<'_, proto::JoinReply>;
}
