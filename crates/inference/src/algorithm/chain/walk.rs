//! Where a chain stands between two questions, what it is after, and the public coins that move it.

use crate::model::Support;
use crate::{PriorTerm, draws, linalg};
use chacha20::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a chain draws from, apart from the data: the prior.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The prior of the parameters; not looked at where one has finitely many values.
    pub prior: PriorTerm,
    /// What values each parameter may have.
    pub supports: Vec<Support>,
}

impl Target {
    /// log p(to) − log p(from).
    pub fn prior_ratio(&self, from: &[f64], to: &[f64]) -> f64 {
        let mean = self.prior.mean();
        if let Some(precision) = self.prior.off_diagonal() {
            // ½(from − to)ᵀP₀(from + to − 2m₀)
            let way: Vec<f64> = from.iter().zip(to).map(|(from, to)| from - to).collect();
            let both: Vec<f64> = from.iter().zip(to).zip(mean).map(|((from, to), m)| (from - m) + (to - m)).collect();
            return 0.5 * linalg::dot(&way, &linalg::symmetric_times(precision, &both));
        }
        let precisions = self.prior.diagonal();
        let one = |j: usize| match self.supports[j] {
            Support::Real => 0.5 * precisions[j] * (from[j] - to[j]) * ((from[j] - mean[j]) + (to[j] - mean[j])),
            Support::UpTo(_) => 0.0,
        };
        (0..self.supports.len()).map(one).sum()
    }

    /// Slope of log p(θ).
    pub fn prior_slope(&self, theta: &[f64]) -> impl Iterator<Item = f64> + use<> {
        self.prior.pull(theta).into_iter().map(|pull| -pull)
    }

    /// d.
    pub fn dimension(&self) -> usize {
        self.prior.dimension()
    }

    /// A draw from the prior.
    pub fn draw(&self, coins: &mut Coins) -> Vec<f64> {
        let (mut normals, mean) = (coins.normals(self.dimension()), self.prior.mean());
        let factor = self.prior.off_diagonal().and_then(|precision| linalg::cholesky(precision, self.dimension()));
        if let Some(factor) = factor {
            linalg::solve_upper(&factor, &mut normals);
            return normals.iter().zip(mean).map(|(z, m)| m + z).collect();
        }
        let one = |(((z, m), lambda), support): (((f64, &f64), &f64), &Support)| match *support {
            Support::Real => m + z / lambda.sqrt(),
            Support::UpTo(most) => coins.below(u64::from(most) + 1) as f64,
        };
        normals.into_iter().zip(mean).zip(&self.prior.diagonal()).zip(&self.supports).map(one).collect()
    }

    /// A proposal as far from θ as from it to θ: normal steps, and one up or down, or none at an end.
    ///
    /// At an end the step that would leave stays where it is, so that the proposal is symmetric.
    pub fn step_from(&self, theta: &[f64], deviation: f64, coins: &mut Coins) -> Vec<f64> {
        let normals = coins.normals(theta.len());
        let one = |((theta, z), support): ((&f64, f64), &Support)| match support {
            Support::Real => theta + deviation * z,
            Support::UpTo(_) => {
                let moved = if coins.below(2) == 0 { theta - 1.0 } else { theta + 1.0 };
                if support.has(moved) { moved } else { *theta }
            }
        };
        theta.iter().zip(normals).zip(&self.supports).map(one).collect()
    }
}

/// Where a chain stands between two questions: public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Walk {
    /// θ: the last draw.
    pub theta: Vec<f64>,
    /// Where it may go: the proposal, or the place on the way there.
    pub proposed: Vec<f64>,
    /// Momentum on the way.
    pub momentum: Vec<f64>,
    /// Energy of the momentum at the start of the way.
    pub kinetic: f64,
    /// Leaps made.
    pub leaps: u32,
}

impl Walk {
    /// A proposal, and nothing on the way.
    pub fn to(theta: Vec<f64>, proposed: Vec<f64>) -> Self {
        Self { theta, proposed, momentum: Vec::new(), kinetic: 0.0, leaps: 0 }
    }
}

/// Public coins of one moment of a run: nothing that is private depends on their being secret.
pub struct Coins(ChaCha8Rng);

impl Coins {
    /// The coins of this key before the given question.
    pub(super) fn at(key: &[u8; 32], question: u64) -> Self {
        let digest = Sha256::new().chain_update(key).chain_update(question.to_le_bytes()).finalize();
        Self(ChaCha8Rng::from_seed(digest.into()))
    }

    /// So many standard normal numbers.
    pub fn normals(&mut self, count: usize) -> Vec<f64> {
        let mut normals = vec![0.0; count];
        draws::standard_normals(&mut self.0, &mut normals);
        normals
    }

    /// A number between 0 and 1, neither included.
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// The generator itself.
    pub fn generator(&mut self) -> &mut ChaCha8Rng {
        &mut self.0
    }

    /// A whole number below a small limit: of 2^64 equally likely ones, each is nearest to one of them.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(prior: PriorTerm) -> Target {
        Target { supports: vec![Support::Real; prior.dimension()], prior }
    }

    /// Ratio, slope and draws are those of the stated Gaussian, with correlations and without.
    #[test]
    fn a_stated_prior_is_what_chains_draw_from() {
        let alone = PriorTerm::independent(vec![1.0, -2.0], vec![4.0, 0.25]).unwrap();
        let both = PriorTerm::correlated(vec![1.0, -2.0], vec![2.0, 0.5, 1.0]).unwrap();
        for prior in [alone, both] {
            let (from, to) = ([0.3, 0.7], [-1.0, 2.0]);
            let target = target(prior.clone());
            let expected = 0.5 * (prior.distance(&from) - prior.distance(&to));
            assert!((target.prior_ratio(&from, &to) - expected).abs() < 1e-12);
            let slope: Vec<f64> = target.prior_slope(&from).collect();
            assert!(slope.iter().zip(prior.pull(&from)).all(|(s, p)| (s + p).abs() < 1e-15));
            let mut coins = Coins::at(&[3; 32], 1);
            let draws: Vec<Vec<f64>> = (0..20_000).map(|_| target.draw(&mut coins)).collect();
            let q = prior.gaussian().unwrap();
            for j in 0..2 {
                let mean = draws.iter().map(|draw| draw[j]).sum::<f64>() / 20_000.0;
                let square = draws.iter().map(|draw| (draw[j] - mean).powi(2)).sum::<f64>() / 20_000.0;
                assert!((mean - q.mean()[j]).abs() < 0.05 * q.deviations()[j], "{mean}");
                assert!((square / q.variances()[j] - 1.0).abs() < 0.05, "{square}");
            }
        }
    }
}
