//! Choices that methods share, as meant: checked, with nothing left to be looked up by name.
//!
//! A study types words and numbers; the readers in this module and in the files of the methods make
//! these types of them once. Inside, nobody compares a string. Settings that belong to one method
//! alone live in its own file.
//!
//! - [`Local`]: the local optimisation of solvers and of global VI.
//! - [`Promise`]: unit, relation, ε, δ, clip, noise, aggregator, accountant; [`SitePromises`]: what single sites have of their own.
//! - [`Rounds`], [`Damping`], [`Schedule`]: when a method ends, how much it keeps, who is asked when.
//! - [`Covariance`], [`Readout`], [`Repair`], [`FactorRule`]: what q may be and how it is served.
//!
//! # Examples
//! ```
//! use inference::settings::{Batching, Chart, Damping, Gradients, Local, Optimiser};
//! use privacy::SamplingRate;
//!
//! let local = Local {
//!     steps: 10,
//!     batch: Batching::Poisson(SamplingRate::new(0.05)?),
//!     optimiser: Optimiser::Adam,
//!     learning_rate: 0.05,
//!     keep_state: false,
//!     chart: Chart::LogDeviation,
//!     gradients: Gradients::Full,
//! };
//! assert_eq!(local.words(), "10 steps of Adam with learning rate 0.05, each row with probability 0.05");
//! assert_eq!(local.gradients.numbers(109), 218, "by means and by log standard deviations");
//!
//! let damping = Damping::new(0.1).expect("between 0 and 1");
//! assert_eq!(damping.parts(), 104_858, "a multiple of 2^-20");
//! assert!(Damping::new(0.0).is_none());
//! # Ok::<(), privacy::PrivacyError>(())
//! ```

mod local;
mod promise;
mod rounds;
mod site_promise;
mod starting;

pub use local::{Batching, Chart, DERIVED_LOCAL_KEY, Gradients, LOCAL_KEY, Local, Optimiser, WHOLE_KEY};
pub use promise::{Aggregator, Claim, Clip, DeltaRule, Noise, PRIVACY_KEYS, Promise, SecureNoise, SecureSumSettings};
pub use rounds::{DAMPING_KEY, MOST_ROUNDS_KEY, ROUNDS_KEY, Rounds};
pub use site_promise::{SITE_PROMISE_KEYS, SitePromise, SitePromises};

use crate::Family;
use crate::describe::Pacing;
use privacy::StudyConstant;
use serde::Serialize;

/// Who is asked when.
///
/// An aggregator needs [`Schedule::Synchronous`]: it opens one sum of all clients.
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
///
/// They are constants of the study. Under add-remove the number of rows is private: a plan warns of
/// rates by rows there ([`Method::goes_by_private_rows`](crate::Method::goes_by_private_rows)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Rates {
    /// All alike.
    Equal,
    /// Inversely to the declared number of rows.
    InverseRows,
}

impl Schedule {
    /// The schedule without its rates.
    pub fn pacing(self) -> Pacing {
        match self {
            Self::Sequential => Pacing::Sequential,
            Self::Synchronous => Pacing::Synchronous,
            Self::Asynchronous(_) => Pacing::Asynchronous,
        }
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Synchronous => "synchronous",
            Self::Asynchronous(Rates::Equal) => "asynchronous",
            Self::Asynchronous(Rates::InverseRows) => "asynchronous (small clients come more often)",
        }
    }
}

/// ρ, a multiple of 2^-20 between 0 and 1, so that a damped integer change is exact on the finer grid
/// of totals.
///
/// A client keeps ρ times its change: t_m ← t_m · (change)^ρ. Less is steadier under noise and slower;
/// 1 is undamped.
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
///
/// Mean-field has 2d natural parameters, full has d + d(d + 1)/2. Noisy gradients move a mean-field q
/// only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Covariance {
    /// Independent coordinates.
    MeanField,
    /// Any covariance. Only where the local problem is solved in the clear.
    Full,
}

impl Covariance {
    /// The family of so many parameters.
    pub fn family(self, dimension: usize) -> Family {
        match self {
            Self::MeanField => Family::MeanField { dimension },
            Self::Full => Family::Full { dimension },
        }
    }
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
    /// A negative precision of the factor becomes its absolute value; its Λμ stays, so that the factor's mean changes its
    /// sign. The rule of the public code of Heikkilä et al. 2022, on a client's whole released factor and never on a part.
    Absolute,
}

impl StudyConstant for FactorRule {}

/// From the accumulated total to the served q: post-processing, always proper.
///
/// The total of all factors is what was learnt; noise may have made it improper. The readout makes a
/// proper Gaussian of it, for predictions and for the next question.
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
