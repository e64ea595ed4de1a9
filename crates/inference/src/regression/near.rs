//! A Gaussian near the working posterior, by damped Gauss–Newton steps.
//!
//! The log density is, up to slowly varying terms, a sum of squares of residuals Ŝ' − E Ŝ' in units of
//! their deviations. Steps linearise the residuals, solve the normal equations, and are halved until the
//! density rises. The centre and the curvature there are where the sampler starts and how it scales its
//! steps; no result depends on how exact they are.

use super::working::{Working, WorkingView};
use crate::linalg::{self, Eigen, dot, place};

/// Steps to the mode at most.
const STEPS: usize = 60;
/// A step that gains less than this in the logarithm of the density is the last.
const GAIN: f64 = 1e-2;

/// Eigenvalues of Ω where the search begins.
const LEAST: f64 = 0.1;
/// The largest of them.
const MOST: f64 = 20.0;

/// A Gaussian near the posterior: where a sampler begins, and the scale of its steps.
pub(super) struct Near {
    /// Near the mode.
    pub(super) centre: Vec<f64>,
    /// Cholesky factor of a precision: of the squares that the density is a sum of, made linear at the centre.
    pub(super) factor: Vec<f64>,
}

impl Near {
    /// None where numbers are too large to work with.
    pub(super) fn of(working: &Working<'_>) -> Option<Self> {
        let mut phi = start(working);
        let mut value = match working.log_density(&phi) {
            Some((value, _)) => value,
            None => {
                phi.fill(0.0);
                working.log_density(&phi)?.0
            }
        };
        for _ in 0..STEPS {
            let (slope, factor) = linearised(working, &phi)?;
            let mut step = slope;
            linalg::solve_lower(&factor, &mut step);
            linalg::solve_upper(&factor, &mut step);
            let mut tried = (0..12).filter_map(|k| {
                let part = 1.0 / f64::from(1_u32 << k);
                let there: Vec<f64> = phi.iter().zip(&step).map(|(f, s)| f + part * s).collect();
                working.log_density(&there).map(|(value, _)| (value, there))
            });
            let Some((better, there)) = tried.find(|(v, _)| *v > value) else { break };
            let gain = better - value;
            (value, phi) = (better, there);
            if gain < GAIN {
                break;
            }
        }
        let (_, factor) = linearised(working, &phi)?;
        Some(Self { factor, centre: phi })
    }
}

/// Where the search begins: Ŝ/n with its eigenvalues held where they may be in deviation units, θ and σ² read off it.
fn start(working: &Working<'_>) -> Vec<f64> {
    let (d, inner) = (working.inputs, linalg::packed(working.inputs));
    let average: Vec<f64> = working.average().iter().map(|v| v.clamp(-1e6, 1e6)).collect();
    let raised = Eigen::of(&average, d + 1).map(|v| v.clamp(LEAST, MOST));
    let mut phi = vec![0.0; working.len()];
    let inverted = linalg::cholesky(&raised[..inner], d).map(|l| linalg::inverse(&l, d));
    let Some(factor) = inverted.as_ref().and_then(|w| linalg::cholesky(w, d)) else { return phi };
    phi[..inner].copy_from_slice(&factor);
    (0..d).for_each(|j| phi[place(j, j)] = libm::log(factor[place(j, j)]));
    let cross = &raised[inner..inner + d];
    let theta = linalg::symmetric_times(&linalg::product(&factor, d), cross);
    phi[inner..inner + d].copy_from_slice(&theta);
    if working.len() > inner + d {
        phi[inner + d] = 0.5 * libm::log((raised[inner + d] - dot(&theta, cross)).max(1e-3));
    }
    phi
}

/// The slope of the log density, and the Cholesky factor of its curvature: that of the sum of squares whose roots are made
/// linear at φ, variances held fixed.
fn linearised(working: &Working<'_>, phi: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let (_, slope) = working.log_density(phi)?;
    let sight = working.sight(phi)?;
    let response = Response::of(&sight);
    let columns: Vec<Vec<f64>> =
        directions(working, phi, &sight).iter().map(|(u, l)| response.moved(u, l, working.rows())).collect();
    let mut precision = gram(&columns);
    let (_, _, curvature) = working.log_prior(phi, &sight.factor);
    curvature.iter().enumerate().for_each(|(k, c)| precision[place(k, k)] += c);
    Some((slope, linalg::cholesky(&precision, working.len())?))
}

/// For each coordinate of φ the vectors u, l with dΩ = u lᵀ + l uᵀ, along the eigenvectors.
///
/// For Aᵣ꜀: u = −Ωeᵣ and l = (a, θᵀa), a = A⁻ᵀe꜀, times Aᵣᵣ where r = c. For θₖ: the outcome's unit vector and Ωeₖ.
fn directions(working: &Working<'_>, phi: &[f64], sight: &WorkingView) -> Vec<(Vec<f64>, Vec<f64>)> {
    let d = working.inputs;
    let (theta, factor, eigen) = (working.theta(phi), &sight.factor, &sight.eigen);
    let unit = |k: usize| (0..=d).map(|j| eigen.entry(j, k)).collect::<Vec<f64>>();
    let image = |k: usize| unit(k).iter().zip(&eigen.values).map(|(u, w)| u * w).collect::<Vec<f64>>();
    let solved = |c: usize| {
        let mut a = vec![0.0; d];
        a[c] = 1.0;
        linalg::solve_upper(factor, &mut a);
        a.push(dot(&a, theta));
        eigen.coordinates(&a)
    };
    let columns: Vec<Vec<f64>> = (0..d).map(solved).collect();
    let mut directions = Vec::with_capacity(working.len());
    for r in 0..d {
        for (c, column) in columns.iter().enumerate().take(r + 1) {
            let scale = if r == c { factor[place(r, r)] } else { 1.0 };
            directions.push((image(r).iter().map(|v| -v * scale).collect(), column.clone()));
        }
    }
    let last = unit(d);
    directions.extend((0..d).map(|k| (last.clone(), image(k))));
    if working.len() > directions.len() {
        let variance = working.noise_variance(phi);
        directions.push((last.clone(), last.iter().map(|v| v * variance).collect()));
    }
    directions
}

/// How M(Ω) = E[w² zzᵀ] moves with Ω, in the eigenbasis: it turns with Ω.
struct Response<'a> {
    sight: &'a WorkingView,
    /// (mᵢ − mⱼ)/(ωᵢ − ωⱼ), packed; the diagonal is not used.
    off: Vec<f64>,
    /// ∂mᵢ/∂ωₖ, row by row.
    on: &'a [f64],
}

impl<'a> Response<'a> {
    /// Divided differences of the means; where two eigenvalues are nearly equal, their derivative.
    fn of(sight: &'a WorkingView) -> Self {
        let (omega, means, on) = (&sight.eigen.values, &sight.moments.means, &sight.moments.slopes);
        let p = omega.len();
        let mut off = vec![0.0; linalg::packed(p)];
        for i in 0..p {
            for j in 0..i {
                let gap = omega[i] - omega[j];
                let apart = gap.abs() > 1e-3 * (omega[i] + omega[j]);
                off[place(i, j)] = if apart { (means[i] - means[j]) / gap } else { on[i * p + i] - on[i * p + j] };
            }
        }
        Self { sight, off, on }
    }

    /// The move of n M for dΩ = u lᵀ + l uᵀ, packed, in deviations of Ŝ'.
    fn moved(&self, u: &[f64], l: &[f64], rows: f64) -> Vec<f64> {
        let p = u.len();
        let by = |i: usize| (0..p).map(|k| self.on[i * p + k] * 2.0 * u[k] * l[k]).sum::<f64>();
        let mut diagonal: Vec<f64> = (0..p).map(|i| rows * by(i)).collect();
        linalg::solve_lower(&self.sight.diagonal, &mut diagonal);
        let mut moved = Vec::with_capacity(self.off.len());
        for (i, on) in diagonal.into_iter().enumerate() {
            let off = |j: usize| self.off[place(i, j)] * (u[i] * l[j] + l[i] * u[j]);
            moved.extend((0..i).map(|j| rows * off(j) / self.sight.deviations[place(i, j)]));
            moved.push(on);
        }
        moved
    }
}

/// CᵀC of these columns, packed.
fn gram(columns: &[Vec<f64>]) -> Vec<f64> {
    let mut packed = Vec::with_capacity(linalg::packed(columns.len()));
    for (i, column) in columns.iter().enumerate() {
        packed.extend(columns[..=i].iter().map(|other| dot(column, other)));
    }
    packed
}
