//! How a server opens connections: so many at a time, each within its time, none without a handshake.
//!
//! Strangers, who have shown no certificate yet, and parties, who have, are in rooms of their own: a flood of the first takes
//! no place from the second.

use super::accepted::{AcceptedConnection, ConnectionEnd, PREFACE};
use super::slots::{ConnectionActivity, ConnectionSlot, ConnectionSlots, EntryOutcome, EvictionRule, Holder};
use super::{ConnectionLimits, ConnectionObserver, Excess, Excesses, PROTOCOL, PeerCertificate};
use crate::identity::subject_key;
use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long to rest when the system has no more sockets to give.
const REST: Duration = Duration::from_millis(100);

/// How long, and for how many bytes, a refused caller is listened to, so that it can read why.
const LINGER: (Duration, usize) = (Duration::from_secs(1), 64 << 10);

/// Where a server's certificates come from, and who hears of its connections: what stands there counts from the next one on.
#[derive(Clone)]
pub struct TlsSource {
    current: watch::Receiver<Arc<ServerConfig>>,
    observer: Option<Arc<dyn ConnectionObserver>>,
}

impl TlsSource {
    /// A source that may change.
    pub fn new(current: watch::Receiver<Arc<ServerConfig>>) -> Self {
        Self { current, observer: None }
    }

    /// The same, and this one hears of connections.
    #[must_use]
    pub fn watched_by(self, observer: Arc<dyn ConnectionObserver>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// The configuration for one connection: no session is resumed, or a revoked certificate would live on in it.
    fn current(&self) -> Arc<ServerConfig> {
        let mut config = ServerConfig::clone(&self.current.borrow());
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        config.max_early_data_size = 0;
        Arc::new(config)
    }
}

/// What a port has for connections: places, limits and counts of what was over them.
#[derive(Clone)]
struct PortAdmission {
    limits: ConnectionLimits,
    strangers: Arc<ConnectionSlots>,
    parties: Arc<ConnectionSlots>,
    excesses: Arc<Excesses>,
    cut: watch::Receiver<bool>,
    observer: Option<Arc<dyn ConnectionObserver>>,
}

impl PortAdmission {
    /// A place for a holder; what it took is counted.
    fn enter(&self, holder: Holder) -> Option<ConnectionSlot> {
        let (room, own) = match holder {
            Holder::Address(_) => (&self.strangers, Excess::Address),
            Holder::Party(_) => (&self.parties, Excess::Party),
        };
        let entered = room.enter(holder);
        match &entered {
            Some((_, EntryOutcome::Free)) => {}
            Some((_, EntryOutcome::OwnGaveWay)) => self.excesses.count(own),
            Some((_, EntryOutcome::OtherGaveWay)) | None => self.excesses.count(Excess::Connections),
        }
        entered.map(|(slot, _)| slot)
    }

    /// From the first byte to an open connection, at the place of a stranger until a certificate was shown.
    async fn open(
        &self,
        stream: TcpStream,
        config: Arc<ServerConfig>,
        slot: ConnectionSlot,
    ) -> Option<AcceptedConnection> {
        let opened = tokio::select! {
            () = slot.activity.asked_to_leave() => return None,
            opened = timeout(self.limits.handshake, open(stream, config)) => opened,
        };
        let stream = match opened {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                if let Some(observer) = &self.observer {
                    observer.refused();
                }
                tracing::debug!(%error, "refused a connection");
                return None;
            }
            Err(_) => {
                self.excesses.count(Excess::Handshake);
                return None;
            }
        };
        let certificate = certificate(&stream);
        let slot = match &certificate {
            // A certificate that the handshake was content with can be read.
            Some(shown) => self.enter(Holder::Party(subject_key(&shown.0).ok()?))?,
            None => slot,
        };
        let presence = self.observer.as_ref().map(|observer| observer.opened());
        Some(AcceptedConnection::new(stream, certificate, self.end(slot.activity.clone()), slot, presence))
    }

    /// When a connection must end: if it is cut or has to give way, after it was idle, or long after it was asked to close
    /// for its age.
    fn end(&self, activity: Arc<ConnectionActivity>) -> ConnectionEnd {
        let (limits, mut cut, excesses) = (self.limits, self.cut.clone(), self.excesses.clone());
        Box::pin(async move {
            tokio::select! {
                _ = cut.wait_for(|cut| *cut) => {}
                () = activity.asked_to_leave() => {}
                () = activity.idle_for(limits.idle) => excesses.count(Excess::Idle),
                () = sleep(limits.age.saturating_add(limits.answering).saturating_add(limits.grace)) => {}
            }
        })
    }
}

/// Opens connections until it is dropped, and with it those that are half open.
pub(super) async fn accept(
    listener: TcpListener,
    tls: TlsSource,
    limits: ConnectionLimits,
    excesses: Arc<Excesses>,
    ready: mpsc::Sender<io::Result<AcceptedConnection>>,
    cut: watch::Receiver<bool>,
) {
    let strangers = ConnectionSlots::new(limits.strangers, limits.strangers_of_an_address, EvictionRule::Always);
    let parties = ConnectionSlots::new(limits.connections, limits.connections_of_a_party, EvictionRule::IfMore);
    let admission = PortAdmission { limits, strangers, parties, excesses, cut, observer: tls.observer.clone() };
    let mut opening = JoinSet::new();
    loop {
        while opening.try_join_next().is_some() {}
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(kind = %error.kind(), "cannot accept connections");
                admission.strangers.shrink();
                sleep(REST).await;
                continue;
            }
        };
        let Some(slot) = admission.enter(Holder::at(from.ip())) else { continue };
        let (config, ready, admission) = (tls.current(), ready.clone(), admission.clone());
        opening.spawn(async move {
            if let Some(connection) = admission.open(stream, config, slot).await {
                // An error here means that the server has stopped.
                let _ = ready.send(Ok(connection)).await;
            }
        });
    }
}

/// What the other side has shown, if it has.
fn certificate(stream: &TlsStream<TcpStream>) -> Option<PeerCertificate> {
    let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    shown.map(|der| PeerCertificate(der.to_vec()))
}

/// TLS, and the first bytes of HTTP/2.
async fn open(stream: TcpStream, config: Arc<ServerConfig>) -> io::Result<TlsStream<TcpStream>> {
    stream.set_nodelay(true)?;
    let mut stream = match TlsAcceptor::from(config).accept(stream).into_fallible().await {
        Ok(stream) => stream,
        Err((error, stream)) => {
            linger(stream).await;
            return Err(error);
        }
    };
    let mut first = [0; PREFACE.len()];
    stream.read_exact(&mut first).await?;
    if first == *PREFACE { Ok(stream) } else { Err(io::Error::other("no HTTP/2 inside TLS")) }
}

/// Closes a refused connection in such a way that the alert arrives: unread bytes would make a reset of it.
async fn linger(mut stream: TcpStream) {
    let (time, most) = LINGER;
    let drain = async {
        stream.shutdown().await?;
        let (mut read, mut scrap) = (0, [0; 4096]);
        while read < most {
            match stream.read(&mut scrap).await? {
                0 => break,
                more => read += more,
            }
        }
        io::Result::Ok(())
    };
    // Whether it worked makes no difference: the connection is refused.
    let _ = timeout(time, drain).await;
}
