//! Alarms that ring: every refusal is provoked over TLS and read from `/metrics`, and a disk that is full is told as one.

mod house;

use federation::dashboard::RefusalReason;
use federation::identity::{IdentityKey, PartyName};
use federation::log::Position;
use federation::message::{Instruction, Refusal, Request, Try, Update};
use federation::transport::LineError;
use federation::wire::proto;
use house::House;
use privacy::GridVector;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

fn poll(wait: u32) -> Request {
    Request::Attend { position: None, wait, begun: true, unsettled: None, mail: 0, closed: false }
}

/// Provokes a refusal that is said in a reply.
async fn reply(house: &House, refusal: Refusal) {
    let (own, other) = (house.cast.sites[1].clone(), house.cast.sites[0].1.clone());
    let good = house.good.clone();
    let heard = match refusal {
        Refusal::NoRun => house.says(1, &poll(0)).await,
        Refusal::OtherManifest => {
            let signed = house.signed(1, &own.1, [7; 32], &poll(0));
            house.exchange(&mut house.line(&own), signed).await
        }
        Refusal::NotAMember => {
            let stranger = (PartyName::new("stranger").unwrap(), Arc::new(IdentityKey::generate().unwrap()));
            let signed = house.signed(1, &stranger.1, house.manifest, &poll(0));
            let refused = house.exchange(&mut house.line(&stranger), signed).await;
            assert_eq!(refused, Err(LineError::NotPermitted));
            return;
        }
        Refusal::Shape => {
            let answer = GridVector::new(good.answer.grid(), vec![1]);
            house.says(1, &Request::Update(Update { answer, ..good })).await
        }
        Refusal::NotAsked => {
            let at = Try { round: 1, attempt: 0 };
            house.says(1, &Request::Update(Update { at, ..good })).await
        }
        Refusal::Conflict => {
            house.says(0, &Request::Update(good.clone())).await.unwrap();
            let position = Position { sequence: good.position.sequence + 1, ..good.position };
            house.says(0, &Request::Update(Update { position, ..good })).await
        }
        Refusal::Frozen => house.says(0, &poll(0)).await,
        Refusal::Signature => {
            let signed = house.signed(1, &other, house.manifest, &poll(0));
            house.exchange(&mut house.line(&own), signed).await
        }
        Refusal::Malformed => {
            let signed = proto::Signed { content: vec![1, 2, 3], signature: vec![4] };
            let refused = house.line(&own).exchange(signed, Duration::ZERO).await;
            assert_eq!(refused, Err(LineError::Malformed));
            return;
        }
        Refusal::Unavailable => {
            house.disk.full.store(true, Ordering::Relaxed);
            let heard = house.says(1, &Request::Update(good)).await;
            house.disk.full.store(false, Ordering::Relaxed);
            heard
        }
    };
    assert_eq!(heard, Ok(vec![Instruction::Refuse(refusal)]));
}

/// Provokes a refusal.
async fn provoke(house: &House, reason: RefusalReason) {
    match reason {
        RefusalReason::Reply(refusal) => reply(house, refusal).await,
        RefusalReason::Revoked => {
            assert_eq!(house.says(2, &poll(0)).await, Err(LineError::NotPermitted));
        }
        RefusalReason::CertificateEnded => {
            house.later.store(365 * 86_400, Ordering::Relaxed);
            assert_eq!(house.says(1, &poll(0)).await, Err(LineError::NotPermitted));
            house.later.store(0, Ordering::Relaxed);
        }
        RefusalReason::Invite => {
            assert!(matches!(house.join(&[9; 16]).await, Err(LineError::Invite(_))));
        }
        RefusalReason::Handshake => {
            let mut stream = TcpStream::connect(&house.parties).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n").await.unwrap();
        }
    }
}

fn sample(reason: RefusalReason) -> String {
    format!("posterity_refusals_total{{reason=\"{}\"}}", reason.word())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reason_for_a_refusal_is_provoked_over_tls_and_counted_once() {
    let house = House::new().await;
    for reason in RefusalReason::ALL {
        assert_eq!(house.metric(&sample(reason)).await, Some(0.0), "{}", reason.word());
    }
    for reason in RefusalReason::ALL {
        if reason == RefusalReason::Reply(Refusal::OtherManifest) {
            house.begin();
        }
        provoke(&house, reason).await;
        // A connection that is turned away is counted when the server has noticed.
        house.until(&sample(reason), 1.0).await;
    }
    for reason in RefusalReason::ALL {
        let times = house.metric(&sample(reason)).await;
        assert_eq!(times, Some(1.0), "{} is counted for nothing else", reason.word());
    }
    let page = house.page("/").await;
    for reason in RefusalReason::ALL {
        assert!(page.contains(reason.word()), "{} is not shown", reason.word());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_full_disk_health_is_503_until_a_change_is_kept_again() {
    let house = House::new().await;
    house.begin();
    assert!(house.page("/healthz").await.ends_with("\r\n\r\nok"));
    assert_eq!(house.metric("posterity_commit_failing").await, Some(0.0));
    house.disk.full.store(true, Ordering::Relaxed);
    let refused = house.says(1, &Request::Update(house.good.clone())).await;
    assert_eq!(refused, Ok(vec![Instruction::Refuse(Refusal::Unavailable)]));
    let health = house.page("/healthz").await;
    assert!(health.starts_with("HTTP/1.1 503") && health.contains("the last change could not be kept"), "{health}");
    assert!(!health.contains("secret"), "what the database says is for those who have the token");
    let page = house.page("/").await;
    assert!(page.contains("The last change could not be kept") && page.contains("database or disk is full"), "{page}");
    assert_eq!(house.metric("posterity_commit_failing").await, Some(1.0));
    assert!(house.metric("posterity_commit_failures_total").await >= Some(1.0));
    // Nobody says anything more: the server finds out by itself that there is room again.
    house.disk.full.store(false, Ordering::Relaxed);
    house.until("posterity_commit_failing", 0.0).await;
    assert!(house.page("/healthz").await.ends_with("\r\n\r\nok"));
    assert_eq!(house.says(1, &Request::Update(house.good.clone())).await.map(|said| said.len()), Ok(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_that_could_not_be_enrolled_makes_the_server_ill_too() {
    let house = House::new().await;
    house.disk.full.store(true, Ordering::Relaxed);
    assert_eq!(house.join(&[9; 16]).await.err(), Some(LineError::Unavailable));
    assert!(house.page("/healthz").await.starts_with("HTTP/1.1 503"));
    house.disk.full.store(false, Ordering::Relaxed);
    house.until("posterity_commit_failing", 0.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn polls_that_are_held_back_and_connections_that_are_open_are_counted() {
    let house = Arc::new(House::new().await);
    house.begin();
    assert_eq!(house.metric("posterity_parked_polls").await, Some(0.0));
    // It has answered, and waits for the others.
    house.says(0, &Request::Update(house.good.clone())).await.unwrap();
    let waiting = {
        let house = house.clone();
        tokio::spawn(async move {
            let party = &house.cast.sites[0];
            let unsettled = Some(house.good.at);
            let wait = Request::Attend { position: None, wait: 50_000, begun: true, unsettled, mail: 0, closed: false };
            let signed = house.signed(0, &party.1, house.manifest, &wait);
            house.line(party).exchange(signed, Duration::from_secs(50)).await
        })
    };
    house.until("posterity_parked_polls", 1.0).await;
    house.until("posterity_connections{port=\"parties\"}", 1.0).await;
    // The one that asks.
    house.until("posterity_connections{port=\"dashboard\"}", 1.0).await;
    waiting.abort();
    house.until("posterity_parked_polls", 0.0).await;
    house.until("posterity_connections{port=\"parties\"}", 0.0).await;
    assert!(house.metric("posterity_commit_seconds_count").await >= Some(1.0));
    let server = "posterity_certificate_end_timestamp_seconds{role=\"server\",name=\"server\"}";
    assert!(house.metric(server).await > Some(1e9));
    assert!(cfg!(not(target_os = "linux")) || house.metric("process_resident_memory_bytes").await > Some(1e6));
}
