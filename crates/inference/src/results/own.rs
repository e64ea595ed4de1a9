//! What single sites promise for themselves, and what that adds up to for somebody with rows at several of them.

use privacy::accounting::group::{at_several_sites, at_several_sites_of_a_sum};
use privacy::{Delta, Epsilon};
use serde::{Deserialize, Serialize};

/// What one site promises, where sites promise different things.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnPromise {
    /// ε that the site granted.
    pub epsilon: f64,
    /// What it clips to.
    pub clip: f64,
    /// Noise deviation divided by the sensitivity of its own sums, at least.
    pub noise_multiplier: f64,
}

/// What somebody is promised who has rows at several sites that promise different things.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SeveralSites {
    /// At how many sites.
    pub sites: usize,
    /// The sum of so many of the largest ε.
    pub epsilon: f64,
    /// δ of all of them.
    pub delta: f64,
}

/// What rows at two and at all of these sites add up to ([`at_several_sites`]); nothing where their δ would not be under 1.
pub fn several_sites(promises: &[(f64, f64)], in_one_sum: bool) -> Vec<SeveralSites> {
    let typed = promises.iter().map(|&(epsilon, delta)| Some((Epsilon::new(epsilon).ok()?, Delta::new(delta).ok()?)));
    let Some(typed) = typed.collect::<Option<Vec<_>>>() else { return Vec::new() };
    let mut counts = vec![2, typed.len()];
    counts.dedup();
    counts.retain(|&sites| sites >= 2 && sites <= typed.len());
    let of = |sites: usize| {
        let found = if in_one_sum { at_several_sites_of_a_sum(&typed, sites) } else { at_several_sites(&typed, sites) };
        let (epsilon, delta) = found.ok()?;
        Some(SeveralSites { sites, epsilon: epsilon.get(), delta: delta.get() })
    };
    counts.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_at_two_and_at_all_sites_are_told_once_each() {
        let of = |sites: usize| several_sites(&vec![(0.5, 1e-6); sites], false);
        let counts = |sites| of(sites).iter().map(|found| found.sites).collect::<Vec<_>>();
        assert_eq!([counts(1), counts(2), counts(5)], [vec![], vec![2], vec![2, 5]]);
        assert!((of(5)[1].epsilon - 2.5).abs() < 1e-12 && (of(5)[1].delta - 5e-6).abs() < 1e-18);
        let summed = several_sites(&[(0.5, 1e-6); 5], true);
        assert!(summed[1].delta > of(5)[1].delta, "a sum passes through the data sets in between");
        assert!(several_sites(&[(0.5, 0.6), (0.5, 0.6)], false).is_empty());
    }
}
