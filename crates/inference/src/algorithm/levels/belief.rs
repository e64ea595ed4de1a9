//! The belief about the covariance of the inputs, from both looks.
//!
//! B holds what frequencies and variances alone say: diag(f) − ffᵀ within a block, a variance for each number and flag. The second
//! look adds cross-block covariances. As correlations r̃ with known noise v they are shrunk under a prior N(0, τ²), with τ² estimated
//! by moments. Eigenvalues of B^(−½) C B^(−½) are .1 at least, for the mean and for draws alike; what this
//! adds to the diagonal of a draw is taken back by a factor for each input, so that doubt of correlations does not make inputs vary
//! more. Null directions of B, such as the sum of a block's levels, stay exactly null: no floor acts on them.

use super::looks::{CentredInputs, InputSummary, LEAST_VARIANCE, SQUARES_VARIANCE};
use super::moments::InputMoments;
use super::weights::{RowWeights, first_look_shares, scaled};
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

/// How far draws are spread, as a share of the entries' standard deviations: levels say something of the covariance too, which
/// the looks' belief does not count. Found on made-up designs (`docs/maths/levels.md`).
const DRAWN: f64 = 0.75;
/// How often what shortening rows does is worked out anew.
const CORRECTIONS: usize = 4;

/// Least noise of a look, so that exact sums can be read too.
const LEAST_NOISE: f64 = 1e-30;

/// What becomes of the diagonal of a draw when its eigenvalues are raised to the floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DrawnDiagonal {
    /// It grows, as when the method was first tried.
    Grown,
    /// It is brought back to what it was.
    Kept,
}

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
    diagonal: DrawnDiagonal,
    /// What a level's weights do to a covariance, as roots in units of s∘z, and these units.
    level: Option<(Vec<f64>, Vec<f64>)>,
}

impl InputBelief {
    /// From the first look and the sum of the second, whose coordinates have noise of this standard deviation, with what
    /// shortening rows does to either undone and what it does to levels done. None if the sum has another length or is not finite.
    pub fn new(summary: &InputSummary, inputs: &CentredInputs, sum: &[f64], deviation: f64) -> Option<Self> {
        let seen = SeenMoments::of(summary, inputs, sum, deviation)?;
        let mut belief = seen.believed(summary, DrawnDiagonal::Kept)?;
        for _ in 0..CORRECTIONS {
            let weights = RowWeights::of(inputs, &belief.covariance)?;
            let numbers = summary.design.numbers();
            let undone = seen.undone(&weights, &first_look_shares(&belief.covariance, numbers));
            belief = undone.believed(summary, DrawnDiagonal::Kept)?;
        }
        let scales = inputs.scales()[..belief.inputs].to_vec();
        belief.level = Some((RowWeights::of(inputs, &belief.covariance)?.level(), scales));
        Some(belief)
    }

    /// The same, as if no row had been shortened, and with the diagonal that eigenvalues at the floor leave: what the method was
    /// first tried with.
    pub fn unweighted(summary: &InputSummary, inputs: &CentredInputs, sum: &[f64], deviation: f64) -> Option<Self> {
        SeenMoments::of(summary, inputs, sum, deviation)?.believed(summary, DrawnDiagonal::Grown)
    }

    /// The covariance that rows with a level's weights have.
    fn at_levels(&self, covariance: Vec<f64>) -> Vec<f64> {
        let Some((roots, scales)) = &self.level else { return covariance };
        scaled(&sandwich(roots, &scaled(&covariance, scales, 1.0), self.inputs), scales, -1.0)
    }

    /// B^½ F(B^(−½) A B^(−½)) B^½, where F raises eigenvalues to the floor.
    fn floored(&self, a: &[f64]) -> Option<Vec<f64>> {
        let whitened = sandwich(&self.inverse_root, a, self.inputs);
        Some(sandwich(&self.root, &self.raised(&whitened)?, self.inputs))
    }

    fn raised(&self, whitened: &[f64]) -> Option<Vec<f64>> {
        Some(Eigen::by_tridiagonal(whitened, self.inputs)?.map(|v| v.max(FLOOR)))
    }

    /// The same, with rows and columns shrunk where F made the diagonal grow.
    fn floored_within(&self, a: &[f64]) -> Option<Vec<f64>> {
        let p = self.inputs;
        let whitened = sandwich(&self.inverse_root, a, p);
        let mut raised = self.raised(&whitened)?;
        // What the floor gives to null directions, the root takes away again.
        let null = |j: usize| 1.0 - line_product(&self.inverse_root, &self.root, p, j);
        let grown = |j: usize| (raised[place(j, j)] - FLOOR * null(j)).max(FLOOR);
        let share = |j: usize| (whitened[place(j, j)].max(FLOOR) / grown(j)).min(1.0);
        let factors: Vec<f64> = (0..p).map(|j| share(j).sqrt()).collect();
        pairs(p).zip(&mut raised).for_each(|((i, j), value)| *value *= factors[i] * factors[j]);
        Some(sandwich(&self.root, &raised, p))
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
        InputMoments::new(self.rows, self.at_levels(self.covariance.clone()), self.inputs)
    }

    /// How many normal numbers a draw takes: p(p + 1)/2.
    pub fn draw_length(&self) -> usize {
        packed(self.inputs)
    }

    /// A draw of C: entry by entry C + √V·g for these standard normals, raised to the floor.
    pub fn draw(&self, normals: &[f64]) -> Option<InputMoments> {
        let moved = self.covariance.iter().zip(&self.variance).zip(normals);
        let moved: Vec<f64> = moved.map(|((c, v), g)| c + v.sqrt() * g).collect();
        let covariance = match self.diagonal {
            DrawnDiagonal::Grown => self.floored(&moved)?,
            DrawnDiagonal::Kept => self.floored_within(&moved)?,
        };
        Some(InputMoments::new(self.rows, self.at_levels(covariance), self.inputs))
    }

    /// Draws by a generator with this seed, which is a digest of releases: draws are post-processing. Fewer where a draw has no
    /// eigenvalues in floating-point numbers.
    pub fn draws(&self, seed: [u8; 32], count: usize) -> Vec<InputMoments> {
        let (mut rng, mut normals) = (ChaCha8Rng::from_seed(seed), vec![0.0; self.draw_length()]);
        let mut next = || {
            standard_normals(&mut rng, &mut normals);
            normals.iter_mut().for_each(|g| *g *= DRAWN);
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

/// Entry (j, j) of the product of two symmetric matrices, packed.
fn line_product(a: &[f64], b: &[f64], d: usize, j: usize) -> f64 {
    (0..d).map(|k| place(j.max(k), j.min(k))).map(|at| a[at] * b[at]).sum()
}

/// Pairs (i, j), j ≤ i, in the order of packed entries.
fn pairs(d: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..d).flat_map(|i| (0..=i).map(move |j| (i, j)))
}

/// Second moments of x − m̂ as they were released, with the variance of the noise in each, packed.
#[derive(Clone)]
struct SeenMoments<'a> {
    inputs: &'a CentredInputs,
    /// Mean squares of the numbers by the first look.
    squares: Vec<f64>,
    squares_noise: Vec<f64>,
    entries: Vec<f64>,
    noise: Vec<f64>,
}

impl<'a> SeenMoments<'a> {
    /// Rows that were shortened weigh less. The intercept's entry is the sum of the weights: means are taken by it. Entries off the
    /// diagonal were sent times √2.
    fn of(summary: &InputSummary, inputs: &'a CentredInputs, sum: &[f64], deviation: f64) -> Option<Self> {
        let (scales, last) = (inputs.scales(), inputs.width() - 1);
        if sum.len() != packed(inputs.width()) || sum.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let square = inputs.second_radius() * inputs.second_radius();
        let weights = sum[place(last, last)] * square / (scales[last] * scales[last]);
        let unit = square / weights.clamp(LEAST_WEIGHT * summary.rows, summary.rows);
        let sent = |i: usize, j: usize| if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
        let per = |(i, j): (usize, usize)| unit / (sent(i, j) * scales[i] * scales[j]);
        let entries = pairs(last).map(|(i, j)| sum[place(i, j)] * per((i, j))).collect();
        let noise = pairs(last).map(|at| (deviation * per(at)) * (deviation * per(at))).collect();
        let squares_noise = vec![summary.noise; summary.variances.len()];
        Some(Self { inputs, squares: summary.variances.clone(), squares_noise, entries, noise })
    }

    /// With the weights of both looks undone.
    fn undone(&self, weights: &RowWeights<'_>, shares: &[f64]) -> Self {
        let p = self.inputs.width() - 1;
        let (scales, roots) = (&self.inputs.scales()[..p], weights.second_look_undone());
        let entries = scaled(&sandwich(&roots, &scaled(&self.entries, scales, 1.0), p), scales, -1.0);
        let grown = |(i, j): (usize, usize)| (roots[place(i, i)] * roots[place(j, j)]).powi(2);
        Self {
            inputs: self.inputs,
            squares: self.squares.iter().zip(shares).map(|(v, share)| v / share).collect(),
            squares_noise: self.squares_noise.iter().zip(shares).map(|(v, share)| v / (share * share)).collect(),
            entries,
            noise: pairs(p).zip(&self.noise).map(|(at, v)| v * grown(at)).collect(),
        }
    }

    /// What is believed, given these moments.
    fn believed(&self, summary: &InputSummary, diagonal: DrawnDiagonal) -> Option<InputBelief> {
        let p = summary.centre.len();
        let (variances, left) = self.number_variances();
        let groups = summary.design.groups();
        let within = within_blocks(summary, &variances);
        let scale: Vec<f64> = (0..p).map(|j| within[place(j, j)].max(LEAST_CORRELATED).sqrt()).collect();
        let crossing = || pairs(p).filter(|(i, j)| groups[*i] != groups[*j]);
        let correlation = |i: usize, j: usize| {
            let unit = scale[i] * scale[j];
            (self.entries[place(i, j)] / unit, self.noise[place(i, j)] / (unit * unit))
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
        let mut belief = InputBelief {
            rows: summary.rows,
            inputs: p,
            root,
            inverse_root,
            covariance,
            variance,
            tau,
            diagonal,
            level: None,
        };
        belief.covariance = belief.floored(&belief.covariance)?;
        Some(belief)
    }

    /// Variance of each number by precision, from its prior N(1, .4²) and both looks, and the variance that this leaves of it.
    fn number_variances(&self) -> (Vec<f64>, Vec<f64>) {
        let one = |(j, first): (usize, &f64)| {
            let (prior, noise) = (SQUARES_VARIANCE, [self.squares_noise[j], self.noise[place(j, j)]]);
            let [first_noise, second_noise] = noise.map(|v| v.max(LEAST_NOISE));
            let precision = 1.0 / prior + 1.0 / first_noise + 1.0 / second_noise;
            let sum = 1.0 / prior + first / first_noise + self.entries[place(j, j)] / second_noise;
            ((sum / precision).max(LEAST_VARIANCE), 1.0 / precision)
        };
        self.squares.iter().enumerate().map(one).unzip()
    }
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
