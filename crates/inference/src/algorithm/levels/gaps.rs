//! What of the releases could not be read, and the warning about it.
//!
//! Both counts follow from releases, which are public: so does the warning.

use super::design::LEVELS;
use super::readout::DRAWS;
use crate::warning::{Code, Warning};
use serde::{Deserialize, Serialize};

/// Levels and draws for which a matrix had no factor in floating-point numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ReadoutGaps {
    /// Levels after which no posterior could be computed, from 0. Their scores are read with those of later levels.
    pub(super) levels: Vec<usize>,
    /// Draws of the inputs' covariance that are missing in what is served.
    pub(super) draws: usize,
}

impl ReadoutGaps {
    /// W014: what is missing, and what that means for the intervals.
    pub(super) fn warning(&self) -> Option<Warning> {
        let last = self.levels.contains(&(LEVELS - 1));
        let (what, hint) = match (last, self.draws, self.levels.len()) {
            (true, ..) => (
                "no posterior could be computed from all levels: what is served is that of an earlier one".to_owned(),
                "do not read its intervals; run the study with fewer inputs or a larger ε",
            ),
            (false, 0, 0) => return None,
            (false, 0, missing) => (
                format!(
                    "{missing} of {LEVELS} levels could not be read when they came, and were read with a later one"
                ),
                "intervals count what was released; more ε or fewer inputs make them narrower",
            ),
            (false, missing, _) => (
                format!("{missing} of {DRAWS} draws of the inputs' covariance could not be computed and are left out"),
                "the intervals may be too narrow; use fewer inputs or a larger ε",
            ),
        };
        Some(Warning { code: Code::PartlyRead, what, hint: hint.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let said = |levels: &[usize], draws| ReadoutGaps { levels: levels.to_vec(), draws }.warning();
        assert_eq!(said(&[], 0), None);
        let (late, few, none) = (said(&[2, 3], 0).unwrap(), said(&[2], 5).unwrap(), said(&[LEVELS - 1], 0).unwrap());
        assert!(late.what.starts_with("2 of 11 levels"), "{}", late.what);
        assert!(few.what.starts_with("5 of 12 draws"), "{}", few.what);
        assert!(none.what.contains("an earlier one"), "{}", none.what);
        assert!([late, few, none].iter().all(|warning| warning.code == Code::PartlyRead));
    }
}
