//! The gamma-Poisson family: a count, whose rate has a gamma prior.

use super::{ConjugateModel, DefaultSetting, Model, ModelSettings, OutcomeNeed, Prediction};
use crate::conjugate::{ConjugateFamily, ExactMarginal, LatentCount, NoisyTotals, RowStatistics};
use crate::describe::{Descriptor, Key, Limits, Otherwise, ValueKind};
use crate::draws::{standard_gamma, uniform};
use chacha20::ChaCha20Rng;
use libm::{lgamma, log};
use serde::Serialize;
use std::sync::Arc;
use toml::{Table, Value};

/// y ~ Poisson(θ) with θ ~ Gamma(a, b); given the sum s of n rows θ ~ Gamma(a + s, b + n).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GammaPoisson {
    /// a, positive.
    pub shape: f64,
    /// b, positive.
    pub rate: f64,
}

/// `kind = "gamma-poisson"`
pub(crate) const DESCRIPTOR: Descriptor<dyn ModelSettings> = Descriptor {
    name: "gamma-poisson",
    also: &["poisson", "count"],
    about: "The rate of an outcome that is a count with a public bound, without inputs, with a gamma prior.",
    keys: &[
        Key::new("shape", ValueKind::Positive, "2.0")
            .about("prior Gamma(shape, rate) of the mean count: as many events")
            .otherwise(Otherwise::Number(1.0)),
        Key::new("rate", ValueKind::Positive, "0.5").about("in as many rows").otherwise(Otherwise::Number(0.1)),
    ],
    limits: Limits::NONE,
    read: |reading| {
        let keys = &reading.keys;
        Ok(Arc::new(GammaPoisson { shape: keys.number("shape")?, rate: keys.number("rate")? }))
    },
};

impl ModelSettings for GammaPoisson {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("gamma-Poisson, prior Gamma({}, {})", self.shape, self.rate)
    }

    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::Count
    }

    fn build(&self, _: Option<usize>, _: u64) -> Arc<dyn Model> {
        Arc::new(ConjugateModel(*self))
    }

    fn keys(&self) -> Table {
        let keys = [("shape", self.shape), ("rate", self.rate)];
        keys.into_iter().map(|(name, value)| (name.to_owned(), Value::Float(value))).collect()
    }

    fn names(&self, _: &[String], _: &[String]) -> Vec<String> {
        vec!["mean count".to_owned()]
    }

    fn default_method(&self, _: DefaultSetting) -> Option<&'static str> {
        Some("algorithm = \"conjugate\"")
    }

    fn has_inputs(&self) -> bool {
        false
    }

    fn conjugate_family(&self, _: Option<usize>) -> Option<Arc<dyn ConjugateFamily>> {
        Some(Arc::new(*self))
    }

    fn states_its_prior(&self) -> bool {
        true
    }
}

impl ConjugateFamily for GammaPoisson {
    fn asks(&self, bounds: Option<[f64; 2]>) -> Option<RowStatistics> {
        bounds.map(|[low, high]| RowStatistics::Value { low, high })
    }

    fn prior(&self) -> Vec<(f64, f64)> {
        vec![(self.shape / self.rate, self.shape / (self.rate * self.rate))]
    }

    /// p(s) is negative binomial, in proportion to Γ(a + s)/s! · (n/(b + n))ˢ.
    fn posterior(&self, seen: &NoisyTotals) -> Option<Vec<ExactMarginal>> {
        let &[sum] = seen.sums.as_slice() else { return None };
        let rate = self.rate + seen.rows as f64;
        let log_ratio = log(seen.rows as f64 / rate);
        let log_prior = |s: u64| lgamma(self.shape + s as f64) - lgamma(s as f64 + 1.0) + s as f64 * log_ratio;
        let events = LatentCount::of(sum, seen.variance, None, log_prior)?;
        Some(vec![events.of_rate(self.shape, rate)?])
    }

    fn exact(&self, outcomes: &[f64]) -> Option<Vec<ExactMarginal>> {
        let sums = vec![outcomes.iter().sum()];
        self.posterior(&NoisyTotals { rows: outcomes.len() as u64, sums, variance: 0.0, units: (0.0, 1.0) })
    }

    fn log_likelihood(&self, outcome: f64, theta: &[f64]) -> f64 {
        theta.first().map_or(f64::NAN, |rate| outcome * log(*rate) - rate - lgamma(outcome + 1.0))
    }

    /// Mean and standard deviation of the negative binomial predictive: E θ, and the root of E θ + Var θ.
    fn predict(&self, mean: &[f64], variances: &[f64]) -> Prediction {
        let (mean, variance) = (mean.first().copied().unwrap_or(f64::NAN), variances.first().copied().unwrap_or(0.0));
        Prediction::Normal { mean, deviation: (mean + variance).sqrt() }
    }

    fn draw(&self, rng: &mut ChaCha20Rng) -> Vec<f64> {
        vec![standard_gamma(rng, self.shape) / self.rate]
    }

    /// The number of exponential waiting times that fit into an interval of this length.
    fn draw_outcome(&self, theta: &[f64], rng: &mut ChaCha20Rng) -> f64 {
        let mut left = theta.first().copied().unwrap_or(0.0);
        let mut events = 0.0;
        loop {
            left += log(uniform(rng));
            if left.is_nan() || left <= 0.0 {
                return events;
            }
            events += 1.0;
        }
    }
}
