//! What a site has granted to all its runs together, and for which promise.

use privacy::{Adjacency, Event, Unit};

/// What a site has granted to earlier runs, together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrantTotals {
    /// ε, added up.
    pub epsilon: f64,
    /// δ, added up.
    pub delta: f64,
    /// What the runs have promised. The two sums mean something only where it is one promise.
    pub promised: PromiseScope,
}

/// The neighbouring relation and the unit that a promise is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromisePair {
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// What one neighbour differs in: a row, or all rows of a site.
    pub unit: Unit,
}

impl PromisePair {
    /// The pair of an event.
    pub(crate) fn of(event: &Event) -> Self {
        Self { adjacency: event.adjacency(), unit: event.unit() }
    }
}

/// The relation and the unit of some runs' promises. Losses of different ones do not add up: a row replaced is another change of
/// the data than a row added, and a site's whole data another than a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromiseScope {
    /// No run has a promise on record.
    Nothing,
    /// All runs have this one.
    One(PromisePair),
    /// At least two runs have different promises.
    Several,
}

impl PromiseScope {
    /// This and a run with that relation and unit.
    #[must_use]
    pub fn and(self, pair: PromisePair) -> Self {
        match self {
            Self::Nothing => Self::One(pair),
            Self::One(known) if known == pair => self,
            Self::One(_) | Self::Several => Self::Several,
        }
    }
}

impl GrantTotals {
    /// The totals of a site that has granted nothing yet.
    pub const NOTHING: Self = Self { epsilon: 0.0, delta: 0.0, promised: PromiseScope::Nothing };

    /// This and one grant more, rounded upwards: by simple composition both together are no more than that.
    #[must_use]
    pub fn and(self, epsilon: f64, delta: f64) -> Self {
        Self { epsilon: add_up(self.epsilon, epsilon), delta: add_up(self.delta, delta), ..self }
    }

    /// This, with the promise of one of the runs.
    #[must_use]
    pub fn promising(self, pair: PromisePair) -> Self {
        Self { promised: self.promised.and(pair), ..self }
    }
}

/// a + b, rounded upwards. What rounding to the nearest lost is known exactly (Knuth's two-sum): where it lost something, the
/// next number is taken.
pub(super) fn add_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let of_b = sum - a;
    let lost = (a - (sum - of_b)) + (b - of_b);
    if lost > 0.0 { sum.next_up() } else { sum }
}
