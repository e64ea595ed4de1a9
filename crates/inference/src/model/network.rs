//! Bayesian neural networks: ReLU layers, and a logistic or softmax output.
//!
//! One hidden layer of 50 units is the network of Heikkilä et al. 2022. Every weight has a mean and a
//! deviation; a batch sees one draw of all weights. A row's gradient is an outer product for each layer,
//! of which the norm follows from two short vectors: clipping needs no gradient of a single row
//! (`docs/maths/ghost-clipping.md`).

use super::pass::{Pass, weights};
use super::settings::{DRAWS, by_draws, draws_value};
use super::shift::shifts;
use super::softmax::{log_probability, softmax};
use super::{Model, ModelSettings, OutcomeNeed, Point, Prediction, Scratch, Sink};
use crate::describe::{Descriptor, Key, Limits, Offer, Otherwise, ValueKind};
use crate::special::sigmoid;
use crate::{Family, Gaussian, Rows};
use chacha20::ChaCha8Rng;
use privacy::PrivacyError;
use rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::sync::Arc;
use toml::{Table, Value};

/// A network of hidden layers over the inputs of a row.
///
/// Gradients are those at one draw of the weights, θ = μ + s∘ε, the same for all rows of a batch; a row's gradient by
/// log s is then s∘ε times that by μ, and neither is ever formed for a single row (`docs/maths/ghost-clipping.md`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Sizes of the hidden layers, each at least one; none is a regression by draws.
    pub hidden: Vec<usize>,
    /// What comes out.
    pub output: Output,
    /// Draws of the weights for new rows, always the same ones.
    pub draws: u32,
    /// Seeds the means that learning starts from.
    pub seed: u64,
}

/// What a network predicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Outcomes 0 and 1.
    Binary,
    /// The number of a class, from 0.
    Classes(usize),
}

/// Means that learning starts from are uniform up to this in size, and of this variance, as in section 5 of Heikkilä et al.
/// 2022: with the prior's wide q one draw of the weights says nothing, and with equal means hidden units stay alike.
const INITIAL_SIZE: f64 = 0.1;
/// Variance of the start, of every weight.
const INITIAL_VARIANCE: f64 = 1e-3;

/// Rows that pass at once where all are asked for.
const AT_ONCE: usize = 512;

/// Draws of [`Network::statistics`].
const STATISTICS_DRAWS: u64 = 8;

impl Output {
    /// Outputs of the last layer.
    fn size(self) -> usize {
        match self {
            Self::Binary => 1,
            Self::Classes(classes) => classes,
        }
    }

    /// From the outputs of one row to the derivatives of log p by them: y − p.
    fn residuals(self, outputs: &mut [f64], outcome: f64) {
        match self {
            Self::Binary => outputs.iter_mut().for_each(|a| *a = outcome - sigmoid(*a)),
            Self::Classes(_) => {
                softmax(outputs);
                let y = |k: usize| f64::from(u8::from(k as f64 == outcome));
                outputs.iter_mut().enumerate().for_each(|(k, p)| *p = y(k) - *p);
            }
        }
    }

    /// Outputs become probabilities, row by row.
    fn probabilities(self, outputs: &mut [f64]) {
        match self {
            Self::Binary => outputs.iter_mut().for_each(|a| *a = sigmoid(*a)),
            Self::Classes(classes) => outputs.chunks_mut(classes).for_each(softmax),
        }
    }

    /// log p of one row's outcome, from its outputs.
    fn log_likelihood(self, outputs: &[f64], outcome: f64) -> f64 {
        match self {
            Self::Binary => {
                let softplus = |a: f64| a.max(0.0) + libm::log1p(libm::exp(-a.abs()));
                outputs.iter().map(|a| outcome * a - softplus(*a)).sum()
            }
            Self::Classes(_) => log_probability(outputs, outcome),
        }
    }
}

impl Network {
    /// Inputs, hidden layers, outputs.
    fn sizes(&self, width: usize) -> Vec<usize> {
        std::iter::once(width).chain(self.hidden.iter().copied()).chain([self.output.size()]).collect()
    }

    /// Hands over the outputs with weights θ, some rows at a time.
    fn outputs(&self, rows: &Rows, theta: &[f64], pass: &mut Pass, mut take: impl FnMut(usize, &mut [f64])) {
        let sizes = self.sizes(rows.width());
        for start in (0..rows.len()).step_by(AT_ONCE) {
            pass.load(rows, start..rows.len().min(start + AT_ONCE));
            take(start, pass.forward(&sizes, theta));
        }
    }
}

/// `kind = "network"`: the settings of [`Network`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NetworkSettings {
    /// Sizes of the hidden layers.
    pub hidden: Vec<usize>,
    /// Draws of the weights for new rows.
    pub draws: u32,
}

/// Draws of a network's predictions where a study does not say.
const NETWORK_DRAWS: u32 = 20;

/// The papers' hidden layer.
const HIDDEN: f64 = 50.0;

/// `kind = "network"`
pub(crate) const DESCRIPTOR: Descriptor<dyn ModelSettings> = Descriptor {
    name: "network",
    also: &["bnn", "neural-network", "mlp"],
    about: "A Bayesian neural network with ReLU layers, for an outcome with levels.",
    keys: &[
        Key::new("hidden", ValueKind::Counts { least: 1, most: 10_000 }, "[50]")
            .about("sizes of the hidden layers")
            .otherwise(Otherwise::Follows("[50]")),
        Key::new("predictive", ValueKind::Table(DRAWS), "{ draws = 20 }")
            .about("by how many draws of the weights predictions are made")
            .otherwise(Otherwise::Follows("{ draws = 20 }")),
    ],
    limits: Limits::NONE,
    read: |reading| {
        let hidden = reading.keys.maybe_numbers("hidden")?.unwrap_or_else(|| vec![HIDDEN]);
        let draws = by_draws(&reading.keys, "predictive")?.unwrap_or(NETWORK_DRAWS);
        Ok(Arc::new(NetworkSettings { hidden: hidden.into_iter().map(|size| size as usize).collect(), draws }))
    },
};

impl ModelSettings for NetworkSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let sizes: Vec<String> = self.hidden.iter().map(usize::to_string).collect();
        format!("network of {} hidden units, predictions by {} draws", sizes.join(", "), self.draws)
    }

    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::Levels
    }

    /// Two levels have one logistic output, more have one output each.
    fn build(&self, levels: Option<usize>, seed: u64) -> Arc<dyn Model> {
        let output = match levels {
            None | Some(2) => Output::Binary,
            Some(levels) => Output::Classes(levels),
        };
        Arc::new(Network { hidden: self.hidden.clone(), output, draws: self.draws, seed })
    }

    fn keys(&self) -> Table {
        let sizes = self.hidden.iter().map(|size| Value::Integer(*size as i64)).collect();
        let keys = [("hidden".to_owned(), Value::Array(sizes)), ("predictive".to_owned(), draws_value(self.draws))];
        Table::from_iter(keys)
    }

    /// Weights have none.
    fn names(&self, _: &[String], _: &[String]) -> Vec<String> {
        Vec::new()
    }
}

impl Model for Network {
    fn offers(&self) -> &'static [Offer] {
        &[Offer::OneDrawPerBatch, Offer::Gradients, Offer::GaussianPosterior]
    }

    fn parameters(&self, width: usize) -> usize {
        weights(&self.sizes(width))
    }

    fn log_likelihoods(&self, rows: &Rows, which: &[usize], theta: &[f64], scratch: &mut Scratch, into: &mut Vec<f64>) {
        into.clear();
        let sizes = self.sizes(rows.width());
        for which in which.chunks(AT_ONCE) {
            scratch.pass.load(rows, which.iter().copied());
            let outputs = scratch.pass.forward(&sizes, theta).chunks(self.output.size());
            into.extend(outputs.zip(which).map(|(a, &i)| self.output.log_likelihood(a, rows.outcomes()[i])));
        }
    }

    /// By back-propagation at θ = μ + s∘ε: A ⊗ D for each layer by μ, and s∘ε times that by log s.
    fn gradients(
        &self,
        rows: &Rows,
        which: &[usize],
        at: Point<'_>,
        seed: u64,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), PrivacyError> {
        let sizes = self.sizes(rows.width());
        let Scratch { per_row: [theta, ..], per_parameter: shift, pass, .. } = scratch;
        shifts(at, seed, 1, shift);
        theta.clear();
        theta.extend(shift.iter().zip(at.mean).map(|(shift, mean)| mean + shift));
        pass.load(rows, which.iter().copied());
        let outputs = pass.forward(&sizes, theta);
        for (outputs, &i) in outputs.chunks_mut(self.output.size()).zip(which) {
            self.output.residuals(outputs, rows.row(i).outcome);
        }
        pass.backward(&sizes, theta);
        sink.add_layers(&pass.layers(&sizes), shift)
    }

    /// An estimate by a few fixed draws, of which any family keeps the diagonal: Λ = −(∂/∂ log s)/s², and ∂/∂μ + Λμ.
    fn statistics(&self, rows: &Rows, which: &[usize], q: &Gaussian, family: Family) -> Vec<f64> {
        let (d, deviation) = (family.dimension(), q.deviations());
        let (mut sum, mut scratch) = (vec![0.0; 2 * d], Scratch::default());
        let at = Point { mean: q.mean(), deviation: &deviation };
        // A plain sum takes every gradient.
        let complete =
            (0..STATISTICS_DRAWS).all(|seed| self.gradients(rows, which, at, seed, &mut scratch, &mut sum).is_ok());
        let share = if complete { 1.0 / STATISTICS_DRAWS as f64 } else { f64::NAN };
        let mut natural = vec![0.0; family.len()];
        for j in 0..d {
            let precision = -share * sum[d + j] / (deviation[j] * deviation[j]);
            natural[j] = share * sum[j] + precision * q.mean()[j];
            natural[family.diagonal(j)] = -0.5 * precision;
        }
        natural
    }

    /// Means of its own for every weight, from the seed: equal hidden units would stay equal.
    fn initial(&self, dimension: usize) -> Option<Gaussian> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut uniform = || ((rng.next_u64() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0) * INITIAL_SIZE;
        Gaussian::new_diagonal((0..dimension).map(|_| uniform()).collect(), vec![INITIAL_VARIANCE; dimension])
    }

    fn draws_once(&self) -> bool {
        true
    }

    /// Means of the probabilities over fixed draws of the weights.
    fn predict(&self, rows: &Rows, q: &Gaussian) -> Vec<Prediction> {
        let (size, draws) = (self.output.size(), self.draws.max(1));
        let (mut rng, mut pass) = (ChaCha8Rng::seed_from_u64(0), Pass::default());
        let mut mean = vec![0.0; rows.len() * size];
        for _ in 0..draws {
            let theta = q.sample(&mut rng);
            self.outputs(rows, &theta, &mut pass, |start, outputs| {
                self.output.probabilities(outputs);
                let into = mean[start * size..].iter_mut();
                into.zip(outputs).for_each(|(m, p)| *m += *p / f64::from(draws));
            });
        }
        let one = |p: &[f64]| match self.output {
            Output::Binary => Prediction::Probability(p[0].clamp(0.0, 1.0)),
            Output::Classes(_) => Prediction::Classes(p.to_vec()),
        };
        mean.chunks(size).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Row;

    fn network(hidden: &[usize], output: Output) -> Network {
        Network { hidden: hidden.to_vec(), output, draws: 4, seed: 3 }
    }

    fn rows(classes: u32) -> Rows {
        let mut rows = Rows::new(4, 2).unwrap();
        let inputs: [(&[f64], &[u32]); 4] =
            [(&[0.5, -1.2], &[2]), (&[-0.3, 0.8], &[3]), (&[2.0, 0.0], &[]), (&[0.1, 1.5], &[2, 3])];
        for (k, (numbers, ones)) in inputs.into_iter().enumerate() {
            rows.push(Row { numbers, ones, outcome: f64::from(k as u32 % classes) }).unwrap();
        }
        rows
    }

    fn kinds() -> Vec<(Network, Rows)> {
        let of = |hidden: &[usize], output, classes| (network(hidden, output), rows(classes));
        vec![
            of(&[3], Output::Binary, 2),
            of(&[], Output::Binary, 2),
            of(&[3, 2], Output::Classes(3), 3),
            of(&[2], Output::Classes(4), 4),
        ]
    }

    /// Some q for so many parameters.
    fn point(d: usize) -> (Vec<f64>, Vec<f64>) {
        let mean = (0..d).map(|j| libm::sin(j as f64 * 1.7 + 0.4)).collect();
        (mean, (0..d).map(|j| 0.2 + 0.1 * libm::cos(j as f64)).collect())
    }

    #[test]
    fn gradients_are_the_slopes_of_the_log_likelihood_at_the_draw() {
        for (model, rows) in kinds() {
            let d = model.parameters(4);
            let (mean, deviation) = point(d);
            let (which, seed) = ([0, 1, 3], 9);
            let chosen = rows.select(&which);
            let mut unit = Vec::new();
            shifts(Point { mean: &mean, deviation: &vec![1.0; d] }, seed, 1, &mut unit);
            let objective = |x: &[f64]| {
                let theta: Vec<f64> = (0..d).map(|j| x[j] + libm::exp(x[d + j]) * unit[j]).collect();
                model.log_likelihood(&chosen, &theta)
            };
            let at: Vec<f64> = mean.iter().copied().chain(deviation.iter().map(|s| libm::log(*s))).collect();
            let mut gradient = vec![0.0; 2 * d];
            let point = Point { mean: &mean, deviation: &deviation };
            model.gradients(&rows, &which, point, seed, &mut Scratch::default(), &mut gradient).unwrap();
            for j in 0..2 * d {
                let moved = |by: f64| {
                    let mut x = at.clone();
                    x[j] += by;
                    objective(&x)
                };
                let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!((gradient[j] - slope).abs() < 1e-7, "{model:?}, {j}: {} {slope}", gradient[j]);
            }
            assert!(gradient.iter().filter(|g| **g != 0.0).count() > d / 2, "{model:?} is dead");
        }
    }

    /// Takes rows one by one only.
    struct OneByOne(Vec<f64>, usize);

    impl Sink for OneByOne {
        fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
            assert!(positions.windows(2).all(|w| w[0] < w[1]));
            self.1 += 1;
            self.0.add(positions, values)
        }
    }

    #[test]
    fn rows_that_are_formed_one_by_one_add_up_to_the_same() {
        for (model, rows) in kinds() {
            let d = model.parameters(4);
            let (mean, deviation) = point(d);
            let (at, mut scratch) = (Point { mean: &mean, deviation: &deviation }, Scratch::default());
            let (mut together, mut single) = (vec![0.0; 2 * d], OneByOne(vec![0.0; 2 * d], 0));
            model.gradients(&rows, &[3, 0, 2], at, 1, &mut scratch, &mut together).unwrap();
            model.gradients(&rows, &[3, 0, 2], at, 1, &mut scratch, &mut single).unwrap();
            assert_eq!(single.1, 3);
            assert!(together.iter().zip(&single.0).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn statistics_are_the_gradients_in_natural_form() {
        let (model, rows) = kinds().remove(0);
        let d = model.parameters(4);
        let (mean, deviation) = point(d);
        let q = Gaussian::new_diagonal(mean.clone(), deviation.iter().map(|s| s * s).collect()).unwrap();
        let mut sum = vec![0.0; 2 * d];
        for seed in 0..8 {
            let at = Point { mean: &mean, deviation: &deviation };
            model.gradients(&rows, &[0, 1], at, seed, &mut Scratch::default(), &mut sum).unwrap();
        }
        let natural = model.statistics(&rows, &[0, 1], &q, Family::MeanField { dimension: d });
        for j in 0..d {
            let half = 0.5 * sum[d + j] / 8.0 / (deviation[j] * deviation[j]);
            assert!(
                (natural[d + j] - half).abs() < 1e-10
                    && (natural[j] - sum[j] / 8.0 + 2.0 * half * mean[j]).abs() < 1e-10
            );
        }
    }

    #[test]
    fn learning_starts_at_small_means_that_follow_from_the_seed() {
        let model = network(&[3], Output::Binary);
        let q = model.initial(200).unwrap();
        assert!(q.mean().iter().all(|m| m.abs() <= 0.1) && q.mean().iter().any(|m| *m < -0.08));
        assert!(q.variances().iter().all(|v| *v == 1e-3));
        assert_eq!(model.initial(200), Some(q.clone()));
        assert_ne!(Network { seed: 4, ..model }.initial(200), Some(q));
    }

    #[test]
    fn a_sharp_q_predicts_what_its_mean_says() {
        for (model, rows) in kinds() {
            let d = model.parameters(4);
            let (mean, _) = point(d);
            let q = Gaussian::new_diagonal(mean.clone(), vec![1e-18; d]).unwrap();
            for (prediction, row) in model.predict(&rows, &q).iter().zip(0..) {
                let likelihood = libm::exp(model.log_likelihood(&rows.select(&[row]), &mean));
                let own = match prediction {
                    Prediction::Probability(p) if rows.row(row).outcome == 1.0 => *p,
                    Prediction::Probability(p) => 1.0 - p,
                    Prediction::Classes(p) => p[rows.row(row).outcome as usize],
                    Prediction::Normal { .. } => f64::NAN,
                };
                assert!((own - likelihood).abs() < 1e-6, "{model:?}: {own} {likelihood}");
            }
        }
    }

    #[test]
    fn the_papers_network_has_so_many_weights() {
        assert_eq!(network(&[50], Output::Binary).parameters(109), 109 * 50 + 51);
        assert_eq!(network(&[], Output::Classes(10)).parameters(65), 650);
        assert_eq!(network(&[5, 4], Output::Classes(3)).parameters(2), 10 + 24 + 15);
    }
}
