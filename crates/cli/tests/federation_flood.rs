//! A whole server under attack: idle connections at every port, and a member whose messages are larger than its run needs.
#![cfg(unix)]

use crate::cluster::caller::{CallResult, agreement, call, content, home, join, kept, own_tls, ward};
use federation::identity::PartyRole;
use federation::message::Request;
use federation::transport::ConnectionError;
use std::net::TcpStream;

#[test]
fn a_flooded_server_still_enrols_answers_and_is_well() {
    let cluster = ward("flood", 4);
    let (north, manifest) = (home(&cluster, "north"), kept(&cluster).2);
    let mut idle = Vec::new();
    for which in [0, 1, 2] {
        idle.extend((0..300).map(|_| TcpStream::connect(cluster.address(which)).unwrap()));
    }
    let page = cluster.page("/healthz", None);
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("ok"), "{page}");
    join(&cluster, "west");
    let say = agreement(&manifest, PartyRole::Site, "north", north.key());
    assert_eq!(call(&cluster.address(0), own_tls(&north), &say), CallResult::Taken);

    // The run has two numbers: the longest answer is a few bytes over what any message may have.
    let large = Request::Renew { request: vec![1; 70_000] };
    let large = content(&manifest, PartyRole::Site, "north", north.key(), &large);
    assert_eq!(call(&cluster.address(0), own_tls(&north), &large), CallResult::Failed(ConnectionError::TooLarge));

    let token = cluster.told("", "cat server/dashboard.token");
    let metrics = cluster.page("/metrics", Some(token.trim()));
    for line in ["{limit=\"message\"} 1", "{limit=\"party\"} 0"] {
        assert!(metrics.contains(&format!("posterity_excesses_total{line}")), "{line} in {metrics}");
    }
    assert!(!metrics.contains("posterity_excesses_total{limit=\"address\"} 0"), "{metrics}");
    drop(idle);
}
