//! The belief about the covariance of the inputs, from both looks.
//!
//! B holds what frequencies and variances alone say: diag(f) − ffᵀ within a block, a variance for each number and flag. The second
//! look adds cross-block covariances. As correlations r̃ with known noise v they are shrunk under a prior N(0, τ²), with τ² estimated
//! by moments. Eigenvalues of B^(−½) C B^(−½) are .1 at least, for the mean and for draws alike. Null directions
//! of B, such as the sum of a block's levels, stay exactly null: no floor acts on them.

use super::looks::{CentredInputs, InputSummary, LEAST_VARIANCE, SQUARES_VARIANCE};
use super::moments::InputMoments;
use crate::draws::standard_normals;
use crate::linalg::{Eigen, packed, place, sandwich, symmetric_times};
use chacha20::ChaCha8Rng;
use rand_core::SeedableRng;

/// Least eigenvalue of B^(−½) C B^(−½).
const FLOOR: f64 = 0.1;
/// Least τ².
const LEAST_TAU: f64 = 0.02;
/// Eigenvalues of B under this share of the largest are 0.
const NULL: f64 = 1e-9;
/// Least variance by which a covariance is made a correlation.
const LEAST_CORRELATED: f64 = 1e-5;
/// Added to the noise of a correlation in the weights by which τ² is estimated.
const WEIGHT_NOISE: f64 = 0.01;
/// Least share of the rows' weights in the second look, in units of the square of its radius, (.7)².
const LEAST_WEIGHT: f64 = 0.3 * 0.49;

/// Least noise of a look, so that exact sums can be read too.
const LEAST_NOISE: f64 = 1e-30;

/// Mean and entrywise variance of the covariance of the inputs, the intercept left out.
#[derive(Debug, Clone, PartialEq)]
pub struct InputBelief {
    rows: f64,
    inputs: usize,
    /// B^½ and its pseudo-inverse, packed.
    root: Vec<f64>,
    inverse_root: Vec<f64>,
    /// C, packed.
    covariance: Vec<f64>,
    /// Variance of each entry, packed: 0 within blocks and for variances of dummies.
    variance: Vec<f64>,
    /// τ².
    tau: f64,
}

impl InputBelief {
    /// From the first look and the sum of the second, whose coordinates have noise of this standard deviation. None if the sum has
    /// another length or is not finite.
    pub fn new(summary: &InputSummary, inputs: &CentredInputs, sum: &[f64], deviation: f64) -> Option<Self> {
        let (p, d) = (summary.centre.len(), inputs.width());
        if sum.len() != packed(d) || sum.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let look = SecondLook::of(summary.rows, inputs, sum, deviation);
        let (variances, left) = number_variances(summary, &look);
        let groups = summary.design.groups();
        let within = within_blocks(summary, &variances);
        let scale: Vec<f64> = (0..p).map(|j| within[place(j, j)].max(LEAST_CORRELATED).sqrt()).collect();
        let crossing = || pairs(p).filter(|(i, j)| groups[*i] != groups[*j]);
        let correlation = |i: usize, j: usize| {
            let unit = scale[i] * scale[j];
            (look.entry(i, j) / unit, look.noise(i, j) / (unit * unit))
        };
        let tau = cross_block_variance(crossing().map(|(i, j)| correlation(i, j)));
        let (mut covariance, mut variance) = (within.clone(), vec![0.0; packed(p)]);
        for (i, j) in crossing() {
            let ((seen, noise), unit) = (correlation(i, j), scale[i] * scale[j]);
            covariance[place(i, j)] = (tau / (tau + noise) * seen).clamp(-1.0, 1.0) * unit;
            variance[place(i, j)] = tau * noise / (tau + noise) * unit * unit;
        }
        left.iter().enumerate().for_each(|(j, left)| variance[place(j, j)] = *left);
        let (root, inverse_root) = roots(&within, &groups)?;
        let mut belief = Self { rows: summary.rows, inputs: p, root, inverse_root, covariance, variance, tau };
        belief.covariance = belief.floored(&belief.covariance)?;
        Some(belief)
    }

    /// B^½ F(B^(−½) A B^(−½)) B^½, where F raises eigenvalues to the floor.
    fn floored(&self, a: &[f64]) -> Option<Vec<f64>> {
        let p = self.inputs;
        let whitened = Eigen::by_tridiagonal(&sandwich(&self.inverse_root, a, p), p)?;
        Some(sandwich(&self.root, &whitened.map(|v| v.max(FLOOR)), p))
    }

    /// C, packed.
    pub fn covariance(&self) -> &[f64] {
        &self.covariance
    }

    /// Variances of the entries of C, packed.
    pub fn variance(&self) -> &[f64] {
        &self.variance
    }

    /// τ²: variance of cross-block correlations.
    pub fn correlation_variance(&self) -> f64 {
        self.tau
    }

    /// n rows of inputs with covariance C.
    pub fn mean(&self) -> InputMoments {
        InputMoments::new(self.rows, self.covariance.clone(), self.inputs)
    }

    /// How many normal numbers a draw takes: p(p + 1)/2.
    pub fn draw_length(&self) -> usize {
        packed(self.inputs)
    }

    /// A draw of C: entry by entry C + √V·g for these standard normals, raised to the floor.
    pub fn draw(&self, normals: &[f64]) -> Option<InputMoments> {
        let moved = self.covariance.iter().zip(&self.variance).zip(normals);
        let moved: Vec<f64> = moved.map(|((c, v), g)| c + v.sqrt() * g).collect();
        Some(InputMoments::new(self.rows, self.floored(&moved)?, self.inputs))
    }

    /// Draws by a generator with this seed, which is a digest of releases: draws are post-processing. Fewer where a draw has no
    /// eigenvalues in floating-point numbers.
    pub fn draws(&self, seed: [u8; 32], count: usize) -> Vec<InputMoments> {
        let (mut rng, mut normals) = (ChaCha8Rng::from_seed(seed), vec![0.0; self.draw_length()]);
        let mut next = || {
            standard_normals(&mut rng, &mut normals);
            self.draw(&normals)
        };
        (0..count).filter_map(|_| next()).collect()
    }

    /// V·δ² in units of sums, n²Σₖ Vⱼₖδₖ²: variance of the j-th entry of n C δ, 0 at the intercept.
    pub(super) fn product_variance(&self, squares: &[f64]) -> Vec<f64> {
        let mut sums = symmetric_times(&self.variance, &squares[..self.inputs]);
        sums.iter_mut().for_each(|v| *v *= self.rows * self.rows);
        sums.push(0.0);
        sums
    }
}

/// Pairs (i, j), j ≤ i, in the order of packed entries.
fn pairs(d: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..d).flat_map(|i| (0..=i).map(move |j| (i, j)))
}

/// Second moments of (x − m̂, 1), from the released sum.
struct SecondLook<'a> {
    sum: &'a [f64],
    scales: &'a [f64],
    /// What a unit of the sum is in a mean.
    unit: f64,
    deviation: f64,
}

impl<'a> SecondLook<'a> {
    /// Rows that were shortened weigh less. The intercept's entry is the sum of the weights: means are taken by it.
    fn of(rows: f64, inputs: &'a CentredInputs, sum: &'a [f64], deviation: f64) -> Self {
        let (scales, last) = (inputs.scales(), inputs.width() - 1);
        let square = inputs.second_radius() * inputs.second_radius();
        let weights = sum[place(last, last)] * square / (scales[last] * scales[last]);
        let unit = square / weights.clamp(LEAST_WEIGHT * rows, rows);
        Self { sum, scales, unit, deviation }
    }

    /// Mean of zᵢzⱼ, j ≤ i. Entries off the diagonal were sent times √2.
    fn entry(&self, i: usize, j: usize) -> f64 {
        let sent = if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
        self.sum[place(i, j)] * self.unit / (sent * self.scales[i] * self.scales[j])
    }

    /// Variance of the noise in it.
    fn noise(&self, i: usize, j: usize) -> f64 {
        let sent = if i == j { 1.0 } else { 2.0 };
        let deviation = self.deviation * self.unit / (self.scales[i] * self.scales[j]);
        deviation * deviation / sent
    }
}

/// Variance of each number by precision, from its prior N(1, .4²) and both looks, and the variance that this leaves of it.
fn number_variances(summary: &InputSummary, look: &SecondLook<'_>) -> (Vec<f64>, Vec<f64>) {
    let one = |(j, first): (usize, &f64)| {
        let (prior, noise) = (SQUARES_VARIANCE, [summary.noise, look.noise(j, j)]);
        let [first_noise, second_noise] = noise.map(|v| v.max(LEAST_NOISE));
        let precision = 1.0 / prior + 1.0 / first_noise + 1.0 / second_noise;
        let sum = 1.0 / prior + first / first_noise + look.entry(j, j) / second_noise;
        ((sum / precision).max(LEAST_VARIANCE), 1.0 / precision)
    };
    summary.variances.iter().enumerate().map(one).unzip()
}

/// B, packed: diag(f) − ffᵀ within a block, f(1 − f) for a flag, a variance for a number.
fn within_blocks(summary: &InputSummary, variances: &[f64]) -> Vec<f64> {
    let (p, f) = (summary.centre.len(), &summary.centre);
    let mut within = vec![0.0; packed(p)];
    variances.iter().enumerate().for_each(|(j, variance)| within[place(j, j)] = *variance);
    summary.design.flags().iter().for_each(|&j| within[place(j, j)] = f[j] * (1.0 - f[j]));
    for block in summary.design.blocks() {
        for i in block.clone() {
            (block.start..i).for_each(|j| within[place(i, j)] = -f[i] * f[j]);
            within[place(i, i)] = f[i] * (1.0 - f[i]);
        }
    }
    within
}

/// τ² by moments: the mean of r̃² − v, weighted by (v + .01)^−2, .02 at least.
fn cross_block_variance(correlations: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut weights, mut squares) = (0.0, 0.0);
    for (seen, noise) in correlations {
        let weight = 1.0 / ((noise + WEIGHT_NOISE) * (noise + WEIGHT_NOISE));
        weights += weight;
        squares += weight * (seen * seen - noise);
    }
    if weights > 0.0 { (squares / weights).max(LEAST_TAU) } else { LEAST_TAU }
}

/// B^½ and B^(+½), block by block; eigenvalues that are 0 but for rounding stay 0 in both.
fn roots(within: &[f64], groups: &[usize]) -> Option<(Vec<f64>, Vec<f64>)> {
    let (mut root, mut inverse) = (vec![0.0; within.len()], vec![0.0; within.len()]);
    let largest = (0..groups.len()).map(|j| within[place(j, j)]).fold(0.0, f64::max);
    let mut start = 0;
    while start < groups.len() {
        let end = (start..groups.len()).find(|j| groups[*j] != groups[start]).unwrap_or(groups.len());
        let places: Vec<usize> = pairs(end - start).map(|(i, j)| place(start + i, start + j)).collect();
        let block: Vec<f64> = places.iter().map(|k| within[*k]).collect();
        let eigen = Eigen::by_tridiagonal(&block, end - start)?;
        let counts = |v: f64| v > NULL * largest;
        let half = eigen.map(|v| if counts(v) { v.sqrt() } else { 0.0 });
        let minus_half = eigen.map(|v| if counts(v) { 1.0 / v.sqrt() } else { 0.0 });
        for (k, at) in places.into_iter().enumerate() {
            (root[at], inverse[at]) = (half[k], minus_half[k]);
        }
        start = end;
    }
    Some((root, inverse))
}
