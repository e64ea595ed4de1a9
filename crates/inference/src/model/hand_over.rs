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
    let (d, dense, stored) = (at.mean.len() as u32, row.numbers.len(), row.numbers.len() + row.ones.len());
    positions.resize(2 * stored, 0);
    values.resize(2 * stored, 0.0);
    let (low, high) = positions.split_at_mut(stored);
    let (by_mean, by_spread) = values.split_at_mut(stored);
    for (j, x) in row.numbers.iter().enumerate() {
        (low[j], high[j]) = (j as u32, d + j as u32);
        (by_mean[j], by_spread[j]) = (residual * x, by_log(j, *x));
    }
    for (k, &p) in row.ones.iter().enumerate() {
        (low[dense + k], high[dense + k]) = (p, d + p);
        (by_mean[dense + k], by_spread[dense + k]) = (residual, by_log(p as usize, 1.0));
    }
    sink.add(positions, values)
}
