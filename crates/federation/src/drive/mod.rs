//! A party over a line: polls the server, answers, renews its certificate, and comes back after every silence.

use crate::failpoint;
use crate::message::RefusalCode;
use crate::party::{PartyError, PartyMachine, PartyPhase};
use crate::transport::{Connection, ConnectionError};
use crate::wire::{self, proto};
use prost::Message as _;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::watch;

/// How long the server may hold a poll back.
const WAIT: Duration = Duration::from_secs(25);

/// Pause after a reply with nothing in it while a proposal waits for its owner's approval.
const PAUSE: Duration = Duration::from_millis(500);

/// Pause after a poll that was refused; it doubles with every further one, so many times at most.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MOST_DOUBLINGS: u32 = 6;

/// Why a party has left the line.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The party itself cannot go on.
    #[error(transparent)]
    Party(#[from] PartyError),
    /// The server turns it away, and will again.
    #[error(transparent)]
    Connection(ConnectionError),
    /// A thread was lost.
    #[error("a thread of this party was lost")]
    Broken,
}

/// What a driver asks of the world, beside the line.
pub trait DriverHooks: Send {
    /// A request for a new certificate, if the present one is to be renewed now.
    fn renewal(&mut self) -> Option<Vec<u8>>;
    /// A new certificate has come. What is wrong with it is for the surroundings to tell.
    fn renewed(&mut self, chain: &str);
    /// Where the party stands; called when that changes.
    fn tell(&mut self, standing: PartyPhase);
    /// The run has ended because of this member, a role and a name; called before it is told that it is over.
    fn ended_by(&mut self, _member: &str) {}
    /// The line has failed, and will be tried again.
    fn lost(&mut self, error: &ConnectionError);
    /// The server has refused a request; called when that changes.
    fn refused(&mut self, refusal: RefusalCode);
}

/// Drives a party until its run is over, it stops, or it is told to.
pub async fn drive(
    party: Box<dyn PartyMachine>,
    connection: &mut Connection,
    hooks: &mut dyn DriverHooks,
    mut stop: watch::Receiver<bool>,
) -> Result<PartyPhase, DriveError> {
    let mut driver =
        Driver { party: Some(party), queue: VecDeque::new(), told: None, refused: None, turned_away: 0, silent: false };
    loop {
        let standing = driver.standing();
        if driver.told != Some(standing) {
            if let Some(member) = driver.party.as_ref().and_then(|party| party.failed()) {
                hooks.ended_by(&member);
            }
            hooks.tell(standing);
            driver.told = Some(standing);
        }
        let over = matches!(standing, PartyPhase::Finished(_) | PartyPhase::Stopped(_)) && driver.queue.is_empty();
        if over || *stop.borrow() {
            return Ok(standing);
        }
        tokio::select! {
            turn = driver.turn(connection, hooks) => turn?,
            _ = stop.changed() => {}
        }
    }
}

struct Driver {
    /// Away only while it works on another thread.
    party: Option<Box<dyn PartyMachine>>,
    queue: VecDeque<Vec<u8>>,
    told: Option<PartyPhase>,
    /// What the server refused last.
    refused: Option<RefusalCode>,
    /// Polls in a row that were refused.
    turned_away: u32,
    /// The last exchange failed, or the server could not take it just now: what may be lost is to be said again.
    silent: bool,
}

impl Driver {
    fn standing(&self) -> PartyPhase {
        self.party.as_ref().map_or(PartyPhase::Waiting, |party| party.standing())
    }

    /// One request and its reply.
    async fn turn(&mut self, connection: &mut Connection, hooks: &mut dyn DriverHooks) -> Result<(), DriveError> {
        let (bytes, wait) = self.next(hooks)?;
        let content = proto::Signed::decode(bytes.as_slice()).map_err(|_| DriveError::Broken)?;
        let digest = wire::signed_digest(&content);
        failpoint::pass("send");
        let reply = connection.exchange(content, wait).await;
        failpoint::pass("sent");
        match reply {
            Ok(reply) => {
                let quiet = self.hear(reply, digest).await?;
                failpoint::pass("heard");
                if let Some(chain) = self.party.as_mut().and_then(|party| party.certificate()) {
                    hooks.renewed(&chain);
                }
                let refused = self.party.as_mut().and_then(|party| party.refused());
                if let Some(refusal) = refused.filter(|_| refused != self.refused) {
                    hooks.refused(refusal);
                }
                self.refused = refused;
                let passing = refused.is_some_and(RefusalCode::is_passing);
                if passing {
                    self.fall_silent();
                }
                if passing || wait > Duration::ZERO {
                    self.rest(quiet).await;
                }
                Ok(())
            }
            Err(error) if error.is_worth_retrying() => {
                hooks.lost(&error);
                self.fall_silent();
                Ok(())
            }
            Err(error) => Err(DriveError::Connection(error)),
        }
    }

    /// Nothing of what was said may have been kept: it is said again from the start.
    fn fall_silent(&mut self) {
        self.queue.clear();
        self.silent = true;
    }

    /// A server that refuses polls, or has nothing to say while somebody decides, is not asked again at once.
    async fn rest(&mut self, quiet: bool) {
        self.turned_away = self.refused.map_or(0, |_| self.turned_away.saturating_add(1));
        if quiet && matches!(self.standing(), PartyPhase::Waiting) {
            tokio::time::sleep(PAUSE).await;
        } else if let Some(doublings) = self.turned_away.checked_sub(1) {
            tokio::time::sleep(FIRST_PAUSE * (1 << doublings.min(MOST_DOUBLINGS))).await;
        }
    }

    /// What is said next, and how long the reply may be held back.
    fn next(&mut self, hooks: &mut dyn DriverHooks) -> Result<(Vec<u8>, Duration), DriveError> {
        let party = self.party.as_mut().ok_or(DriveError::Broken)?;
        if std::mem::take(&mut self.silent) {
            self.queue.extend(party.again()?);
        }
        if let Some(request) = hooks.renewal() {
            return Ok((party.renew(request), Duration::ZERO));
        }
        match self.queue.pop_front() {
            Some(bytes) => Ok((bytes, Duration::ZERO)),
            None => {
                let wait = u32::try_from(WAIT.as_millis()).unwrap_or(u32::MAX);
                Ok((party.attend(wait), WAIT))
            }
        }
    }

    /// Takes a reply, on a thread where work may take its time. True if nothing came of it.
    async fn hear(&mut self, reply: proto::Signed, to: privacy::noise::Digest) -> Result<bool, DriveError> {
        let mut party = self.party.take().ok_or(DriveError::Broken)?;
        let worked = tokio::task::spawn_blocking(move || {
            let next = party.hear(reply, &to);
            (party, next)
        });
        let (party, next) = worked.await.map_err(|_| DriveError::Broken)?;
        self.party = Some(party);
        let next = next?;
        let quiet = next.is_empty();
        self.queue.extend(next);
        Ok(quiet)
    }
}
