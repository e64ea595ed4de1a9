//! Shares of categories from counts of randomised answers, with standard errors.

use crate::RunError;
use privacy::{Event, Mechanism, Sampling};

/// Two-sided 95 % of the normal distribution.
const NORMAL_95: f64 = 1.959_963_984_540_054;

/// What the law of the counts depends on, all of it public.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// k.
    pub categories: usize,
    /// γ.
    pub gamma: f64,
    /// m: users who answer in a round.
    pub per_round: u64,
    /// N: all users.
    pub users: u64,
}

/// The share of one category among all users, as estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Unbiased; it may lie outside [0, 1].
    pub estimate: f64,
    /// Deviation of the estimate, given the users' answers.
    pub standard_error: f64,
}

impl Share {
    /// Half the width of the 95 % interval.
    pub fn reach(&self) -> f64 {
        NORMAL_95 * self.standard_error
    }

    /// True if the 95 % interval holds this share.
    pub fn covers(&self, share: f64) -> bool {
        (share - self.estimate).abs() <= self.reach()
    }
}

impl Design {
    /// The design of the event that is charged: there is no second place for γ or k.
    pub fn of(event: &Event) -> Result<Self, RunError> {
        let Mechanism::ShuffleRandomisedResponse { users: m, categories, gamma, .. } = event.mechanism() else {
            return Err(RunError::Unusable { what: "a histogram is one of shuffled randomised responses".into() });
        };
        let users = match event.sampling() {
            Sampling::WithoutReplacement { of, .. } => *of,
            _ => m.get(),
        };
        Ok(Self { categories: categories.get() as usize, gamma: gamma.get(), per_round: m.get(), users })
    }

    /// The variance of one estimated share after so many rounds, where the true share among the users is π.
    ///
    /// Users and answers are fixed; the coins are fresh in every round, and so is the sample. With s = 1−γ+γ/k and t = γ/k,
    /// a count c of a round has, given the sample, E(c) = tm + (1−γ)h and Var(c) = h·s(1−s) + (m−h)·t(1−t), h the number
    /// of sampled users of the category. h is hypergeometric: E(h) = mπ, Var(h) = mπ(1−π)(N−m)/(N−1). So π̂ = (c̄/m − t)/(1−γ),
    /// c̄ the mean count of R rounds, is unbiased with
    /// Var(π̂) = { [π s(1−s) + (1−π) t(1−t)] / (m(1−γ)²) + π(1−π)(N−m) / (m(N−1)) } / R.
    pub fn variance(&self, share: f64, rounds: usize) -> f64 {
        let (k, m, n) = (self.categories as f64, self.per_round as f64, self.users as f64);
        let (truthful, t) = (1.0 - self.gamma, self.gamma / k);
        let s = truthful + t;
        let coins = (share * s * (1.0 - s) + (1.0 - share) * t * (1.0 - t)) / (m * truthful * truthful);
        let drawn = if m < n { share * (1.0 - share) * (n - m) / (m * (n - 1.0)) } else { 0.0 };
        (coins + drawn) / rounds as f64
    }
}

/// The share of each category among all users, from the counts of every round.
///
/// Unbiased, with the standard error of [`Design::variance`] at the estimate held within [0, 1]. γ = 1 says nothing, and is
/// refused.
///
/// # Errors
/// [`RunError::Unusable`] without rounds, with other numbers of counts than categories, or with γ = 1.
pub fn estimate(design: &Design, rounds: &[Vec<u64>]) -> Result<Vec<Share>, RunError> {
    let fits = rounds.iter().all(|counts| counts.len() == design.categories);
    if design.gamma >= 1.0 || rounds.is_empty() || !fits {
        let what = "shares are estimated from a count of every category in every round, and from γ under 1".into();
        return Err(RunError::Unusable { what });
    }
    let share = |category: usize| {
        let total: u64 = rounds.iter().map(|counts| counts[category]).sum();
        let observed = total as f64 / (rounds.len() as f64 * design.per_round as f64);
        let estimate = (observed - design.gamma / design.categories as f64) / (1.0 - design.gamma);
        let variance = design.variance(estimate.clamp(0.0, 1.0), rounds.len());
        Share { estimate, standard_error: variance.sqrt() }
    };
    Ok((0..design.categories).map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_counts_give_the_shares_themselves() {
        let design = Design { categories: 4, gamma: 0.4, per_round: 1000, users: 1000 };
        // E[c] = m(γ/k + (1−γ)π) for π = .5, .3, .2, 0.
        let shares = estimate(&design, &[vec![400, 280, 220, 100]]).unwrap();
        for (found, expected) in shares.iter().zip([0.5, 0.3, 0.2, 0.0]) {
            assert!((found.estimate - expected).abs() < 1e-12, "{found:?}");
        }
        // One category for sure: s(1−s)/(m(1−γ)²) = .7·.3/360.
        let one = design.variance(1.0, 1);
        assert!((one - 0.21 / 360.0).abs() < 1e-15 && (design.variance(1.0, 4) - one / 4.0).abs() < 1e-15);
    }

    #[test]
    fn a_sample_adds_its_own_variance_and_everyone_has_none() {
        let all = Design { categories: 2, gamma: 0.5, per_round: 100, users: 100 };
        let some = Design { users: 1000, ..all };
        let more = some.variance(0.5, 1) - all.variance(0.5, 1);
        assert!((more - 0.25 * 900.0 / (100.0 * 999.0)).abs() < 1e-15, "{more}");
    }

    #[test]
    fn nothing_is_estimated_from_nothing() {
        let design = Design { categories: 2, gamma: 0.5, per_round: 10, users: 10 };
        assert!(estimate(&design, &[]).is_err() && estimate(&design, &[vec![10]]).is_err());
        assert!(estimate(&Design { gamma: 1.0, ..design }, &[vec![5, 5]]).is_err());
    }
}
