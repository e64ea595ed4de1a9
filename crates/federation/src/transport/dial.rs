//! How a line is opened: TCP, TLS, HTTP/2, and a note of how it ended.

use super::fault::{ConnectionError, Distrust, distrust};
use super::{PROTOCOL, SERVER_NAME};
use crate::identity::{EARLY, validity};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

/// Time without a sign of life after which the server is asked for one, and time in which it must give one.
const PULSE: Duration = Duration::from_secs(20);

/// Bytes of a reply's headers.
const HEADERS: u32 = 16 << 10;

/// One open connection to a server. It is never opened again: who wants another dials again.
#[derive(Clone)]
pub(super) struct OpenChannel {
    /// Calls go through here.
    pub(super) channel: Channel,
    fate: Arc<OnceLock<Option<Distrust>>>,
    address: String,
    /// When the server made its certificate, by its clock, in seconds since 1970.
    server_made: Option<u64>,
}

impl OpenChannel {
    /// Whether the other side has closed it, as far as is known.
    pub(super) fn is_over(&self) -> bool {
        self.fate.get().is_some()
    }

    /// What a failed call comes from: the connection if that has ended, else what the server says.
    ///
    /// In TLS 1.3 a server judges the certificate of a client after the client thinks that all is well; so a refusal is
    /// seen only here.
    pub(super) fn fault(&self, status: &Status) -> ConnectionError {
        match (self.fate.get(), std::error::Error::source(status)) {
            (Some(Some(found)), _) => {
                ConnectionError::Tls { address: self.address.clone(), found: timed(*found, self.server_made) }
            }
            (_, Some(_)) => ConnectionError::Lost,
            (_, None) => ConnectionError::of_status(status),
        }
    }
}

/// Opens a connection. Whatever the configuration says, it speaks HTTP/2 and resumes no earlier session.
pub(super) async fn dial(address: &str, config: &ClientConfig) -> Result<OpenChannel, ConnectionError> {
    let missing = |error: io::Error| ConnectionError::Connect { address: address.to_owned(), found: error.kind() };
    let stream = TcpStream::connect(address).await.map_err(missing)?;
    stream.set_nodelay(true).map_err(missing)?;
    let stream = shake(stream, config).await.map_err(|error| match distrust(&error) {
        Some(found) => ConnectionError::Tls { address: address.to_owned(), found },
        None => missing(error),
    })?;
    let fate = Arc::new(OnceLock::new());
    let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let server_made = shown.and_then(|der| validity(der).ok()).map(|good| good.from.saturating_add(EARLY));
    let channel = http2(ObservedStream { stream, fate: Arc::clone(&fate) }).await;
    let dialled = |channel| OpenChannel { channel, fate: Arc::clone(&fate), address: address.to_owned(), server_made };
    channel.map(dialled).map_err(|_| match fate.get() {
        Some(Some(found)) => ConnectionError::Tls { address: address.to_owned(), found: timed(*found, server_made) },
        _ => ConnectionError::Lost,
    })
}

/// A refusal for its time, with what was seen of the server's clock.
fn timed(found: Distrust, server_made: Option<u64>) -> Distrust {
    match found {
        Distrust::OurTime { .. } => Distrust::OurTime { server: server_made },
        other => other,
    }
}

async fn shake(stream: TcpStream, config: &ClientConfig) -> io::Result<TlsStream<TcpStream>> {
    let mut config = config.clone();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_early_data = false;
    let name = ServerName::try_from(SERVER_NAME).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

async fn http2(stream: ObservedStream) -> Result<Channel, tonic::transport::Error> {
    let mut once = Some(TokioIo::new(stream));
    let connector = tower::service_fn(move |_| {
        let stream = once.take().ok_or(io::Error::from(io::ErrorKind::NotConnected));
        async move { stream }
    });
    // The name is for the headers alone; who is there was decided by TLS.
    Endpoint::from_static("http://posterity-server")
        .http2_keep_alive_interval(PULSE)
        .keep_alive_timeout(PULSE)
        .keep_alive_while_idle(true)
        .http2_max_header_list_size(HEADERS)
        .connect_with_connector(connector)
        .await
}

/// A stream that notes how it ended: by distrust, or otherwise.
struct ObservedStream {
    stream: TlsStream<TcpStream>,
    fate: Arc<OnceLock<Option<Distrust>>>,
}

impl AsyncRead for ObservedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = (buffer.filled().len(), buffer.remaining());
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        // The first note stands: what comes after the end is no better known.
        let _ = match &read {
            Err(error) => self.fate.set(distrust(error)),
            Ok(()) if before.0 == buffer.filled().len() && before.1 > 0 => self.fate.set(None),
            Ok(()) => Ok(()),
        };
        Poll::Ready(read)
    }
}

impl AsyncWrite for ObservedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
