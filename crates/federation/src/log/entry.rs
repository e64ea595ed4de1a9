//! What a site's log says.

use privacy::noise::Digest;
use privacy::{Grant, LedgerRecord, LifetimeCap, PromisePair};
use serde::{Deserialize, Serialize};

/// The name of a run: the first bytes of its manifest's digest.
pub type RunId = [u8; 16];

/// A place in a site's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The number of a record, from 1; 0 is the place before the first.
    pub sequence: u64,
    /// Its digest; zeros before the first.
    pub digest: Digest,
}

/// One attempt at the answer of one round of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAttempt {
    /// The run.
    pub run: RunId,
    /// The round.
    pub round: u64,
    /// The attempt.
    pub attempt: u64,
}

/// One record's content. New kinds are added at the end, and none is ever changed: old logs stay readable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LogEntry {
    /// A run was accepted: its manifest and everybody's signatures, and what it may spend here.
    Accepted {
        /// The run.
        run: RunId,
        /// Digest of the manifest.
        manifest: Digest,
        /// ε that is granted.
        epsilon: f64,
        /// δ that is granted.
        delta: f64,
        /// Manifest and signatures.
        bytes: Vec<u8>,
    },
    /// A record of the run's ledger: the grant, or a charge for the answer to a question.
    Charge {
        /// For which attempt.
        turn: RunAttempt,
        /// Digest of the question.
        question: Digest,
        /// The ledger's own record, with its own chain.
        record: LedgerRecord,
    },
    /// An answer that follows from what was released before: no charge.
    Free {
        /// The attempt that the record is about.
        turn: RunAttempt,
    },
    /// The bytes of an answer, before they were sent for the first time.
    Outbox {
        /// The attempt that the record is about.
        turn: RunAttempt,
        /// What is sent, and sent again.
        bytes: Vec<u8>,
    },
    /// The shares of an answer are held by all nodes of a secure sum.
    Contributed {
        /// The attempt that the record is about.
        turn: RunAttempt,
    },
    /// The server's receipt.
    Settled {
        /// The attempt that the record is about.
        turn: RunAttempt,
        /// What of the answer is in the total.
        applied: Vec<u8>,
    },
    /// This attempt's answer will never be in a total. Its charge stays: it is burnt.
    Lapsed {
        /// The attempt that the record is about.
        turn: RunAttempt,
    },
    /// The run is over for this site.
    Closed {
        /// The run.
        run: RunId,
    },
    /// Whose log this is: the name in its certificates, which stays the same with a new key.
    Owner {
        /// The site's name.
        name: String,
    },
    /// The one charge of a round in a run of secure sums. Every attempt of the round is for this question and these terms, and is
    /// covered by it.
    RoundCharged {
        /// The first attempt that the site takes part in.
        turn: RunAttempt,
        /// Digest of the question.
        question: Digest,
        /// Digest of the terms of the sum.
        terms: Digest,
        /// The ledger's own record, with its own chain.
        record: LedgerRecord,
    },
    /// In a later attempt of a charged round, the same contribution is split again with fresh seeds. Not a charge.
    Retried {
        /// The attempt.
        turn: RunAttempt,
    },
    /// The site went down, and makes the answer anew under the last charge: at a local gate because none was ever sent, in a secure
    /// sum for a later attempt of the same round. Not a charge.
    Resumed {
        /// The attempt that is answered.
        turn: RunAttempt,
        /// Digest of the question.
        question: Digest,
    },
    /// What the site promises for all its runs from here on: the numbers of its policy.
    Policy {
        /// The cap.
        cap: LifetimeCap,
    },
    /// A run was accepted, with everything that it may charge. Until the run is closed, all of it is reserved.
    AcceptedGrant {
        /// The run.
        run: RunId,
        /// Digest of the manifest.
        manifest: Digest,
        /// For which neighbours the run promises.
        pair: PromisePair,
        /// What it may spend here.
        grant: Grant,
        /// Manifest and signatures.
        bytes: Vec<u8>,
    },
}

impl LogEntry {
    /// The run that it belongs to, if it is about one.
    pub fn run(&self) -> Option<&RunId> {
        match self {
            Self::Owner { .. } | Self::Policy { .. } => None,
            Self::Accepted { run, .. } | Self::AcceptedGrant { run, .. } | Self::Closed { run } => Some(run),
            Self::Charge { turn, .. }
            | Self::Free { turn }
            | Self::Outbox { turn, .. }
            | Self::Contributed { turn }
            | Self::Settled { turn, .. }
            | Self::Lapsed { turn }
            | Self::RoundCharged { turn, .. }
            | Self::Retried { turn }
            | Self::Resumed { turn, .. } => Some(&turn.run),
        }
    }

    /// The record of the run's ledger in it: the grant or a charge.
    pub fn ledger_record(&self) -> Option<&LedgerRecord> {
        match self {
            Self::Charge { record, .. } | Self::RoundCharged { record, .. } => Some(record),
            _ => None,
        }
    }

    /// The attempt that it is about.
    pub fn turn(&self) -> Option<RunAttempt> {
        match self {
            Self::Accepted { .. }
            | Self::AcceptedGrant { .. }
            | Self::Closed { .. }
            | Self::Owner { .. }
            | Self::Policy { .. } => None,
            Self::Charge { turn, .. }
            | Self::Free { turn }
            | Self::Outbox { turn, .. }
            | Self::Contributed { turn }
            | Self::Settled { turn, .. }
            | Self::Lapsed { turn }
            | Self::RoundCharged { turn, .. }
            | Self::Retried { turn }
            | Self::Resumed { turn, .. } => Some(*turn),
        }
    }
}

/// What a site remembers in a run. It may be private, so it is kept beside the log, and is never sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemorySnapshot {
    /// The run.
    pub run: RunId,
    /// The last record of the log when it was kept.
    pub sequence: u64,
    /// The algorithm's memory.
    pub memory: Vec<u8>,
    /// Round, attempt and draft of an answer that has no receipt yet.
    pub draft: Option<(u64, u64, Vec<u8>)>,
}
