//! A pair of finite distributions on the same outcomes.
//!
//! Any mechanism whose worst pair of neighbours has finitely many outcomes can be written down as two columns of
//! probabilities. It is how a mechanism that this crate does not know is accounted for, if its pair is proved elsewhere.

use crate::PrivacyError;
use serde::{Deserialize, Serialize};

/// Probabilities of every outcome under two neighbouring data sets, P and Q.
///
/// Accountants treat both directions, (P, Q) and (Q, P), separately and report the larger.
///
/// # Examples
///
/// ```
/// use privacy::FinitePair;
///
/// let pair = FinitePair::new(vec![(0.75, 0.25), (0.25, 0.75)])?;
/// assert_eq!(pair.len(), 2);
/// assert!(FinitePair::new(vec![(0.5, 0.5)]).is_err(), "columns sum to one");
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(f64, f64)>", into = "Vec<(f64, f64)>")]
pub struct FinitePair(Vec<(f64, f64)>);

impl FinitePair {
    /// Checks that both columns are probabilities and sum to one up to rounding (8e-16).
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] for numbers outside 0 to 1, or a column whose sum is not one.
    pub fn new(outcomes: Vec<(f64, f64)>) -> Result<Self, PrivacyError> {
        let bad = |found: String| PrivacyError::Parameter {
            name: "finite pair",
            found,
            expected: "two columns of probabilities that each sum to one",
        };
        let (mut p_total, mut q_total) = (0.0, 0.0);
        for &(p, q) in &outcomes {
            if !((0.0..=1.0).contains(&p) && (0.0..=1.0).contains(&q)) {
                return Err(bad(format!("a row ({p}, {q})")));
            }
            p_total += p;
            q_total += q;
        }
        if (p_total - 1.0_f64).abs() > 8e-16 || (q_total - 1.0_f64).abs() > 8e-16 {
            return Err(bad(format!("columns with sums {p_total} and {q_total}")));
        }
        Ok(Self(outcomes))
    }

    /// Number of outcomes, those that neither distribution can produce included.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True for the pair without outcomes, which does not exist.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// (P, Q) of every outcome.
    pub fn outcomes(&self) -> &[(f64, f64)] {
        &self.0
    }
}

impl TryFrom<Vec<(f64, f64)>> for FinitePair {
    type Error = PrivacyError;
    fn try_from(outcomes: Vec<(f64, f64)>) -> Result<Self, PrivacyError> {
        Self::new(outcomes)
    }
}

impl From<FinitePair> for Vec<(f64, f64)> {
    fn from(pair: FinitePair) -> Self {
        pair.0
    }
}
