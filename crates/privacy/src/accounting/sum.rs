//! Compensated summation: the sum of any number of numbers of one sign, right to two units in the last place.
//!
//! A law of a million atoms is summed many times; plain summation would lose the digits that decide a small δ.

/// A running sum and what rounding has taken from it.
///
/// Neumaier 1974: the rounding error of each addition is itself a float, and is summed beside. For terms of one sign
/// the relative error is at most 2u + O(N u²), with u = 2⁻⁵³ and N terms.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CompensatedSum {
    total: f64,
    lost: f64,
}

impl CompensatedSum {
    /// Adds one term and keeps what rounding takes from the total.
    pub(crate) fn add(&mut self, term: f64) {
        let total = self.total + term;
        self.lost +=
            if self.total.abs() >= term.abs() { (self.total - total) + term } else { (term - total) + self.total };
        self.total = total;
    }

    /// The sum so far.
    pub(crate) fn get(&self) -> f64 {
        self.total + self.lost
    }
}

impl FromIterator<f64> for CompensatedSum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut sum = Self::default();
        for term in terms {
            sum.add(term);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_tenths_are_a_hundred_thousand() {
        let plain: f64 = (0..1_000_000).map(|_| 0.1).sum();
        let sum: CompensatedSum = (0..1_000_000).map(|_| 0.1).collect();
        assert!((plain - 1e5).abs() > 1e-7, "plain summation is the contrast: {plain}");
        assert!((sum.get() - 1e5).abs() <= 2e-11, "{}", sum.get());
    }
}
