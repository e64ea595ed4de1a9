//! Softmax regression: P(y = k | x, θ) = exp aₖ / Σ exp aₗ, aₖ = xᵀθₖ.
//!
//! There is no closed form of E softmax. Under q the K logits of a row are jointly Gaussian, so that
//! expectations are taken over K numbers, not over all coefficients: means over a few orthogonal draws
//! (`frames`), which are exactly normal and cancel each other's odd terms.
//!
//! - rₖ = [y = k] − E pₖ: the residual of class k.
//! - H = E[diag p − ppᵀ]: the curvature of a row's logits.

use super::frame::frames;
use super::{
    DefaultSetting, Model, ModelSettings, OpenedAnswers, OutcomeNeed, Point, Prediction, Scratch, Sink, Slopes,
};
use crate::data::Row;
use crate::describe::{Descriptor, Limits, Offer};
use crate::effects::EffectScale;
use crate::family::as_natural;
use crate::special::exp;
use crate::{Family, Gaussian, Rows, linalg};
use privacy::PrivacyError;
use serde::Serialize;
use std::sync::Arc;

/// Softmax regression; an outcome is the number of its class, from 0.
///
/// Every class has coefficients of its own, class after class. They are determined up to a common shift only, and the
/// prior holds that: with a reference class of no coefficients, a mean-field q and the clipped norm would treat it
/// unlike the others.
///
/// Expectations under q are means over orthogonal draws of the logits, the same for all rows of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softmax {
    /// K, at least two.
    pub classes: usize,
}

/// Frames of 2K draws while learning, and for new rows.
const LEARNING: usize = 1;
/// Frames where q is looked at once: for new rows and statistics.
const PREDICTING: usize = 8;

/// Draws for new rows and statistics are always the same.
const FIXED_SEED: u64 = 0;

/// What a row says of its logits: E pₖ, E pₖ(1 − pₖ), and room for one draw.
struct Expected {
    /// E pₖ.
    probability: Vec<f64>,
    /// E pₖ(1 − pₖ).
    slope: Vec<f64>,
    /// Room for one draw.
    drawn: Vec<f64>,
}

impl Expected {
    /// Means over the draws z of softmax(mean + deviation∘z) and its slopes.
    fn take(&mut self, mean: &[f64], deviation: &[f64], draws: &[f64]) {
        let Self { probability, slope, drawn } = self;
        let weight = mean.len() as f64 / draws.len() as f64;
        probability.fill(0.0);
        slope.fill(0.0);
        for z in draws.chunks(mean.len()) {
            drawn.iter_mut().zip(z).zip(mean.iter().zip(deviation)).for_each(|((a, z), (m, s))| *a = m + s * z);
            softmax(drawn);
            for ((p, h), x) in probability.iter_mut().zip(&mut *slope).zip(&*drawn) {
                *p += weight * x;
                *h += weight * x * (1.0 - x);
            }
        }
    }
}

/// Logits become probabilities.
pub(crate) fn softmax(a: &mut [f64]) {
    let largest = a.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    a.iter_mut().for_each(|a| *a = exp(*a - largest));
    let sum: f64 = a.iter().sum();
    a.iter_mut().for_each(|a| *a /= sum);
}

/// log pₖ of the class that an outcome names; −∞ of a class that there is not.
pub(super) fn log_probability(logits: &[f64], outcome: f64) -> f64 {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|a| libm::exp(a - largest)).sum();
    let of = |a: &f64| a - largest - libm::log(sum);
    logits.iter().enumerate().find(|(k, _)| *k as f64 == outcome).map_or(f64::NEG_INFINITY, |(_, a)| of(a))
}

/// `kind = "softmax"`: it has no settings; the number of classes is that of the outcome's levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SoftmaxSettings;

/// `kind = "softmax"`
pub(crate) const DESCRIPTOR: Descriptor<dyn ModelSettings> = Descriptor {
    name: "softmax",
    also: &["multinomial", "multinomial-logistic"],
    about: "Softmax regression of an outcome with several levels.",
    keys: &[],
    limits: Limits::NONE,
    read: |_| Ok(Arc::new(SoftmaxSettings)),
};

impl ModelSettings for SoftmaxSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &DESCRIPTOR
    }

    fn effect_scale(&self) -> Option<EffectScale> {
        Some(EffectScale::OddsRatio)
    }

    /// Measured on digits and on made-up rows at ε = .3, 1 and 3, with settings derived from public numbers: where every site
    /// noises its own answers, only DP optimisation stays above a constant answer on average; with an aggregator global VI is
    /// best on digits, by far.
    fn default_method(&self, of: DefaultSetting) -> Option<&'static str> {
        Some(match of.opened {
            OpenedAnswers::OfEachSite => "algorithm = \"pvi\"\nsolver = \"dp-optimisation\"",
            OpenedAnswers::SumOnly => "algorithm = \"global-vi\"\nsolver = \"dp-optimisation\"",
        })
    }

    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::Levels
    }

    fn build(&self, levels: Option<usize>, _: u64) -> Arc<dyn Model> {
        Arc::new(Softmax { classes: levels.unwrap_or(2) })
    }

    /// "level: input", class after class, in the order of the coefficients.
    fn names(&self, inputs: &[String], levels: &[String]) -> Vec<String> {
        let of = |level: &String| inputs.iter().map(|input| format!("{level}: {input}")).collect::<Vec<_>>();
        levels.iter().flat_map(of).collect()
    }

    fn typical_residual(&self, _: Option<f64>) -> Option<f64> {
        Some(1.0)
    }
}

impl Model for Softmax {
    fn offers(&self) -> &'static [Offer] {
        &[Offer::ClassLogits, Offer::Gradients, Offer::GaussianPosterior]
    }

    fn parameters(&self, width: usize) -> usize {
        self.classes * width
    }

    /// The log-probability of each row's class, the largest logit taken out first.
    fn log_likelihoods(&self, rows: &Rows, which: &[usize], theta: &[f64], _: &mut Scratch, into: &mut Vec<f64>) {
        let mut logits = vec![0.0; self.classes];
        let of = |row: Row<'_>| {
            dots(&row, theta, &mut logits);
            log_probability(&logits, row.outcome)
        };
        into.clear();
        into.extend(which.iter().map(|&i| rows.row(i)).map(of));
    }

    /// By the theorems of Bonnet and Price: (yₖ − E pₖ)·x by μₖ, −E[pₖ(1 − pₖ)]·xⱼ²s² by log sₖⱼ.
    fn gradients(
        &self,
        rows: &Rows,
        which: &[usize],
        at: Point<'_>,
        seed: u64,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), PrivacyError> {
        let Scratch {
            per_row: [draws, mean, deviation, probability, slope, drawn],
            positions,
            values,
            per_parameter,
            ..
        } = scratch;
        per_parameter.clear();
        per_parameter.extend(at.deviation.iter().map(|s| s * s));
        frames(self.classes, LEARNING, seed, draws);
        for buffer in [&mut *mean, deviation, probability, slope, drawn] {
            buffer.resize(self.classes, 0.0);
        }
        let mut expected = Expected {
            probability: std::mem::take(probability),
            slope: std::mem::take(slope),
            drawn: std::mem::take(drawn),
        };
        let mut done = Ok(());
        for &i in which {
            let row = rows.row(i);
            dots(&row, at.mean, mean);
            deviations(&row, per_parameter, deviation);
            expected.take(mean, deviation, draws);
            done = hand_over(&row, &expected, (rows.width(), per_parameter), (positions, values), sink);
            if done.is_err() {
                break;
            }
        }
        (*probability, *slope, *drawn) = (expected.probability, expected.slope, expected.drawn);
        done
    }

    /// With r = y − E p and H = E[diag p − ppᵀ] of each row: Σ r ⊗ x + Λμ, and Λ = Σ H ⊗ xxᵀ.
    fn statistics(&self, rows: &Rows, which: &[usize], q: &Gaussian, family: Family) -> Vec<f64> {
        self.sums(rows, which, q, family, None)
    }

    /// Means over the same draws: of the value too.
    fn expected(&self, rows: &Rows, q: &Gaussian) -> Option<Slopes> {
        let (all, mut value): (Vec<usize>, f64) = ((0..rows.len()).collect(), 0.0);
        let natural = self.sums(rows, &all, q, Family::Full { dimension: q.dimension() }, Some(&mut value));
        Some(Slopes { value, natural })
    }

    fn has_expectations(&self) -> bool {
        true
    }

    /// E p of each row, by fixed draws of its logits: the same rows and posterior give the same numbers.
    fn predict(&self, rows: &Rows, q: &Gaussian) -> Vec<Prediction> {
        let logits = Logits::new(q, self.classes, PREDICTING);
        let (mut mean, mut curvature) = (Vec::new(), Vec::new());
        rows.iter()
            .map(|row| {
                logits.expect(&row, &mut mean, &mut curvature, None);
                Prediction::Classes(mean.clone())
            })
            .collect()
    }
}

impl Softmax {
    /// The statistics, and Σ E log p where it is wanted.
    fn sums(
        &self,
        rows: &Rows,
        which: &[usize],
        q: &Gaussian,
        family: Family,
        mut value: Option<&mut f64>,
    ) -> Vec<f64> {
        let (d, width) = (family.dimension(), rows.width());
        let full = matches!(family, Family::Full { .. });
        let (mut first, mut precision) = (vec![0.0; d], vec![0.0; family.len() - d]);
        let logits = Logits::new(q, self.classes, PREDICTING);
        let (mut mean, mut curvature) = (Vec::new(), Vec::new());
        for &i in which {
            let row = rows.row(i);
            logits.expect(&row, &mut mean, &mut curvature, value.as_deref_mut());
            for k in 0..self.classes {
                let residual = f64::from(u8::from(row.outcome == k as f64)) - mean[k];
                row.entries().for_each(|(j, x)| first[k * width + j] += residual * x);
                for l in if full { 0..k + 1 } else { k..k + 1 } {
                    let h = curvature[linalg::place(k, l)];
                    let mut add = |a: usize, b: usize, v: f64| {
                        let at = if full { linalg::place(k * width + a, l * width + b) } else { k * width + a };
                        precision[at] += h * v;
                    };
                    for (a, x) in row.entries() {
                        let whole = full && k != l;
                        let up_to = row.entries().filter(|(b, _)| whole || *b == a || (full && *b < a));
                        up_to.for_each(|(b, y)| add(a, b, x * y));
                    }
                }
            }
        }
        let moved = if full {
            linalg::symmetric_times(&precision, q.mean())
        } else {
            precision.iter().zip(q.mean()).map(|(p, m)| p * m).collect()
        };
        first.iter_mut().zip(moved).for_each(|(f, m)| *f += m);
        if full {
            first.extend(as_natural(&precision, d));
        } else {
            first.extend(precision.iter().map(|p| -0.5 * p));
        }
        first
    }
}

/// xᵀθₖ for every class.
fn dots(row: &Row<'_>, theta: &[f64], into: &mut [f64]) {
    let width = theta.len() / into.len();
    into.iter_mut().zip(theta.chunks(width)).for_each(|(a, theta)| *a = row.dot(theta));
}

/// Deviation of xᵀθₖ for every class, for independent coefficients of these variances.
fn deviations(row: &Row<'_>, variances: &[f64], into: &mut [f64]) {
    let width = variances.len() / into.len();
    into.iter_mut().zip(variances.chunks(width)).for_each(|(s, v)| *s = row.dot_squared(v).sqrt());
}

/// One row's gradient: at K times its inputs that are not zero, by μ and by log s.
fn hand_over(
    row: &Row<'_>,
    expected: &Expected,
    (width, variances): (usize, &[f64]),
    (positions, values): (&mut Vec<u32>, &mut Vec<f64>),
    sink: &mut dyn Sink,
) -> Result<(), PrivacyError> {
    positions.clear();
    values.clear();
    for (k, p) in expected.probability.iter().enumerate() {
        let residual = f64::from(u8::from(row.outcome == k as f64)) - p;
        for (j, x) in row.entries().filter(|(_, x)| *x != 0.0) {
            positions.push((k * width + j) as u32);
            values.push(residual * x);
        }
    }
    for (k, h) in expected.slope.iter().enumerate() {
        for (j, x) in row.entries().filter(|(_, x)| *x != 0.0) {
            values.push(-h * x * x * variances[k * width + j]);
        }
    }
    sink.add(positions, values)
}

/// The joint distribution of a row's logits under any q, with the fixed draws of their means.
struct Logits<'a> {
    q: &'a Gaussian,
    /// Σ, line by line, where coefficients depend on each other.
    covariance: Option<Vec<f64>>,
    /// Of each coefficient.
    variances: Vec<f64>,
    /// K.
    classes: usize,
    /// Frames of standard normal vectors of K numbers.
    draws: Vec<f64>,
}

impl<'a> Logits<'a> {
    /// The logits under q, with `count` frames of fixed draws.
    fn new(q: &'a Gaussian, classes: usize, count: usize) -> Self {
        let mut draws = Vec::new();
        frames(classes, count, FIXED_SEED, &mut draws);
        let covariance = q.packed_precision().map(|_| {
            let (packed, d) = (q.covariance(), q.dimension());
            (0..d * d).map(|k| packed[linalg::place((k / d).max(k % d), (k / d).min(k % d))]).collect()
        });
        Self { q, covariance, variances: q.variances(), classes, draws }
    }

    /// E p and E[diag p − ppᵀ], packed, of one row; adds E log p of its outcome where that is wanted.
    fn expect(&self, row: &Row<'_>, probability: &mut Vec<f64>, curvature: &mut Vec<f64>, mut log: Option<&mut f64>) {
        let classes = self.classes;
        let mut mean = vec![0.0; classes];
        dots(row, self.q.mean(), &mut mean);
        let spread = self.spread(row);
        probability.clear();
        probability.resize(classes, 0.0);
        curvature.clear();
        curvature.resize(linalg::packed(classes), 0.0);
        let weight = classes as f64 / self.draws.len() as f64;
        let mut p = vec![0.0; classes];
        for z in self.draws.chunks(classes) {
            for k in 0..classes {
                p[k] = mean[k] + (0..=k).map(|l| spread[linalg::place(k, l)] * z[l]).sum::<f64>();
            }
            softmax(&mut p);
            for k in 0..classes {
                probability[k] += weight * p[k];
                (0..=k).for_each(|l| curvature[linalg::place(k, l)] -= weight * p[k] * p[l]);
                curvature[linalg::place(k, k)] += weight * p[k];
            }
            if let Some(log) = &mut log {
                **log += weight * p.get(row.outcome as usize).map_or(f64::NEG_INFINITY, |p| libm::log(*p));
            }
        }
    }

    /// L with LLᵀ the covariance of the row's logits, packed; diagonal where coefficients are independent.
    fn spread(&self, row: &Row<'_>) -> Vec<f64> {
        let (classes, mut packed) = (self.classes, vec![0.0; linalg::packed(self.classes)]);
        let Some(covariance) = &self.covariance else {
            let mut deviation = vec![0.0; classes];
            deviations(row, &self.variances, &mut deviation);
            deviation.iter().enumerate().for_each(|(k, s)| packed[linalg::place(k, k)] = *s);
            return packed;
        };
        let d = self.variances.len();
        let width = d / classes;
        for k in 0..classes {
            for l in 0..=k {
                let along = |a: usize| row.dot(&covariance[(k * width + a) * d + l * width..][..width]);
                packed[linalg::place(k, l)] = row.entries().map(|(a, x)| x * along(a)).sum();
            }
        }
        linalg::cholesky(&packed, classes).unwrap_or_else(|| vec![0.0; linalg::packed(classes)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Logistic;

    const MODEL: Softmax = Softmax { classes: 3 };
    /// Inputs of a row: one number, two levels. Nine coefficients.
    const MEAN: [f64; 9] = [0.4, -0.7, 0.2, 1.1, -0.5, 0.3, -0.2, 0.6, -0.9];
    const DEVIATION: [f64; 9] = [0.9, 0.3, 1.0, 0.6, 0.8, 0.5, 0.7, 0.4, 1.1];

    fn rows() -> Rows {
        let mut rows = Rows::new(3, 1).unwrap();
        let inputs: [(f64, &[u32], f64); 4] =
            [(0.5, &[2], 1.0), (-1.3, &[1], 0.0), (2.0, &[], 2.0), (0.1, &[1, 2], 0.0)];
        inputs.iter().for_each(|(x, ones, outcome)| {
            rows.push(Row { numbers: &[*x], ones, outcome: *outcome }).unwrap();
        });
        rows
    }

    fn gaussian() -> Gaussian {
        Gaussian::new_diagonal(MEAN.to_vec(), DEVIATION.map(|s| s * s).to_vec()).unwrap()
    }

    fn gradient(seed: u64) -> Vec<f64> {
        let mut sum = vec![0.0; 18];
        let at = Point { mean: &MEAN, deviation: &DEVIATION };
        MODEL.gradients(&rows(), &[0, 1, 3], at, seed, &mut Scratch::default(), &mut sum).unwrap();
        sum
    }

    fn assert_close(a: &[f64], b: &[f64], slack: f64) {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).enumerate().for_each(|(j, (x, y))| assert!((x - y).abs() < slack, "{j}: {a:?} {b:?}"));
    }

    /// Σ E log p by brute force, at (μ, log s), the same draws at every point.
    fn objective(x: &[f64], draws: &[f64]) -> f64 {
        let variances: Vec<f64> = x[9..].iter().map(|l| libm::exp(2.0 * l)).collect();
        let (mut mean, mut deviation, mut a) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        let mut sum = 0.0;
        for i in [0, 1, 3] {
            let (all, row) = (rows(), i);
            dots(&all.row(row), &x[..9], &mut mean);
            deviations(&all.row(row), &variances, &mut deviation);
            for z in draws.chunks(3) {
                (0..3).for_each(|k| a[k] = mean[k] + deviation[k] * z[k]);
                sum += log_probability(&a, all.row(row).outcome) * 3.0 / draws.len() as f64;
            }
        }
        sum
    }

    #[test]
    fn gradients_are_on_average_the_slopes_of_the_expected_log_likelihood() {
        let mut draws = Vec::new();
        frames(3, 5000, 77, &mut draws);
        let at: Vec<f64> = MEAN.into_iter().chain(DEVIATION.map(libm::log)).collect();
        let slopes: Vec<f64> = (0..18)
            .map(|j| {
                let moved = |by: f64| {
                    let mut x = at.clone();
                    x[j] += by;
                    objective(&x, &draws)
                };
                (moved(1e-4) - moved(-1e-4)) / 2e-4
            })
            .collect();
        let mut mean = vec![0.0; 18];
        (0..5000).for_each(|seed| mean.iter_mut().zip(gradient(seed)).for_each(|(m, g)| *m += g / 5000.0));
        assert_close(&mean, &slopes, 0.01);
        // One frame of six draws is off by no more than this in any coordinate of three rows' sum.
        assert_close(&gradient(1), &slopes, 0.35);
        assert_eq!(gradient(5), gradient(5));
        assert_ne!(gradient(5), gradient(6));
    }

    #[test]
    fn statistics_are_the_gradients_in_natural_form() {
        let which = [0, 1, 3];
        let mut mean = [0.0; 18];
        (0..5000).for_each(|seed| mean.iter_mut().zip(gradient(seed)).for_each(|(m, g)| *m += g / 5000.0));
        let natural: Vec<f64> = (0..9)
            .map(|j| (mean[j], -mean[9 + j] / (DEVIATION[j] * DEVIATION[j])))
            .enumerate()
            .map(|(j, (g, precision))| g + precision * MEAN[j])
            .chain((0..9).map(|j| 0.5 * mean[9 + j] / (DEVIATION[j] * DEVIATION[j])))
            .collect();
        let found = MODEL.statistics(&rows(), &which, &gaussian(), Family::MeanField { dimension: 9 });
        assert_close(&found, &natural, 0.06);
    }

    #[test]
    fn a_full_covariance_has_the_curvature_between_classes() {
        let (d, all) = (9, [0, 1, 2, 3]);
        let family = Family::Full { dimension: d };
        // Nearly certain logits: the statistics are gradient and Hessian of the log-likelihood at the mean.
        let sharp = Gaussian::new_diagonal(MEAN.to_vec(), vec![1e-12; d]).unwrap();
        let precision = sharp.precision();
        let sharp_full = Gaussian::from_precision(MEAN.to_vec(), &precision).unwrap();
        let of = |x: &[f64]| MODEL.log_likelihood(&rows(), x);
        let moved = |i: usize, a: f64, j: usize, b: f64| {
            let mut x = MEAN;
            x[i] += a;
            x[j] += b;
            of(&x)
        };
        let h = 1e-4;
        let hessian = |i: usize, j: usize| {
            (moved(i, h, j, h) - moved(i, h, j, -h) - moved(i, -h, j, h) + moved(i, -h, j, -h)) / (4.0 * h * h)
        };
        let slope = |i: usize| (moved(i, h, i, 0.0) - moved(i, -h, i, 0.0)) / (2.0 * h);
        let mut natural: Vec<f64> =
            (0..d).map(|i| slope(i) - (0..d).map(|j| hessian(i, j) * MEAN[j]).sum::<f64>()).collect();
        for i in 0..d {
            natural.extend((0..=i).map(|j| if i == j { 0.5 } else { 1.0 } * hessian(i, j)));
        }
        for q in [sharp, sharp_full] {
            assert_close(&MODEL.statistics(&rows(), &all, &q, family), &natural, 1e-5);
        }
    }

    #[test]
    fn of_two_classes_it_is_logistic_regression_in_their_difference() {
        // a₁ − a₀ has the coefficients θ of a logistic model where the first class has none to speak of.
        let two = Softmax { classes: 2 };
        let mean: Vec<f64> = [0.0; 3].into_iter().chain(MEAN[..3].iter().copied()).collect();
        let variances: Vec<f64> = [1e-12; 3].into_iter().chain(DEVIATION[..3].iter().map(|s| s * s)).collect();
        let q = Gaussian::new_diagonal(mean, variances.clone()).unwrap();
        let one = Gaussian::new_diagonal(MEAN[..3].to_vec(), variances[3..].to_vec()).unwrap();
        let logistic = Logistic::default().predict(&rows(), &one);
        for (both, single) in two.predict(&rows(), &q).iter().zip(&logistic) {
            let (Prediction::Classes(p), Prediction::Probability(expected)) = (both, single) else { unreachable!() };
            assert!((p[1] - expected).abs() < 0.05 && (p[0] + p[1] - 1.0).abs() < 1e-12, "{p:?} {expected}");
        }
    }

    #[test]
    fn a_correlated_q_predicts_from_correlated_logits() {
        // One input: logits a₀ and a₁ that always move together, beside a₂ = 0: p₀ = p₁ whatever is drawn.
        let mut rows = Rows::new(1, 1).unwrap();
        rows.push(Row { numbers: &[1.0], ones: &[], outcome: 0.0 }).unwrap();
        let rho: f64 = 0.999_999;
        let off = -rho / (1.0 - rho * rho);
        let precision = [1.0 / (1.0 - rho * rho), off, 1.0 / (1.0 - rho * rho), 0.0, 0.0, 1e12];
        let q = Gaussian::from_precision(vec![0.5, 0.5, 0.0], &precision).unwrap();
        let Prediction::Classes(p) = &MODEL.predict(&rows, &q)[0] else { unreachable!() };
        assert!((p[0] - p[1]).abs() < 2e-3 && p[2] < p[0], "{p:?}");
    }

    #[test]
    fn extremes_stay_numbers() {
        let rows = rows();
        assert_eq!(MODEL.log_likelihood(&rows.select(&[2]), &[1e5, 0.0, 0.0, 0.0, 0.0, 0.0, -1e5, 0.0, 0.0]), -4e5);
        let mut p = [1e308, -1e308, 0.0];
        softmax(&mut p);
        assert!(p[0] == 1.0 && p.iter().all(|p| p.is_finite()));
        assert_eq!(log_probability(&[0.0, 1.0], 7.0), f64::NEG_INFINITY);
    }
}
