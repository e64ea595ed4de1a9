//! From released levels to the next point, and to the posterior that is served.
//!
//! Two readouts of the same releases. Under the stated prior the posterior is for coefficients and their intervals; what is not
//! known of the inputs' covariance is integrated by draws. Under a prior whose precision is fitted to the releases, never below the
//! stated one, it is for prediction: its intervals are too narrow. Both take the same draws.
//!
//! The stated precision may differ between coefficients: a fitted prior multiplies those of numbers by one factor, those of flags and
//! levels by another, and leaves the intercept's. It leaves the stated mean and correlations too.

use super::belief::InputBelief;
use super::design::{InputDesign, WEIGHT};
use super::looks::CentredInputs;
use super::moments::InputMoments;
use super::solve::{Doubts, Effort, PriorPrecision, ReleasedLevel, Solution, solve};
use crate::PriorTerm;
use crate::linalg::{packed, place, symmetric_times};
use serde::{Deserialize, Serialize};

/// Draws of the inputs' covariance.
pub const DRAWS: usize = 12;
/// Steps of expectation maximisation for the fitted prior.
pub(super) const FITTING: usize = 6;
/// Rows that the stated prior counts for in the fit, for each group.
pub(super) const PRIOR_COUNT: f64 = 1.0;
/// Share of the fitted factor that is used while levels are still asked.
pub(super) const CAUTIOUS: f64 = 0.5;
/// Least mean weight of level 0.
const LEAST_FIRST_WEIGHT: f64 = 0.25;
/// κ of level 0 and of later levels that is expected of rows whose norms are near ρ: clips are ρ/2 and about .77ρ in units of the norm,
/// and E[ρ/‖s∘z‖] is a little over 1.
const EXPECTED_WEIGHTS: [f64; 2] = [0.55, 0.8];
/// Precision of that expectation: a standard deviation of .1. Found on made-up designs of 1,000 rows at ε = .3, where noise
/// leaves little of a released weight.
const EXPECTED_PRECISION: f64 = 100.0;
/// Least noise of a level, so that exact sums can be read too.
const LEAST_DEVIATION: f64 = 1e-9;
/// How far a draw's mode may be from the centre, in standard deviations.
pub(super) const MOST_DEVIATIONS: f64 = 4.0;

/// A released mean weight.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct MeanWeight {
    value: f64,
    precision: f64,
}

/// The released levels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    levels: Vec<ReleasedLevel>,
    weights: Vec<MeanWeight>,
    /// Precision of the expected weights; 0 where nothing is expected.
    expected: f64,
}

impl Evidence {
    /// No level yet, of rows that levels will shorten about as designed.
    pub fn of_shortened_rows() -> Self {
        Self { expected: EXPECTED_PRECISION, ..Self::default() }
    }

    /// What its readout does not take for granted.
    pub fn doubts(&self) -> Doubts {
        if self.expected > 0.0 { Doubts::COUNTED } else { Doubts::NONE }
    }

    /// How many levels there are.
    pub fn len(&self) -> usize {
        self.levels.len()
    }

    /// True before the first.
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// The levels so far.
    pub fn levels(&self) -> &[ReleasedLevel] {
        &self.levels
    }

    /// Takes in the sum that was released at `point`, coefficients of z, of n rows; each coordinate has noise of this
    /// standard deviation. None if the sum has another length or is not finite.
    pub fn add(&mut self, inputs: &CentredInputs, rows: f64, point: &[f64], sum: &[f64], deviation: f64) -> Option<()> {
        let clip = inputs.clip(self.len());
        self.add_clipped(inputs, rows, point, sum, deviation, clip)
    }

    /// The same for scores that were clipped to this, of one or several contrasts one after the other.
    pub fn add_clipped(
        &mut self,
        inputs: &CentredInputs,
        rows: f64,
        point: &[f64],
        sum: &[f64],
        deviation: f64,
        clip: f64,
    ) -> Option<()> {
        let d = point.len();
        if sum.len() != d + 1 || d == 0 || !d.is_multiple_of(inputs.width()) || sum.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let (unit, deviation) = (WEIGHT * rows, deviation.max(LEAST_DEVIATION));
        let precision = (unit / deviation) * (unit / deviation);
        self.weights.push(MeanWeight { value: sum[d] / unit + 0.5, precision });
        let scales = inputs.scales().iter().cycle().take(d);
        let units: Vec<f64> = scales.map(|s| clip / (s * self.mean_weight())).collect();
        let score = sum.iter().zip(&units).map(|(u, unit)| u * unit).collect();
        let noise = units.iter().map(|unit| (deviation * unit) * (deviation * unit)).collect();
        self.levels.push(ReleasedLevel { point: point.to_vec(), score, noise });
        Some(())
    }

    /// κ of the newest level: its own at level 0, .25 at least; then the mean of all later ones by precision, between that of level
    /// 0 and 1. What is expected counts as one more weight of either kind.
    fn mean_weight(&self) -> f64 {
        let Some((first, later)) = self.weights.split_first() else { return 1.0 };
        let mean = |weights: &[MeanWeight], expected: f64| {
            let total = self.expected + weights.iter().map(|weight| weight.precision).sum::<f64>();
            (self.expected * expected + weights.iter().map(|weight| weight.precision * weight.value).sum::<f64>())
                / total
        };
        let least = mean(std::slice::from_ref(first), EXPECTED_WEIGHTS[0]).clamp(LEAST_FIRST_WEIGHT, 1.0);
        if later.is_empty() { least } else { mean(later, EXPECTED_WEIGHTS[1]).clamp(least, 1.0) }
    }
}

/// Where the next level is asked, and under which prior it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NextLevel {
    /// θ, coefficients of z.
    pub point: Vec<f64>,
    /// Precision of the prior for each coefficient of x.
    pub precision: Vec<f64>,
}

/// A Gaussian for the coefficients of x, the intercept's last.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelPosterior {
    /// Mean.
    pub mean: Vec<f64>,
    /// Covariance, packed.
    pub covariance: Vec<f64>,
    /// Draws of the inputs' covariance that it counts.
    pub draws: usize,
}

/// What all readouts of a run share.
#[derive(Debug, Clone, Copy)]
pub struct LevelReadout<'a> {
    /// Kinds of inputs.
    pub design: &'a InputDesign,
    /// Centres and scales.
    pub inputs: &'a CentredInputs,
    /// What is known of the inputs' covariance.
    pub belief: &'a InputBelief,
    /// The stated prior of the coefficients of x; p₀ is the diagonal of its precision.
    pub prior: &'a PriorTerm,
}

impl LevelReadout<'_> {
    /// Level 0 is asked at 0.
    pub fn start(&self) -> NextLevel {
        NextLevel { point: vec![0.0; self.inputs.width()], precision: self.prior.diagonal() }
    }

    fn under(&self, precision: &[f64]) -> PriorPrecision {
        PriorPrecision::stated(self.prior, precision, self.inputs.centre())
    }

    fn solved(&self, evidence: &Evidence, precision: &[f64], start: &[f64]) -> Option<Solution> {
        let (mean, prior) = (self.belief.mean(), self.under(precision));
        solve(&mean, Some(self.belief), evidence.levels(), &prior, start, Effort::full(evidence.doubts()))
    }

    /// The next point, given all levels so far, and what they say under the prior of the last one.
    pub fn advance(&self, evidence: &Evidence, next: &NextLevel) -> Option<(NextLevel, Solution)> {
        let solution = self.solved(evidence, &next.precision, &next.point)?;
        let precision = self.fitted(&solution, CAUTIOUS);
        Some((NextLevel { point: solution.point.clone(), precision }, solution))
    }

    /// p = λp₀ with λ = max(1, share·(k + 1)/(E(θ − m₀)ᵀP(θ − m₀) + 1)), for the k numbers, and again for the k flags and levels; P is the
    /// stated precision among them.
    ///
    /// One step of expectation maximisation for the precision of a group, with one more coefficient that is as the prior says.
    pub fn fitted(&self, solution: &Solution, share: f64) -> Vec<f64> {
        let (mut fitted, mean) = (self.prior.diagonal(), self.prior.mean());
        let stated = fitted.clone();
        let away = |j: usize| solution.point[j] - mean[j];
        let square = |i: usize, j: usize| away(i) * away(j) + solution.covariance[place(i, j)];
        for group in [0..self.design.numbers(), self.design.numbers()..self.design.inputs()] {
            let mut expected: f64 = group.clone().map(|j| stated[j] * square(j, j)).sum();
            if let Some(full) = self.prior.off_diagonal() {
                let pairs = group.clone().flat_map(|i| (group.start..i).map(move |j| (i, j)));
                expected += 2.0 * pairs.map(|(i, j)| full[place(i, j)] * square(i, j)).sum::<f64>();
            }
            let factor = share * (group.len() as f64 + PRIOR_COUNT) / (expected + PRIOR_COUNT);
            fitted[group].iter_mut().for_each(|p| *p *= factor.max(1.0));
        }
        fitted
    }

    /// The readout under these precisions, with draws of the inputs: mean of P_s⁻¹ plus covariance of θ_s about their mean.
    ///
    /// The centre is that of the mean covariance, and each θ_s is limited to four standard deviations from it. Draws that
    /// cannot be solved are left out; also gives how many were not.
    pub fn integrated(
        &self,
        evidence: &Evidence,
        precision: &[f64],
        start: &[f64],
        draws: &[InputMoments],
    ) -> Option<(Solution, usize)> {
        let centre = self.solved(evidence, precision, start)?;
        let (prior, effort) = (self.under(precision), Effort::draw(evidence.doubts()));
        let drawn = |inputs: &InputMoments| {
            let mut solution = solve(inputs, None, evidence.levels(), &prior, &centre.point, effort)?;
            for (j, (theta, middle)) in solution.point.iter_mut().zip(&centre.point).enumerate() {
                let most = MOST_DEVIATIONS * solution.covariance[place(j, j)].sqrt();
                *theta = middle + (*theta - middle).clamp(-most, most);
            }
            Some(solution)
        };
        let solutions: Vec<Solution> = draws.iter().filter_map(drawn).collect();
        if solutions.len() < 2 {
            return Some((centre, 0));
        }
        let covariance = total_covariance(&solutions, centre.point.len());
        Some((Solution { point: centre.point, covariance }, solutions.len()))
    }

    /// Both readouts: q under the stated prior, for intervals, and q⁺ under the fitted one, for prediction.
    pub fn posteriors(
        &self,
        evidence: &Evidence,
        start: &[f64],
        draws: &[InputMoments],
    ) -> Option<(LevelPosterior, LevelPosterior)> {
        let (stated, counted) = self.integrated(evidence, &self.prior.diagonal(), start, draws)?;
        let mut precision = self.fitted(&stated, 1.0);
        let mut solution = stated.clone();
        for _ in 1..FITTING {
            solution = self.solved(evidence, &precision, &solution.point)?;
            precision = self.fitted(&solution, 1.0);
        }
        let (fitted, counted_too) = self.integrated(evidence, &precision, &solution.point, draws)?;
        let with = |solution: &Solution, draws: usize| LevelPosterior { draws, ..self.uncentred(solution) };
        Some((with(&stated, counted), with(&fitted, counted_too)))
    }

    /// For coefficients of x, without draws: θ = Tᵀθ_z and TᵀΣT, where T is the identity but for −m̂ in the intercept's column.
    pub fn uncentred(&self, solution: &Solution) -> LevelPosterior {
        let (centre, last) = (self.inputs.centre(), self.inputs.width() - 1);
        let mut weights: Vec<f64> = centre.iter().map(|m| -m).collect();
        weights.push(1.0);
        let row = symmetric_times(&solution.covariance, &weights);
        let mut covariance = solution.covariance.clone();
        covariance[place(last, 0)..].copy_from_slice(&row);
        covariance[place(last, last)] = row.iter().zip(&weights).map(|(a, b)| a * b).sum();
        LevelPosterior { mean: self.inputs.uncentred(&solution.point), covariance, draws: 0 }
    }
}

/// Mean of the covariances plus covariance of the points, packed; two solutions at least.
fn total_covariance(solutions: &[Solution], d: usize) -> Vec<f64> {
    let count = solutions.len() as f64;
    let mut mean = vec![0.0; d];
    solutions.iter().for_each(|s| mean.iter_mut().zip(&s.point).for_each(|(m, t)| *m += t / count));
    let mut total = vec![0.0; packed(d)];
    for solution in solutions {
        total.iter_mut().zip(&solution.covariance).for_each(|(sum, v)| *sum += v / count);
        let off: Vec<f64> = solution.point.iter().zip(&mean).map(|(t, m)| t - m).collect();
        for i in 0..d {
            let line = &mut total[place(i, 0)..=place(i, i)];
            line.iter_mut().zip(&off).for_each(|(sum, other)| *sum += off[i] * other / (count - 1.0));
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::levels::FirstLook;
    use privacy::Adjacency;

    /// A readout of sums that are this large, with noise of this standard deviation and `rows` rows, on every kind of input.
    fn read(size: f64, deviation: f64, rows: f64) -> (LevelPosterior, LevelPosterior) {
        read_under(&PriorTerm::about_zero(vec![1.0; 8]), size, deviation, rows)
    }

    fn read_under(prior: &PriorTerm, size: f64, deviation: f64, rows: f64) -> (LevelPosterior, LevelPosterior) {
        let design = InputDesign::new(2, vec![2], vec![3..6, 6..7]).unwrap();
        let wave = |k: usize| size * libm::sin(1.0 + 3.0 * k as f64);
        let waves = |count: usize| -> Vec<f64> { (0..count).map(wave).collect() };
        let look = FirstLook::new(&design, Adjacency::Substitute);
        let summary = look.read(&waves(look.bound().length), deviation, rows).unwrap();
        let inputs = summary.centred();
        let belief = InputBelief::new(&summary, &inputs, &waves(packed(8)), deviation).unwrap();
        let readout = LevelReadout { design: &design, inputs: &inputs, belief: &belief, prior };
        let (mut evidence, mut next) = (Evidence::of_shortened_rows(), readout.start());
        for _ in 0..4 {
            evidence.add(&inputs, rows, &next.point, &waves(9), deviation).unwrap();
            next = readout.advance(&evidence, &next).unwrap().0;
        }
        let draws = belief.draws([7; 32], DRAWS);
        readout.posteriors(&evidence, &next.point, &draws).unwrap()
    }

    #[test]
    fn posteriors_are_proper_whatever_was_released() {
        for (size, deviation, rows) in
            [(0.0, 0.0, 100.0), (1e-3, 0.0, 1e6), (5.0, 3.0, 20.0), (1e4, 1e4, 20.0), (1e7, 1e2, 1e3), (1e3, 1e7, 1e9)]
        {
            let (stated, fitted) = read(size, deviation, rows);
            for posterior in [&stated, &fitted] {
                let case = format!("{size} {deviation} {rows}: {posterior:?}");
                assert!(posterior.mean.iter().all(|v| v.is_finite()), "{case}");
                assert_eq!(posterior.draws, DRAWS, "{case}");
                assert!(crate::linalg::cholesky(&posterior.covariance, 8).is_some(), "{case}");
            }
            assert!((0..8).all(|j| stated.covariance[place(j, j)] < 20.0), "{stated:?}");
        }
    }

    /// Under noise that drowns everything the stated prior is left, and the intercept's spread in it.
    #[test]
    fn noise_without_end_leaves_the_prior() {
        let (stated, _) = read(0.0, 1e9, 100.0);
        for j in 0..8 {
            assert!(stated.mean[j].abs() < 1e-3, "{stated:?}");
            assert!((stated.covariance[place(j, j)] - 1.0).abs() < 1e-3, "{stated:?}");
        }
    }

    /// The same of priors with means, and with correlations: what is served is what was stated.
    #[test]
    fn noise_without_end_leaves_a_stated_prior() {
        let mean = vec![0.4, -0.2, 0.1, 0.3, 0.0, -0.5, 0.7, -1.5];
        let alone = PriorTerm::independent(mean.clone(), vec![4.0, 9.0, 1.0, 2.0, 3.0, 0.5, 1.0, 0.25]).unwrap();
        let entry = |i: usize, j: usize| if i == j { 2.0 + i as f64 } else { 0.3 * libm::cos((i + 2 * j) as f64) };
        let packed = (0..8).flat_map(|i| (0..=i).map(move |j| entry(i, j))).collect();
        let correlated = PriorTerm::correlated(mean, packed).unwrap();
        for prior in [alone, correlated] {
            let (served, _) = read_under(&prior, 0.0, 1e9, 100.0);
            let covariance = prior.gaussian().unwrap().covariance();
            for (found, stated) in served.mean.iter().zip(prior.mean()) {
                assert!((found - stated).abs() < 1e-6, "{served:?}");
            }
            for (found, stated) in served.covariance.iter().zip(&covariance) {
                assert!((found - stated).abs() < 1e-6 * (1.0 + stated.abs()), "{found} {stated}");
            }
        }
    }

    #[test]
    fn weights_are_averaged_by_precision_from_level_one_on() {
        let weight = |value: f64, precision: f64| MeanWeight { value, precision };
        let of = |weights: &[MeanWeight]| {
            Evidence { levels: vec![], weights: weights.to_vec(), expected: 0.0 }.mean_weight()
        };
        assert_eq!(of(&[weight(0.1, 1.0)]), 0.25);
        assert_eq!(of(&[weight(0.6, 9.0)]), 0.6);
        assert_eq!(of(&[weight(0.6, 9.0), weight(0.7, 1.0), weight(0.9, 3.0)]), (0.7 + 2.7) / 4.0);
        assert_eq!(of(&[weight(0.8, 9.0), weight(0.3, 1.0)]), 0.8);
        assert_eq!(of(&[weight(0.8, 9.0), weight(2.0, 1.0)]), 1.0);
    }
}
