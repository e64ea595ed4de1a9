//! The working posterior: the density of (Ω_xx, θ, σ²) given the noisy statistics, and a Gaussian near it.
//!
//! z ~ N(0, Ω) with Ω_xy = Ω_xx θ and Ω_yy = σ² + θᵀΩ_xxθ. In the eigenbasis of Ω the distribution of a row, and of its
//! scaled copy, does not change with the sign of a coordinate: the entries of S are uncorrelated, and those off the
//! diagonal have mean zero. The noise is isometric, so it has the same law in that basis. With the central limit theorem
//! for S, each entry of Ŝ there is an independent normal variable:
//!
//! Ŝ'ᵢⱼ ~ N(n mᵢ δᵢⱼ, n vᵢⱼ + sᵢⱼ²),   sᵢᵢ = s, sᵢⱼ = s/√2.
//!
//! S is integrated out, and nothing has to be positive definite for the density to be proper.

use super::clipped::{self, RowMoments};
use super::{NoiseVariance, Prior, Seen};
use crate::linalg::{self, Eigen};

/// Degrees of freedom of the inverse Wishart prior of Ω_xx beyond d; with 2 its mean is its scale, I.
const FREEDOM: f64 = 2.0;
/// No entry of an honest Ω is larger; beyond, the density is taken for zero.
const LARGEST: f64 = 1e60;
/// Steps to the mode at most.
const STEPS: usize = 60;

/// Posterior density of φ = (log-Cholesky factor of Ω_xx, θ, log σ); without log σ where σ² is known.
pub(super) struct Working<'a> {
    seen: &'a Seen,
    prior: &'a Prior,
    /// d.
    inputs: usize,
}

/// A Gaussian near the posterior.
pub(super) struct Base {
    /// Near the mode.
    pub(super) centre: Vec<f64>,
    /// Cholesky factor of a precision: of the squares that the density is a sum of, made linear at the centre.
    pub(super) factor: Vec<f64>,
}

/// Ω at φ, as the density sees it.
struct Sight {
    /// Cholesky factor of Ω.
    factor: Vec<f64>,
    eigen: Eigen,
    moments: RowMoments,
    /// (Ŝ' − n m)/deviation, packed.
    residuals: Vec<f64>,
    /// Variances of the entries of Ŝ', packed.
    variances: Vec<f64>,
}

impl<'a> Working<'a> {
    pub(super) fn new(seen: &'a Seen, prior: &'a Prior) -> Self {
        Self { seen, prior, inputs: seen.inputs }
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

    /// σ in φ.
    fn sigma(&self, phi: &[f64]) -> f64 {
        match self.prior.noise_variance {
            NoiseVariance::Known(v) => v.sqrt(),
            NoiseVariance::InverseGamma { .. } => libm::exp(phi[self.len() - 1]),
        }
    }

    /// σ² in φ.
    pub(super) fn noise_variance(&self, phi: &[f64]) -> f64 {
        self.sigma(phi) * self.sigma(phi)
    }

    /// The factor of Ω: that of Ω_xx, and below it (θᵀL, σ).
    fn factor(&self, phi: &[f64]) -> Vec<f64> {
        let d = self.inputs;
        let mut factor = phi[..linalg::packed(d)].to_vec();
        (0..d).for_each(|j| factor[linalg::place(j, j)] = libm::exp(factor[linalg::place(j, j)]));
        let theta = self.theta(phi);
        let last: Vec<f64> =
            (0..d).map(|c| (c..d).map(|r| theta[r] * factor[linalg::place(r, c)]).sum::<f64>()).collect();
        factor.extend(last);
        factor.push(self.sigma(phi));
        factor
    }

    fn sight(&self, phi: &[f64]) -> Option<Sight> {
        let p = self.inputs + 1;
        let factor = self.factor(phi);
        let omega = linalg::product(&factor, p);
        if !omega.iter().all(|v| v.abs() < LARGEST) {
            return None;
        }
        let eigen = Eigen::of(&omega, p);
        let held: Vec<f64> = eigen.values.iter().map(|v| v.max(0.0)).collect();
        let moments = clipped::unclipped(&held);
        let (n, noise) = (self.seen.rows as f64, self.seen.deviation * self.seen.deviation);
        let mut residuals = eigen.seen_along(&self.seen.matrix);
        let mut variances = moments.variances.clone();
        for i in 0..p {
            for j in 0..=i {
                let at = linalg::place(i, j);
                let (mean, share) = if i == j { (n * moments.means[i], 1.0) } else { (0.0, 0.5) };
                variances[at] = (n * variances[at] + share * noise).max(f64::MIN_POSITIVE);
                residuals[at] = (residuals[at] - mean) / variances[at].sqrt();
            }
        }
        Some(Sight { factor, eigen, moments, residuals, variances })
    }

    /// log posterior density of φ, up to a constant; −∞ where it is no number.
    pub(super) fn log_density(&self, phi: &[f64]) -> f64 {
        let Some(sight) = self.sight(phi) else { return f64::NEG_INFINITY };
        let squares: f64 = sight.residuals.iter().map(|r| r * r).sum();
        let volumes: f64 = sight.variances.iter().map(|v| libm::log(*v)).sum();
        let value = -0.5 * (squares + volumes) + self.log_prior(phi, &sight.factor);
        if value.is_finite() { value } else { f64::NEG_INFINITY }
    }

    /// log prior density of φ.
    ///
    /// Ω_xx = LLᵀ ~ inverse Wishart(d + 2, I): density ∝ |Ω|^(−(ν+d+1)/2) exp(−½ tr Ω⁻¹), tr Ω⁻¹ = ‖L⁻¹‖². With the
    /// Jacobian Π Lᵢᵢ^(d−i+2), i from 1, of the step to the factor and to logarithms, log Lᵢᵢ has the weight −(ν + i − 1).
    fn log_prior(&self, phi: &[f64], factor: &[f64]) -> f64 {
        let d = self.inputs;
        let inverse = linalg::inverse_factor(factor, d);
        let spread: f64 = inverse.iter().map(|v| v * v).sum();
        let logs: f64 = (0..d).map(|i| (d as f64 + FREEDOM + i as f64) * phi[linalg::place(i, i)]).sum();
        let squares = self.theta(phi).iter().zip(&self.prior.precisions).map(|(t, p)| p * t * t).sum::<f64>();
        let noise = match self.prior.noise_variance {
            NoiseVariance::Known(_) => 0.0,
            NoiseVariance::InverseGamma { shape, scale } => {
                let log = phi[self.len() - 1];
                2.0 * shape * log + scale * libm::exp(-2.0 * log)
            }
        };
        -0.5 * (spread + squares) - logs - noise
    }

    /// Where the search for the mode begins: Ŝ/n with its eigenvalues raised, θ and σ² read off it.
    fn start(&self) -> Vec<f64> {
        let (d, n) = (self.inputs, self.seen.rows as f64);
        let scaled: Vec<f64> = self.seen.matrix.iter().map(|v| (v / n).clamp(-1e6, 1e6)).collect();
        let raised = Eigen::of(&scaled, d + 1).map(|v| v.max(0.1));
        let mut phi = vec![0.0; self.len()];
        if let Some(factor) = linalg::cholesky(&raised, d + 1) {
            let inner = linalg::packed(d);
            phi[..inner].copy_from_slice(&factor[..inner]);
            (0..d).for_each(|j| phi[linalg::place(j, j)] = libm::log(factor[linalg::place(j, j)]));
            // (θᵀL) is the last row: solve Lᵀθ = row.
            let mut theta = factor[inner..inner + d].to_vec();
            linalg::solve_upper(&factor[..inner], &mut theta);
            phi[inner..inner + d].copy_from_slice(&theta);
            if self.len() > inner + d {
                phi[inner + d] = libm::log(factor[inner + d]);
            }
        }
        phi
    }

    /// A Gaussian near the posterior, by damped Gauss–Newton steps.
    pub(super) fn base(&self) -> Option<Base> {
        let mut phi = self.start();
        let mut value = self.log_density(&phi);
        if value == f64::NEG_INFINITY {
            phi.fill(0.0);
            value = self.log_density(&phi);
        }
        for _ in 0..STEPS {
            let (slope, precision) = self.linearised(&phi)?;
            let factor = linalg::cholesky(&precision, self.len())?;
            let mut step = slope;
            linalg::solve_lower(&factor, &mut step);
            linalg::solve_upper(&factor, &mut step);
            let tried = (0..12).map(|k| {
                let part = 1.0 / f64::from(1_u32 << k);
                let there: Vec<f64> = phi.iter().zip(&step).map(|(f, s)| f - part * s).collect();
                (self.log_density(&there), there)
            });
            let Some((better, there)) = tried.into_iter().find(|(v, _)| *v > value) else { break };
            let gain = better - value;
            (value, phi) = (better, there);
            if gain < 1e-3 {
                break;
            }
        }
        let (_, precision) = self.linearised(&phi)?;
        Some(Base { factor: linalg::cholesky(&precision, self.len())?, centre: phi })
    }

    /// Gradient and curvature of −log density as a sum of squares, each square's root made linear at φ.
    ///
    /// Variances are held fixed. In the eigenbasis M(Ω) = E[w² zzᵀ] moves with Ω by dMᵢⱼ = (mᵢ − mⱼ)/(ωᵢ − ωⱼ) dΩᵢⱼ off the
    /// diagonal and dMᵢᵢ = Σₖ ∂mᵢ/∂ωₖ dΩₖₖ on it, since M turns with Ω.
    fn linearised(&self, phi: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let sight = self.sight(phi)?;
        let p = self.inputs + 1;
        let response = Response::of(&sight, p);
        let n = self.seen.rows as f64;
        let weights: Vec<f64> = sight.variances.iter().map(|v| -n / v.sqrt()).collect();
        let columns: Vec<Vec<f64>> =
            self.directions(phi, &sight).iter().map(|(u, l)| response.moved(u, l, &weights)).collect();
        let mut slope: Vec<f64> = columns.iter().map(|c| dot(c, &sight.residuals)).collect();
        let mut precision = gram(&columns);
        self.add_prior(phi, &sight.factor, &mut slope, &mut precision);
        Some((slope, precision))
    }

    /// For each coordinate of φ the vectors u, l with dΩ = u lᵀ + l uᵀ, along the eigenvectors.
    fn directions(&self, phi: &[f64], sight: &Sight) -> Vec<(Vec<f64>, Vec<f64>)> {
        let (d, p) = (self.inputs, self.inputs + 1);
        let (theta, factor, eigen) = (self.theta(phi), &sight.factor, &sight.eigen);
        let along = |vector: &[f64]| eigen.coordinates(vector);
        let column =
            |c: usize| -> Vec<f64> { (0..p).map(|r| if r >= c { factor[linalg::place(r, c)] } else { 0.0 }).collect() };
        let unit = |k: usize| (0..p).map(|j| eigen.entry(j, k)).collect::<Vec<f64>>();
        let (columns, last): (Vec<Vec<f64>>, Vec<f64>) = ((0..p).map(|c| along(&column(c))).collect(), unit(d));
        let mut directions = Vec::with_capacity(self.len());
        for r in 0..d {
            let own = unit(r);
            let moved: Vec<f64> = own.iter().zip(&last).map(|(a, b)| a + theta[r] * b).collect();
            for (c, column) in columns.iter().enumerate().take(r + 1) {
                let scale = if r == c { factor[linalg::place(r, r)] } else { 1.0 };
                directions.push((moved.iter().map(|v| v * scale).collect(), column.clone()));
            }
        }
        let omega = &eigen.values;
        for k in 0..d {
            // Ω e_k along the eigenvectors.
            let image = unit(k).iter().zip(omega).map(|(u, w)| u * w).collect();
            directions.push((last.clone(), image));
        }
        if self.len() > directions.len() {
            let variance = self.noise_variance(phi);
            directions.push((last.clone(), last.iter().map(|v| v * variance).collect()));
        }
        directions
    }

    /// The prior's part of gradient and curvature; ‖L⁻¹‖² is a sum of squares too.
    fn add_prior(&self, phi: &[f64], factor: &[f64], slope: &mut [f64], precision: &mut [f64]) {
        let (d, inner) = (self.inputs, linalg::packed(self.inputs));
        let inverse = linalg::inverse_factor(factor, d);
        let entry = |i: usize, j: usize| if i >= j { inverse[linalg::place(i, j)] } else { 0.0 };
        let mut columns = Vec::with_capacity(inner);
        for r in 0..d {
            for c in 0..=r {
                let scale = if r == c { factor[linalg::place(r, r)] } else { 1.0 };
                // d(L⁻¹) = −L⁻¹ dL L⁻¹.
                let moved = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j)));
                columns.push(moved.map(|(i, j)| -scale * entry(i, r) * entry(c, j)).collect::<Vec<f64>>());
            }
        }
        slope.iter_mut().zip(&columns).for_each(|(s, c)| *s += dot(c, &inverse));
        (0..d).for_each(|i| slope[linalg::place(i, i)] += d as f64 + FREEDOM + i as f64);
        precision.iter_mut().zip(gram(&columns)).for_each(|(p, g)| *p += g);
        for (j, (theta, own)) in self.theta(phi).iter().zip(&self.prior.precisions).enumerate() {
            slope[inner + j] += own * theta;
            precision[linalg::place(inner + j, inner + j)] += own;
        }
        if let NoiseVariance::InverseGamma { shape, scale } = self.prior.noise_variance {
            let (at, pull) = (inner + d, scale * libm::exp(-2.0 * phi[inner + d]));
            slope[at] += 2.0 * shape - 2.0 * pull;
            precision[linalg::place(at, at)] += 4.0 * pull;
        }
    }
}

/// How M(Ω) moves with Ω, in the eigenbasis.
struct Response {
    /// (mᵢ − mⱼ)/(ωᵢ − ωⱼ), packed; the diagonal is not used.
    off: Vec<f64>,
    /// ∂mᵢ/∂ωₖ, row by row.
    on: Vec<f64>,
}

impl Response {
    fn of(sight: &Sight, p: usize) -> Self {
        let (omega, means) = (&sight.eigen.values, &sight.moments.means);
        let mut on = vec![0.0; p * p];
        for k in 0..p {
            let mut there: Vec<f64> = omega.iter().map(|v| v.max(0.0)).collect();
            let step = 1e-4 * there[k] + 1e-12;
            there[k] += step;
            let moved = clipped::unclipped(&there).means;
            (0..p).for_each(|i| on[i * p + k] = (moved[i] - means[i]) / step);
        }
        let mut off = vec![0.0; linalg::packed(p)];
        for i in 0..p {
            for j in 0..i {
                let gap = omega[i] - omega[j];
                let apart = gap.abs() > 1e-3 * (omega[i].abs() + omega[j].abs());
                off[linalg::place(i, j)] =
                    if apart { (means[i] - means[j]) / gap } else { on[i * p + i] - on[i * p + j] };
            }
        }
        Self { off, on }
    }

    /// The weighted move of M for dΩ = u lᵀ + l uᵀ, packed.
    fn moved(&self, u: &[f64], l: &[f64], weights: &[f64]) -> Vec<f64> {
        let p = u.len();
        let mut moved = Vec::with_capacity(weights.len());
        for i in 0..p {
            moved.extend((0..i).map(|j| self.off[linalg::place(i, j)] * (u[i] * l[j] + l[i] * u[j])));
            moved.push((0..p).map(|k| self.on[i * p + k] * 2.0 * u[k] * l[k]).sum());
        }
        moved.iter_mut().zip(weights).for_each(|(m, w)| *m *= w);
        moved
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// CᵀC of these columns, packed.
fn gram(columns: &[Vec<f64>]) -> Vec<f64> {
    let mut packed = Vec::with_capacity(linalg::packed(columns.len()));
    for (i, column) in columns.iter().enumerate() {
        packed.extend(columns[..=i].iter().map(|other| dot(column, other)));
    }
    packed
}
