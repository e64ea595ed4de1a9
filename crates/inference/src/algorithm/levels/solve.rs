//! The posterior of the coefficients for one covariance of the inputs: a mode and a covariance.
//!
//! A level at θ_k gives u_k = t − G(θ_k) + noise: all levels observe the same statistic t = Σ c x y, and t given θ is about
//! N(G(θ), 1.15·H(θ)). The factor 1.15 counts the spread of the weights c. Coordinates are those of z = (x − m̂, 1).

use super::belief::InputBelief;
use super::moments::{Expectations, InputMoments};
use crate::PriorTerm;
use crate::linalg::{
    Eigen, cholesky, dot, inverse, packed, place, sandwich, solve_lower, solve_upper, symmetric_times,
};
use serde::{Deserialize, Serialize};

/// η: relative error of differences of G under the Gaussian model of the inputs.
pub(super) const MODEL_ERROR: f64 = 0.25;
/// Variance of t in units of H.
pub(super) const SPREAD: f64 = 1.15;
/// Lengths of a step that are tried, one after the other.
pub(super) const LENGTHS: [f64; 4] = [1.0, 0.3, 0.1, 0.03];
/// Steps end where the objective falls by less.
pub(super) const GAIN: f64 = 1e-2;
/// Eigenvalues over this share of the largest diagonal entry, with a minus, count as 0.
const NEGLIGIBLE: f64 = 1e-10;

/// Least noise variance of a level in units of the rows: keeps A finite along null directions where nothing was noised.
pub(super) const LEAST_NOISE: f64 = 1e-9;

/// What was released at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleasedLevel {
    /// θ_k.
    pub point: Vec<f64>,
    /// u_k: the score there, divided by the mean weight κ_k.
    pub score: Vec<f64>,
    /// n_k: variance of the noise in each coordinate of it.
    pub noise: Vec<f64>,
}

/// The prior of the coefficients of x, for coefficients of z: P₀, and m₀.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorPrecision {
    /// P₀, packed.
    packed: Vec<f64>,
    /// m₀.
    mean: Vec<f64>,
}

impl PriorPrecision {
    /// θ_x = Tᵀθ_z, so P₀ = T diag(p) Tᵀ: diag(p) of the inputs, and p of the intercept times wwᵀ with w = (−m̂, 1).
    ///
    /// For a prior N(0, diag(p)⁻¹) of the coefficients of x.
    pub fn new(precision: &[f64], centre: &[f64]) -> Self {
        let (p, intercept) = (centre.len(), precision[centre.len()]);
        let w = |j: usize| if j < p { -centre[j] } else { 1.0 };
        let mut packed = Vec::with_capacity(packed(p + 1));
        for i in 0..=p {
            packed.extend((0..=i).map(|j| intercept * w(i) * w(j)));
        }
        (0..p).for_each(|j| packed[place(j, j)] += precision[j]);
        Self { packed, mean: vec![0.0; p + 1] }
    }

    /// The same for a stated prior N(m, P⁻¹) whose deviations are rescaled so that P has this diagonal; correlations and means
    /// stay. With w as above and c = P's column of the intercept without its last entry, off-diagonal entries add
    /// Pᵢⱼ + cᵢwⱼ + wᵢcⱼ, and the intercept of z is that of x plus m̂ᵀm.
    pub fn stated(prior: &PriorTerm, precision: &[f64], centre: &[f64]) -> Self {
        let mut centred = Self::new(precision, centre);
        let (p, d) = (centre.len(), centre.len() + 1);
        centred.mean.copy_from_slice(prior.mean());
        centred.mean[p] += dot(centre, &prior.mean()[..p]);
        let Some(full) = prior.off_diagonal() else { return centred };
        let grown: Vec<f64> = precision.iter().zip(prior.diagonal()).map(|(to, from)| (to / from).sqrt()).collect();
        let w = |j: usize| if j < p { -centre[j] } else { 1.0 };
        let c = |j: usize| if j < p { full[place(p, j)] * grown[p] * grown[j] } else { 0.0 };
        for i in 0..d {
            for j in 0..=i {
                let own = if i < p && i != j { full[place(i, j)] * grown[i] * grown[j] } else { 0.0 };
                centred.packed[place(i, j)] += own + c(i) * w(j) + w(i) * c(j);
            }
        }
        centred
    }

    /// θ − m₀.
    fn away(&self, theta: &[f64]) -> Vec<f64> {
        theta.iter().zip(&self.mean).map(|(t, m)| t - m).collect()
    }
}

/// How many times the noise is weighed anew, and how many steps follow each time, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Times that ν, t̄ and A are computed.
    pub outer: usize,
    /// Steps between them.
    pub inner: usize,
}

impl Effort {
    /// For a posterior mean.
    pub const FULL: Self = Self { outer: 3, inner: 25 };
    /// For a draw of the inputs' covariance, from the posterior mean on.
    pub const DRAW: Self = Self { outer: 2, inner: 12 };
}

/// A Gaussian for coefficients of z.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Mode.
    pub point: Vec<f64>,
    /// P⁻¹, packed.
    pub covariance: Vec<f64>,
}

/// Mode of ½(θ − m₀)ᵀP₀(θ − m₀) + ½‖t̄ − G(θ)‖²_A with A = (1.15 H + ν)⁻¹, and the inverse of P = P₀ + HAH there.
///
/// 1/ν = Σ 1/n'_k and t̄ = ν Σ (u_k + G(θ_k))/n'_k by coordinate, where level k is charged with what is not known of the inputs:
/// n'_k = n_k + h̄² n²V(θ − θ_k)² + η² D·mean((G(θ_k) − G(θ))²/D). V comes from `belief`; without one it is 0.
/// None if a number is not finite, or so large that a matrix has no factor.
pub fn solve(
    inputs: &InputMoments,
    belief: Option<&InputBelief>,
    levels: &[ReleasedLevel],
    prior: &PriorPrecision,
    start: &[f64],
    effort: Effort,
) -> Option<Solution> {
    let d = inputs.width();
    let levels: Vec<ObservedLevel<'_>> = levels.iter().map(|level| ObservedLevel::new(inputs, level)).collect();
    let mut here = Iterate::new(inputs, start.to_vec());
    let mut slope = positive_part(here.at.slope(inputs), d)?;
    let mut noise = Vec::new();
    for _ in 0..effort.outer {
        let (variance, statistic) = weigh(inputs, belief, &levels, &here);
        let objective = Objective::new(inputs, prior, statistic, spread(&slope, &variance, d)?);
        objective.descend(inputs, &mut here, effort.inner)?;
        slope = positive_part(here.at.slope(inputs), d)?;
        noise = variance;
    }
    let told = sandwich(&slope, &spread(&slope, &noise, d)?, d);
    let precision: Vec<f64> = prior.packed.iter().zip(&told).map(|(a, b)| a + b).collect();
    let covariance = inverse(&cholesky(&precision, d)?, d);
    Some(Solution { point: here.theta, covariance })
}

/// A level, with what the inputs say at its point.
struct ObservedLevel<'a> {
    level: &'a ReleasedLevel,
    /// G(θ_k).
    score: Vec<f64>,
    mean_slope: f64,
}

impl<'a> ObservedLevel<'a> {
    fn new(inputs: &InputMoments, level: &'a ReleasedLevel) -> Self {
        let at = inputs.at(&level.point);
        Self { level, score: at.score(), mean_slope: at.mean_slope() }
    }

    /// n'_k at θ.
    fn charged(&self, inputs: &InputMoments, belief: Option<&InputBelief>, here: &Iterate) -> Vec<f64> {
        let d = inputs.width();
        let squares: Vec<f64> = here.theta.iter().zip(&self.level.point).map(|(a, b)| (a - b) * (a - b)).collect();
        let mean_slope = 0.5 * (here.at.mean_slope() + self.mean_slope);
        let unknown = belief.map_or_else(|| vec![0.0; d], |belief| belief.product_variance(&squares));
        let moved = self.score.iter().zip(&here.score).zip(inputs.sizes());
        let moved = moved.map(|((a, b), size)| (a - b) * (a - b) / size).sum::<f64>() / d as f64;
        let error = MODEL_ERROR * MODEL_ERROR * moved;
        let charge = |j: usize| mean_slope * mean_slope * unknown[j] + error * inputs.sizes()[j];
        let least = LEAST_NOISE * inputs.rows();
        self.level.noise.iter().enumerate().map(|(j, noise)| (noise + charge(j)).max(least)).collect()
    }
}

/// ν and t̄.
fn weigh(
    inputs: &InputMoments,
    belief: Option<&InputBelief>,
    levels: &[ObservedLevel<'_>],
    here: &Iterate,
) -> (Vec<f64>, Vec<f64>) {
    let (mut weights, mut sums) = (vec![0.0; inputs.width()], vec![0.0; inputs.width()]);
    for seen in levels {
        let observed = seen.level.score.iter().zip(&seen.score);
        for (j, (noise, (u, g))) in seen.charged(inputs, belief, here).iter().zip(observed).enumerate() {
            weights[j] += 1.0 / noise;
            sums[j] += (u + g) / noise;
        }
    }
    let statistic = sums.iter().zip(&weights).map(|(sum, weight)| sum / weight).collect();
    (weights.iter().map(|weight| 1.0 / weight).collect(), statistic)
}

/// A = (1.15 H + ν)⁻¹, packed.
fn spread(slope: &[f64], noise: &[f64], d: usize) -> Option<Vec<f64>> {
    let mut sum: Vec<f64> = slope.iter().map(|h| SPREAD * h).collect();
    noise.iter().enumerate().for_each(|(j, v)| sum[place(j, j)] += v);
    Some(inverse(&cholesky(&sum, d)?, d))
}

/// H without its negative eigenvalues. It has none but for errors of quadrature, and those are rare: a Cholesky factor tells.
fn positive_part(h: Vec<f64>, d: usize) -> Option<Vec<f64>> {
    let largest = (0..d).map(|j| h[place(j, j)]).fold(0.0, f64::max);
    let mut raised = h.clone();
    (0..d).for_each(|j| raised[place(j, j)] += NEGLIGIBLE * largest);
    match cholesky(&raised, d) {
        Some(_) => Some(h),
        None => Some(Eigen::by_tridiagonal(&h, d)?.map(|v| v.max(0.0))),
    }
}

/// A point with its expectations.
struct Iterate {
    theta: Vec<f64>,
    at: Expectations,
    score: Vec<f64>,
}

impl Iterate {
    fn new(inputs: &InputMoments, theta: Vec<f64>) -> Self {
        let at = inputs.at(&theta);
        let score = at.score();
        Self { theta, at, score }
    }
}

/// An objective with t̄ and A fixed.
struct Objective<'a> {
    prior: &'a PriorPrecision,
    statistic: Vec<f64>,
    spread: Vec<f64>,
    /// SAS, packed: JAJ is a multiple of it everywhere.
    bound: Vec<f64>,
}

impl<'a> Objective<'a> {
    fn new(inputs: &InputMoments, prior: &'a PriorPrecision, statistic: Vec<f64>, spread: Vec<f64>) -> Self {
        let bound = sandwich(inputs.second(), &spread, inputs.width());
        Self { prior, statistic, spread, bound }
    }

    /// A(t̄ − G) and the objective.
    fn at(&self, here: &Iterate) -> (Vec<f64>, f64) {
        let missing: Vec<f64> = self.statistic.iter().zip(&here.score).map(|(t, g)| t - g).collect();
        let weighed = symmetric_times(&self.spread, &missing);
        let away = self.prior.away(&here.theta);
        let shrunk = dot(&away, &symmetric_times(&self.prior.packed, &away));
        let objective = 0.5 * shrunk + 0.5 * dot(&missing, &weighed);
        (weighed, objective)
    }

    /// (P₀ + JAJ)⁻¹(HA(t̄ − G) − P₀(θ − m₀)).
    fn step(&self, inputs: &InputMoments, here: &Iterate, weighed: &[f64]) -> Option<Vec<f64>> {
        let pull = symmetric_times(&self.prior.packed, &self.prior.away(&here.theta));
        let mut step = symmetric_times(&here.at.slope(inputs), weighed);
        step.iter_mut().zip(&pull).for_each(|(g, p)| *g -= p);
        let square = here.at.bound() * here.at.bound();
        let curvature: Vec<f64> = self.prior.packed.iter().zip(&self.bound).map(|(p, b)| p + square * b).collect();
        let factor = cholesky(&curvature, inputs.width())?;
        solve_lower(&factor, &mut step);
        solve_upper(&factor, &mut step);
        Some(step)
    }

    /// Steps down, shortened until the objective falls, while they gain enough.
    fn descend(&self, inputs: &InputMoments, here: &mut Iterate, most: usize) -> Option<()> {
        let (mut weighed, mut objective) = self.at(here);
        for _ in 0..most {
            let step = self.step(inputs, here, &weighed)?;
            let moved = |length: f64| here.theta.iter().zip(&step).map(|(t, s)| t + length * s).collect();
            let tried = LENGTHS.into_iter().map(|length| Iterate::new(inputs, moved(length)));
            let lower = |(_, (_, value)): &(Iterate, (Vec<f64>, f64))| *value < objective;
            let Some((next, (residual, value))) = tried
                .map(|next| {
                    let at = self.at(&next);
                    (next, at)
                })
                .find(lower)
            else {
                break;
            };
            let gain = objective - value;
            (*here, weighed, objective) = (next, residual, value);
            if gain < GAIN {
                break;
            }
        }
        objective.is_finite().then_some(())
    }
}
