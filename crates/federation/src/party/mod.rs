//! A party at the other end of the server's line, from its first word to the end of a run: proposals are looked at and signed,
//! and once all have signed, an agent or a node takes over.
//!
//! No I/O: signed bytes go in and out. What is heard before a run has begun is trusted with nothing: a manifest is checked
//! and held against the site's own policy, and signatures of all are checked before the first charge.

mod node;
mod site;

pub use node::{NodeOwner, NodeParty};
pub use site::{SiteOwner, SiteParty};

use crate::agent::StopReason;
use crate::identity::{IdentityKey, PartyName, PartyRole, PublicKey};
use crate::log::LogError;
use crate::manifest::{Manifest, ManifestError, RunBuilder, RunParts};
use crate::message::{Instruction, MemberId, RefusalCode, Request, RunOutcome};
use crate::node::NodeError;
use crate::wire::{self, Sender, ServerReply, UnverifiedContent, WireError, proto};
use privacy::noise::Digest;
use prost::Message as _;
use std::sync::Arc;

/// Why a party cannot go on as it is.
#[derive(Debug, thiserror::Error)]
pub enum PartyError {
    /// Its ledger failed: it must be started again from what the disk holds.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A node's record failed.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A manifest is refused.
    #[error("the study that the server proposed is refused: {0}")]
    Manifest(#[from] ManifestError),
    /// The site's own rules refuse a manifest, or its rows do not fit it.
    #[error("this site does not take part: {0}")]
    Refused(String),
}

/// What a site's owner says of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The party signs the manifest.
    Sign,
    /// Somebody has to approve it first.
    Wait,
    /// No, and why.
    Refuse(String),
}

/// Where a party stands, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartyPhase {
    /// No proposal yet, or it waits for approval.
    Waiting,
    /// Signed; others have not.
    Signed,
    /// In a run.
    Running,
    /// The run is over.
    Finished(RunOutcome),
    /// It answers no more until somebody has looked.
    Stopped(StopReason),
}

/// What a driver needs of a party.
pub trait PartyMachine: Send {
    /// A poll, which the server may hold back for so many milliseconds.
    fn attend(&mut self, wait: u32) -> Vec<u8>;
    /// What is to be sent again after a silence or a new connection.
    fn again(&mut self) -> Result<Vec<Vec<u8>>, PartyError>;
    /// Takes the reply to a request with this digest, and gives what is to be sent next. A reply that is not the server's is
    /// left unread.
    fn hear(&mut self, reply: proto::Signed, to: &Digest) -> Result<Vec<Vec<u8>>, PartyError>;
    /// The same for a reply in bytes. Bytes that are no signed content are left unread.
    fn hear_bytes(&mut self, reply: &[u8], to: &Digest) -> Result<Vec<Vec<u8>>, PartyError> {
        proto::Signed::decode(reply).map_or(Ok(Vec::new()), |reply| self.hear(reply, to))
    }
    /// Asks for a new certificate.
    fn renew(&mut self, request: Vec<u8>) -> Vec<u8>;
    /// A new certificate that came with a reply, once.
    fn certificate(&mut self) -> Option<String>;
    /// What the server has refused in its last reply, once.
    fn refused(&mut self) -> Option<RefusalCode>;
    /// How far the party is in its run.
    fn standing(&self) -> PartyPhase;
    /// Because of whom the run has ended, where its sums failed: a role and a name.
    fn failed(&self) -> Option<String> {
        None
    }
}

/// What a party knows before a run has begun.
pub(super) struct Enrolment {
    pub(super) role: PartyRole,
    pub(super) name: PartyName,
    pub(super) key: Arc<IdentityKey>,
    pub(super) builder: Arc<dyn RunBuilder>,
    /// The proposal that was signed.
    pub(super) signed: Option<CheckedManifest>,
    pub(super) certificate: Option<String>,
    pub(super) refused: Option<RefusalCode>,
}

/// A manifest that this party has checked.
#[derive(Clone)]
pub(super) struct CheckedManifest {
    pub(super) manifest: Arc<Manifest>,
    pub(super) parts: Arc<RunParts>,
    pub(super) member: MemberId,
}

impl Enrolment {
    pub(super) fn sign(&self, request: &Request) -> Vec<u8> {
        let manifest = self.signed.as_ref().map(|proposal| proposal.manifest.digest());
        let sender = Sender { role: self.role, name: self.name.clone(), manifest };
        wire::sign(&self.key, &sender, request).0
    }

    pub(super) fn attend(&self, wait: u32, position: Option<crate::log::Position>) -> Vec<u8> {
        self.sign(&Request::Attend { position, wait, begun: false, unsettled: None, mail: 0, closed: false })
    }

    /// Reads a manifest and holds it against what this party finds for itself.
    pub(super) fn look(&self, bytes: &[u8]) -> Result<CheckedManifest, PartyError> {
        if let Some(known) = self.signed.as_ref().filter(|known| known.manifest.bytes() == bytes) {
            return Ok(known.clone());
        }
        let manifest = Manifest::read(bytes)?;
        let parts = manifest.check(self.builder.as_ref())?;
        let Some(member) = manifest.member(self.role, &self.name, &self.key.public()) else {
            return Err(PartyError::Refused(
                "the manifest does not list this party, or lists another key for it".into(),
            ));
        };
        Ok(CheckedManifest { manifest: Arc::new(manifest), parts, member })
    }

    /// Notes what a reply refuses.
    pub(super) fn note(&mut self, reply: &ServerReply) {
        self.refused = reply.instructions.iter().find_map(|instruction| match instruction {
            Instruction::Refuse(refusal) => Some(*refusal),
            _ => None,
        });
    }

    /// Takes a proposal that is to be signed, and gives the signature.
    pub(super) fn agree(&mut self, proposal: CheckedManifest) -> Vec<u8> {
        let signature = self.key.sign(crate::manifest::DOMAIN, &proposal.manifest.digest());
        self.signed = Some(proposal);
        self.sign(&Request::Agree { signature })
    }
}

/// A reply, and the key that has signed it; none where no key is known to check it against.
pub(super) struct ReceivedReply {
    pub(super) reply: ServerReply,
    pub(super) by: Option<PublicKey>,
}

/// The server's reply, decoded once: signed by the server of the run, or by that of the manifest which it proposes or which
/// this party has signed. Before a manifest is signed, nothing but a proposal is acted upon.
pub(super) fn read_reply(
    signed: proto::Signed,
    to: &Digest,
    enrolment: &Enrolment,
    run: Option<&Manifest>,
) -> Result<ReceivedReply, WireError> {
    let content = UnverifiedContent::of(signed)?;
    let reply = content.claimed_reply(to)?;
    let proposed = || {
        reply.instructions.iter().find_map(|instruction| match instruction {
            Instruction::Propose { manifest } => Manifest::read(manifest).ok().map(|manifest| manifest.server),
            _ => None,
        })
    };
    let signed = || enrolment.signed.as_ref().map(|proposal| proposal.manifest.server);
    let by = run.map(|manifest| manifest.server).or_else(proposed).or_else(signed);
    by.map_or(Ok(()), |key| content.verify(&key))?;
    Ok(ReceivedReply { reply, by })
}
