//! What a step of the coordinator asks to be kept, all of it in one transaction, before a reply leaves.

use crate::identity::PublicKey;
use crate::log::Position;
use crate::message::{Attempt, SealedMessage, Update};
use privacy::GridVector;
use privacy::noise::Digest;
use serde::{Deserialize, Serialize};

/// What has changed. The header is always written with it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Change {
    /// Whether anything has changed, be it the header alone.
    pub dirty: bool,
    /// Whether there may be something new for anybody: a beginning, an end, a question, a sum that closes. Not kept.
    pub wakes: bool,
    /// Answers that were accepted.
    pub accepted: Vec<AcceptedAnswer>,
    /// Folds, in their order.
    pub folds: Vec<Fold>,
    /// The algorithm's state, if it was folded into.
    pub state: Option<Vec<u8>>,
    /// The question that is asked now, if it is another.
    pub query: Option<Vec<u8>>,
    /// Receipts for answers that were folded, or came too late.
    pub receipts: Vec<AnswerReceipt>,
    /// Whether all messages stored before are to be removed, before those below are stored.
    pub cleared: bool,
    /// Messages on their way, with their numbers.
    pub posted: Vec<(u64, SealedMessage)>,
    /// Numbers of messages that have arrived.
    pub delivered: Vec<u64>,
    /// Places of sites' logs that came with accepted answers.
    pub heads: Vec<(PublicKey, Position)>,
}

/// An answer that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptedAnswer {
    /// The site.
    pub site: usize,
    /// Its answer.
    pub update: Update,
    /// Digest of the signed bytes.
    pub digest: Digest,
}

/// What was folded at once: with the accepted answers, the state can be made again from nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fold {
    /// The number of the fold, from 0.
    pub number: u64,
    /// The round in which it happened.
    pub round: u64,
    /// What was folded.
    pub of: FoldInput,
}

/// What was folded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FoldInput {
    /// Answers of these sites, in this order.
    Each(Vec<(usize, Attempt)>),
    /// The sum of the answers of these sites, as it was opened.
    Sum {
        /// The sum, noised.
        total: GridVector,
        /// Whose answers are in it.
        from: Vec<usize>,
    },
}

/// What became of a site's last answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerReceipt {
    /// The site.
    pub site: usize,
    /// The attempt that the answer was for.
    pub at: Attempt,
    /// What of it is in the total; none if it came too late.
    pub applied: Option<Vec<u8>>,
}

impl Change {
    /// The header has changed.
    pub(super) fn header() -> Self {
        Self { dirty: true, ..Self::default() }
    }

    /// The header has changed, and anybody may have something to hear.
    pub(super) fn waking() -> Self {
        Self { dirty: true, wakes: true, ..Self::default() }
    }

    /// Adds what a later step has changed: a group of steps is kept at once.
    pub fn merge(&mut self, later: Self) {
        self.dirty |= later.dirty;
        self.wakes |= later.wakes;
        if later.cleared {
            self.cleared = true;
            self.posted.clear();
            self.delivered.clear();
        }
        self.posted.extend(later.posted);
        self.delivered.extend(later.delivered);
        self.heads.extend(later.heads);
        self.accepted.extend(later.accepted);
        self.folds.extend(later.folds);
        self.receipts.extend(later.receipts);
        self.state = later.state.or(self.state.take());
        self.query = later.query.or(self.query.take());
    }
}
