//! A compute node at the line: it signs what it is a member of, and takes part in secure sums.

use super::{Heard, Lobby, Party, PartyError, Proposal, Standing, Verdict, read_reply};
use crate::identity::{IdentityKey, PartyName, PublicKey, Role, SealingKey, Signature};
use crate::log::Disk;
use crate::manifest::{Library, Manifest};
use crate::message::{Instruction, Member, Refusal, Request};
use crate::node::{ComputeNode, NodeOpening};
use privacy::noise::{Digest, OsKeyed};
use std::sync::Arc;

/// What a node's owner brings.
pub trait NodeSeat: Send {
    /// Whether to take part, before anything is signed.
    fn consider(&mut self, manifest: &Manifest) -> Verdict;
    /// A source of noise keys.
    fn noise(&mut self) -> OsKeyed;
}

/// A node, before and in a run.
pub struct NodeParty<D: Disk> {
    lobby: Lobby,
    sealing: Arc<SealingKey>,
    seat: Box<dyn NodeSeat>,
    stage: Stage<D>,
}

enum Stage<D: Disk> {
    Before(D),
    In(Box<ComputeNode<D>>),
    /// Only while a run begins, and after its disk failed.
    Nowhere,
}

impl<D: Disk + Send> NodeParty<D> {
    /// A node that has said nothing yet.
    pub fn new(
        name: PartyName,
        key: Arc<IdentityKey>,
        sealing: Arc<SealingKey>,
        library: Arc<dyn Library>,
        seat: Box<dyn NodeSeat>,
        disk: D,
    ) -> Self {
        let lobby = Lobby { role: Role::Node, name, key, library, signed: None, certificate: None, refused: None };
        Self { lobby, sealing, seat, stage: Stage::Before(disk) }
    }

    fn propose(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, PartyError> {
        let proposal = self.lobby.look(bytes)?;
        let Member::Node(number) = proposal.member else { return Ok(Vec::new()) };
        let own = self.sealing.public();
        if proposal.manifest.nodes.get(number as usize).is_none_or(|node| node.sealing != own) {
            return Err(PartyError::Refused("it has another key for shares than this node's".into()));
        }
        match self.seat.consider(&proposal.manifest) {
            Verdict::Sign => Ok(vec![self.lobby.agree(proposal)]),
            Verdict::Wait => Ok(Vec::new()),
            Verdict::Refuse(why) => Err(PartyError::Refused(why)),
        }
    }

    fn begin(&mut self, signatures: &[Signature], by: Option<PublicKey>) -> Result<Vec<Vec<u8>>, PartyError> {
        let Some(Proposal { manifest, programme, member: Member::Node(number) }) = self.lobby.signed.clone() else {
            return Ok(Vec::new());
        };
        if by != Some(manifest.server) {
            return Ok(Vec::new());
        }
        manifest.check_signatures(signatures)?;
        let Stage::Before(disk) = std::mem::replace(&mut self.stage, Stage::Nowhere) else { return Ok(Vec::new()) };
        let (key, sealing, source) = (self.lobby.key.clone(), self.sealing.clone(), self.seat.noise());
        let opening = NodeOpening { manifest, programme, number, key, sealing, source };
        self.stage = Stage::In(Box::new(ComputeNode::open(opening, disk)?));
        Ok(Vec::new())
    }

    fn follow(&mut self, instruction: &Instruction, by: Option<PublicKey>) -> Result<Vec<Vec<u8>>, PartyError> {
        match (instruction, &mut self.stage) {
            (Instruction::Certificate { chain }, _) => {
                self.lobby.certificate = Some(chain.clone());
                Ok(Vec::new())
            }
            (Instruction::Propose { manifest }, Stage::Before(_)) => self.propose(manifest),
            (Instruction::Begin { signatures }, Stage::Before(_)) => self.begin(signatures, by),
            (_, Stage::In(node)) => Ok(node.handle(instruction)?),
            (_, Stage::Before(_) | Stage::Nowhere) => Ok(Vec::new()),
        }
    }
}

impl<D: Disk + Send> Party for NodeParty<D> {
    fn attend(&mut self, wait: u32) -> Vec<u8> {
        match &self.stage {
            Stage::In(node) => node.sign(&node.attend(wait)),
            Stage::Before(_) | Stage::Nowhere => self.lobby.attend(wait, None),
        }
    }

    fn again(&mut self) -> Result<Vec<Vec<u8>>, PartyError> {
        match &mut self.stage {
            Stage::In(node) => Ok(node.again()?),
            Stage::Before(_) | Stage::Nowhere => Ok(Vec::new()),
        }
    }

    fn hear(&mut self, reply: &[u8], to: &Digest) -> Result<Vec<Vec<u8>>, PartyError> {
        let run = match &self.stage {
            Stage::In(node) => Some(node.manifest().clone()),
            Stage::Before(_) | Stage::Nowhere => None,
        };
        let Ok(Heard { reply, by }) = read_reply(reply, to, &self.lobby, run.as_deref()) else { return Ok(Vec::new()) };
        self.lobby.note(&reply);
        let mut next = Vec::new();
        for instruction in &reply.instructions {
            next.extend(self.follow(instruction, by)?);
        }
        Ok(next)
    }

    fn renew(&mut self, request: Vec<u8>) -> Vec<u8> {
        let request = Request::Renew { request };
        match &self.stage {
            Stage::In(node) => node.sign(&request),
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
            Stage::In(node) => node.finished().and_then(|outcome| node.manifest().blamed(outcome)),
            Stage::Before(_) | Stage::Nowhere => None,
        }
    }

    fn standing(&self) -> Standing {
        match &self.stage {
            Stage::In(node) => node.finished().map_or(Standing::Running, Standing::Finished),
            Stage::Before(_) | Stage::Nowhere if self.lobby.signed.is_some() => Standing::Signed,
            Stage::Before(_) | Stage::Nowhere => Standing::Waiting,
        }
    }
}
