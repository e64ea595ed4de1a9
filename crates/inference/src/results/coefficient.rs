//! One parameter of a posterior, as `results.json` tells it.

use crate::Quantiles;
use serde::{Deserialize, Serialize};

/// One parameter of the posterior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// Name of the input.
    pub name: String,
    /// Posterior mean.
    pub mean: f64,
    /// Posterior deviation.
    pub deviation: f64,
    /// Quantiles, where they are known to many digits and the posterior is no Gaussian.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<Quantiles>,
}

impl Coefficient {
    /// The parameters of a posterior by their names; quantiles where it is no Gaussian.
    pub fn named(names: &[String], mean: &[f64], deviations: &[f64], quantiles: Option<&[Quantiles]>) -> Vec<Self> {
        let each = names.iter().zip(mean).zip(deviations).enumerate();
        let one = |(place, ((name, &mean), &deviation)): (usize, ((&String, &f64), &f64))| Self {
            name: name.clone(),
            mean,
            deviation,
            quantiles: quantiles.and_then(|all| all.get(place)).copied(),
        };
        each.map(one).collect()
    }

    /// The ends of the 95 % interval.
    pub fn ends(&self) -> (f64, f64) {
        let reach = NORMAL_95 * self.deviation;
        self.quantiles.map_or((self.mean - reach, self.mean + reach), |quantiles| quantiles.ends())
    }
}

/// Two-sided 95 % quantile of the normal law.
pub const NORMAL_95: f64 = 1.959_963_984_540_054;
