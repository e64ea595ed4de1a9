//! R-hat, effective sample sizes and Monte Carlo standard errors of released draws.
//!
//! Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021: *Rank-Normalization, Folding, and Localization: An Improved R̂ for
//! Assessing Convergence of MCMC*, Bayesian Analysis 16 (arXiv:1903.08008). Values agree with ArviZ (`tests/diagnostics.rs`).

use super::Draws;
use super::beta;
use super::effective::{effective_size, mean, variance};
use super::ranks::normal_scores;
use crate::RunError;
use serde::Serialize;

/// The levels of the quantiles that are told.
pub const LEVELS: [f64; 3] = [0.05, 0.5, 0.95];
/// Halves of a chain need two draws each.
const FEWEST: usize = 4;
/// Φ(−1) and Φ(1).
const ONE_DEVIATION: [f64; 2] = [0.158_655_253_931_457_05, 0.841_344_746_068_542_9];

/// One parameter's draws in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnostics {
    /// The parameter.
    pub name: String,
    /// Mean of all draws.
    pub mean: f64,
    /// Their deviation.
    pub deviation: f64,
    /// Their quantiles at [`LEVELS`].
    pub quantiles: [f64; 3],
    /// How far to trust these. None where all draws are equal: a chain that never moved says nothing about convergence.
    pub convergence: Option<Convergence>,
}

/// How well chains have mixed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Convergence {
    /// Rank-normalised split R-hat, the larger of bulk and folded; over 1.01 chains disagree. Infinite if no chain moved.
    pub rhat: f64,
    /// Effective sample size in the bulk: of the normal scores.
    pub bulk: f64,
    /// Effective sample size in the tails: the smaller of those of the 5 % and 95 % quantiles.
    pub tail: f64,
    /// Monte Carlo standard error of the mean.
    pub error_of_mean: f64,
    /// Monte Carlo standard error of the deviation.
    pub error_of_deviation: f64,
    /// Monte Carlo standard errors of the quantiles at [`LEVELS`].
    pub error_of_quantiles: [f64; 3],
}

/// Diagnostics of every parameter, in the order of the draws. Refused: fewer than four iterations.
///
/// # Errors
/// [`RunError::Unusable`] of fewer than four iterations.
pub fn diagnose(draws: &Draws) -> Result<Vec<Diagnostics>, RunError> {
    if draws.iterations() < FEWEST {
        let found = draws.iterations();
        return Err(RunError::Unusable {
            what: format!("diagnostics: found {found} iterations, expected {FEWEST} or more; run longer chains"),
        });
    }
    let names = draws.names().iter().enumerate();
    Ok(names.map(|(index, name)| of_parameter(name, &draws.parameter(index))).collect())
}

/// One parameter's diagnostics.
fn of_parameter(name: &str, chains: &[Vec<f64>]) -> Diagnostics {
    let mut sorted = chains.concat();
    sorted.sort_by(f64::total_cmp);
    let moved = sorted.first() != sorted.last();
    Diagnostics {
        name: name.to_owned(),
        mean: mean(&sorted),
        deviation: variance(&sorted).sqrt(),
        quantiles: LEVELS.map(|level| quantile(&sorted, level)),
        convergence: moved.then(|| convergence(chains, &sorted)),
    }
}

/// What the chains say about each other; not all draws are equal.
fn convergence(chains: &[Vec<f64>], sorted: &[f64]) -> Convergence {
    let halves = split(chains);
    let scores = normal_scores(&halves);
    let at_level = LEVELS.map(|level| effective_at(chains, quantile(sorted, level)));
    let error_of_quantile = |k: usize| quantile_error(sorted, LEVELS[k], at_level[k]);
    Convergence {
        rhat: rhat(&scores).max(rhat(&normal_scores(&folded(&halves)))),
        bulk: effective_size(&scores),
        tail: at_level[0].min(at_level[2]),
        error_of_mean: (variance(sorted) / effective_size(&halves)).sqrt(),
        error_of_deviation: deviation_error(chains, mean(sorted)),
        error_of_quantiles: [0, 1, 2].map(error_of_quantile),
    }
}

/// The first and the last half of every chain; the middle draw of an odd number is in neither.
fn split(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let halves = |chain: &Vec<f64>| {
        let half = chain.len() / 2;
        [chain[..half].to_vec(), chain[chain.len() - half..].to_vec()]
    };
    chains.iter().flat_map(halves).collect()
}

/// |x − median|: chains that agree in location but not in scale disagree here.
fn folded(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut sorted = chains.concat();
    sorted.sort_by(f64::total_cmp);
    let median = quantile(&sorted, 0.5);
    chains.iter().map(|chain| chain.iter().map(|x| (x - median).abs()).collect()).collect()
}

/// R̂ = √(V̂/W), V̂ = (n − 1)/n · W + B/n (section 3.1): W is the mean variance within chains, B/n the variance of their means.
///
/// Infinite if no chain moved and they differ. Draws that are all equal (two values, folded) give 1.
fn rhat(chains: &[Vec<f64>]) -> f64 {
    let n = chains.first().map_or(0, Vec::len) as f64;
    let means: Vec<f64> = chains.iter().map(|chain| mean(chain)).collect();
    let variances: Vec<f64> = chains.iter().map(|chain| variance(chain)).collect();
    let (between, within) = (variance(&means), mean(&variances));
    if between == 0.0 && within == 0.0 { 1.0 } else { (between / within + (n - 1.0) / n).sqrt() }
}

/// Effective sample size for a quantile: that of the indicator x ≤ quantile (section 4).
fn effective_at(chains: &[Vec<f64>], quantile: f64) -> f64 {
    let indicator = |chain: &Vec<f64>| chain.iter().map(|&x| if x <= quantile { 1.0 } else { 0.0 }).collect();
    effective_size(&split(&chains.iter().map(indicator).collect::<Vec<_>>()))
}

/// The value under which a share of the draws lies, between neighbours in proportion. Equal neighbours give themselves, to
/// the last bit, so that indicators of repeated draws do not depend on rounding.
fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level * (sorted.len() as f64 - 1.0);
    let (low, part) = (place.floor() as usize, place.fract());
    let (a, b) = (sorted[low], sorted[(low + 1).min(sorted.len() - 1)]);
    if a == b { a } else { (1.0 - part) * a + part * b }
}

/// Monte Carlo standard error of a quantile (section 4.4): half the distance of the order statistics at the quantiles Φ(∓1) of
/// Beta(S_eff·level + 1, S_eff·(1 − level) + 1).
fn quantile_error(sorted: &[f64], level: f64, effective: f64) -> f64 {
    let all = sorted.len() as f64;
    let [low, high] =
        ONE_DEVIATION.map(|p| all * beta::quantile(p, effective * level + 1.0, effective * (1.0 - level) + 1.0));
    let (low, high) = (low.max(1.0).floor(), high.min(all).ceil());
    0.5 * (sorted[high as usize - 1] - sorted[low as usize - 1])
}

/// Monte Carlo standard error of the deviation, by the delta method: that of the mean of y = (x − mean)², over 2·deviation.
///
/// Var(√ȳ) ≈ Var(ȳ)/(4ȳ), Var(ȳ) = (mean of y² − ȳ²)/S_eff(y).
fn deviation_error(chains: &[Vec<f64>], centre: f64) -> f64 {
    let square = |chain: &Vec<f64>| chain.iter().map(|x| (x - centre) * (x - centre)).collect();
    let squares: Vec<Vec<f64>> = chains.iter().map(square).collect();
    let all = squares.concat();
    let first = mean(&all);
    let second = mean(&all.iter().map(|y| y * y).collect::<Vec<_>>());
    ((second - first * first).max(0.0) / effective_size(&split(&squares)) / (4.0 * first)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(chains: Vec<Vec<f64>>) -> Diagnostics {
        diagnose(&Draws::new(vec!["x".into()], chains).unwrap()).unwrap().remove(0)
    }

    #[test]
    fn a_chain_that_never_moved_says_nothing() {
        let told = named(vec![vec![0.1; 10], vec![0.1; 10]]);
        assert_eq!((told.mean, told.deviation), (0.1, 0.0));
        assert_eq!((told.quantiles, told.convergence), ([0.1; 3], None));
    }

    #[test]
    fn chains_that_never_moved_and_differ_have_infinite_rhat() {
        let told = named(vec![vec![1.0; 200], vec![2.0; 200]]).convergence.unwrap();
        assert_eq!(told.rhat, f64::INFINITY);
        assert!(told.bulk < 2.5 && told.error_of_mean > 0.3, "{told:?}");
    }

    #[test]
    fn two_values_have_finite_diagnostics() {
        let chain: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 10 % 2)).collect();
        let told = named(vec![chain.clone(), chain]).convergence.unwrap();
        let numbers = [told.rhat, told.bulk, told.tail, told.error_of_mean, told.error_of_deviation];
        assert!(numbers.iter().all(|x| x.is_finite()), "{told:?}");
    }

    #[test]
    fn three_iterations_are_too_few_and_four_are_not() {
        let draws = |n: u32| Draws::new(vec!["x".into()], vec![(0..n).map(f64::from).collect()]).unwrap();
        assert!(diagnose(&draws(3)).unwrap_err().to_string().contains("found 3 iterations"));
        let told = diagnose(&draws(4)).unwrap().remove(0).convergence.unwrap();
        assert!(told.rhat > 1.0 && told.bulk > 0.0, "{told:?}");
    }
}
