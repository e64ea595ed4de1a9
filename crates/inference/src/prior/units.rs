//! From a prior in the units of inputs and outcome to the prior of an encoded coefficient.
//!
//! An input is encoded as x' = (x − c)/s, or by its logarithm, and an outcome that is a number as y' = (y − c_y)/s_y. An effect b of
//! one unit of x on y is the coefficient b·s/s_y of x' on y'. So a prior N(m, v) of b is N(m·s/s_y, v·(s/s_y)²) of the coefficient.
//! Centres move no slope. The intercept is stated where all encoded inputs are 0: numbers at their centres, no flag, no level. There
//! it is (b − c_y)/s_y.

use crate::data::{Kind, Numeric};
use crate::describe::{Conflict, NOT_TOGETHER, STRAY, UNKNOWN, VALUE};
use crate::effects::EffectScale;
use crate::{OutcomeKind, Schema, nearest};

/// Two-sided 95 % quantile of the normal law.
const REACH: f64 = 1.959_963_984_540_054;

/// Encoded standard deviations that a prior may have: beyond these, precisions are lost in rounding or in those of the data.
const DEVIATIONS: std::ops::RangeInclusive<f64> = 1e-4..=1e6;

/// Name of the intercept among the inputs.
pub(super) const INTERCEPT: &str = "intercept";

/// The prior of one coefficient, in the units of its column and of the outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct CoefficientPrior {
    /// Name of the coefficient: a column, "column=level", "column missing", or "intercept".
    pub name: String,
    /// Where the effect is believed to be.
    pub range: StatedRange,
    /// The change of the column that the effect is of, in its units; of a logarithm, the factor. One unit, or one unit of the
    /// logarithm, where it is none.
    pub per: Option<f64>,
}

/// Where an effect is believed to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StatedRange {
    /// N(mean, sd²): log odds, or the units of the outcome.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        sd: f64,
    },
    /// A central 95 % range of the odds ratio.
    OddsRatio {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
}

impl StatedRange {
    /// Mean and standard deviation on the scale of the linear predictor.
    fn moments(self) -> (f64, f64) {
        match self {
            Self::Normal { mean, sd } => (mean, sd),
            Self::OddsRatio { low, high } => {
                let (low, high) = (libm::log(low), libm::log(high));
                (0.5 * (low + high), (high - low) / (2.0 * REACH))
            }
        }
    }
}

/// A stated prior as it reads for the encoded coefficient.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvertedPrior {
    /// Name of the coefficient.
    pub name: String,
    /// What it is of, in words: "per 10 years", "at the centre of the inputs".
    pub of: String,
    /// Mean as stated: log odds, or the units of the outcome.
    pub mean: f64,
    /// Standard deviation as stated.
    pub sd: f64,
    /// Mean of the encoded coefficient.
    pub encoded_mean: f64,
    /// Its standard deviation.
    pub encoded_sd: f64,
}

impl ConvertedPrior {
    /// In one line.
    pub fn words(&self) -> String {
        let Self { name, of, mean, sd, encoded_mean, encoded_sd } = self;
        let digits = |value: &f64| digits(*value);
        format!(
            "{name}: mean {}, sd {} {of}; encoded mean {}, sd {}",
            digits(mean),
            digits(sd),
            digits(encoded_mean),
            digits(encoded_sd)
        )
    }
}

/// Four significant digits, without trailing zeros.
fn digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    format!("{rounded}")
}

/// Which number a coefficient is of, and how it is encoded.
enum CoefficientUnit<'a> {
    /// A number of the schema.
    Number(&'a Numeric, Option<&'a str>),
    /// A flag or a level: the input is 0 or 1.
    One,
    /// The intercept.
    Intercept,
}

/// The unit of the coefficient of this name.
fn unit_of<'a>(schema: &'a Schema, name: &str) -> CoefficientUnit<'a> {
    let number = schema.columns().iter().find_map(|column| match &column.kind {
        Kind::Numeric(numeric) if column.name == name => Some((numeric, column.told.units.as_deref())),
        _ => None,
    });
    match number {
        Some((numeric, units)) => CoefficientUnit::Number(numeric, units),
        None if name == INTERCEPT => CoefficientUnit::Intercept,
        None => CoefficientUnit::One,
    }
}

/// Converts a stated prior, given the names of the coefficients in order; with the place of its coefficient.
///
/// # Errors
/// A name that no coefficient has, an odds ratio where effects are no odds ratios or of the intercept, `per` of an input that is 0 or
/// 1, and an encoded standard deviation that is out of all proportion.
pub(super) fn converted(
    stated: &CoefficientPrior,
    names: &[String],
    schema: &Schema,
    scale: EffectScale,
) -> Result<(usize, ConvertedPrior), Conflict> {
    let key = format!("coefficients.{}", stated.name);
    let Some(place) = names.iter().position(|name| *name == stated.name) else {
        return Err(unknown(stated, names, schema));
    };
    let unit = unit_of(schema, &stated.name);
    check(stated, scale, &unit, &key)?;
    let (mean, sd) = stated.range.moments();
    let (centre, outcome) = match &schema.outcome().kind {
        OutcomeKind::Number(number) => (number.centre, number.scale),
        OutcomeKind::Classes(_) => (0.0, 1.0),
    };
    let (of, shift, factor) = match unit {
        CoefficientUnit::Number(numeric, units) => {
            let (of, change) = change(numeric, units, stated.per);
            (of, 0.0, numeric.scale / change / outcome)
        }
        CoefficientUnit::One => ("against none of it".to_owned(), 0.0, 1.0 / outcome),
        CoefficientUnit::Intercept => ("at the centre of the inputs".to_owned(), centre, 1.0 / outcome),
    };
    let (encoded_mean, encoded_sd) = ((mean - shift) * factor, sd * factor);
    if !encoded_mean.is_finite() || !DEVIATIONS.contains(&encoded_sd) {
        let what = format!(
            "the prior of {} has a standard deviation of {encoded_sd:e} for the encoded input, expected from {:e} to {:e}",
            stated.name,
            DEVIATIONS.start(),
            DEVIATIONS.end()
        );
        let hint = "state the effect per unit of the column, in units of the outcome; or the input's scale in the schema is far off";
        return Err(Conflict::new(key, VALUE, what, hint));
    }
    Ok((place, ConvertedPrior { name: stated.name.clone(), of, mean, sd, encoded_mean, encoded_sd }))
}

/// The change that an effect is of, in words and in units of the number or of its logarithm.
fn change(numeric: &Numeric, units: Option<&str>, per: Option<f64>) -> (String, f64) {
    match (numeric.log, per) {
        (true, None) => ("per unit of the logarithm".to_owned(), 1.0),
        (true, Some(factor)) => (format!("per factor of {factor}"), libm::log(factor)),
        (false, per) => {
            let (per, units) = (per.unwrap_or(1.0), units.unwrap_or(if per.is_none() { "unit" } else { "units" }));
            (format!("per {per} {units}"), per)
        }
    }
}

/// Refuses what a coefficient of this unit cannot have.
fn check(stated: &CoefficientPrior, scale: EffectScale, unit: &CoefficientUnit<'_>, key: &str) -> Result<(), Conflict> {
    if let StatedRange::OddsRatio { .. } = stated.range {
        if scale != EffectScale::OddsRatio {
            let what = "an odds ratio is stated, and the outcome is a number";
            return Err(Conflict::new(key, NOT_TOGETHER, what, "state mean and sd in units of the outcome"));
        }
        if matches!(unit, CoefficientUnit::Intercept) {
            let what = "the intercept is no effect, so it has no odds ratio";
            return Err(Conflict::new(key, NOT_TOGETHER, what, "state mean and sd of the log odds"));
        }
    }
    match (unit, stated.per) {
        (CoefficientUnit::Number(Numeric { log: true, .. }, _), Some(factor)) if factor <= 1.0 => {
            let what = format!("per is {factor}, expected a factor over 1: the input is a logarithm");
            Err(Conflict::new(key, VALUE, what, "per = 2 states the effect of a doubling"))
        }
        (CoefficientUnit::One | CoefficientUnit::Intercept, Some(_)) => {
            let what = format!("per belongs to a number, and the input of {} is 0 or 1", stated.name);
            Err(Conflict::new(key, STRAY, what, "leave per out"))
        }
        _ => Ok(()),
    }
}

/// A name that no coefficient has: a category without its level, or a slip.
fn unknown(stated: &CoefficientPrior, names: &[String], schema: &Schema) -> Conflict {
    let name = stated.name.as_str();
    let category =
        schema.columns().iter().find(|column| column.name == name && !matches!(column.kind, Kind::Numeric(_)));
    let levels = names.iter().filter(|other| category.is_some() && other.starts_with(&format!("{name}=")));
    let levels: Vec<String> = levels.map(|level| format!("{level:?}")).collect();
    let hint = match nearest(name, names.iter().map(String::as_str)) {
        _ if !levels.is_empty() => format!("each level has a coefficient: {}", levels.join(", ")),
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("the coefficients are {}", names.iter().take(20).cloned().collect::<Vec<_>>().join(", ")),
    };
    Conflict::new("coefficients", UNKNOWN, format!("there is no coefficient {name:?}"), hint)
}

/// How a number is encoded, in words that two schemas share where they encode alike.
pub(super) fn encoding(name: &str, numeric: &Numeric) -> String {
    let logarithm = if numeric.log { "logarithm, " } else { "" };
    format!("{name}: {logarithm}centre {}, scale {}", numeric.centre, numeric.scale)
}
