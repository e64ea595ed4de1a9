//! The wire: signed protobuf contents of version 1, and what they mean.
//!
//! Every number that comes in is checked here or by the machine that takes it; a content that cannot be understood is
//! refused as a whole.

mod decode;
mod encode;

/// Messages as generated from `proto/posterity.proto`.
#[allow(missing_docs, unreachable_pub, clippy::all, rustdoc::all)]
pub mod proto {
    tonic::include_proto!("posterity.v1");
}

use crate::identity::{IdentityKey, PartyName, PartyRole, PublicKey, Signature};
use crate::log::Position;
use crate::message::{Instruction, Request, SealedMessage};
use privacy::noise::Digest;
use prost::Message as _;
use sha2::{Digest as _, Sha256};

/// The version of the wire that this program speaks, and the only one that it understands.
pub const VERSION: u32 = 1;

/// Longest message in bytes. What is longer is refused before it is read.
pub const MOST_BYTES: usize = 64 << 20;

/// Longest message in bytes where no run says how many numbers it may hold: polls, signatures, invites, certificates.
pub const SMALL_BYTES: usize = 64 << 10;

/// What a signature of a content is bound to.
const DOMAIN: &str = "content";

/// What a signature of a sealed message is bound to.
const LETTER: &str = "letter";

/// Why bytes are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// They cannot be understood.
    #[error("the message cannot be understood: {0}")]
    Malformed(&'static str),
    /// Another version of the wire.
    #[error("the message is of version {0}, expected {VERSION}")]
    Version(u32),
    /// The signature does not fit.
    #[error("the signature is not valid")]
    Signature,
    /// It answers another request.
    #[error("the reply answers another request")]
    OtherRequest,
}

/// Who says something, and in which run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The role.
    pub role: PartyRole,
    /// The name.
    pub name: PartyName,
    /// The manifest that it speaks of; none before there is one.
    pub manifest: Option<Digest>,
}

/// A reply of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerReply {
    /// Digest of the request's content.
    pub to: Digest,
    /// The last place of the site's log that the server has countersigned.
    pub seen: Option<Position>,
    /// What the party is to do, in this order.
    pub instructions: Vec<Instruction>,
}

/// A content whose signature was not looked at yet: one must know whose key to hold it against.
pub struct UnverifiedContent {
    digest: Digest,
    signature: Signature,
    body: proto::Content,
    sender: Sender,
}

impl UnverifiedContent {
    /// Reads signed bytes.
    pub fn read(bytes: &[u8]) -> Result<Self, WireError> {
        if bytes.len() > MOST_BYTES {
            return Err(WireError::Malformed("it is too long"));
        }
        let signed = proto::Signed::decode(bytes).map_err(|_| WireError::Malformed("no signed content"))?;
        Self::of(signed)
    }

    /// Reads a signed content as the transport hands it over.
    pub fn of(signed: proto::Signed) -> Result<Self, WireError> {
        let body = proto::Content::decode(signed.content.as_slice()).map_err(|_| WireError::Malformed("no content"))?;
        if body.version != VERSION {
            return Err(WireError::Version(body.version));
        }
        let role = PartyRole::of_word(&body.role).ok_or(WireError::Malformed("no such role"))?;
        let name = PartyName::new(&body.name).map_err(|_| WireError::Malformed("no such name"))?;
        let manifest = match body.manifest.len() {
            0 => None,
            _ => Some(decode::digest(&body.manifest)?),
        };
        let sender = Sender { role, name, manifest };
        let digest = Sha256::digest(&signed.content).into();
        Ok(Self { digest, signature: Signature::from_bytes(&signed.signature), body, sender })
    }

    /// Who it claims to be from.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// SHA-256 of the content: what a reply names, and what tells two answers apart.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether it says that it is an answer.
    pub fn is_update(&self) -> bool {
        matches!(self.body.body, Some(proto::content::Body::Update(_)))
    }

    /// The request in it, whoever it is from: to be believed in nothing.
    pub fn claimed_request(&self) -> Result<Request, WireError> {
        decode::request(self.body.body.as_ref())
    }

    /// The request in it, if the signature is of this key.
    pub fn request(&self, key: &PublicKey) -> Result<Request, WireError> {
        self.verify(key)?;
        decode::request(self.body.body.as_ref())
    }

    /// The reply in it, if the signature is of this key and it is to that request.
    pub fn reply(&self, key: &PublicKey, to: &Digest) -> Result<ServerReply, WireError> {
        self.verify(key)?;
        self.claimed_reply(to)
    }

    /// The reply in it, whoever it is from: to be believed in nothing.
    pub fn claimed_reply(&self, to: &Digest) -> Result<ServerReply, WireError> {
        let reply = decode::reply(self.body.body.as_ref())?;
        if reply.to == *to { Ok(reply) } else { Err(WireError::OtherRequest) }
    }

    /// Refuses a content that this key has not signed.
    pub fn verify(&self, key: &PublicKey) -> Result<(), WireError> {
        key.verify(DOMAIN, &self.digest, &self.signature).map_err(|_| WireError::Signature)
    }
}

/// Signed bytes of a request, and the digest that its reply will name.
pub fn sign(key: &IdentityKey, sender: &Sender, request: &Request) -> (Vec<u8>, Digest) {
    let (signed, digest) = seal(key, sender, encode::request(request));
    (signed.encode_to_vec(), digest)
}

/// A reply as it is sent.
pub fn sign_reply(key: &IdentityKey, sender: &Sender, reply: &ServerReply) -> proto::Signed {
    seal(key, sender, encode::reply(reply)).0
}

/// The signature is of the content's SHA-256, which is known by then: Ed25519 would read a long content twice, and slowly.
fn seal(key: &IdentityKey, sender: &Sender, body: proto::content::Body) -> (proto::Signed, Digest) {
    let content = proto::Content {
        version: VERSION,
        role: sender.role.word().into(),
        name: sender.name.to_string(),
        manifest: sender.manifest.map_or_else(Vec::new, |digest| digest.to_vec()),
        body: Some(body),
    }
    .encode_to_vec();
    let digest: Digest = Sha256::digest(&content).into();
    let signature = key.sign(DOMAIN, &digest).bytes().to_vec();
    (proto::Signed { content, signature }, digest)
}

/// The digest of signed bytes' content, if they are signed bytes.
pub fn content_digest(bytes: &[u8]) -> Result<Digest, WireError> {
    let signed = proto::Signed::decode(bytes).map_err(|_| WireError::Malformed("no signed content"))?;
    Ok(signed_digest(&signed))
}

/// The digest of a signed content: what its reply names.
pub fn signed_digest(signed: &proto::Signed) -> Digest {
    Sha256::digest(&signed.content).into()
}

/// The bytes of a sealed message that its sender signs: all of it, and the manifest.
fn message_bytes(letter: &SealedMessage, manifest: &Digest) -> Vec<u8> {
    let unsigned = proto::Letter { signature: Vec::new(), ..encode::letter(letter) };
    [manifest.as_slice(), &unsigned.encode_to_vec()].concat()
}

/// Signs a sealed message for its manifest.
pub fn sign_message(key: &IdentityKey, manifest: &Digest, mut letter: SealedMessage) -> SealedMessage {
    letter.signature = key.sign(LETTER, &message_bytes(&letter, manifest));
    letter
}

/// Refuses a sealed message that its sender has not signed.
pub fn verify_message(key: &PublicKey, manifest: &Digest, letter: &SealedMessage) -> Result<(), WireError> {
    let fits = key.verify(LETTER, &message_bytes(letter, manifest), &letter.signature);
    fits.map_err(|_| WireError::Signature)
}
