//! Held-out rows as scores see them: what was predicted beside what was found.

use crate::model::Prediction;

/// z for which a normal variable lies within ±z with probability 90 in 100.
pub(super) const REACH: f64 = 1.644_853_626_951_472_7;

/// Predictions and outcomes of the same rows, in the same order.
///
/// ```
/// use inference::score::HeldOut;
/// use inference::Prediction;
/// let predictions = [Prediction::Probability(0.9), Prediction::Probability(0.4)];
/// let held_out = HeldOut { predictions: &predictions, outcomes: &[1.0, 1.0] };
/// assert_eq!(held_out.probabilities().map(|(p, one)| (1.0 - p) * f64::from(u8::from(one))).sum::<f64>(), 0.7);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct HeldOut<'a> {
    /// What was predicted for each row.
    pub predictions: &'a [Prediction],
    /// What was found.
    pub outcomes: &'a [f64],
}

/// The row of an outcome that is a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberRow {
    /// Predicted mean.
    pub mean: f64,
    /// Predicted standard deviation.
    pub deviation: f64,
    /// What was found.
    pub outcome: f64,
}

impl NumberRow {
    /// How far the predicted mean is off, in either direction.
    pub fn error(&self) -> f64 {
        self.mean - self.outcome
    }
}

impl<'a> HeldOut<'a> {
    /// Every row.
    pub fn rows(&self) -> impl Iterator<Item = (&'a Prediction, f64)> + use<'a> {
        self.predictions.iter().zip(self.outcomes.iter().copied())
    }

    /// The probability of the predicted class and whether it was right, for rows that are classified.
    pub fn classified(&self) -> impl Iterator<Item = (f64, bool)> + use<'a> {
        self.rows().filter_map(|(prediction, y)| match prediction {
            Prediction::Probability(p) => Some((p.max(1.0 - p), (*p >= 0.5) == (y >= 0.5))),
            Prediction::Classes(p) => {
                let (class, most) = p.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
                Some((*most, class as f64 == y))
            }
            Prediction::Normal { .. } => None,
        })
    }

    /// P(y = 1) and whether y was 1, where there are two classes.
    pub fn probabilities(&self) -> impl Iterator<Item = (f64, bool)> + use<'a> {
        self.rows().filter_map(|(prediction, y)| match prediction {
            Prediction::Probability(p) => Some((*p, y >= 0.5)),
            Prediction::Classes(_) | Prediction::Normal { .. } => None,
        })
    }

    /// Rows whose outcome is a number.
    pub fn numbers(&self) -> impl Iterator<Item = NumberRow> + use<'a> {
        self.rows().filter_map(|(prediction, outcome)| match prediction {
            Prediction::Probability(_) | Prediction::Classes(_) => None,
            Prediction::Normal { mean, deviation } => Some(NumberRow { mean: *mean, deviation: *deviation, outcome }),
        })
    }
}

/// The mean; none of no numbers.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / count as f64)
}
