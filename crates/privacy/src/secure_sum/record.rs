//! What a node must have kept before it speaks: after a restart it says the same again, or nothing.
//!
//! A driver keeps one record for each run and node and replaces it by [`NodeRecord::replace`] only, which refuses to go back.

use super::{ClientSet, SumError, SumParty, SumSession, WordVector};
use crate::noise::Digest;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// A node's part of the total, with the digest of the set that it is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partial {
    /// The node that computed it.
    pub node: u32,
    /// Digest of session, set and holdings, equal at all nodes.
    pub digest: Digest,
    /// The clients whose shares are in it.
    pub set: ClientSet,
    /// Shares of these clients, and the node's noise, modulo 2^64.
    pub words: WordVector,
}

/// Why a node will not publish in an attempt. It names parties and nothing that they hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Renunciation {
    /// It went down, and what it held is gone.
    Lost,
    /// Fewer clients are in the set that the nodes share than the terms need.
    TooFew,
    /// It has no such sum: the question has no terms, or the round has another question.
    Terms,
    /// Another node confirmed a different set.
    Disagreement {
        /// The node that differs.
        with: u32,
    },
    /// A vector is in a total that needs a mask which a node does not hold. Only where vectors are too many to be kept apart.
    Incomplete {
        /// The client whose vector it is.
        client: u64,
    },
}

impl Renunciation {
    /// What an attempt that ended with this error is renounced for.
    pub fn of(error: &SumError) -> Self {
        match *error {
            SumError::Lost { .. } | SumError::Renounced { why: Self::Lost, .. } => Self::Lost,
            SumError::TooFew { .. } => Self::TooFew,
            SumError::Disagreement { other, .. } => Self::Disagreement { with: other },
            SumError::Incomplete { client, .. } => Self::Incomplete { client },
            SumError::Renounced { why, .. } => why,
            _ => Self::Terms,
        }
    }
}

/// How far a node has come in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeProgress {
    /// It has drawn its noise and takes contributions; these are not kept, so a restart here ends the attempt.
    Started,
    /// It has confirmed a set; its partial sum is fixed, and goes out when all nodes have confirmed the same.
    Prepared(Partial),
    /// All nodes have confirmed the set: the partial sum is public.
    Published(Partial),
    /// It will not publish in this attempt. It has not, and what it held is wiped.
    Renounced(Renunciation),
}

impl NodeProgress {
    /// The order of progress, for comparison.
    fn step(&self) -> u8 {
        match self {
            Self::Started => 0,
            Self::Prepared(_) => 1,
            Self::Published(_) | Self::Renounced(_) => 2,
        }
    }

    /// The partial sum, once it is fixed.
    fn partial(&self) -> Option<&Partial> {
        match self {
            Self::Started | Self::Renounced(_) => None,
            Self::Prepared(partial) | Self::Published(partial) => Some(partial),
        }
    }
}

/// The last thing that a node has kept of a run. A driver has one for each run and node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// The session that the node was in.
    pub session: SumSession,
    /// Digest of the question of the session's round: a round has one.
    pub question: Digest,
    /// The node that keeps the record.
    pub node: u32,
    /// How far it has come.
    pub progress: NodeProgress,
    /// The clients whose shares it held when it told the others: a node that comes back tells them again.
    pub held: ClientSet,
}

impl NodeRecord {
    /// Keeps this record in the place of an earlier one; the same one again changes nothing.
    ///
    /// Refused are an older one ([`SumError::Past`]), one of a round that was published in another attempt
    /// ([`SumError::Published`]), one of an attempt that was renounced ([`SumError::Renounced`]), another partial sum in one session
    /// ([`SumError::Conflict`]), another question in one round ([`SumError::OtherQuestion`]), one of another run, and one of
    /// other terms in the same session; a later session may have other terms. So what is kept only moves forward, in whatever order records come, and of a machine that was
    /// overtaken by a later attempt nothing leaves.
    pub fn replace(self, kept: &mut Option<Self>) -> Result<(), SumError> {
        if let Some(last) = kept {
            last.check_next(&self)?;
        }
        *kept = Some(self);
        Ok(())
    }

    /// Refuses a record that would take the node back, or that contradicts what it has said.
    fn check_next(&self, next: &Self) -> Result<(), SumError> {
        if next.node != self.node {
            return Err(SumError::Misdirected {
                what: "a record",
                found: SumParty::Node(next.node).to_string(),
                expected: SumParty::Node(self.node).to_string(),
            });
        }
        let later = self.is_before(&next.session)?;
        self.check_question(next.session.round, &next.question)?;
        if later || self.progress == next.progress {
            return Ok(());
        }
        if let NodeProgress::Renounced(why) = self.progress {
            return Err(self.renounced(why));
        }
        if next.progress.step() < self.progress.step() {
            return Err(self.past());
        }
        match (&self.progress, &next.progress) {
            (NodeProgress::Prepared(_), NodeProgress::Renounced(_)) => return Ok(()),
            (NodeProgress::Published(_), NodeProgress::Renounced(_)) => return Err(self.published()),
            _ => {}
        }
        match self.progress.partial() {
            Some(known) if next.progress.partial() != Some(known) => {
                Err(SumError::Conflict { what: "partial sum", from: SumParty::Node(self.node) })
            }
            _ => Ok(()),
        }
    }

    /// True if a session is later than the record's, false if it is the very same; any other is refused.
    pub(super) fn is_before(&self, session: &SumSession) -> Result<bool, SumError> {
        let kept = self.session;
        if kept.run != session.run {
            kept.check(session)?;
        }
        match (kept.round, kept.attempt).cmp(&(session.round, session.attempt)) {
            Ordering::Greater => Err(self.past()),
            Ordering::Less if kept.round == session.round && matches!(self.progress, NodeProgress::Published(_)) => {
                Err(self.published())
            }
            Ordering::Less => Ok(true),
            Ordering::Equal => kept.check(session).map(|()| false),
        }
    }

    /// Refuses another question for the round of the record.
    pub(super) fn check_question(&self, round: u64, question: &Digest) -> Result<(), SumError> {
        if self.session.round == round && self.question != *question {
            return Err(SumError::OtherQuestion { node: self.node, round });
        }
        Ok(())
    }

    /// The error that names the attempt in which the node has published.
    fn published(&self) -> SumError {
        SumError::Published { node: self.node, round: self.session.round, attempt: self.session.attempt }
    }

    /// The error that names the attempt in which the node will not publish.
    pub(super) fn renounced(&self, why: Renunciation) -> SumError {
        SumError::Renounced { node: self.node, round: self.session.round, attempt: self.session.attempt, why }
    }

    /// The error that names where the node is already.
    fn past(&self) -> SumError {
        SumError::Past { node: self.node, round: self.session.round, attempt: self.session.attempt }
    }
}
