//! Who is let in: both sides must show certificates of one authority, over TLS 1.3.

use crate::party::{Echo, RunningServer, TestCa, line, said};
use federation::transport::{
    CallFuture, CallRefusal, ConnectionError, ConnectionLimits, Distrust, Enroller, PeerCertificate, TlsSource, join,
    serve_enrolment,
};
use federation::wire::proto::{JoinReply, JoinRequest};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

fn distrust(error: ConnectionError) -> Distrust {
    assert!(!error.is_worth_retrying(), "{error}");
    match error {
        ConnectionError::Tls { found, .. } => found,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_content_comes_back_and_the_handler_sees_whose_it_is() {
    let authority = TestCa::new();
    let site = authority.party("site");
    let echo = Arc::new(Echo::default());
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::clone(&echo) as _,
        ConnectionLimits::default(),
    )
    .await;
    let mut line = line(server.address, authority.calling(Some(&site)));
    for text in ["one", "two"] {
        assert_eq!(line.exchange(said(text), Duration::ZERO).await.unwrap(), said(text));
    }
    let peer = PeerCertificate(site.certificate.to_vec());
    assert_eq!(*echo.heard.lock().unwrap(), [(peer.clone(), said("one")), (peer, said("two"))]);
    server.stop().await;
}

#[tokio::test]
async fn a_client_without_a_certificate_or_of_another_authority_is_refused() {
    let (authority, other) = (TestCa::new(), TestCa::new());
    let stranger = other.party("site");
    let echo = Arc::new(Echo::default());
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::clone(&echo) as _,
        ConnectionLimits::default(),
    )
    .await;
    for own in [None, Some(&stranger)] {
        let mut line = line(server.address, authority.calling(own));
        let error = line.exchange(said("let me in"), Duration::ZERO).await.unwrap_err();
        assert_eq!(distrust(error), Distrust::OurCertificate);
    }
    assert_eq!(echo.calls(), 0);
}

#[tokio::test]
async fn a_clock_that_is_off_is_told_as_a_clock_that_is_off_and_by_how_much() {
    let authority = TestCa::new();
    let site = authority.party("site");
    for (from, until, words) in [
        (2200, 2201, "this machine's clock is behind the server's by at least"),
        (2000, 2001, "this machine's clock is ahead of the server's by at least"),
    ] {
        let own = authority.party_between("posterity-server", from, until);
        let server =
            RunningServer::start(authority.listening(&own), Arc::new(Echo::default()), ConnectionLimits::default())
                .await;
        let mut line = line(server.address, authority.calling(Some(&site)));
        let error = line.exchange(said("what time is it"), Duration::ZERO).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(words) && text.contains(" days") && text.contains("clock says 20"), "{text}");
        assert!(matches!(distrust(error), Distrust::Clock { .. }));
    }
    for (from, until) in [(2200, 2201), (2000, 2001)] {
        let own = authority.party_between("posterity-server", 2020, 2200);
        let server =
            RunningServer::start(authority.listening(&own), Arc::new(Echo::default()), ConnectionLimits::default())
                .await;
        let site = authority.party_between("site", from, until);
        let mut line = line(server.address, authority.calling(Some(&site)));
        let error = line.exchange(said("am I late"), Duration::ZERO).await.unwrap_err();
        // What the server's own certificate tells of its clock: it begins an hour before it is made.
        assert_eq!(distrust(error), Distrust::OurTime { server: Some(1_577_836_800 + 3600) });
    }
}

#[tokio::test]
async fn a_server_of_another_authority_or_name_hears_nothing() {
    let (authority, other) = (TestCa::new(), TestCa::new());
    let site = authority.party("site");
    for own in [other.server(), authority.party("another-server")] {
        let echo = Arc::new(Echo::default());
        let server =
            RunningServer::start(authority.listening(&own), Arc::clone(&echo) as _, ConnectionLimits::default()).await;
        let mut line = line(server.address, authority.calling(Some(&site)));
        let error = line.exchange(said("who is there"), Duration::ZERO).await.unwrap_err();
        assert_eq!(distrust(error), Distrust::ServersCertificate);
        assert_eq!(echo.calls(), 0);
    }
}

#[tokio::test]
async fn a_server_that_forgot_to_demand_certificates_permits_nothing() {
    let authority = TestCa::new();
    let echo = Arc::new(Echo::default());
    let server =
        RunningServer::start(authority.open(&authority.server()), Arc::clone(&echo) as _, ConnectionLimits::default())
            .await;
    let mut line = line(server.address, authority.calling(Some(&authority.party("site"))));
    assert_eq!(line.exchange(said("?"), Duration::ZERO).await.unwrap_err(), ConnectionError::NotPermitted);
    assert_eq!(echo.calls(), 0);
}

/// A record of TLS with one handshake message that knows of no version after 1.2.
fn of_tls_12(kind: u8, after_random: &[u8]) -> Vec<u8> {
    let body = [&[3, 3][..], &[5; 32], after_random].concat();
    let length = (body.len() as u16).to_be_bytes();
    let record = (body.len() as u16 + 4).to_be_bytes();
    [&[22, 3, 3, record[0], record[1], kind, 0, length[0], length[1]][..], &body].concat()
}

#[tokio::test]
async fn a_client_of_tls_1_2_gets_an_alert() {
    let authority = TestCa::new();
    let echo = Arc::new(Echo::default());
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::clone(&echo) as _,
        ConnectionLimits::default(),
    )
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    // No session, one suite, no compression, and the signature algorithms that every client names.
    let hello = [0, 0, 2, 0xc0, 0x2b, 1, 0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3];
    stream.write_all(&of_tls_12(1, &hello)).await.unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).await.unwrap();
    // An alert record: fatal, protocol_version.
    assert_eq!((reply[0], &reply[5..]), (21, &[2, 70][..]));
    assert_eq!(echo.calls(), 0);
}

#[tokio::test]
async fn a_server_of_tls_1_2_is_refused() {
    let authority = TestCa::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = vec![0; 4096];
        let _ = stream.read(&mut hello).await.unwrap();
        stream.write_all(&of_tls_12(2, &[0, 0xc0, 0x2b, 0, 0, 0])).await.unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    });
    let mut line = line(address, authority.calling(Some(&authority.party("site"))));
    assert_eq!(distrust(line.exchange(said("?"), Duration::ZERO).await.unwrap_err()), Distrust::Protocol);
    server.await.unwrap();
}

pub(crate) struct CountingObserver;

impl Enroller for CountingObserver {
    fn join(&self, request: JoinRequest) -> CallFuture<'_, JoinReply> {
        Box::pin(async move {
            match request.secret.as_slice() {
                b"open sesame" => Ok(JoinReply { chain: "chain".into(), ..JoinReply::default() }),
                b"later" => Err(CallRefusal::Unavailable),
                _ => Err(CallRefusal::NotPermitted),
            }
        })
    }
}

#[tokio::test]
async fn one_joins_without_a_certificate_but_not_at_any_server_and_not_without_an_invite() {
    let (authority, other) = (TestCa::new(), TestCa::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (_tls, current) = watch::channel(authority.open(&authority.server()));
    let limits = ConnectionLimits::enrolment();
    tokio::spawn(serve_enrolment(
        listener,
        TlsSource::new(current),
        Arc::new(CountingObserver),
        limits,
        Arc::default(),
        pending(),
    ));
    let ask =
        |secret: &[u8]| JoinRequest { version: 1, secret: secret.to_vec(), request: Vec::new(), sealing: Vec::new() };
    let config = authority.calling(None);
    let joined = join(address.clone(), Arc::clone(&config), ask(b"open sesame")).await.unwrap();
    assert_eq!(joined.chain, "chain");
    for (secret, expected) in [
        (&b"open barley"[..], ConnectionError::NotPermitted),
        (b"later", ConnectionError::Unavailable),
        (&[0; 70_000], ConnectionError::TooLarge),
    ] {
        assert_eq!(join(address.clone(), Arc::clone(&config), ask(secret)).await.unwrap_err(), expected);
    }
    let error = join(address.clone(), other.calling(None), ask(b"open sesame")).await.unwrap_err();
    assert_eq!(distrust(error), Distrust::ServersCertificate);
    // The call of the federation is not to be had at this port.
    let mut line = line(address, authority.calling(None));
    assert_eq!(line.exchange(said("?"), Duration::ZERO).await.unwrap_err(), ConnectionError::Strange);
}
