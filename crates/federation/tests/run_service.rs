//! Where requests queue up: who was told that a run is over is known, so that a server does not leave before.

use crate::common::scripted_server::{ScriptedServer, TestServer};
use federation::identity::PartyName;
use federation::message::{Attempt, DeclineReason, MemberId, Request};
use federation::server::{Call, NoMetrics, RunEngine, RunService, WakeUp};
use federation::wire::UnverifiedContent;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a site says that asks for nothing in particular.
fn poll() -> Request {
    Request::Attend { position: None, wait: 0, begun: true, unsettled: None, mail: 0, closed: false }
}

#[test]
fn who_has_heard_of_the_end_is_known_and_nobody_else_counts() {
    let mut front = TestServer::running(ScriptedServer::new("synchronous/2/0", 3, 0, 2));
    let [first, second] = [0, 1].map(|site| {
        let said = UnverifiedContent::read(&front.signed(MemberId::Site(site), &poll())).unwrap();
        Call::new(front.caller(MemberId::Site(site)).0, &said)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for site in 0..front.script.manifest.sites.len() {
        let at = Attempt { round: 0, attempt: 0 };
        front.request(MemberId::Site(site), &Request::Decline { at, reason: DeclineReason::Refused });
    }
    assert!(front.engine.is_finished());
    let service = RunService::open(front.engine, Arc::new(NoMetrics)).unwrap();
    assert!(service.snapshot().dismissed.is_empty());
    for (call, heard) in [(first, vec![0]), (second, vec![0, 1])] {
        let draft = runtime.block_on(service.call(call)).unwrap();
        assert!(draft.tells_the_end().is_some());
        let heard: BTreeSet<MemberId> = heard.into_iter().map(MemberId::Site).collect();
        // The worker shows what it has done a moment later.
        while service.snapshot().dismissed.len() < heard.len() {
            std::thread::yield_now();
        }
        assert_eq!(service.snapshot().dismissed, heard);
    }
    service.close();
}

/// A server that was overtaken has loaded what another one changed: those who wait at it may have something to hear.
#[test]
fn a_server_that_was_overtaken_wakes_all_who_wait() {
    let mut front = TestServer::running(ScriptedServer::new("synchronous/2/0", 3, 0, 2));
    let (manifest, parts, key) =
        (front.script.manifest.clone(), front.script.parts.clone(), front.script.keys.server.clone());
    let name = PartyName::new("server").unwrap();
    let mut other = RunEngine::open(Arc::new(front.store.clone()), manifest, parts, key, name).unwrap();
    let decline = Request::Decline { at: Attempt { round: 0, attempt: 0 }, reason: DeclineReason::Refused };
    let [first, second] = [0, 1].map(|site| {
        let said = UnverifiedContent::read(&front.signed(MemberId::Site(site), &decline)).unwrap();
        Call::new(front.caller(MemberId::Site(site)).0, &said)
    });
    assert_eq!(other.take(&[first]).1, WakeUp::Only(BTreeSet::new()));
    assert_eq!(front.engine.take(&[second]).1, WakeUp::All);
}
