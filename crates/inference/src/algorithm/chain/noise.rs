//! The noise in the sums of a chain: how sites' answers are scaled so that all together have the variance that a test knows.

use super::{RatioScales, Sampler};
use crate::Terms;
use crate::chain::Correction;
use crate::client::Summing;
use privacy::{Event, Mechanism};

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

/// The conditions of Theorems 1 and 2 of Heikkilä et al. 2019 for a test whose Gaussian part has variance C, and why they hold.
///
/// (11) bounds what a row's log-ratio is, (12) by how much the log-likelihoods of two rows may differ; either is enough for all rows. (19) is
/// (11) at √b/N₀, by which the batch's own variance is at most ρ² = C/2 and (15) holds: σ² < C < π²/3. (20) limits Rényi orders. Under (16) Gaussian noise
/// and correction are taken to be logistic, and the supplement's Theorem 1 bounds how far a batch's law is from a normal one.
pub(super) fn conditions(variance: f64, event: &Event) -> Vec<String> {
    let instead = "condition (12), rows whose log-likelihoods differ by at most B at every θ, is not needed, and is met by no B: \
                   θ is unbounded in every model here, and with it the difference";
    let correction = Correction::for_variance(variance).map(|correction| {
        let error = at_most(correction.error().proved);
        format!("condition (16): N(0, {variance}) and the correction are logistic up to {error}: by no more is a proposal accepted too often or too seldom")
    });
    let Mechanism::BarkerTest { batch, .. } = event.mechanism() else {
        let clipped = format!("condition (11) holds for every model, since log-ratios of rows are clipped; {instead}");
        return [clipped].into_iter().chain(correction).collect();
    };
    let most = 0.5 * variance;
    let limit = std::f64::consts::PI.powi(2) / 3.0;
    let rows = batch.get() as f64;
    let fifth = rows / 5.0;
    let mut all = vec![
        format!("condition (19) holds for every model, since log-ratios of rows are clipped; {instead}"),
        format!(
            "condition (15): a batch's own variance is at most {most}, under C = {variance}, under π²/3 = {limit:.2}"
        ),
        format!(
            "condition (20): the published theorem has Rényi orders under b/5 = {fifth}; the ledger's bound has no such limit"
        ),
    ];
    all.extend(correction);
    all.push(format!(
        "the batch's law is normal up to (6.4 E|Z|³ + 2 E|Z|)/√b by the supplement's Theorem 1, Z the rows' log-ratios with variance 1: \
         no less than 6.4/√b = {:.2}; the moments are those of rows, so that it is told as published and not certified",
        BERRY_ESSEEN / rows.sqrt()
    ));
    all
}

/// The factor of E|Z|³ in the supplement's Theorem 1, where E|Z|³ ≥ (E Z²)^(3/2) = 1.
const BERRY_ESSEEN: f64 = 6.4;

/// A bound in two digits, rounded up.
fn at_most(bound: f64) -> String {
    let unit = libm::pow(10.0, libm::floor(libm::log10(bound)) - 1.0);
    format!("{:.1e}", libm::ceil(bound / unit) * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use privacy::{Adjacency, NoiseMultiplier, Sampling, Steps, Unit, VarianceSlack};

    #[test]
    fn a_batch_has_its_variance_and_its_orders_and_all_rows_their_clip() {
        let (batch, slack) = (Steps::new(1000).unwrap(), VarianceSlack::new(1.0).unwrap());
        let test = Mechanism::BarkerTest { batch, slack };
        let sampling = Sampling::without_replacement(1000, 100_000).unwrap();
        let event = Event::new(test, Adjacency::Substitute, Unit::Example, sampling, Steps::ONE).unwrap();
        let said = conditions(2.0, &event);
        assert!(said[0].contains("(19)") && said[0].contains("(12)"), "{said:?}");
        assert!(said[1].contains("at most 1, under C = 2, under π²/3 = 3.29"), "{said:?}");
        assert!(said[2].contains("b/5 = 200"), "{said:?}");
        assert!(said[3].contains("(16)") && said[3].contains("up to 1.2e-3"), "{said:?}");
        assert!(said[4].contains("6.4/√b = 0.20") && said[4].contains("not certified"), "{said:?}");
        let all = Event::gaussian(NoiseMultiplier::new(2.0).unwrap(), Adjacency::Substitute, Steps::ONE);
        let said = conditions(2.0, &all);
        assert!(said.len() == 2 && said[0].contains("(11)") && said[0].contains("(12)"), "{said:?}");
    }
}
