//! Exchanges over a network that cuts, delays and swallows: each arrives at least once.

use crate::life::insist;
use crate::party::{Echo, RunningServer, TestCa, line, said};
use crate::proxy::{NetworkFault, Proxy};
use crate::raw::RawConnection;
use federation::transport::{CallFuture, ConnectionError, ConnectionLimits, Handler, LengthLimit, PeerCertificate};
use federation::wire::MOST_BYTES;
use federation::wire::proto::Signed;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

#[tokio::test]
async fn wherever_a_connection_is_cut_the_exchange_succeeds_when_it_is_tried_again() {
    let authority = TestCa::new();
    let echo = Arc::new(Echo::default());
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::clone(&echo) as _,
        ConnectionLimits::default(),
    )
    .await;
    let mut exchanges = JoinSet::new();
    for bytes in (0..4000).step_by(125) {
        let config = authority.calling(Some(&authority.party(&format!("site-{bytes}"))));
        let address = server.address;
        exchanges.spawn(async move {
            let proxy = Proxy::to(address).await;
            proxy.cut_after([bytes, bytes]);
            let tries = insist(&mut line(proxy.address(), config), &bytes.to_string()).await;
            assert_eq!(tries, proxy.accepted(), "cut after {bytes} bytes");
            tries
        });
    }
    let tries = exchanges.join_all().await;
    assert_eq!((tries.iter().min(), tries.iter().max()), (Some(&1), Some(&3)));
    assert!(echo.calls() >= tries.len());
}

/// Cuts the line before its first reply.
#[derive(Default)]
struct Cutter {
    proxy: OnceCell<Proxy>,
    heard: Mutex<Vec<Signed>>,
}

impl Handler for Cutter {
    fn longest(&self, _: &PeerCertificate) -> LengthLimit {
        LengthLimit::Final(MOST_BYTES)
    }

    fn exchange(&self, _: PeerCertificate, content: Signed) -> CallFuture<'_, Signed> {
        let mut heard = self.heard.lock().unwrap();
        heard.push(content.clone());
        if heard.len() == 1 {
            self.proxy.get().unwrap().cut();
        }
        Box::pin(async { Ok(content) })
    }
}

#[tokio::test]
async fn a_handler_may_hear_a_request_twice() {
    let authority = TestCa::new();
    let cutter = Arc::new(Cutter::default());
    let config = authority.listening(&authority.server());
    let server = RunningServer::start(config, Arc::clone(&cutter) as _, ConnectionLimits::default()).await;
    let proxy = cutter.proxy.get_or_init(|| Proxy::to(server.address)).await;
    proxy.weather(NetworkFault::Late(Duration::from_millis(20)));
    let mut line = line(proxy.address(), authority.calling(Some(&authority.party("site"))));
    assert_eq!(line.exchange(said("once"), Duration::ZERO).await.unwrap_err(), ConnectionError::Lost);
    assert_eq!(insist(&mut line, "once").await, 1);
    assert_eq!(*cutter.heard.lock().unwrap(), [said("once"), said("once")]);
}

#[tokio::test]
async fn a_partition_ends_an_exchange_by_its_time_and_the_next_one_succeeds_when_it_has_healed() {
    let authority = TestCa::new();
    let echo = Arc::new(Echo::default());
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::clone(&echo) as _,
        ConnectionLimits::default(),
    )
    .await;
    let proxy = Proxy::to(server.address).await;
    let mut line = line(proxy.address(), authority.calling(Some(&authority.party("site"))));
    insist(&mut line, "before").await;
    proxy.weather(NetworkFault::Partition);
    let error = line.exchange(said("meanwhile"), Duration::ZERO).await.unwrap_err();
    assert_eq!(error, ConnectionError::TimedOut);
    proxy.weather(NetworkFault::Fair);
    assert_eq!(insist(&mut line, "after").await, 1);
}

#[tokio::test]
async fn a_reply_that_makes_no_sense_is_an_error_and_no_more() {
    let authority = TestCa::new();
    let config = authority.listening(&authority.server());
    let site = authority.party("site");
    let grpc = [(":status", "200"), ("content-type", "application/grpc")];
    for (headers, expected) in [
        ([&grpc[..], &[("grpc-status", "13"), ("grpc-status-details-bin", "!")]].concat(), ConnectionError::Strange),
        ([&grpc[..], &[("grpc-status", "99")]].concat(), ConnectionError::Strange),
        (vec![(":status", "404")], ConnectionError::Strange),
        (vec![(":status", "503")], ConnectionError::Unavailable),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut line = line(listener.local_addr().unwrap(), authority.calling(Some(&site)));
        let content = said("?");
        let (reply, ()) = tokio::join!(
            async { (line.exchange(content, Duration::ZERO).await, drop(line)).0 },
            RawConnection::reply(listener, &config, &headers)
        );
        assert_eq!(reply.unwrap_err(), expected, "{headers:?}");
    }
}
