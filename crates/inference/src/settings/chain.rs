//! Choices of a chain of draws: which test moves it, how far, how long, and from where.

use serde::Serialize;

/// Constants of posterior sampling by a Markov chain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Chain {
    /// How a chain moves.
    pub sampler: Sampler,
    /// T: iterations of each chain.
    pub iterations: u64,
    /// How many chains, one after the other, all paid from one budget.
    pub chains: u32,
    /// Iterations at the start of each chain that the served posterior leaves out.
    pub warm_up: u64,
    /// N₀: as how many rows the data of all sites count, where that is fewer than they are (a tempered posterior).
    pub counts_as: Option<u64>,
    /// Where a chain starts.
    pub start: Start,
}

impl Chain {
    /// Numbers of an answer to the last question of an iteration.
    pub(crate) fn numbers(&self, dimension: usize) -> usize {
        if self.asks_ratios() { 1 } else { dimension }
    }

    /// Whether the last question of an iteration is about a log-ratio.
    pub(crate) fn asks_ratios(&self) -> bool {
        !matches!(self.sampler, Sampler::Langevin { .. })
    }

    /// Questions that one iteration asks every site.
    pub fn questions(&self) -> u64 {
        match self.sampler {
            Sampler::Barker { .. } | Sampler::Penalty { .. } | Sampler::Langevin { .. } => 1,
            Sampler::Hamiltonian { leaps, .. } => u64::from(leaps) + 1,
        }
    }

    /// Questions on the way to a start, and of all iterations of all chains.
    pub fn rounds(&self) -> u64 {
        let before = match self.start {
            Start::Variational { rounds, .. } | Start::Climbed { rounds, .. } => rounds,
            Start::Origin | Start::Prior => 0,
        };
        let all = self.questions().saturating_mul(self.iterations).saturating_mul(u64::from(self.chains));
        before.saturating_add(all)
    }

    /// Whether noise makes up the spread of a batch.
    pub(crate) fn completes(&self) -> bool {
        matches!(self.sampler, Sampler::Barker { noise: TestNoise::Completed { .. }, .. })
    }

    /// Whether an iteration asks two kinds of questions.
    pub(crate) fn alternates(&self) -> bool {
        matches!(self.sampler, Sampler::Hamiltonian { .. })
    }
}

/// How a chain moves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Sampler {
    /// A random walk, accepted where the noised log-ratio is over 0 (Barker's test; Heikkilä et al. 2019).
    Barker {
        /// Deviation of a proposal from where the chain stands.
        step: f64,
        /// Whose variance makes up the test's.
        noise: TestNoise,
    },
    /// A random walk, accepted with the noise's penalty (Yıldırım and Ermiş 2019).
    Penalty {
        /// Deviation of a proposal from where the chain stands.
        step: f64,
        /// σ² of the noise in the log-ratio.
        variance: f64,
    },
    /// Langevin steps along noisy gradients of batches (Welling and Teh 2011; Wang, Fienberg, Smola 2015).
    Langevin {
        /// η: drift η/2 times the gradient, noise of variance η.
        step: f64,
    },
    /// Leapfrogs along noisy gradients, accepted with the noise's penalty (Räisä, Koskela, Honkela 2021).
    Hamiltonian {
        /// Length of a leap.
        step: f64,
        /// Leaps of an iteration.
        leaps: u32,
        /// σ² of the noise in the log-ratio.
        variance: f64,
        /// The share of μ² (Gaussian differential privacy) that the log-ratios cost, between 0 and 1; gradients cost the rest.
        share: f64,
    },
}

/// The Gaussian part of Barker's test, which is the privacy mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum TestNoise {
    /// Variance C in all, of which the batch's own variance is a part: what is added depends on the batch (one site only).
    Completed {
        /// C.
        variance: f64,
    },
    /// Variance C is added, whatever the batch's own is: plain Gaussian noise, at the price of a test that is too wide.
    Fixed {
        /// C.
        variance: f64,
    },
}

impl TestNoise {
    /// C.
    pub fn variance(self) -> f64 {
        match self {
            Self::Completed { variance } | Self::Fixed { variance } => variance,
        }
    }
}

/// Where a chain starts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Start {
    /// At the prior's mean.
    Origin,
    /// At a draw from the prior.
    Prior,
    /// At a draw from a variational posterior, learnt first by noisy gradients and paid for.
    Variational {
        /// Its rounds.
        rounds: u64,
        /// The share of ε and δ that they may cost by themselves, between 0 and 1.
        share: f64,
        /// Step size.
        learning_rate: f64,
    },
    /// Where steps along gradients led, for the Hamiltonian sampler: these are released and paid for as its leaps are.
    Climbed {
        /// Their number.
        rounds: u64,
        /// Step size.
        learning_rate: f64,
    },
}
