//! What a coordinator knows of a run besides the algorithm's state: who was asked what, and who has answered.

use super::Failures;
use crate::identity::Signature;
use crate::log::Position;
use crate::message::{Attempt, RunOutcome};
use privacy::noise::Digest;
use serde::{Deserialize, Serialize};

/// Everything but the algorithm's state and the answers themselves. Small, and written whole with every change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Where the run is.
    pub phase: CoordinatorPhase,
    /// Rounds made.
    pub round: u64,
    /// How often answers were folded into the state: its version.
    pub folds: u64,
    /// Answers folded in this round of an asynchronous run.
    pub arrivals: u64,
    /// The site that was asked last, where one is asked after the other.
    pub turn: usize,
    /// The sites, in the order of the manifest.
    pub sites: Vec<SiteProgress>,
    /// Signatures of the nodes, in the order of the manifest.
    pub nodes: Vec<Option<Signature>>,
    /// The server's own signature.
    pub server: Signature,
    /// The attempt at the sum of this round, where only sums are opened.
    pub session: u64,
    /// Whether nodes are told that no more contributions are awaited.
    pub closing: bool,
    /// How many messages were posted: the number of the last one.
    pub letters: u64,
    /// Attempts at sums that have failed, and rounds that were lost. In the bytes it follows everything else.
    #[serde(skip)]
    pub failures: Failures,
}

impl Header {
    /// The bytes that are kept.
    pub fn bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        let mut bytes = postcard::to_allocvec(self)?;
        bytes.extend(postcard::to_allocvec(&self.failures)?);
        Ok(bytes)
    }

    /// Reads what [`Header::bytes`] gives, or a header that ends before the failures. Bytes that are left over are an error.
    pub fn read(bytes: &[u8]) -> Result<Self, postcard::Error> {
        let (header, rest) = postcard::take_from_bytes::<Self>(bytes)?;
        if rest.is_empty() {
            return Ok(header);
        }
        match postcard::take_from_bytes(rest)? {
            (failures, []) => Ok(Self { failures, ..header }),
            _ => Err(postcard::Error::DeserializeBadEncoding),
        }
    }
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CoordinatorPhase {
    /// Waiting for signatures.
    Signing,
    /// All have signed, and rounds are under way.
    Running,
    /// The run has ended, with this outcome.
    Finished(RunOutcome),
}

/// What is known of a site.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SiteProgress {
    /// Its signature of the manifest.
    pub signature: Option<Signature>,
    /// The question that it is to answer.
    pub asked: Option<PendingQuestion>,
    /// Questions that it did not answer in time; an answer is still taken, for it was paid for.
    pub earlier: Vec<PendingQuestion>,
    /// The last answer that was accepted, by the digest of its bytes.
    pub accepted: Option<(Attempt, Digest)>,
    /// How many of its answers were accepted.
    pub answers: u64,
    /// The attempt that its next question in this round will have.
    pub attempt: u64,
    /// Whether more can be asked of it.
    pub standing: SiteStanding,
    /// The last place of its log that came with an accepted answer.
    pub seen: Option<Position>,
    /// The last place of its log that came with a poll, in a secure sum: an answer may be in a total before its site says so.
    pub polled: Option<Position>,
}

/// Whether more can be asked of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SiteStanding {
    /// It can be asked.
    #[default]
    Active,
    /// Its budget covers no more.
    Spent,
    /// It has refused or stopped.
    Withdrawn,
    /// Two copies of it are alive, or its log went backwards: an operator has to look.
    Frozen,
}

/// A question that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// Which attempt at which round.
    pub at: Attempt,
    /// Digest of the question.
    pub question: Digest,
    /// The version of the state that it was made from.
    pub folds: u64,
}

impl SiteProgress {
    /// The question that an answer belongs to, the present one or an earlier one.
    pub(super) fn question(&self, at: Attempt, question: &Digest) -> Option<AnsweredQuestion> {
        let fits = |asked: &PendingQuestion| asked.at == at && asked.question == *question;
        if self.asked.as_ref().is_some_and(fits) {
            return Some(AnsweredQuestion::Now);
        }
        self.earlier.iter().any(fits).then_some(AnsweredQuestion::Earlier)
    }

    /// Takes back the question, which may still be answered later.
    pub(super) fn pass_over(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.earlier.push(asked);
            // A site has one answer under way at most; a handful covers asynchronous questions that were renewed.
            let surplus = self.earlier.len().saturating_sub(8);
            self.earlier.drain(..surplus);
        }
    }

    /// The last place of its log that is known of: a log that ends before it is an old copy.
    pub fn known(&self) -> Option<Position> {
        self.seen.max(self.polled)
    }

    /// Whether more can be asked of it.
    pub(super) fn is_active(&self) -> bool {
        self.standing == SiteStanding::Active
    }
}

/// Which of a site's questions an answer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnsweredQuestion {
    /// The question that the site is asked now.
    Now,
    /// One that it did not answer in time.
    Earlier,
}
