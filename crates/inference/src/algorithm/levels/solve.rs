//! The posterior of the coefficients for one covariance of the inputs: a mode and a covariance.
//!
//! A level at θ_k gives u_k = t − G(θ_k) + noise: all levels observe the same statistic t = Σ c x y, and t given θ is about
//! N(G(θ), 1.15·H(θ)). The factor 1.15 counts the spread of the weights c. Coordinates are those of z = (x − m̂, 1).
//!
//! Inputs are not Gaussian, so differences of G have the wrong size: by a factor 1 + γⱼ in coordinate j, γⱼ ~ N(0, ω²), that all levels
//! share. With g_k = G(θ_k) − G(θ) a level says u_k + G(θ_k) = t − γ g_k + noise, which is a straight line over the levels: t̄ is where it
//! meets g = 0, and its slope gives γ. Without γ each level overshoots the last where the true slope is over twice that of G, and
//! the smaller the noise the more: then the newest level alone counts.

use super::belief::InputBelief;
use super::descent::{Descent, along};
use super::moments::{Expectations, InputMoments};
use crate::PriorTerm;
use crate::linalg::{
    Eigen, cholesky, dot, inverse, packed, place, sandwich, solve_lower, solve_upper, symmetric_times,
};
use serde::{Deserialize, Serialize};

/// η: relative error of differences of G under the Gaussian model of the inputs.
pub(super) const MODEL_ERROR: f64 = 0.25;
/// ω: relative error of the slope of one coordinate of G, which all levels share. Rare levels and long tails make it large, and then
/// levels tell it.
const SLOPE_ERROR: f64 = 0.05;
/// How often a covariance is computed anew with the doubt of the coefficients that it says.
const WIDENINGS: usize = 2;
/// Between these, 1 + γ is believed.
const LEAST_GROWTH: f64 = 0.2;
const MOST_GROWTH: f64 = 6.0;
/// Variance of t in units of H.
pub(super) const SPREAD: f64 = 1.15;
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
    /// [`centred_precision`], for a prior N(0, diag(p)⁻¹) of the coefficients of x.
    pub fn new(precision: &[f64], centre: &[f64]) -> Self {
        Self { packed: centred_precision(precision, centre), mean: vec![0.0; centre.len() + 1] }
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

/// The precision of coefficients of z where those of x have diag(p), packed.
///
/// θ_x = Tᵀθ_z, so P₀ = T diag(p) Tᵀ: diag(p) of the inputs, and p of the intercept times wwᵀ with w = (−m̂, 1).
pub(super) fn centred_precision(precision: &[f64], centre: &[f64]) -> Vec<f64> {
    let (p, intercept) = (centre.len(), precision[centre.len()]);
    let w = |j: usize| if j < p { -centre[j] } else { 1.0 };
    let mut centred = Vec::with_capacity(packed(p + 1));
    for i in 0..=p {
        centred.extend((0..=i).map(|j| intercept * w(i) * w(j)));
    }
    (0..p).for_each(|j| centred[place(j, j)] += precision[j]);
    centred
}

/// What a readout does not take for granted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doubts {
    /// ω: standard deviation of γ, the relative error of the slope of each coordinate of G.
    pub growth: f64,
    /// Whether the precision that is served takes the mean of H over the posterior of θ, and not H at its mode.
    pub coefficients: bool,
}

impl Doubts {
    /// None: the slope is that of Gaussian inputs, at the mode.
    pub const NONE: Self = Self { growth: 0.0, coefficients: false };
    /// What a study counts.
    pub const COUNTED: Self = Self { growth: SLOPE_ERROR, coefficients: true };
}

/// How many times the noise is weighed anew, how many steps follow each time, at most, and what is doubted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Times that ν, t̄ and A are computed.
    pub outer: usize,
    /// Steps between them.
    pub inner: usize,
    /// What is not taken for granted.
    pub doubts: Doubts,
}

impl Effort {
    /// For a posterior mean.
    pub const fn full(doubts: Doubts) -> Self {
        Self { outer: 3, inner: 25, doubts }
    }

    /// For a draw of the inputs' covariance, from the posterior mean on.
    pub const fn draw(doubts: Doubts) -> Self {
        Self { outer: 2, inner: 12, doubts }
    }
}

/// A Gaussian for coefficients of z.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// Mode.
    pub point: Vec<f64>,
    /// P⁻¹, packed.
    pub covariance: Vec<f64>,
}

/// Mode of ½(θ − m₀)ᵀP₀(θ − m₀) + ½‖t̄ − G(θ)‖²_A with A = (1.15 H + ν)⁻¹, and the inverse of P = P₀ + HAH there, where G and H are
/// taken with the factors 1 + γ.
///
/// Level k has the weight 1/n'_k in its coordinates' lines, charged with what is not known of the inputs:
/// n'_k = n_k + h̄² n²V(θ − θ_k)² + η² D·mean((G(θ_k) − G(θ))²/D). V comes from `belief`; without one it is 0. Without `doubts` γ is 0,
/// 1/ν = Σ 1/n'_k and t̄ = ν Σ (u_k + G(θ_k))/n'_k.
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
    let mut statistic = Statistic::seen(inputs, belief, &levels, &here, effort.doubts);
    for again in 0..effort.outer {
        if again > 0 {
            statistic = Statistic::seen(inputs, belief, &levels, &here, effort.doubts);
        }
        Objective::new(inputs, prior, &statistic, &slope)?.descend(&mut here, effort.inner)?;
        slope = positive_part(here.at.slope(inputs), d)?;
    }
    let mut covariance = posterior_covariance(prior, &statistic, &slope)?;
    if effort.doubts.coefficients {
        for _ in 0..WIDENINGS {
            let about = inputs.about(&here.theta, inputs.doubt(&covariance));
            covariance = posterior_covariance(prior, &statistic, &positive_part(about.slope(inputs), d)?)?;
        }
    }
    Some(Solution { point: here.theta, covariance })
}

/// P⁻¹ = (P₀ + H_γ(1.15 H_γ + ν)⁻¹H_γ)⁻¹, packed.
fn posterior_covariance(prior: &PriorPrecision, statistic: &Statistic, slope: &[f64]) -> Option<Vec<f64>> {
    let d = statistic.growth.len();
    let grown = statistic.grown(slope, f64::sqrt);
    let told = sandwich(&grown, &spread(&grown, &statistic.variance, d)?, d);
    let precision: Vec<f64> = prior.packed.iter().zip(&told).map(|(a, b)| a + b).collect();
    Some(inverse(&cholesky(&precision, d)?, d))
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

/// What all levels together say of t near one point.
struct Statistic {
    /// t̄: the mean over levels of u_k + G(θ_k), weighted by 1/n'_k.
    mean: Vec<f64>,
    /// ν: its variance, coordinate by coordinate.
    variance: Vec<f64>,
    /// 1 + γ.
    growth: Vec<f64>,
    /// G at the point.
    score: Vec<f64>,
}

/// Weighted sums over the levels of one coordinate: g = G(θ_k) − G(θ), and what the level says of t.
struct CoordinateLine {
    /// Σ 1/n'_k, the precision of all levels together.
    weight: f64,
    /// Means of g and of u_k + G(θ_k).
    means: [f64; 2],
    /// Sums of squares of g about its mean, and of products.
    squares: f64,
    products: f64,
}

impl CoordinateLine {
    fn of(levels: &[ObservedLevel<'_>], charged: &[Vec<f64>], here: &Iterate, j: usize) -> Self {
        let each = || {
            let both = levels.iter().zip(charged);
            both.map(|(l, n)| (1.0 / n[j], l.score[j] - here.score[j], l.level.score[j] + l.score[j]))
        };
        let weight: f64 = each().map(|(w, ..)| w).sum();
        let g = each().map(|(w, g, _)| w * g).sum::<f64>() / weight;
        let t = each().map(|(w, _, t)| w * t).sum::<f64>() / weight;
        let squares = each().map(|(w, x, _)| w * (x - g) * (x - g)).sum();
        let products = each().map(|(w, x, y)| w * (x - g) * (y - t)).sum();
        Self { weight, means: [g, t], squares, products }
    }
}

impl Statistic {
    /// Each coordinate is a regression of u_k + G(θ_k) = t − γⱼ(G(θ_k) − G(θ)) + noise, with γⱼ ~ N(0, ω²).
    fn seen(
        inputs: &InputMoments,
        belief: Option<&InputBelief>,
        levels: &[ObservedLevel<'_>],
        here: &Iterate,
        doubts: Doubts,
    ) -> Self {
        let d = inputs.width();
        let charged: Vec<Vec<f64>> = levels.iter().map(|seen| seen.charged(inputs, belief, here)).collect();
        let lines: Vec<CoordinateLine> = (0..d).map(|j| CoordinateLine::of(levels, &charged, here, j)).collect();
        let mut found = Self {
            mean: lines.iter().map(|line| line.means[1]).collect(),
            variance: lines.iter().map(|line| 1.0 / line.weight).collect(),
            growth: vec![1.0; d],
            score: here.score.clone(),
        };
        for (j, line) in lines.iter().enumerate() {
            let variance = 1.0 / (1.0 / (doubts.growth * doubts.growth) + line.squares);
            let growth = (-variance * line.products).clamp(LEAST_GROWTH - 1.0, MOST_GROWTH - 1.0);
            found.growth[j] = 1.0 + growth;
            found.mean[j] += growth * line.means[0];
            found.variance[j] += variance * line.means[0] * line.means[0];
        }
        found
    }

    /// H with line i and column i multiplied by f(1 + γᵢ).
    fn grown(&self, slope: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
        let factors: Vec<f64> = self.growth.iter().map(|growth| f(*growth)).collect();
        let pairs = (0..factors.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        pairs.zip(slope).map(|((i, j), h)| h * (factors[i] * factors[j])).collect()
    }
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

/// An objective with t̄, γ and A fixed.
struct Objective<'a> {
    inputs: &'a InputMoments,
    prior: &'a PriorPrecision,
    statistic: &'a Statistic,
    spread: Vec<f64>,
    /// SΓAΓS, packed: JΓAΓJ is a multiple of it everywhere.
    bound: Vec<f64>,
}

impl<'a> Objective<'a> {
    fn new(
        inputs: &'a InputMoments,
        prior: &'a PriorPrecision,
        statistic: &'a Statistic,
        slope: &[f64],
    ) -> Option<Self> {
        let d = inputs.width();
        let spread = spread(&statistic.grown(slope, f64::sqrt), &statistic.variance, d)?;
        let bound = sandwich(inputs.second(), &statistic.grown(&spread, |growth| growth), d);
        Some(Self { inputs, prior, statistic, spread, bound })
    }
}

impl Descent for Objective<'_> {
    type Point = Iterate;

    /// ΓA(t̄ − G_γ) and the objective.
    fn at(&self, here: &Iterate) -> (Vec<f64>, f64) {
        let Statistic { mean, growth, score, .. } = self.statistic;
        let missing = |j: usize| mean[j] - score[j] - growth[j] * (here.score[j] - score[j]);
        let missing: Vec<f64> = (0..mean.len()).map(missing).collect();
        let mut weighed = symmetric_times(&self.spread, &missing);
        let away = self.prior.away(&here.theta);
        let shrunk = dot(&away, &symmetric_times(&self.prior.packed, &away));
        let objective = 0.5 * shrunk + 0.5 * dot(&missing, &weighed);
        weighed.iter_mut().zip(growth).for_each(|(w, growth)| *w *= growth);
        (weighed, objective)
    }

    /// (P₀ + JAJ)⁻¹(HA(t̄ − G) − P₀(θ − m₀)).
    fn step(&self, here: &Iterate, weighed: &[f64]) -> Option<Vec<f64>> {
        let pull = symmetric_times(&self.prior.packed, &self.prior.away(&here.theta));
        let mut step = symmetric_times(&here.at.slope(self.inputs), weighed);
        step.iter_mut().zip(&pull).for_each(|(g, p)| *g -= p);
        let square = here.at.bound() * here.at.bound();
        let curvature: Vec<f64> = self.prior.packed.iter().zip(&self.bound).map(|(p, b)| p + square * b).collect();
        let factor = cholesky(&curvature, self.inputs.width())?;
        solve_lower(&factor, &mut step);
        solve_upper(&factor, &mut step);
        Some(step)
    }

    fn moved(&self, here: &Iterate, step: &[f64], length: f64) -> Option<Iterate> {
        Some(Iterate::new(self.inputs, along(&here.theta, step, length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores without noise to speak of whose first coordinate is two and a half times as steep as Gaussian inputs make it.
    fn off_after_levels(doubts: Doubts) -> f64 {
        let inputs = InputMoments::new(20_000.0, vec![1.0, 0.0, 1.0], 2);
        let (truth, prior) = ([0.5, -0.4, 0.3], PriorPrecision::new(&[1.0; 3], &[0.0; 2]));
        let steep = |theta: &[f64]| {
            let mut score = inputs.at(theta).score();
            score[0] *= 2.5;
            score
        };
        let (mut point, mut levels) = (vec![0.0; 3], Vec::new());
        for _ in 0..11 {
            let score = steep(&truth).iter().zip(steep(&point)).map(|(t, g)| t - g).collect();
            levels.push(ReleasedLevel { point: point.clone(), score, noise: vec![100.0; 3] });
            point = solve(&inputs, None, &levels, &prior, &point, Effort::full(doubts)).unwrap().point;
        }
        (point[0] - truth[0]).abs()
    }

    #[test]
    fn a_slope_that_is_steeper_than_gaussian_inputs_say_is_learnt() {
        let (learnt, taken) = (off_after_levels(Doubts::COUNTED), off_after_levels(Doubts::NONE));
        assert!(learnt < 0.01 && taken > 0.5, "{learnt} {taken}");
    }
}
