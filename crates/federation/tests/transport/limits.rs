//! What is too much: too large, too slow, too many, or not there any more. Others go on.

use crate::party::{Echo, RunningServer, TestCa, TestParty, line, said};
use crate::proxy::{NetworkFault, Proxy};
use crate::raw::{RawConnection, framed};
use federation::transport::{
    CallFuture, ConnectionError, ConnectionLimits, Excess, Handler, LengthLimit, PeerCertificate,
};
use federation::wire::MOST_BYTES;
use federation::wire::proto::Signed;
use prost::Message as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

struct LimitedServer {
    authority: TestCa,
    site: TestParty,
    echo: Arc<Echo>,
    server: RunningServer,
}

async fn world(limits: ConnectionLimits) -> LimitedServer {
    let authority = TestCa::new();
    let site = authority.party("site");
    let echo = Arc::new(Echo::default());
    let server = RunningServer::start(authority.listening(&authority.server()), Arc::clone(&echo) as _, limits).await;
    LimitedServer { authority, site, echo, server }
}

#[tokio::test]
async fn a_message_over_the_limit_is_not_sent() {
    let world = world(ConnectionLimits::default()).await;
    let mut line = line(world.server.address, world.authority.calling(Some(&world.site)));
    let large = Signed { content: vec![1; MOST_BYTES + (1 << 20)], signature: Vec::new() };
    assert_eq!(line.exchange(large, Duration::ZERO).await.unwrap_err(), ConnectionError::TooLarge);
    assert_eq!(world.echo.calls(), 0);
}

#[tokio::test]
async fn a_server_refuses_what_is_over_its_limit_and_goes_on() {
    let world = world(ConnectionLimits { message: 1 << 20, ..ConnectionLimits::default() }).await;
    let mut line = line(world.server.address, world.authority.calling(Some(&world.site)));
    let large = Signed { content: vec![1; 2 << 20], signature: Vec::new() };
    assert_eq!(line.exchange(large, Duration::ZERO).await.unwrap_err(), ConnectionError::TooLarge);
    assert_eq!(world.echo.calls(), 0);
    assert!(line.exchange(said("small"), Duration::ZERO).await.is_ok());
}

/// Replies with more than a line takes.
struct OversizedReplies;

impl Handler for OversizedReplies {
    fn longest(&self, _: &PeerCertificate) -> LengthLimit {
        LengthLimit::Final(MOST_BYTES)
    }

    fn exchange(&self, _: PeerCertificate, _: Signed) -> CallFuture<'_, Signed> {
        Box::pin(async { Ok(Signed { content: vec![1; MOST_BYTES + (1 << 20)], signature: Vec::new() }) })
    }
}

#[tokio::test]
async fn a_reply_over_the_limit_is_refused() {
    let authority = TestCa::new();
    let limits = ConnectionLimits { message: MOST_BYTES * 2, ..ConnectionLimits::default() };
    let server =
        RunningServer::start(authority.listening(&authority.server()), Arc::new(OversizedReplies), limits).await;
    let mut line = line(server.address, authority.calling(Some(&authority.party("site"))));
    assert_eq!(line.exchange(said("?"), Duration::ZERO).await.unwrap_err(), ConnectionError::TooLarge);
}

#[tokio::test]
async fn a_claim_of_two_gigabytes_is_refused_by_its_five_bytes() {
    let world = world(ConnectionLimits::default()).await;
    let config = world.authority.calling(Some(&world.site));
    let mut raw = RawConnection::connect(world.server.address, &config).await;
    raw.begin().await;
    raw.data(&framed(2 << 30, &[]), false).await.unwrap();
    assert_eq!(raw.ended().await, [0; 0]);
    assert_eq!(world.echo.calls(), 0);
    // The same by hand with an honest length is answered.
    let bytes = said("by hand").encode_to_vec();
    let whole = framed(bytes.len() as u32, &bytes);
    let mut raw = RawConnection::connect(world.server.address, &config).await;
    raw.begin().await;
    raw.data(&whole, true).await.unwrap();
    assert_eq!(raw.ended().await, whole);
    assert_eq!(world.echo.calls(), 1);
}

#[tokio::test]
async fn a_trickling_request_is_cut_off_while_others_go_on() {
    let world = world(ConnectionLimits { reading: Duration::from_millis(500), ..ConnectionLimits::default() }).await;
    let config = world.authority.calling(Some(&world.site));
    let mut raw = RawConnection::connect(world.server.address, &config).await;
    raw.begin().await;
    raw.data(&framed(1000, &[]), false).await.unwrap();
    let mut line = line(world.server.address, config);
    for count in 1..=3 {
        raw.data(&[0], false).await.unwrap();
        assert!(line.exchange(said("meanwhile"), Duration::ZERO).await.is_ok());
        assert_eq!(world.echo.calls(), count);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(raw.ended().await, [0; 0]);
    assert!(line.exchange(said("after"), Duration::ZERO).await.is_ok());
    assert_eq!(world.echo.calls(), 4);
}

#[tokio::test]
async fn an_answer_that_never_comes_is_given_up() {
    let authority = TestCa::new();
    let limits = ConnectionLimits { answering: Duration::from_millis(200), ..ConnectionLimits::default() };
    let echo = Echo::after(Duration::from_secs(3600));
    let server = RunningServer::start(authority.listening(&authority.server()), Arc::clone(&echo) as _, limits).await;
    let mut line = line(server.address, authority.calling(Some(&authority.party("site"))));
    let error = line.exchange(said("?"), Duration::from_secs(60)).await.unwrap_err();
    assert_eq!(error, ConnectionError::TimedOut);
    assert!(error.is_worth_retrying());
    assert_eq!(echo.calls(), 1);
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_closed_before_tls_and_after() {
    let world = world(ConnectionLimits { handshake: Duration::from_millis(300), ..ConnectionLimits::default() }).await;
    let mut slow = TcpStream::connect(world.server.address).await.unwrap();
    slow.write_all(&[22, 3, 1]).await.unwrap();
    let mut rest = Vec::new();
    // Whether by an end or by a reset, it is closed.
    let _ = slow.read_to_end(&mut rest).await;
    let mut silent = RawConnection::connect(world.server.address, &world.authority.calling(Some(&world.site))).await;
    assert_eq!(silent.ended().await, [0; 0]);
}

#[tokio::test]
async fn there_are_so_many_connections_and_half_open_ones_give_their_place_back() {
    let pulse = Duration::from_millis(300);
    let world =
        world(ConnectionLimits { connections: 1, ping: pulse, pong: pulse, ..ConnectionLimits::default() }).await;
    let config = world.authority.calling(Some(&world.site));
    let proxy = Proxy::to(world.server.address).await;
    let mut first = line(proxy.address(), Arc::clone(&config));
    assert!(first.exchange(said("first"), Duration::ZERO).await.is_ok());
    let mut second = line(world.server.address, config);
    let error = second.exchange(said("second"), Duration::ZERO).await.unwrap_err();
    // It has shown who it is, and finds no place.
    assert!(matches!(error, ConnectionError::Connect { .. } | ConnectionError::Lost), "{error:?}");
    assert!(error.is_worth_retrying());
    assert!(world.server.excesses.so_far(Excess::Connections) >= 1);
    // The first one falls silent, without a word.
    proxy.weather(NetworkFault::Partition);
    let mut tries = 0;
    while let Err(error) = second.exchange(said("second"), Duration::ZERO).await {
        assert!(error.is_worth_retrying(), "{error:?}");
        tries += 1;
        assert!(tries < 10, "its place is not given back");
    }
    assert_eq!(world.echo.calls(), 2);
}
