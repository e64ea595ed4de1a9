//! One row's gradient in its sparse form, on its way to a sink.

use super::{Point, Sink};
use crate::data::Row;
use privacy::PrivacyError;

/// Hands one row's gradient to the sink: residual·xⱼ at j, and `by_log(j, xⱼ)` at d + j.
pub(super) fn hand_over(
    row: &Row<'_>,
    residual: f64,
    by_log: impl Fn(usize, f64) -> f64,
    (positions, values): (&mut Vec<u32>, &mut Vec<f64>),
    at: Point<'_>,
    sink: &mut dyn Sink,
) -> Result<(), PrivacyError> {
    let d = at.mean.len() as u32;
    positions.clear();
    positions.extend(0..row.numbers.len() as u32);
    positions.extend(row.ones);
    positions.extend(d..d + row.numbers.len() as u32);
    positions.extend(row.ones.iter().map(|p| d + p));
    values.clear();
    values.extend(row.entries().map(|(_, x)| residual * x));
    values.extend(row.entries().map(|(j, x)| by_log(j, x)));
    sink.add(positions, values)
}
