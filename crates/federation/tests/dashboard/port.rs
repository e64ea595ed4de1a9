//! The port: in the clear within the machine only, by TLS elsewhere, and closed when it is told to.

use crate::hospitals::Hospitals;
use federation::dashboard::{CONNECTIONS_OF_AN_ADDRESS, DashboardError, Metrics, Token, serve};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

type DashboardTask = JoinHandle<Result<(), DashboardError>>;

/// A dashboard on a free port of loopback, and what closes it.
async fn open(tls: Option<Arc<rustls::ServerConfig>>) -> (SocketAddr, Token, oneshot::Sender<()>, DashboardTask) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, token) = (listener.local_addr().unwrap(), Token::generate().unwrap());
    let (close, closed) = oneshot::channel();
    let until = async {
        let _ = closed.await;
    };
    let source = Arc::new(Hospitals::new(3));
    let tls = tls.map(|config| watch::channel(config).1);
    let serving = tokio::spawn(serve(
        listener,
        tls,
        source,
        Arc::new(Metrics::default()),
        token.clone(),
        CONNECTIONS_OF_AN_ADDRESS,
        until,
    ));
    (address, token, close, serving)
}

/// The whole answer to one request.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str, token: &str) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // A peer that leaves without a farewell has still said everything.
    let _ = stream.read_to_string(&mut answer).await;
    answer
}

fn certified() -> (Arc<rustls::ServerConfig>, Arc<rustls::ClientConfig>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.der().clone(), PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (Arc::new(server), Arc::new(client))
}

#[tokio::test]
async fn it_answers_within_the_machine_and_closes_when_told() {
    let (address, token, close, serving) = open(None).await;
    let answer = ask(TcpStream::connect(address).await.unwrap(), "/", token.hex()).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Mortality in intensive care"), "{answer}");
    close.send(()).unwrap();
    serving.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn an_open_stream_of_events_does_not_keep_it_from_closing() {
    let (address, token, close, serving) = open(None).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", token.hex());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    close.send(()).unwrap();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn by_tls_the_cookie_is_secure_and_the_clear_is_not_understood() {
    let (server, client) = certified();
    let (address, token, _close, _serving) = open(Some(server)).await;
    let connector = TlsConnector::from(client);
    let connect = async || {
        let stream = TcpStream::connect(address).await.unwrap();
        connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()
    };
    let login = ask(connect().await, &format!("/login?token={}", token.hex()), "").await;
    assert!(
        login.starts_with("HTTP/1.1 303") && login.contains("__Host-posterity=") && login.contains("; Secure"),
        "{login}"
    );
    assert!(ask(connect().await, "/healthz", "").await.ends_with("ok"));
    let plain = ask(TcpStream::connect(address).await.unwrap(), "/healthz", "").await;
    assert!(!plain.contains("HTTP"), "{plain:?}");
}

#[tokio::test]
async fn in_the_clear_it_does_not_listen_where_others_can_reach_it() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let (source, token) = (Arc::new(Hospitals::new(1)), Token::generate().unwrap());
    let refused = serve(listener, None, source, Arc::new(Metrics::default()), token, 1, std::future::pending()).await;
    let words = refused.unwrap_err().to_string();
    assert!(words.contains("expected a loopback address"), "{words}");
}

/// One line of events, which is a browser that looks on.
async fn looking_on(address: SocketAddr, token: &Token) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n", token.hex());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    stream
}

#[tokio::test]
async fn idle_connections_keep_nobody_from_asking_whether_it_is_well() {
    let (server, client) = certified();
    for tls in [None, Some(server)] {
        let encrypted = tls.is_some();
        let (address, token, _close, _serving) = open(tls).await;
        let browser = if encrypted { None } else { Some(looking_on(address, &token).await) };
        let mut idle = Vec::new();
        for _ in 0..400 {
            idle.push(TcpStream::connect(address).await.unwrap());
        }
        let stream = TcpStream::connect(address).await.unwrap();
        let answer = match encrypted {
            false => ask(stream, "/healthz", "").await,
            true => {
                let name = ServerName::try_from("localhost").unwrap();
                ask(TlsConnector::from(client.clone()).connect(name, stream).await.unwrap(), "/healthz", "").await
            }
        };
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
        if let Some(browser) = browser {
            let mut byte = [0; 1];
            let heard = tokio::time::timeout(std::time::Duration::from_millis(100), async {
                let mut browser = browser;
                while browser.read(&mut byte).await.unwrap_or(0) > 0 {}
            });
            assert!(heard.await.is_err(), "who looks on is still connected");
        }
    }
}
