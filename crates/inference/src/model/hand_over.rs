//! One row's gradient in its sparse form, on its way to a sink.

use super::Sink;
use crate::data::Row;
use privacy::PrivacyError;

/// Hands one row's gradient to the sink: residual·xⱼ by μⱼ, and `by_log(j, xⱼ)` by log sⱼ.
pub(super) fn hand_over(
    row: &Row<'_>,
    residual: f64,
    by_log: impl Fn(usize, f64) -> f64,
    values: &mut Vec<f64>,
    sink: &mut dyn Sink,
) -> Result<(), PrivacyError> {
    let (dense, stored) = (row.numbers.len(), row.numbers.len() + row.ones.len());
    values.resize(2 * stored, 0.0);
    let (by_mean, by_spread) = values.split_at_mut(stored);
    by_mean[..dense].iter_mut().zip(row.numbers).for_each(|(v, x)| *v = residual * x);
    by_mean[dense..].fill(residual);
    by_spread.iter_mut().zip(row.numbers).enumerate().for_each(|(j, (v, x))| *v = by_log(j, *x));
    by_spread[dense..].iter_mut().zip(row.ones).for_each(|(v, p)| *v = by_log(*p as usize, 1.0));
    sink.add(row.ones, values)
}
