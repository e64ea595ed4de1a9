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
const WINDOW: u8 = 8;
const END_OF_STREAM: u8 = 1;
const END_OF_HEADERS: u8 = 4;

/// Headers of a call of the federation.
const EXCHANGE: [(&str, &str); 6] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/posterity.v1.Federation/Exchange"),
    (":authority", "posterity-server"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
];

/// A connection by hand.
pub(crate) struct RawConnection(TlsStream<TcpStream>);

impl RawConnection {
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
        self.greet().await;
        self.frame(HEADERS, END_OF_HEADERS, 1, &block(&EXCHANGE)).await.unwrap();
    }

    /// The beginning of HTTP/2, without a call.
    pub(crate) async fn greet(&mut self) {
        self.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        self.frame(SETTINGS, 0, 0, &[]).await.unwrap();
    }

    /// Waits for the other side's settings: the connection is open there.
    pub(crate) async fn greeted(&mut self) -> Vec<u8> {
        loop {
            match self.read().await {
                Some((SETTINGS, 0, _, settings)) => return settings,
                Some(_) => {}
                None => return Vec::new(),
            }
        }
    }

    /// Calls at one time, each of which announces a message of this length and sends all of it but the last byte, as fast as the
    /// other side lets it. Gives the bytes that the other side took before it ended the calls.
    pub(crate) async fn pour(&mut self, calls: u32, claimed: u32) -> u64 {
        self.greet().await;
        let (mut window, mut first) = (65_535, 65_535);
        let settings = self.greeted().await;
        if let Some([_, _, number @ ..]) = settings.chunks(6).find(|one| one[..2] == [0, 4]) {
            first = i64::from(u32::from_be_bytes(number.try_into().unwrap()));
        }
        let mut open = std::collections::BTreeMap::new();
        for call in 0..calls {
            let stream = 2 * call + 1;
            let begun = self.frame(HEADERS, END_OF_HEADERS, stream, &block(&EXCHANGE)).await;
            if begun.is_err() || self.frame(DATA, 0, stream, &framed(claimed, &[])).await.is_err() {
                return 0;
            }
            open.insert(stream, (first - 5, i64::from(claimed) - 1));
            window -= 5;
        }
        let (mut taken, chunk) = (0, vec![0; 16_384]);
        while open.values().any(|(_, left)| *left > 0) {
            let ready = open.iter_mut().find(|(_, (stream, left))| *stream > 0 && *left > 0).filter(|_| window > 0);
            if let Some((number, (stream, left))) = ready {
                let bytes = (*stream).min(*left).min(window).min(16_384);
                (*stream, *left, window) = (*stream - bytes, *left - bytes, window - bytes);
                let number = *number;
                if self.frame(DATA, 0, number, &chunk[..bytes as usize]).await.is_err() {
                    return taken;
                }
                taken += bytes as u64;
                continue;
            }
            let Some((kind, flags, stream, payload)) = self.read().await else { return taken };
            match kind {
                WINDOW => {
                    let more = i64::from(u32::from_be_bytes([payload[0], payload[1], payload[2], payload[3]]));
                    match open.get_mut(&stream) {
                        Some((room, _)) => *room += more,
                        None if stream == 0 => window += more,
                        None => {}
                    }
                }
                RESET => drop(open.remove(&stream)),
                HEADERS if flags & END_OF_STREAM != 0 => drop(open.remove(&stream)),
                _ => {}
            }
        }
        taken
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

    /// The next frame: kind, flags, stream and payload; none if the connection is over.
    async fn read(&mut self) -> Option<(u8, u8, u32, Vec<u8>)> {
        let mut header = [0; 9];
        self.0.read_exact(&mut header).await.ok()?;
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload).await.ok()?;
        Some((header[3], header[4], stream, payload))
    }

    /// Reads until the other side has ended its part of the call, and gives the data that came back.
    pub(crate) async fn ended(&mut self) -> Vec<u8> {
        let mut data = Vec::new();
        while let Some((kind, flags, stream, payload)) = self.read().await {
            if stream == 1 && kind == DATA {
                data.extend(payload);
            }
            let ends = matches!(kind, DATA | HEADERS) && flags & END_OF_STREAM != 0;
            if stream == 1 && (ends || kind == RESET) {
                break;
            }
        }
        data
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
