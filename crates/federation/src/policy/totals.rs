//! What was granted to several runs, by simple composition.

use privacy::accounting::add_up;

/// What several runs were granted, added up: the bound of simple composition, for people to compare with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrantTotals {
    /// ε, added up.
    pub epsilon: f64,
    /// δ, added up.
    pub delta: f64,
}

impl GrantTotals {
    /// The totals of a site that has granted nothing yet.
    pub const NOTHING: Self = Self { epsilon: 0.0, delta: 0.0 };

    /// This and one grant more, rounded upwards.
    #[must_use]
    pub fn and(self, epsilon: f64, delta: f64) -> Self {
        Self { epsilon: add_up(self.epsilon, epsilon), delta: add_up(self.delta, delta) }
    }
}
