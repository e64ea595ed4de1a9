//! A client's view of a run: its rows, and the constants that were agreed for it.
//!
//! [`Terms`] are public constants of the study, fixed before the run. [`ClientView`] joins them with
//! the rows of one client and is the only way by which solvers and algorithms see rows.

use crate::Shard;
use privacy::{Adjacency, Event, NoiseMultiplier, PrivacyError, Shape, StudyConstant, Trust, sensitivity_factor};
use serde::Serialize;

/// Where in a client's plan an answer is.
///
/// [`Algorithm::stage`](crate::algorithm::Algorithm::stage) says it by the question, or the number of
/// a client's answers does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "u32")]
pub enum Stage {
    /// Among the first answers, where these have terms of their own: of the k-th kind, counted from 0.
    Opening(u8),
    /// After them. Most methods have no other.
    Main,
}

impl From<Stage> for u32 {
    /// The number by which terms are told apart in digests: the first opening is 0, what comes after all of them 1, and the
    /// openings between 2, 3, ….
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Opening(0) => 0,
            Stage::Main => 1,
            Stage::Opening(k) => Self::from(k) + 1,
        }
    }
}

/// Answers of a client before the main ones, on terms of their own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Opening {
    /// How many.
    pub answers: u64,
    /// What was agreed for each.
    pub terms: Terms,
}

/// What one answer of a client costs and how its sums are clipped: constants of the study, fixed before the run.
///
/// Both sides know them: the planner made the event and the shape, the ledger charges the event, the
/// gate takes sums of this shape only. A client whose terms differ from what the method releases
/// refuses to answer, before it charges anything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Terms {
    /// Which answers these terms are for.
    pub stage: Stage,
    /// What one answer is charged as.
    pub event: Event,
    /// The shape of the sums that its gate takes.
    pub shape: Shape,
    /// w: the client's share of the public total, where only sums are opened. Shares add up to one.
    pub weight: f64,
    /// What the sum over all clients is noised by, where that was sized for another clip than this client's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<SumTerms>,
}

/// What the sum over all clients is noised by, where clients clip to bounds of their own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SumTerms {
    /// The noise, in units of the sensitivity that it was sized for.
    pub event: Event,
    /// The shape that it was sized for.
    pub shape: Shape,
}

impl StudyConstant for Terms {}

impl Terms {
    /// Event and shape by which the sum over all clients is noised, where only that is opened: of all clients the same.
    pub fn summed(&self) -> (&Event, &Shape) {
        self.sum.as_ref().map_or((&self.event, &self.shape), |sum| (&sum.event, &sum.shape))
    }

    /// Deviation of the noise in each coordinate of a release: z times the sensitivity; 0 where nothing is promised.
    pub fn noise_deviation(&self) -> f64 {
        let (event, shape) = self.summed();
        let factor = sensitivity_factor(shape.grain(), event.unit(), event.adjacency(), Trust::Aggregate);
        let z = event.noise_multiplier().map_or(0.0, NoiseMultiplier::get);
        z * factor.unwrap_or(0) as f64 * shape.bound().get()
    }

    /// The bound to which vectors without negative coordinates are clipped in this client's sums.
    ///
    /// √2·C under substitution ([`privacy::Bounded::non_negative`]), C under add-remove.
    pub fn non_negative_bound(&self) -> f64 {
        match self.event.adjacency() {
            Adjacency::Substitute => self.shape.non_negative_bound(),
            Adjacency::AddRemove => self.shape.bound().get(),
        }
    }

    /// 1/q: what turns the sum over a batch into an estimate of the sum over all rows.
    pub fn inverse_rate(&self) -> f64 {
        1.0 / self.event.sampling().rate()
    }
}

/// Where a client answers from.
#[derive(Debug, Clone, Copy)]
pub struct ClientView<'a> {
    /// The client's number.
    pub index: usize,
    /// Its rows.
    pub shard: &'a Shard,
    /// What was agreed for it.
    pub terms: &'a Terms,
}

impl ClientView<'_> {
    /// The rows of part k of K, for every k, such that neighbours in the charged relation differ in one part only.
    pub(crate) fn parts(&self, count: u32, key: u64) -> Result<Vec<Vec<usize>>, PrivacyError> {
        let event = &self.terms.event;
        self.shard.keys().parts((event.unit(), event.adjacency()), count as usize, key)
    }
}
