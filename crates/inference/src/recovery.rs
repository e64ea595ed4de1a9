//! How well a posterior recovers coefficients that are known, as they are where labels are drawn: a score of a posterior
//! against the truth, and not of predictions.

use crate::results::Summary;
use crate::{Gaussian, Quantiles, Record};
use serde::{Deserialize, Serialize};

/// Nominal levels of the intervals, and the standard normal quantile that each reaches to.
const LEVELS: [(f64, f64); 4] = [
    (0.5, 0.674_489_750_196_081_7),
    (0.8, 1.281_551_565_544_600_4),
    (0.9, 1.644_853_626_951_472_4),
    (0.95, 1.959_963_984_540_054),
];

/// One posterior against the coefficients that its rows were drawn with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// Of each nominal level of [`Recovery::nominal`] the share of coefficients, the intercept included, whose marginal interval holds the
    /// true one.
    pub covered: [f64; 4],
    /// Root of the mean squared difference between posterior means and true coefficients.
    pub root_squared_error: f64,
}

impl Recovery {
    /// Nominal levels: .5, .8, .9, .95.
    pub fn nominal() -> [f64; 4] {
        LEVELS.map(|(nominal, _)| nominal)
    }

    /// What a run serves against the truth: by its quantiles where the posterior is no Gaussian. None where they are of different
    /// lengths, or empty.
    pub fn of(record: &Record, truth: &[f64]) -> Option<Self> {
        let found = Self::of_gaussian(&record.posterior, truth)?;
        let Some(quantiles) = record.quantiles.as_ref().filter(|all| all.len() == truth.len()) else {
            return Some(found);
        };
        let n = truth.len() as f64;
        let share = |nominal: f64| {
            let inside = |(quantiles, truth): &(&Quantiles, &f64)| {
                quantiles.interval(nominal).is_some_and(|(low, high)| (low..=high).contains(*truth))
            };
            quantiles.iter().zip(truth).filter(inside).count() as f64 / n
        };
        Some(Self { covered: Self::nominal().map(share), ..found })
    }

    /// A Gaussian posterior against the truth.
    pub fn of_gaussian(posterior: &Gaussian, truth: &[f64]) -> Option<Self> {
        let (mean, deviation) = (posterior.mean(), posterior.deviations());
        if truth.is_empty() || mean.len() != truth.len() {
            return None;
        }
        let n = truth.len() as f64;
        let errors: Vec<f64> = mean.iter().zip(truth).map(|(m, t)| (m - t).abs()).collect();
        let inside = |reach: f64| errors.iter().zip(&deviation).filter(|(e, s)| **e <= reach * **s).count() as f64 / n;
        let squares: f64 = errors.iter().map(|e| e * e).sum();
        Some(Self { covered: LEVELS.map(|(_, reach)| inside(reach)), root_squared_error: (squares / n).sqrt() })
    }
}

/// The same over all seeds of a study: seeds are replicates, each with coefficients, rows and noise of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecoveryResult {
    /// One for each nominal level.
    pub coverage: Vec<CoverageResult>,
    /// Root of the mean squared error of the posterior means.
    pub root_squared_error: Summary,
}

/// Coverage of the intervals of one nominal level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoverageResult {
    /// What they say of themselves.
    pub nominal: f64,
    /// The share of coefficients that they hold.
    pub covered: Summary,
}

impl RecoveryResult {
    /// Of all seeds; none of no seeds, or where one knows no coefficients.
    pub fn of(seeds: &[Option<&Recovery>]) -> Option<Self> {
        let seeds: Vec<&Recovery> = seeds.iter().copied().collect::<Option<_>>()?;
        if seeds.is_empty() {
            return None;
        }
        let at = |level: usize| Summary::of(seeds.iter().map(|seed| seed.covered[level]).collect());
        let levels = Recovery::nominal().into_iter().enumerate();
        let coverage = levels.map(|(level, nominal)| CoverageResult { nominal, covered: at(level) }).collect();
        let errors = seeds.iter().map(|seed| seed.root_squared_error).collect();
        Some(Self { coverage, root_squared_error: Summary::of(errors) })
    }

    /// Coverage of intervals with this nominal level.
    pub fn at(&self, nominal: f64) -> Option<&Summary> {
        self.coverage.iter().find(|level| level.nominal == nominal).map(|level| &level.covered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_what_lies_within_their_reach() {
        // Errors of .5, 1, 1.5, 1.8 and 3 standard deviations.
        let truth = [0.5, -1.0, 3.0, 1.8 * 3.0, 6.0];
        let posterior = Gaussian::new_diagonal(vec![0.0; 5], vec![1.0, 1.0, 4.0, 9.0, 4.0]).unwrap();
        let found = Recovery::of_gaussian(&posterior, &truth).unwrap();
        assert_eq!(found.covered, [0.2, 0.4, 0.6, 0.8]);
        let squares: f64 = truth.iter().map(|t| t * t).sum();
        assert!((found.root_squared_error - (squares / 5.0).sqrt()).abs() < 1e-12);
        assert_eq!(Recovery::of_gaussian(&posterior, &truth[..4]), None);
    }

    #[test]
    fn seeds_are_summarised_level_by_level_and_one_without_truth_has_none() {
        let seed = |covered, root_squared_error| Recovery { covered, root_squared_error };
        let (a, b) = (seed([0.5, 0.8, 1.0, 1.0], 0.1), seed([0.3, 0.6, 0.8, 1.0], 0.3));
        let both = RecoveryResult::of(&[Some(&a), Some(&b)]).unwrap();
        assert_eq!(both.at(0.9).unwrap().per_seed, [1.0, 0.8]);
        assert!((both.root_squared_error.mean - 0.2).abs() < 1e-12 && both.at(0.7).is_none());
        assert_eq!((RecoveryResult::of(&[Some(&a), None]), RecoveryResult::of(&[])), (None, None));
    }
}
