//! What the parties of a secure sum say to each other, and what a machine asks its driver to do.
//!
//! Bytes are canonical: what does not encode back to the same bytes is refused, so that one message has one digest. Lengths are checked
//! before anything is parsed.

use super::{ClientSet, NodeRecord, Partial, Seed, SumError, SumSession};
use crate::noise::Digest;
use crate::{GridVector, Released};
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use zeroize::Zeroize;

/// A message, bound to its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The session that it belongs to.
    pub session: SumSession,
    /// What it says, and by that who must have sent it.
    pub body: Body,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// Client to node: the seed of this node's share.
    Seed {
        /// The client whose mask it is.
        client: u64,
        /// The node that the seed is for.
        node: u32,
        /// Sixteen fresh bytes, which both sides expand.
        seed: Seed,
    },
    /// Node to client: the seed is held.
    SeedHeld {
        /// The client whose seed is held.
        client: u64,
        /// The node that holds it.
        node: u32,
    },
    /// Client to the one node without a seed: the vector less all masks.
    Vector {
        /// The client whose vector it is.
        client: u64,
        /// One word for each coordinate.
        words: WordVector,
    },
    /// Node to client: the vector is in the total.
    VectorHeld {
        /// The client whose vector is in the total.
        client: u64,
        /// The node that has added it.
        node: u32,
    },
    /// Coordinator to every node: no more contributions.
    Close,
    /// Node to node: whose seed or vector this node holds.
    Holdings {
        /// The node that tells.
        node: u32,
        /// The clients whose shares it holds.
        held: ClientSet,
    },
    /// Node to node: digest of the set, and of everything that was heard of it.
    Confirmation {
        /// The node that confirms.
        node: u32,
        /// The digest of what it confirms.
        digest: Digest,
    },
    /// Node to opener: the node's part of the total.
    Partial(Partial),
}

impl Body {
    /// Who says this, by what it claims: a message that comes from anybody else is refused.
    pub fn sender(&self) -> SumParty {
        match self {
            Self::Seed { client, .. } | Self::Vector { client, .. } => SumParty::Client(*client),
            Self::SeedHeld { node, .. }
            | Self::VectorHeld { node, .. }
            | Self::Holdings { node, .. }
            | Self::Confirmation { node, .. }
            | Self::Partial(Partial { node, .. }) => SumParty::Node(*node),
            Self::Close => SumParty::Coordinator,
        }
    }
}

impl Message {
    /// Refuses a message of another session, and one that claims another sender than the one that the transport has
    /// authenticated.
    pub(super) fn check(&self, session: &SumSession, from: SumParty) -> Result<(), SumError> {
        session.check(&self.session)?;
        let claimed = self.body.sender();
        if claimed == from { Ok(()) } else { Err(SumError::FalseSender { claimed, from }) }
    }

    /// Canonical bytes: one message has one encoding, so that a digest names it.
    pub fn encode(&self) -> Result<Vec<u8>, SumError> {
        postcard::to_allocvec(self).map_err(|_| SumError::Malformed { found: 0, why: "it cannot be written" })
    }

    /// Reads canonical bytes of a sum of `dimension` words and `clients` clients; longer ones are not looked at.
    ///
    /// # Errors
    ///
    /// [`SumError::Malformed`] for bytes that are too long, do not parse, or are not the canonical form of what they say.
    pub fn decode(bytes: &[u8], dimension: usize, clients: u64) -> Result<Self, SumError> {
        let malformed = |why| SumError::Malformed { found: bytes.len() as u64, why };
        // SumSession, digests and numbers take less than 256 bytes.
        let most = 256 + 8 * dimension as u64 + 8 * clients.div_ceil(64);
        if bytes.len() as u64 > most {
            return Err(malformed("it is longer than any"));
        }
        let message: Self = postcard::from_bytes(bytes).map_err(|_| malformed("it does not parse"))?;
        // A second spelling of a number would let two byte strings pass for one message.
        if message.encode()? != bytes {
            return Err(malformed("its bytes are not canonical"));
        }
        Ok(message)
    }
}

/// Who sends and receives.
///
/// A machine takes a message together with the party that it came from. The transport says who that is, by what it has
/// authenticated (a certificate, say) and never by what the message claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SumParty {
    /// A client, by its number.
    Client(u64),
    /// A compute node, by its number.
    Node(u32),
    /// Whoever adds up the partial sums.
    Opener,
    /// Whoever says that no more contributions are awaited.
    Coordinator,
}

impl fmt::Display for SumParty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(client) => write!(f, "client {client}"),
            Self::Node(node) => write!(f, "node {node}"),
            Self::Opener => f.write_str("the opener"),
            Self::Coordinator => f.write_str("the coordinator"),
        }
    }
}

/// What a machine asks its driver to do. A list is carried out in its order: what stands after a `Persist` is not done
/// before that record is durable, and not at all if it cannot be kept.
#[derive(Debug, Clone, PartialEq)]
pub enum SumEffect {
    /// Keep this record in the place of the node's last one of the run, if it may stand there ([`NodeRecord::replace`]).
    Persist(NodeRecord),
    /// Send a message to another party, now.
    Send {
        /// The party that it is for.
        to: SumParty,
        /// What to send; it may be sent again with the same bytes.
        message: Message,
    },
    /// The total is open.
    Opened {
        /// The sum of what went in, and of the noise, modulo 2^64.
        total: Released<GridVector>,
        /// The clients that are in it.
        contributors: ClientSet,
    },
}

/// 64-bit words that travel as eight bytes each. Wiped when dropped, and not printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct WordVector(Vec<u64>);

impl WordVector {
    /// Takes over a vector; it is wiped when this is dropped.
    pub(super) fn new(words: Vec<u64>) -> Self {
        Self(words)
    }

    /// So many words of zero.
    pub(super) fn zeros(count: usize) -> Self {
        Self(vec![0; count])
    }

    /// The words, for reading.
    pub(super) fn get(&self) -> &[u64] {
        &self.0
    }

    /// The words, to add to.
    pub(super) fn get_mut(&mut self) -> &mut [u64] {
        &mut self.0
    }

    /// Adds another vector, modulo 2^64.
    pub(super) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = a.wrapping_add(*b));
    }

    /// Refuses another number of words.
    pub(super) fn check(&self, what: &'static str, dimension: usize) -> Result<(), SumError> {
        if self.0.len() == dimension {
            return Ok(());
        }
        Err(SumError::Size { what, found: self.0.len() as u64, expected: dimension as u64 })
    }

    /// Tells a repeated vector from a different one. Against mistakes only: who forges a repetition gains nothing, for
    /// the first one stays.
    pub(super) fn fingerprint(&self) -> u64 {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut lanes = [0_u64, 1, 2, 3];
        let stir = |lane: u64, word: u64| (lane ^ word).wrapping_mul(ODD).rotate_left(29);
        let (fours, rest) = self.0.as_chunks::<4>();
        for [a, b, c, d] in fours {
            lanes = [stir(lanes[0], *a), stir(lanes[1], *b), stir(lanes[2], *c), stir(lanes[3], *d)];
        }
        rest.iter().chain(&lanes).fold(0, |all, word| stir(all, *word))
    }
}

impl Drop for WordVector {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for WordVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words", self.0.len())
    }
}

impl Serialize for WordVector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        let done = serializer.serialize_bytes(&bytes);
        bytes.zeroize();
        done
    }
}

impl<'de> Deserialize<'de> for WordVector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EightByteWords;
        impl Visitor<'_> for EightByteWords {
            type Value = WordVector;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a multiple of eight bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<WordVector, E> {
                let (eights, rest) = bytes.as_chunks::<8>();
                if !rest.is_empty() {
                    return Err(E::invalid_length(bytes.len(), &self));
                }
                Ok(WordVector(eights.iter().map(|eight| u64::from_le_bytes(*eight)).collect()))
            }
        }
        deserializer.deserialize_bytes(EightByteWords).map_err(D::Error::custom)
    }
}
