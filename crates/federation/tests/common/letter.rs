//! Letters of a secure sum, as whoever carries them can tell them apart.

use federation::message::{Letter, Member};
use privacy::noise::Digest;
use privacy::secure_sum::{Body, Message};
use sha2::{Digest as _, Sha256};

/// The kind of a letter. In one attempt a member writes one of each kind to each receiver, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
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
pub(crate) fn kind(letter: &Letter) -> Kind {
    let body = || Message::decode(&letter.sealed, 1 << 10, 1 << 10).unwrap().body;
    match (letter.from, letter.to) {
        (Member::Site(_), _) => Kind::Share,
        (_, Member::Site(_)) => Kind::Held,
        (_, Member::Server) => Kind::Part,
        _ if matches!(body(), Body::Holdings { .. }) => Kind::List,
        _ => Kind::Confirmation,
    }
}

/// Digest of what a letter says, as it is carried.
pub(crate) fn content(letter: &Letter) -> Digest {
    Sha256::new().chain_update(&letter.key).chain_update([0]).chain_update(&letter.sealed).finalize().into()
}
