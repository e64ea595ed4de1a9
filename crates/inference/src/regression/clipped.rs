//! Mean and variance of the entries of w² zzᵀ, for Gaussian rows in the eigenbasis of their covariance.

use crate::linalg;

/// Moments of one row's w² zzᵀ, z ~ N(0, diag ω): entries are uncorrelated, and means off the diagonal are zero.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowMoments {
    /// mᵢ = E[w² zᵢ²].
    pub(super) means: Vec<f64>,
    /// vᵢⱼ = Var[w² zᵢzⱼ], packed.
    pub(super) variances: Vec<f64>,
}

/// Of rows that no bound scales: m = ω, vᵢⱼ = ωᵢωⱼ(1 + δᵢⱼ), the moments of Wishart's distribution.
pub(super) fn unclipped(omega: &[f64]) -> RowMoments {
    let mut variances = Vec::with_capacity(linalg::packed(omega.len()));
    for (i, a) in omega.iter().enumerate() {
        variances.extend(omega[..i].iter().map(|b| a * b));
        variances.push(2.0 * a * a);
    }
    RowMoments { means: omega.to_vec(), variances }
}
