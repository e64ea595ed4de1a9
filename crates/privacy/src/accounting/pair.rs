//! Dominating pairs: for each mechanism in its setting, the two distributions that bound every pair of neighbours.
//!
//! (P, Q) dominates a mechanism if H_α(M(D) ‖ M(D')) ≤ H_α(P ‖ Q) for all α ≥ 0, with the hockey-stick divergence
//! H_α(P ‖ Q) = sup_E P(E) − α Q(E) (Zhu, Dong, Wang 2022, Definition 7). Dominating pairs compose by products
//! (their Theorem 10). δ(ε) = H_{e^ε}.
//!
//! A pair (P, Q) dominates an event if its hockey-stick divergences are at least those of every pair of neighbouring data sets, for
//! all e^ε. Dominating pairs multiply, so a plan is bounded by the product of its pairs; the product of each direction is
//! accounted separately and the larger cost is reported. This file is the one place where an event becomes a pair, with the
//! theorem beside each.

use super::{Bounds, Enclosure, barker, check_one_relation, shuffle, sum::CompensatedSum, symmetric::subsampled};
use crate::{Adjacency, Adversary, Event, Mechanism, PrivacyError, Sampling, Steps};

/// One ordered pair (P, Q). Gaussian and Laplace laws are in units of the sensitivity; s is their deviation or scale.
#[derive(Debug, Clone, PartialEq)]
pub enum DominatingPair {
    /// P = N(1, s²), Q = N(0, s²). Symmetric: (Q, P) has the same privacy loss.
    Gaussian {
        /// Standard deviation of the noise, in units of the sensitivity.
        s: f64,
    },
    /// P = (1−q)N(0, s²) + qN(1, s²), Q = N(0, s²): the row is in the first data set (Zhu et al. 2022, Theorem 11).
    GaussianRemove {
        /// Sampling rate, under 1.
        q: f64,
        /// Standard deviation of the noise, in units of the sensitivity.
        s: f64,
    },
    /// The reverse: P = N(0, s²), Q = (1−q)N(0, s²) + qN(1, s²).
    GaussianAdd {
        /// Sampling rate, under 1.
        q: f64,
        /// Standard deviation of the noise, in units of the sensitivity.
        s: f64,
    },
    /// P = (1−q)N(0, s²) + qN(½, s²), Q = (1−q)N(0, s²) + qN(−½, s²): Poisson batches, a row replaced.
    ///
    /// The replaced row moves the sum by at most C = ½ sensitivity to either side. Symmetric under x → −x.
    /// `docs/maths/poisson-substitution.md` proves that it dominates.
    GaussianSubstitute {
        /// Sampling rate, under 1.
        q: f64,
        /// Standard deviation of the noise, in units of the sensitivity.
        s: f64,
    },
    /// Fixed-size batches, a row replaced (Zhu et al. 2022, Proposition 30). Symmetric.
    ///
    /// H_α = H_α((1−q)N(0, s²) + qN(1, s²) ‖ N(0, s²)) for α ≥ 1, and by symmetry H_α = 1 − α + α H_{1/α} for α < 1.
    /// Its loss L has, on x > ½, the values l(x) = log(1−q + q e^{(x−½)/s²}) > 0 with P-density (1−q)φ_s(x) + qφ_s(x−1);
    /// mirrored values −l(x) with P-density φ_s(x); and an atom at 0 with what is left.
    GaussianFixed {
        /// Batch / rows, under 1.
        q: f64,
        /// Standard deviation of the noise, in units of the sensitivity.
        s: f64,
    },
    /// P = Laplace(1, s), Q = Laplace(0, s). Symmetric.
    Laplace {
        /// Scale of the noise, in units of the sensitivity.
        s: f64,
    },
    /// P = (1−q)Laplace(0, s) + qLaplace(1, s), Q = Laplace(0, s).
    LaplaceRemove {
        /// Sampling rate, under 1.
        q: f64,
        /// Scale of the noise, in units of the sensitivity.
        s: f64,
    },
    /// The reverse: the second data set has the row.
    LaplaceAdd {
        /// Sampling rate, under 1.
        q: f64,
        /// Scale of the noise, in units of the sensitivity.
        s: f64,
    },
    /// Finitely many outcomes, as a law of the privacy loss.
    Finite(Atoms),
    /// More outcomes than can be written down, between two laws that can.
    Enclosed(Enclosure),
}

impl DominatingPair {
    /// Standard deviation or scale of the noise, where there is noise.
    pub fn scale(&self) -> Option<f64> {
        match self {
            Self::Gaussian { s }
            | Self::GaussianRemove { s, .. }
            | Self::GaussianAdd { s, .. }
            | Self::GaussianSubstitute { s, .. }
            | Self::GaussianFixed { s, .. }
            | Self::Laplace { s }
            | Self::LaplaceRemove { s, .. }
            | Self::LaplaceAdd { s, .. } => Some(*s),
            Self::Finite(_) | Self::Enclosed(_) => None,
        }
    }

    /// A pair that dominates this one, written out. Upper bounds are computed from it.
    pub fn upper(&self) -> Self {
        match self {
            Self::Enclosed(enclosure) => Self::Finite(enclosure.upper()),
            pair => pair.clone(),
        }
    }

    /// A pair that this one dominates, written out. Lower bounds are computed from it.
    pub fn lower(&self) -> Self {
        match self {
            Self::Enclosed(enclosure) => Self::Finite(enclosure.lower()),
            pair => pair.clone(),
        }
    }
}

/// The privacy loss of a pair with finitely many outcomes, under P.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Atoms {
    /// (loss, P-probability), losses increasing, probabilities over 0. Q-probability is e^{−loss} times P's.
    pub finite: Vec<(f64, f64)>,
    /// P-probability of outcomes that Q cannot produce.
    pub infinite: f64,
}

impl Atoms {
    /// The loss law of (P, Q) given outcome by outcome.
    pub fn from_outcomes(outcomes: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut atoms = Self::default();
        for (p, q) in outcomes.filter(|&(p, _)| p > 0.0) {
            if q > 0.0 {
                atoms.finite.push((libm::log(p) - libm::log(q), p));
            } else {
                atoms.infinite += p;
            }
        }
        atoms.finite.sort_by(|a, b| a.0.total_cmp(&b.0));
        atoms
    }

    /// H_α = Σ (p − αq)₊ = Σ p (1 − e^{log α − loss})₊ with α = e^`log_alpha`, the atoms taken as exact.
    ///
    /// Each term has a relative error of at most 8u: the rounding of x = log α − loss < 0 moves e^x by at most
    /// u|x|e^x ≤ u(1 − e^x). The compensated sum adds 3u. 2⁻⁴⁸ = 32u covers both.
    pub fn hockey_stick(&self, log_alpha: f64) -> Bounds {
        const ERROR: f64 = 3.6e-15;
        let above = self.finite.iter().filter(|&&(loss, _)| loss > log_alpha);
        let mut sum: CompensatedSum = above.map(|&(loss, p)| -p * libm::expm1(log_alpha - loss)).collect();
        sum.add(self.infinite);
        Bounds::between(sum.get() * (1.0 - ERROR), sum.get() * (1.0 + ERROR))
    }
}

/// Largest ε of an (ε, δ) mechanism whose pair can be written out.
const MOST_EPSILON: f64 = 600.0;

/// A pair and how often it occurs.
pub type Composition = Vec<(DominatingPair, Steps)>;

/// The one or two compositions whose worse one bounds the plan: both directions, unless they are equal.
///
/// Directions are composed separately: neighbours are a pair of data sets, and which of the two has the row is the
/// same in every step.
pub fn directions(accountant: &'static str, plan: &[Event]) -> Result<Vec<Composition>, PrivacyError> {
    check_one_relation(plan)?;
    let (mut forward, mut backward) = (Composition::new(), Composition::new());
    for event in plan {
        let (first, second) = pairs(accountant, event)?;
        backward.push((second.unwrap_or_else(|| first.clone()), event.steps()));
        forward.push((first, event.steps()));
    }
    Ok(if forward == backward { vec![forward] } else { vec![forward, backward] })
}

/// The pair of one step, and its reverse where that is another law.
fn pairs(accountant: &'static str, event: &Event) -> Result<(DominatingPair, Option<DominatingPair>), PrivacyError> {
    let q = event.sampling().rate();
    let sampled = q < 1.0;
    Ok(match (event.mechanism(), event.adjacency()) {
        (Mechanism::Gaussian { noise_multiplier: z }, adjacency) => {
            let s = z.get();
            match (event.sampling(), adjacency) {
                _ if !sampled => (DominatingPair::Gaussian { s }, None),
                (Sampling::WithoutReplacement { .. }, _) => (DominatingPair::GaussianFixed { q, s }, None),
                (_, Adjacency::Substitute) => (DominatingPair::GaussianSubstitute { q, s }, None),
                (_, Adjacency::AddRemove) => {
                    (DominatingPair::GaussianRemove { q, s }, Some(DominatingPair::GaussianAdd { q, s }))
                }
            }
        }
        (Mechanism::Laplace { noise_multiplier: z }, _) => {
            let s = z.get();
            match sampled {
                false => (DominatingPair::Laplace { s }, None),
                true => (DominatingPair::LaplaceRemove { q, s }, Some(DominatingPair::LaplaceAdd { q, s })),
            }
        }
        (Mechanism::RandomisedResponse { categories, gamma }, _) => {
            let (k, g) = (categories.get() as f64, gamma.get());
            let (keep, other) = (1.0 - g + g / k, g / k);
            // Categories other than the two true ones are alike under both: one outcome of loss 0.
            let rest = ((k - 2.0) * other, (k - 2.0) * other);
            let outcomes = [(keep, other), (other, keep), rest];
            (DominatingPair::Finite(Atoms::from_outcomes(outcomes.into_iter())), None)
        }
        (Mechanism::ShuffleClones { users, local_epsilon }, _) => {
            let all = shuffle::clones(users.get(), local_epsilon.get())?;
            (DominatingPair::Enclosed(if sampled { subsampled(&all, q) } else { all }), None)
        }
        (Mechanism::ShuffleRandomisedResponse { users, categories, gamma, adversary }, _) => {
            let law = match adversary {
                Adversary::Strong => shuffle::strong,
                // Who sees the shuffled answers alone sees less than the weak adversary.
                Adversary::Weak | Adversary::Outside => shuffle::weak,
            };
            let all = law(users.get(), categories.get(), gamma.get())?;
            (DominatingPair::Enclosed(if sampled { subsampled(&all, q) } else { all }), None)
        }
        (Mechanism::BarkerTest { .. }, _) => (DominatingPair::Enclosed(barker::enclosure(accountant, event)?), None),
        (Mechanism::Finite(pair), _) => (
            DominatingPair::Finite(Atoms::from_outcomes(pair.outcomes().iter().copied())),
            Some(DominatingPair::Finite(Atoms::from_outcomes(pair.outcomes().iter().map(|&(p, q)| (q, p))))),
        ),
        (Mechanism::Approximate { epsilon, .. }, _) if epsilon.get() > MOST_EPSILON => {
            return Err(PrivacyError::Uncertified {
                accountant,
                why: format!("e^{epsilon} is beyond floating point"),
                hint: "an ε of several hundred protects nobody; `basic` can still add it up",
            });
        }
        (Mechanism::Approximate { epsilon, delta }, _) => {
            // Kairouz, Oh, Viswanath 2015, section 3: the pair that every (ε, δ) mechanism is a post-processing of.
            let (e, d) = (epsilon.get(), delta.get());
            let high = (1.0 - d) / (1.0 + libm::exp(-e));
            let low = (1.0 - d) / (1.0 + libm::exp(e));
            let outcomes = [(d, 0.0), (high, low), (low, high), (0.0, d)];
            (DominatingPair::Finite(Atoms::from_outcomes(outcomes.into_iter())), None)
        }
        _ => {
            return Err(PrivacyError::Unsupported {
                accountant,
                event: event.to_string(),
                hint: "use `rdp` for discrete noise in several dimensions, or `zcdp` for discrete Gaussian noise",
            });
        }
    })
}
