//! A method in words: what plans and reports say about it.

use crate::settings::Promise;

/// A method in words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// The algorithm and its solver or sampler, such as "partitioned variational inference, perturb".
    pub algorithm: String,
    /// What comes after the schedule and the rounds, such as "damping 0.1".
    pub details: Vec<String>,
    /// What a client does in a round.
    pub local: String,
    /// How the posterior is served, where that is not the default.
    pub readout: Option<String>,
}

/// What bounds the sums of a method, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundWords {
    /// How every row is bounded.
    pub rows: String,
    /// What the noise of the last stage is on; the bound is put in place of `{}`.
    pub sums: String,
    /// The same of the stage before it; not shown where there is none.
    pub first_sums: String,
}

impl BoundWords {
    /// Sums of vectors that are clipped to the promise's bound.
    pub fn clipped(promise: &Promise) -> Self {
        Self { rows: promise.clip_words(), sums: "sums clipped at {}".into(), first_sums: "sums clipped at {}".into() }
    }
}

/// How the draws of a method are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawPlan {
    /// Iterations of a chain.
    pub iterations: u64,
    /// Chains.
    pub chains: u32,
    /// Iterations at the start of each chain that the served posterior leaves out.
    pub warm_up: u64,
    /// As how many rows the data count, where that is fewer than they are.
    pub counts_as: Option<u64>,
}
