//! Logistic regression: P(y = 1 | x, θ) = σ(xᵀθ).
//!
//! Under a Gaussian q, a = xᵀθ ~ N(m, v) with m = xᵀμ and v = xᵀΣx. All that learning needs are E σ(a)
//! and E σ'(a). With σ(a) ≈ Σₖ wₖΦ(cₖa) (Monahan and Stefanski 1992) both are closed forms:
//!
//! ```text
//! E σ(a)  = Σ wₖ Φ(zₖ),    E σ'(a) = Σ wₖ cₖ φ(zₖ)/√(1 + cₖ²v),    zₖ = cₖm/√(1 + cₖ²v)
//! ```
//!
//! The error is at most 5.4e-6. Draws of θ are offered beside it, for comparison.

use super::credible::credible;
use super::factor::{Pull, factor};
use super::hand_over::hand_over;
use super::settings::{DRAWS, by_draws as draws_of, draws_value};
use super::shift::shifts;
use super::sigmoid::{expectations, with_softplus};
use super::{DefaultSetting, Model, ModelSettings, OutcomeNeed, Point, Prediction, Scratch, Sink, Slopes};
use crate::describe::{Descriptor, Key, Limits, Offer, Otherwise, ValueKind};
use crate::effects::EffectScale;
use crate::special::{exp_under, log_1p_of_unit, sigmoid};
use crate::{Family, Gaussian, Row, Rows};
use chacha20::ChaCha8Rng;
use privacy::PrivacyError;
use rand_core::SeedableRng;
use serde::Serialize;
use std::f64::consts::PI;
use std::sync::Arc;
use toml::{Table, Value};

/// Logistic regression; outcomes are 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Logistic {
    /// How expectations under q are taken while learning.
    pub expectation: Expectation,
    /// How they are taken for new rows.
    pub predictive: Predictive,
}

/// How E_q of the likelihood's derivatives is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Expectation {
    /// In closed form, by a mixture of four normal distribution functions in place of σ.
    #[default]
    Mixture,
    /// The mean over draws θ = μ + s∘ε, the same for all rows of a batch.
    MonteCarlo {
        /// Number of draws.
        draws: u32,
    },
}

/// How E_q σ(xᵀθ) is taken for new rows. The three agree closely where q is narrow; where it is wide the
/// mixture is the most exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Predictive {
    /// In closed form, as [`Expectation::Mixture`].
    #[default]
    Mixture,
    /// σ(m/√(1 + πv/8)) (MacKay 1992).
    Probit,
    /// The mean over draws from q, always the same ones.
    MonteCarlo {
        /// Number of draws.
        draws: u32,
    },
}

/// `kind = "logistic"`: the settings of [`Logistic`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LogisticSettings {
    /// How expectations under q are taken while learning.
    pub expectation: Expectation,
    /// How they are taken for new rows.
    pub predictive: Predictive,
}

/// `kind = "logistic"`
pub(crate) const DESCRIPTOR: Descriptor<dyn ModelSettings> = Descriptor {
    name: "logistic",
    also: &["binomial", "logit", "logistic-regression"],
    about: "Logistic regression of an outcome with two levels.",
    keys: &[
        Key::new(
            "expectation",
            ValueKind::Either(&[ValueKind::Word(&["mixture"]), ValueKind::Table(DRAWS)]),
            "\"mixture\"",
        )
        .about("how expectations under q are taken while learning: in closed form, or by draws")
        .otherwise(Otherwise::Word("mixture")),
        Key::new(
            "predictive",
            ValueKind::Either(&[ValueKind::Word(&["mixture", "probit"]), ValueKind::Table(DRAWS)]),
            "\"probit\"",
        )
        .about("how predictions are made: in one of two closed forms, or by draws")
        .otherwise(Otherwise::Word("mixture")),
    ],
    limits: Limits::NONE,
    read: |reading| {
        let keys = &reading.keys;
        let expectation = draws_of(keys, "expectation")?;
        let predictive = match draws_of(keys, "predictive")? {
            Some(draws) => Predictive::MonteCarlo { draws },
            None if keys.word("predictive")? == "probit" => Predictive::Probit,
            None => Predictive::Mixture,
        };
        let expectation = expectation.map_or(Expectation::Mixture, |draws| Expectation::MonteCarlo { draws });
        Ok(Arc::new(LogisticSettings { expectation, predictive }))
    },
};

impl ModelSettings for LogisticSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let expectation = match self.expectation {
            Expectation::Mixture => String::new(),
            Expectation::MonteCarlo { draws } => format!(", expectations by {draws} draws"),
        };
        let predictive = match self.predictive {
            Predictive::Mixture => String::new(),
            Predictive::Probit => ", probit predictions".to_owned(),
            Predictive::MonteCarlo { draws } => format!(", predictions by {draws} draws"),
        };
        format!("logistic{expectation}{predictive}")
    }

    fn effect_scale(&self) -> Option<EffectScale> {
        Some(EffectScale::OddsRatio)
    }

    /// Inference by levels: its intervals count the noise, of rows and of persons.
    fn default_method(&self, _: DefaultSetting) -> Option<&'static str> {
        Some("algorithm = \"noise-aware-levels\"")
    }

    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::TwoLevels
    }

    fn build(&self, _: Option<usize>, _: u64) -> Arc<dyn Model> {
        Arc::new(Logistic { expectation: self.expectation, predictive: self.predictive })
    }

    fn keys(&self) -> Table {
        let mut keys = Table::new();
        if let Expectation::MonteCarlo { draws } = self.expectation {
            keys.insert("expectation".to_owned(), draws_value(draws));
        }
        match self.predictive {
            Predictive::Mixture => None,
            Predictive::Probit => keys.insert("predictive".to_owned(), Value::String("probit".to_owned())),
            Predictive::MonteCarlo { draws } => keys.insert("predictive".to_owned(), draws_value(draws)),
        };
        keys
    }

    /// A residual y − p is at most 1, whatever the outcome.
    fn typical_residual(&self, _: Option<f64>) -> Option<f64> {
        Some(1.0)
    }
}

impl Model for Logistic {
    fn offers(&self) -> &'static [Offer] {
        &[Offer::LinearPredictor, Offer::LogisticLink, Offer::Gradients, Offer::GaussianPosterior]
    }

    /// σ increases, so that the interval of xᵀθ becomes one of the probability.
    fn probability_intervals(&self, rows: &Rows, q: &Gaussian, reach: f64) -> Option<Vec<(f64, f64)>> {
        Some(credible(rows, q, reach))
    }

    fn parameters(&self, width: usize) -> usize {
        width
    }

    /// y a − log(1 + eᵃ), a = xᵀθ.
    fn log_likelihoods(&self, rows: &Rows, which: &[usize], theta: &[f64], _: &mut Scratch, into: &mut Vec<f64>) {
        let softplus = |a: f64| a.max(0.0) + libm::log1p(libm::exp(-a.abs()));
        let term = |row: Row<'_>, a: f64| row.outcome * a - softplus(a);
        into.clear();
        into.extend(which.iter().map(|&i| rows.row(i)).map(|row| term(row, row.dot(theta))));
    }

    /// Closed form: r·x by μ and −h·xⱼ²sⱼ² by log s, with r = y − E σ and h = E σ'. By draws: r·x and r·xⱼsⱼεⱼ.
    fn gradients(
        &self,
        rows: &Rows,
        which: &[usize],
        at: Point<'_>,
        seed: u64,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), PrivacyError> {
        match self.expectation {
            Expectation::Mixture => by_mixture(rows, which, at, scratch, sink),
            Expectation::MonteCarlo { draws } => by_draws(rows, which, at, (seed, draws.max(1)), scratch, sink),
        }
    }

    /// With r = y − E σ and h = E σ' of each row, from its m and v under q: a [`Pull`] for each, and the
    /// factor that all of them make.
    fn statistics(&self, rows: &Rows, which: &[usize], q: &Gaussian, family: Family) -> Vec<f64> {
        let (mut value, mut slope) = projected(rows, which, q);
        expectations(&mut value, &mut slope);
        let pulls = which
            .iter()
            .zip(value.iter().zip(&slope))
            .map(|(&i, (value, slope))| Pull { residual: rows.row(i).outcome - value, curvature: *slope });
        factor(rows, which, pulls, q.mean(), family)
    }

    /// With σ itself, to 1e-11, in place of the mixture that stands for it under a q of some width.
    fn at(&self, rows: &Rows, theta: &[f64]) -> Slopes {
        let all: Vec<usize> = (0..rows.len()).collect();
        let mut probability: Vec<f64> = rows.iter().map(|row| row.dot(theta)).collect();
        let softplus = |a: f64| a.max(0.0) + log_1p_of_unit(exp_under(-a.abs()));
        let value = rows.outcomes().iter().zip(&probability).map(|(y, a)| y * a - softplus(*a)).sum();
        probability.iter_mut().for_each(|a| *a = sigmoid(*a));
        let pulls = rows.outcomes().iter().zip(&probability);
        let pulls = pulls.map(|(y, p)| Pull { residual: y - p, curvature: p * (1.0 - p) });
        Slopes { value, natural: factor(rows, &all, pulls, theta, Family::Full { dimension: theta.len() }) }
    }

    /// E log p = y·m − E log(1 + eᵃ), by the same mixture, so that its slopes are those of
    /// [`Model::statistics`] exactly.
    fn expected(&self, rows: &Rows, q: &Gaussian) -> Option<Slopes> {
        let all: Vec<usize> = (0..rows.len()).collect();
        let (mut probability, mut slope) = projected(rows, &all, q);
        let (mean, mut softplus) = (probability.clone(), vec![0.0; rows.len()]);
        with_softplus(&mut probability, &mut slope, &mut softplus);
        let rows_of = || rows.outcomes().iter();
        let value = rows_of().zip(&mean).zip(&softplus).map(|((y, m), s)| y * m - s).sum();
        let pulls = rows_of().zip(probability.iter().zip(&slope));
        let pulls = pulls.map(|(y, (p, h))| Pull { residual: y - p, curvature: *h });
        Some(Slopes { value, natural: factor(rows, &all, pulls, q.mean(), Family::Full { dimension: q.dimension() }) })
    }

    fn has_expectations(&self) -> bool {
        true
    }

    /// E σ'(a) for a ~ N(0, variance).
    fn mean_curvature(&self, variance: f64) -> Option<f64> {
        let (mut value, mut slope) = ([0.0], [variance]);
        expectations(&mut value, &mut slope);
        Some(slope[0])
    }

    /// E σ(xᵀθ) of each row, held between σ(m) and ½ where the mixture's thin tails would leave that range.
    fn predict(&self, rows: &Rows, q: &Gaussian) -> Vec<Prediction> {
        let all: Vec<usize> = (0..rows.len()).collect();
        let (mut mean, mut variance) = projected(rows, &all, q);
        match self.predictive {
            Predictive::Mixture => {
                let shrunk: Vec<f64> = mean.iter().map(|m| sigmoid(*m)).collect();
                expectations(&mut mean, &mut variance);
                mean.iter_mut().zip(shrunk).for_each(|(p, at_mean)| *p = towards_a_half(*p, at_mean));
            }
            Predictive::Probit => {
                mean.iter_mut().zip(&variance).for_each(|(m, v)| *m = sigmoid(*m / (1.0 + PI * v / 8.0).sqrt()));
            }
            Predictive::MonteCarlo { draws } => mean = mean_over_draws(rows, q, draws.max(1)),
        }
        mean.into_iter().map(|p| Prediction::Probability(p.clamp(0.0, 1.0))).collect()
    }
}

/// E σ(a) lies between σ(m) and ½ where a is symmetric around m: σ(m + t) + σ(m − t) = 1 + sinh m / (cosh m + cosh t), which
/// is between 2σ(m), its value at t = 0, and 1.
///
/// The normal distribution functions in place of σ have far thinner tails: at m = −120 they say 1e-310 in place of 1e-52.
fn towards_a_half(p: f64, at_mean: f64) -> f64 {
    if at_mean < 0.5 { p.max(at_mean) } else { p.min(at_mean) }
}

/// m and v of xᵀθ ~ N(m, v), row by row.
fn projected(rows: &Rows, which: &[usize], q: &Gaussian) -> (Vec<f64>, Vec<f64>) {
    q.projections().of_rows(rows, which)
}

/// The mean of σ(xᵀθ) over draws of θ that depend on nothing but q.
fn mean_over_draws(rows: &Rows, q: &Gaussian, draws: u32) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut mean = vec![0.0; rows.len()];
    for _ in 0..draws {
        let theta = q.sample(&mut rng);
        mean.iter_mut().zip(rows.iter()).for_each(|(p, row)| *p += sigmoid(row.dot(&theta)) / f64::from(draws));
    }
    mean
}

/// Gradients in closed form, row by row: first m and v of all rows, then both expectations in one loop
/// that becomes vector code, then each row's gradient into the sink.
fn by_mixture(
    rows: &Rows,
    which: &[usize],
    at: Point<'_>,
    scratch: &mut Scratch,
    sink: &mut dyn Sink,
) -> Result<(), PrivacyError> {
    let Scratch { per_row: [value, slope, ..], values, per_parameter, .. } = scratch;
    per_parameter.clear();
    per_parameter.extend(at.deviation.iter().map(|s| s * s));
    value.resize(which.len(), 0.0);
    slope.resize(which.len(), 0.0);
    for ((&i, value), slope) in which.iter().zip(&mut *value).zip(&mut *slope) {
        let row = rows.row(i);
        (*value, *slope) = (row.dot(at.mean), row.dot_squared(per_parameter));
    }
    expectations(value, slope);
    for ((&i, value), slope) in which.iter().zip(value).zip(slope) {
        let row = rows.row(i);
        let by_log = |j: usize, x: f64| -*slope * x * x * per_parameter[j];
        hand_over(&row, row.outcome - *value, by_log, values, sink)?;
    }
    Ok(())
}

/// The gradient at θₖ = μ + s∘εₖ, averaged over k: with rₖ = y − σ(xᵀθₖ), mean(rₖ)·x by μ, xⱼ·mean(rₖsⱼεₖⱼ) by log s.
fn by_draws(
    rows: &Rows,
    which: &[usize],
    at: Point<'_>,
    (seed, draws): (u64, u32),
    scratch: &mut Scratch,
    sink: &mut dyn Sink,
) -> Result<(), PrivacyError> {
    let Scratch { per_row: [residual, theta, ..], values, per_parameter: shift, .. } = scratch;
    let (d, share, draws) = (at.mean.len(), 1.0 / f64::from(draws), draws as usize);
    shifts(at, seed, draws, shift);
    theta.clear();
    theta.extend(shift.iter().zip(at.mean.iter().cycle()).map(|(shift, mean)| mean + shift));
    residual.clear();
    for &i in which {
        let row = rows.row(i);
        residual.extend(theta.chunks(d).map(|theta| row.dot(theta)));
    }
    residual.iter_mut().for_each(|a| *a = sigmoid(*a));
    for (&i, residual) in which.iter().zip(residual.chunks_mut(draws)) {
        let row = rows.row(i);
        residual.iter_mut().for_each(|r| *r = share * (row.outcome - *r));
        match residual {
            [r] => hand_over(&row, *r, |j, x| x * (*r * shift[j]), values, sink)?,
            _ => {
                let pull = |j| residual.iter().enumerate().map(|(k, r)| r * shift[k * d + j]).sum::<f64>();
                hand_over(&row, residual.iter().sum(), |j, x| x * pull(j), values, sink)?;
            }
        }
    }
    Ok(())
}
