//! Rows of a conjugate family, `source = "synthetic-conjugate"`: its keys, and the outcome that a file of such rows would have.

use super::SyntheticAsTyped;
use crate::fault::{Fault, StudyText};
use inference::{ConjugateFamily, StudyModel};
use std::sync::Arc;

/// How its keys are written.
pub(super) const KEYS: &str = "synthetic = { rows_per_client = 100 }, for a count or a number with bounds = [0, 40], for several levels with levels = 3";

/// What outcomes are, for any number of clients and rows: parameters are drawn from the prior of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ConjugateLaw {
    /// Levels of the outcome; none of numbers.
    pub(super) levels: Option<usize>,
    /// Range of a count or a number.
    pub(super) bounds: Option<[f64; 2]>,
}

impl ConjugateLaw {
    /// The outcome's line of a schema.
    pub(super) fn outcome(self) -> String {
        match (self.levels, self.bounds) {
            (None, Some([low, high])) => format!("outcome = {{ column = \"y\", bounds = [{low:?}, {high:?}] }}"),
            (levels, _) => {
                let levels: Vec<String> = (0..levels.unwrap_or(2)).map(|level| format!("\"{level}\"")).collect();
                format!("outcome = {{ column = \"y\", levels = [{}] }}", levels.join(", "))
            }
        }
    }
}

/// The law that a study states.
pub(super) fn law(
    typed: &SyntheticAsTyped,
    model: &StudyModel,
    source: &StudyText<'_>,
    at: &str,
) -> Result<ConjugateLaw, Fault> {
    let fault = |key: &str, code, message: &str| Err(source.fault(key, code, message.into(), KEYS));
    let family = |levels| -> Option<Arc<dyn ConjugateFamily>> { model.settings.conjugate_family(levels) };
    if family(Some(2)).is_none() {
        let message = "rows of a conjugate family are for such a model: beta-binomial, dirichlet-multinomial, gamma-poisson or normal";
        return fault("model", "S011", message);
    }
    let of_linear = typed.effect_variance.is_some() || typed.effect.is_some() || typed.noise_deviation.is_some();
    if typed.inputs.is_some() || of_linear || typed.at.is_some() || typed.design.is_some() {
        return fault(at, "S011", "rows of a conjugate family have levels or bounds, and nothing of another law");
    }
    let number = model.settings.outcome().is_number();
    match (typed.bounds, typed.levels) {
        (Some([low, high]), None) if number => {
            let in_order = low.is_finite() && high.is_finite() && low < high;
            let bounds = Some([low, high]);
            if in_order {
                Ok(ConjugateLaw { levels: None, bounds })
            } else {
                fault(at, "S004", "bounds are finite and in order")
            }
        }
        (None, None) if number => fault(at, "S011", "made-up counts and numbers have bounds"),
        (Some(_), _) => fault(at, "S011", "an outcome with levels has no bounds, and a number no levels"),
        (None, levels) => {
            let levels = levels.unwrap_or(2);
            if !model.settings.outcome().takes(Some(levels)) {
                return fault(
                    at,
                    "S004",
                    "levels: a beta-binomial model has two, a dirichlet-multinomial one two or more",
                );
            }
            Ok(ConjugateLaw { levels: Some(levels), bounds: None })
        }
    }
}
