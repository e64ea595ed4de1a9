//! A site at the line: its policy decides on proposals, and its agent answers.

use super::{CheckedManifest, Enrolment, PartyError, PartyMachine, PartyPhase, ReceivedReply, Verdict, read_reply};
use crate::agent::{Agent, AgentOpening};
use crate::identity::{IdentityKey, PartyName, PartyRole, PublicKey, Signature};
use crate::log::{Account, Disk, Log, LogError};
use crate::manifest::{Manifest, RunBuilder, RunParts};
use crate::message::{Instruction, MemberId, RefusalCode, Request};
use crate::wire::proto;
use inference::Shard;
use privacy::noise::{Digest, OsKeyed};
use privacy::{LifetimeCap, PrivacyError};
use std::sync::Arc;

/// What a site brings: its rows and its owner's word.
pub trait SiteOwner: Send {
    /// Whether to take part, before anything is signed; asked again when a run is taken up after a restart, for the owner may
    /// have changed their mind. `account` is what the site's ledger says of all runs, this one included if it was accepted.
    fn consider(&mut self, manifest: &Manifest, parts: &RunParts, site: usize, account: &Account) -> Verdict;
    /// What the site promises for all its runs together, given those on record.
    fn cap(&self, account: &Account) -> Result<LifetimeCap, PrivacyError>;
    /// The site's rows, encoded for the study, and the digest of the data as they are now; or why they do not fit.
    fn rows(&mut self, manifest: &Manifest, parts: &RunParts, site: usize) -> Result<(Arc<Shard>, Digest), String>;
    /// A source of noise keys.
    fn noise(&mut self) -> OsKeyed;
}

/// A site, before and in a run.
pub struct SiteParty<D: Disk> {
    enrolment: Enrolment,
    seat: Box<dyn SiteOwner>,
    stage: SiteStage<D>,
}

enum SiteStage<D: Disk> {
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
        builder: Arc<dyn RunBuilder>,
        seat: Box<dyn SiteOwner>,
        log: Log<D>,
    ) -> Self {
        let enrolment =
            Enrolment { role: PartyRole::Site, name, key, builder, signed: None, certificate: None, refused: None };
        Self { enrolment, seat, stage: SiteStage::Before(log) }
    }

    /// The agent, once a run has begun.
    pub fn agent(&self) -> Option<&Agent<D>> {
        match &self.stage {
            SiteStage::In(agent) => Some(agent),
            SiteStage::Before(_) | SiteStage::Nowhere => None,
        }
    }

    fn propose(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, PartyError> {
        let SiteStage::Before(log) = &self.stage else { return Ok(Vec::new()) };
        let proposal = self.enrolment.look(bytes)?;
        let MemberId::Site(site) = proposal.member else { return Ok(Vec::new()) };
        let account = Account::of(log)?;
        match self.seat.consider(&proposal.manifest, &proposal.parts, site, &account) {
            Verdict::Sign => Ok(vec![self.enrolment.agree(proposal)]),
            Verdict::Wait => Ok(Vec::new()),
            Verdict::Refuse(why) => Err(PartyError::Refused(why)),
        }
    }

    /// All have signed: the signatures are checked, and the run is accepted on record.
    fn begin(&mut self, signatures: &[Signature], by: Option<PublicKey>) -> Result<Vec<Vec<u8>>, PartyError> {
        let Some(CheckedManifest { manifest, parts, member: MemberId::Site(site) }) = self.enrolment.signed.clone()
        else {
            return Ok(Vec::new());
        };
        if by != Some(manifest.server) {
            return Ok(Vec::new());
        }
        manifest.check_signatures(signatures)?;
        let (shard, data_version) = self.seat.rows(&manifest, &parts, site).map_err(PartyError::Refused)?;
        let SiteStage::Before(log) = std::mem::replace(&mut self.stage, SiteStage::Nowhere) else {
            return Ok(Vec::new());
        };
        let cap = self.seat.cap(&Account::of(&log)?).map_err(|error| PartyError::Refused(error.to_string()))?;
        let (key, source, signatures) = (self.enrolment.key.clone(), self.seat.noise(), signatures.to_vec());
        let opening = AgentOpening { manifest, signatures, parts, site, shard, data_version, key, source, cap };
        let agent = Agent::open(opening, log).map_err(|error| match error {
            LogError::Lifetime { .. } => PartyError::Refused(error.to_string()),
            error => PartyError::Log(error),
        })?;
        let again = agent.again();
        self.stage = SiteStage::In(Box::new(agent));
        Ok(again)
    }

    fn follow(&mut self, instruction: &Instruction, by: Option<PublicKey>) -> Result<Vec<Vec<u8>>, PartyError> {
        match (instruction, &mut self.stage) {
            (Instruction::Certificate { chain }, _) => {
                self.enrolment.certificate = Some(chain.clone());
                Ok(Vec::new())
            }
            (Instruction::Propose { manifest }, SiteStage::Before(_)) => self.propose(manifest),
            (Instruction::Begin { signatures }, SiteStage::Before(_)) => self.begin(signatures, by),
            (_, SiteStage::In(agent)) => Ok(agent.handle(instruction)?),
            (_, SiteStage::Before(_) | SiteStage::Nowhere) => Ok(Vec::new()),
        }
    }
}

impl<D: Disk + Send> PartyMachine for SiteParty<D> {
    fn attend(&mut self, wait: u32) -> Vec<u8> {
        match &self.stage {
            SiteStage::Before(log) => self.enrolment.attend(wait, Some(log.head())),
            SiteStage::In(agent) => agent.sign(&agent.attend(wait)),
            SiteStage::Nowhere => self.enrolment.attend(wait, None),
        }
    }

    fn again(&mut self) -> Result<Vec<Vec<u8>>, PartyError> {
        Ok(self.agent().map_or_else(Vec::new, Agent::again))
    }

    fn hear(&mut self, reply: proto::Signed, to: &Digest) -> Result<Vec<Vec<u8>>, PartyError> {
        let run = match &self.stage {
            SiteStage::In(agent) => Some(agent.manifest().clone()),
            SiteStage::Before(_) | SiteStage::Nowhere => None,
        };
        let Ok(ReceivedReply { reply, by }) = read_reply(reply, to, &self.enrolment, run.as_deref()) else {
            return Ok(Vec::new());
        };
        self.enrolment.note(&reply);
        if let SiteStage::In(agent) = &mut self.stage {
            agent.compare(reply.seen);
        }
        let mut next = Vec::new();
        for instruction in &reply.instructions {
            next.extend(self.follow(instruction, by)?);
            // A ledger that is behind what the server has seen is found out as a run begins, before a question is read.
            if let (Instruction::Begin { .. }, None, SiteStage::In(agent)) = (instruction, &run, &mut self.stage) {
                agent.compare(reply.seen);
            }
        }
        Ok(next)
    }

    fn renew(&mut self, request: Vec<u8>) -> Vec<u8> {
        let request = Request::Renew { request };
        match &self.stage {
            SiteStage::In(agent) => agent.sign(&request),
            SiteStage::Before(_) | SiteStage::Nowhere => self.enrolment.sign(&request),
        }
    }

    fn certificate(&mut self) -> Option<String> {
        self.enrolment.certificate.take()
    }

    fn refused(&mut self) -> Option<RefusalCode> {
        self.enrolment.refused.take()
    }

    fn failed(&self) -> Option<String> {
        match &self.stage {
            SiteStage::In(agent) => agent.finished().and_then(|outcome| agent.manifest().blamed(outcome)),
            SiteStage::Before(_) | SiteStage::Nowhere => None,
        }
    }

    fn standing(&self) -> PartyPhase {
        match &self.stage {
            SiteStage::In(agent) => match (agent.stopped(), agent.finished()) {
                (Some(stop), _) => PartyPhase::Stopped(stop),
                (None, Some(outcome)) => PartyPhase::Finished(outcome),
                (None, None) => PartyPhase::Running,
            },
            SiteStage::Before(_) | SiteStage::Nowhere if self.enrolment.signed.is_some() => PartyPhase::Signed,
            SiteStage::Before(_) | SiteStage::Nowhere => PartyPhase::Waiting,
        }
    }
}
