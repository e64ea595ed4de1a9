//! Mean held-out log-likelihood, the score by which methods are compared.

use super::held_out::mean;
use super::{Better, Digits, Middle, Prominence, Score, ScoreUnit, ScoredOutcome};
use crate::model::Prediction;
use std::f64::consts::PI;

/// Probabilities count as at least this: a predictive that is sure and wrong loses 36 nats, not infinitely many.
const LEAST_PROBABILITY: f64 = f64::EPSILON;

/// The mean log-probability of outcomes under the predictive, in nats; of numbers that of its density. Of no rows it is 0.
pub(super) const SCORE: Score = Score {
    name: "log_likelihood",
    word: "log-likelihood",
    label: "log-likelihood",
    short: "log-lik.",
    title: "Held-out log-likelihood",
    about: "Log-likelihood in nats per held-out row: higher is better.",
    legend: "log-lik. in nats per held-out row",
    better: Better::Higher,
    outcome: ScoredOutcome::Any,
    unit: ScoreUnit::Nats,
    digits: Digits { table: 4, text: 3 },
    middle: Middle::Mean,
    prominence: Prominence::Leading,
    compared: true,
    compute: |held_out| Some(mean(held_out.rows().map(|(p, y)| log_likelihood(p, y))).unwrap_or(0.0)),
};

/// log p(y) under the predictive, in nats.
fn log_likelihood(prediction: &Prediction, y: f64) -> f64 {
    match prediction {
        Prediction::Probability(p) => libm::log(if y >= 0.5 { *p } else { 1.0 - p }.max(LEAST_PROBABILITY)),
        Prediction::Classes(p) => {
            let own = p.iter().enumerate().find(|(k, _)| *k as f64 == y).map_or(0.0, |(_, p)| *p);
            libm::log(own.max(LEAST_PROBABILITY))
        }
        Prediction::Normal { mean, deviation } => {
            let z = (y - mean) / deviation;
            -0.5 * (z * z + libm::log(2.0 * PI)) - libm::log(*deviation)
        }
    }
}
