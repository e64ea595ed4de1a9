//! The normal family with unknown mean and variance: a number with public bounds.

use super::{ConjugateModel, DefaultSetting, Model, ModelSettings, OutcomeNeed, Prediction};
use crate::conjugate::{ConjugateFamily, ExactMarginal, NoisyTotals, NormalInverseGamma, RowStatistics};
use crate::describe::{Descriptor, Key, Limits, Otherwise, ValueKind};
use crate::draws::{standard_gamma, standard_normals};
use chacha20::ChaCha20Rng;
use libm::log;
use serde::Serialize;
use std::f64::consts::PI;
use std::sync::Arc;
use toml::{Table, Value};

/// y ~ N(μ, σ²) with μ | σ² ~ N(m, σ²/κ) and σ² ~ inverse gamma(α, β), all of the encoded outcome.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Normal {
    /// The prior of μ and σ²; after rows their posterior has the same form.
    prior: NormalInverseGamma,
}

/// The least α: the variance of σ² is finite over 2.
const LEAST_SHAPE: f64 = 2.01;

/// `kind = "normal"`
pub(crate) const DESCRIPTOR: Descriptor<dyn ModelSettings> = Descriptor {
    name: "normal",
    also: &["normal-inverse-gamma", "mean-and-variance"],
    about: "Mean and variance of an outcome that is a number with public bounds, without inputs.",
    keys: &[
        Key::new("mean", ValueKind::ANY_NUMBER, "0.0")
            .about("prior mean of the mean, of the encoded outcome")
            .otherwise(Otherwise::Number(0.0)),
        Key::new("strength", ValueKind::Positive, "0.5")
            .about("as how many rows it counts: mean ~ N(mean, variance / strength)")
            .otherwise(Otherwise::Number(0.1)),
        Key::new("shape", ValueKind::Within { least: LEAST_SHAPE, most: 1e9 }, "4.0")
            .about("prior of the variance: inverse gamma with this shape")
            .otherwise(Otherwise::Number(3.0)),
        Key::new("scale", ValueKind::Positive, "3.0")
            .about("and this scale, whose mean is scale / (shape − 1)")
            .otherwise(Otherwise::Number(2.0)),
    ],
    limits: Limits::NONE,
    read: |reading| {
        let number = |name| reading.keys.number(name);
        let (mean, strength, shape, scale) = (number("mean")?, number("strength")?, number("shape")?, number("scale")?);
        Ok(Arc::new(Normal { prior: NormalInverseGamma { mean, strength, shape, scale } }))
    },
};

impl ModelSettings for Normal {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let NormalInverseGamma { mean, strength, shape, scale } = self.prior;
        format!(
            "normal with unknown mean and variance, prior mean {mean} of strength {strength}, variance inverse gamma({shape}, {scale})"
        )
    }

    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::Number
    }

    fn build(&self, _: Option<usize>, _: u64) -> Arc<dyn Model> {
        Arc::new(ConjugateModel(*self))
    }

    fn keys(&self) -> Table {
        let NormalInverseGamma { mean, strength, shape, scale } = self.prior;
        let keys = [("mean", mean), ("strength", strength), ("shape", shape), ("scale", scale)];
        keys.into_iter().map(|(name, value)| (name.to_owned(), Value::Float(value))).collect()
    }

    fn names(&self, _: &[String], _: &[String]) -> Vec<String> {
        vec!["mean".to_owned(), "variance".to_owned()]
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

impl ConjugateFamily for Normal {
    fn asks(&self, bounds: Option<[f64; 2]>) -> Option<RowStatistics> {
        bounds.map(|[low, high]| RowStatistics::Moments { low, high })
    }

    fn prior(&self) -> Vec<(f64, f64)> {
        self.prior.moments().to_vec()
    }

    /// In units of half the bounds about their middle, in which values were summed.
    fn posterior(&self, seen: &NoisyTotals) -> Option<Vec<ExactMarginal>> {
        let (middle, half) = seen.units;
        let both = self.prior.in_units(middle, half).posterior(seen)?;
        let [mean, variance] = both.as_slice() else { return None };
        Some(vec![mean.moved(middle, half), variance.moved(0.0, half * half)])
    }

    fn exact(&self, outcomes: &[f64]) -> Option<Vec<ExactMarginal>> {
        self.prior.exact(outcomes)
    }

    fn log_likelihood(&self, outcome: f64, theta: &[f64]) -> f64 {
        let &[mean, variance] = theta else { return f64::NAN };
        -0.5 * (log(2.0 * PI * variance) + (outcome - mean) * (outcome - mean) / variance)
    }

    /// Mean and standard deviation of the predictive: E μ, and the root of E σ² + Var μ.
    fn predict(&self, mean: &[f64], variances: &[f64]) -> Prediction {
        match (mean, variances) {
            (&[mean, variance], &[of_mean, _]) => Prediction::Normal { mean, deviation: (variance + of_mean).sqrt() },
            _ => Prediction::Normal { mean: f64::NAN, deviation: f64::NAN },
        }
    }

    fn draw(&self, rng: &mut ChaCha20Rng) -> Vec<f64> {
        let variance = self.prior.scale / standard_gamma(rng, self.prior.shape);
        let mut normal = [0.0];
        standard_normals(rng, &mut normal);
        vec![self.prior.mean + normal[0] * (variance / self.prior.strength).sqrt(), variance]
    }

    fn draw_outcome(&self, theta: &[f64], rng: &mut ChaCha20Rng) -> f64 {
        let &[mean, variance] = theta else { return f64::NAN };
        let mut normal = [0.0];
        standard_normals(rng, &mut normal);
        mean + variance.sqrt() * normal[0]
    }
}
