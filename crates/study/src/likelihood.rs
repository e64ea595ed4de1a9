//! From a study's words for its model to the model itself, once the outcome is known.

use super::meant::Likelihood;
use inference::{Linear, Logistic, Mixture, Model, Network, OutcomeKind, Output, Schema, Softmax};
use std::sync::Arc;

/// The model for an outcome of so many classes; none for a number. `seed` is where a network's means start from.
pub fn model(kind: &Likelihood, classes: Option<usize>, seed: u64) -> Arc<dyn Model> {
    match kind {
        Likelihood::Linear { noise_variance } => Arc::new(Linear { noise_variance: *noise_variance }),
        Likelihood::Logistic { expectation, predictive } => {
            Arc::new(Logistic { expectation: *expectation, predictive: *predictive })
        }
        Likelihood::Mixture { variance, precisions } => {
            Arc::new(Mixture { variance: *variance, precisions: *precisions })
        }
        Likelihood::Softmax => Arc::new(Softmax { classes: classes.unwrap_or(2) }),
        Likelihood::Network { hidden, draws } => {
            let output = match classes {
                None | Some(2) => Output::Binary,
                Some(classes) => Output::Classes(classes),
            };
            Arc::new(Network { hidden: hidden.clone(), output, draws: *draws, seed })
        }
    }
}

/// How many parameters a model has for rows of this width; none where it depends on classes that are not known.
pub fn parameters(kind: &Likelihood, classes: Option<usize>, width: usize) -> Option<usize> {
    match kind {
        Likelihood::Softmax | Likelihood::Network { .. } if classes.is_none() => None,
        _ => Some(model(kind, classes, 0).parameters(width)),
    }
}

/// Names of the coefficients: of the inputs, for every class; a network's weights have none.
pub fn names(kind: &Likelihood, inputs: &[String], schema: &str) -> Vec<String> {
    match kind {
        Likelihood::Linear { .. } | Likelihood::Logistic { .. } => inputs.to_vec(),
        Likelihood::Softmax => {
            let of = |level: &String| inputs.iter().map(|input| format!("{level}: {input}")).collect::<Vec<_>>();
            levels(schema).iter().flat_map(of).collect()
        }
        Likelihood::Mixture { .. } => vec!["mean of one half".to_owned(), "distance of the other".to_owned()],
        Likelihood::Network { .. } => Vec::new(),
    }
}

/// Levels of the outcome of a schema in TOML; none of a number.
pub fn levels(schema: &str) -> Vec<String> {
    match Schema::from_toml(schema).map(|schema| schema.outcome().kind.clone()) {
        Ok(OutcomeKind::Classes(levels)) => levels,
        _ => Vec::new(),
    }
}
