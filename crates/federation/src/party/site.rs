//! A site at the line: its policy decides on proposals, and its agent answers.

use super::{Heard, Lobby, Party, PartyError, Proposal, Standing, Verdict, read_reply};
use crate::agent::{Agent, Opening};
use crate::identity::{IdentityKey, PartyName, PublicKey, Role, Signature};
use crate::log::{Disk, Entry, Log, RunId, promise_of};
use crate::manifest::{Library, Manifest, Programme};
use crate::message::{Instruction, Member, Refusal, Request};
use crate::policy::Granted;
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use std::sync::Arc;

/// What a site brings: its rows and its owner's word.
pub trait SiteSeat: Send {
    /// Whether to take part, before anything is signed; asked again when a run is taken up after a restart, for the owner may
    /// have changed their mind. `granted` is what all other runs that were accepted have together.
    fn consider(&mut self, manifest: &Manifest, programme: &Programme, site: usize, granted: Granted) -> Verdict;
    /// The site's rows, encoded for the study, and the digest of the data as they are now; or why they do not fit.
    fn rows(&mut self, manifest: &Manifest, programme: &Programme, site: usize)
    -> Result<(Arc<Shard>, Digest), String>;
    /// A source of noise keys.
    fn noise(&mut self) -> OsKeyed;
}

/// A site, before and in a run.
pub struct SiteParty<D: Disk> {
    lobby: Lobby,
    seat: Box<dyn SiteSeat>,
    stage: Stage<D>,
}

enum Stage<D: Disk> {
    Before(Log<D>),
    In(Box<Agent<D>>),
    /// Only while a run begins, and after its log failed.
    Nowhere,
}

impl<D: Disk + Send> SiteParty<D> {
    /// A site that has said nothing yet.
    pub fn new(
        name: PartyName,
        key: Arc<IdentityKey>,
        library: Arc<dyn Library>,
        seat: Box<dyn SiteSeat>,
        log: Log<D>,
    ) -> Self {
        let lobby = Lobby { role: Role::Site, name, key, library, signed: None, certificate: None, refused: None };
        Self { lobby, seat, stage: Stage::Before(log) }
    }

    /// The agent, once a run has begun.
    pub fn agent(&self) -> Option<&Agent<D>> {
        match &self.stage {
            Stage::In(agent) => Some(agent),
            Stage::Before(_) | Stage::Nowhere => None,
        }
    }

    fn propose(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, PartyError> {
        let Stage::Before(log) = &self.stage else { return Ok(Vec::new()) };
        let proposal = self.lobby.look(bytes)?;
        let Member::Site(site) = proposal.member else { return Ok(Vec::new()) };
        let granted = granted(log, &proposal.manifest.run())?;
        match self.seat.consider(&proposal.manifest, &proposal.programme, site, granted) {
            Verdict::Sign => Ok(vec![self.lobby.agree(proposal)]),
            Verdict::Wait => Ok(Vec::new()),
            Verdict::Refuse(why) => Err(PartyError::Refused(why)),
        }
    }

    /// All have signed: the signatures are checked, and the run is accepted on record.
    fn begin(&mut self, signatures: &[Signature], by: Option<PublicKey>) -> Result<Vec<Vec<u8>>, PartyError> {
        let Some(Proposal { manifest, programme, member: Member::Site(site) }) = self.lobby.signed.clone() else {
            return Ok(Vec::new());
        };
        if by != Some(manifest.server) {
            return Ok(Vec::new());
        }
        manifest.check_signatures(signatures)?;
        let (shard, data_version) = self.seat.rows(&manifest, &programme, site).map_err(PartyError::Refused)?;
        let Stage::Before(log) = std::mem::replace(&mut self.stage, Stage::Nowhere) else { return Ok(Vec::new()) };
        let (key, source, signatures) = (self.lobby.key.clone(), self.seat.noise(), signatures.to_vec());
        let opening = Opening { manifest, signatures, programme, site, shard, data_version, key, source };
        let agent = Agent::open(opening, log)?;
        let again = agent.again();
        self.stage = Stage::In(Box::new(agent));
        Ok(again)
    }

    fn follow(&mut self, instruction: &Instruction, by: Option<PublicKey>) -> Result<Vec<Vec<u8>>, PartyError> {
        match (instruction, &mut self.stage) {
            (Instruction::Certificate { chain }, _) => {
                self.lobby.certificate = Some(chain.clone());
                Ok(Vec::new())
            }
            (Instruction::Propose { manifest }, Stage::Before(_)) => self.propose(manifest),
            (Instruction::Begin { signatures }, Stage::Before(_)) => self.begin(signatures, by),
            (_, Stage::In(agent)) => Ok(agent.handle(instruction)?),
            (_, Stage::Before(_) | Stage::Nowhere) => Ok(Vec::new()),
        }
    }
}

impl<D: Disk + Send> Party for SiteParty<D> {
    fn attend(&mut self, wait: u32) -> Vec<u8> {
        match &self.stage {
            Stage::Before(log) => self.lobby.attend(wait, Some(log.head())),
            Stage::In(agent) => agent.sign(&agent.attend(wait)),
            Stage::Nowhere => self.lobby.attend(wait, None),
        }
    }

    fn again(&mut self) -> Result<Vec<Vec<u8>>, PartyError> {
        Ok(self.agent().map_or_else(Vec::new, Agent::again))
    }

    fn hear(&mut self, reply: &[u8], to: &Digest) -> Result<Vec<Vec<u8>>, PartyError> {
        let run = match &self.stage {
            Stage::In(agent) => Some(agent.manifest().clone()),
            Stage::Before(_) | Stage::Nowhere => None,
        };
        let Ok(Heard { reply, by }) = read_reply(reply, to, &self.lobby, run.as_deref()) else { return Ok(Vec::new()) };
        self.lobby.note(&reply);
        if let Stage::In(agent) = &mut self.stage {
            agent.compare(reply.seen);
        }
        let mut next = Vec::new();
        for instruction in &reply.instructions {
            next.extend(self.follow(instruction, by)?);
            // A ledger that is behind what the server has seen is found out as a run begins, before a question is read.
            if let (Instruction::Begin { .. }, None, Stage::In(agent)) = (instruction, &run, &mut self.stage) {
                agent.compare(reply.seen);
            }
        }
        Ok(next)
    }

    fn renew(&mut self, request: Vec<u8>) -> Vec<u8> {
        let request = Request::Renew { request };
        match &self.stage {
            Stage::In(agent) => agent.sign(&request),
            Stage::Before(_) | Stage::Nowhere => self.lobby.sign(&request),
        }
    }

    fn certificate(&mut self) -> Option<String> {
        self.lobby.certificate.take()
    }

    fn refused(&mut self) -> Option<Refusal> {
        self.lobby.refused.take()
    }

    fn failed(&self) -> Option<String> {
        match &self.stage {
            Stage::In(agent) => agent.finished().and_then(|outcome| agent.manifest().blamed(outcome)),
            Stage::Before(_) | Stage::Nowhere => None,
        }
    }

    fn standing(&self) -> Standing {
        match &self.stage {
            Stage::In(agent) => match (agent.stopped(), agent.finished()) {
                (Some(stop), _) => Standing::Stopped(stop),
                (None, Some(outcome)) => Standing::Finished(outcome),
                (None, None) => Standing::Running,
            },
            Stage::Before(_) | Stage::Nowhere if self.lobby.signed.is_some() => Standing::Signed,
            Stage::Before(_) | Stage::Nowhere => Standing::Waiting,
        }
    }
}

/// What all runs that were accepted have together, but for this one; it never looks smaller than it is. A run that was never
/// charged may have no promise on record: it has spent nothing, and is held against the policy when it is taken up again.
fn granted<D: Disk>(log: &Log<D>, this: &RunId) -> Result<Granted, PartyError> {
    let mut granted = Granted::NOTHING;
    log.scan(&mut |_, entry| match entry {
        Entry::Accepted { run, epsilon, delta, .. } if run != this => granted = granted.and(*epsilon, *delta),
        Entry::Charge { turn, record, .. } if turn.run != *this => {
            granted = promise_of(record).map_or(granted, |pair| granted.promising(pair));
        }
        _ => {}
    })?;
    Ok(granted)
}
