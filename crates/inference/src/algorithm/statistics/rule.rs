//! Rules of sufficient statistics: what of a row is released, and how it is bounded.
//!
//! A row z = (x, y) is mapped to a vector whose norm is bounded, and the vectors are summed. Rules
//! differ in the map, hence in the sensitivity of the sum and in the bias that bounding brings. All
//! have the same questions ([`RowSums`]), so that sites need to know no rule.

pub mod inputs;
pub mod plain;
pub mod projected;
pub mod row_norm;

pub use inputs::InputPerturbation;
pub use plain::PlainProducts;
pub use projected::Projected;
pub use row_norm::{Deviations, RowNorm};

use super::StatisticsReading;
use crate::RunError;
use crate::describe::{Allowed, Canonical, Conflict, Descriptor, Key, Keys, Limits, Otherwise, ValueKind};
use crate::method::BoundWords;
use crate::regression::SyntheticSearch;
use crate::release::BudgetShare;
use crate::solve::RowSums;
use privacy::Unit;
use std::fmt;

/// What of a row is released. Implemented by a rule's settings, in its own file. Bounds are those of
/// the encoded inputs and the outcome alike.
///
/// A rule that needs standard deviations asks for them in a first round, for a share of the budget:
/// then [`Rule::asked`] is called without deviations first.
pub trait Rule: fmt::Debug + Canonical + Send + Sync {
    /// How it is found and read.
    fn descriptor(&self) -> &'static Descriptor<dyn Rule>;

    /// What it is, in a few words.
    fn describe(&self) -> String;

    /// What is asked of d inputs and the outcome with these standard deviations, or before any are known.
    fn asked(&self, deviations: Option<&[f64]>, thresholds: [f64; 2], d: usize) -> RowSums;

    /// The share of the budget that a first round for standard deviations costs; none without such a round.
    fn deviations_share(&self) -> Option<BudgetShare> {
        None
    }

    /// The share of the budget that a round before all others costs, for means within the assumed bound; none where the data are
    /// taken as they are.
    fn means_share(&self) -> Option<BudgetShare> {
        None
    }

    /// Standard deviations from noisy variances whose noise has this standard deviation.
    fn deviations(&self, variances: &[f64], noise: f64) -> Vec<f64> {
        super::shrunk_deviations(variances, noise)
    }

    /// How its sums may be read, the default first.
    fn readings(&self) -> &'static [StatisticsReading];

    /// Projection thresholds of inputs and outcome, in standard deviations; ones where nothing is projected.
    fn thresholds(&self, _search: &SyntheticSearch) -> Result<[f64; 2], RunError> {
        Ok([1.0; 2])
    }

    /// The bound ±c that values are assumed to have; none where nothing is assumed.
    fn assumed_bound(&self) -> Option<f64> {
        None
    }

    /// Whether values are cut to the assumed bound before they are multiplied, so that an intercept of 1 is cut too.
    fn cuts_values(&self) -> bool {
        false
    }

    /// What it can be combined with.
    fn limits(&self) -> Limits {
        self.descriptor().limits
    }

    /// What bounds a row, in words.
    fn bounds(&self) -> BoundWords;

    /// Refuses numbers outside their range.
    fn check(&self) -> Result<(), Conflict> {
        let number = self.assumed_bound().unwrap_or(1.0);
        let shares = [self.deviations_share(), self.means_share()].into_iter().flatten();
        let share_of = |share| match share {
            BudgetShare::OfBudget(share) | BudgetShare::OfMu(share) => share,
        };
        let shares: Vec<f64> = shares.map(share_of).collect();
        let sum = shares.iter().sum::<f64>();
        if number.is_finite() && number > 0.0 && shares.iter().all(|share| *share > 0.0) && sum < 1.0 {
            return Ok(());
        }
        let what = "bounds are finite numbers over 0, and the shares of means and standard deviations are over 0 and together under 1";
        Err(Conflict::new("statistics", crate::describe::VALUE, what, "for example bound = 7.5, share = 0.2"))
    }
}

/// `statistics.bound`
pub(super) const BOUND_KEY: Key = Key::new("bound", ValueKind::Positive, "7.5")
    .about("the bound that inputs and outcome are assumed to have, as encoded")
    .otherwise(Otherwise::Follows("the largest encoded value by the schema's bounds"));

/// The stand-in of a bound that was left out. It is refused where a plan is made.
pub(super) const UNSTATED_BOUND: f64 = f64::MAX;

/// `bound`, or its stand-in.
fn bound(keys: &Keys<'_>) -> Result<f64, Conflict> {
    Ok(keys.maybe_number("bound")?.unwrap_or(UNSTATED_BOUND))
}

/// Rows only: what is read off the sums needs the number of rows, which is private where persons are protected.
pub(super) const BY_ROWS: Allowed<Unit> = Allowed {
    values: &[Unit::Example],
    because: "its sums are read with the number of rows, which is private where persons are protected",
};

/// "values cut to ±7.5"
pub(in crate::algorithm::statistics) fn cut(bound: f64) -> String {
    format!("values cut to ±{bound}")
}
