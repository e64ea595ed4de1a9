//! A compute node at the line: it signs what it is a member of, and takes part in secure sums.

use super::{CheckedManifest, Enrolment, PartyError, PartyMachine, PartyPhase, ReceivedReply, Verdict, read_reply};
use crate::identity::{IdentityKey, PartyName, PartyRole, PublicKey, SealingKey, Signature};
use crate::log::Disk;
use crate::manifest::{Manifest, RunBuilder};
use crate::message::{Instruction, MemberId, RefusalCode, Request};
use crate::node::{ComputeNode, NodeOpening};
use crate::wire::proto;
use privacy::noise::{Digest, OsKeyed};
use std::sync::Arc;

/// What a node's owner brings.
pub trait NodeOwner: Send {
    /// Whether to take part, before anything is signed.
    fn consider(&mut self, manifest: &Manifest) -> Verdict;
    /// A source of noise keys.
    fn noise(&mut self) -> OsKeyed;
}

/// A node, before and in a run.
pub struct NodeParty<D: Disk> {
    enrolment: Enrolment,
    sealing: Arc<SealingKey>,
    seat: Box<dyn NodeOwner>,
    stage: NodeStage<D>,
}

enum NodeStage<D: Disk> {
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
        builder: Arc<dyn RunBuilder>,
        seat: Box<dyn NodeOwner>,
        disk: D,
    ) -> Self {
        let enrolment =
            Enrolment { role: PartyRole::Node, name, key, builder, signed: None, certificate: None, refused: None };
        Self { enrolment, sealing, seat, stage: NodeStage::Before(disk) }
    }

    fn propose(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, PartyError> {
        let proposal = self.enrolment.look(bytes)?;
        let MemberId::Node(number) = proposal.member else { return Ok(Vec::new()) };
        let own = self.sealing.public();
        if proposal.manifest.nodes.get(number as usize).is_none_or(|node| node.sealing != own) {
            return Err(PartyError::Refused("the manifest has another sealing key than this node's".into()));
        }
        match self.seat.consider(&proposal.manifest) {
            Verdict::Sign => Ok(vec![self.enrolment.agree(proposal)]),
            Verdict::Wait => Ok(Vec::new()),
            Verdict::Refuse(why) => Err(PartyError::Refused(why)),
        }
    }

    fn begin(&mut self, signatures: &[Signature], by: Option<PublicKey>) -> Result<Vec<Vec<u8>>, PartyError> {
        let Some(CheckedManifest { manifest, parts, member: MemberId::Node(number) }) = self.enrolment.signed.clone()
        else {
            return Ok(Vec::new());
        };
        if by != Some(manifest.server) {
            return Ok(Vec::new());
        }
        manifest.check_signatures(signatures)?;
        let NodeStage::Before(disk) = std::mem::replace(&mut self.stage, NodeStage::Nowhere) else {
            return Ok(Vec::new());
        };
        let (key, sealing, source) = (self.enrolment.key.clone(), self.sealing.clone(), self.seat.noise());
        let opening = NodeOpening { manifest, parts, number, key, sealing, source };
        self.stage = NodeStage::In(Box::new(ComputeNode::open(opening, disk)?));
        Ok(Vec::new())
    }

    fn follow(&mut self, instruction: &Instruction, by: Option<PublicKey>) -> Result<Vec<Vec<u8>>, PartyError> {
        match (instruction, &mut self.stage) {
            (Instruction::Certificate { chain }, _) => {
                self.enrolment.certificate = Some(chain.clone());
                Ok(Vec::new())
            }
            (Instruction::Propose { manifest }, NodeStage::Before(_)) => self.propose(manifest),
            (Instruction::Begin { signatures }, NodeStage::Before(_)) => self.begin(signatures, by),
            (_, NodeStage::In(node)) => Ok(node.handle(instruction)?),
            (_, NodeStage::Before(_) | NodeStage::Nowhere) => Ok(Vec::new()),
        }
    }
}

impl<D: Disk + Send> PartyMachine for NodeParty<D> {
    fn attend(&mut self, wait: u32) -> Vec<u8> {
        match &self.stage {
            NodeStage::In(node) => node.sign(&node.attend(wait)),
            NodeStage::Before(_) | NodeStage::Nowhere => self.enrolment.attend(wait, None),
        }
    }

    fn again(&mut self) -> Result<Vec<Vec<u8>>, PartyError> {
        match &mut self.stage {
            NodeStage::In(node) => Ok(node.again()?),
            NodeStage::Before(_) | NodeStage::Nowhere => Ok(Vec::new()),
        }
    }

    fn hear(&mut self, reply: proto::Signed, to: &Digest) -> Result<Vec<Vec<u8>>, PartyError> {
        let run = match &self.stage {
            NodeStage::In(node) => Some(node.manifest().clone()),
            NodeStage::Before(_) | NodeStage::Nowhere => None,
        };
        let Ok(ReceivedReply { reply, by }) = read_reply(reply, to, &self.enrolment, run.as_deref()) else {
            return Ok(Vec::new());
        };
        self.enrolment.note(&reply);
        let mut next = Vec::new();
        for instruction in &reply.instructions {
            next.extend(self.follow(instruction, by)?);
        }
        Ok(next)
    }

    fn renew(&mut self, request: Vec<u8>) -> Vec<u8> {
        let request = Request::Renew { request };
        match &self.stage {
            NodeStage::In(node) => node.sign(&request),
            NodeStage::Before(_) | NodeStage::Nowhere => self.enrolment.sign(&request),
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
            NodeStage::In(node) => node.finished().and_then(|outcome| node.manifest().blamed(outcome)),
            NodeStage::Before(_) | NodeStage::Nowhere => None,
        }
    }

    fn standing(&self) -> PartyPhase {
        match &self.stage {
            NodeStage::In(node) => node.finished().map_or(PartyPhase::Running, PartyPhase::Finished),
            NodeStage::Before(_) | NodeStage::Nowhere if self.enrolment.signed.is_some() => PartyPhase::Signed,
            NodeStage::Before(_) | NodeStage::Nowhere => PartyPhase::Waiting,
        }
    }
}
