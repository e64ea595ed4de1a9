//! What inference by levels asks of a site.

use super::looks::CentredInputs;
use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LevelsQuestion {
    /// Frequencies, means and squares.
    FirstLook,
    /// Second moments of centred and scaled inputs.
    SecondLook(AskedInputs),
    /// Scores at a point.
    Level {
        /// Which level, from 0.
        level: u8,
        /// How rows are centred and scaled.
        inputs: AskedInputs,
        /// Coefficients of the inputs as they are.
        theta: Vec<f64>,
    },
}

/// How rows are centred and scaled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedInputs {
    /// m̂ of each input but the intercept.
    pub centre: Vec<f64>,
    /// s, the intercept's last.
    pub scales: Vec<f64>,
    /// ρ.
    pub norm: f64,
}

impl AskedInputs {
    /// What a site is told of these inputs.
    pub(super) fn of(inputs: &CentredInputs) -> Self {
        Self { centre: inputs.centre().to_vec(), scales: inputs.scales().to_vec(), norm: inputs.expected_norm() }
    }

    /// The same, ready to be applied to rows.
    pub(super) fn inputs(&self) -> CentredInputs {
        CentredInputs::new(self.centre.clone(), self.scales.clone(), self.norm)
    }

    /// Finite centres, and scales and a norm over 0, for d parameters.
    pub(super) fn is_sound(&self, d: usize) -> bool {
        let positive = |x: &f64| x.is_finite() && *x > 0.0;
        let lengths = self.centre.len() + 1 == d && self.scales.len() == d;
        lengths && self.centre.iter().all(|m| m.is_finite()) && self.scales.iter().all(positive) && positive(&self.norm)
    }
}
