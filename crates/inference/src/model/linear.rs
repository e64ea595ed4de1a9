//! Linear regression with known noise: y = xᵀθ + N(0, s²).
//!
//! The one model whose posterior is a Gaussian: with a full covariance, sufficient statistics give it
//! exactly, and every other method can be measured against it.

use super::factor::{Pull, factor};
use super::hand_over::hand_over;
use super::{DefaultSetting, Model, ModelSettings, OutcomeNeed, Point, Prediction, Scratch, Sink};
use crate::describe::{Descriptor, Key, Limits, Offer, Otherwise, ValueKind};
use crate::effects::EffectScale;
use crate::{Family, Gaussian, Rows};
use privacy::{PrivacyError, Unit};
use serde::Serialize;
use std::f64::consts::PI;
use std::sync::Arc;
use toml::{Table, Value};

/// y = xᵀθ + noise; conjugate, so every expectation is exact.
///
/// - s²: [`Linear::noise_variance`], in units of the encoded outcome. A study that leaves it out does not know it
///   ([`Linear::open`]): methods and baselines that can learn it do, and the others take the documented value.
/// - r = (y − xᵀμ)/s²: how a row pulls on xᵀθ.
/// - 1/s²: the curvature of every row, whatever its inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linear {
    /// Variance of the noise, positive.
    pub noise_variance: f64,
    /// Whether the study leaves it out, so that baselines learn it.
    pub is_open: bool,
}

impl Linear {
    /// The noise has this variance.
    pub fn known(noise_variance: f64) -> Self {
        Self { noise_variance, is_open: false }
    }

    /// The variance of the noise is not known; this is where a search for it begins.
    pub fn open(noise_variance: f64) -> Self {
        Self { noise_variance, is_open: true }
    }
}

/// `kind = "linear"`: the settings of [`Linear`]. Methods that learn the variance of the outcome
/// replace it after a run ([`ModelSettings::with_outcome_variance`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LinearSettings {
    /// Variance of the noise, positive.
    pub noise_variance: f64,
    /// Whether the study leaves it out.
    pub is_open: bool,
}

/// `kind = "linear"`
pub(crate) const DESCRIPTOR: Descriptor<dyn ModelSettings> = Descriptor {
    name: "linear",
    also: &["gaussian", "ols", "linear-regression"],
    about: "Linear regression with normal noise of known variance, or of one that is learnt.",
    keys: &[Key::new("noise_variance", ValueKind::Positive, "1.0")
        .about("variance of the encoded outcome around its mean; without it, baselines learn it")
        .otherwise(Otherwise::Number(1.0))],
    limits: Limits::NONE,
    read: |reading| {
        let (keys, key) = (&reading.keys, "noise_variance");
        Ok(Arc::new(LinearSettings { noise_variance: keys.number(key)?, is_open: !keys.has(key) }))
    },
};

impl ModelSettings for LinearSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn ModelSettings> {
        &DESCRIPTOR
    }

    fn describe(&self) -> String {
        let learnt = if self.is_open { ", learnt by baselines" } else { "" };
        format!("linear, noise variance {}{learnt}", self.noise_variance)
    }

    fn effect_scale(&self) -> Option<EffectScale> {
        Some(EffectScale::Difference)
    }

    /// One noisy sum of statistics, in units of the schema's scales; its intervals count the noise. That reading needs the number
    /// of rows, which is private where persons are protected: noise-aware PVI takes its place.
    fn default_method(&self, of: DefaultSetting) -> Option<&'static str> {
        Some(match of.unit {
            Unit::Person => "algorithm = \"noise-aware\"",
            Unit::Example | Unit::Client => "algorithm = \"statistics\"\nstatistics = { deviations = \"known\" }",
        })
    }

    fn outcome(&self) -> OutcomeNeed {
        OutcomeNeed::Number
    }

    fn build(&self, _: Option<usize>, _: u64) -> Arc<dyn Model> {
        Arc::new(Linear { noise_variance: self.noise_variance, is_open: self.is_open })
    }

    /// A variance that the study leaves out is left out here, too.
    fn keys(&self) -> Table {
        let known = (!self.is_open).then(|| ("noise_variance".to_owned(), Value::Float(self.noise_variance)));
        Table::from_iter(known)
    }

    /// (y − 0)/s² at the prior's mean.
    fn typical_residual(&self, outcome: Option<f64>) -> Option<f64> {
        Some(outcome? / self.noise_variance)
    }

    fn with_outcome_variance(&self, noise_variance: f64) -> Option<Arc<dyn ModelSettings>> {
        Some(Arc::new(Self { noise_variance, is_open: false }))
    }
}

impl Model for Linear {
    fn offers(&self) -> &'static [Offer] {
        &[Offer::GaussianLikelihood, Offer::LinearPredictor, Offer::Gradients, Offer::GaussianPosterior]
    }

    fn parameters(&self, width: usize) -> usize {
        width
    }

    /// −½ log 2πs² − (y − xᵀθ)²/2s².
    fn log_likelihoods(&self, rows: &Rows, which: &[usize], theta: &[f64], _: &mut Scratch, into: &mut Vec<f64>) {
        let constant = -0.5 * libm::log(2.0 * PI * self.noise_variance);
        let term = |off: f64| constant - 0.5 * off * off / self.noise_variance;
        into.clear();
        into.extend(which.iter().map(|&i| rows.row(i)).map(|row| term(row.outcome - row.dot(theta))));
    }

    /// With r = (y − xᵀμ)/noise: r·x by μ, and −xⱼ²sⱼ²/noise by log s.
    fn gradients(
        &self,
        rows: &Rows,
        which: &[usize],
        at: Point<'_>,
        _: u64,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), PrivacyError> {
        let curvature = 1.0 / self.noise_variance;
        scratch.per_parameter.clear();
        scratch.per_parameter.extend(at.deviation.iter().map(|s| s * s));
        for &i in which {
            let row = rows.row(i);
            let residual = (row.outcome - row.dot(at.mean)) * curvature;
            let Scratch { values, per_parameter, .. } = scratch;
            hand_over(&row, residual, |j, x| -curvature * x * x * per_parameter[j], values, sink)?;
        }
        Ok(())
    }

    /// Full: (Σ xy/noise, −½ Σ xxᵀ/noise), whatever q is. Mean-field: depends on μ through the correlations of inputs.
    fn statistics(&self, rows: &Rows, which: &[usize], q: &Gaussian, family: Family) -> Vec<f64> {
        let curvature = 1.0 / self.noise_variance;
        // At μ = 0 the residual is y/noise, and Λμ drops out: the same number without cancellation.
        let origin = vec![0.0; family.dimension()];
        let mean = match family {
            Family::Full { .. } => &origin,
            Family::MeanField { .. } => q.mean(),
        };
        let pulls = which.iter().map(|&i| {
            let row = rows.row(i);
            Pull { residual: (row.outcome - row.dot(mean)) * curvature, curvature }
        });
        factor(rows, which, pulls, mean, family)
    }

    fn outcome_variance(&self) -> Option<f64> {
        Some(self.noise_variance)
    }

    fn knows_outcome_variance(&self) -> bool {
        !self.is_open
    }

    /// 1/E[1/s²] = (s₀² + ½ Σ E_q(y − xᵀθ)²) / (1 + n/2), where s² ~ inverse gamma(1, s₀²) before the rows: the optimum of
    /// q(θ)·q(s²) by s², given q(θ). The noise-aware reading of sufficient statistics begins with the same belief.
    fn learnt_variance(&self, rows: &Rows, q: &Gaussian) -> Option<f64> {
        if !self.is_open {
            return None;
        }
        let projections = q.projections();
        let squares = rows.iter().map(|row| {
            let (mean, variance) = projections.of(&row);
            (row.outcome - mean) * (row.outcome - mean) + variance
        });
        let squares: f64 = squares.sum();
        Some((self.noise_variance + 0.5 * squares) / (1.0 + 0.5 * rows.len() as f64))
    }

    fn mean_curvature(&self, _: f64) -> Option<f64> {
        Some(1.0 / self.noise_variance)
    }

    /// N(xᵀμ, xᵀΣx + s²).
    fn predict(&self, rows: &Rows, q: &Gaussian) -> Vec<Prediction> {
        let projections = q.projections();
        let normal = |(mean, variance): (f64, f64)| Prediction::Normal {
            mean,
            deviation: (variance + self.noise_variance).sqrt(),
        };
        rows.iter().map(|row| normal(projections.of(&row))).collect()
    }
}
