//! The conjugate posterior from noisy statistics: repaired and ridged, or taken at their word.

use crate::Gaussian;
use crate::linalg::{self, Eigen};

/// Deviations of the noise on the entries of a symmetric matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntryDeviations {
    /// On the diagonal.
    pub diagonal: f64,
    /// Off it: the same where every unique entry got the same noise, 1/√2 of it in the isometric packing.
    pub off_diagonal: f64,
}

impl EntryDeviations {
    /// Root mean square over all d² entries.
    fn typical(&self, d: usize) -> f64 {
        let (on, off) = (self.diagonal * self.diagonal, self.off_diagonal * self.off_diagonal);
        ((on + (d as f64 - 1.0) * off) / d as f64).sqrt()
    }
}

/// XᵀX and Xᵀy with noise, in any units.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyStatistics {
    /// XᵀX + noise: the lower triangle row by row.
    pub products: Vec<f64>,
    /// Xᵀy + noise.
    pub targets: Vec<f64>,
    /// Deviations of the noise on XᵀX.
    pub deviations: EntryDeviations,
}

impl NoisyStatistics {
    /// The posterior of θ after repair: eigenvalues of the noisy XᵀX below 0 are set to 0, and s√(2d) is added to all.
    ///
    /// y = xᵀθ + N(0, noise variance), θⱼ ~ N(0, 1/precisionⱼ). s√(2d), with s the typical deviation of an entry, is of
    /// the size of the noise matrix's largest eigenvalue (2s√d for large d; Wigner), so a direction of which the noise
    /// alone speaks is shrunk rather than believed. Repair and ridge see released numbers only: they are
    /// post-processing. None if sizes do not fit or a number is not finite.
    pub fn ridge(&self, precisions: &[f64], noise_variance: f64) -> Option<Gaussian> {
        let d = self.targets.len();
        let ridge = self.deviations.typical(d) * (2.0 * d as f64).sqrt();
        self.conjugate(precisions, noise_variance, |v| v.max(0.0) + ridge)
    }

    /// The posterior that takes noisy statistics for clean ones: its mean solves Λμ = Xᵀy/σ² even where noise made Λ
    /// indefinite, as Heikkilä et al. 2017 do, and its covariance is |Λ|⁻¹, which is proper.
    ///
    /// Its intervals know nothing of the noise, and are far too short where it matters.
    pub fn naive(&self, precisions: &[f64], noise_variance: f64) -> Option<Gaussian> {
        let d = self.targets.len();
        let usable = self.products.len() == linalg::packed(d) && self.products.iter().all(|v| v.is_finite());
        if d == 0 || precisions.len() != d || !usable {
            return None;
        }
        let mut word: Vec<f64> = self.products.iter().map(|v| v / noise_variance).collect();
        (0..d).for_each(|j| word[linalg::place(j, j)] += precisions[j]);
        // Scaled, so that squares of entries do not overflow.
        let scale = word.iter().fold(f64::MIN_POSITIVE, |m, v| v.abs().max(m));
        let scaled: Vec<f64> = word.iter().map(|v| v / scale).collect();
        let eigen = Eigen::of(&scaled, d);
        let pull: Vec<f64> = self.targets.iter().map(|v| v / noise_variance).collect();
        let mean = linalg::symmetric_times(&eigen.map(|v| 1.0 / (v * scale)), &pull);
        Gaussian::from_precision(mean, &eigen.map(|v| v.abs() * scale))
    }

    /// N(Λ⁻¹Xᵀy/σ², Λ⁻¹) with Λ = diag(precisions) + f(XᵀX)/σ²; f acts on eigenvalues.
    fn conjugate(&self, precisions: &[f64], noise_variance: f64, f: impl Fn(f64) -> f64) -> Option<Gaussian> {
        let d = self.targets.len();
        let usable = |v: &f64| v.is_finite();
        if d == 0
            || precisions.len() != d
            || self.products.len() != linalg::packed(d)
            || !self.products.iter().all(usable)
        {
            return None;
        }
        // Scaled, so that squares of entries do not overflow.
        let scale = self.products.iter().fold(f64::MIN_POSITIVE, |m, v| v.abs().max(m));
        let scaled: Vec<f64> = self.products.iter().map(|v| v / scale).collect();
        let mut precision = Eigen::of(&scaled, d).map(|v| f(v * scale) / noise_variance);
        (0..d).for_each(|j| precision[linalg::place(j, j)] += precisions[j]);
        let factor = linalg::cholesky(&precision, d)?;
        let mut mean: Vec<f64> = self.targets.iter().map(|v| v / noise_variance).collect();
        linalg::solve_lower(&factor, &mut mean);
        linalg::solve_upper(&factor, &mut mean);
        Gaussian::from_precision(mean, &precision)
    }
}
