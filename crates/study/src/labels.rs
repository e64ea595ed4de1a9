//! Real inputs with drawn labels, `labels` of `[data]`: the coefficients are known, and intervals can be checked.

use crate::fault::{Fault, StudyText};
use inference::describe::Offer;
use inference::{EncodedPrior, Model, Rows, StudyModel, drawn_coefficients, mode};
use serde::Deserialize;

/// `labels`
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelsAsTyped {
    drawn: DrawnAsTyped,
    effect_variance: Option<f64>,
}

/// `drawn`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DrawnAsTyped {
    Prior,
    Fit,
}

/// Which coefficients labels are drawn with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Labels {
    /// θ ~ N(0, v), drawn anew by each seed.
    Prior { effect_variance: f64 },
    /// The mode of the posterior of all real labels, without privacy; labels are drawn anew by each seed.
    Fit,
}

/// What a study says of its labels.
pub(super) fn of(
    typed: Option<&LabelsAsTyped>,
    model: &StudyModel,
    made_up: bool,
    source: &StudyText<'_>,
) -> Result<Option<Labels>, Fault> {
    let Some(typed) = typed else { return Ok(None) };
    let fault = |key: &str, code, message: &str, hint: &str| Err(source.fault(key, code, message.into(), hint));
    if made_up {
        let message = "made-up rows have drawn labels already";
        return fault("data.labels", "S011", message, "leave it out, or name a data set of real inputs");
    }
    if !model.settings.build(Some(2), 0).offers().contains(&Offer::LogisticLink) {
        let message = "labels are drawn from a logistic model";
        return fault("data.labels", "S011", message, "kind = \"logistic\"");
    }
    let positive = |v: f64| v.is_finite() && v > 0.0;
    match (typed.drawn, typed.effect_variance) {
        (DrawnAsTyped::Prior, Some(effect_variance)) if positive(effect_variance) => {
            Ok(Some(Labels::Prior { effect_variance }))
        }
        (DrawnAsTyped::Fit, None) => Ok(Some(Labels::Fit)),
        _ => {
            let message = "effect_variance, over 0, goes with drawn = \"prior\", and with it alone";
            fault("data.labels", "S011", message, "labels = { drawn = \"prior\", effect_variance = 0.25 }")
        }
    }
}

/// The coefficients of a study's labels.
#[derive(Debug, Clone)]
pub(crate) enum TrueCoefficients {
    /// Drawn by the seed.
    Drawn { width: usize, effect_variance: f64 },
    /// Those of a fit, for every seed.
    Fitted(Vec<f64>),
    /// Those that the rows were drawn with: their labels stay.
    Stated(Vec<f64>),
}

impl TrueCoefficients {
    /// For these rows; none where the fit of their labels cannot be found.
    pub(super) fn of(labels: Labels, model: &dyn Model, rows: &Rows, prior: &EncodedPrior) -> Option<Self> {
        let width = model.parameters(rows.width());
        match labels {
            Labels::Prior { effect_variance } => Some(Self::Drawn { width, effect_variance }),
            Labels::Fit => {
                let fitted = mode(model, rows, &prior.term(model, width)?)?;
                Some(Self::Fitted(fitted.q.mean().to_vec()))
            }
        }
    }

    /// Whether labels are drawn with them in place of those that rows have.
    pub(super) fn replaces_labels(&self) -> bool {
        !matches!(self, Self::Stated(_))
    }

    /// θ of a seed.
    pub(super) fn of_seed(&self, seed: u64) -> Vec<f64> {
        match self {
            Self::Drawn { width, effect_variance } => drawn_coefficients(*width, *effect_variance, seed),
            Self::Fitted(theta) | Self::Stated(theta) => theta.clone(),
        }
    }
}
