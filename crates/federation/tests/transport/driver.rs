//! What a driver does with a party's words: nothing of them is lost with a server that could not keep them.

use crate::party::{Echo, RunningServer, TestCa, line, said};
use federation::drive::{DriverHooks, drive};
use federation::message::{RefusalCode, RunOutcome};
use federation::party::{PartyError, PartyMachine, PartyPhase};
use federation::transport::{ConnectionError, ConnectionLimits};
use federation::wire::proto;
use privacy::noise::Digest;
use prost::Message as _;
use std::sync::Arc;
use tokio::sync::watch;

/// Says two things after its first poll, is refused the first, and is done when it was heard to say both again.
struct RefusedOnce {
    /// What it is refused with.
    with: RefusalCode,
    polled: bool,
    refused: Option<RefusalCode>,
    heard: usize,
    again: bool,
}

impl RefusedOnce {
    fn words() -> Vec<Vec<u8>> {
        ["one", "two"].map(|word| said(word).encode_to_vec()).to_vec()
    }
}

impl PartyMachine for RefusedOnce {
    fn attend(&mut self, _: u32) -> Vec<u8> {
        said("anything?").encode_to_vec()
    }
    fn again(&mut self) -> Result<Vec<Vec<u8>>, PartyError> {
        (self.again, self.heard) = (true, 0);
        Ok(Self::words())
    }
    fn hear(&mut self, _: proto::Signed, _: &Digest) -> Result<Vec<Vec<u8>>, PartyError> {
        if !std::mem::replace(&mut self.polled, true) {
            return Ok(Self::words());
        }
        self.heard += 1;
        assert!(self.heard < 10, "nothing is said again");
        self.refused = (!self.again).then_some(self.with);
        Ok(Vec::new())
    }
    fn renew(&mut self, request: Vec<u8>) -> Vec<u8> {
        request
    }
    fn certificate(&mut self) -> Option<String> {
        None
    }
    fn refused(&mut self) -> Option<RefusalCode> {
        self.refused.take()
    }
    fn standing(&self) -> PartyPhase {
        match self.again && self.heard == 2 {
            true => PartyPhase::Finished(RunOutcome::Complete),
            false => PartyPhase::Running,
        }
    }
}

/// Hears what was refused.
#[derive(Default)]
struct RefusalHooks(Vec<RefusalCode>);

impl DriverHooks for RefusalHooks {
    fn renewal(&mut self) -> Option<Vec<u8>> {
        None
    }
    fn renewed(&mut self, _: &str) {}
    fn tell(&mut self, _: PartyPhase) {}
    fn lost(&mut self, error: &ConnectionError) {
        panic!("{error}");
    }
    fn refused(&mut self, refusal: RefusalCode) {
        self.0.push(refusal);
    }
}

/// A database that is away for a moment, a server that is about to go or has just come: it says so, and an answer that it did
/// not take comes again by itself.
#[tokio::test]
async fn what_a_server_could_not_take_just_then_is_said_again() {
    for refusal in RefusalCode::ALL.into_iter().filter(|refusal| refusal.is_passing()) {
        is_said_again_after(refusal).await;
    }
}

async fn is_said_again_after(with: RefusalCode) {
    let authority = TestCa::new();
    let echo = Arc::new(Echo::default());
    let server = RunningServer::start(
        authority.listening(&authority.server()),
        Arc::clone(&echo) as _,
        ConnectionLimits::default(),
    )
    .await;
    let mut line = line(server.address, authority.calling(Some(&authority.party("site"))));
    let mut told = RefusalHooks::default();
    let party = RefusedOnce { with, polled: false, refused: None, heard: 0, again: false };
    let (_stop, stop) = watch::channel(false);
    let ended = drive(Box::new(party), &mut line, &mut told, stop).await.unwrap();
    assert_eq!(ended, PartyPhase::Finished(RunOutcome::Complete));
    assert_eq!(told.0, [with]);
    let heard: Vec<Vec<u8>> = echo.heard.lock().unwrap().iter().map(|(_, signed)| signed.content.clone()).collect();
    // The second word does not overtake the first, which was not kept.
    assert_eq!(heard, ["anything?", "one", "one", "two"].map(|word| word.as_bytes().to_vec()));
}
