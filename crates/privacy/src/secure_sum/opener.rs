//! The opener: adds up the partial sums of all nodes, once.
//!
//! It needs no secret and may be anybody. All it can do wrong is to fail: noise and sets are the nodes' business.

use super::message::{Body, Message, SumEffect, SumParty, WordVector};
use super::{Assembly, ClientSet, Partial, SumError, SumSession};
use crate::noise::Digest;
use crate::{GridVector, PrivacyError, Released};

/// Whoever learns the total: the server, a node, anybody. It needs the partial sums of all K nodes over one set.
pub struct Opener {
    assembly: Assembly,
    session: SumSession,
    total: WordVector,
    seen: Vec<Option<PartialSummary>>,
    failed: Option<SumError>,
}

/// What is kept of a partial sum that is in the total.
#[derive(Clone, PartialEq)]
struct PartialSummary {
    digest: Digest,
    set: ClientSet,
    fingerprint: u64,
}

impl Opener {
    /// An opener for one session on its own terms.
    pub fn new(assembly: &Assembly, session: &SumSession) -> Result<Self, PrivacyError> {
        assembly.check(session)?;
        let total = WordVector::zeros(assembly.shape().dimension());
        let seen = vec![None; assembly.nodes() as usize];
        Ok(Self { assembly: assembly.clone(), session: *session, total, seen, failed: None })
    }

    /// Takes a partial sum from a party that the transport has authenticated; the last one opens the total.
    ///
    /// # Errors
    ///
    /// A [`SumError`] for a message that does not belong here, and where nodes disagree or too few clients are in the set.
    pub fn handle(&mut self, from: SumParty, message: &Message) -> Result<Vec<SumEffect>, SumError> {
        message.check(&self.session, from)?;
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let Body::Partial(partial) = &message.body else {
            let (found, expected) = ("another kind".into(), "a partial sum".into());
            return Err(SumError::Misdirected { what: "a message", found, expected });
        };
        partial.words.check("a partial sum", self.assembly.shape().dimension())?;
        partial.set.check(self.assembly.cohort().clients())?;
        let seen = PartialSummary {
            digest: partial.digest,
            set: partial.set.clone(),
            fingerprint: partial.words.fingerprint(),
        };
        match self.seen.get(partial.node as usize).cloned() {
            None => Err(SumError::Misdirected {
                what: "a partial sum",
                found: format!("node {}", partial.node),
                expected: format!("one of {} nodes", self.assembly.nodes()),
            }),
            Some(Some(known)) if known != seen => {
                Err(SumError::Conflict { what: "partial sum", from: SumParty::Node(partial.node) })
            }
            Some(Some(_)) => Ok(Vec::new()),
            Some(None) => self.add(partial, seen),
        }
    }

    /// Adds a partial sum that agrees with the others, over enough clients; the last one opens the total.
    fn add(&mut self, partial: &Partial, new: PartialSummary) -> Result<Vec<SumEffect>, SumError> {
        let differs = |seen: &Option<PartialSummary>| {
            seen.as_ref().is_some_and(|seen| (seen.digest, &seen.set) != (new.digest, &new.set))
        };
        if let Some(node) = self.seen.iter().position(differs) {
            return self.fail(SumError::Disagreement { node: node as u32, other: partial.node });
        }
        let (found, expected) = (new.set.count(), self.assembly.cohort().quorum());
        if found < expected {
            return self.fail(SumError::TooFew { found, expected });
        }
        self.total.add(&partial.words);
        let contributors = new.set.clone();
        self.seen[partial.node as usize] = Some(new);
        if self.missing().is_some() {
            return Ok(Vec::new());
        }
        let units = self.total.get().iter().map(|&word| word as i64).collect();
        let total = Released::by_gate(GridVector::new(self.assembly.shape().grid(), units));
        Ok(vec![SumEffect::Opened { total, contributors }])
    }

    /// Why the total is not open; none if it is.
    pub fn missing(&self) -> Option<SumError> {
        if let Some(error) = &self.failed {
            return Some(error.clone());
        }
        let absent = (0..).zip(&self.seen).filter(|(_, seen)| seen.is_none()).map(|(node, _)| node);
        let nodes: Vec<u32> = absent.collect();
        (!nodes.is_empty()).then_some(SumError::Missing { what: "the partial sum is", nodes })
    }

    /// The attempt is over: every later message gets the same error.
    fn fail(&mut self, error: SumError) -> Result<Vec<SumEffect>, SumError> {
        self.failed = Some(error.clone());
        Err(error)
    }
}
