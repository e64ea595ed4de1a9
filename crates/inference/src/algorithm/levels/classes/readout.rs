//! From released levels of K classes to the next point, and to the posterior that is served.
//!
//! As for two outcomes (`levels/readout.rs`): q under the stated prior integrates what is not known of the inputs' covariance by
//! draws; under a fitted prior it is for prediction. Coefficients are contrasts until they are served.

use super::super::belief::InputBelief;
use super::super::design::InputDesign;
use super::super::looks::CentredInputs;
use super::super::moments::InputMoments;
use super::super::readout::{CAUTIOUS, Evidence, FITTING, MOST_DEVIATIONS, NextLevel, PRIOR_COUNT};
use super::super::settings::ServedPrior;
use super::super::solve::{Doubts, Effort, centred_precision};
use super::moments::{ClassLogits, ClassMoments};
use super::solve::{ClassSolution, solve_classes};
use crate::linalg::{cholesky, inverse, packed, place};

/// A Gaussian for the coefficients of x, class after class.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassPosterior {
    /// Mean.
    pub mean: Vec<f64>,
    /// Precision, packed.
    pub precision: Vec<f64>,
    /// Draws of the inputs' covariance that it counts.
    pub draws: usize,
}

/// What all readouts of a run share.
#[derive(Debug, Clone, Copy)]
pub struct ClassReadout<'a> {
    /// Kinds of inputs.
    pub design: &'a InputDesign,
    /// Centres and scales.
    pub inputs: &'a CentredInputs,
    /// What is known of the inputs' covariance.
    pub belief: &'a InputBelief,
    /// p₀: stated precision of the prior N(0, 1/p₀) for each coefficient of x, the same for all classes.
    pub prior: &'a [f64],
    /// Classes.
    pub logits: &'a ClassLogits,
}

impl ClassReadout<'_> {
    fn solved(&self, evidence: &Evidence, precision: &[f64], start: &[f64]) -> Option<ClassSolution> {
        let (mean, prior) = (self.belief.mean(), centred_precision(precision, self.inputs.centre()));
        let moments = ClassMoments { inputs: &mean, logits: self.logits };
        solve_classes(moments, Some(self.belief), evidence.levels(), &prior, start, Effort::full(Doubts::NONE))
    }

    /// The next point, given all levels so far, and what they say under the prior of the last one.
    pub fn advance(&self, evidence: &Evidence, next: &NextLevel) -> Option<(NextLevel, ClassPosterior)> {
        let solution = self.solved(evidence, &next.precision, &next.point)?;
        let precision = self.fitted(&solution.point, &covariance(&solution)?, CAUTIOUS);
        let served = self.served(&solution, 0);
        Some((NextLevel { point: solution.point, precision }, served))
    }

    /// p = λp₀ with λ = max(1, share·(k + 1)/(Σ p₀(θ² + var) + 1)), for the k coefficients of numbers, and again for those of flags
    /// and levels.
    fn fitted(&self, point: &[f64], covariance: &[f64], share: f64) -> Vec<f64> {
        let (mut fitted, d) = (self.prior.to_vec(), self.prior.len());
        for group in [0..self.design.numbers(), self.design.numbers()..self.design.inputs()] {
            let in_group = || (0..point.len()).filter(|k| group.contains(&(k % d)));
            let square = |k: usize| point[k] * point[k] + covariance[place(k, k)];
            let expected: f64 = in_group().map(|k| self.prior[k % d] * square(k)).sum();
            let factor = share * (in_group().count() as f64 + PRIOR_COUNT) / (expected + PRIOR_COUNT);
            fitted[group].iter_mut().for_each(|p| *p *= factor.max(1.0));
        }
        fitted
    }

    /// The readout under these precisions, with draws of the inputs: mean of P_s⁻¹ plus covariance of Θ_s about their mean; each Θ_s is
    /// limited to four standard deviations from the centre. Also gives how many draws could be solved.
    fn integrated(
        &self,
        evidence: &Evidence,
        precision: &[f64],
        start: &[f64],
        draws: &[InputMoments],
    ) -> Option<(Vec<f64>, Vec<f64>, usize)> {
        let centre = self.solved(evidence, precision, start)?;
        let (prior, size) = (centred_precision(precision, self.inputs.centre()), centre.point.len());
        let mut total = TotalCovariance::new(size);
        for inputs in draws {
            let moments = ClassMoments { inputs, logits: self.logits };
            let drawn =
                solve_classes(moments, None, evidence.levels(), &prior, &centre.point, Effort::draw(Doubts::NONE));
            let Some((drawn, covariance)) = drawn.and_then(|drawn| covariance(&drawn).map(|of| (drawn, of))) else {
                continue;
            };
            let limited = drawn.point.iter().zip(&centre.point).enumerate().map(|(k, (theta, middle))| {
                let most = MOST_DEVIATIONS * covariance[place(k, k)].sqrt();
                (theta - middle).clamp(-most, most)
            });
            total.add(limited.collect(), &covariance);
        }
        if total.away.len() < 2 {
            let alone = covariance(&centre)?;
            return Some((centre.point, alone, 0));
        }
        let counted = total.away.len();
        Some((centre.point, total.covariance(), counted))
    }

    /// What is served: under the stated prior, or under the fitted one.
    pub fn posterior(
        &self,
        evidence: &Evidence,
        start: &[f64],
        draws: &[InputMoments],
        prior: ServedPrior,
    ) -> Option<ClassPosterior> {
        let (mut point, mut covariance, mut counted) = self.integrated(evidence, self.prior, start, draws)?;
        if prior == ServedPrior::Fitted {
            let mut precision = self.fitted(&point, &covariance, 1.0);
            for _ in 1..FITTING {
                let solution = self.solved(evidence, &precision, &point)?;
                precision = self.fitted(&solution.point, &self::covariance(&solution)?, 1.0);
                point = solution.point;
            }
            (point, covariance, counted) = self.integrated(evidence, &precision, &point, draws)?;
        }
        let size = point.len();
        let precision = inverse(&cholesky(&covariance, size)?, size);
        Some(self.served(&ClassSolution { point, precision }, counted))
    }

    /// For coefficients of x of every class: Θ = UᵀΘ_c with no common shift, whose precision is the prior's.
    fn served(&self, solution: &ClassSolution, draws: usize) -> ClassPosterior {
        let (u, d) = (&self.logits.contrasts, self.inputs.width());
        let (classes, count) = (u.classes(), u.count());
        let points: Vec<f64> = solution.point.chunks(d).flat_map(|one| self.inputs.uncentred(one)).collect();
        let mut mean = vec![0.0; classes * d];
        for (k, into) in mean.chunks_mut(d).enumerate() {
            for (a, one) in points.chunks(d).enumerate() {
                into.iter_mut().zip(one).for_each(|(sum, x)| *sum += u.entry(a, k) * x);
            }
        }
        let blocks: Vec<Vec<f64>> =
            (0..count * count).map(|ab| self.uncentred(&solution.precision, ab / count, ab % count)).collect();
        let mut precision = vec![0.0; packed(classes * d)];
        for k in 0..classes {
            for l in 0..=k {
                let mut block = vec![0.0; d * d];
                for (ab, one) in blocks.iter().enumerate() {
                    let weight = u.entry(ab / count, k) * u.entry(ab % count, l);
                    if weight != 0.0 {
                        block.iter_mut().zip(one).for_each(|(sum, x)| *sum += weight * x);
                    }
                }
                for i in 0..d {
                    block[i * d + i] += self.prior[i] / classes as f64;
                    let up_to = if k == l { i + 1 } else { d };
                    (0..up_to).for_each(|j| precision[place(k * d + i, l * d + j)] = block[i * d + j]);
                }
            }
        }
        ClassPosterior { mean, precision, draws }
    }

    /// A block of P for coefficients of x, line by line: MPMᵀ, where M is the identity but for m̂ in the intercept's column.
    fn uncentred(&self, precision: &[f64], a: usize, b: usize) -> Vec<f64> {
        let (centre, d) = (self.inputs.centre(), self.inputs.width());
        let entry = |i: usize, j: usize| precision[place((a * d + i).max(b * d + j), (a * d + i).min(b * d + j))];
        let m = |i: usize| centre.get(i).copied().unwrap_or(0.0);
        let last = d - 1;
        let of = |i: usize, j: usize| {
            entry(i, j) + m(i) * entry(last, j) + m(j) * entry(i, last) + m(i) * m(j) * entry(last, last)
        };
        (0..d * d).map(|ij| of(ij / d, ij % d)).collect()
    }
}

fn covariance(solution: &ClassSolution) -> Option<Vec<f64>> {
    let size = solution.point.len();
    Some(inverse(&cholesky(&solution.precision, size)?, size))
}

/// Mean of covariances plus covariance of points.
struct TotalCovariance {
    /// Sum of the covariances, packed.
    within: Vec<f64>,
    /// Points, about the centre.
    away: Vec<Vec<f64>>,
}

impl TotalCovariance {
    fn new(size: usize) -> Self {
        Self { within: vec![0.0; packed(size)], away: Vec::new() }
    }

    fn add(&mut self, away: Vec<f64>, covariance: &[f64]) {
        self.within.iter_mut().zip(covariance).for_each(|(sum, v)| *sum += v);
        self.away.push(away);
    }

    /// Of two points at least, packed.
    fn covariance(&self) -> Vec<f64> {
        let (count, size) = (self.away.len() as f64, self.away.first().map_or(0, Vec::len));
        let mut total: Vec<f64> = self.within.iter().map(|v| v / count).collect();
        let mean: Vec<f64> = (0..size).map(|k| self.away.iter().map(|away| away[k]).sum::<f64>() / count).collect();
        for away in &self.away {
            let off: Vec<f64> = away.iter().zip(&mean).map(|(x, m)| x - m).collect();
            for i in 0..size {
                let line = &mut total[place(i, 0)..=place(i, i)];
                line.iter_mut().zip(&off).for_each(|(sum, other)| *sum += off[i] * other / (count - 1.0));
            }
        }
        total
    }
}
