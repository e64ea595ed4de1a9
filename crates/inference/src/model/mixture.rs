//! Two normal components with tied means: y ~ ½N(θ₁, v) + ½N(θ₁ + θ₂, v). Two modes, and no inputs.
//!
//! The test case of Paper II: the posterior has two modes, (θ₁, θ₂) and (θ₁ + θ₂, −θ₂), which no
//! Gaussian serves. Samplers are measured against moments that are computed by quadrature.

use super::quadrature::{Exact, moments};
use super::{Model, ModelSettings, OutcomeNeed, Point, Prediction, Scratch, Sink};
use crate::describe::{Descriptor, Key, Limits, Offer, Otherwise, ValueKind};
use crate::family::as_natural;
use crate::special::{exp_under, log_1p_of_unit, log_1p_over_1p};
use crate::{Family, Gaussian, Rows, linalg};
use privacy::PrivacyError;
use serde::Serialize;
use std::f64::consts::PI;
use std::sync::Arc;
use toml::{Table, Value};

/// The mixture of Welling and Teh 2011 (section 5.1), on which posteriors have two modes.
///
/// Parameters: θ₁, the mean of one half of the outcomes, and θ₂, how far the other half's is from it. Inputs are not
/// looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixture {
    /// v, the variance of each component, positive.
    pub variance: f64,
    /// The prior's precisions of θ₁ and θ₂, in units of the study's.
    pub precisions: [f64; 2],
}

impl Mixture {
    /// Distances of y from both means.
    fn off(theta: &[f64], y: f64) -> (f64, f64) {
        (y - theta[0], y - theta[0] - theta[1])
    }

    /// log p(y | θ) in place of each y: a loop of its own, which becomes vector code.
    fn replace_by_logs(&self, theta: &[f64], outcomes: &mut [f64]) {
        let (rate, constant) = (0.5 / self.variance, -0.5 * libm::log(8.0 * PI * self.variance));
        for y in outcomes {
            let (a, b) = Self::off(theta, *y);
            let (a, b) = (rate * a * a, rate * b * b);
            *y = constant - a.min(b) + log_1p_of_unit(exp_under(-(a - b).abs()));
        }
    }

    /// P(first component | y, θ).
    fn first(&self, (a, b): (f64, f64)) -> f64 {
        1.0 / (1.0 + libm::exp(0.5 * (a * a - b * b) / self.variance))
    }
}

/// Cells into which outcomes are gathered, each at the mean of its own, for sums over a grid of parameters: with a width of h
/// each log-likelihood is off by at most h²/8 times its curvature in y, of which the part that does not depend on θ cancels.
const CELLS: usize = 4096;

/// Cells for a first look.
const FEW_CELLS: usize = 64;

/// How far from the outcomes' mean, in their deviations, parameters are looked for.
const FAR: f64 = 10.0;

/// Outcomes gathered into cells: their means and how many there are in each, and room for logarithms.
struct Gathered {
    /// Mean outcome of each cell.
    means: Vec<f64>,
    /// Outcomes in each cell.
    weights: Vec<f64>,
    /// Room for one log-likelihood for each cell.
    logs: Vec<f64>,
}

impl Gathered {
    /// Cells of equal width from the least to the largest outcome; empty ones are left out.
    fn of(outcomes: &[f64], cells: usize) -> Self {
        let (low, high) = outcomes.iter().fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(*y), high.max(*y)));
        let mut filled = vec![(0.0, 0.0); cells];
        for y in outcomes {
            let place = (cells as f64 * (y - low) / (high - low)) as usize;
            let (sum, weight) = &mut filled[place.min(cells - 1)];
            *sum += y;
            *weight += 1.0;
        }
        filled.retain(|(_, weight)| *weight > 0.0);
        let means = filled.iter().map(|(sum, weight)| sum / weight).collect();
        Self { means, weights: filled.iter().map(|(_, weight)| *weight).collect(), logs: Vec::new() }
    }

    /// Σ log p(y | θ).
    fn log_likelihood(&mut self, model: &Mixture, theta: [f64; 2]) -> f64 {
        self.logs.clone_from(&self.means);
        model.replace_by_logs(&theta, &mut self.logs);
        linalg::dot(&self.weights, &self.logs)
    }
}

/// `kind = "mixture"`: the settings of [`Mixture`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MixtureSettings {
    /// v, the variance of each component, positive.
    pub variance: f64,
    /// The prior's precisions of θ₁ and θ₂, in units of the study's.
    pub precisions: [f64; 2],
}

impl MixtureSettings {
    /// Welling and Teh 2011: both components have variance 2, and the prior's variances are 10 and 1.
    pub const PUBLISHED: Self = Self { variance: 2.0, precisions: [0.1, 1.0] };
}

/// `kind = "mixture"`
pub(crate) const DESCRIPTOR: Descriptor<dyn ModelSettings> = Descriptor {
    name: "mixture",
    also: &["gaussian-mixture"],
    about: "Two normal halves with tied means, whose posterior has two modes (Welling and Teh 2011).",
    keys: &[
        Key::new("variance", ValueKind::Positive, "2.0")
            .about("variance of each component")
            .otherwise(Otherwise::Number(MixtureSettings::PUBLISHED.variance)),
        Key::new("precisions", ValueKind::Positives { length: 2 }, "[0.1, 1.0]")
            .about("precisions of both parameters, in units of the prior's")
            .otherwise(Otherwise::Follows("[0.1, 1.0]")),
    ],
    limits: Limits::NONE,
    read: |reading| {
        let precisions = reading.keys.maybe_numbers("precisions")?;
        let precisions = precisions.and_then(|list| <[f64; 2]>::try_from(list).ok());
        let precisions = precisions.unwrap_or(MixtureSettings::PUBLISHED.precisions);
        Ok(Arc::new(MixtureSettings { variance: reading.keys.number("variance")?, precisions }))
    },
};

impl ModelSettings for MixtureSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let [first, second] = self.precisions;
        format!("mixture of two normal halves of variance {}, precisions times {first} and {second}", self.variance)
    }

    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::Number
    }

    fn build(&self, _: Option<usize>, _: u64) -> Arc<dyn Model> {
        Arc::new(Mixture { variance: self.variance, precisions: self.precisions })
    }

    fn keys(&self) -> Table {
        let precisions = self.precisions.map(Value::Float).to_vec();
        let keys = [("variance", Value::Float(self.variance)), ("precisions", Value::Array(precisions))];
        keys.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn names(&self, _: &[String], _: &[String]) -> Vec<String> {
        vec!["mean of one half".to_owned(), "distance of the other".to_owned()]
    }

    fn component_variance(&self) -> Option<f64> {
        Some(self.variance)
    }

    fn has_inputs(&self) -> bool {
        false
    }
}

impl Model for Mixture {
    fn offers(&self) -> &'static [Offer] {
        &[Offer::Gradients]
    }

    fn parameters(&self, _: usize) -> usize {
        2
    }

    /// θ₂ = 0 is as far from both modes: whoever starts there stays.
    /// So it starts at θ₂ = 1.
    fn initial(&self, _: usize) -> Option<Gaussian> {
        Gaussian::new_diagonal(vec![0.0, 1.0], vec![1.0, 1.0])
    }

    fn precisions(&self, _: usize, precision: f64) -> Vec<f64> {
        self.precisions.map(|relative| relative * precision).to_vec()
    }

    /// With the nearer component's distance a and the other's b: −a²/2v − ½log(2πv) + log(½(1 + e^((a² − b²)/2v))).
    fn log_likelihoods(&self, rows: &Rows, which: &[usize], theta: &[f64], _: &mut Scratch, into: &mut Vec<f64>) {
        let outcomes = rows.outcomes();
        into.clear();
        into.extend(which.iter().map(|&i| outcomes[i]));
        self.replace_by_logs(theta, into);
    }

    /// By sums over a grid, of outcomes that were gathered into [`CELLS`].
    fn exact(&self, rows: &Rows, precisions: &[f64], temper: f64) -> Option<Exact> {
        let (outcomes, n) = (rows.outcomes(), rows.len() as f64);
        let mean = outcomes.iter().sum::<f64>() / n;
        let deviation = (outcomes.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>() / n).sqrt();
        let prior = |theta: [f64; 2]| -> f64 { theta.iter().zip(precisions).map(|(t, p)| -0.5 * p * t * t).sum() };
        let (mut all, mut few) = (Gathered::of(outcomes, CELLS), Gathered::of(outcomes, FEW_CELLS));
        let log_density = |theta| prior(theta) + temper * all.log_likelihood(self, theta);
        let roughly = |theta| prior(theta) + temper * few.log_likelihood(self, theta);
        let far = FAR * (deviation + self.variance.sqrt());
        moments(log_density, roughly, [[mean - far, -2.0 * far], [mean + far, 2.0 * far]])
    }

    /// p(y | θ) ∝ e^(−a)(1 + e^s) with a = (y − θ₁)²/2v and s = θ₂(2(y − θ₁) − θ₂)/2v, so that the log-ratio is a − a' + log(1 + e^s')
    /// − log(1 + e^s): both s and a − a' are linear in y, log(1 + e^s) = max(s, 0) + log(1 + e^(−|s|)), and one logarithm
    /// serves both.
    fn log_ratios(
        &self,
        rows: &Rows,
        which: &[usize],
        (from, to): (&[f64], &[f64]),
        _: &mut Scratch,
        into: &mut Vec<f64>,
    ) {
        let (rate, outcomes) = (0.5 / self.variance, rows.outcomes());
        let line = |theta: &[f64]| (2.0 * rate * theta[1], -rate * theta[1] * (2.0 * theta[0] + theta[1]));
        let ((slope, start), (new_slope, new_start)) = (line(from), line(to));
        let apart = (2.0 * rate * (to[0] - from[0]), rate * (from[0] - to[0]) * (from[0] + to[0]));
        into.clear();
        into.extend(which.iter().map(|&i| outcomes[i]));
        for y in into {
            let (s, t) = (slope * *y + start, new_slope * *y + new_start);
            let bend = log_1p_over_1p(exp_under(-t.abs()), exp_under(-s.abs()));
            let (s, t) = (if s > 0.0 { s } else { 0.0 }, if t > 0.0 { t } else { 0.0 });
            *y = (apart.0 * *y + apart.1) + (t - s) + bend;
        }
    }

    /// At the draw θ = μ: r·(y − θ₁) + (1 − r)·(y − θ₁ − θ₂) and (1 − r)·(y − θ₁ − θ₂), by the responsibility r, over v.
    fn gradients(
        &self,
        rows: &Rows,
        which: &[usize],
        at: Point<'_>,
        seed: u64,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), PrivacyError> {
        let shift = &mut scratch.per_parameter;
        super::shifts(at, seed, 1, shift);
        let theta = [at.mean[0] + shift[0], at.mean[1] + shift[1]];
        for &i in which {
            let off = Self::off(&theta, rows.outcomes()[i]);
            let first = self.first(off);
            let second = (1.0 - first) * off.1 / self.variance;
            let by_mean = [first * off.0 / self.variance + second, second];
            sink.add(&[0, 1], &[by_mean[0], by_mean[1], by_mean[0] * shift[0], by_mean[1] * shift[1]])?;
        }
        Ok(())
    }

    /// The factor that the rows would get if the component of each were known with the probabilities that it has at μ.
    fn statistics(&self, rows: &Rows, which: &[usize], q: &Gaussian, family: Family) -> Vec<f64> {
        let (mean, v) = (q.mean(), self.variance);
        // Σ over rows of both parts' weights and of weight·distance.
        let (mut weights, mut pulls) = ([0.0; 2], [0.0; 2]);
        for &i in which {
            let off = Self::off(mean, rows.outcomes()[i]);
            let first = self.first(off);
            weights[0] += first / v;
            weights[1] += (1.0 - first) / v;
            pulls[0] += first * off.0 / v;
            pulls[1] += (1.0 - first) * off.1 / v;
        }
        // Λ = w₁·(1, 0)(1, 0)ᵀ + w₂·(1, 1)(1, 1)ᵀ, packed.
        let mut precision = vec![weights[0] + weights[1], weights[1], weights[1]];
        let gradient = [pulls[0] + pulls[1], pulls[1]];
        if let Family::MeanField { .. } = family {
            precision.remove(1);
            let natural = |(j, g): (usize, &f64)| g + precision[j] * mean[j];
            return gradient.iter().enumerate().map(natural).chain(precision.iter().map(|p| -0.5 * p)).collect();
        }
        let moved = linalg::symmetric_times(&precision, mean);
        let first = gradient.iter().zip(moved).map(|(g, m)| g + m);
        first.chain(as_natural(&precision, 2)).collect()
    }

    /// Mean and deviation of y: its two components lie θ₂ apart.
    fn predict(&self, rows: &Rows, q: &Gaussian) -> Vec<Prediction> {
        let (mean, variances) = (q.mean(), q.variances());
        let apart = 0.25 * (mean[1] * mean[1] + variances[1]);
        let centre = linalg::dot(&[1.0, 0.5], &q.covariance_times(&[1.0, 0.5]));
        let deviation = (self.variance + apart + centre).sqrt();
        let all = Prediction::Normal { mean: mean[0] + 0.5 * mean[1], deviation };
        vec![all; rows.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Row;

    const MODEL: Mixture = Mixture { variance: 2.0, precisions: [0.1, 1.0] };
    const THETA: [f64; 2] = [0.4, -1.3];

    fn rows() -> Rows {
        let mut rows = Rows::new(1, 1).unwrap();
        for outcome in [-2.0, -0.4, 0.1, 0.9, 3.5] {
            rows.push(Row { numbers: &[0.0], ones: &[], outcome }).unwrap();
        }
        rows
    }

    #[test]
    fn the_likelihood_is_that_of_the_mixture() {
        let density = |x: f64| libm::exp(-x * x / 4.0) / (4.0 * PI).sqrt();
        let of = |y: &f64| libm::log(0.5 * density(y - THETA[0]) + 0.5 * density(y - THETA[0] - THETA[1]));
        let by_hand: f64 = rows().outcomes().iter().map(of).sum();
        assert!((MODEL.log_likelihood(&rows(), &THETA) - by_hand).abs() < 1e-12);
    }

    #[test]
    fn ratios_are_those_of_the_likelihoods() {
        let (all, to) = ([4, 0, 3, 1, 2], [-0.7, 2.5]);
        let (mut scratch, mut each) = (Scratch::default(), [Vec::new(), Vec::new(), Vec::new()]);
        MODEL.log_likelihoods(&rows(), &all, &THETA, &mut scratch, &mut each[0]);
        MODEL.log_likelihoods(&rows(), &all, &to, &mut scratch, &mut each[1]);
        MODEL.log_ratios(&rows(), &all, (&THETA, &to), &mut scratch, &mut each[2]);
        for i in 0..5 {
            assert!((each[2][i] - (each[1][i] - each[0][i])).abs() < 1e-12, "{i}: {each:?}");
        }
    }

    #[test]
    fn gradients_without_deviation_are_the_slopes_of_the_likelihood() {
        let (mut sum, all) = (vec![0.0; 4], [0, 1, 2, 3, 4]);
        let at = Point { mean: &THETA, deviation: &[0.0, 0.0] };
        MODEL.gradients(&rows(), &all, at, 1, &mut Scratch::default(), &mut sum).unwrap();
        for j in 0..2 {
            let moved = |by: f64| {
                let mut theta = THETA;
                theta[j] += by;
                MODEL.log_likelihood(&rows(), &theta)
            };
            assert!((sum[j] - (moved(1e-5) - moved(-1e-5)) / 2e-5).abs() < 1e-8, "{j}");
            assert_eq!(sum[2 + j], 0.0);
        }
    }

    /// η₁ = gradient + Λμ in both families: at a mode the factor does not pull.
    #[test]
    fn factors_pull_as_the_gradient_does() {
        let q = Gaussian::new_diagonal(THETA.to_vec(), vec![0.1, 0.1]).unwrap();
        let (mut gradient, all) = (vec![0.0; 4], [0, 1, 2, 3, 4]);
        let at = Point { mean: &THETA, deviation: &[0.0, 0.0] };
        MODEL.gradients(&rows(), &all, at, 1, &mut Scratch::default(), &mut gradient).unwrap();
        for family in [Family::MeanField { dimension: 2 }, Family::Full { dimension: 2 }] {
            let eta = MODEL.statistics(&rows(), &all, &q, family);
            assert_eq!(eta.len(), family.len());
            let lambda = |j: usize, k: usize| match family {
                Family::MeanField { .. } if j == k => -2.0 * eta[2 + j],
                Family::MeanField { .. } => 0.0,
                Family::Full { .. } if j == k => -2.0 * eta[2 + linalg::place(j, j)],
                Family::Full { .. } => -eta[3],
            };
            for j in 0..2 {
                let moved: f64 = (0..2).map(|k| lambda(j, k) * THETA[k]).sum();
                assert!((eta[j] - moved - gradient[j]).abs() < 1e-12, "{family:?}");
            }
        }
    }

    /// A sum over a grid by hand, over rows as they are.
    #[test]
    fn the_exact_posterior_is_that_of_the_rows() {
        let mut rows = Rows::new(1, 1).unwrap();
        for i in 0..40 {
            let outcome = 3.0 * libm::sin(f64::from(i)) + 0.5;
            rows.push(Row { numbers: &[0.0], ones: &[], outcome }).unwrap();
        }
        let (precisions, temper) = ([0.1, 1.0], 0.4);
        let found = MODEL.exact(&rows, &precisions, temper).unwrap();
        let (mut whole, mut sums) = (0.0, [0.0; 4]);
        for i in -80..=90 {
            for k in -100..=100 {
                let theta = [0.1 * f64::from(i), 0.1 * f64::from(k)];
                let prior = -0.5 * (0.1 * theta[0] * theta[0] + theta[1] * theta[1]);
                let weight = libm::exp(prior + temper * (MODEL.log_likelihood(&rows, &theta) + 80.0));
                whole += weight;
                let parts = [theta[0], theta[1], theta[0] * theta[0], theta[1] * theta[1]];
                sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += weight * part);
            }
        }
        let [a, b, aa, bb] = sums.map(|sum| sum / whole);
        let by_hand = [a, b, aa - a * a, bb - b * b];
        for (found, expected) in found.mean.iter().chain(&found.variances).zip(by_hand) {
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
    }

    #[test]
    fn predictions_have_the_moments_of_draws() {
        let q = Gaussian::from_precision(vec![0.5, 2.0], &[4.0, 1.5, 3.0]).unwrap();
        let mut rng: chacha20::ChaCha8Rng = rand_core::SeedableRng::seed_from_u64(3);
        let draws = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for k in 0..draws {
            let theta = q.sample(&mut rng);
            let centre = theta[0] + if k % 2 == 0 { theta[1] } else { 0.0 };
            sum += centre;
            squares += centre * centre + MODEL.variance;
        }
        let (mean, square) = (sum / f64::from(draws), squares / f64::from(draws));
        let Prediction::Normal { mean: m, deviation } = MODEL.predict(&rows(), &q)[0] else { panic!("a number") };
        assert!((m - mean).abs() < 0.01 && (deviation - (square - mean * mean).sqrt()).abs() < 0.01);
    }
}
