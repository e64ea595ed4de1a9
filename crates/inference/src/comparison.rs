//! Differences between a method's held-out scores and those of the baselines, paired over seeds.
//!
//! Seeds differ in which rows are held out and in noise; methods of one seed share the split. Paired
//! differences cancel what the split does to both, so that small differences are seen with few seeds.

use crate::results::{MethodResult, Summary};
use crate::score::{Score, Scores};
use serde::{Deserialize, Serialize};

/// A difference is seen where it is at least this many of its standard errors.
pub const SEEN_FROM: f64 = 2.0;

/// The baselines that every method is compared with, by their algorithm, in the order in which they are shown.
pub const BASELINES: [&str; 3] = ["non-private", "local-only", "constant"];

/// One method beside one baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name of the baseline in the results.
    pub to: String,
    /// Its algorithm, one of [`BASELINES`].
    pub baseline: String,
    /// The method's scores less the baseline's, of those that are compared. There is always one of [`MAIN`](crate::score::MAIN).
    #[serde(flatten)]
    pub differences: Scores<Difference>,
}

impl Comparison {
    /// The difference in the score by which methods are compared.
    pub fn main(&self) -> Option<&Difference> {
        self.differences.main()
    }
}

/// The mean of one number for each seed, with its standard error.
///
/// Both methods see the same split in a seed, so differences are taken seed by seed: what a split does to both cancels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Mean over seeds.
    pub mean: f64,
    /// Sample standard deviation of the differences over the root of their number; none of fewer than two seeds.
    pub standard_error: Option<f64>,
    /// Seeds in which both were scored.
    pub seeds: usize,
    /// Whether it is at least [`SEEN_FROM`] standard errors from 0; none without a standard error.
    pub seen: Option<bool>,
}

impl Difference {
    /// `one` less `other`, seed by seed. None where seeds are missing or a score is not a finite number.
    pub fn paired(one: &Summary, other: &Summary) -> Option<Self> {
        let alike = one.per_seed.len() == other.per_seed.len() && !one.per_seed.is_empty();
        let each = Summary::of(one.per_seed.iter().zip(&other.per_seed).map(|(a, b)| a - b).collect());
        if !alike || !each.mean.is_finite() || !each.sd.is_finite() {
            return None;
        }
        let seeds = each.per_seed.len();
        let standard_error = (seeds > 1).then(|| each.sd / (seeds as f64).sqrt());
        let seen = standard_error.map(|error| each.mean != 0.0 && each.mean.abs() >= SEEN_FROM * error);
        Some(Self { mean: each.mean, standard_error, seeds, seen })
    }
}

/// The number of the baseline with this algorithm: the program's own, or else the study's first method of that kind.
pub fn baseline(methods: &[MethodResult], algorithm: &str) -> Option<usize> {
    let all = || methods.iter().enumerate().filter(|(_, method)| method.algorithm == algorithm);
    all().find(|(_, method)| method.baseline).or_else(|| all().next()).map(|(number, _)| number)
}

/// Whether anything may be compared with this method: it has a score, and a search that it rests on has converged. Every
/// comparison asks here, and nowhere else.
pub fn comparable(method: &MethodResult) -> bool {
    method.main_score().is_finite() && method.is_comparable()
}

/// The method with this number beside every baseline that it can be compared with, itself apart.
pub fn comparisons(methods: &[MethodResult], number: usize) -> Vec<Comparison> {
    let Some(method) = methods.get(number) else { return Vec::new() };
    let beside = |algorithm: &str| {
        let other = &methods[baseline(methods, algorithm).filter(|other| *other != number)?];
        if !comparable(method) || !comparable(other) {
            return None;
        }
        let paired = |score: &Score, one: &Summary| Difference::paired(one, other.scores.get(score.name)?);
        let differences = method.scores.map(|score, one| paired(score, one).filter(|_| score.compared));
        differences.main()?;
        Some(Comparison { to: other.name.clone(), baseline: algorithm.to_owned(), differences })
    };
    BASELINES.into_iter().filter_map(beside).collect()
}

/// The difference to the constant answer in log-likelihood where the method is behind it.
///
/// Any mean under 0 counts: a method that may be worse than no inputs at all is not one to recommend.
pub fn behind_constant(methods: &[MethodResult], number: usize) -> Option<Comparison> {
    let behind = |c: &Comparison| c.baseline == "constant" && c.main().is_some_and(|difference| difference.mean < 0.0);
    comparisons(methods, number).into_iter().find(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Summary {
        Summary::of(values.to_vec())
    }

    #[test]
    fn differences_are_paired_and_their_error_is_that_of_the_pairs() {
        // Seeds differ by much, the methods by 0.1 in each: unpaired, nothing would be seen.
        let difference = Difference::paired(&of(&[-1.0, -2.0, -3.0]), &of(&[-1.1, -2.125, -3.075])).unwrap();
        assert!((difference.mean - 0.1).abs() < 1e-12, "{difference:?}");
        let expected = 0.025 / 3.0_f64.sqrt();
        assert!((difference.standard_error.unwrap() - expected).abs() < 1e-12, "{difference:?}");
        assert_eq!((difference.seeds, difference.seen), (3, Some(true)));
    }

    #[test]
    fn under_two_standard_errors_nothing_is_seen_and_one_seed_has_none() {
        let unseen = Difference::paired(&of(&[0.5, -0.4]), &of(&[0.0, 0.0])).unwrap();
        assert_eq!((unseen.seen, unseen.seeds), (Some(false), 2));
        let one = Difference::paired(&of(&[0.5]), &of(&[0.0])).unwrap();
        assert_eq!((one.mean, one.standard_error, one.seen), (0.5, None, None));
        let equal = Difference::paired(&of(&[0.5, 0.5]), &of(&[0.5, 0.5])).unwrap();
        assert_eq!((equal.standard_error, equal.seen), (Some(0.0), Some(false)));
    }

    #[test]
    fn seeds_that_are_missing_or_not_numbers_give_no_difference() {
        assert_eq!(Difference::paired(&of(&[0.5]), &of(&[0.5, 0.1])), None);
        assert_eq!(Difference::paired(&of(&[0.5, f64::NAN]), &of(&[0.5, 0.1])), None);
        assert_eq!(Difference::paired(&of(&[]), &of(&[])), None);
    }
}
