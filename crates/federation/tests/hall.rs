//! Where requests queue up: who was told that a run is over is known, so that a server does not leave before.

use crate::common::hand::{Front, Hand};
use federation::identity::PartyName;
use federation::message::{Member, Reason, Request, Try};
use federation::server::{Call, Engine, Hall, Unwatched, Woken};
use federation::wire::Unverified;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a site says that asks for nothing in particular.
fn poll() -> Request {
    Request::Attend { position: None, wait: 0, begun: true, unsettled: None, mail: 0, closed: false }
}

#[test]
fn who_has_heard_of_the_end_is_known_and_nobody_else_counts() {
    let mut front = Front::running(Hand::new("synchronous/2/0", 3, 0, 2));
    let [first, second] = [0, 1].map(|site| {
        let said = Unverified::read(&front.signed(Member::Site(site), &poll())).unwrap();
        Call::new(front.caller(Member::Site(site)).0, &said)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for site in 0..front.hand.manifest.sites.len() {
        let at = Try { round: 0, attempt: 0 };
        front.request(Member::Site(site), &Request::Decline { at, reason: Reason::Refused });
    }
    assert!(front.engine.is_finished());
    let hall = Hall::open(front.engine, Arc::new(Unwatched)).unwrap();
    assert!(hall.glance().dismissed.is_empty());
    for (call, heard) in [(first, vec![0]), (second, vec![0, 1])] {
        let draft = runtime.block_on(hall.call(call)).unwrap();
        assert!(draft.tells_the_end().is_some());
        let heard: BTreeSet<Member> = heard.into_iter().map(Member::Site).collect();
        // The desk shows what it has done a moment later.
        while hall.glance().dismissed.len() < heard.len() {
            std::thread::yield_now();
        }
        assert_eq!(hall.glance().dismissed, heard);
    }
    hall.close();
}

/// A server that was overtaken has loaded what another one changed: those who wait at it may have something to hear.
#[test]
fn a_server_that_was_overtaken_wakes_all_who_wait() {
    let mut front = Front::running(Hand::new("synchronous/2/0", 3, 0, 2));
    let (manifest, programme, key) =
        (front.hand.manifest.clone(), front.hand.programme.clone(), front.hand.cast.server.clone());
    let name = PartyName::new("server").unwrap();
    let mut other = Engine::open(Arc::new(front.store.clone()), manifest, programme, key, name).unwrap();
    let decline = Request::Decline { at: Try { round: 0, attempt: 0 }, reason: Reason::Refused };
    let [first, second] = [0, 1].map(|site| {
        let said = Unverified::read(&front.signed(Member::Site(site), &decline)).unwrap();
        Call::new(front.caller(Member::Site(site)).0, &said)
    });
    assert_eq!(other.take(&[first]).1, Woken::Only(BTreeSet::new()));
    assert_eq!(front.engine.take(&[second]).1, Woken::All);
}
