//! Effects in the reader's units: what a posterior over encoded coefficients says about the columns of a table.
//!
//! Coefficients belong to inputs as the schema encodes them. A reader asks by how much the outcome changes per ten years of age, or
//! between two levels of a category. Each such question is a contrast cᵀθ ([`contrasts`]), so that its posterior is
//! N(cᵀμ, cᵀΣc), whatever the coding of the inputs. Nothing here looks at a row.

mod contrast;
mod stated;

pub use contrast::{Contrast, contrasts};
pub use stated::StatedEffects;

use crate::{Gaussian, OutcomeKind, Schema};
use serde::{Deserialize, Serialize};

/// Two-sided 95 % quantile of the normal law.
const REACH: f64 = 1.959_963_984_540_054;

/// More effects than this are not listed: inputs of that many columns, such as pixels, have no reader.
pub const MOST_EFFECTS: usize = 2000;

/// How an effect is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectScale {
    /// The contrast is a difference of log odds, and its exponential an odds ratio.
    OddsRatio,
    /// The contrast is a difference of the outcome, in the outcome's units.
    Difference,
}

impl EffectScale {
    /// The value that says "no effect" as it is shown.
    pub fn neutral(self) -> f64 {
        self.shown(0.0)
    }

    /// A contrast as it is shown: the odds ratio, or the difference itself.
    pub fn shown(self, contrast: f64) -> f64 {
        match self {
            Self::OddsRatio => libm::exp(contrast),
            Self::Difference => contrast,
        }
    }
}

/// Everything that a posterior says about the columns of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effects {
    /// Column of the outcome.
    pub outcome: String,
    /// The level whose odds are told, of an outcome of two levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Units of measurement of an outcome that is a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<String>,
    /// How effects are told.
    pub scale: EffectScale,
    /// Whether the posterior has covariances. Without them, the variances of coefficients are added up.
    pub covariances: bool,
    /// One for each contrast, in the order of the schema's columns; class after class where the outcome has more than two levels.
    pub effects: Vec<Effect>,
}

/// One contrast under the posterior.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The column.
    pub input: String,
    /// What is compared: "per 10 years", "north against south".
    pub comparison: String,
    /// The level that is compared with the reference, of a category or a missing number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// "II against I": the two levels of the outcome whose odds are told, where the outcome has more than two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Posterior mean of the contrast: log odds, or the outcome's units.
    pub mean: f64,
    /// Its posterior standard deviation.
    pub deviation: f64,
    /// Lower end of the central 95 % interval of the contrast.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Posterior probability that the contrast is over 0.
    pub positive: f64,
}

impl Effect {
    /// Point and ends of the interval as they are shown: of odds ratios their posterior median and quantiles.
    pub fn shown(&self, scale: EffectScale) -> [f64; 3] {
        [self.mean, self.lower, self.upper].map(|value| scale.shown(value))
    }

    /// Posterior probability of the sign that the mean has.
    pub fn sign(&self) -> f64 {
        self.positive.max(1.0 - self.positive)
    }

    /// The column and what is compared, in one line.
    pub fn words(&self) -> String {
        let of = self.of.as_ref().map_or_else(String::new, |of| format!(" ({of})"));
        match (&self.level, &self.reference) {
            (Some(level), Some(reference)) => format!("{}: {level} against {reference}{of}", self.input),
            _ => format!("{}, {}{of}", self.input, self.comparison),
        }
    }
}

/// The effects of all columns under a posterior of a linear predictor's coefficients, inputs in the order of [`Schema::inputs`].
///
/// None where the posterior is not one of such inputs, or there are more than [`MOST_EFFECTS`]. An outcome of k > 2 levels has k
/// coefficients of each input, class after class, and each level is compared with the first.
///
/// # Examples
/// ```
/// use inference::effects::{EffectScale, effects};
/// use inference::{Gaussian, Schema};
/// let schema = Schema::from_toml(r#"
///     outcome = { column = "ill", levels = ["no", "yes"] }
///     column = [
///         { name = "age", kind = "numeric", centre = 55, scale = 20, per = 10, units = "years" },
///         { name = "ward", kind = "category", levels = ["a", "b"], reference = "b" },
///     ]
/// "#)?;
/// let q = Gaussian::new_diagonal(vec![1.0, 0.5, -0.25], vec![0.04; 3]).ok_or("improper")?;
/// let told = effects(&schema, EffectScale::OddsRatio, &q).ok_or("no effects")?;
/// assert_eq!(told.effects[0].words(), "age, per 10 years");
/// assert_eq!((told.effects[0].mean, told.effects[0].deviation), (0.5, 0.1));
/// assert_eq!((told.effects[1].words().as_str(), told.effects[1].mean), ("ward: a against b", 0.75));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn effects(schema: &Schema, scale: EffectScale, q: &Gaussian) -> Option<Effects> {
    let outcome = schema.outcome();
    let (levels, unit) = match &outcome.kind {
        OutcomeKind::Classes(levels) => (levels.as_slice(), 1.0),
        OutcomeKind::Number(number) => (&[][..], number.scale),
    };
    let contrasts = contrasts(schema);
    let inputs = schema.inputs(false).len();
    let two = levels.len() <= 2 && (inputs..=inputs + 1).contains(&q.dimension());
    let classes: Vec<(Option<usize>, &str)> = match two {
        true => vec![(None, "")],
        false => levels.iter().enumerate().skip(1).map(|(k, level)| (Some(k), level.as_str())).collect(),
    };
    let width = if two { q.dimension() } else { q.dimension().checked_div(levels.len())? };
    let fits = (inputs..=inputs + 1).contains(&width) && (two || width * levels.len() == q.dimension());
    if !fits || contrasts.is_empty() || contrasts.len() * classes.len() > MOST_EFFECTS {
        return None;
    }
    let first = levels.first().map_or("", String::as_str);
    let mut found = Vec::new();
    for (class, level) in classes {
        for contrast in &contrasts {
            let of = class.map(|_| format!("{level} against {first}"));
            found.push(effect(contrast, &along(contrast, class, width, q.dimension(), unit), of, q));
        }
    }
    Some(Effects {
        outcome: outcome.column.clone(),
        level: if levels.len() == 2 { levels.last().cloned() } else { None },
        units: outcome.units.clone(),
        scale,
        covariances: q.packed_precision().is_some(),
        effects: found,
    })
}

/// c of a contrast: at the inputs of the only predictor, or at those of a class less those of the first.
fn along(contrast: &Contrast, class: Option<usize>, width: usize, dimension: usize, unit: f64) -> Vec<f64> {
    let mut c = vec![0.0; dimension];
    for (input, weight) in &contrast.weights {
        match class {
            None => c[*input] += unit * weight,
            Some(class) => {
                c[class * width + input] += weight;
                c[*input] -= weight;
            }
        }
    }
    c
}

/// N(cᵀμ, cᵀΣc) in numbers.
fn effect(contrast: &Contrast, c: &[f64], of: Option<String>, q: &Gaussian) -> Effect {
    let dot = |other: &[f64]| c.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let (mean, deviation) = (dot(q.mean()), dot(&q.covariance_times(c)).max(0.0).sqrt());
    let positive = 0.5 * libm::erfc(-mean / deviation * std::f64::consts::FRAC_1_SQRT_2);
    Effect {
        input: contrast.input.clone(),
        comparison: contrast.comparison.clone(),
        level: contrast.level.clone(),
        reference: contrast.reference.clone(),
        of,
        mean,
        deviation,
        lower: mean - REACH * deviation,
        upper: mean + REACH * deviation,
        positive,
    }
}

#[cfg(test)]
mod tests;
