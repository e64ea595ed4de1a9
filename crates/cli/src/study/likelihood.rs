//! From a study's words for its model to the model itself, once the outcome is known.

use super::meant::{Likelihood, Study};
use crate::failure::Failure;
use crate::registry;
use inference::{Linear, Logistic, Model, Network, OutcomeKind, Output, Schema, Softmax};
use std::sync::Arc;

/// The model for an outcome of so many classes; none for a number. `seed` is where a network's means start from.
pub(crate) fn model(kind: &Likelihood, classes: Option<usize>, seed: u64) -> Arc<dyn Model> {
    match kind {
        Likelihood::Linear { noise_variance } => Arc::new(Linear { noise_variance: *noise_variance }),
        Likelihood::Logistic { expectation, predictive } => {
            Arc::new(Logistic { expectation: *expectation, predictive: *predictive })
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

/// How many parameters a study's model has for rows of this width; none where the classes of its outcome are not known
/// without its data.
pub(crate) fn parameters(study: &Study, width: usize) -> Option<usize> {
    let bundled = registry::find(&study.data.source).filter(|_| study.data.schema.is_none());
    let classes = bundled.and_then(|set| Schema::from_toml(set.schema).ok()).and_then(|schema| schema.classes());
    match study.model.kind {
        Likelihood::Softmax | Likelihood::Network { .. } if classes.is_none() => None,
        _ => Some(model(&study.model.kind, classes, 0).parameters(width)),
    }
}

/// Names of the coefficients: of the inputs, for every class; a network's weights have none.
pub(crate) fn names(kind: &Likelihood, inputs: &[String], schema: &str) -> Vec<String> {
    match kind {
        Likelihood::Linear { .. } | Likelihood::Logistic { .. } => inputs.to_vec(),
        Likelihood::Softmax => {
            let of = |level: &String| inputs.iter().map(|input| format!("{level}: {input}")).collect::<Vec<_>>();
            levels(schema).iter().flat_map(of).collect()
        }
        Likelihood::Network { .. } => Vec::new(),
    }
}

/// Levels of the outcome of a schema in TOML; none of a number.
pub(crate) fn levels(schema: &str) -> Vec<String> {
    match Schema::from_toml(schema).map(|schema| schema.outcome().kind.clone()) {
        Ok(OutcomeKind::Classes(levels)) => levels,
        _ => Vec::new(),
    }
}

/// Classes want levels, a linear model a number.
pub(crate) fn check_outcome(kind: &Likelihood, source: &str, classes: Option<usize>) -> Result<(), Failure> {
    let refuse = |what: &str, hint: &str| Err(Failure::usage(format!("{what}, and that of {source} is another"), hint));
    match (kind, classes) {
        (Likelihood::Logistic { .. }, Some(2)) | (Likelihood::Linear { .. }, None) => Ok(()),
        (Likelihood::Softmax | Likelihood::Network { .. }, Some(_)) => Ok(()),
        (Likelihood::Logistic { .. }, _) => refuse(
            "a logistic model needs an outcome of two levels",
            "kind = \"linear\" for a number, \"softmax\" for more than two levels",
        ),
        (Likelihood::Linear { .. }, Some(_)) => {
            refuse("a linear model needs an outcome that is a number", "kind = \"logistic\" for two levels")
        }
        (Likelihood::Softmax | Likelihood::Network { .. }, None) => {
            refuse("softmax and network models need an outcome with levels", "kind = \"linear\" for a number")
        }
    }
}
