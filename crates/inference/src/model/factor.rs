//! From residuals and curvatures of rows to the natural parameters of the Gaussian factor they get.

use crate::data::Rows;
use crate::family::as_natural;
use crate::{Family, linalg};

/// How one row pulls on a = xᵀθ: r = E ∂ log p/∂a and h = −E ∂² log p/∂a².
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pull {
    /// r, the expected residual.
    pub residual: f64,
    /// h, the expected curvature.
    pub curvature: f64,
}

/// η₁ = Σ rᵢxᵢ + Λμ and the second half of Λ = Σ hᵢxᵢxᵢᵀ, of which mean-field keeps the diagonal only.
///
/// The gradient of Σ E_q[log p] by the mean parameters (E θ, E θθᵀ): ∂/∂μ − 2(∂/∂Σ)μ and ∂/∂Σ = −½Λ, by the theorems
/// of Bonnet and Price (Khan and Lin 2017, arXiv:1703.04265, section 2).
pub(super) fn factor(
    rows: &Rows,
    which: &[usize],
    pulls: impl Iterator<Item = Pull>,
    mean: &[f64],
    family: Family,
) -> Vec<f64> {
    let d = family.dimension();
    let mut first = vec![0.0; d];
    let full = matches!(family, Family::Full { .. });
    let mut precision = vec![0.0; family.len() - d];
    for (&i, pull) in which.iter().zip(pulls) {
        let row = rows.row(i);
        row.add_to(pull.residual, &mut first);
        if full {
            row.add_outer_to(pull.curvature, &mut precision);
        } else {
            row.entries().for_each(|(j, x)| precision[j] += pull.curvature * x * x);
        }
    }
    if full {
        let moved = linalg::symmetric_times(&precision, mean);
        first.iter_mut().zip(moved).for_each(|(f, m)| *f += m);
        first.extend(as_natural(&precision, d));
    } else {
        first.iter_mut().zip(&precision).zip(mean).for_each(|((f, p), m)| *f += p * m);
        first.extend(precision.iter().map(|p| -0.5 * p));
    }
    first
}
