//! The dashboard's port: TLS where others can reach it, in the clear within the machine only.

use super::auth::{Token, Transport};
use super::metrics::Metrics;
use super::serve::router;
use super::view::Source;
use axum::Router;
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
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Connections at one time; more wait until one ends.
const CONNECTIONS: usize = 128;

/// Time for a TLS handshake, and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time for answers that are under way when the dashboard closes.
const GRACE: Duration = Duration::from_secs(2);

/// Pause after a connection could not be accepted, which is when the machine is short of something.
const PAUSE: Duration = Duration::from_millis(100);

/// Why a dashboard cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others could listen in.
    #[error("the dashboard is to listen on {address} in the clear, expected a loopback address")]
    Plain {
        /// Where.
        address: SocketAddr,
    },
    /// The socket does not work.
    #[error("the dashboard's socket does not work: {0}")]
    Socket(#[from] std::io::Error),
}

/// Serves the dashboard until `shutdown` is over. What stands in `tls` counts from the next connection on. Without TLS it listens on a loopback address, or not at all.
pub async fn serve(
    listener: TcpListener,
    tls: Option<watch::Receiver<Arc<ServerConfig>>>,
    source: Arc<dyn Source>,
    metrics: Arc<Metrics>,
    token: Token,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let address = listener.local_addr()?;
    let transport = match &tls {
        Some(_) => Transport::Encrypted,
        None if address.ip().is_loopback() => Transport::Loopback,
        None => return Err(ServeError::Plain { address }),
    };
    let port = Port { tls, router: router(source, metrics, token, transport) };
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let (close, closing) = watch::channel(());
    let (mut tasks, mut shutdown) = (JoinSet::new(), pin!(shutdown));
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = tasks.join_next() => {}
            (stream, place) = accept(&listener, &room) => {
                tasks.spawn(port.clone().connection(stream, place, closing.clone()));
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

/// The next connection for which there is room.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so that there always is a permit.
    let place = Arc::clone(room).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// What every connection needs.
#[derive(Clone)]
struct Port {
    tls: Option<watch::Receiver<Arc<ServerConfig>>>,
    router: Router,
}

impl Port {
    /// One connection, from its handshake to its end. One that is not understood ends without a word.
    async fn connection(self, stream: TcpStream, place: Option<OwnedSemaphorePermit>, closing: watch::Receiver<()>) {
        let current = self.tls.as_ref().map(|tls| acceptor(tls.borrow().clone()));
        match current {
            None => self.speak(stream, closing).await,
            Some(acceptor) => {
                if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
                    self.speak(stream, closing).await;
                }
            }
        }
        drop(place);
    }

    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        mut closing: watch::Receiver<()>,
    ) {
        let mut builder = Builder::new(TokioExecutor::new()).http1_only();
        builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
        let service = TowerToHyperService::new(self.router.clone());
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            _ = connection.as_mut() => return,
            // The other end is dropped when the dashboard closes.
            _ = closing.changed() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}
