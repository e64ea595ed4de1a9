//! Generalised linear models: a distribution of the outcome given a = xᵀθ becomes a [`Model`].

use super::factor::{Pull, factor};
use super::hand_over::hand_over;
use super::{Model, Point, Prediction, Scratch, Sink};
use crate::describe::Offer;
use crate::{Family, Gaussian, Rows};
use privacy::PrivacyError;
use std::fmt;

/// The linear predictor a = xᵀθ of one row under a Gaussian q: a ~ N(mean, variance).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearPredictor {
    /// m = xᵀμ.
    pub mean: f64,
    /// v = xᵀΣx.
    pub variance: f64,
}

/// The distribution of an outcome that depends on its row through a = xᵀθ alone.
///
/// This is all that a new generalised linear model has to state: [`GeneralisedLinear`] makes gradients, statistics and
/// predictions of it. Its `Debug` text is part of what the noise of a simulation is keyed by, so it should name every setting.
///
/// # Examples
///
/// Poisson regression with a log link. For a ~ N(m, v), E eᵃ = exp(m + v/2) in closed form.
///
/// ```
/// use inference::{LinearPredictor, Prediction, Pull, ResponseDistribution};
///
/// #[derive(Debug)]
/// struct Counts;
///
/// impl ResponseDistribution for Counts {
///     fn log_density(&self, outcome: f64, a: f64) -> f64 {
///         outcome * a - a.exp() - (1..=outcome as u64).map(|k| (k as f64).ln()).sum::<f64>()
///     }
///
///     fn expected(&self, outcome: f64, a: LinearPredictor) -> Pull {
///         let rate = (a.mean + 0.5 * a.variance).exp();
///         Pull { residual: outcome - rate, curvature: rate }
///     }
///
///     fn predict(&self, a: LinearPredictor) -> Prediction {
///         let rate = (a.mean + 0.5 * a.variance).exp();
///         let variance = rate + rate * rate * a.variance.exp_m1();
///         Prediction::Normal { mean: rate, deviation: variance.sqrt() }
///     }
/// }
///
/// let certain = LinearPredictor { mean: 0.0, variance: 0.0 };
/// assert_eq!(Counts.expected(3.0, certain), Pull { residual: 2.0, curvature: 1.0 });
/// ```
pub trait ResponseDistribution: fmt::Debug + Send + Sync {
    /// log p(y | a).
    fn log_density(&self, outcome: f64, a: f64) -> f64;

    /// r = E ∂ log p(y | a)/∂a and h = −E ∂² log p(y | a)/∂a².
    ///
    /// Whatever the numbers of a row are, the answer may be infinite or not a number, but it must not panic: a row whose gradient
    /// is not finite contributes 0.
    fn expected(&self, outcome: f64, a: LinearPredictor) -> Pull;

    /// E h for a ~ N(0, variance), where outcomes are not known. With a canonical link h does not depend on the outcome, which
    /// is what this default takes; state it where the link is another one.
    fn mean_curvature(&self, variance: f64) -> f64 {
        self.expected(0.0, LinearPredictor { mean: 0.0, variance }).curvature
    }

    /// The posterior predictive of a new row.
    fn predict(&self, a: LinearPredictor) -> Prediction;
}

/// The model of a [`ResponseDistribution`]: parameter j is the coefficient of input j.
///
/// # Examples
/// ```
/// # use inference::{GeneralisedLinear, LinearPredictor, Model, Prediction, Pull, ResponseDistribution};
/// # #[derive(Debug)]
/// # struct Counts;
/// # impl ResponseDistribution for Counts {
/// #     fn log_density(&self, outcome: f64, a: f64) -> f64 { outcome * a - a.exp() }
/// #     fn expected(&self, outcome: f64, a: LinearPredictor) -> Pull {
/// #         let rate = (a.mean + 0.5 * a.variance).exp();
/// #         Pull { residual: outcome - rate, curvature: rate }
/// #     }
/// #     fn predict(&self, a: LinearPredictor) -> Prediction { Prediction::Normal { mean: a.mean, deviation: 1.0 } }
/// # }
/// let model = GeneralisedLinear(Counts);
/// assert_eq!(model.parameters(7), 7);
/// assert_eq!(model.mean_curvature(0.0), Some(1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GeneralisedLinear<R>(pub R);

impl<R: ResponseDistribution> Model for GeneralisedLinear<R> {
    fn parameters(&self, width: usize) -> usize {
        width
    }

    fn offers(&self) -> &'static [Offer] {
        &[Offer::LinearPredictor, Offer::Gradients, Offer::GaussianPosterior]
    }

    fn log_likelihoods(&self, rows: &Rows, which: &[usize], theta: &[f64], _: &mut Scratch, into: &mut Vec<f64>) {
        into.clear();
        into.extend(which.iter().map(|&i| rows.row(i)).map(|row| self.0.log_density(row.outcome, row.dot(theta))));
    }

    /// r·x by μ and −h·xⱼ²sⱼ² by log s.
    fn gradients(
        &self,
        rows: &Rows,
        which: &[usize],
        at: Point<'_>,
        _: u64,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), PrivacyError> {
        let Scratch { values, per_parameter, .. } = scratch;
        per_parameter.clear();
        per_parameter.extend(at.deviation.iter().map(|s| s * s));
        for &i in which {
            let row = rows.row(i);
            let a = LinearPredictor { mean: row.dot(at.mean), variance: row.dot_squared(per_parameter) };
            let Pull { residual, curvature } = self.0.expected(row.outcome, a);
            hand_over(&row, residual, |j, x| -curvature * x * x * per_parameter[j], values, sink)?;
        }
        Ok(())
    }

    fn statistics(&self, rows: &Rows, which: &[usize], q: &Gaussian, family: Family) -> Vec<f64> {
        let projections = q.projections();
        let pulls = which.iter().map(|&i| rows.row(i)).map(|row| {
            let (mean, variance) = projections.of(&row);
            self.0.expected(row.outcome, LinearPredictor { mean, variance })
        });
        factor(rows, which, pulls, q.mean(), family)
    }

    fn mean_curvature(&self, variance: f64) -> Option<f64> {
        Some(self.0.mean_curvature(variance))
    }

    fn predict(&self, rows: &Rows, q: &Gaussian) -> Vec<Prediction> {
        let projections = q.projections();
        let predictor = |(mean, variance)| LinearPredictor { mean, variance };
        rows.iter().map(|row| self.0.predict(predictor(projections.of(&row)))).collect()
    }
}
