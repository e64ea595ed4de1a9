//! Draws replaced by normal scores of their ranks: the same diagnostics for any distribution, heavy tails included.

use crate::normal_quantile::normal_quantile;

/// Φ⁻¹((r − 3/8)/(S + 1/4)) for a draw of rank r among all S draws of all chains; equal draws share their mean rank.
///
/// Section 4 of Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021 (Bayesian Analysis 16, arXiv:1903.08008); the offset is Blom's.
pub(super) fn normal_scores(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut scores: Vec<Vec<f64>> = chains.iter().map(|chain| vec![0.0; chain.len()]).collect();
    let places = chains.iter().enumerate().flat_map(|(m, chain)| (0..chain.len()).map(move |i| (m, i)));
    let mut order: Vec<(usize, usize)> = places.collect();
    order.sort_by(|a, b| chains[a.0][a.1].total_cmp(&chains[b.0][b.1]));
    let all = order.len() as f64;
    let mut before = 0;
    for equals in order.chunk_by(|a, b| chains[a.0][a.1] == chains[b.0][b.1]) {
        let rank = before as f64 + 0.5 * (equals.len() as f64 + 1.0);
        let score = normal_quantile((rank - 0.375) / (all + 0.25));
        equals.iter().for_each(|&(m, i)| scores[m][i] = score);
        before += equals.len();
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_draws_have_equal_scores_and_the_middle_is_zero() {
        let scores = normal_scores(&[vec![3.0, 1.0, 2.0], vec![2.0, 2.0]]);
        assert_eq!(scores[0][2], scores[1][0]);
        assert!(scores[1][1].abs() < 1e-15 && (scores[0][0] + scores[0][1]).abs() < 1e-15);
        assert!((scores[0][0] - normal_quantile(4.625 / 5.25)).abs() < 1e-15);
    }

    #[test]
    fn scores_do_not_see_an_increasing_transformation() {
        let chain: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 50)).collect();
        let stretched = chain.iter().map(|x| libm::exp(*x)).collect();
        assert_eq!(normal_scores(&[chain]), normal_scores(&[stretched]));
    }
}
