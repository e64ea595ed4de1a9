//! Ways to move a chain: what each asks of the sites, and where it goes by their answers.

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
use crate::describe::{Canonical, Conflict, Descriptor, Key, Otherwise, VALUE, ValueKind};
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
    /// At the next draw.
    At(Vec<f64>),
}

/// One way to move. Its law: with answers without noise, or with noise of the variance that it knows, the target stays as it is.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// The beginning of an iteration at θ.
    fn begin(&self, target: &Target, theta: Vec<f64>, coins: &mut Coins) -> Walk;

    /// What is asked now.
    fn ask(&self, walk: &Walk) -> KernelQuestion;

    /// Whether both kinds of questions are asked, so that slopes are on terms of their own.
    fn asks_both(&self) -> bool {
        false
    }

    /// What follows from the answer: the (tempered) sum over all rows, noise included.
    fn take(&self, target: &Target, walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken;
}

/// How a chain moves, as a study states it: the settings from which a [`Kernel`] is made.
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

    /// What moves the chain, given the noise in the answers.
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
pub(super) const STEP: Key = Key {
    name: "step",
    about: "standard deviation of a proposal, or length of a step",
    kind: ValueKind::Positive,
    otherwise: Otherwise::Required,
    example: "0.1",
};

/// Refuses numbers that are not over 0.
pub(super) fn over_zero(named: &[(&str, f64)]) -> Result<(), Conflict> {
    match named.iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
        None => Ok(()),
        Some((key, value)) => {
            let what = format!("chain.{key} is {value}, expected a finite number over 0");
            Err(Conflict::new(format!("chain.{key}"), VALUE, what, "for example step = 0.1"))
        }
    }
}

/// Refuses batches, where a sampler asks all rows.
pub(super) fn all_rows(batch: Batching) -> Result<(), Conflict> {
    if batch == Batching::All {
        return Ok(());
    }
    let what = "the penalty and Hamiltonian samplers ask all rows";
    Err(Conflict::new("chain.batch", crate::describe::NOT_TOGETHER, what, "leave batch out"))
}
