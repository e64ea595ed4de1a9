//! The Dirichlet-multinomial family: an outcome of several levels, whose probabilities have a Dirichlet prior.

use super::{ConjugateModel, DefaultSetting, Model, ModelSettings, OutcomeNeed, Prediction};
use crate::conjugate::{ConjugateFamily, ExactMarginal, LatentCount, NoisyTotals, RowStatistics};
use crate::describe::{Descriptor, Key, Limits, Otherwise, ValueKind};
use crate::draws::{standard_gamma, uniform};
use chacha20::ChaCha20Rng;
use libm::{lgamma, log};
use serde::Serialize;
use std::sync::Arc;
use toml::{Table, Value};

/// P(y = k) = θₖ with θ ~ Dirichlet(c, …, c); given sₖ rows of each level θ ~ Dirichlet(c + s₁, …, c + s_K).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DirichletMultinomial {
    /// c, positive.
    pub concentration: f64,
    /// K.
    pub levels: u32,
}

/// `kind = "dirichlet-multinomial"`: the settings of [`DirichletMultinomial`], whose levels are those of the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DirichletSettings {
    /// c, positive.
    pub concentration: f64,
}

/// `kind = "dirichlet-multinomial"`
pub(crate) const DESCRIPTOR: Descriptor<dyn ModelSettings> = Descriptor {
    name: "dirichlet-multinomial",
    also: &["dirichlet", "categorical"],
    about: "The probabilities of the levels of an outcome, without inputs, with a Dirichlet prior.",
    keys: &[Key::new("concentration", ValueKind::Positive, "0.5")
        .about("prior Dirichlet(concentration, …) of the probabilities: as many rows with each level")
        .otherwise(Otherwise::Number(1.0))],
    limits: Limits::NONE,
    read: |reading| Ok(Arc::new(DirichletSettings { concentration: reading.keys.number("concentration")? })),
};

impl DirichletSettings {
    /// For an outcome of so many levels.
    fn family(self, levels: Option<usize>) -> DirichletMultinomial {
        let levels = u32::try_from(levels.unwrap_or(2)).unwrap_or(u32::MAX);
        DirichletMultinomial { concentration: self.concentration, levels }
    }
}

impl ModelSettings for DirichletSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        format!("Dirichlet-multinomial, prior Dirichlet({0}, …, {0})", self.concentration)
    }

    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::Levels
    }

    fn build(&self, levels: Option<usize>, _: u64) -> Arc<dyn Model> {
        Arc::new(ConjugateModel(self.family(levels)))
    }

    fn keys(&self) -> Table {
        Table::from_iter([("concentration".to_owned(), Value::Float(self.concentration))])
    }

    fn names(&self, _: &[String], levels: &[String]) -> Vec<String> {
        levels.iter().map(|level| format!("probability of {level}")).collect()
    }

    fn default_method(&self, _: DefaultSetting) -> Option<&'static str> {
        Some("algorithm = \"conjugate\"")
    }

    fn has_inputs(&self) -> bool {
        false
    }

    fn conjugate_family(&self, levels: Option<usize>) -> Option<Arc<dyn ConjugateFamily>> {
        Some(Arc::new(self.family(levels)))
    }

    fn states_its_prior(&self) -> bool {
        true
    }
}

impl ConjugateFamily for DirichletMultinomial {
    fn asks(&self, bounds: Option<[f64; 2]>) -> Option<RowStatistics> {
        bounds.is_none().then_some(RowStatistics::Level { levels: self.levels })
    }

    fn prior(&self) -> Vec<(f64, f64)> {
        let (c, total) = (self.concentration, self.concentration * f64::from(self.levels));
        vec![(c / total, c * (total - c) / (total * total * (total + 1.0))); self.levels as usize]
    }

    /// p(s) is Dirichlet-multinomial, in proportion to ∏ Γ(c + sₖ)/sₖ! on Σ sₖ = n. Given sₖ, θₖ ~ Beta(c + sₖ, (K − 1)c + n − sₖ).
    fn posterior(&self, seen: &NoisyTotals) -> Option<Vec<ExactMarginal>> {
        let (n, c) = (seen.rows, self.concentration);
        if seen.sums.len() != self.levels as usize {
            return None;
        }
        let log_weight = |_: usize, s: u64| lgamma(c + s as f64) - lgamma(s as f64 + 1.0);
        let counts = LatentCount::of_levels(&seen.sums, seen.variance, n, log_weight)?;
        let total = c * f64::from(self.levels) + n as f64;
        counts.iter().map(|count| count.of_share(c, total)).collect()
    }

    fn exact(&self, outcomes: &[f64]) -> Option<Vec<ExactMarginal>> {
        let count = |level: u32| outcomes.iter().filter(|y| **y == f64::from(level)).count() as f64;
        let sums = (0..self.levels).map(count).collect();
        self.posterior(&NoisyTotals { rows: outcomes.len() as u64, sums, variance: 0.0, units: (0.0, 1.0) })
    }

    fn log_likelihood(&self, outcome: f64, theta: &[f64]) -> f64 {
        theta.get(outcome as usize).map_or(f64::NEG_INFINITY, |p| log(*p))
    }

    /// E θ.
    fn predict(&self, mean: &[f64], _: &[f64]) -> Prediction {
        Prediction::Classes(mean.to_vec())
    }

    fn draw(&self, rng: &mut ChaCha20Rng) -> Vec<f64> {
        let each: Vec<f64> = (0..self.levels).map(|_| standard_gamma(rng, self.concentration)).collect();
        let sum: f64 = each.iter().sum();
        each.iter().map(|one| one / sum).collect()
    }

    fn draw_outcome(&self, theta: &[f64], rng: &mut ChaCha20Rng) -> f64 {
        let mut rest = uniform(rng);
        let level = theta.iter().position(|p| {
            rest -= p;
            rest < 0.0
        });
        level.unwrap_or(theta.len().saturating_sub(1)) as f64
    }
}
