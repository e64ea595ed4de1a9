//! The dashboard's port: TLS where others can reach it, in the clear within the machine only.

use super::auth::{Token, Transport};
use super::metrics::{Metrics, Port};
use super::serve::router;
use super::view::DashboardSource;
use crate::transport::{
    ConnectionActivity, ConnectionSlot, ConnectionSlots, EntryOutcome, EvictionRule, Excess, Excesses, Holder,
};
use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Connections at one time. When there are more, the address that has most loses the one that was idle longest: `/healthz`
/// answers, however many come and say nothing.
const CONNECTIONS: usize = 256;

/// Connections of one address at one time, unless the server's operator says otherwise.
pub const CONNECTIONS_OF_AN_ADDRESS: usize = 128;

/// Bytes of a request that are read before it is understood.
const BUFFER: usize = 16 << 10;

/// Time for a TLS handshake, and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time for answers that are under way when the dashboard closes.
const GRACE: Duration = Duration::from_secs(2);

/// Pause after a connection could not be accepted, which is when the machine is short of something.
const PAUSE: Duration = Duration::from_millis(100);

/// Why a dashboard cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum DashboardError {
    /// Others could listen in.
    #[error("the dashboard cannot listen on {address} without TLS, expected a loopback address")]
    Plain {
        /// The address that is not on loopback.
        address: SocketAddr,
    },
    /// The socket does not work.
    #[error("the dashboard's socket failed: {0}")]
    Socket(#[from] std::io::Error),
}

/// Serves the dashboard until `shutdown` is over. What stands in `tls` counts from the next connection on. Without TLS it listens
/// on a loopback address, or not at all. One address has `each` connections at a time.
pub async fn serve(
    listener: TcpListener,
    tls: Option<watch::Receiver<Arc<ServerConfig>>>,
    source: Arc<dyn DashboardSource>,
    metrics: Arc<Metrics>,
    token: Token,
    each: usize,
    shutdown: impl Future<Output = ()>,
) -> Result<(), DashboardError> {
    let address = listener.local_addr()?;
    let transport = match &tls {
        Some(_) => Transport::Encrypted,
        None if address.ip().is_loopback() => Transport::Loopback,
        None => return Err(DashboardError::Plain { address }),
    };
    let (counted, excesses) = (Arc::clone(&metrics), metrics.excesses().clone());
    let slots = ConnectionSlots::new(CONNECTIONS.max(each), each, EvictionRule::Always);
    let port = DashboardPort { tls, router: router(source, metrics, token, transport), excesses, metrics: counted };
    let (close, closing) = watch::channel(());
    let (mut tasks, mut shutdown) = (JoinSet::new(), pin!(shutdown));
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = tasks.join_next() => {}
            (stream, holder) = accept(&listener, &slots) => {
                if let Some(slot) = port.enter(&slots, holder) {
                    tasks.spawn(port.clone().connection(stream, slot, closing.clone()));
                }
            }
        }
    }
    drop((listener, close));
    // Events never end by themselves: what is still open after a while is cut off.
    let _ = tokio::time::timeout(GRACE, async { while tasks.join_next().await.is_some() {} }).await;
    Ok(())
}

/// Speaks HTTP/1.1 whatever the configuration offers, since that is what events need.
fn acceptor(config: Arc<ServerConfig>) -> TlsAcceptor {
    let mut config = Arc::unwrap_or_clone(config);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// The next connection, and whose it is.
async fn accept(listener: &TcpListener, slots: &ConnectionSlots) -> (TcpStream, Holder) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => return (stream, Holder::at(from.ip())),
            Err(_) => {
                slots.shrink();
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// What every connection needs.
#[derive(Clone)]
struct DashboardPort {
    tls: Option<watch::Receiver<Arc<ServerConfig>>>,
    router: Router,
    excesses: Arc<Excesses>,
    metrics: Arc<Metrics>,
}

impl DashboardPort {
    /// A place for a connection; who has to go for it is counted.
    fn enter(&self, slots: &Arc<ConnectionSlots>, holder: Holder) -> Option<ConnectionSlot> {
        let (slot, entrance) = slots.enter(holder)?;
        match entrance {
            EntryOutcome::Free => {}
            EntryOutcome::OwnGaveWay => self.excesses.count(Excess::Address),
            EntryOutcome::OtherGaveWay => self.excesses.count(Excess::Connections),
        }
        Some(slot)
    }

    /// One connection, from its handshake to its end. One that is not understood ends without a word.
    async fn connection(self, stream: TcpStream, slot: ConnectionSlot, closing: watch::Receiver<()>) {
        let presence = self.metrics.connected(Port::Dashboard);
        tokio::select! {
            () = self.serve(stream, &slot.activity, closing) => {}
            () = slot.activity.asked_to_leave() => {}
        }
        drop(presence);
    }

    async fn serve(&self, stream: TcpStream, activity: &Arc<ConnectionActivity>, closing: watch::Receiver<()>) {
        let current = self.tls.as_ref().map(|tls| acceptor(tls.borrow().clone()));
        match current {
            None => self.speak(stream, activity, closing).await,
            Some(acceptor) => match tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => self.speak(stream, activity, closing).await,
                Ok(Err(_)) => {}
                Err(_) => self.excesses.count(Excess::Handshake),
            },
        }
    }

    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        activity: &Arc<ConnectionActivity>,
        mut closing: watch::Receiver<()>,
    ) {
        let mut builder = Builder::new(TokioExecutor::new()).http1_only();
        builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(BUFFER);
        let service = TowerToHyperService::new(self.router.clone().layer(Extension(activity.clone())));
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            _ = connection.as_mut() => return,
            // The other end is dropped when the dashboard closes.
            _ = closing.changed() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}
