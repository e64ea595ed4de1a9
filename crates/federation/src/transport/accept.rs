//! How a server opens connections: so many at a time, each within its time, none without a handshake.

use super::connection::{Connection, End, PREFACE};
use super::{Limits, PROTOCOL};
use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long to rest when the system has no more sockets to give.
const REST: Duration = Duration::from_millis(100);

/// How long, and for how many bytes, a refused caller is listened to, so that it can read why.
const LINGER: (Duration, usize) = (Duration::from_secs(1), 64 << 10);

/// Where a server's certificates come from: what stands there counts from the next connection on.
#[derive(Clone)]
pub struct TlsSource(watch::Receiver<Arc<ServerConfig>>);

impl TlsSource {
    /// A source that may change.
    pub fn new(current: watch::Receiver<Arc<ServerConfig>>) -> Self {
        Self(current)
    }

    /// The configuration for one connection: no session is resumed, or a revoked certificate would live on in it.
    fn current(&self) -> Arc<ServerConfig> {
        let mut config = ServerConfig::clone(&self.0.borrow());
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        config.max_early_data_size = 0;
        Arc::new(config)
    }
}

/// Opens connections until it is dropped, and with it those that are half open.
pub(super) async fn accept(
    listener: TcpListener,
    tls: TlsSource,
    limits: Limits,
    ready: mpsc::Sender<io::Result<Connection>>,
    cut: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut opening = JoinSet::new();
    loop {
        while opening.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(kind = %error.kind(), "no connection can be accepted");
                sleep(REST).await;
                continue;
            }
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::warn!(limit = limits.connections, "a connection is refused: there are too many");
            continue;
        };
        let (config, ready, cut) = (tls.current(), ready.clone(), cut.clone());
        opening.spawn(async move {
            match timeout(limits.handshake, open(stream, config)).await {
                Ok(Ok(stream)) => {
                    let connection = Connection::new(stream, end(limits, cut), place);
                    // An error here means that the server has stopped.
                    let _ = ready.send(Ok(connection)).await;
                }
                Ok(Err(error)) => tracing::info!(%error, "a connection is refused"),
                Err(_) => tracing::info!("a connection is refused: its handshake takes too long"),
            }
        });
    }
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

/// When a connection must end: if it is cut, or long after it was asked to close for its age.
fn end(limits: Limits, mut cut: watch::Receiver<bool>) -> End {
    Box::pin(async move {
        tokio::select! {
            _ = cut.wait_for(|cut| *cut) => {}
            () = sleep(limits.age.saturating_add(limits.answering).saturating_add(limits.grace)) => {}
        }
    })
}
