//! The parameters that a run of chains released, one row an iteration.

use crate::{Gaussian, RunError};
use chacha20::ChaCha8Rng;
use rand_core::SeedableRng;
use std::collections::BTreeSet;

/// Chains of draws, and draws in each, from a posterior that is a Gaussian.
const CHAINS: usize = 4;
/// See [`CHAINS`].
const ITERATIONS: usize = 1000;
/// Fewest draws in a chain that diagnostics can be made of.
const LEAST_ITERATIONS: usize = 8;
/// Most numbers in one chain: draws of a network are fewer.
const MOST_NUMBERS: usize = 1 << 20;

/// Draws of named parameters from one or more chains of equal length.
///
/// A state of a private chain has passed a gate before anybody sees it, so all that is in here is public. What looks at
/// draws (diagnostics, exports, plots) takes this type and nothing else, and so can tell nothing that was not released:
/// no clip rate, no log-density of the rows, no ratio before its noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Draws {
    /// Of the parameters, in the order of a row.
    names: Vec<String>,
    /// Rows of each chain.
    iterations: usize,
    /// Row by row.
    chains: Vec<Vec<f64>>,
}

impl Draws {
    /// Chains of `iterations × names` numbers each, row by row.
    ///
    /// Refused: no names, an empty name, one that occurs twice; no chain, a chain without iterations, one that does not
    /// consist of whole rows, chains of different lengths, a number that is not finite.
    pub fn new(names: Vec<String>, chains: Vec<Vec<f64>>) -> Result<Self, RunError> {
        let refused = |what: String| Err(RunError::Unusable { what });
        let mut seen = BTreeSet::new();
        if let Some(name) = names.iter().find(|name| name.is_empty() || !seen.insert(name.as_str())) {
            return refused(format!(
                "draws: found the parameter name `{name}`, expected names that are neither empty nor used twice"
            ));
        }
        let Some(first) = chains.first().filter(|_| !names.is_empty()) else {
            let (chains, names) = (chains.len(), names.len());
            return refused(format!(
                "draws: found {chains} chains of {names} parameters, expected at least one of each"
            ));
        };
        let length = first.len();
        if length == 0 || !length.is_multiple_of(names.len()) {
            let width = names.len();
            return refused(format!(
                "draws: found a chain of {length} numbers, expected whole rows of {width}, at least one"
            ));
        }
        if let Some((m, chain)) = chains.iter().enumerate().find(|(_, chain)| chain.len() != length) {
            let (m, found) = (m + 1, chain.len());
            return refused(format!("draws: found {found} numbers in chain {m}, expected {length} as in chain 1"));
        }
        for (m, chain) in chains.iter().enumerate() {
            if let Some(at) = chain.iter().position(|value| !value.is_finite()) {
                let (row, name, value) = (at / names.len() + 1, &names[at % names.len()], chain[at]);
                let m = m + 1;
                return refused(format!(
                    "draws: found {value} for `{name}` in iteration {row} of chain {m}, expected finite numbers; smaller steps may keep the chain from running away"
                ));
            }
        }
        Ok(Self { iterations: length / names.len(), names, chains })
    }

    /// Independent draws from a Gaussian that is public, by a seed that is public: what a chain without correlation would give.
    ///
    /// # Errors
    /// As [`Draws::new`].
    pub fn of_gaussian(
        names: Vec<String>,
        q: &Gaussian,
        (chains, iterations): (usize, usize),
        seed: u64,
    ) -> Result<Self, RunError> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let chain = |rng: &mut ChaCha8Rng| (0..iterations).flat_map(|_| q.sample(rng)).collect();
        Self::new(names, (0..chains).map(|_| chain(&mut rng)).collect())
    }

    /// Independent draws from a Gaussian posterior, as many as a reader of draws expects: four chains of 1000, or of fewer where
    /// there are very many parameters. A function of the seed.
    ///
    /// # Errors
    /// As [`Draws::new`].
    pub fn of_posterior(names: Vec<String>, q: &Gaussian, seed: u64) -> Result<Self, RunError> {
        let iterations = ITERATIONS.min(MOST_NUMBERS / q.dimension().max(1)).max(LEAST_ITERATIONS);
        Self::of_gaussian(names, q, (CHAINS, iterations), seed)
    }

    /// Names of the parameters, in the order of a row.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of chains.
    pub fn chains(&self) -> usize {
        self.chains.len()
    }

    /// Iterations of each chain.
    pub fn iterations(&self) -> usize {
        self.iterations
    }

    /// The rows of one chain in order; none of a chain that does not exist.
    pub fn rows(&self, chain: usize) -> impl Iterator<Item = &[f64]> {
        self.chains.get(chain).map_or(&[][..], Vec::as_slice).chunks_exact(self.names.len())
    }

    /// One parameter: a vector of its draws for each chain. Zero vectors of a parameter that does not exist.
    pub fn parameter(&self, index: usize) -> Vec<Vec<f64>> {
        let of = |chain: usize| self.rows(chain).filter_map(|row| row.get(index).copied()).collect();
        (0..self.chains()).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str], chains: &[&[f64]]) -> Result<Draws, String> {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let chains = chains.iter().map(|chain| chain.to_vec()).collect();
        Draws::new(names, chains).map_err(|error| error.to_string())
    }

    #[test]
    fn rows_and_parameters_are_found_again() {
        let draws = named(&["a", "b"], &[&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]]).unwrap();
        assert_eq!((draws.chains(), draws.iterations()), (2, 2));
        assert_eq!(draws.rows(1).collect::<Vec<_>>(), [[5.0, 6.0], [7.0, 8.0]]);
        assert_eq!(draws.parameter(1), [[2.0, 4.0], [6.0, 8.0]]);
        assert_eq!(draws.rows(2).count(), 0);
    }

    #[test]
    fn draws_of_a_gaussian_have_its_moments_and_follow_from_the_seed() {
        let q = Gaussian::new_diagonal(vec![1.0, -2.0], vec![4.0, 0.25]).unwrap();
        let names = || vec!["a".to_owned(), "b".to_owned()];
        let draws = Draws::of_gaussian(names(), &q, (2, 5000), 7).unwrap();
        assert_eq!(draws, Draws::of_gaussian(names(), &q, (2, 5000), 7).unwrap());
        assert_ne!(draws, Draws::of_gaussian(names(), &q, (2, 5000), 8).unwrap());
        assert_ne!(draws.rows(0).next(), draws.rows(1).next());
        for (index, (mean, deviation)) in [(1.0, 2.0), (-2.0, 0.5)].into_iter().enumerate() {
            let all: Vec<f64> = draws.parameter(index).concat();
            let found = all.iter().sum::<f64>() / all.len() as f64;
            let spread = (all.iter().map(|x| (x - found).powi(2)).sum::<f64>() / all.len() as f64).sqrt();
            assert!((found - mean).abs() < 0.05 * deviation && (spread / deviation - 1.0).abs() < 0.04);
        }
    }

    #[test]
    fn what_is_no_set_of_chains_is_refused_with_its_place() {
        for (found, names, chains) in [
            ("`a`", &["a", "a"][..], &[&[1.0, 2.0][..]][..]),
            ("``", &[""], &[&[1.0]]),
            ("1 chains of 0", &[], &[&[]]),
            ("0 chains of 1", &["a"], &[]),
            ("a chain of 3 numbers", &["a", "b"], &[&[1.0, 2.0, 3.0]]),
            ("a chain of 0 numbers", &["a"], &[&[]]),
            ("1 numbers in chain 2", &["a"], &[&[1.0, 2.0], &[1.0]]),
            ("NaN for `b` in iteration 2 of chain 2", &["a", "b"], &[&[0.0; 4], &[0.0, 0.0, 0.0, f64::NAN]]),
            ("inf for `a` in iteration 1 of chain 1", &["a"], &[&[f64::INFINITY]]),
        ] {
            let said = named(names, chains).unwrap_err();
            assert!(said.contains(found), "{said}");
        }
    }
}
