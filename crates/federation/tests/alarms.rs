//! Alarms that ring: every refusal is provoked over TLS and read from `/metrics`, and a disk that is full is told as one.

mod server;

use federation::dashboard::RefusalReason;
use federation::identity::{IdentityKey, PartyName};
use federation::log::Position;
use federation::message::{Attempt, Instruction, RefusalCode, Request, Update};
use federation::transport::ConnectionError;
use federation::wire::proto;
use privacy::GridVector;
use server::AlarmServer;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

fn poll(wait: u32) -> Request {
    Request::Attend { position: None, wait, begun: true, unsettled: None, mail: 0, closed: false }
}

/// Provokes a refusal that is said in a reply.
async fn reply(server: &AlarmServer, refusal: RefusalCode) {
    let (own, other) = (server.keys.sites[1].clone(), server.keys.sites[0].1.clone());
    let good = server.good.clone();
    let heard = match refusal {
        RefusalCode::NoRun => server.says(1, &poll(0)).await,
        RefusalCode::OtherManifest => {
            let signed = server.signed(1, &own.1, [7; 32], &poll(0));
            server.exchange(&mut server.line(&own), signed).await
        }
        RefusalCode::NotAMember => {
            let stranger = (PartyName::new("stranger").unwrap(), Arc::new(IdentityKey::generate().unwrap()));
            let signed = server.signed(1, &stranger.1, server.manifest, &poll(0));
            let refused = server.exchange(&mut server.line(&stranger), signed).await;
            assert_eq!(refused, Err(ConnectionError::NotPermitted));
            return;
        }
        RefusalCode::Shape => {
            let answer = GridVector::new(good.answer.grid(), vec![1]);
            server.says(1, &Request::Update(Update { answer, ..good })).await
        }
        RefusalCode::NotAsked => {
            let at = Attempt { round: 1, attempt: 0 };
            server.says(1, &Request::Update(Update { at, ..good })).await
        }
        RefusalCode::Conflict => {
            server.says(0, &Request::Update(good.clone())).await.unwrap();
            let position = Position { sequence: good.position.sequence + 1, ..good.position };
            server.says(0, &Request::Update(Update { position, ..good })).await
        }
        RefusalCode::Frozen => server.says(0, &poll(0)).await,
        RefusalCode::Signature => {
            let signed = server.signed(1, &other, server.manifest, &poll(0));
            server.exchange(&mut server.line(&own), signed).await
        }
        RefusalCode::Malformed => {
            let signed = proto::Signed { content: vec![1, 2, 3], signature: vec![4] };
            let refused = server.line(&own).exchange(signed, Duration::ZERO).await;
            assert_eq!(refused, Err(ConnectionError::Malformed));
            return;
        }
        RefusalCode::Unavailable => {
            server.disk.full.store(true, Ordering::Relaxed);
            let heard = server.says(1, &Request::Update(good)).await;
            server.disk.full.store(false, Ordering::Relaxed);
            heard
        }
    };
    assert_eq!(heard, Ok(vec![Instruction::Refuse(refusal)]));
}

/// Provokes a refusal.
async fn provoke(server: &AlarmServer, reason: RefusalReason) {
    match reason {
        RefusalReason::Reply(refusal) => reply(server, refusal).await,
        RefusalReason::Revoked => {
            assert_eq!(server.says(2, &poll(0)).await, Err(ConnectionError::NotPermitted));
        }
        RefusalReason::CertificateEnded => {
            server.later.store(365 * 86_400, Ordering::Relaxed);
            assert_eq!(server.says(1, &poll(0)).await, Err(ConnectionError::NotPermitted));
            server.later.store(0, Ordering::Relaxed);
        }
        RefusalReason::Invite => {
            assert!(matches!(server.join(&[9; 16]).await, Err(ConnectionError::Invite(_))));
        }
        RefusalReason::Handshake => {
            let mut stream = TcpStream::connect(&server.parties).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n").await.unwrap();
        }
    }
}

fn sample(reason: RefusalReason) -> String {
    format!("posterity_refusals_total{{reason=\"{}\"}}", reason.word())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reason_for_a_refusal_is_provoked_over_tls_and_counted_once() {
    let server = AlarmServer::new().await;
    for reason in RefusalReason::ALL {
        assert_eq!(server.metric(&sample(reason)).await, Some(0.0), "{}", reason.word());
    }
    for reason in RefusalReason::ALL {
        if reason == RefusalReason::Reply(RefusalCode::OtherManifest) {
            server.begin();
        }
        provoke(&server, reason).await;
        // A connection that is turned away is counted when the server has noticed.
        server.until(&sample(reason), 1.0).await;
    }
    for reason in RefusalReason::ALL {
        let times = server.metric(&sample(reason)).await;
        assert_eq!(times, Some(1.0), "{} is counted for nothing else", reason.word());
    }
    let page = server.page("/").await;
    for reason in RefusalReason::ALL {
        assert!(page.contains(reason.word()), "{} is not shown", reason.word());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_full_disk_health_is_503_until_a_change_is_kept_again() {
    let server = AlarmServer::new().await;
    server.begin();
    assert!(server.page("/healthz").await.ends_with("\r\n\r\nok"));
    assert_eq!(server.metric("posterity_commit_failing").await, Some(0.0));
    server.disk.full.store(true, Ordering::Relaxed);
    let refused = server.says(1, &Request::Update(server.good.clone())).await;
    assert_eq!(refused, Ok(vec![Instruction::Refuse(RefusalCode::Unavailable)]));
    let health = server.page("/healthz").await;
    assert!(health.starts_with("HTTP/1.1 503") && health.contains("the last change could not be stored"), "{health}");
    assert!(!health.contains("secret"), "what the database says is for those who have the token");
    let page = server.page("/").await;
    assert!(
        page.contains("The last change could not be stored") && page.contains("database or disk is full"),
        "{page}"
    );
    assert_eq!(server.metric("posterity_commit_failing").await, Some(1.0));
    assert!(server.metric("posterity_commit_failures_total").await >= Some(1.0));
    // Nobody says anything more: the server finds out by itself that there is room again.
    server.disk.full.store(false, Ordering::Relaxed);
    server.until("posterity_commit_failing", 0.0).await;
    assert!(server.page("/healthz").await.ends_with("\r\n\r\nok"));
    assert_eq!(server.says(1, &Request::Update(server.good.clone())).await.map(|said| said.len()), Ok(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_that_could_not_be_enrolled_makes_the_server_ill_too() {
    let server = AlarmServer::new().await;
    server.disk.full.store(true, Ordering::Relaxed);
    assert_eq!(server.join(&[9; 16]).await.err(), Some(ConnectionError::Unavailable));
    assert!(server.page("/healthz").await.starts_with("HTTP/1.1 503"));
    server.disk.full.store(false, Ordering::Relaxed);
    server.until("posterity_commit_failing", 0.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn polls_that_are_held_back_and_connections_that_are_open_are_counted() {
    let server = Arc::new(AlarmServer::new().await);
    server.begin();
    assert_eq!(server.metric("posterity_parked_polls").await, Some(0.0));
    // It has answered, and waits for the others.
    server.says(0, &Request::Update(server.good.clone())).await.unwrap();
    let waiting = {
        let server = server.clone();
        tokio::spawn(async move {
            let party = &server.keys.sites[0];
            let unsettled = Some(server.good.at);
            let wait = Request::Attend { position: None, wait: 50_000, begun: true, unsettled, mail: 0, closed: false };
            let signed = server.signed(0, &party.1, server.manifest, &wait);
            server.line(party).exchange(signed, Duration::from_secs(50)).await
        })
    };
    server.until("posterity_parked_polls", 1.0).await;
    server.until("posterity_connections{port=\"parties\"}", 1.0).await;
    // The one that asks.
    server.until("posterity_connections{port=\"dashboard\"}", 1.0).await;
    waiting.abort();
    server.until("posterity_parked_polls", 0.0).await;
    server.until("posterity_connections{port=\"parties\"}", 0.0).await;
    assert!(server.metric("posterity_commit_seconds_count").await >= Some(1.0));
    let certificate = "posterity_certificate_end_timestamp_seconds{role=\"server\",name=\"server\"}";
    assert!(server.metric(certificate).await > Some(1e9));
    assert!(cfg!(not(target_os = "linux")) || server.metric("process_resident_memory_bytes").await > Some(1e6));
}
