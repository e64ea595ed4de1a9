//! Which contrasts of the inputs readers ask for: a change of a number, a level against its reference, missing against present.

use crate::data::{Column, Kind, Missing, Numeric};
use crate::{Schema, ToldEffect};

/// A weighted sum of inputs' coefficients that answers one question.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// The column.
    pub input: String,
    /// What is compared, in words.
    pub comparison: String,
    /// The level that is compared with the reference.
    pub level: Option<String>,
    /// The reference.
    pub reference: Option<String>,
    /// Places of inputs, in the order of [`Schema::inputs`], with their weights.
    pub weights: Vec<(usize, f64)>,
}

/// The contrasts of all columns, in the order of the schema.
///
/// A number has one, per stated change; one that may be missing has one more, missing against the centre. A category has one for
/// each level but the reference: e_level − e_reference.
pub fn contrasts(schema: &Schema) -> Vec<Contrast> {
    let (mut number, mut one) = (0, schema.dense());
    let mut found = Vec::new();
    for column in schema.columns() {
        match &column.kind {
            Kind::Numeric(numeric) => {
                found.push(change(column, numeric, number));
                if numeric.missing == Missing::Flag {
                    found.push(missing(column, numeric, one));
                }
                number += 1;
            }
            Kind::Category { levels, missing_level } => {
                let names = levels.iter().map(String::as_str).chain(missing_level.then_some("missing"));
                found.extend(levels_of(column, &names.collect::<Vec<_>>(), one));
            }
            Kind::Ignore => {}
        }
        one += column.ones_count();
    }
    found
}

/// A change of a number, by its stated or its default unit.
fn change(column: &Column, numeric: &Numeric, place: usize) -> Contrast {
    let ToldEffect { per, units, .. } = &column.told;
    let (comparison, weight) = if numeric.log {
        let factor = per.unwrap_or(2.0);
        let words = if factor == 2.0 { "per doubling".to_owned() } else { format!("per factor of {factor}") };
        (words, libm::log(factor) / numeric.scale)
    } else {
        let change = per.unwrap_or_else(|| readable(numeric));
        (format!("per {}", measured(change, units.as_deref())), change / numeric.scale)
    };
    Contrast { input: column.name.clone(), comparison, level: None, reference: None, weights: vec![(place, weight)] }
}

/// A missing number has the input 0, as one at the centre has, and a one in its flag.
fn missing(column: &Column, numeric: &Numeric, flag: usize) -> Contrast {
    let centre = if numeric.log { significant(libm::exp(numeric.centre)) } else { numeric.centre };
    let reference = measured(centre, column.told.units.as_deref());
    Contrast {
        input: column.name.clone(),
        comparison: format!("missing against {reference}"),
        level: Some("missing".into()),
        reference: Some(reference),
        weights: vec![(flag, 1.0)],
    }
}

/// Every level but the reference against it.
fn levels_of(column: &Column, levels: &[&str], first: usize) -> Vec<Contrast> {
    let reference = column.told.reference.unwrap_or(0);
    let one = |(place, level): (usize, &&str)| Contrast {
        input: column.name.clone(),
        comparison: format!("{level} against {}", levels[reference]),
        level: Some((*level).to_owned()),
        reference: Some(levels[reference].to_owned()),
        weights: vec![(first + place, 1.0), (first + reference, -1.0)],
    };
    levels.iter().enumerate().filter(|(place, _)| *place != reference).map(one).collect()
}

/// The change that a number is told for where the schema does not say: 1, 2 or 5 times a power of ten, the nearest to the scale,
/// and no more than the whole range. What runs from 0 to 1 is told from end to end.
fn readable(numeric: &Numeric) -> f64 {
    let range = numeric.bounds.map_or(f64::INFINITY, |(low, high)| high - low);
    if numeric.bounds == Some((0.0, 1.0)) {
        return 1.0;
    }
    let power = libm::floor(libm::log10(numeric.scale)) as i32;
    let round = [(1, power), (2, power), (5, power), (1, power + 1)];
    // Read from its digits, a round number is the nearest one that there is.
    let round = round.iter().filter_map(|(times, power)| format!("{times}e{power}").parse::<f64>().ok());
    let far = |value: &f64| libm::fabs(libm::log(value / numeric.scale));
    let nearest = round.min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(numeric.scale);
    nearest.min(range)
}

/// Three digits of a number.
fn significant(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// A number with its units.
fn measured(value: f64, units: Option<&str>) -> String {
    units.map_or_else(|| value.to_string(), |units| format!("{value} {units}"))
}
