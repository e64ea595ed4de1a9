//! Ways to move a chain: what each asks of the sites, and where it goes by their answers.

mod barker;
mod hamiltonian;
mod langevin;
mod penalty;

pub use barker::{Barker, Missing};
pub use hamiltonian::Hamiltonian;
pub use langevin::Langevin;
pub use penalty::Penalty;

use super::walk::{Coins, Target, Walk};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the sites are asked: a sum over rows of a function of public numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Question {
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
    fn ask(&self, walk: &Walk) -> Question;

    /// Whether both kinds of questions are asked, so that slopes are on terms of their own.
    fn asks_both(&self) -> bool {
        false
    }

    /// What follows from the answer: the (tempered) sum over all rows, noise included.
    fn take(&self, target: &Target, walk: Walk, heard: &[f64], coins: &mut Coins) -> Taken;
}
