//! What a row contributes to the looks and levels, and what the first look says about the inputs.
//!
//! The first look sends vectors without negative coordinates under substitution: a number x as its parts max(x, 0) and
//! max(−x, 0), a flag as two levels of half the square. The noise in what is read is that of a signed number and of a
//! single flag, but the sensitivity follows from the norm alone, which a gate checks. A row with two levels in a block would have too
//! long a vector and be shortened: wrong numbers, and no loss of privacy.

use super::design::{InputDesign, LEVEL_RADIUS, SECOND_RADIUS, SumBound, VectorSet, WEIGHT, input_scales};
use crate::Row;
use privacy::Adjacency;

/// Squares of a row's numbers lie in a ball of radius √(3·numbers) …
pub(super) const SQUARES_RADIUS: f64 = 3.0;
/// … and the numbers in one of radius √(1.5·numbers).
const MEANS_RADIUS: f64 = 1.5;
/// Prior variance of the mean of a number.
const MEAN_VARIANCE: f64 = 0.09;
/// Prior variance of the variance of a number, whose prior mean is 1: that is what the schema's scale is for.
pub(super) const SQUARES_VARIANCE: f64 = 0.16;
/// Least variance of a number.
pub(super) const LEAST_VARIANCE: f64 = 0.05;
/// Largest frequency of a flag.
const MOST_FLAGGED: f64 = 0.98;

/// Values at increasing positions; all others are 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SparseEntries {
    /// Positions, increasing.
    pub positions: Vec<u32>,
    /// One value for each.
    pub values: Vec<f64>,
}

impl SparseEntries {
    fn push(&mut self, position: usize, value: f64) {
        self.positions.push(position as u32);
        self.values.push(value);
    }
}

/// The first look: squares and sums of numbers, counts of flags and levels, in one sum.
///
/// Coordinates: squares; under substitution positive parts and negative parts, under add-remove numbers with their signs;
/// flags and levels in their order; under substitution rows without the flag, for each flag.
#[derive(Debug, Clone)]
pub struct FirstLook<'a> {
    design: &'a InputDesign,
    adjacency: Adjacency,
    /// Factors of dummies, squares and means, with which the three parts of a row have squared norms that add up to 1.
    factors: [f64; 3],
    /// What a flag or level is sent as.
    dummies: Vec<f64>,
}

impl<'a> FirstLook<'a> {
    /// The factor of a part is √share/radius, its radius the largest norm that a row's part has.
    pub fn new(design: &'a InputDesign, adjacency: Adjacency) -> Self {
        let (blocks, flags) = (design.blocks().len() as f64, design.flags().len() as f64);
        let flag_square = match adjacency {
            Adjacency::Substitute => 0.5,
            Adjacency::AddRemove => 1.0,
        };
        let numbers = design.numbers() as f64;
        let squared = [blocks + flag_square * flags, SQUARES_RADIUS * numbers, MEANS_RADIUS * numbers];
        let shares = design.within_first();
        let factor = |k: usize| if squared[k] > 0.0 { (shares[k] / squared[k]).sqrt() } else { 0.0 };
        let factors = [factor(0), factor(1), factor(2)];
        let mut dummies = vec![factors[0]; design.inputs() - design.numbers()];
        design.flags().iter().for_each(|j| dummies[j - design.numbers()] *= flag_square.sqrt());
        Self { design, adjacency, factors, dummies }
    }

    fn splits_signs(&self) -> bool {
        self.adjacency == Adjacency::Substitute
    }

    /// Where flags and levels begin in the sum.
    fn dummies_at(&self) -> usize {
        if self.splits_signs() { 3 * self.design.numbers() } else { 2 * self.design.numbers() }
    }

    /// Where the complements of flags begin.
    fn complements_at(&self) -> usize {
        self.dummies_at() + self.design.inputs() - self.design.numbers()
    }

    /// What bounds the sum: the norm is 1.
    pub fn bound(&self) -> SumBound {
        let (set, complements) = match self.adjacency {
            Adjacency::Substitute => (VectorSet::NonNegative, self.design.flags().len()),
            Adjacency::AddRemove => (VectorSet::Ball, 0),
        };
        SumBound { length: self.complements_at() + complements, set, norm: 1.0 }
    }

    /// What a row contributes, in time proportional to its stored entries and the flags.
    pub fn row(&self, row: &Row<'_>, into: &mut SparseEntries) {
        into.positions.clear();
        into.values.clear();
        self.numbers(row.numbers, into);
        let intercept = self.design.inputs();
        let places = row.ones.iter().map(|&p| p as usize).filter(|place| *place < intercept);
        for dummy in places.map(|place| place - self.design.numbers()) {
            into.push(self.dummies_at() + dummy, self.dummies[dummy]);
        }
        if self.splits_signs() && row.ones.last().is_some_and(|&p| p as usize == intercept) {
            let flags = self.design.flags().iter().enumerate();
            for (k, flag) in flags.filter(|(_, flag)| row.ones.binary_search(&(**flag as u32)).is_err()) {
                into.push(self.complements_at() + k, self.dummies[flag - self.design.numbers()]);
            }
        }
    }

    /// Squares, then numbers, each shortened to its ball.
    fn numbers(&self, x: &[f64], into: &mut SparseEntries) {
        let count = x.len() as f64;
        let fourth: f64 = x.iter().map(|v| (v * v) * (v * v)).sum();
        let squares = self.factors[1] * ((SQUARES_RADIUS * count).sqrt() / fourth.sqrt()).min(1.0);
        x.iter().enumerate().for_each(|(j, v)| into.push(j, squares * v * v));
        let square: f64 = x.iter().map(|v| v * v).sum();
        let means = self.factors[2] * ((MEANS_RADIUS * count).sqrt() / square.sqrt()).min(1.0);
        if self.splits_signs() {
            x.iter().enumerate().for_each(|(j, v)| into.push(x.len() + j, means * v.max(0.0)));
            x.iter().enumerate().for_each(|(j, v)| into.push(2 * x.len() + j, means * (-v).max(0.0)));
        } else {
            x.iter().enumerate().for_each(|(j, v)| into.push(x.len() + j, means * v));
        }
    }

    /// What the released sum says about the inputs of n rows, if each coordinate has noise of this standard deviation. None if
    /// the sum has another length or is not finite.
    ///
    /// Frequencies f̃ with noise of variance v are shrunk to f̃³/(f̃² + v), and those of a block scaled to the sum 1.
    /// Means have prior N(0, .09).
    pub fn read(&self, sum: &[f64], deviation: f64, rows: f64) -> Option<InputSummary> {
        if sum.len() != self.bound().length || sum.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let numbers = self.design.numbers();
        let mut centre = self.means(sum, deviation, rows);
        centre.extend(self.frequencies(sum, deviation, rows));
        for block in self.design.blocks() {
            level_out(&mut centre[block.clone()]);
        }
        self.design.flags().iter().for_each(|&j| centre[j] = centre[j].clamp(0.0, MOST_FLAGGED));
        let unit = self.factors[1] * rows;
        let variances: Vec<f64> = (0..numbers).map(|j| sum[j] / unit - centre[j] * centre[j]).collect();
        let noise = if numbers > 0 { (deviation / unit) * (deviation / unit) } else { 0.0 };
        Some(InputSummary { design: self.design.clone(), rows, centre, variances, noise })
    }

    fn means(&self, sum: &[f64], deviation: f64, rows: f64) -> Vec<f64> {
        let (numbers, unit) = (self.design.numbers(), self.factors[2] * rows);
        let parts = if self.splits_signs() { 2.0 } else { 1.0 };
        let noise = parts * (deviation / unit) * (deviation / unit);
        let signed = |j: usize| match self.adjacency {
            Adjacency::Substitute => sum[numbers + j] - sum[2 * numbers + j],
            Adjacency::AddRemove => sum[numbers + j],
        };
        (0..numbers).map(|j| signed(j) / unit * MEAN_VARIANCE / (MEAN_VARIANCE + noise)).collect()
    }

    fn frequencies(&self, sum: &[f64], deviation: f64, rows: f64) -> Vec<f64> {
        let units = self.dummies.iter().map(|sent| sent * rows);
        let sums = &sum[self.dummies_at()..self.complements_at()];
        let mut seen: Vec<f64> = sums.iter().zip(units).map(|(sum, unit)| sum / unit).collect();
        // The mean of f and 1 − (1 − f), where rows without the flag were counted too.
        for (flag, complement) in self.design.flags().iter().zip(&sum[self.complements_at()..]) {
            let dummy = flag - self.design.numbers();
            seen[dummy] = 0.5 * (seen[dummy] + 1.0 - complement / (self.dummies[dummy] * rows));
        }
        let unit = self.factors[0] * rows;
        let noise = (deviation / unit) * (deviation / unit);
        let shrunk = |f: f64| f * f * f / (f * f + noise + f64::MIN_POSITIVE);
        seen.into_iter().map(|f| shrunk(f.max(0.0))).collect()
    }
}

/// Frequencies of the levels of one block add up to 1; equal ones where nothing was seen.
fn level_out(frequencies: &mut [f64]) {
    let total: f64 = frequencies.iter().sum();
    let equal = 1.0 / frequencies.len() as f64;
    frequencies.iter_mut().for_each(|f| *f = if total > 0.0 { (*f / total).min(1.0) } else { equal });
}

/// What the first look says about the inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct InputSummary {
    pub(super) design: InputDesign,
    /// n.
    pub(super) rows: f64,
    /// m̂ for each input: means of numbers, frequencies of flags and levels.
    pub(super) centre: Vec<f64>,
    /// Variances of the numbers as they were seen, with noise of this variance.
    pub(super) variances: Vec<f64>,
    /// Noise in each of them.
    pub(super) noise: f64,
}

impl InputSummary {
    /// Means of numbers, and frequencies of flags and levels.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Variance of each input: f(1 − f), or that of a number under its prior N(1, .4²), .05 at least.
    pub fn input_variances(&self) -> Vec<f64> {
        let weight = SQUARES_VARIANCE / (SQUARES_VARIANCE + self.noise);
        let numbers = self.variances.iter().map(|seen| (1.0 + weight * (seen - 1.0)).max(LEAST_VARIANCE));
        let dummies = self.centre[self.design.numbers()..].iter().map(|f| (f * (1.0 - f)).max(0.0));
        numbers.chain(dummies).collect()
    }

    /// The coordinates of the second look and the levels.
    pub fn centred(&self) -> CentredInputs {
        let mut variances = self.input_variances();
        variances.push(1.0);
        let scales = input_scales(&variances);
        let norm = scales.iter().zip(&variances).map(|(s, v)| s * s * v).sum::<f64>().sqrt();
        CentredInputs::new(self.centre.clone(), scales, norm)
    }
}

/// Rows as z = (x − m̂, 1), scaled by s. A row without an intercept has z = x, so that an empty row contributes nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct CentredInputs {
    centre: Vec<f64>,
    scales: Vec<f64>,
    norm: f64,
    /// s², and Σ s²m̂ x is the product of a row with the second; both with the intercept, whose centre is 0.
    squares: Vec<f64>,
    pulls: Vec<f64>,
    /// Σ s²m̂².
    centre_square: f64,
}

impl CentredInputs {
    /// Scales, the intercept's last, and ρ.
    pub(super) fn new(centre: Vec<f64>, scales: Vec<f64>, norm: f64) -> Self {
        let squares: Vec<f64> = scales.iter().map(|s| s * s).collect();
        let mut pulls: Vec<f64> = squares.iter().zip(&centre).map(|(square, m)| square * m).collect();
        let centre_square = pulls.iter().zip(&centre).map(|(pull, m)| pull * m).sum();
        pulls.push(0.0);
        Self { centre, scales, norm, squares, pulls, centre_square }
    }

    /// d.
    pub fn width(&self) -> usize {
        self.scales.len()
    }

    /// m̂ of the inputs.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// s, the intercept's last.
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// ρ: root of the expected square of ‖s∘z‖.
    pub fn expected_norm(&self) -> f64 {
        self.norm
    }

    /// C: what the scores of this level are clipped to. Half at level 0, where both residuals are ½.
    pub fn clip(&self, level: usize) -> f64 {
        let radius = LEVEL_RADIUS * self.norm;
        if level == 0 { 0.5 * radius } else { radius }
    }

    fn intercept(&self, row: &Row<'_>) -> f64 {
        let there = row.ones.last().is_some_and(|&p| p as usize + 1 == self.width());
        f64::from(u8::from(there))
    }

    /// ‖s∘z‖², in time proportional to the stored entries of the row: Σ s²x² − 2Σ s²m̂x + Σ s²m̂².
    fn squared_norm(&self, row: &Row<'_>) -> f64 {
        let centred = self.intercept(row) * (self.centre_square - 2.0 * row.dot(&self.pulls));
        (row.dot_squared(&self.squares) + centred).max(0.0)
    }

    /// ‖s∘z‖.
    pub(super) fn row_norm(&self, row: &Row<'_>) -> f64 {
        self.squared_norm(row).sqrt()
    }

    /// Writes factor·(s∘z).
    pub(super) fn write(&self, row: &Row<'_>, factor: f64, into: &mut [f64]) {
        let centring = -factor * self.intercept(row);
        for ((value, m), s) in into.iter_mut().zip(&self.centre).zip(&self.scales) {
            *value = centring * m * s;
        }
        into[self.centre.len()] = 0.0;
        row.entries().for_each(|(j, x)| into[j] += factor * self.scales[j] * x);
    }

    /// Radius of the ball in which rows of the second look lie.
    pub(super) fn second_radius(&self) -> f64 {
        SECOND_RADIUS * self.norm
    }

    /// y for the second look, which is the sum of yyᵀ: (s∘z)/(.7ρ), shortened to norm 1. `into` has d numbers.
    pub fn second_look_row(&self, row: &Row<'_>, into: &mut [f64]) {
        let norm = self.squared_norm(row).sqrt();
        self.write(row, 1.0 / self.second_radius().max(norm), into);
    }

    /// Coefficients of x for coefficients of z: the intercept takes −Σ m̂ⱼθⱼ.
    pub fn uncentred(&self, theta: &[f64]) -> Vec<f64> {
        let mut coefficients = theta.to_vec();
        let shift: f64 = self.centre.iter().zip(theta).map(|(m, t)| m * t).sum();
        coefficients[self.centre.len()] -= shift;
        coefficients
    }
}

/// What a level asks: scores at these coefficients of x, clipped to C.
#[derive(Debug, Clone, Copy)]
pub struct LevelPoint<'a> {
    /// How rows are centred and scaled.
    pub inputs: &'a CentredInputs,
    /// θ, coefficients of x.
    pub theta: &'a [f64],
    /// C.
    pub clip: f64,
}

impl LevelPoint<'_> {
    /// What a row contributes: (s∘c(y − σ)z)/C and .4(c − ½). `into` has d + 1 numbers.
    ///
    /// c = min(1, C/(‖s∘z‖·max(σ, 1 − σ))), σ = σ(xᵀθ): the largest weight with which the score of neither label is over C.
    /// It does not look at the label, so that the mean of c(y − σ)z is 0 at the true coefficients.
    pub fn row(&self, row: &Row<'_>, into: &mut [f64]) {
        let probability = 1.0 / (1.0 + libm::exp(-row.dot(self.theta)));
        let norm = self.inputs.squared_norm(row).sqrt();
        let weight = (self.clip / (norm * probability.max(1.0 - probability))).min(1.0);
        let label = f64::from(u8::from(row.outcome > 0.5));
        let d = self.inputs.width();
        self.inputs.write(row, weight * (label - probability) / self.clip, &mut into[..d]);
        into[d] = WEIGHT * (weight - 0.5);
    }
}

#[cfg(test)]
mod tests;
