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
    low[..dense].iter_mut().zip(0..).for_each(|(p, j)| *p = j);
    low[dense..].copy_from_slice(row.ones);
    high.iter_mut().zip(&*low).for_each(|(high, low)| *high = d + low);
    let (by_mean, by_spread) = values.split_at_mut(stored);
    by_mean[..dense].iter_mut().zip(row.numbers).for_each(|(v, x)| *v = residual * x);
    by_mean[dense..].fill(residual);
    by_spread.iter_mut().zip(row.numbers).enumerate().for_each(|(j, (v, x))| *v = by_log(j, *x));
    by_spread[dense..].iter_mut().zip(row.ones).for_each(|(v, p)| *v = by_log(*p as usize, 1.0));
    sink.add(positions, values)
}
