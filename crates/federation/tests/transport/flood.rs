//! Attacks on a server's ports by many connections and by large messages: each was seen to stop a server, or to fill its memory.

use crate::certificates::CountingObserver;
use crate::party::{Echo, RunningServer, TestCa, line, said};
use crate::raw::RawConnection;
use federation::transport::{
    CallFuture, ConnectionError, ConnectionLimits, Excess, Excesses, Handler, LengthLimit, PeerCertificate, TlsSource,
    join, serve_enrolment,
};
use federation::wire::SMALL_BYTES;
use federation::wire::proto::{JoinRequest, Signed};
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Connections that say nothing.
async fn idle(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut idle = Vec::new();
    for _ in 0..count {
        idle.push(TcpStream::connect(address).await.unwrap());
    }
    idle
}

#[tokio::test]
async fn three_hundred_idle_connections_keep_nobody_from_joining() {
    let authority = TestCa::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_tls, current) = watch::channel(authority.open(&authority.server()));
    let (limits, excesses) = (ConnectionLimits::enrolment(), Arc::new(Excesses::default()));
    let counts = excesses.clone();
    tokio::spawn(serve_enrolment(
        listener,
        TlsSource::new(current),
        Arc::new(CountingObserver),
        limits,
        counts,
        pending(),
    ));
    let _idle = idle(address, 300).await;
    let request = JoinRequest { version: 1, secret: b"open sesame".to_vec(), request: Vec::new(), sealing: Vec::new() };
    let joined = join(address.to_string(), authority.calling(None), request).await.unwrap();
    assert_eq!(joined.chain, "chain");
    let over = 301 - limits.strangers_of_an_address as u64;
    assert_eq!(excesses.so_far(Excess::Address), over, "each was counted");
}

#[tokio::test]
async fn idle_connections_without_a_certificate_take_no_partys_place() {
    let authority = TestCa::new();
    let echo = Arc::new(Echo::default());
    // As few places for parties as there are parties, and no more for strangers than one address may have.
    let limits =
        ConnectionLimits { connections: 2, strangers: 8, strangers_of_an_address: 8, ..ConnectionLimits::default() };
    let server = RunningServer::start(authority.listening(&authority.server()), Arc::clone(&echo) as _, limits).await;
    let mut early = line(server.address, authority.calling(Some(&authority.party("early"))));
    assert!(early.exchange(said("before"), Duration::ZERO).await.is_ok());
    let _idle = idle(server.address, 300).await;
    let mut late = line(server.address, authority.calling(Some(&authority.party("late"))));
    assert!(late.exchange(said("meanwhile"), Duration::ZERO).await.is_ok());
    assert!(early.exchange(said("on the same connection"), Duration::ZERO).await.is_ok());
    assert_eq!((echo.calls(), server.excesses.so_far(Excess::Connections)), (3, 0));
}

#[tokio::test]
async fn many_parties_behind_one_address_do_not_count_against_its_limit() {
    let authority = TestCa::new();
    let echo = Arc::new(Echo::default());
    // A place for each party, and too few for all of them among strangers.
    let limits =
        ConnectionLimits { connections: 8, strangers: 4, strangers_of_an_address: 1, ..ConnectionLimits::default() };
    let server = RunningServer::start(authority.listening(&authority.server()), Arc::clone(&echo) as _, limits).await;
    let parties = (0..8).map(|number| authority.party(&format!("site-{number}")));
    let mut lines: Vec<_> = parties.map(|party| line(server.address, authority.calling(Some(&party)))).collect();
    for _ in 0..2 {
        for line in &mut lines {
            assert!(line.exchange(said("here"), Duration::ZERO).await.is_ok());
        }
    }
    assert_eq!((echo.calls(), Excess::ALL.map(|what| server.excesses.so_far(what))), (16, [0; 7]));
}

#[tokio::test]
async fn a_party_has_so_many_connections_and_its_own_oldest_gives_way() {
    let authority = TestCa::new();
    let limits = ConnectionLimits { connections_of_a_party: 2, ..ConnectionLimits::default() };
    let config = authority.listening(&authority.server());
    let server = RunningServer::start(config, Arc::new(Echo::default()), limits).await;
    let (greedy, other) = (authority.party("greedy"), authority.party("other"));
    let mut others = line(server.address, authority.calling(Some(&other)));
    assert!(others.exchange(said("before"), Duration::ZERO).await.is_ok());
    let mut connections = Vec::new();
    for _ in 0..3 {
        let mut raw = RawConnection::connect(server.address, &authority.calling(Some(&greedy))).await;
        raw.greet().await;
        raw.greeted().await;
        connections.push(raw);
    }
    // The first one ends without a word of its own; the others go on.
    assert_eq!(connections[0].ended().await, [0; 0]);
    assert_eq!(server.excesses.so_far(Excess::Party), 1);
    let mut own = line(server.address, authority.calling(Some(&greedy)));
    assert!(own.exchange(said("let in all the same"), Duration::ZERO).await.is_ok());
    assert!(others.exchange(said("undisturbed"), Duration::ZERO).await.is_ok());
    assert_eq!(server.excesses.so_far(Excess::Party), 2);
}

#[tokio::test]
async fn a_site_that_pours_into_four_connections_is_refused_before_its_bytes_are_kept() {
    let authority = TestCa::new();
    let echo = Arc::new(Echo { longest: Some(SMALL_BYTES), ..Echo::default() });
    let limits = ConnectionLimits::default();
    let server = RunningServer::start(authority.listening(&authority.server()), Arc::clone(&echo) as _, limits).await;
    let site = authority.party("site");
    let mut taken = 0;
    for _ in 0..4 {
        let mut raw = RawConnection::connect(server.address, &authority.calling(Some(&site))).await;
        taken += raw.pour(4, 60 << 20).await;
    }
    // Nothing that was announced was read: what came is what HTTP/2 lets anybody send before it is.
    assert!(taken <= 4 * u64::from(limits.window), "{taken} bytes were taken");
    assert_eq!(echo.calls(), 0);
    assert!(server.excesses.so_far(Excess::Message) >= 8, "two calls of each connection");
    // A message of the length that is expected still comes through.
    let mut line = line(server.address, authority.calling(Some(&site)));
    let fits = Signed { content: vec![1; SMALL_BYTES - 100], signature: vec![7; 64] };
    assert!(line.exchange(fits, Duration::ZERO).await.is_ok());
}

/// Has no run yet.
struct NoRunYet;

impl Handler for NoRunYet {
    fn longest(&self, _: &PeerCertificate) -> LengthLimit {
        LengthLimit::SoFar(SMALL_BYTES)
    }

    fn exchange(&self, _: PeerCertificate, content: Signed) -> CallFuture<'_, Signed> {
        Box::pin(async { Ok(content) })
    }
}

#[tokio::test]
async fn before_there_is_a_run_a_long_message_is_to_come_again_later() {
    let authority = TestCa::new();
    let config = authority.listening(&authority.server());
    let server = RunningServer::start(config, Arc::new(NoRunYet), ConnectionLimits::default()).await;
    let mut line = line(server.address, authority.calling(Some(&authority.party("site"))));
    let long = Signed { content: vec![1; 2 * SMALL_BYTES], signature: Vec::new() };
    let error = line.exchange(long, Duration::ZERO).await.unwrap_err();
    assert_eq!(error, ConnectionError::Unavailable);
    assert!(error.is_worth_retrying());
    assert!(line.exchange(said("short"), Duration::ZERO).await.is_ok());
}

#[tokio::test]
async fn a_connection_without_a_call_is_closed_and_one_at_work_is_not() {
    let authority = TestCa::new();
    let limits = ConnectionLimits { idle: Duration::from_millis(300), ..ConnectionLimits::default() };
    let echo = Echo::after(Duration::from_secs(1));
    let server = RunningServer::start(authority.listening(&authority.server()), Arc::clone(&echo) as _, limits).await;
    let mut raw = RawConnection::connect(server.address, &authority.calling(Some(&authority.party("silent")))).await;
    raw.greet().await;
    assert_eq!(raw.ended().await, [0; 0]);
    assert_eq!(server.excesses.so_far(Excess::Idle), 1);
    // A poll that waits three times as long is answered.
    let mut line = line(server.address, authority.calling(Some(&authority.party("patient"))));
    assert!(line.exchange(said("?"), Duration::from_secs(5)).await.is_ok());
}
