//! How rule A divides its budget over the rounds: evenly, or by what each round weighs in the served mean.

use crate::release::{BudgetShare, OpeningRelease, Release};
use serde::Serialize;

/// How the budget is divided over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum RoundBudget {
    /// Every round has the same noise.
    #[default]
    Even,
    /// μ² of a round goes by its weight in the served mean, and at least by a quarter of the largest (rule A only).
    Weighted,
}

impl RoundBudget {
    /// Whether every round has the same noise.
    pub fn is_even(&self) -> bool {
        *self == Self::Even
    }

    /// Its word in a study.
    pub fn word(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Weighted => "weighted",
        }
    }
}

/// The least weight of a round, as a share of the largest: early rounds decide where later ones are asked.
const LEAST_WEIGHT: f64 = 0.25;

/// Most rounds whose noise may differ: the stages of a plan are counted in a byte.
pub(super) const MOST_WEIGHTED_ROUNDS: u64 = 200;

/// The rounds of a run, and how their releases are averaged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AveragedRounds {
    /// T: all rounds, those for second moments included.
    pub(super) rounds: u64,
    /// Rounds for second moments, which come first.
    pub(super) looks: u32,
    /// ρ: what one release weighs in the decaying mean.
    pub(super) kept: f64,
    /// Last readouts whose mean is served.
    pub(super) average: u32,
}

impl AveragedRounds {
    /// w: what each round of residuals weighs in the mean of the last A decaying means,
    /// w_k = (1/A) Σ_g ρ(1 − ρ)^(g − k) over the last A rounds g with g ≥ k.
    fn weights(&self) -> Vec<f64> {
        let n = self.rounds.saturating_sub(u64::from(self.looks));
        let last = u64::from(self.average.max(1)).min(n.max(1));
        let one = |k: u64| {
            let heard = (n - last).max(k)..n;
            let weight = |g: u64| self.kept * (1.0 - self.kept).powi(i32::try_from(g - k).unwrap_or(i32::MAX));
            heard.map(weight).sum::<f64>() / last as f64
        };
        (0..n).map(one).collect()
    }

    /// What each round of residuals may cost of μ². Rounds for second moments keep the 1/T that each of them has evenly.
    ///
    /// The noise variance of Σ w_k u_k at a given μ² is least where μ_k² is proportional to w_k: by the inequality of Cauchy and
    /// Schwarz (Σ w_k)² ≤ (Σ w_k²/μ_k²)(Σ μ_k²), with equality there.
    fn shares(&self) -> Vec<f64> {
        let weights = self.weights();
        let least = LEAST_WEIGHT * weights.iter().copied().fold(0.0, f64::max);
        let raised: Vec<f64> = weights.iter().map(|weight| weight.max(least)).collect();
        let left = weights.len() as f64 / self.rounds as f64;
        let sum: f64 = raised.iter().sum();
        raised.iter().map(|weight| left * weight / sum).collect()
    }

    /// All stages but the last round: the looks together, then round by round.
    pub(super) fn openings(&self, release: Release) -> Vec<OpeningRelease> {
        let opening = |answers, share| OpeningRelease { answers, share: BudgetShare::OfMu(share), release };
        let looks = u64::from(self.looks);
        let look = opening(looks, looks as f64 / self.rounds as f64);
        let mut shares = self.shares();
        shares.pop();
        [look].into_iter().chain(shares.into_iter().map(|share| opening(1, share))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: AveragedRounds = AveragedRounds { rounds: 15, looks: 1, kept: 0.25, average: 6 };

    /// The weights are those of the recursion R ← (1 − ρ)R + ρu and the mean of its last values.
    #[test]
    fn weights_are_those_of_the_averaged_recursion() {
        for rounds in [SHIPPED, AveragedRounds { average: 1, ..SHIPPED }, AveragedRounds { average: 40, ..SHIPPED }] {
            let n = 14;
            for (k, weight) in rounds.weights().into_iter().enumerate() {
                let (mut level, mut served) = (0.0, Vec::new());
                for g in 0..n {
                    level += rounds.kept * (f64::from(u8::from(g == k)) - level);
                    served.push(level);
                }
                let last = (rounds.average as usize).min(n);
                let mean = served[n - last..].iter().sum::<f64>() / last as f64;
                assert!((mean - weight).abs() < 1e-15, "{k}: {mean} {weight}");
            }
        }
    }

    /// The whole budget is spent, the look keeps its part, and the noise of the served mean is less than evenly: without the
    /// floor by T Σw²/(Σw)² = 1.34 (`docs/maths/noise-aware.md`).
    #[test]
    fn shares_spend_the_budget_and_lower_the_noise() {
        let (weights, shares) = (SHIPPED.weights(), SHIPPED.shares());
        assert!((shares.iter().sum::<f64>() - 14.0 / 15.0).abs() < 1e-12);
        let variance = |shares: &[f64]| weights.iter().zip(shares).map(|(w, share)| w * w / share).sum::<f64>();
        let floor = weights.iter().sum::<f64>().powi(2) * 15.0 / 14.0;
        let (even, weighted) = (variance(&[1.0 / 15.0; 14]) / floor, variance(&shares) / floor);
        assert!((even - 1.34).abs() < 0.005 && weighted < 1.1, "{even} {weighted}");
        let most = weights.iter().copied().fold(0.0, f64::max);
        let ratio = shares[0] / shares.iter().copied().fold(0.0, f64::max);
        assert!(weights[0] < most / 4.0 && (ratio - 0.25).abs() < 1e-12, "the floor");
    }
}
