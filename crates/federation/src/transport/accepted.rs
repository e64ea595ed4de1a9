//! One connection of a server: a TLS stream that knows who is at the other end, and when it is over.

use super::slots::{ConnectionActivity, ConnectionSlot};
use super::{PeerCertificate, Presence};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

/// What every HTTP/2 connection begins with.
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Completes when the connection must end, whatever it is doing.
pub(super) type ConnectionEnd = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An open connection.
pub(super) struct AcceptedConnection {
    stream: TlsStream<TcpStream>,
    /// What is left of the preface, which was read and checked before and is now read again.
    ahead: &'static [u8],
    /// None when it has come.
    end: Option<ConnectionEnd>,
    caller: PeerInfo,
    _place: ConnectionSlot,
    /// Where somebody counts connections, it counts.
    _presence: Option<Presence>,
}

/// Who calls, and from which place.
#[derive(Clone)]
pub(super) struct PeerInfo {
    /// The certificate that was shown, if one was.
    pub(super) certificate: Option<PeerCertificate>,
    /// Where the connection's work is noted.
    pub(super) activity: Arc<ConnectionActivity>,
}

impl AcceptedConnection {
    /// A connection whose preface has been read; it gives its place back when it is dropped.
    pub(super) fn new(
        stream: TlsStream<TcpStream>,
        certificate: Option<PeerCertificate>,
        end: ConnectionEnd,
        slot: ConnectionSlot,
        presence: Option<Presence>,
    ) -> Self {
        let caller = PeerInfo { certificate, activity: slot.activity.clone() };
        Self { stream, ahead: PREFACE, end: Some(end), caller, _place: slot, _presence: presence }
    }

    /// An error once the end has come; until then, whoever asked is woken by it.
    fn alive(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if let Some(end) = &mut self.end
            && end.as_mut().poll(context).is_ready()
        {
            self.end = None;
        }
        if self.end.is_some() { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) }
    }
}

impl Connected for AcceptedConnection {
    type ConnectInfo = PeerInfo;

    fn connect_info(&self) -> PeerInfo {
        self.caller.clone()
    }
}

impl AsyncRead for AcceptedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.alive(context)?;
        if self.ahead.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let (now, later) = self.ahead.split_at(self.ahead.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.ahead = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for AcceptedConnection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.alive(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.alive(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.alive(context)?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.alive(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
