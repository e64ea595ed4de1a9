//! One row's gradient in its sparse form, on its way to a sink.

use super::Sink;
use crate::data::Row;
use privacy::PrivacyError;

/// Hands one row's gradient to the sink: residual·xⱼ by μⱼ, and `by_log(j, xⱼ)` by log sⱼ.
///
/// For likelihoods of xᵀθ, whose gradient by μ is a multiple of the row. Only stored inputs are touched;
/// where a sink does not look at deviations, their half is left as it is.
///
/// - `residual`: r, the expected derivative of log p by xᵀθ.
/// - `by_log`: the derivative by log sⱼ for an input of this value.
/// - `values`: a buffer that is reused from row to row.
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
    let (by_mean, by_mean_of_ones) = by_mean.split_at_mut(dense);
    if !sink.by_deviations() {
        by_mean.iter_mut().zip(row.numbers).for_each(|(m, x)| *m = residual * x);
        by_mean_of_ones.fill(residual);
        return sink.add(row.ones, values);
    }
    let (by_spread, by_spread_of_ones) = by_spread.split_at_mut(dense);
    for (j, ((m, s), x)) in by_mean.iter_mut().zip(by_spread).zip(row.numbers).enumerate() {
        (*m, *s) = (residual * x, by_log(j, *x));
    }
    for ((m, s), p) in by_mean_of_ones.iter_mut().zip(by_spread_of_ones).zip(row.ones) {
        (*m, *s) = (residual, by_log(*p as usize, 1.0));
    }
    sink.add(row.ones, values)
}
