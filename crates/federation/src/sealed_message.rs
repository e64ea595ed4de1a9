//! Messages of a secure sum, which the server relays and can neither read nor forge.
//!
//! What a site writes to a node is sealed to that node (HPKE of RFC 9180: X25519, HKDF-SHA256, ChaCha20-Poly1305), bound
//! to manifest, attempt, question, sender and receiver. What nodes write holds no share, and is signed but not sealed.

use crate::identity::{IdentityKey, SealingKey, Signature};
use crate::manifest::Manifest;
use crate::message::{Attempt, MemberId, SealedMessage};
use crate::wire::{sign_message, verify_message};
use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable, single_shot_open, single_shot_seal};
use privacy::Assembly;
use privacy::noise::Digest;
use privacy::secure_sum::{Message, SumParty};
use zeroize::Zeroizing;

/// Why a message is left unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealedMessageError {
    /// It is for somebody else, or of another attempt or question.
    #[error("the message is not for this attempt")]
    Misdirected,
    /// Its sender has not signed it.
    #[error("the message is not signed by its sender")]
    Forged,
    /// It cannot be opened or understood.
    #[error("the message cannot be read")]
    Unreadable,
}

/// A member's side of one attempt at one sum: every message that it writes or reads is bound to all of this.
pub struct SealedChannel<'a> {
    /// Who writes and reads here.
    pub own: MemberId,
    /// The key that signs what this member writes.
    pub key: &'a IdentityKey,
    /// The manifest.
    pub manifest: &'a Manifest,
    /// Digest of the manifest.
    pub digest: Digest,
    /// Which attempt at which round.
    pub at: Attempt,
    /// Digest of the question.
    pub question: Digest,
}

impl SealedChannel<'_> {
    /// A signed message, sealed if a site writes to a node.
    pub fn write(&self, to: SumParty, message: &Message) -> Result<SealedMessage, SealedMessageError> {
        let to = member_of(to).ok_or(SealedMessageError::Misdirected)?;
        let plain = Zeroizing::new(message.encode().map_err(|_| SealedMessageError::Unreadable)?);
        let (key, sealed) = match (self.own, to) {
            (MemberId::Site(_), MemberId::Node(node)) => {
                let node = self.manifest.nodes.get(node as usize).ok_or(SealedMessageError::Misdirected)?;
                seal(&node.sealing, &self.binding(self.own, to), &plain)?
            }
            _ => (Vec::new(), plain.to_vec()),
        };
        let (from, at, question, signature) = (self.own, self.at, self.question, Signature::from_bytes(&[]));
        Ok(sign_message(self.key, &self.digest, SealedMessage { from, to, at, question, key, sealed, signature }))
    }

    /// The content of a sealed message, and the party that signed it.
    pub fn read(
        &self,
        letter: &SealedMessage,
        assembly: &Assembly,
        sealing: Option<&SealingKey>,
    ) -> Result<(SumParty, Message), SealedMessageError> {
        if letter.to != self.own || letter.at != self.at || letter.question != self.question {
            return Err(SealedMessageError::Misdirected);
        }
        let key = self.manifest.key(letter.from).ok_or(SealedMessageError::Forged)?;
        verify_message(key, &self.digest, letter).map_err(|_| SealedMessageError::Forged)?;
        let plain = match (letter.from, sealing) {
            (MemberId::Site(_), Some(sealing)) => open(sealing, letter, &self.binding(letter.from, self.own))?,
            (MemberId::Site(_), None) => return Err(SealedMessageError::Misdirected),
            _ => Zeroizing::new(letter.sealed.clone()),
        };
        let (dimension, clients) = (assembly.shape().dimension(), assembly.cohort().clients());
        let message = Message::decode(&plain, dimension, clients).map_err(|_| SealedMessageError::Unreadable)?;
        Ok((party_of(letter.from), message))
    }

    /// What a sealed message is bound to.
    fn binding(&self, from: MemberId, to: MemberId) -> Vec<u8> {
        postcard::to_allocvec(&("posterity 1 letter", self.digest, self.at, self.question, from, to))
            .unwrap_or_default()
    }
}

/// Longest message of a sum with these terms, in bytes of its content.
pub fn most_bytes(assembly: &Assembly) -> usize {
    let clients = usize::try_from(assembly.cohort().clients().div_ceil(64)).unwrap_or(usize::MAX);
    512_usize.saturating_add(assembly.shape().dimension().saturating_mul(8)).saturating_add(clients.saturating_mul(8))
}

/// Whom a party of a sum is in the manifest: the server opens and closes sums.
pub fn member_of(party: SumParty) -> Option<MemberId> {
    match party {
        SumParty::Client(client) => usize::try_from(client).ok().map(MemberId::Site),
        SumParty::Node(node) => Some(MemberId::Node(node)),
        SumParty::Opener | SumParty::Coordinator => Some(MemberId::Server),
    }
}

fn party_of(member: MemberId) -> SumParty {
    match member {
        MemberId::Site(site) => SumParty::Client(site as u64),
        MemberId::Node(node) => SumParty::Node(node),
        MemberId::Server => SumParty::Coordinator,
    }
}

fn seal(to: &[u8; 32], binding: &[u8], plain: &[u8]) -> Result<(Vec<u8>, Vec<u8>), SealedMessageError> {
    let to = <X25519HkdfSha256 as Kem>::PublicKey::from_bytes(to).map_err(|_| SealedMessageError::Misdirected)?;
    let sealed =
        single_shot_seal::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(&OpModeS::Base, &to, binding, plain, &[]);
    let (key, sealed) = sealed.map_err(|_| SealedMessageError::Unreadable)?;
    Ok((key.to_bytes().to_vec(), sealed))
}

fn open(
    sealing: &SealingKey,
    letter: &SealedMessage,
    binding: &[u8],
) -> Result<Zeroizing<Vec<u8>>, SealedMessageError> {
    let unreadable = |_| SealedMessageError::Unreadable;
    let secret = <X25519HkdfSha256 as Kem>::PrivateKey::from_bytes(sealing.secret()).map_err(unreadable)?;
    let key = <X25519HkdfSha256 as Kem>::EncappedKey::from_bytes(&letter.key).map_err(unreadable)?;
    let plain = single_shot_open::<ChaCha20Poly1305, HkdfSha256, X25519HkdfSha256>(
        &OpModeR::Base,
        &secret,
        &key,
        binding,
        &letter.sealed,
        &[],
    );
    plain.map(Zeroizing::new).map_err(unreadable)
}
