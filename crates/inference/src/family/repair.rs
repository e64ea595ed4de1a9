//! Repair: from any numbers to natural parameters of a proper Gaussian.
//!
//! Noise can make a precision negative. Repair is the one named post-processing that makes a proper q of
//! such numbers. It is applied to totals that were released, never to a client's share of a sum: a
//! repaired share would make a sum that is not the mechanism which was accounted for.

use super::{Family, as_natural, as_precision};
use crate::linalg::{self, Eigen};
use crate::settings::Repair;

/// Coordinate by coordinate.
pub(super) fn mean_field(natural: &[f64], prior: &[f64], how: Repair, d: usize) -> Vec<f64> {
    let mut served = prior.to_vec();
    for j in 0..d {
        let usable = |k: usize| natural.get(k).copied().filter(|v| v.is_finite()).unwrap_or(prior[k]);
        let least = match how {
            Repair::Project => -2.0 * prior[d + j],
            Repair::Floor(floor) => floor,
        };
        let raised = |precision: f64| if precision >= least { precision } else { least };
        let (information, precision) = (usable(j), raised(-2.0 * usable(d + j)));
        let own = is_proper(information, precision);
        served[j] = if own { information } else { prior[j] };
        served[d + j] = -0.5 * if own { precision } else { raised(-2.0 * prior[d + j]) };
    }
    served
}

/// True if Λ, its inverse and the mean are finite, and the variance positive.
fn is_proper(information: f64, precision: f64) -> bool {
    precision > 0.0 && precision.is_finite() && (1.0 / precision).is_normal() && (information / precision).is_finite()
}

/// By eigenvalues; the repaired prior where even that gives no proper Gaussian.
pub(super) fn full(family: &Family, natural: &[f64], prior: &[f64], how: Repair) -> Vec<f64> {
    let usable: Vec<f64> = (prior.iter().enumerate())
        .map(|(k, p)| natural.get(k).copied().filter(|v| (2.0 * v).is_finite()).unwrap_or(*p))
        .collect();
    [usable.as_slice(), prior]
        .into_iter()
        .map(|numbers| raised(numbers, prior, how, family.dimension()))
        .find(|served| family.gaussian(served).is_some())
        .unwrap_or_else(|| prior.to_vec())
}

/// Raises the eigenvalues of the precision, or of what it has over the prior's.
fn raised(natural: &[f64], prior: &[f64], how: Repair, d: usize) -> Vec<f64> {
    let (information, second) = natural.split_at(d);
    let (base, least) = match how {
        Repair::Project => (as_precision(&prior[d..], d), 0.0),
        Repair::Floor(floor) => (vec![0.0; linalg::packed(d)], floor),
    };
    let precision = as_precision(second, d);
    let excess: Vec<f64> = precision.iter().zip(&base).map(|(p, b)| p - b).collect();
    let Some(corrected) = raise_eigenvalues(&excess, least, largest(&base), d) else {
        return natural.to_vec();
    };
    let served: Vec<f64> = corrected.iter().zip(&base).map(|(c, b)| c + b).collect();
    information.iter().copied().chain(as_natural(&served, d)).collect()
}

/// The matrix with every eigenvalue under `least` raised to it; none if there is no such eigenvalue.
///
/// They are raised by a few rounding errors more, measured by the largest number that takes part, so that what comes out
/// has none under `least` when it is looked at again.
fn raise_eigenvalues(a: &[f64], least: f64, beside: f64, d: usize) -> Option<Vec<f64>> {
    let scale = largest(a).max(least).max(beside);
    if scale == 0.0 || !scale.is_finite() {
        return None;
    }
    let scaled: Vec<f64> = a.iter().map(|v| v / scale).collect();
    let eigen = Eigen::of(&scaled, d);
    let bound = least / scale;
    if eigen.values.iter().all(|v| *v >= bound) {
        return None;
    }
    let target = bound + d as f64 * ROUNDING;
    Some(eigen.map(|v| v.max(target)).iter().map(|v| v * scale).collect())
}

/// Rounding errors of a decomposition for each row, relative to the largest entry: far more than there are.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// The largest absolute entry; 0 of none.
fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |m, v| v.abs().max(m))
}
