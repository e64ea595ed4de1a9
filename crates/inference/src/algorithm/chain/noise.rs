//! The noise in the sums of a chain: how sites' answers are scaled so that all together have the variance that a test knows.

use super::{RatioScales, Sampler};
use crate::Terms;
use crate::client::Summing;
use privacy::Mechanism;

/// The noise in the sums of all clients, and what scales it.
///
/// A test needs noise of one variance V in the log-ratio of all rows. Where M sites each add noise of
/// their own, each has V/M; where one sum is noised, it has V. The bound to which log-ratios are
/// clipped follows from this and from the noise that privacy needs.
pub struct ChainNoise<'a> {
    /// What was agreed with each client.
    pub(super) terms: &'a [Terms],
    /// Who adds up.
    pub(super) summing: Summing,
    /// N₀/N.
    pub(super) temper: f64,
}

impl ChainNoise<'_> {
    /// Whether there is none.
    pub fn is_open(&self) -> bool {
        self.terms.iter().all(|terms| *terms.event.mechanism() == Mechanism::Open)
    }

    /// What a client's sum over a batch is multiplied by.
    fn weight(&self, client: usize) -> f64 {
        self.temper * self.terms[client].inverse_rate()
    }

    /// As how many clients' own noise the noise in all answers together counts: each of M adds its own, or one sum has it.
    fn sources(&self) -> f64 {
        match self.summing {
            Summing::Nobody => self.terms.len() as f64,
            summing => summing.times(self.terms.len()),
        }
    }

    /// Bounds of log-ratios such that the noise in all answers together has the test's variance V: what one source adds has
    /// V/sources, and is weight·B·(noise of a sum of numbers within ±1).
    pub(super) fn scales(&self, client: usize, sampler: &dyn Sampler) -> RatioScales {
        let weight = self.weight(client);
        let variance = sampler.ratio_variance().unwrap_or(0.0);
        if let (true, Mechanism::BarkerTest { batch, .. }) = (sampler.completes(), self.terms[client].event.mechanism())
        {
            // ρ√b/N₀ with ρ² = C/(1 + L), L = 1; weight is N₀/b.
            let ratio_bound = (0.5 * variance / batch.get() as f64).sqrt() / weight;
            return RatioScales { ratio_bound, weight };
        }
        let variance = if sampler.completes() { 0.0 } else { variance };
        let deviation = self.terms[client].noise_deviation();
        let private = deviation > 0.0 && variance > 0.0;
        let ratio_bound = if private { (variance / self.sources()).sqrt() / (weight * deviation) } else { 1.0 };
        RatioScales { ratio_bound, weight }
    }

    /// σ² of each coordinate of the (tempered) gradient of all rows, where that is what a step asks for.
    pub fn of_slopes(&self) -> f64 {
        let own = |(m, terms): (usize, &Terms)| (self.weight(m) * terms.noise_deviation()).powi(2);
        let mut each = self.terms.iter().enumerate().map(own);
        match self.summing {
            Summing::Nobody => each.sum(),
            summing => each.next().unwrap_or(0.0) * summing.times(self.terms.len()),
        }
    }
}
