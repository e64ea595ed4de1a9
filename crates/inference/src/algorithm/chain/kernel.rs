//! Ways to move a chain: what each asks of the sites, and where it goes by their answers.
//!
//! A sampler is two types in one file: its settings ([`Sampler`]), which a study states and the planner
//! asks, and its [`Kernel`], which moves the chain. A new sampler is such a file and one line of the
//! registry.

pub mod barker;
pub mod hamiltonian;
pub mod langevin;
pub mod penalty;

pub use barker::{Barker, BarkerSampler, MissingNoise, TestNoise};
pub use hamiltonian::{Hamiltonian, HamiltonianSampler};
pub use langevin::{Langevin, LangevinSampler};
pub use penalty::{Penalty, PenaltySampler};

use super::noise::ChainNoise;
use super::walk::{Coins, Target, Walk};
use crate::RunError;
use crate::describe::{Canonical, Conflict, Descriptor, Key, VALUE, ValueKind};
use crate::settings::Batching;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the sites are asked: a sum over rows of a function of public numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum KernelQuestion {
    /// log p(row | to) − log p(row | from).
    Ratio {
        /// θ.
        from: Vec<f64>,
        /// θ'.
        to: Vec<f64>,
    },
    /// The slope of log p(row | at).
    Slope {
        /// θ.
        at: Vec<f64>,
    },
}

/// Where a chain is after an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// Still on its way.
    On(Walk),
    /// At the next draw, from which the next iteration begins.
    At(Vec<f64>),
    /// At the next draw, `theta` of this walk, and already on the way to the one after: a kernel that keeps its momentum.
    Moving(Walk),
}

/// One way to move. Its law: with answers without noise, or with noise of the variance that it knows, the target stays as it is.
///
/// An iteration is [`begin`](Self::begin), then [`ask`](Self::ask) and [`take`](Self::take) until a draw is reached. Each
/// question is one release, and the [`Sampler`] states which ones an iteration asks: one log-ratio
/// ([`ratio_variance`](Sampler::ratio_variance)); slopes and then one log-ratio ([`leaps`](Sampler::leaps)); or, with neither, one
/// slope. A site refuses any other question before it is charged.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// The beginning of an iteration at θ.
    fn begin(&self, target: &Target, theta: Vec<f64>, coins: &mut Coins) -> Walk;

    /// What is asked now.
    fn ask(&self, walk: &Walk) -> KernelQuestion;

    /// What follows from the answer: the (tempered) sum over all rows, noise included.
    fn take(&self, target: &Target, walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken;
}

/// How a chain moves, as a study states it: the settings from which a [`Kernel`] is made.
///
/// The settings derive `Serialize`: their bytes tell runs apart. The privacy cost follows from what an iteration asks for. Sums
/// of slopes are clipped to `privacy.clip`, and [`ChainNoise::of_slopes`] is the variance of their noise. Log-ratios have no clip:
/// their bound is chosen so that the noise has the variance that [`ratio_variance`](Self::ratio_variance) states.
pub trait Sampler: fmt::Debug + Canonical + Send + Sync {
    /// How it is found and read.
    fn descriptor(&self) -> &'static Descriptor<dyn Sampler>;

    /// What it does, in words.
    fn describe(&self) -> String;

    /// V: the variance of the noise in a log-ratio of all rows; none where an iteration asks for slopes alone.
    fn ratio_variance(&self) -> Option<f64>;

    /// Whether the batch's own spread is a part of V, so that the noise makes up for the rest (Barker's test).
    fn completes(&self) -> bool {
        false
    }

    /// Slopes that an iteration asks for before its log-ratio, and the share of μ² that the log-ratios cost; none without.
    fn leaps(&self) -> Option<Leaps> {
        None
    }

    /// Refuses settings without a meaning, and ways to draw rows that its theorem does not cover.
    fn check(&self, batch: Batching) -> Result<(), Conflict>;

    /// What moves the chain, given the noise in the answers. Refuses noise that it cannot use; `plan` refuses it then, too.
    fn kernel(&self, noise: &ChainNoise<'_>) -> Result<Box<dyn Kernel>, RunError>;
}

/// Slopes before a log-ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leaps {
    /// How many.
    pub count: u32,
    /// The share of μ² (Gaussian differential privacy) that the log-ratios cost; slopes cost the rest.
    pub share: f64,
}

/// `chain.step`
pub const STEP: Key =
    Key::new("step", ValueKind::Positive, "0.1").about("standard deviation of a proposal, or length of a step");

/// Refuses numbers that are not over 0, by their keys in `chain`.
pub fn over_zero(named: &[(&str, f64)]) -> Result<(), Conflict> {
    match named.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
        None => Ok(()),
        Some((key, value)) => {
            let what = format!("chain.{key} is {value}, expected a finite number over 0");
            Err(Conflict::new(format!("chain.{key}"), VALUE, what, format!("for example {key} = 1")))
        }
    }
}

/// Refuses batches, where the sampler of this name asks all rows.
pub fn all_rows(sampler: &str, batch: Batching) -> Result<(), Conflict> {
    if batch == Batching::All {
        return Ok(());
    }
    let what = format!("the {sampler} sampler asks all rows");
    Err(Conflict::new("chain.batch", crate::describe::NOT_TOGETHER, what, "leave batch out"))
}
