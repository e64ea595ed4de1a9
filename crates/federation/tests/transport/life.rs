//! The life of servers and lines: restarts, renewals, long polls, stops.

use crate::party::{Echo, RunningServer, TestCa, line, said};
use federation::transport::{
    CallFuture, Connection, ConnectionError, ConnectionLimits, Handler, LengthLimit, PeerCertificate,
};
use federation::wire::MOST_BYTES;
use federation::wire::proto::{self, Signed};
use prost::Message as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Barrier, watch};
use tokio::task::JoinSet;

/// Sends until it works; every failure must be worth it.
pub(crate) async fn insist(line: &mut Connection, text: &str) -> usize {
    for tries in 1..20 {
        match line.exchange(said(text), Duration::ZERO).await {
            Ok(reply) => {
                assert_eq!(reply, said(text));
                return tries;
            }
            Err(error) => assert!(error.is_worth_retrying(), "{error:?}"),
        }
    }
    panic!("it does not work");
}

#[tokio::test]
async fn a_line_finds_a_server_that_was_started_again() {
    let authority = TestCa::new();
    let echo = Arc::new(Echo::default());
    let config = authority.listening(&authority.server());
    let server = RunningServer::start(Arc::clone(&config), Arc::clone(&echo) as _, ConnectionLimits::default()).await;
    let address = server.address;
    let mut line = line(address, authority.calling(Some(&authority.party("site"))));
    insist(&mut line, "before").await;
    server.stop().await;
    let error = line.exchange(said("meanwhile"), Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, ConnectionError::Connect { .. } | ConnectionError::Lost), "{error:?}");
    let _server = RunningServer::at(address, config, Arc::clone(&echo) as _, ConnectionLimits::default()).await;
    insist(&mut line, "after").await;
    assert_eq!(echo.calls(), 2);
}

#[tokio::test]
async fn renewed_certificates_of_both_sides_are_used_without_a_restart() {
    let (authority, next) = (TestCa::new(), TestCa::new());
    let (old, new) = (authority.party("site"), authority.party("site"));
    let echo = Arc::new(Echo::default());
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::clone(&echo) as _,
        ConnectionLimits::default(),
    )
    .await;
    let (renewal, current) = watch::channel(authority.calling(Some(&old)));
    let mut first = Connection::new(server.address.to_string(), current, 1);
    insist(&mut first, "old").await;
    renewal.send_replace(authority.calling(Some(&new)));
    insist(&mut first, "new").await;
    let shown: Vec<_> = echo.heard.lock().unwrap().iter().map(|(peer, _)| peer.clone()).collect();
    assert_eq!(shown, [&old, &new].map(|party| PeerCertificate(party.certificate.to_vec())));
    // From now on the server belongs to the next authority; the line that is open does not notice.
    server.tls.send_replace(next.listening(&next.server()));
    insist(&mut first, "still open").await;
    let mut second = line(server.address, next.calling(Some(&next.party("site"))));
    insist(&mut second, "of the next authority").await;
    let mut third = line(server.address, authority.calling(Some(&new)));
    assert!(matches!(third.exchange(said("?"), Duration::ZERO).await, Err(ConnectionError::Tls { .. })));
}

#[tokio::test]
async fn an_old_connection_is_closed_and_its_line_opens_another() {
    let authority = TestCa::new();
    let echo = Echo::after(Duration::from_millis(400));
    let limits = ConnectionLimits { age: Duration::from_millis(200), ..ConnectionLimits::default() };
    let server = RunningServer::start(authority.listening(&authority.server()), Arc::clone(&echo) as _, limits).await;
    let mut line = line(server.address, authority.calling(Some(&authority.party("site"))));
    // Each call is under way when its connection comes of age, and finishes all the same.
    for _ in 0..3 {
        assert!(line.exchange(said("?"), Duration::from_secs(1)).await.is_ok());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(echo.calls(), 3);
}

/// Answers nobody before all are there, and then after a second.
struct BarrierHandler(Barrier);

impl Handler for BarrierHandler {
    fn longest(&self, _: &PeerCertificate) -> LengthLimit {
        LengthLimit::Final(MOST_BYTES)
    }

    fn exchange(&self, _: PeerCertificate, content: Signed) -> CallFuture<'_, Signed> {
        Box::pin(async move {
            self.0.wait().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(content)
        })
    }
}

#[tokio::test]
async fn two_hundred_long_polls_are_held_at_the_same_time() {
    let authority = TestCa::new();
    let gathering = Arc::new(BarrierHandler(Barrier::new(200)));
    let server =
        RunningServer::start(authority.listening(&authority.server()), gathering, ConnectionLimits::default()).await;
    let sites = (0..200).map(|number| authority.calling(Some(&authority.party(&format!("site-{number}")))));
    let sites: Vec<_> = sites.collect();
    let begun = Instant::now();
    let mut polls = JoinSet::new();
    for (number, config) in sites.into_iter().enumerate() {
        let mut line = line(server.address, config);
        polls.spawn(async move { line.exchange(said(&number.to_string()), Duration::from_secs(30)).await });
    }
    let replies = polls.join_all().await;
    assert!(replies.iter().all(Result::is_ok), "{:?}", replies.iter().find(|reply| reply.is_err()));
    println!("200 long polls of 1 s, connections included: {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_server_that_stops_takes_no_calls_but_finishes_those_under_way() {
    let authority = TestCa::new();
    let echo = Echo::after(Duration::from_millis(500));
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::clone(&echo) as _,
        ConnectionLimits::default(),
    )
    .await;
    let address = server.address;
    let config = authority.calling(Some(&authority.party("site")));
    let mut under_way = line(address, Arc::clone(&config));
    let call = tokio::spawn(async move { under_way.exchange(said("under way"), Duration::from_secs(1)).await });
    while echo.calls() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop().await;
    assert_eq!(call.await.unwrap().unwrap(), said("under way"));
    let error = line(address, config).exchange(said("too late"), Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, ConnectionError::Connect { .. }), "{error:?}");
    assert_eq!(echo.calls(), 1);
}

#[tokio::test]
async fn a_server_that_stops_does_not_wait_for_ever() {
    let authority = TestCa::new();
    let echo = Echo::after(Duration::from_secs(3600));
    let limits = ConnectionLimits { grace: Duration::from_millis(200), ..ConnectionLimits::default() };
    let server = RunningServer::start(authority.listening(&authority.server()), Arc::clone(&echo) as _, limits).await;
    let mut under_way = line(server.address, authority.calling(Some(&authority.party("site"))));
    let call = tokio::spawn(async move { under_way.exchange(said("?"), Duration::from_secs(60)).await });
    while echo.calls() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop().await;
    assert_eq!(call.await.unwrap().unwrap_err(), ConnectionError::Lost);
}

#[tokio::test]
async fn a_thousand_lines_live_in_one_process_without_threads_of_their_own() {
    if std::env::var_os("POSTERITY_LINES").is_none() {
        println!("skipped: a thousand lines (they need 2,100 open files: ulimit -n 4096, and POSTERITY_LINES=1)");
        return;
    }
    let authority = TestCa::new();
    let echo = Echo::after(Duration::from_millis(500));
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::clone(&echo) as _,
        ConnectionLimits::default(),
    )
    .await;
    let config = authority.calling(Some(&authority.party("site")));
    let mut lines = JoinSet::new();
    let begun = Instant::now();
    for number in 0..1000 {
        let mut line = Connection::new(server.address.to_string(), watch::channel(Arc::clone(&config)).1, number);
        lines.spawn(async move {
            for _ in 0..3 {
                insist(&mut line, "one of a thousand").await;
            }
            line
        });
    }
    let lines = lines.join_all().await;
    println!("{} lines, 3 exchanges of 0.5 s each: {:?}", lines.len(), begun.elapsed());
    assert!(echo.calls() >= 3000);
}

#[tokio::test]
async fn the_latency_of_an_update_on_loopback_is_shown() {
    let authority = TestCa::new();
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::new(Echo::default()),
        ConnectionLimits::default(),
    )
    .await;
    let mut line = line(server.address, authority.calling(Some(&authority.party("site"))));
    let update = proto::Update { units: (0..216).map(|i| (i - 108) << 20).collect(), ..proto::Update::default() };
    let body = Some(proto::content::Body::Update(update));
    let content = proto::Content { version: 1, body, ..proto::Content::default() }.encode_to_vec();
    let signed = Signed { content, signature: vec![7; 64] };
    let mut times = Vec::new();
    for _ in 0..500 {
        let begun = Instant::now();
        assert_eq!(line.exchange(signed.clone(), Duration::ZERO).await.unwrap(), signed);
        times.push(begun.elapsed());
    }
    times.sort();
    println!("exchange of {} bytes, mutual TLS: p50 {:?}, p99 {:?}", signed.encoded_len(), times[250], times[495]);
}
