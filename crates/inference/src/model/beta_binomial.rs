//! The beta-binomial family: a binary outcome, whose probability has a beta prior.

use super::{ConjugateModel, DefaultSetting, Model, ModelSettings, OutcomeNeed, Prediction};
use crate::conjugate::{ConjugateFamily, ExactMarginal, LatentCount, NoisyTotals, RowStatistics, log_binomial};
use crate::describe::{Descriptor, Key, Limits, Otherwise, ValueKind};
use crate::draws::{standard_gamma, uniform};
use chacha20::ChaCha20Rng;
use libm::{lgamma, log};
use serde::Serialize;
use std::sync::Arc;
use toml::{Table, Value};

/// P(y = 1) = θ with θ ~ Beta(a, b); given s ones among n rows θ ~ Beta(a + s, b + n − s).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BetaBinomial {
    /// a, positive.
    pub alpha: f64,
    /// b, positive.
    pub beta: f64,
}

/// `kind = "beta-binomial"`
pub(crate) const DESCRIPTOR: Descriptor<dyn ModelSettings> = Descriptor {
    name: "beta-binomial",
    also: &["bernoulli", "proportion"],
    about: "The probability of an outcome with two levels, without inputs, with a beta prior.",
    keys: &[
        Key::new("alpha", ValueKind::Positive, "2.0")
            .about("prior Beta(alpha, beta) of the probability of the second level: as many rows with it")
            .otherwise(Otherwise::Number(1.0)),
        Key::new("beta", ValueKind::Positive, "5.0")
            .about("as many rows with the first level")
            .otherwise(Otherwise::Number(1.0)),
    ],
    limits: Limits::NONE,
    read: |reading| {
        let keys = &reading.keys;
        Ok(Arc::new(BetaBinomial { alpha: keys.number("alpha")?, beta: keys.number("beta")? }))
    },
};

impl ModelSettings for BetaBinomial {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("beta-binomial, prior Beta({}, {})", self.alpha, self.beta)
    }

    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::TwoLevels
    }

    fn build(&self, _: Option<usize>, _: u64) -> Arc<dyn Model> {
        Arc::new(ConjugateModel(*self))
    }

    fn keys(&self) -> Table {
        let keys = [("alpha", self.alpha), ("beta", self.beta)];
        keys.into_iter().map(|(name, value)| (name.to_owned(), Value::Float(value))).collect()
    }

    fn names(&self, _: &[String], levels: &[String]) -> Vec<String> {
        vec![levels.last().map_or_else(|| "probability".to_owned(), |level| format!("probability of {level}"))]
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

impl ConjugateFamily for BetaBinomial {
    /// The number of ones: values between 0 and 1.
    fn asks(&self, bounds: Option<[f64; 2]>) -> Option<RowStatistics> {
        bounds.is_none().then_some(RowStatistics::Value { low: 0.0, high: 1.0 })
    }

    fn prior(&self) -> Vec<(f64, f64)> {
        let total = self.alpha + self.beta;
        vec![(self.alpha / total, self.alpha * self.beta / (total * total * (total + 1.0)))]
    }

    /// p(s) is beta-binomial, n over s times B(a + s, b + n − s).
    fn posterior(&self, seen: &NoisyTotals) -> Option<Vec<ExactMarginal>> {
        let &[sum] = seen.sums.as_slice() else { return None };
        let n = seen.rows;
        let log_prior =
            |s: u64| log_binomial(n, s) + lgamma(self.alpha + s as f64) + lgamma(self.beta + (n - s) as f64);
        let ones = LatentCount::of(sum, seen.variance, Some(n), log_prior)?;
        Some(vec![ones.of_share(self.alpha, self.alpha + self.beta + n as f64)?])
    }

    fn exact(&self, outcomes: &[f64]) -> Option<Vec<ExactMarginal>> {
        let sums = vec![outcomes.iter().sum()];
        self.posterior(&NoisyTotals { rows: outcomes.len() as u64, sums, variance: 0.0, units: (0.0, 1.0) })
    }

    fn log_likelihood(&self, outcome: f64, theta: &[f64]) -> f64 {
        let p = theta.first().copied().unwrap_or(f64::NAN);
        if outcome > 0.5 { log(p) } else { log(1.0 - p) }
    }

    /// E θ.
    fn predict(&self, mean: &[f64], _: &[f64]) -> Prediction {
        Prediction::Probability(mean.first().copied().unwrap_or(f64::NAN))
    }

    fn draw(&self, rng: &mut ChaCha20Rng) -> Vec<f64> {
        let (a, b) = (standard_gamma(rng, self.alpha), standard_gamma(rng, self.beta));
        vec![a / (a + b)]
    }

    fn draw_outcome(&self, theta: &[f64], rng: &mut ChaCha20Rng) -> f64 {
        f64::from(theta.first().is_some_and(|p| uniform(rng) < *p))
    }
}
