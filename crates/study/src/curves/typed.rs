//! A figure of accounting as typed: the keys of a file with `[[curves]]`.

use crate::account::MechanismAsTyped;
use crate::digits::shortest;
use crate::error::StudyError;
use serde::Deserialize;

/// The whole file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CurvesAsTyped {
    /// Version of this shape, which was checked before the rest was read.
    #[serde(rename = "schema")]
    pub(super) _schema: Option<i64>,
    pub(super) study: CurvesTableAsTyped,
    pub(super) curves: Vec<AccountingFigureAsTyped>,
}

/// `[study]`: nothing is drawn at random, so there are no seeds.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CurvesTableAsTyped {
    pub(super) name: String,
}

/// `[[curves]]`: one figure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountingFigureAsTyped {
    pub(super) title: String,
    pub(super) along: Along,
    pub(super) values: ValuesAsTyped,
    /// δ of the ε that is drawn, where neither of the two is on the horizontal axis.
    pub(super) delta: Option<f64>,
    #[serde(rename = "line")]
    pub(super) lines: Vec<AccountingLineAsTyped>,
}

/// What is on the horizontal axis: ε, δ, or a number of the plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Along {
    /// ε, so that δ is drawn.
    Epsilon,
    /// δ, so that ε is drawn.
    Delta,
    /// How often a mechanism is used.
    Steps,
    /// How often a mechanism is used, in passes over the rows: steps times the rate.
    Epochs,
    /// Users in a shuffle.
    Users,
    /// ε of each user's own answer.
    LocalEpsilon,
    /// Probability of an answer at random.
    Gamma,
    /// Number of possible answers.
    Categories,
    /// Share of rows or users that are drawn.
    Rate,
    /// Standard deviation of the noise over the sensitivity.
    NoiseMultiplier,
    /// Rows in the batch of a Barker test.
    Batch,
    /// Clients who tell the adversary their noise, of a formula.
    Colluders,
    /// Clients who add noise, of a formula.
    Clients,
    /// The number whose density or error a formula gives.
    Value,
    /// Variance of a proposal of a Markov chain, of a formula.
    ProposalVariance,
    /// C: variance of the Gaussian part of Barker's test, of a formula.
    TestVariance,
}

/// `values`
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a list of numbers, or { from = 0.1, to = 2, points = 20 }")]
pub(super) enum ValuesAsTyped {
    List(Vec<f64>),
    Range(RangeAsTyped),
}

/// `{ from, to, points }`: evenly, and by powers of ten for δ.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeAsTyped {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) points: usize,
}

/// `[[curves.line]]`: a plan, with the keys of `account`, and who accounts for it; or a formula.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountingLineAsTyped {
    pub(super) name: String,
    /// Who accounts for the plan; `pld` without it.
    pub(super) accountant: Option<String>,
    pub(super) plan: Option<MechanismAsTyped>,
    /// Where the privacy profile is taken at few places only.
    pub(super) grid: Option<GridAsTyped>,
    /// A formula instead of a plan.
    pub(super) formula: Option<FormulaAsTyped>,
}

/// `grid`: so many places of log α, from −reach to reach.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GridAsTyped {
    pub(super) reach: f64,
    pub(super) points: usize,
}

/// `formula`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FormulaAsTyped {
    pub(super) name: FormulaName,
    pub(super) clients: Option<u64>,
    pub(super) colluders: Option<u64>,
    pub(super) users: Option<u64>,
    pub(super) deviation: Option<f64>,
    pub(super) rows: Option<u64>,
    pub(super) noise_variance: Option<f64>,
    pub(super) damping: Option<f64>,
    pub(super) clip: Option<f64>,
    pub(super) precision: Option<f64>,
    pub(super) mean: Option<f64>,
    pub(super) bound: Option<f64>,
    pub(super) test_variance: Option<f64>,
}

/// The formulas by their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FormulaName {
    /// The variance of clients' noise over a curator's.
    CollusionFactor,
    /// δ of shuffled answers with Gaussian noise.
    ShuffledGaussian,
    /// How often a client's first noisy precision is negative.
    NegativeAtStart,
    /// The same of a client's factor near convergence.
    NegativeAtConvergence,
    /// Density of the mean that two noisy natural parameters have.
    NoisyMean,
    /// Density of the variance that a noisy precision has.
    NoisyVariance,
    /// How many log-ratios of Paper II's mixture are clipped.
    ClippedRatios,
    /// How far the acceptance of a corrected test is from Barker's, at the worst place.
    CorrectionError,
    /// The same place by place.
    AcceptanceError,
    /// Logarithm of the density of the correction distribution.
    CorrectionDensity,
}

impl Along {
    /// Its key in a plan; none for ε and δ, which are asked of the accountant.
    pub(super) fn key(self, plan: &mut MechanismAsTyped) -> Option<(&'static str, &mut Option<String>)> {
        Some(match self {
            Self::Epsilon | Self::Delta => return None,
            Self::Colluders | Self::Clients | Self::Value | Self::ProposalVariance | Self::TestVariance => return None,
            Self::Steps | Self::Epochs => ("steps", &mut plan.steps),
            Self::Users => ("users", &mut plan.users),
            Self::LocalEpsilon => ("local_epsilon", &mut plan.local_epsilon),
            Self::Gamma => ("gamma", &mut plan.gamma),
            Self::Categories => ("categories", &mut plan.categories),
            Self::Rate => ("rate", &mut plan.rate),
            Self::NoiseMultiplier => ("noise_multiplier", &mut plan.noise_multiplier),
            Self::Batch => ("batch", &mut plan.batch),
        })
    }

    /// What a plan has as this number at a place of the axis; of epochs whole steps.
    pub(super) fn number(self, at: f64, plan: &MechanismAsTyped) -> Result<String, StudyError> {
        if self != Self::Epochs {
            return Ok(shortest(at));
        }
        let rate = plan.rate.as_deref().map_or(Some(1.0), |rate| rate.parse().ok()).filter(|rate| *rate > 0.0);
        let hint = "rate = 0.01 in the plan, or along = \"steps\"";
        let rate: f64 = rate.ok_or_else(|| StudyError::usage("epochs are counted by the rate of a plan", hint))?;
        Ok(shortest((at / rate).round().max(1.0)))
    }

    /// What stands along the axis.
    pub fn words(self) -> &'static str {
        match self {
            Self::Epsilon => "ε",
            Self::Delta => "δ",
            Self::Steps => "steps",
            Self::Epochs => "epochs",
            Self::Users => "users",
            Self::LocalEpsilon => "ε of a user's own answer",
            Self::Gamma => "γ",
            Self::Categories => "categories",
            Self::Rate => "share of the users or rows in a step",
            Self::NoiseMultiplier => "noise multiplier",
            Self::Batch => "rows in a batch",
            Self::Colluders => "colluding clients",
            Self::Clients => "clients",
            Self::Value => "value",
            Self::ProposalVariance => "variance of a proposal",
            Self::TestVariance => "C, variance of the test's Gaussian part",
        }
    }

    /// Whether formulas alone have it: no plan does.
    pub(super) fn is_of_formulas(self) -> bool {
        use Along::{Clients, Colluders, ProposalVariance, TestVariance, Value};
        matches!(self, Colluders | Clients | Value | ProposalVariance | TestVariance)
    }
}
