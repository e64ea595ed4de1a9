//! Both sides of HTTP/2 by hand, to say what proper ones would not.

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ServerConfig};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const END_OF_STREAM: u8 = 1;
const END_OF_HEADERS: u8 = 4;

/// A connection by hand.
pub(crate) struct Raw(TlsStream<TcpStream>);

impl Raw {
    /// TLS, and not a byte more.
    pub(crate) async fn connect(address: SocketAddr, config: &ClientConfig) -> Self {
        let mut config = config.clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(address).await.unwrap();
        let name = ServerName::try_from("posterity-server").unwrap();
        Self(TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap().into())
    }

    /// The other side: answers the first call of the first connection with these headers, and closes when the caller does.
    pub(crate) async fn reply(listener: TcpListener, config: &ServerConfig, headers: &[(&str, &str)]) {
        let mut config = config.clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let (stream, _) = listener.accept().await.unwrap();
        let mut raw = Self(TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap().into());
        raw.0.read_exact(&mut [0; 24]).await.unwrap();
        raw.frame(SETTINGS, 0, 0, &[]).await.unwrap();
        raw.ended().await;
        raw.frame(HEADERS, END_OF_HEADERS | END_OF_STREAM, 1, &block(headers)).await.unwrap();
        let _ = raw.0.read_to_end(&mut Vec::new()).await;
    }

    /// The beginning of a call, up to its headers.
    pub(crate) async fn begin(&mut self) {
        self.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        self.frame(SETTINGS, 0, 0, &[]).await.unwrap();
        let headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/posterity.v1.Federation/Exchange"),
            (":authority", "posterity-server"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ];
        self.frame(HEADERS, END_OF_HEADERS, 1, &block(&headers)).await.unwrap();
    }

    /// A piece of the call's body.
    pub(crate) async fn data(&mut self, bytes: &[u8], last: bool) -> std::io::Result<()> {
        self.frame(DATA, u8::from(last) * END_OF_STREAM, 1, bytes).await
    }

    async fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> std::io::Result<()> {
        let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).await?;
        self.0.flush().await
    }

    /// Reads until the other side has ended its part of the call, and gives the data that came back.
    pub(crate) async fn ended(&mut self) -> Vec<u8> {
        let mut data = Vec::new();
        loop {
            let mut header = [0; 9];
            if self.0.read_exact(&mut header).await.is_err() {
                return data;
            }
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
            let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
            let mut payload = vec![0; length as usize];
            self.0.read_exact(&mut payload).await.unwrap();
            if stream == 1 && header[3] == DATA {
                data.extend(payload);
            }
            let ends = matches!(header[3], DATA | HEADERS) && header[4] & END_OF_STREAM != 0;
            if stream == 1 && (ends || header[3] == RESET) {
                return data;
            }
        }
    }
}

/// A message as gRPC frames it.
pub(crate) fn framed(claimed: u32, bytes: &[u8]) -> Vec<u8> {
    [&[0][..], &claimed.to_be_bytes(), bytes].concat()
}

/// Headers, each spelt out.
fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in headers {
        block.extend([0, name.len() as u8]);
        block.extend(name.as_bytes());
        block.push(value.len() as u8);
        block.extend(value.as_bytes());
    }
    block
}
