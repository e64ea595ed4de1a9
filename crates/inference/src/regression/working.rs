//! The working posterior: the density of (Ω_xx, θ, σ²) given the noisy statistics, with its slope.
//!
//! z ~ N(0, Ω) with Ω_xy = Ω_xx θ and Ω_yy = σ² + θᵀΩ_xxθ. In the eigenbasis of Ω the distribution of a row, and of its
//! scaled copy, does not change with the sign of a coordinate: entries of S off the diagonal have mean zero, and are
//! uncorrelated with each other and with the diagonal. The noise is isometric, so it has the same law in that basis. With
//! the central limit theorem for S:
//!
//! Ŝ'ᵢⱼ ~ N(0, n vᵢⱼ + s²/2) for i > j, each for itself, and the diagonal of Ŝ' ~ N(n m, n C + s² I).
//!
//! S is integrated out, and nothing has to be positive definite for the density to be proper.

use super::clipped::{self, RowMoments};
use super::{NoiseVariance, ObservedSums, RegressionPrior};
use crate::linalg::{self, Eigen, dot, place};

/// No entry of an honest Ω is larger; beyond, the density is taken for zero.
const LARGEST: f64 = 1e60;
/// Eigenvalues that differ by less than this part of their sum are taken for equal.
const APART: f64 = 1e-7;

/// Posterior density of φ = (A, θ, log σ), Ω_xx⁻¹ = AAᵀ, the diagonal of A by its logarithm; without log σ where σ² is known.
pub(super) struct Working<'a> {
    /// Ŝ and how it was made.
    seen: &'a ObservedSums,
    /// Of θ and σ².
    prior: &'a RegressionPrior,
    /// d.
    pub(super) inputs: usize,
    /// k of the prior of Ω_xx.
    ceiling: f64,
    /// κ of the prior of Ω_xx.
    floor: f64,
}

/// Ω at φ, as the density sees it.
pub(super) struct WorkingView {
    /// A, packed.
    pub(super) factor: Vec<f64>,
    /// Ω, packed.
    omega: Vec<f64>,
    /// Eigenvalues ω and eigenvectors of Ω.
    pub(super) eigen: Eigen,
    /// Of one row's w²zzᵀ in the eigenbasis.
    pub(super) moments: RowMoments,
    /// Ŝ', packed.
    seen: Vec<f64>,
    /// Cholesky factor K of the covariance of the diagonal of Ŝ', packed.
    pub(super) diagonal: Vec<f64>,
    /// Ŝ'ᵢⱼ/deviation, packed; on the diagonal K⁻¹(Ŝ' − n m).
    pub(super) residuals: Vec<f64>,
    /// Deviations of the entries of Ŝ', packed; on the diagonal that of K.
    pub(super) deviations: Vec<f64>,
}

impl<'a> Working<'a> {
    /// The density of these statistics under this prior.
    pub(super) fn new(seen: &'a ObservedSums, prior: &'a RegressionPrior) -> Self {
        let (ceiling, floor) = (seen.inputs as f64 + 1.0, seen.deviation / seen.rows as f64);
        Self { seen, prior, inputs: seen.inputs, ceiling, floor }
    }

    /// n.
    pub(super) fn rows(&self) -> f64 {
        self.seen.rows as f64
    }

    /// Ŝ/n, packed.
    pub(super) fn average(&self) -> Vec<f64> {
        self.seen.matrix.iter().map(|v| v / self.rows()).collect()
    }

    /// Length of φ.
    pub(super) fn len(&self) -> usize {
        let unknown = matches!(self.prior.noise_variance, NoiseVariance::InverseGamma { .. });
        linalg::packed(self.inputs) + self.inputs + usize::from(unknown)
    }

    /// θ in φ.
    pub(super) fn theta<'p>(&self, phi: &'p [f64]) -> &'p [f64] {
        let start = linalg::packed(self.inputs);
        &phi[start..start + self.inputs]
    }

    /// σ² in φ.
    pub(super) fn noise_variance(&self, phi: &[f64]) -> f64 {
        match self.prior.noise_variance {
            NoiseVariance::Known(v) => v,
            NoiseVariance::InverseGamma { .. } => libm::exp(2.0 * phi[self.len() - 1]),
        }
    }

    /// A, packed.
    fn precision_factor(&self, phi: &[f64]) -> Vec<f64> {
        let mut factor = phi[..linalg::packed(self.inputs)].to_vec();
        let diagonal = (0..self.inputs).map(|j| place(j, j));
        diagonal.for_each(|at| factor[at] = libm::exp(factor[at]));
        factor
    }

    /// Ω, packed: Ω_xx = A⁻ᵀA⁻¹, and below it θᵀΩ_xx and σ² + θᵀΩ_xxθ.
    fn covariance(&self, phi: &[f64], factor: &[f64]) -> Vec<f64> {
        let theta = self.theta(phi);
        let mut omega = linalg::inverse(factor, self.inputs);
        let cross = linalg::symmetric_times(&omega, theta);
        let outcome = dot(&cross, theta) + self.noise_variance(phi);
        omega.extend(cross);
        omega.push(outcome);
        omega
    }

    /// None where numbers are too large to work with.
    pub(super) fn sight(&self, phi: &[f64]) -> Option<WorkingView> {
        let p = self.inputs + 1;
        let factor = self.precision_factor(phi);
        let omega = self.covariance(phi, &factor);
        if !omega.iter().all(|v| v.abs() < LARGEST) {
            return None;
        }
        let mut eigen = Eigen::of(&omega, p);
        // Rounding may leave an eigenvalue of zero, or just below.
        let least = eigen.values.iter().fold(f64::MIN_POSITIVE, |m, v| v.max(m)) * f64::EPSILON;
        eigen.values.iter_mut().for_each(|v| *v = v.max(least));
        let moments = clipped::moments(&eigen.values, self.seen.radius * self.seen.radius);
        let (n, noise) = (self.rows(), self.seen.deviation * self.seen.deviation);
        let seen = eigen.seen_along(&self.seen.matrix);
        let mut joint = moments.diagonal_covariance();
        joint.iter_mut().for_each(|v| *v *= n);
        (0..p).for_each(|i| joint[place(i, i)] += noise);
        let diagonal = linalg::cholesky(&joint, p)?;
        let mut white: Vec<f64> = (0..p).map(|i| seen[place(i, i)] - n * moments.means[i]).collect();
        linalg::solve_lower(&diagonal, &mut white);
        let (mut residuals, mut deviations) = (seen.clone(), moments.variances.clone());
        for i in 0..p {
            for at in place(i, 0)..place(i, i) {
                deviations[at] = (n * deviations[at] + 0.5 * noise).max(f64::MIN_POSITIVE).sqrt();
                residuals[at] /= deviations[at];
            }
            (residuals[place(i, i)], deviations[place(i, i)]) = (white[i], diagonal[place(i, i)]);
        }
        Some(WorkingView { factor, omega, eigen, moments, seen, diagonal, residuals, deviations })
    }

    /// log posterior density of φ up to a constant, and its slope; none where it is no number.
    pub(super) fn log_density(&self, phi: &[f64]) -> Option<(f64, Vec<f64>)> {
        let sight = self.sight(phi)?;
        let squares: f64 = sight.residuals.iter().map(|r| r * r).sum();
        let volumes: f64 = sight.deviations.iter().map(|v| libm::log(*v)).sum();
        let mut slope = self.pulled_back(phi, &sight);
        let (prior, of_prior, _) = self.log_prior(phi, &sight.factor);
        slope.iter_mut().zip(of_prior).for_each(|(s, p)| *s += p);
        let value = prior - 0.5 * squares - volumes;
        (value.is_finite() && slope.iter().all(|v| v.is_finite())).then_some((value, slope))
    }

    /// log prior density of φ, its slope, and the diagonal of a curvature for it, nowhere negative; it has no other entries.
    ///
    /// Ω_xx has density ∝ exp(−½k tr Ω_xx − ½κ tr Ω_xx⁻¹), k = d + 1 and κ the noise in Ŝ/n. With Ω_xx⁻¹ = AAᵀ the volume of Ω_xx is
    /// ∏ Aᵢᵢ^(−d−i) in the coordinates of φ, i from 1, and tr Ω_xx = ‖A⁻¹‖² has the slope −2Ω_xx²A. Its curvature is taken to be that
    /// of the square of d(A⁻¹) = −A⁻¹ dA A⁻¹: for Aᵣ꜀ twice (Ω_xx)ᵣᵣ times ((AᵀA)⁻¹)꜀꜀.
    pub(super) fn log_prior(&self, phi: &[f64], factor: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        let d = self.inputs;
        let (mut slope, mut curvature) = (Vec::with_capacity(self.len()), Vec::with_capacity(self.len()));
        let omega = linalg::inverse(factor, d);
        let widths: Vec<f64> = (0..d).map(|i| omega[place(i, i)]).collect();
        let mut value = -0.5 * self.ceiling * widths.iter().sum::<f64>();
        let of_columns: Vec<(Vec<f64>, f64)> = (0..d).map(|c| squared_times(&omega, factor, d, c)).collect();
        for i in 0..d {
            let row = &factor[place(i, 0)..=place(i, i)];
            value -= 0.5 * self.floor * dot(row, row);
            for (c, (one, (pulls, length))) in row.iter().zip(&of_columns).enumerate() {
                // The diagonal stands in φ by its logarithm.
                let scale = if c == i { *one } else { 1.0 };
                slope.push(scale * (self.ceiling * pulls[i] - self.floor * one));
                curvature.push(scale * scale * (self.floor + self.ceiling * widths[i] * length));
            }
            let volume = (d + 1 + i) as f64;
            value -= volume * phi[place(i, i)];
            slope[place(i, i)] -= volume;
        }
        self.add_coefficients(phi, &mut value, &mut slope);
        curvature.extend(self.prior.coefficients.diagonal());
        if let NoiseVariance::InverseGamma { shape, scale } = self.prior.noise_variance {
            let log = phi[self.len() - 1];
            let pull = scale * libm::exp(-2.0 * log);
            value -= 2.0 * shape * log + pull;
            slope.push(2.0 * (pull - shape));
            curvature.push(4.0 * pull);
        }
        (value, slope, curvature)
    }

    /// The part of θ in the log prior: −½(θ − m₀)ᵀP₀(θ − m₀), and its slope.
    fn add_coefficients(&self, phi: &[f64], value: &mut f64, slope: &mut Vec<f64>) {
        let (theta, prior) = (self.theta(phi), &self.prior.coefficients);
        let pull = prior.pull(theta);
        for (pull, (theta, mean)) in pull.iter().zip(theta.iter().zip(prior.mean())) {
            *value -= 0.5 * pull * (theta - mean);
            slope.push(-pull);
        }
    }

    /// The slope of the log likelihood by φ, from that by Ω.
    ///
    /// With G = ∂/∂Ω, P = (I, θ)ᵀ and dΩ_xx = −Ω_xx d(AAᵀ) Ω_xx: by A it is −2 Ω_xx PᵀGP A⁻ᵀ, lower part; by θ it is
    /// 2 Gᵧ.Ω.ₓ; by log σ it is 2σ²Gᵧᵧ.
    fn pulled_back(&self, phi: &[f64], sight: &WorkingView) -> Vec<f64> {
        let (d, theta) = (self.inputs, self.theta(phi));
        let g = self.slope_by_covariance(sight);
        let last: Vec<f64> = (0..=d).map(|j| g[place(d, j)]).collect();
        let mut inner = g[..linalg::packed(d)].to_vec();
        for i in 0..d {
            for j in 0..=i {
                inner[place(i, j)] += theta[i] * last[j] + last[i] * theta[j] + theta[i] * theta[j] * last[d];
            }
        }
        let mut slope = vec![0.0; self.len()];
        for c in 0..d {
            let mut column = vec![0.0; d];
            column[c] = 1.0;
            linalg::solve_upper(&sight.factor, &mut column);
            let image = linalg::symmetric_times(&inner, &column);
            let image = linalg::symmetric_times(&sight.omega[..linalg::packed(d)], &image);
            (c..d).for_each(|r| slope[place(r, c)] = -2.0 * image[r]);
            slope[place(c, c)] *= sight.factor[place(c, c)];
        }
        let by_theta = linalg::symmetric_times(&sight.omega, &last);
        let start = linalg::packed(d);
        (0..d).for_each(|k| slope[start + k] = 2.0 * by_theta[k]);
        if self.len() > start + d {
            slope[start + d] = 2.0 * self.noise_variance(phi) * last[d];
        }
        slope
    }

    /// G = ∂/∂Ω of the log likelihood, packed.
    ///
    /// In the eigenbasis: with T the slope by Ŝ', entries off the diagonal halved, Gₖₗ = (TŜ' − Ŝ'T)ₖₗ/(ωₖ − ωₗ), as turning Ω
    /// turns Ŝ' the other way; Gₖₖ is the slope by ωₖ through means and covariances. The latter are taken to move like mᵢmⱼ, which is
    /// exact without clipping: the sampler needs no more than nearly the slope.
    fn slope_by_covariance(&self, sight: &WorkingView) -> Vec<f64> {
        let (p, n) = (self.inputs + 1, self.rows());
        let (omega, moments) = (&sight.eigen.values, &sight.moments);
        let entry = |i: usize, j: usize| place(i.max(j), i.min(j));
        let mut pulls: Vec<f64> = (0..p).map(|i| sight.residuals[place(i, i)]).collect();
        linalg::solve_upper(&sight.diagonal, &mut pulls);
        let pull = |i: usize, j: usize| match i == j {
            true => -pulls[i],
            false => -0.5 * sight.residuals[entry(i, j)] / sight.deviations[entry(i, j)],
        };
        let t: Vec<f64> = (0..p * p).map(|k| pull(k / p, k % p)).collect();
        let s: Vec<f64> = (0..p * p).map(|k| sight.seen[entry(k / p, k % p)]).collect();
        let (inverse, joint) = (linalg::inverse(&sight.diagonal, p), moments.diagonal_covariance());
        let spread = |i: usize, j: usize| {
            let on_diagonal = n * joint[entry(i, j)] * (pulls[i] * pulls[j] - inverse[entry(i, j)]);
            let (r, sd) = (sight.residuals[entry(i, j)], sight.deviations[entry(i, j)]);
            let off = 0.5 * n * moments.variances[entry(i, j)] * (r * r - 1.0) / (sd * sd);
            if i == j { on_diagonal } else { on_diagonal + off }
        };
        let spreads: Vec<f64> = (0..p).map(|i| (0..p).map(|j| spread(i, j)).sum()).collect();
        let mut along = vec![0.0; linalg::packed(p)];
        for k in 0..p {
            for l in 0..k {
                let (tk, tl) = (&t[k * p..(k + 1) * p], &t[l * p..(l + 1) * p]);
                let (sk, sl) = (&s[k * p..(k + 1) * p], &s[l * p..(l + 1) * p]);
                let gap = omega[k] - omega[l];
                if gap.abs() > APART * (omega[k] + omega[l]) {
                    along[place(k, l)] = (dot(tk, sl) - dot(sk, tl)) / gap;
                }
            }
            let by_means: f64 = (0..p).map(|i| -n * moments.slopes[i * p + k] * t[i * p + i]).sum();
            let by_variances = (0..p).map(|i| spreads[i] * moments.slopes[i * p + k] / moments.means[i]);
            along[place(k, k)] = by_means + by_variances.sum::<f64>();
        }
        sight.eigen.seen_back(&along)
    }
}

/// Column c of Ω²A, and ((AᵀA)⁻¹)꜀꜀.
fn squared_times(omega: &[f64], factor: &[f64], d: usize, c: usize) -> (Vec<f64>, f64) {
    let column: Vec<f64> = (0..d).map(|r| if r < c { 0.0 } else { factor[place(r, c)] }).collect();
    let pulls = linalg::symmetric_times(omega, &linalg::symmetric_times(omega, &column));
    let mut solved = vec![0.0; d];
    solved[c] = 1.0;
    linalg::solve_upper(factor, &mut solved);
    (pulls, dot(&solved, &solved))
}
