//! `posterior/NAME.json`: a served posterior with everything that is needed to predict from it.

use super::meant::{Likelihood, Model};
use inference::warning::Warning;
use inference::{Expectation, Predictive};
use serde::{Deserialize, Serialize};

/// Version of this shape.
pub const SCHEMA: u32 = 1;

/// A Gaussian posterior in plain numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marginals {
    /// Posterior means, in the order of the inputs.
    pub mean: Vec<f64>,
    /// Posterior deviations.
    pub deviation: Vec<f64>,
    /// Lower triangle of the precision, row by row, for a full covariance; none for independent coordinates.
    pub precision: Option<Vec<f64>>,
    /// Intercepts of the sites' own, where the method has them. In a study each stays at its site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intercepts: Option<Intercepts>,
}

/// What each site learnt for itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intercepts {
    /// Deviation of the prior: what is known of a site that was not in the study.
    pub prior_deviation: f64,
    /// Of each site.
    pub sites: Vec<OwnIntercept>,
}

/// One site's own intercept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnIntercept {
    /// The site.
    pub site: String,
    /// Posterior mean.
    pub mean: f64,
    /// Posterior standard deviation.
    pub deviation: f64,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Posterior {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the study.
    pub study: String,
    /// Name of the method.
    pub method: String,
    /// The seed of this posterior: the study's first.
    pub seed: u64,
    /// The likelihood.
    pub model: StoredModel,
    /// Whether a bias was among the inputs.
    pub bias: bool,
    /// Names of the inputs, in order.
    pub inputs: Vec<String>,
    /// The schema by which rows were encoded, in TOML.
    pub data_schema: String,
    /// What this file is not: a protected release. Empty in files of a program that did not say so yet.
    #[serde(default)]
    pub outside_epsilon: String,
    /// The numbers; none where they are not served.
    pub posterior: Marginals,
    /// Why there are no numbers: what the method left is no posterior.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_served: Option<Warning>,
}

impl Posterior {
    /// The same, or without its numbers where there is a reason not to serve them.
    pub fn unless(self, refused: Option<Warning>) -> Self {
        match refused {
            None => self,
            Some(why) => {
                let nothing = Marginals { mean: Vec::new(), deviation: Vec::new(), precision: None, intercepts: None };
                Self { posterior: nothing, not_served: Some(why), ..self }
            }
        }
    }
}

/// What predictions need of a likelihood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StoredModel {
    /// y = xᵀθ + noise.
    Linear {
        /// Variance of the noise.
        noise_variance: f64,
    },
    /// P(y = 1) = σ(xᵀθ).
    Logistic {
        /// Draws of a Monte Carlo predictive; none for a closed form.
        draws: Option<u32>,
        /// The probit closed form instead of the mixture's.
        probit: bool,
    },
    /// P(y = k) ∝ exp xᵀθₖ.
    Softmax,
    /// ReLU layers.
    Network {
        /// Sizes of the hidden layers.
        hidden: Vec<usize>,
        /// Draws of the predictive.
        draws: u32,
    },
    /// y ~ ½N(θ₁, v) + ½N(θ₁ + θ₂, v).
    Mixture {
        /// v.
        variance: f64,
        /// Of the prior, which predictions do not look at.
        precisions: [f64; 2],
    },
}

impl StoredModel {
    /// What a study's model predicts by.
    pub fn of(model: &Model) -> Self {
        match model.kind.clone() {
            Likelihood::Softmax => Self::Softmax,
            Likelihood::Network { hidden, draws } => Self::Network { hidden, draws },
            Likelihood::Mixture { variance, precisions } => Self::Mixture { variance, precisions },
            Likelihood::Linear { noise_variance } => Self::Linear { noise_variance },
            Likelihood::Logistic { predictive, .. } => match predictive {
                Predictive::Mixture => Self::Logistic { draws: None, probit: false },
                Predictive::Probit => Self::Logistic { draws: None, probit: true },
                Predictive::MonteCarlo { draws } => Self::Logistic { draws: Some(draws), probit: false },
            },
        }
    }

    /// The likelihood again; an expectation is not needed for predictions, so it is the closed one.
    pub fn likelihood(self) -> Likelihood {
        match self {
            Self::Mixture { variance, precisions } => Likelihood::Mixture { variance, precisions },
            Self::Linear { noise_variance } => Likelihood::Linear { noise_variance },
            Self::Softmax => Likelihood::Softmax,
            Self::Network { hidden, draws } => Likelihood::Network { hidden, draws },
            Self::Logistic { draws, probit } => {
                let predictive = match (draws, probit) {
                    (Some(draws), _) => Predictive::MonteCarlo { draws },
                    (None, true) => Predictive::Probit,
                    (None, false) => Predictive::Mixture,
                };
                Likelihood::Logistic { expectation: Expectation::Mixture, predictive }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_comes_back_as_it_was_stored() {
        let logistic = |predictive| Likelihood::Logistic { expectation: Expectation::Mixture, predictive };
        let predictives = [Predictive::Mixture, Predictive::Probit, Predictive::MonteCarlo { draws: 9 }];
        let others = [
            Likelihood::Softmax,
            Likelihood::Network { hidden: vec![5, 4], draws: 3 },
            Likelihood::Mixture { variance: 2.0, precisions: [0.1, 1.0] },
        ];
        for kind in predictives.map(logistic).into_iter().chain(others) {
            let model = Model { kind: kind.clone(), bias: true, prior_precision: 1.0 };
            let text = serde_json::to_string(&StoredModel::of(&model)).unwrap();
            assert_eq!(serde_json::from_str::<StoredModel>(&text).unwrap().likelihood(), kind);
        }
    }
}
