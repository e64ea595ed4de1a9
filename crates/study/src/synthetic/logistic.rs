//! Rows of a logistic law, `source = "synthetic-logistic"`: its keys, and the columns that a file of such rows would have.

use super::SyntheticAsTyped;
use crate::fault::{Fault, StudyText};
use inference::describe::Offer;
use inference::{Design, NUMBER_BOUNDS, StudyModel, SyntheticLogistic};
use serde::Deserialize;

/// How its keys are written.
pub(super) const KEYS: &str =
    "synthetic = { rows_per_client = 200, inputs = 10, design = \"dense\", effect_variance = 0.25 }";

/// Correlation of neighbours where a study states none.
const CORRELATION: f64 = 0.5;

/// Levels of a category where a study states none.
const LEVELS: usize = 5;

/// `design`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DesignAsTyped {
    Dense,
    Correlated,
    Dummies,
    HeavyTails,
}

/// The law of inputs and coefficients, for any number of clients and rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogisticLaw {
    pub(super) inputs: usize,
    pub(super) design: Design,
    pub(super) effect_variance: f64,
}

impl LogisticLaw {
    /// With so many clients and rows.
    pub(super) fn of(self, clients: usize, rows: usize, held_out: usize) -> SyntheticLogistic {
        let Self { inputs, design, effect_variance } = self;
        SyntheticLogistic { clients, rows, held_out, inputs, design, effect_variance }
    }

    /// Names of the columns of inputs, each with its line of a schema.
    pub(super) fn columns(self) -> Vec<(String, String)> {
        let number = |name: String| {
            let line = format!(
                "{{ name = {name:?}, kind = \"numeric\", centre = 0, scale = 1, bounds = [-{NUMBER_BOUNDS}, {NUMBER_BOUNDS}] }}"
            );
            (name, line)
        };
        let category = |name: String, levels: usize| {
            let levels: Vec<String> = (1..=levels).map(|level| format!("\"{level}\"")).collect();
            let line = format!("{{ name = {name:?}, kind = \"category\", levels = [{}] }}", levels.join(", "));
            (name, line)
        };
        match self.design {
            Design::Dummies(levels) => {
                (1..=self.inputs / levels.max(1)).map(|c| category(format!("c{c}"), levels)).collect()
            }
            _ => (1..=self.inputs).map(|input| number(format!("x{input}"))).collect(),
        }
    }
}

/// The law that a study states.
pub(super) fn law(
    typed: &SyntheticAsTyped,
    model: &StudyModel,
    source: &StudyText<'_>,
    at: &str,
) -> Result<LogisticLaw, Fault> {
    let fault = |key: &str, code, message: &str, hint: &str| Err(source.fault(key, code, message.into(), hint));
    if !model.settings.build(Some(2), 0).offers().contains(&Offer::LogisticLink) || !model.intercept {
        let message = "rows of a logistic law are for a logistic model with an intercept";
        return fault("model", "S011", message, "kind = \"logistic\"");
    }
    let strays = typed.noise_deviation.is_some() || typed.at.is_some() || typed.effect.is_some();
    let (Some(inputs), Some(variance), false) = (typed.inputs, typed.effect_variance, strays) else {
        let message = "rows of a logistic law have inputs and effect_variance, and neither noise_deviation nor `at`";
        return fault(at, "S011", message, KEYS);
    };
    if inputs == 0 || !(variance.is_finite() && variance > 0.0) {
        return fault(at, "S004", "inputs and effect_variance are over 0", KEYS);
    }
    let design = design(typed, inputs, source, at)?;
    Ok(LogisticLaw { inputs, design, effect_variance: variance })
}

fn design(typed: &SyntheticAsTyped, inputs: usize, source: &StudyText<'_>, at: &str) -> Result<Design, Fault> {
    let fault = |code, message: String, hint: &str| Err(source.fault(at, code, message, hint));
    let design = typed.design.unwrap_or(DesignAsTyped::Dense);
    if typed.correlation.is_some() && design != DesignAsTyped::Correlated {
        return fault("S011", "correlation goes with design = \"correlated\"".into(), "leave it out");
    }
    if typed.levels.is_some() && design != DesignAsTyped::Dummies {
        return fault("S011", "levels goes with design = \"dummies\"".into(), "leave it out");
    }
    Ok(match design {
        DesignAsTyped::Dense => Design::Dense,
        DesignAsTyped::HeavyTails => Design::HeavyTails,
        DesignAsTyped::Correlated => {
            let rho = typed.correlation.unwrap_or(CORRELATION);
            if !(rho > -1.0 && rho < 1.0) {
                return fault("S004", format!("correlation is {rho}, expected between -1 and 1"), "correlation = 0.5");
            }
            Design::Correlated(rho)
        }
        DesignAsTyped::Dummies => {
            let levels = typed.levels.unwrap_or(LEVELS);
            if levels < 2 || !inputs.is_multiple_of(levels) {
                let message = format!(
                    "{inputs} inputs in categories of {levels} levels: expected 2 levels or more, and whole categories"
                );
                return fault("S004", message, "inputs = 10 with levels = 5 are two categories");
            }
            Design::Dummies(levels)
        }
    })
}
