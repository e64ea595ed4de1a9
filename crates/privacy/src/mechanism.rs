//! Mechanisms: the randomised answers that this crate can account for, and the table of theorems that cover them.
//!
//! A mechanism by itself costs nothing that could be stated: relation, unit and sampling belong to it, and only a theorem
//! joins them ([`covered`]). Everything that is said of a mechanism outside its accountants stands here: its parameters, its
//! name, its words and its settings.
//!
//! The serialised form is part of every ledger, so variants are only ever added at the end of [`Mechanism`].

use crate::{
    Adjacency, Categories, Delta, Epsilon, FinitePair, Gamma, NoiseMultiplier, PrivacyError, Sampling, ShareDeviation,
    Steps, Unit, VarianceSlack,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A randomised answer, with its noise in units of the sensitivity of the event's relation.
///
/// # Examples
///
/// ```
/// use privacy::{Categories, Gamma, Mechanism};
///
/// let (categories, gamma) = (Categories::new(4)?, Gamma::new(0.5)?);
/// let response = Mechanism::RandomisedResponse { categories, gamma };
/// assert_eq!(response.name(), "randomised-response");
/// assert!(response.asks_people());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mechanism {
    /// Gaussian noise of standard deviation z·Δ₂ on every coordinate (rounded to the grid: post-processing).
    Gaussian {
        /// z: standard deviation (Laplace: scale) divided by the sensitivity.
        noise_multiplier: NoiseMultiplier,
    },
    /// Laplace noise of scale z·Δ₁.
    Laplace {
        /// z: standard deviation (Laplace: scale) divided by the sensitivity.
        noise_multiplier: NoiseMultiplier,
    },
    /// Discrete Gaussian noise of one party, σ = z·Δ₂, on an integer vector.
    DiscreteGaussian {
        /// z: standard deviation (Laplace: scale) divided by the sensitivity.
        noise_multiplier: NoiseMultiplier,
    },
    /// The sum of discrete Gaussian shares: nearly, not exactly, a discrete Gaussian.
    DiscreteGaussianSum {
        /// z of the total: √shares · standard deviation of a share / Δ₂.
        noise_multiplier: NoiseMultiplier,
        /// n: the fewest honest shares in the sum.
        shares: Steps,
        /// Standard deviation of one share, in grid units.
        share_deviation: ShareDeviation,
        /// d: coordinates of the vector.
        dimension: Steps,
    },
    /// k-randomised response: the true category, or with probability γ a uniform one.
    RandomisedResponse {
        /// k: the number of categories, the true one included.
        categories: Categories,
        /// γ: the probability that the answer is drawn uniformly.
        gamma: Gamma,
    },
    /// A shuffle of one report from each user, every report ε₀-locally private (adaptively, in any order).
    ShuffleClones {
        /// n: users whose reports are in the shuffle. With a sample of users, the size of the sample.
        users: Steps,
        /// ε₀ of each report.
        local_epsilon: Epsilon,
    },
    /// A shuffle of k-randomised responses, one from each user.
    ShuffleRandomisedResponse {
        /// n: users whose answers are in the shuffle.
        users: Steps,
        /// k: the number of categories, the true one included.
        categories: Categories,
        /// γ: the probability that the answer is drawn uniformly.
        gamma: Gamma,
        /// What is known beside the shuffled answers.
        adversary: Adversary,
    },
    /// Any mechanism that is dominated by a pair of finite distributions.
    Finite(FinitePair),
    /// Any mechanism of which only (ε, δ) is known.
    Approximate {
        /// ε of one step.
        epsilon: Epsilon,
        /// δ of one step.
        delta: Delta,
    },
    /// No noise at all: infinite cost, chosen by name.
    Open,
    /// The sum of Skellam shares: Skellam noise of variance shares · deviation², exactly. (A ledger's bytes count
    /// variants: new ones come last.)
    SkellamSum {
        /// z of the total: √shares · standard deviation of a share / Δ₂.
        noise_multiplier: NoiseMultiplier,
        /// n: the fewest honest shares in the sum.
        shares: Steps,
        /// Standard deviation of one share, in grid units.
        share_deviation: ShareDeviation,
        /// d: coordinates of the vector.
        dimension: Steps,
    },
    /// The noisy sum of a Barker test on a batch: one draw of N(√b ū, 1 + L − s²), with ū and s² the mean and the
    /// variance (divisor b) of b numbers in [−1, 1], one of each row (Heikkilä et al. 2019).
    BarkerTest {
        /// b: rows in the batch; all rows where none are drawn.
        batch: Steps,
        /// L = C/ρ² − 1, for log-likelihood ratios clipped to ρ√b/N and a total variance of C.
        slack: VarianceSlack,
    },
}

impl Mechanism {
    /// Its name in plans and reports: lower case, words joined by hyphens.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "gaussian",
            Self::Laplace { .. } => "laplace",
            Self::DiscreteGaussian { .. } => "discrete-gaussian",
            Self::DiscreteGaussianSum { .. } => "discrete-gaussian-sum",
            Self::RandomisedResponse { .. } => "randomised-response",
            Self::ShuffleClones { .. } => "shuffle-clones",
            Self::ShuffleRandomisedResponse { .. } => "shuffle-krr",
            Self::Finite(_) => "finite",
            Self::Approximate { .. } => "approximate",
            Self::Open => "open",
            Self::SkellamSum { .. } => "skellam-sum",
            Self::BarkerTest { .. } => "barker",
        }
    }

    /// True if every unit gives one answer of its own, and no sum over rows is taken.
    pub fn asks_people(&self) -> bool {
        matches!(
            self,
            Self::RandomisedResponse { .. } | Self::ShuffleClones { .. } | Self::ShuffleRandomisedResponse { .. }
        )
    }
}

/// What an adversary of the shuffle model knows beside the shuffled answers and the true categories of all other users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adversary {
    /// Who answered truthfully, the protected user included.
    Strong,
    /// Who answered truthfully among the others.
    Weak,
    /// Nothing: the shuffled answers alone, as they are published.
    Outside,
}

/// What to do where only one relation has a theorem.
const SUBSTITUTE: &str = "set adjacency to substitute (one unit replaced by another)";

/// The table of theorems: which mechanism may meet which relation and sampling.
///
/// Gaussian, Poisson: Zhu et al. 2022, Theorem 11 (add-remove), `docs/maths/poisson-substitution.md` (substitute).
/// Gaussian, without replacement, substitute: Zhu et al. 2022, Proposition 30.
/// Laplace, Poisson, add-remove: Zhu et al. 2022, Theorem 11. Randomised response: one answer is replaced.
/// Shuffle of ε₀-private reports: Feldman et al. 2023, Theorem 3.1; with users drawn without replacement, Zhu et al. 2022,
/// Proposition 30. Shuffled randomised response: Koskela et al. 2023, Theorems 14 and 16; against the outside adversary, also
/// with users drawn without replacement, `docs/maths/shuffle.md`.
/// Barker test: `docs/maths/dp-mcmc.md`.
pub(crate) fn covered(
    mechanism: &Mechanism,
    adjacency: Adjacency,
    unit: Unit,
    sampling: &Sampling,
) -> Result<(), PrivacyError> {
    let refuse = |why, hint| {
        let what = format!("{mechanism} with {sampling} under {adjacency} of {unit}s");
        Err(PrivacyError::NoTheorem { what, why, hint })
    };
    match (mechanism, sampling, adjacency) {
        (_, Sampling::WithoutReplacement { .. }, Adjacency::AddRemove) => refuse(
            "a batch of fixed size changes its law for every row when one row is added or removed",
            "set adjacency to substitute (one unit replaced by another), or draw Poisson batches",
        ),
        (Mechanism::RandomisedResponse { .. }, _, Adjacency::AddRemove) => {
            refuse("an answer can be replaced but not left out", SUBSTITUTE)
        }
        (Mechanism::ShuffleClones { .. } | Mechanism::ShuffleRandomisedResponse { .. }, _, Adjacency::AddRemove) => {
            refuse("the number of shuffled reports is visible to everyone", SUBSTITUTE)
        }
        (Mechanism::BarkerTest { .. }, _, Adjacency::AddRemove) => {
            refuse("its noise depends on a public batch size", SUBSTITUTE)
        }
        (Mechanism::BarkerTest { .. }, Sampling::Poisson { .. }, _) => {
            refuse("a Barker test needs a batch of fixed size", "draw the batch without replacement")
        }
        (Mechanism::BarkerTest { batch, .. }, Sampling::WithoutReplacement { batch: drawn, .. }, _) => {
            match *drawn == batch.get() {
                true => Ok(()),
                false => {
                    refuse("the sampled batch and the batch of the test differ in size", "give both the same size")
                }
            }
        }
        (_, Sampling::None, _) => Ok(()),
        (
            Mechanism::ShuffleClones { .. } | Mechanism::ShuffleRandomisedResponse { .. },
            Sampling::Poisson { .. },
            _,
        ) => refuse("the number of shuffled reports would vary", "draw a fixed number of users without replacement"),
        (
            Mechanism::ShuffleClones { .. }
            | Mechanism::ShuffleRandomisedResponse { adversary: Adversary::Outside, .. },
            Sampling::WithoutReplacement { .. },
            _,
        ) => Ok(()),
        (Mechanism::ShuffleRandomisedResponse { .. }, _, _) => refuse(
            "an adversary who knows who answered at random also knows who was drawn",
            "remove the sampling, choose the outside adversary, or account for a shuffle of any locally private report (shuffle-clones)",
        ),
        // Nothing is claimed, so nothing needs a theorem.
        (Mechanism::Gaussian { .. } | Mechanism::Open, _, _) => Ok(()),
        (Mechanism::Laplace { .. }, Sampling::Poisson { .. }, Adjacency::AddRemove) => Ok(()),
        (Mechanism::Laplace { .. }, _, _) => refuse(
            "the worst pair of neighbouring data sets is not known",
            "draw Poisson batches with adjacency add-remove, or use Gaussian noise",
        ),
        _ => refuse("amplification by sampling is proved for Gaussian and Laplace noise only", "remove the sampling"),
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gaussian { noise_multiplier } => write!(f, "Gaussian noise of multiplier {noise_multiplier}"),
            Self::Laplace { noise_multiplier } => write!(f, "Laplace noise of multiplier {noise_multiplier}"),
            Self::DiscreteGaussian { noise_multiplier } => {
                write!(f, "discrete Gaussian noise of multiplier {noise_multiplier}")
            }
            Self::DiscreteGaussianSum { noise_multiplier, shares, .. } => {
                write!(f, "{shares} discrete Gaussian shares of joint multiplier {noise_multiplier}")
            }
            Self::SkellamSum { noise_multiplier, shares, .. } => {
                write!(f, "{shares} Skellam shares of joint multiplier {noise_multiplier}")
            }
            Self::RandomisedResponse { categories, gamma } => {
                write!(f, "randomised response over {categories} categories with gamma {gamma}")
            }
            Self::ShuffleClones { users, local_epsilon } => {
                write!(f, "a shuffle of {users} reports of local epsilon {local_epsilon}")
            }
            Self::ShuffleRandomisedResponse { users, categories, gamma, adversary } => {
                write!(
                    f,
                    "a shuffle of {users} randomised responses over {categories} categories with gamma {gamma} "
                )?;
                write!(f, "against the {adversary} adversary")
            }
            Self::Finite(pair) => write!(f, "a finite pair of {} outcomes", pair.len()),
            Self::Approximate { epsilon, delta } => write!(f, "an ({epsilon}, {delta}) mechanism"),
            Self::Open => f.write_str("an answer without noise"),
            Self::BarkerTest { batch, slack } => {
                write!(f, "a Barker test on {batch} rows with variance slack {slack}")
            }
        }
    }
}

impl fmt::Display for Adversary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strong => "strong",
            Self::Weak => "weak",
            Self::Outside => "outside",
        })
    }
}
