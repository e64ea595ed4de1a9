//! Why a secure sum refuses a message or an attempt fails, each by a name of its own.
//!
//! Some errors refuse one message and change nothing; others end the attempt. [`SumError::ends_the_attempt`] tells which, so that a driver
//! never has to guess.

use super::{Renunciation, SumParty};

/// What a machine refused, or why an attempt failed. Clients and nodes are named; no variant carries a word of a vector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SumError {
    /// The message belongs to another run, round or attempt, or its sender has other terms.
    #[error("a message of another session: its {what} is {found}, expected {expected}")]
    OtherSession {
        /// In what it differs.
        what: &'static str,
        /// What the message says.
        found: String,
        /// What this party knows.
        expected: String,
    },
    /// The message is not for this party, or names a party that does not exist.
    #[error("{what} is not for this party: it names {found}, expected {expected}")]
    Misdirected {
        /// The kind of message.
        what: &'static str,
        /// The party that the message names.
        found: String,
        /// Whom it should name.
        expected: String,
    },
    /// The message claims another sender than the one that it came from.
    #[error("a message that claims to be from {claimed} came from {from}")]
    FalseSender {
        /// Who it says that it is from.
        claimed: SumParty,
        /// Who sent it, as the transport has authenticated.
        from: SumParty,
    },
    /// Bytes that are no message of this sum.
    #[error("{found} bytes are not a message of this sum: {why}")]
    Malformed {
        /// How many bytes there were.
        found: u64,
        /// In what they fail to be a message.
        why: &'static str,
    },
    /// A vector or a set of another length.
    #[error("{what} has {found} entries, expected {expected}")]
    Size {
        /// The thing whose length is wrong.
        what: &'static str,
        /// The length that was found.
        found: u64,
        /// What the terms say.
        expected: u64,
    },
    /// Another message in the place of an earlier one. The earlier one stays.
    #[error("{from} sent a second {what} that differs from the first")]
    Conflict {
        /// The kind of message.
        what: &'static str,
        /// The party that sent both messages.
        from: SumParty,
    },
    /// It came after the node had told the others what it holds.
    #[error("the {what} of {from} arrived after the node had closed")]
    Late {
        /// The kind of message.
        what: &'static str,
        /// The party that came too late.
        from: SumParty,
    },
    /// Too few clients are in the set that the nodes share.
    #[error("{found} of at least {expected} contributions arrived: {} are missing", expected.saturating_sub(*found))]
    TooFew {
        /// Contributions that all nodes hold.
        found: u64,
        /// N − T_d, the quorum of the terms.
        expected: u64,
    },
    /// A vector is in a total, and a mask that it needs is not there.
    #[error("the vector of client {client} was added, but node {node} does not hold its seed")]
    Incomplete {
        /// The client whose vector was added.
        client: u64,
        /// The node without its seed.
        node: u32,
    },
    /// Two nodes confirmed different sets, or heard different things from a third.
    #[error("nodes {node} and {other} confirmed different sets of clients")]
    Disagreement {
        /// The node that is believed.
        node: u32,
        /// The node that differs.
        other: u32,
    },
    /// The machine waits for something that has not come.
    #[error("{what} missing from {}", list(.nodes))]
    Missing {
        /// The kind of message that is missing.
        what: &'static str,
        /// The nodes that it is missing from.
        nodes: Vec<u32>,
    },
    /// The node gathers contributions and was not told to close.
    #[error("the node is still collecting contributions: it has not been told to close")]
    Gathering,
    /// The node went down after it had begun this attempt, and what it held is gone.
    #[error("node {node} went down during attempt {attempt} of round {round} and lost the shares that it held")]
    Lost {
        /// The node that went down.
        node: u32,
        /// The round that it was in.
        round: u64,
        /// The attempt that is over.
        attempt: u64,
    },
    /// The node has said that it will not publish in this attempt.
    #[error("node {node} will not publish in attempt {attempt} of round {round}")]
    Renounced {
        /// The node.
        node: u32,
        /// The round.
        round: u64,
        /// The attempt that is over.
        attempt: u64,
        /// Why it is over.
        why: Renunciation,
    },
    /// The node has started this round with another question.
    #[error("node {node} has started round {round} with another question")]
    OtherQuestion {
        /// The node.
        node: u32,
        /// The round, which has one question.
        round: u64,
    },
    /// The node has published for this round, or for a later one.
    #[error(
        "node {node} has already published attempt {attempt} of round {round}; no other sum of this round may be opened"
    )]
    Published {
        /// The node that has published.
        node: u32,
        /// The round that it has published for.
        round: u64,
        /// The attempt that it has published for.
        attempt: u64,
    },
    /// The node's record is of a later session than the one that it is asked for.
    #[error("node {node} is already at attempt {attempt} of round {round}")]
    Past {
        /// The node that is further.
        node: u32,
        /// The round of its record.
        round: u64,
        /// The attempt of its record.
        attempt: u64,
    },
}

/// Nodes by name, for messages.
fn list(nodes: &[u32]) -> String {
    let names: Vec<String> = nodes.iter().map(|n| format!("node {n}")).collect();
    names.join(", ")
}

impl SumError {
    /// True if the attempt is over; false if one message was refused and nothing has changed.
    pub fn ends_the_attempt(&self) -> bool {
        matches!(
            self,
            Self::TooFew { .. }
                | Self::Incomplete { .. }
                | Self::Disagreement { .. }
                | Self::Lost { .. }
                | Self::Renounced { .. }
                | Self::OtherQuestion { .. }
                | Self::Published { .. }
                | Self::Past { .. }
        )
    }

    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::OtherSession { what: "terms", .. } => {
                "compare the manifests: every party accepts only the terms that it signed"
            }
            Self::OtherSession { .. } | Self::Past { .. } => "send messages of the session that is open now",
            Self::Misdirected { .. } | Self::Malformed { .. } | Self::Size { .. } => {
                "check that all parties run the same version"
            }
            Self::FalseSender { .. } => "find out who sent the message, and why: a party may only speak for itself",
            Self::Conflict { .. } => "resend a message with identical bytes, or not at all",
            Self::Late { .. } => "the client counts as a drop-out of this round",
            Self::TooFew { .. } => "try again with more clients; the manifest fixes how many may be missing",
            Self::Incomplete { .. } | Self::Lost { .. } | Self::Renounced { .. } => {
                "start another attempt of the round"
            }
            Self::OtherQuestion { .. } => "ask every party of a round the same question",
            Self::Disagreement { .. } => "a node told different things to different nodes: compare their logs",
            Self::Missing { .. } => "ask these nodes to resend, or start another attempt",
            Self::Gathering => "tell the node to close",
            Self::Published { .. } => "continue with the next round: opening the sum twice would weaken the noise",
        }
    }
}
