//! A method as meant: every choice that a study makes for it, checked, with nothing left to be looked up by name.

mod chain;
mod promise;

pub use chain::{Chain, Sampler, Start, TestNoise};
pub use promise::{Aggregator, Claim, Clip, DeltaRule, Noise, Promise, SecureNoise, SecureSum};

use privacy::{Adjacency, NormBound, SamplingRate, StudyConstant, Unit};
use serde::Serialize;

/// One method of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Method {
    /// Name as in the study.
    pub name: String,
    /// What is asked and folded.
    pub scheme: Scheme,
    /// The local objective, and how it is solved.
    pub solver: Solver,
    /// Who is asked when.
    pub schedule: Schedule,
    /// When it ends.
    pub rounds: Rounds,
    /// How much of a change is kept.
    pub damping: Damping,
    /// Mean-field or full covariance.
    pub covariance: Covariance,
    /// What a client does with its own factor where noise made its precision negative.
    pub factor: FactorRule,
    /// How the served q is read out of the total.
    pub readout: Readout,
    /// The local optimisation.
    pub local: Local,
    /// Precision of the prior of an intercept of each site's own, which never leaves it; none without one.
    pub site_intercept: Option<f64>,
    /// What is promised to whom; none for a method without privacy, chosen by name.
    pub promise: Option<Promise>,
}

impl Method {
    /// How many parameters a site has for itself.
    pub(crate) fn own_parameters(&self) -> usize {
        usize::from(self.site_intercept.is_some())
    }

    /// True if a row more or less, which is private under add-remove, changes a rate, a weight or δ of this method.
    pub fn goes_by_private_rows(&self) -> bool {
        let Some(promise) = &self.promise else { return false };
        let private = promise.unit == Unit::Example && promise.adjacency == Adjacency::AddRemove;
        let steps = matches!(self.solver, Solver::DpOptimisation | Solver::Hybrid(_));
        let batch = steps && matches!(self.local.batch, Batching::PoissonOf { .. });
        let delta = promise.delta == DeltaRule::PowerOfTenBelowRows;
        let rates = self.schedule == Schedule::Asynchronous(Rates::InverseRows);
        // Where only sums are opened, a client leaves out its share of the public total, by its rows; where it takes steps
        // of its own, its batch stands for all rows.
        let summed = promise.aggregator != Aggregator::None;
        let weights = summed && self.scheme == Scheme::Pvi
            || matches!(self.scheme, Scheme::GlobalViAtClients | Scheme::NoiseAware(_) | Scheme::Statistics(_));
        private && (batch || delta || rates || weights)
    }

    /// True if rows are dealt to parts and may come and go, so that a part must follow from a row's record id.
    pub fn needs_record_ids(&self) -> bool {
        let by_parts = matches!(self.solver, Solver::Average { .. } | Solver::Virtual { .. });
        by_parts && self.promise.is_some_and(|p| p.unit == Unit::Example && p.adjacency == Adjacency::AddRemove)
    }
}

/// What is asked and folded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Scheme {
    /// Partitioned variational inference.
    Pvi,
    /// Bayesian committee machine, one round.
    Committee(CommitteePrior),
    /// Gradients of the global objective, followed by one optimiser, at the server.
    GlobalVi,
    /// Releases are read as observations with noise of known variance.
    NoiseAware(NoiseAware),
    /// Linear regression from one sum of sufficient statistics over all clients.
    Statistics(Statistics),
    /// A Markov chain whose draws are the posterior.
    Chain(Chain),
    /// The objective of global VI, with an optimiser at every client, which sends its steps. Last, so that the numbers of the
    /// others, to which noise is bound, stay what they were.
    GlobalViAtClients,
}

/// Constants of regression by sufficient statistics.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Statistics {
    /// What of a row is released, and how it is bounded.
    pub rule: StatisticsRule,
    /// How noisy statistics are read.
    pub reading: StatisticsReading,
}

/// What of a row is released, and how it is bounded. Bounds are those of the encoded inputs and the outcome alike.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum StatisticsRule {
    /// Every product once, of values projected to ±bound (Heikkilä et al. 2017, section 3.2.1, without projection).
    Plain {
        /// c.
        bound: f64,
    },
    /// The same after projection to fractions of deviations that a first round asks for (their Algorithm 2).
    Projected {
        /// Assumed bounds ±c, for the deviations.
        bound: f64,
        /// The share of ε and δ that the deviations may cost by themselves, between 0 and 1.
        share: f64,
    },
    /// Outer products of whole rows, in deviation units, clipped by their norm.
    RowNorm {
        /// Where the deviations come from.
        deviations: Deviations,
        /// R: the norm of a row to which it is scaled down, times √(d + 1).
        radius: f64,
    },
    /// Each row by itself, projected to ±bound and noised: local privacy, the baseline of all of them.
    Inputs {
        /// c.
        bound: f64,
    },
}

/// Where the deviations of inputs and outcome come from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Deviations {
    /// From the study: all values are in units of their deviations, more or less.
    Known,
    /// From a first round.
    Asked {
        /// Assumed bounds ±c.
        bound: f64,
        /// The share of μ² (Gaussian differential privacy), between 0 and 1.
        share: f64,
    },
}

/// How noisy statistics are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum StatisticsReading {
    /// The posterior given the *noisy* statistics (Bernstein and Sheldon 2019). For sums of clipped rows.
    NoiseAware,
    /// Eigenvalues clipped at 0 and a ridge as large as the noise.
    Ridge,
    /// The statistics taken at their word, with no more than a repair.
    Naive,
}

/// Constants of noise-aware PVI.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NoiseAware {
    /// Where the data's precision is taken from.
    pub curvature: Curvature,
    /// τ: how far coordinates with little information are scaled up before clipping; 0 is not at all.
    pub whitening: f64,
    /// f₀: the share of the largest precision under which there is no more scaling.
    pub floor: f64,
    /// κ: what the noise variance is multiplied by in the readout; 1 is the theory's.
    pub caution: f64,
}

/// Where the data's precision is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Curvature {
    /// Rule A: second moments of the inputs, asked for first, times the model's mean curvature.
    Moments {
        /// How often each client is asked for them.
        looks: u32,
        /// Bound of a row's x².
        bound: f64,
    },
    /// Rule B: each row's precision is released with its residual in every round, clipped together.
    EveryRound {
        /// What precisions are multiplied by before they are clipped.
        weight: f64,
    },
}

impl NoiseAware {
    /// Length of a released sum for d parameters.
    pub(crate) fn numbers(&self, dimension: usize) -> usize {
        match self.curvature {
            Curvature::Moments { .. } => dimension,
            Curvature::EveryRound { .. } => 2 * dimension,
        }
    }
}

/// Which prior the members of a committee start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum CommitteePrior {
    /// p itself; the product is divided by p^(M−1).
    Same,
    /// p^(1/M).
    Split,
}

/// The local objective, and how it is solved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Solver {
    /// In the clear; the change passes an open gate.
    Clear,
    /// The gate stands inside the loop.
    DpOptimisation,
    /// In the clear; the whole change is clipped and passes the gate once.
    Perturb,
    /// The mean of the changes of K parts, each clipped.
    Average {
        /// K.
        parts: u32,
    },
    /// The sum of the changes of K parts, each a client of its own, each clipped.
    Virtual {
        /// K.
        parts: u32,
    },
    /// Linear regression: each row's sufficient statistics are clipped; their sum passes the gate in every update.
    Analytic,
    /// Linear regression: the same sum passes the gate once, and every later update is a function of what was released.
    Likelihood,
    /// Linear regression: analytic updates first, then DP optimisation from where they led.
    Hybrid(Hybrid),
}

impl Solver {
    /// True for solvers that rest on a Gaussian likelihood.
    pub fn is_conjugate(self) -> bool {
        matches!(self, Self::Analytic | Self::Likelihood | Self::Hybrid(_))
    }
}

/// The analytic updates that come before DP optimisation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Hybrid {
    /// How many updates of each client.
    pub updates: u64,
    /// The share of ε and δ that they may cost by themselves, between 0 and 1; DP optimisation gets what is left then.
    pub share: f64,
    /// C of a row's sufficient statistics. The promise's bound is that of gradients.
    pub clip: NormBound,
}

/// Who is asked when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Schedule {
    /// One client after the other; a round asks each once.
    Sequential,
    /// All clients at once.
    Synchronous,
    /// A round draws as many clients as there are, with repeats, at declared rates; every answer is folded by itself,
    /// into whatever the state is by then.
    Asynchronous(Rates),
}

/// Declared rates at which clients come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Rates {
    /// All alike.
    Equal,
    /// Inversely to the declared number of rows.
    InverseRows,
}

/// When a method ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Rounds {
    /// After so many rounds.
    Count(u64),
    /// When no client's budget covers another update, or after so many rounds.
    UntilSpent {
        /// Most rounds.
        at_most: u64,
    },
}

/// ρ, a multiple of 2^-20 between 0 and 1, so that a damped integer change is exact on the finer grid of totals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Damping(u32);

impl Damping {
    /// Bits by which totals are finer than changes.
    pub const BITS: u32 = 20;
    /// ρ = 1.
    pub const NONE: Self = Self(1 << Self::BITS);

    /// The nearest multiple of 2^-20; none outside (0, 1] or where that would be 0.
    pub fn new(rho: f64) -> Option<Self> {
        let parts = (rho * f64::from(1 << Self::BITS)).round();
        (rho > 0.0 && rho <= 1.0 && parts >= 1.0).then_some(Self(parts as u32))
    }

    /// ρ·2^20.
    pub fn parts(self) -> u32 {
        self.0
    }

    /// ρ.
    pub fn get(self) -> f64 {
        f64::from(self.0) / f64::from(1 << Self::BITS)
    }
}

impl StudyConstant for Damping {}

/// Which Gaussians q may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Covariance {
    /// Independent coordinates.
    MeanField,
    /// Any covariance. Only where the local problem is solved in the clear.
    Full,
}

/// What a client does with its own released factor before it sends the change: post-processing, at local gates only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum FactorRule {
    /// Nothing.
    Free,
    /// A negative precision of the factor becomes 0; its Λμ stays.
    Project,
    /// Where the precision is negative, the factor's coordinate becomes 1 altogether (workshop paper, section 5).
    Reset,
}

impl StudyConstant for FactorRule {}

/// From the accumulated total to the served q: post-processing, always proper.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Readout {
    /// What to do with a precision that noise made too small.
    pub repair: Repair,
    /// Serve the mean of the natural parameters of the last so many rounds. 1 serves the last.
    pub average: u32,
    /// What becomes of the noise in it.
    pub noise: NoiseReading,
}

/// What a readout makes of the noise that a total is known to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum NoiseReading {
    /// Nothing: the total is taken at its word.
    Plain,
    /// The total is an observation with noise of known variance: Wiener's weights. For PVI by DP optimisation with Adam.
    Aware,
}

/// The one post-processing that makes a total proper.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Repair {
    /// The data's precision is projected to at least 0: the served precision is never under the prior's.
    Project,
    /// The served precision is raised to this floor.
    Floor(f64),
}

/// The local optimisation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Local {
    /// T: steps of one update.
    pub steps: u64,
    /// How a step's rows are drawn.
    pub batch: Batching,
    /// How q moves.
    pub optimiser: Optimiser,
    /// Step size.
    pub learning_rate: f64,
    /// Whether moments of the optimiser are kept from one update of a client to its next.
    pub keep_state: bool,
    /// Coordinates of the spread.
    pub chart: Chart,
    /// Which gradients are clipped, noised and released.
    pub gradients: Gradients,
}

/// Which gradients DP optimisation clips, noises and releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Gradients {
    /// By the means and by the log deviations, clipped together.
    Full,
    /// By the means alone; those by the log deviations follow from the release, where a model draws its parameters once
    /// for a batch (Jälkö et al. 2022, arXiv:2210.15961).
    Aligned,
}

impl Gradients {
    /// Numbers of a released sum for d parameters.
    pub(crate) fn numbers(self, dimension: usize) -> usize {
        match self {
            Self::Full => dimension.saturating_mul(2),
            Self::Aligned => dimension,
        }
    }
}

/// How a step's rows are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Batching {
    /// All rows.
    All,
    /// Each row with this probability.
    Poisson(SamplingRate),
    /// Each row with probability max(at_least, ⌈fraction·N⌉)/N, N the declared number of rows.
    PoissonOf {
        /// Share of the rows.
        fraction: f64,
        /// Expected rows at least.
        at_least: u64,
    },
    /// A uniform subset of so many rows.
    WithoutReplacement(u64),
}

/// How q moves in a local step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Optimiser {
    /// Plain gradient steps.
    Sgd,
    /// Duchi et al. 2011.
    Adagrad,
    /// Kingma and Ba 2015.
    Adam,
    /// Natural gradients in closed form, on all rows: only in the clear.
    Natural,
}

/// Coordinates of the spread that an optimiser moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Chart {
    /// log s.
    LogDeviation,
    /// log s².
    LogVariance,
}
