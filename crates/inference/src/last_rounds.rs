//! The last rounds of a run against the exact posterior, and the one parameter of a conjugate model.

use crate::Gaussian;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Rounds over which what is served is averaged: noise moves q about from round to round.
const LAST_ROUNDS: usize = 10;

/// What one run made of the only parameter of a conjugate model, beside the exact posterior of all rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OneParameter {
    /// The seed of the run.
    pub seed: u64,
    /// The parameter that made-up rows were drawn with; none where nobody knows it.
    pub truth: Option<f64>,
    /// Precision, and precision times mean, of the exact posterior.
    pub exact: [f64; 2],
    /// The same of q, each the mean of the last ten rounds.
    pub served: [f64; 2],
}

impl OneParameter {
    /// Precision of q over that of the exact posterior: over 1 where q is too sure.
    pub fn precision_ratio(&self) -> f64 {
        self.served[0] / self.exact[0]
    }
}

/// Precision, and precision times mean, of a Gaussian with one parameter; none of one with more.
pub(crate) fn natural_pair(q: &Gaussian) -> Option<[f64; 2]> {
    match (q.mean(), q.variances().as_slice()) {
        ([mean], [variance]) => Some([variance.recip(), mean / variance]),
        _ => None,
    }
}

/// The last ten rounds.
#[derive(Debug, Default)]
pub(crate) struct LastRounds {
    /// KL(q ‖ exact posterior) of each.
    divergences: VecDeque<f64>,
    /// Of a model with one parameter.
    pairs: VecDeque<[f64; 2]>,
}

impl LastRounds {
    /// Takes what is served after a round.
    pub(crate) fn take(&mut self, served: &Gaussian, exact: &Gaussian) {
        self.divergences.push_back(served.kl(exact));
        self.pairs.extend(natural_pair(served));
        self.divergences.drain(..self.divergences.len().saturating_sub(LAST_ROUNDS));
        self.pairs.drain(..self.pairs.len().saturating_sub(LAST_ROUNDS));
    }

    /// Mean divergence; none before the first round.
    pub(crate) fn divergence(&self) -> Option<f64> {
        mean(self.divergences.iter().copied())
    }

    /// The one parameter, where the model has one.
    pub(crate) fn parameter(&self, seed: u64, exact: Option<&Gaussian>) -> Option<OneParameter> {
        let each = |index: usize| mean(self.pairs.iter().map(|pair| pair[index]));
        let served = [each(0)?, each(1)?];
        Some(OneParameter { seed, truth: None, exact: natural_pair(exact?)?, served })
    }
}

/// The mean; none of nothing.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let count = values.len();
    (count > 0).then(|| values.sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mean: f64, variance: f64) -> Gaussian {
        Gaussian::new_diagonal(vec![mean], vec![variance]).unwrap()
    }

    #[test]
    fn the_last_ten_rounds_are_averaged_in_natural_parameters() {
        let exact = of(1.0, 0.25);
        let mut last = LastRounds::default();
        assert_eq!((last.divergence(), last.parameter(7, Some(&exact))), (None, None));
        // Two rounds that are forgotten, then five with precision 2 and five with precision 6, all of mean 0.5.
        for variance in [1e3, 1e3].into_iter().chain([0.5; 5]).chain([1.0 / 6.0; 5]) {
            last.take(&of(0.5, variance), &exact);
        }
        let found = last.parameter(7, Some(&exact)).unwrap();
        assert_eq!((found.seed, found.exact), (7, [4.0, 4.0]));
        assert!((found.served[0] - 4.0).abs() < 1e-12 && (found.served[1] - 2.0).abs() < 1e-12, "{found:?}");
        assert!((found.precision_ratio() - 1.0).abs() < 1e-12);
        let two = 0.5 * (of(0.5, 0.5).kl(&exact) + of(0.5, 1.0 / 6.0).kl(&exact));
        assert!((last.divergence().unwrap() - two).abs() < 1e-12);
    }

    #[test]
    fn a_model_with_more_parameters_has_divergences_alone() {
        let exact = Gaussian::new_diagonal(vec![0.0; 2], vec![1.0; 2]).unwrap();
        let mut last = LastRounds::default();
        last.take(&exact, &exact);
        assert_eq!((last.divergence(), last.parameter(1, Some(&exact))), (Some(0.0), None));
    }
}
