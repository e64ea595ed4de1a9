//! Lines of accounting figures that no accountant draws: numbers that a finite sum, a closed form or a quadrature gives.

mod correction;
mod noisy;
mod ratios;
mod shuffled;

use super::typed::{Along, FormulaAsTyped, FormulaName};
use inference::chain::Correction;
use privacy::accounting::Interval;
use privacy::{Bounds, Cohort, PrivacyError};
use shuffled::MeanRatio;
use std::ops::RangeInclusive;

/// Most users of a shuffled Gaussian: the sums take the square of their number.
const MOST_USERS: f64 = 12.0;

/// Least noise of a shuffled Gaussian: under it the likelihood ratio has too long a tail for a lattice.
const LEAST_DEVIATION: f64 = 1.5;

/// Any number over 0 that a formula is tried with.
const POSITIVE: RangeInclusive<f64> = 1e-6..=1e12;

/// Any number.
const ANY: RangeInclusive<f64> = -1e12..=1e12;

/// A formula as meant.
#[derive(Debug, Clone)]
pub(super) enum Formula {
    /// By how much the clients' noise exceeds a curator's variance: N/(N − T − 1), with T or N along the axis.
    Collusion {
        /// N, unless it is along the axis.
        clients: Option<u64>,
        /// T, unless it is along the axis.
        colluders: Option<u64>,
    },
    /// δ of shuffled answers with Gaussian noise, by ε.
    ShuffledGaussian {
        /// n: users, each of whom answers once.
        users: u64,
        /// σ: noise of an answer whose true value moves by 1.
        deviation: f64,
    },
    /// Φ(−a√M): how often a client's noisy precision is negative, by the number M of clients.
    Negative {
        /// a: the precision in standard deviations of the noise, for one client.
        certainty: f64,
    },
    /// The density of the mean that two noisy natural parameters have.
    NoisyMean(noisy::Naturals),
    /// The density of the variance that a noisy precision has.
    NoisyVariance(noisy::Naturals),
    /// The share of clipped log-ratios of Paper II's mixture, by the variance of a proposal.
    ClippedRatios {
        /// B: the size to which they are clipped.
        bound: f64,
    },
    /// sup |F − S| of a corrected test, by its variance C.
    CorrectionError,
    /// |F − S| of a corrected test, place by place.
    AcceptanceError(Correction),
    /// log₁₀ of the density of V_cor, place by place.
    CorrectionDensity(Correction),
}

/// Why a formula cannot be drawn: what was found, and what would do.
pub(super) struct Unfit(pub(super) String, pub(super) &'static str);

/// A number that a formula takes, and its range.
type Taken = (&'static str, RangeInclusive<f64>);

impl FormulaName {
    /// Its name in a file.
    fn word(self) -> &'static str {
        match self {
            Self::CollusionFactor => "collusion-factor",
            Self::ShuffledGaussian => "shuffled-gaussian",
            Self::NegativeAtStart => "negative-at-start",
            Self::NegativeAtConvergence => "negative-at-convergence",
            Self::NoisyMean => "noisy-mean",
            Self::NoisyVariance => "noisy-variance",
            Self::ClippedRatios => "clipped-ratios",
            Self::CorrectionError => "correction-error",
            Self::AcceptanceError => "acceptance-error",
            Self::CorrectionDensity => "correction-density",
        }
    }

    /// An example of its use.
    fn example(self) -> &'static str {
        match self {
            Self::CollusionFactor => {
                "along = \"colluders\" with formula = { name = \"collusion-factor\", clients = 100 }, or along = \"clients\" with colluders"
            }
            Self::ShuffledGaussian => {
                "along = \"epsilon\" with formula = { name = \"shuffled-gaussian\", users = 3, deviation = 2 }: 1 to 12 users, a deviation from 1.5"
            }
            Self::NegativeAtStart => {
                "along = \"clients\" with formula = { name = \"negative-at-start\", deviation = 5 }"
            }
            Self::NegativeAtConvergence => {
                "along = \"clients\" with formula = { name = \"negative-at-convergence\", rows = 10, noise_variance = 4, damping = 0.1, clip = 5, deviation = 5 }"
            }
            Self::NoisyMean => {
                "along = \"value\" with formula = { name = \"noisy-mean\", precision = 16, mean = 2, deviation = 4 }"
            }
            Self::NoisyVariance => {
                "along = \"value\" with formula = { name = \"noisy-variance\", precision = 16, deviation = 4 }"
            }
            Self::ClippedRatios => {
                "along = \"proposal_variance\" with formula = { name = \"clipped-ratios\", bound = 0.3 }"
            }
            Self::CorrectionError => "along = \"test_variance\" with formula = { name = \"correction-error\" }",
            Self::AcceptanceError => {
                "along = \"value\" with formula = { name = \"acceptance-error\", test_variance = 2 }"
            }
            Self::CorrectionDensity => {
                "along = \"value\" with formula = { name = \"correction-density\", test_variance = 2 }"
            }
        }
    }

    /// The numbers that it takes on an axis; none where the two do not go together.
    fn takes(self, along: Along) -> Option<Vec<Taken>> {
        let deviation = ("deviation", POSITIVE);
        let of_test = ("test_variance", 1e-2..=Correction::LARGEST_VARIANCE);
        Some(match (self, along) {
            (Self::CollusionFactor, Along::Colluders) => vec![("clients", 0.0..=1e12)],
            (Self::CollusionFactor, Along::Clients) => vec![("colluders", 0.0..=1e12)],
            (Self::ShuffledGaussian, Along::Epsilon) => {
                vec![("users", 1.0..=MOST_USERS), ("deviation", LEAST_DEVIATION..=100.0)]
            }
            (Self::NegativeAtStart, Along::Clients) => vec![deviation],
            (Self::NegativeAtConvergence, Along::Clients) => vec![
                ("rows", POSITIVE),
                ("noise_variance", POSITIVE),
                ("damping", 1e-6..=1.0),
                ("clip", POSITIVE),
                deviation,
            ],
            (Self::NoisyMean, Along::Value) => vec![("precision", POSITIVE), ("mean", ANY), deviation],
            (Self::NoisyVariance, Along::Value) => vec![("precision", POSITIVE), deviation],
            (Self::ClippedRatios, Along::ProposalVariance) => vec![("bound", POSITIVE)],
            (Self::CorrectionError, Along::TestVariance) => Vec::new(),
            (Self::AcceptanceError | Self::CorrectionDensity, Along::Value) => vec![of_test],
            _ => return None,
        })
    }
}

impl FormulaAsTyped {
    /// All numbers by their keys.
    fn numbers(&self) -> [(&'static str, Option<f64>); 12] {
        let whole = |number: Option<u64>| number.map(|number| number as f64);
        [
            ("clients", whole(self.clients)),
            ("colluders", whole(self.colluders)),
            ("users", whole(self.users)),
            ("rows", whole(self.rows)),
            ("deviation", self.deviation),
            ("noise_variance", self.noise_variance),
            ("damping", self.damping),
            ("clip", self.clip),
            ("precision", self.precision),
            ("mean", self.mean),
            ("bound", self.bound),
            ("test_variance", self.test_variance),
        ]
    }

    /// The formula's own numbers, in their order; refused where one is missing, out of its range, or not the formula's.
    fn checked(&self, along: Along) -> Result<Vec<f64>, Unfit> {
        let (name, hint) = (self.name.word(), self.name.example());
        let Some(takes) = self.name.takes(along) else {
            return Err(Unfit(format!("{name} does not go with {} along the axis", along.words()), hint));
        };
        let numbers = self.numbers();
        let stray = |(key, value): &&(&str, Option<f64>)| value.is_some() && takes.iter().all(|taken| taken.0 != *key);
        if let Some((key, _)) = numbers.iter().find(stray) {
            return Err(Unfit(format!("{key} is a number that {name} does not take here"), hint));
        }
        let value = |(key, range): &Taken| match numbers.iter().find(|number| number.0 == *key).and_then(|n| n.1) {
            Some(value) if range.contains(&value) => Ok(value),
            Some(value) => {
                Err(Unfit(format!("{key} is {value}, and {name} takes {} to {}", range.start(), range.end()), hint))
            }
            None => Err(Unfit(format!("{name} lacks {key}"), hint)),
        };
        takes.iter().map(value).collect()
    }
}

impl Formula {
    /// The formula, if it has the numbers that it needs and no others, and goes with this axis.
    pub(super) fn of(typed: &FormulaAsTyped, along: Along) -> Result<Self, Unfit> {
        let numbers = typed.checked(along)?;
        let at = |place: usize| numbers.get(place).copied().unwrap_or(f64::NAN);
        let correction = || {
            let of = Correction::for_variance(at(0));
            of.ok_or_else(|| Unfit(format!("no correction is known for C = {}", at(0)), typed.name.example()))
        };
        Ok(match typed.name {
            FormulaName::CollusionFactor => Self::Collusion { clients: typed.clients, colluders: typed.colluders },
            FormulaName::ShuffledGaussian => Self::ShuffledGaussian { users: at(0) as u64, deviation: at(1) },
            FormulaName::NegativeAtStart => Self::Negative { certainty: 1.0 / at(0) },
            FormulaName::NegativeAtConvergence => Self::Negative { certainty: at(0) / (at(1) * at(2) * at(3) * at(4)) },
            FormulaName::NoisyMean => {
                Self::NoisyMean(noisy::Naturals { precision: at(0), product: at(0) * at(1), deviation: at(2) })
            }
            FormulaName::NoisyVariance => {
                Self::NoisyVariance(noisy::Naturals { precision: at(0), product: 0.0, deviation: at(1) })
            }
            FormulaName::ClippedRatios => Self::ClippedRatios { bound: at(0) },
            FormulaName::CorrectionError => Self::CorrectionError,
            FormulaName::AcceptanceError => Self::AcceptanceError(correction()?),
            FormulaName::CorrectionDensity => Self::CorrectionDensity(correction()?),
        })
    }

    /// Its value at each place, enclosed; a place that it does not cover is refused.
    pub(super) fn drawn(&self, places: &[f64]) -> Result<Vec<Option<Bounds>>, PrivacyError> {
        let exactly = |value: f64| Some(Bounds { lower: value, upper: value });
        let each = |value: &dyn Fn(f64) -> Option<Bounds>| Ok(places.iter().map(|&at| value(at)).collect());
        match self {
            Self::Collusion { clients, colluders } => places
                .iter()
                .map(|&at| {
                    let (clients, colluders) = (clients.unwrap_or(at as u64), colluders.unwrap_or(at as u64));
                    Ok(exactly(clients as f64 / Cohort::new(clients, colluders, 0)?.honest_shares() as f64))
                })
                .collect(),
            Self::ShuffledGaussian { users, deviation } => {
                let mean = MeanRatio::new(*users, *deviation);
                each(&|epsilon| Some(mean.excess(epsilon.exp())))
            }
            Self::Negative { certainty } => each(&|clients| exactly(phi(-certainty * clients.max(0.0).sqrt()))),
            Self::NoisyMean(naturals) => each(&|mean| exactly(naturals.density_of_mean(mean))),
            Self::NoisyVariance(naturals) => each(&|variance| exactly(naturals.density_of_variance(variance))),
            Self::ClippedRatios { bound } => each(&|variance| ratios::clipped(*bound, variance)),
            Self::CorrectionError => each(&|variance| {
                let correction = Correction::for_variance(variance)?;
                let error = correction.error();
                Some(Bounds { lower: error.found, upper: error.proved })
            }),
            Self::AcceptanceError(test) => each(&|at| exactly(correction::acceptance_error(test, at))),
            Self::CorrectionDensity(test) => each(&|at| correction::log_density(test, at).and_then(exactly)),
        }
    }

    /// Label of the vertical axis for this formula.
    pub(super) fn upwards(&self) -> &'static str {
        match self {
            Self::Collusion { .. } => "variance / curator's",
            Self::ShuffledGaussian { .. } => "δ",
            Self::Negative { .. } => "probability",
            Self::NoisyMean(_) | Self::NoisyVariance(_) => "density",
            Self::ClippedRatios { .. } => "share of clipped ratios",
            Self::CorrectionError => "largest error of acceptance",
            Self::AcceptanceError(_) => "error of acceptance",
            Self::CorrectionDensity(_) => "log₁₀ density",
        }
    }

    /// The formula in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Collusion { .. } => "N/(N − T − 1): N clients, T colluders".to_owned(),
            Self::ShuffledGaussian { users, deviation } => {
                format!("{users} shuffled answers with noise {deviation}, all equal but one that moves by 1")
            }
            Self::Negative { certainty } => format!("Φ(−{certainty}√M): M clients"),
            Self::NoisyMean(naturals) => {
                format!("ratio of two normal numbers with standard deviation {}", naturals.deviation)
            }
            Self::NoisyVariance(naturals) => {
                format!("inverse of a normal number with standard deviation {}", naturals.deviation)
            }
            Self::ClippedRatios { bound } => format!("P(|log-ratio| > {bound}) for the mixture at θ = (0, 1)"),
            Self::CorrectionError => "sup |F − S|".to_owned(),
            Self::AcceptanceError(test) => format!("|F − S| for C = {}", test.variance()),
            Self::CorrectionDensity(test) => format!("density of the correction for C = {}", test.variance()),
        }
    }
}

/// Φ, the standard normal distribution function, to a few units in the last place.
fn phi(x: f64) -> f64 {
    let enclosed = Interval::exact(x).phi();
    0.5 * (enclosed.lo + enclosed.hi)
}
