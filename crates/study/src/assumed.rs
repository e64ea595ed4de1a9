//! Assumed bounds of sufficient statistics beside what the schema's ranges imply: a note where they differ.

use super::meant::Study;
use crate::digits::{shortest, up};
use inference::settings::{Deviations, Method, Scheme, StatisticsRule};
use inference::{Kind, Numeric, OutcomeKind, Schema};

/// Part of a bound within which it is called equal: both are rounded by hand.
const ALIKE: f64 = 1e-3;

/// What a reader should know of the assumed bounds of all methods, each thing once.
///
/// A bound that is too small cuts values off, which may be meant: less noise for some bias. One that is too large costs noise
/// and buys nothing.
pub(super) fn notes(study: &Study, schema: &Schema) -> Vec<String> {
    if study.data.synthetic.is_some() {
        return Vec::new();
    }
    let (column, reach) = widest(schema);
    let mut notes: Vec<String> = Vec::new();
    for bound in study.methods.iter().filter_map(bound) {
        let note = if !reach.is_finite() {
            format!("the schema has no bounds for `{column}`: values beyond ±{} are cut to it", shortest(bound))
        } else if bound < reach * (1.0 - ALIKE) {
            let (bound, reach) = (shortest(bound), up(reach));
            format!("by the schema values reach ±{reach} (`{column}`): those beyond the assumed ±{bound} are cut to it")
        } else if bound > reach * (1.0 + ALIKE) {
            let (bound, reach) = (shortest(bound), up(reach));
            format!(
                "by the schema no value is beyond ±{reach} (`{column}`): statistics = {{ bound = {reach} }} needs less noise than {bound}"
            )
        } else {
            continue;
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The bound that values are assumed to have; none where a method assumes none.
fn bound(method: &Method) -> Option<f64> {
    let Scheme::Statistics(statistics) = method.scheme else { return None };
    match statistics.rule {
        StatisticsRule::Plain { bound }
        | StatisticsRule::Inputs { bound }
        | StatisticsRule::Projected { bound, .. }
        | StatisticsRule::RowNorm { deviations: Deviations::Asked { bound, .. }, .. } => Some(bound),
        StatisticsRule::RowNorm { deviations: Deviations::Known, .. } => None,
    }
}

/// The column whose encoded values reach farthest from 0, and how far. Levels, flags and the bias are ones.
fn widest(schema: &Schema) -> (&str, f64) {
    let outcome = schema.outcome();
    let of_outcome = match &outcome.kind {
        OutcomeKind::Number(number) => reach(number),
        OutcomeKind::Classes(_) => 1.0,
    };
    let mut widest = (outcome.column.as_str(), of_outcome);
    for column in schema.columns() {
        let found = match &column.kind {
            Kind::Numeric(number) => reach(number),
            Kind::Category { .. } => 1.0,
            Kind::Ignore => continue,
        };
        if found > widest.1 {
            widest = (&column.name, found);
        }
    }
    widest
}

fn reach(number: &Numeric) -> f64 {
    number.bounds.map_or(f64::INFINITY, |(low, high)| number.encode(low).abs().max(number.encode(high).abs()))
}
