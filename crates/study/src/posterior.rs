//! `posterior/NAME.json`: a served posterior with everything that is needed to predict from it.

use crate::error::StudyError;
use inference::describe::Registry;
use inference::warning::Warning;
use inference::{Gaussian, Intervals, Model, OutcomeKind, Quantiles, Schema, StudyModel, restored, stored};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Version of this shape.
pub const SCHEMA: u32 = 2;

/// How [`Posterior::outside_epsilon`] begins where a federation or a fit released the posterior: a charge was made for it.
pub const RELEASED_BY: &str = "Released by";

/// A Gaussian posterior in plain numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marginals {
    /// Posterior means, in the order of the inputs.
    pub mean: Vec<f64>,
    /// Posterior deviations.
    pub deviation: Vec<f64>,
    /// Lower triangle of the precision, row by row, for a full covariance; none for independent coordinates.
    pub precision: Option<Vec<f64>>,
    /// Quantiles of every parameter, where the posterior is no Gaussian; the numbers above are its moments then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<Vec<Quantiles>>,
    /// Intercepts of the sites' own, where the method has them. In a study each stays at its site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intercepts: Option<Intercepts>,
}

impl Marginals {
    /// The distribution of these numbers; none where they are not those of a proper one.
    pub fn gaussian(&self) -> Option<Gaussian> {
        match &self.precision {
            Some(precision) => Gaussian::from_precision(self.mean.clone(), precision),
            None => Gaussian::new_diagonal(self.mean.clone(), self.deviation.iter().map(|s| s * s).collect()),
        }
    }
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
    /// The likelihood: the keys of a study's `[model]` that read it again.
    pub model: toml::Table,
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
    /// What intervals of these numbers are worth; none in files of a program that did not say so yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
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
                let nothing = Marginals::default();
                Self { posterior: nothing, not_served: Some(why), ..self }
            }
        }
    }
}

impl Posterior {
    /// Whether a federation or a fit released it: a charge was made for it, and no seed has drawn its noise.
    pub(crate) fn is_released(&self) -> bool {
        self.outside_epsilon.starts_with(RELEASED_BY)
    }

    /// The model that predictions are made by, with methods and models of one's own in the registry.
    pub(crate) fn model(&self, schema: &Schema, registry: &Registry) -> Result<Arc<dyn Model>, StudyError> {
        let settings = restored(&self.model, registry).map_err(|conflict| {
            StudyError::usage(format!("the stored model cannot be read: {conflict}"), conflict.hint.clone())
        })?;
        Ok(settings.build(schema.classes(), self.seed))
    }
}

impl Posterior {
    /// Names of its coefficients; none where they have no names.
    pub(crate) fn names(&self, registry: &Registry) -> Result<Vec<String>, StudyError> {
        let settings = restored(&self.model, registry).map_err(|conflict| {
            StudyError::usage(format!("the stored model cannot be read: {conflict}"), conflict.hint.clone())
        })?;
        Ok(settings.names(&self.inputs, &levels(&self.data_schema)))
    }
}

/// What is stored of a study's model, where a method may have learnt the variance of the outcome.
pub fn stored_model(model: &StudyModel, outcome_variance: Option<f64>) -> toml::Table {
    let learnt = outcome_variance.and_then(|variance| model.settings.with_outcome_variance(variance));
    stored(learnt.as_ref().unwrap_or(&model.settings).as_ref())
}

/// Levels of the outcome of a schema in TOML; none of a number.
pub fn levels(schema: &str) -> Vec<String> {
    match Schema::from_toml(schema).map(|schema| schema.outcome().kind.clone()) {
        Ok(OutcomeKind::Classes(levels)) => levels,
        _ => Vec::new(),
    }
}
