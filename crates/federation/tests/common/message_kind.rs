//! Letters of a secure sum, as whoever carries them can tell them apart.

use federation::message::{MemberId, SealedMessage};
use privacy::noise::Digest;
use privacy::secure_sum::{Body, Message};
use sha2::{Digest as _, Sha256};

/// The kind of a letter. In one attempt a member writes one of each kind to each receiver, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MessageKind {
    /// A site's seed or vector, sealed.
    Share,
    /// A node has a site's share.
    Held,
    /// Whose shares a node has.
    List,
    /// What a node has heard of all lists.
    Confirmation,
    /// A node's part of the total.
    Part,
}

/// The kind of a letter, by who writes to whom, and by what it says if it is not sealed.
pub(crate) fn kind(letter: &SealedMessage) -> MessageKind {
    let body = || Message::decode(&letter.sealed, 1 << 10, 1 << 10).unwrap().body;
    match (letter.from, letter.to) {
        (MemberId::Site(_), _) => MessageKind::Share,
        (_, MemberId::Site(_)) => MessageKind::Held,
        (_, MemberId::Server) => MessageKind::Part,
        _ if matches!(body(), Body::Holdings { .. }) => MessageKind::List,
        _ => MessageKind::Confirmation,
    }
}

/// Digest of what a letter says, as it is carried.
pub(crate) fn content(letter: &SealedMessage) -> Digest {
    Sha256::new().chain_update(&letter.key).chain_update([0]).chain_update(&letter.sealed).finalize().into()
}
