//! The conjugate posterior from noisy statistics: repaired and ridged, or taken at their word.

use crate::linalg::{self, Eigen};
use crate::{Gaussian, PriorTerm};

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
    /// y = xᵀθ + N(0, noise variance), θ ~ the prior. s√(2d), with s the typical deviation of an entry, is of
    /// the size of the noise matrix's largest eigenvalue (2s√d for large d; Wigner), so a direction of which the noise
    /// alone speaks is shrunk rather than believed. Repair and ridge see released numbers only: they are
    /// post-processing. None if sizes do not fit or a number is not finite.
    pub fn ridge(&self, prior: &PriorTerm, noise_variance: f64) -> Option<Gaussian> {
        let d = self.targets.len();
        let ridge = self.deviations.typical(d) * (2.0 * d as f64).sqrt();
        self.conjugate(prior, noise_variance, |v| v.max(0.0) + ridge)
    }

    /// The posterior that takes noisy statistics for clean ones: its mean solves Λμ = P₀m₀ + Xᵀy/σ² even where noise made Λ
    /// indefinite, as Heikkilä et al. 2017 do, and its covariance is |Λ|⁻¹, which is proper.
    ///
    /// Its intervals know nothing of the noise, and are far too short where it matters.
    pub fn naive(&self, prior: &PriorTerm, noise_variance: f64) -> Option<Gaussian> {
        let d = self.targets.len();
        let usable = self.products.len() == linalg::packed(d) && self.products.iter().all(|v| v.is_finite());
        if d == 0 || prior.dimension() != d || !usable {
            return None;
        }
        let mut word: Vec<f64> = self.products.iter().map(|v| v / noise_variance).collect();
        prior.add_to(&mut word);
        // Scaled, so that squares of entries do not overflow.
        let scale = word.iter().fold(f64::MIN_POSITIVE, |m, v| v.abs().max(m));
        let scaled: Vec<f64> = word.iter().map(|v| v / scale).collect();
        let eigen = Eigen::of(&scaled, d);
        let pull = self.information(prior, noise_variance);
        let mean = linalg::symmetric_times(&eigen.map(|v| 1.0 / (v * scale)), &pull);
        Gaussian::from_precision(mean, &eigen.map(|v| v.abs() * scale))
    }

    /// P₀m₀ + Xᵀy/σ².
    fn information(&self, prior: &PriorTerm, noise_variance: f64) -> Vec<f64> {
        let mut sums: Vec<f64> = self.targets.iter().map(|v| v / noise_variance).collect();
        if prior.mean().iter().any(|m| *m != 0.0) {
            let away = prior.pull(&vec![0.0; prior.dimension()]);
            sums.iter_mut().zip(away).for_each(|(sum, pull)| *sum -= pull);
        }
        sums
    }

    /// N(Λ⁻¹(P₀m₀ + Xᵀy/σ²), Λ⁻¹) with Λ = P₀ + f(XᵀX)/σ²; f acts on eigenvalues.
    fn conjugate(&self, prior: &PriorTerm, noise_variance: f64, f: impl Fn(f64) -> f64) -> Option<Gaussian> {
        let d = self.targets.len();
        let usable = |v: &f64| v.is_finite();
        if d == 0
            || prior.dimension() != d
            || self.products.len() != linalg::packed(d)
            || !self.products.iter().all(usable)
        {
            return None;
        }
        // Scaled, so that squares of entries do not overflow.
        let scale = self.products.iter().fold(f64::MIN_POSITIVE, |m, v| v.abs().max(m));
        let scaled: Vec<f64> = self.products.iter().map(|v| v / scale).collect();
        let mut precision = Eigen::of(&scaled, d).map(|v| f(v * scale) / noise_variance);
        prior.add_to(&mut precision);
        let factor = linalg::cholesky(&precision, d)?;
        let mut mean = self.information(prior, noise_variance);
        linalg::solve_lower(&factor, &mut mean);
        linalg::solve_upper(&factor, &mut mean);
        Gaussian::from_precision(mean, &precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about_zero(precisions: &[f64]) -> PriorTerm {
        PriorTerm::about_zero(precisions.to_vec())
    }

    fn statistics(off_diagonal: f64) -> NoisyStatistics {
        NoisyStatistics {
            products: vec![4.0, off_diagonal, 2.0],
            targets: vec![1.0, -3.0],
            deviations: EntryDeviations { diagonal: 0.3, off_diagonal: 0.3 },
        }
    }

    #[test]
    fn proper_statistics_taken_at_their_word_give_the_conjugate_posterior() {
        let q = statistics(1.0).naive(&about_zero(&[0.5, 2.0]), 2.0).unwrap();
        // Λ = diag(½, 2) + (4, 1; 1, 2)/2 = (2.5, .5; .5, 3), Λμ = (½, −1½); |Λ| = 7.25.
        let expected = [(3.0 * 0.5 + 0.5 * 1.5) / 7.25, (-0.5 * 0.5 - 2.5 * 1.5) / 7.25];
        assert!(q.mean().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{:?}", q.mean());
        assert!((q.variances()[0] - 3.0 / 7.25).abs() < 1e-14);
    }

    /// With m₀ = (1, −2) and P₀ = (2, ½; ½, 1): Λ = (4, 1; 1, 2), Λμ = P₀m₀ + (½, −1½) = (1½, −3).
    #[test]
    fn a_stated_prior_adds_its_information() {
        let prior = PriorTerm::correlated(vec![1.0, -2.0], vec![2.0, 0.5, 1.0]).unwrap();
        let q = statistics(1.0).naive(&prior, 2.0).unwrap();
        let expected = [(2.0 * 1.5 + 3.0) / 7.0, (-4.0 * 3.0 - 1.5) / 7.0];
        assert!(q.mean().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{:?}", q.mean());
        assert!((q.variances()[0] - 2.0 / 7.0).abs() < 1e-14);
        let noise = NoisyStatistics { products: vec![0.0; 3], targets: vec![0.0; 2], ..statistics(0.0) };
        let alone = noise.naive(&prior, 2.0).unwrap();
        assert!(alone.mean().iter().zip(prior.mean()).all(|(a, b)| (a - b).abs() < 1e-14), "nothing seen: the prior");
    }

    #[test]
    fn the_ridge_is_the_noise_times_the_root_of_two_d() {
        let ridged = statistics(1.0).ridge(&about_zero(&[1.0, 1.0]), 1.0).unwrap();
        let by_hand = statistics(1.0).naive(&about_zero(&[1.0 + 0.6, 1.0 + 0.6]), 1.0).unwrap();
        assert!(ridged.mean().iter().zip(by_hand.mean()).all(|(a, b)| (a - b).abs() < 1e-14));
        // In the isometric packing half of the entries have half the variance.
        let isometric = EntryDeviations { diagonal: 2.0, off_diagonal: 2.0 * std::f64::consts::FRAC_1_SQRT_2 };
        assert!((isometric.typical(2) - 3.0_f64.sqrt()).abs() < 1e-15 && isometric.typical(1) == 2.0);
    }

    #[test]
    fn a_negative_eigenvalue_keeps_its_sign_in_the_mean_and_loses_it_in_the_precision() {
        // (5, 5; 5, 3) has eigenvalues 4 ± √26, of product −10.
        let q = statistics(5.0).naive(&about_zero(&[1.0, 1.0]), 1.0).unwrap();
        let [x, y] = [q.mean()[0], q.mean()[1]];
        let pull = &statistics(5.0).targets;
        assert!((5.0 * x + 5.0 * y - pull[0]).abs() < 1e-12 && (5.0 * x + 3.0 * y - pull[1]).abs() < 1e-12, "{x} {y}");
        let precision = q.packed_precision().unwrap();
        let (trace, product) = (precision[0] + precision[2], precision[0] * precision[2] - precision[1] * precision[1]);
        assert!((trace - 2.0 * 26.0_f64.sqrt()).abs() < 1e-12);
        assert!((product - 10.0).abs() < 1e-12, "{product}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut wrong = statistics(1.0);
        assert!(wrong.ridge(&about_zero(&[1.0]), 1.0).is_none());
        wrong.products[1] = f64::NAN;
        assert!(wrong.ridge(&about_zero(&[1.0, 1.0]), 1.0).is_none());
        let huge = NoisyStatistics { products: vec![1e300, 1e300, 1e300], ..statistics(0.0) };
        assert!(huge.naive(&about_zero(&[1.0, 1.0]), 1.0).is_none_or(|q| q.mean().iter().all(|m| m.is_finite())));
    }
}
