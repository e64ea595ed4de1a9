//! What the parties say to each other, as meant: the machines take and give these, the wire carries them.

use crate::identity::Signature;
use crate::log::Position;
use privacy::GridVector;
use privacy::noise::Digest;
use privacy::secure_sum::Renunciation;
use serde::{Deserialize, Serialize};

/// One attempt at the answer of one round, within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// Round, from 0.
    pub round: u64,
    /// Counts the asks of one site in one round, from 0.
    pub attempt: u64,
}

/// A site's answer, as its gate let it through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Update {
    /// Which attempt at which round.
    pub at: Attempt,
    /// Digest of the question that it answers.
    pub question: Digest,
    /// The answer.
    pub answer: GridVector,
    /// Where its charge is in the site's log.
    pub position: Position,
}

/// Why a site does not answer: one of a fixed list, never a text, and never a function of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeclineReason {
    /// Its budget covers no more answers.
    Spent,
    /// The question, the terms or the manifest are not what it signed.
    Refused,
    /// It went down after the charge: this attempt will never be answered.
    Lapsed,
    /// Its own log is behind what the server has countersigned, or the server behaves wrongly: it has stopped.
    Stopped,
    /// It has charged this round of a sum for another question.
    OtherQuestion,
    /// It has charged a later round of sums: the server asks for one of before.
    Behind,
}

impl DeclineReason {
    /// All, in the order of their numbers on the wire, from 1.
    pub const ALL: [Self; 6] =
        [Self::Spent, Self::Refused, Self::Lapsed, Self::Stopped, Self::OtherQuestion, Self::Behind];
}

/// Why the server refuses a message: one of a fixed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalCode {
    /// No such run is under way.
    NoRun,
    /// The message is bound to another manifest.
    OtherManifest,
    /// The sender is no member of the run, or was revoked.
    NotAMember,
    /// The answer has another shape or grid than was agreed.
    Shape,
    /// No such question was asked of this site.
    NotAsked,
    /// Another answer to the same attempt was accepted before: two copies of the site are alive. It is frozen.
    Conflict,
    /// The site is frozen until an operator has looked into it.
    Frozen,
    /// A signature does not fit.
    Signature,
    /// The message cannot be understood.
    Malformed,
    /// The server cannot keep anything just now; the same bytes may be sent again.
    Unavailable,
}

impl std::fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoRun => "the server has no run yet",
            Self::OtherManifest => "the server serves another run",
            Self::NotAMember => "this party is not a member of the run, or was revoked",
            Self::Shape => "the answer does not have the agreed shape",
            Self::NotAsked => "the server did not ask this question",
            Self::Conflict => {
                "the server already has another answer to the same question: two copies of this site are running"
            }
            Self::Frozen => {
                "this site is frozen: two copies of it were running, or its ledger was restored from an old copy"
            }
            Self::Signature => "the signature is not valid",
            Self::Malformed => "the message cannot be understood",
            Self::Unavailable => "the server cannot store anything at the moment",
        })
    }
}

impl RefusalCode {
    /// All, in the order of their numbers on the wire, from 1.
    pub const ALL: [Self; 10] = [
        Self::NoRun,
        Self::OtherManifest,
        Self::NotAMember,
        Self::Shape,
        Self::NotAsked,
        Self::Conflict,
        Self::Frozen,
        Self::Signature,
        Self::Malformed,
        Self::Unavailable,
    ];

    /// Whether it is about the server as it is now, and not about what was said: the same bytes may be taken later. A server
    /// that comes or goes has no run for a moment.
    pub fn is_passing(self) -> bool {
        matches!(self, Self::NoRun | Self::OtherManifest | Self::Unavailable)
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunOutcome {
    /// All rounds were made.
    Complete,
    /// No site's budget covers another answer.
    Spent,
    /// Too few sites are left for the agreed quorum.
    QuorumLost,
    /// The optimisation diverged, or an answer could not be folded.
    Failed,
    /// Attempts at sums failed, or rounds were lost, and most of them because of this member. The wire says `Failed` and names it.
    SumFailed(MemberId),
}

impl RunOutcome {
    /// One word, for monitors.
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Spent => "spent",
            Self::QuorumLost => "quorum-lost",
            Self::Failed => "failed",
            Self::SumFailed(_) => "sum-failed",
        }
    }

    /// All that have a number on the wire, in the order of these numbers, from 1.
    pub const ALL: [Self; 4] = [Self::Complete, Self::Spent, Self::QuorumLost, Self::Failed];
}

/// A site or a node speaks to the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// What is there for me?
    Attend {
        /// The end of the sender's log; none of a node.
        position: Option<Position>,
        /// Milliseconds for which the reply may be held back.
        wait: u32,
        /// The sender has seen the signatures of all.
        begun: bool,
        /// What it is at: an answer that has no receipt yet, or a sum. It is not told of that again.
        unsettled: Option<Attempt>,
        /// The number of the last message that it has read.
        mail: u64,
        /// A node has been told that no more contributions are awaited.
        closed: bool,
    },
    /// The manifest is signed.
    Agree {
        /// The sender's signature of the manifest's digest.
        signature: Signature,
    },
    /// The site does not answer a question.
    Decline {
        /// The attempt that was asked.
        at: Attempt,
        /// The reason, from a fixed list.
        reason: DeclineReason,
    },
    /// An answer.
    Update(Update),
    /// To be carried to nodes and clients of a secure sum.
    Letters(Vec<SealedMessage>),
    /// All shares of the sender's answer are held.
    Contributed {
        /// The attempt that was asked.
        at: Attempt,
        /// Digest of the question.
        question: Digest,
        /// Where its charge is in the site's log.
        position: Position,
    },
    /// How a node stands in an attempt at a sum.
    Standing {
        /// The attempt that the node reports on.
        at: Attempt,
        /// How it stands.
        state: NodeState,
    },
    /// A new certificate, please.
    Renew {
        /// A certificate signing request.
        request: Vec<u8>,
    },
}

/// The server speaks to a site or a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Instruction {
    /// Look at this manifest and sign it.
    Propose {
        /// Its canonical bytes.
        manifest: Vec<u8>,
    },
    /// All have signed.
    Begin {
        /// Of sites, nodes and server, in the order of the manifest.
        signatures: Vec<Signature>,
    },
    /// Answer this.
    Ask {
        /// Which attempt at which round.
        at: Attempt,
        /// The algorithm's question, in canonical bytes.
        query: Vec<u8>,
    },
    /// What became of an answer.
    Receipt {
        /// The attempt that was answered.
        at: Attempt,
        /// What is in the total of it; none if it came too late.
        applied: Option<Vec<u8>>,
    },
    /// The answer is durable; a receipt follows when the round is folded.
    Held {
        /// The attempt that was answered.
        at: Attempt,
    },
    /// Refused, and nothing changed.
    Refuse(RefusalCode),
    /// Nothing to do now.
    Rest,
    /// The run is over.
    Finished(RunOutcome),
    /// A node's part in an attempt at a sum.
    Session {
        /// Which attempt at which round.
        at: Attempt,
        /// The question that the sum is about.
        query: Vec<u8>,
        /// No more contributions are awaited.
        close: bool,
    },
    /// Letters of a secure sum, with their numbers.
    Mail(Vec<(u64, SealedMessage)>),
    /// A new certificate.
    Certificate {
        /// The party's certificate and the issuing one, in PEM.
        chain: String,
    },
}

/// A party of a run, by its number in the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MemberId {
    /// A site.
    Site(usize),
    /// A compute node.
    Node(u32),
    /// The server.
    Server,
}

/// A message of a secure sum on its way, which only its receiver can read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedMessage {
    /// Who wrote it.
    pub from: MemberId,
    /// The member that can open it.
    pub to: MemberId,
    /// Which attempt at which sum.
    pub at: Attempt,
    /// Digest of the question that the sum is about.
    pub question: Digest,
    /// The encapsulated key; empty where there is nothing to hide.
    pub key: Vec<u8>,
    /// The message, encrypted if there is a key.
    pub sealed: Vec<u8>,
    /// Of the sender, over all of the above and the manifest.
    pub signature: Signature,
}

/// How a node stands in an attempt at a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeState {
    /// It has published its part, or found that it had.
    Published,
    /// It will not publish in this attempt, and has that on its own record: the attempt opens nothing.
    Renounced(Renunciation),
}
