//! The relation and the unit of a promise, and the theorems that carry a cost from one pair to another.

use crate::accounting::group::{group_privacy, of_group};
use crate::{Adjacency, Delta, Epsilon, Event, PrivacyError, Steps, Unit};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The neighbouring relation and the unit that a promise is for.
///
/// # Examples
///
/// ```
/// use privacy::{Adjacency, Event, NoiseMultiplier, PromisePair, Steps, Unit};
///
/// let event = Event::gaussian(NoiseMultiplier::new(8.0)?, Adjacency::Substitute, Steps::ONE);
/// let pair = PromisePair::of(&event);
/// assert_eq!(pair, PromisePair { adjacency: Adjacency::Substitute, unit: Unit::Example });
/// assert_eq!(pair.to_string(), "substitute of one example");
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromisePair {
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// What one neighbour differs in: a row, all rows of a person, or all rows of a site.
    pub unit: Unit,
}

impl fmt::Display for PromisePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of one {}", self.adjacency, self.unit)
    }
}

/// By what a cost for one pair bounds the cost for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairTheorem {
    /// Neighbours of the new pair are neighbours of the old one.
    Fewer,
    /// Neighbours of the new pair are two steps of the old one apart: one unit is removed, another is added.
    TwoSteps,
}

impl PromisePair {
    /// The pair of an event.
    pub fn of(event: &Event) -> Self {
        Self { adjacency: event.adjacency(), unit: event.unit() }
    }

    /// The theorem that bounds costs for `to` by costs for this pair.
    ///
    /// To replace one row of a client is to replace the client, so that under substitution a promise for clients is one for
    /// rows. To replace a unit is to remove one and to add another. Nothing bounds a row more or less by replacements (their
    /// number is public there), rows by persons (a new row may belong to another person), or persons by rows.
    fn theorem(self, to: Self) -> Result<PairTheorem, PrivacyError> {
        let unit = self.unit == to.unit
            || (self.unit == Unit::Client && to.unit == Unit::Example && to.adjacency == Adjacency::Substitute);
        match (unit, self.adjacency, to.adjacency) {
            (true, from, to) if from == to => Ok(PairTheorem::Fewer),
            (true, Adjacency::AddRemove, Adjacency::Substitute) => Ok(PairTheorem::TwoSteps),
            _ => Err(PrivacyError::NoTheorem {
                what: format!("a promise for {to} by one for {self}"),
                why: "neighbours of the first are not a bounded number of neighbours of the second apart",
                hint: "ask for a study with the relation and the unit of the site's policy",
            }),
        }
    }

    /// Checks that some theorem bounds costs for `to` by costs for this pair.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::NoTheorem`] if none does.
    pub fn check_bounds(self, to: Self) -> Result<(), PrivacyError> {
        self.theorem(to).map(drop)
    }

    /// True if every cost for this pair is one for `to` as it stands.
    pub(super) fn is_same_cost(self, to: Self) -> bool {
        self.theorem(to) == Ok(PairTheorem::Fewer)
    }

    /// An event of this pair as an event of `to`; none where only the (ε, δ) of a whole run converts.
    ///
    /// Two units move an unsampled sum by two sensitivities, so that z becomes z/2 (`group::of_group`). Under sampling the two
    /// are not one pair with less noise.
    pub(super) fn convert(self, to: Self, event: &Event) -> Result<Option<Event>, PrivacyError> {
        let seen = match self.theorem(to)? {
            PairTheorem::Fewer => event.clone(),
            PairTheorem::TwoSteps => {
                let Some(seen) =
                    of_group(std::slice::from_ref(event), two()?).ok().and_then(|events| events.into_iter().next())
                else {
                    return Ok(None);
                };
                seen
            }
        };
        Event::new(seen.mechanism().clone(), to.adjacency, to.unit, *seen.sampling(), seen.steps()).map(Some)
    }

    /// (ε, δ) of a whole run for this pair, as (ε, δ) for `to`: the same, or that of a group of two (`group::group_privacy`).
    pub(super) fn convert_whole(
        self,
        to: Self,
        epsilon: Epsilon,
        delta: Delta,
    ) -> Result<(Epsilon, Delta), PrivacyError> {
        match self.theorem(to)? {
            PairTheorem::Fewer => Ok((epsilon, delta)),
            PairTheorem::TwoSteps => group_privacy(epsilon, delta, two()?),
        }
    }
}

/// How many units a replacement touches where one is removed and another is added.
fn two() -> Result<Steps, PrivacyError> {
    Steps::new(2)
}
