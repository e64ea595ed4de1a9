//! Models: a likelihood, its gradients under a Gaussian q, and its predictions.
//!
//! | model | likelihood | expectations under q |
//! |---|---|---|
//! | [`Linear`] | y = xᵀθ + N(0, s²) | exact |
//! | [`Logistic`] | P(y = 1) = σ(xᵀθ) | closed form by a mixture of four normal distribution functions |
//! | [`Softmax`] | P(y = k) ∝ exp(xᵀθₖ) | means over orthogonal draws of the logits |
//! | [`Network`] | ReLU layers, logistic or softmax output | one draw of the weights for a batch |
//! | [`Mixture`] | ½N(θ₁, v) + ½N(θ₁ + θ₂, v) | at one draw; exact moments by quadrature |
//! | [`ConjugateModel`] of [`BetaBinomial`], [`DirichletMultinomial`], [`GammaPoisson`], [`Normal`] | an outcome without inputs | exact, by a family that is conjugate |
//! | [`GeneralisedLinear`] | any function of xᵀθ, stated by a [`ResponseDistribution`] | as that states them |
//!
//! A [`Model`] says what it can do by [`Model::offers`]; methods state what they need. Gradients go
//! into a [`Sink`]: the clipped sum on its way to a gate, or a plain sum where nothing is released.
//! Models are made from settings ([`ModelSettings`]), which a study reads and a posterior stores.
//!
//! # Examples
//! Settings from a study, a model from the settings, and a prediction from a posterior:
//! ```
//! use inference::describe::Registry;
//! use inference::{Gaussian, Prediction, Row, Rows, StudyModel, restored, stored};
//!
//! let registry = Registry::standard();
//! let table = toml::from_str("kind = \"logistic\"\nprior = { precision = 0.5 }")?;
//! let study = StudyModel::read(&table, &registry).map_err(|all| all[0].what.clone())?;
//! assert_eq!(study.describe(), "logistic, with intercept, prior precision 0.5");
//!
//! let model = study.settings.build(Some(2), 0);
//! let mut rows = Rows::new(2, 2)?;
//! rows.push(Row { numbers: &[1.0, 1.0], ones: &[], outcome: 1.0 })?;
//! let q = Gaussian::new_diagonal(vec![2.0, -2.0], vec![0.1, 0.1]).ok_or("improper")?;
//! let Prediction::Probability(p) = model.predict(&rows, &q)[0] else { return Err("no probability".into()) };
//! assert!((p - 0.5).abs() < 1e-9, "xᵀθ has mean 0");
//!
//! let again = restored(&stored(study.settings.as_ref()), &registry).map_err(|conflict| conflict.what)?;
//! assert_eq!(again.describe(), "logistic");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod beta_binomial;
mod conjugate;
mod credible;
pub(crate) mod dirichlet_multinomial;
mod factor;
pub(crate) mod frame;
pub(crate) mod gamma_poisson;
mod generalised;
mod hand_over;
pub(crate) mod linear;
pub(crate) mod logistic;
pub(crate) mod mixture;
pub(crate) mod network;
pub(crate) mod normal;
mod pass;
pub(crate) mod quadrature;
mod settings;
mod shift;
mod sigmoid;
pub(crate) mod softmax;
mod support;

pub use beta_binomial::BetaBinomial;
pub use conjugate::ConjugateModel;
pub use credible::{credible, holding};
pub use dirichlet_multinomial::{DirichletMultinomial, DirichletSettings};
pub use factor::Pull;
pub use gamma_poisson::GammaPoisson;
pub use generalised::{GeneralisedLinear, LinearPredictor, ResponseDistribution};
pub use linear::{Linear, LinearSettings};
pub use logistic::{Expectation, Logistic, LogisticSettings, Predictive};
pub use mixture::{Mixture, MixtureSettings};
pub use network::{Network, NetworkSettings, Output};
pub use normal::Normal;
pub use pass::Pass;
pub use quadrature::Exact;
pub use settings::{
    DefaultSetting, MODEL_KEYS, ModelSettings, OpenedAnswers, OutcomeNeed, StudyModel, restored, stored,
};
pub(crate) use shift::{seed_of, shifts};
pub use softmax::{Softmax, SoftmaxSettings};
pub use support::Support;

use crate::conjugate::ConjugateFamily;
use crate::describe::Offer;
use crate::{Family, Gaussian, Rows};
use privacy::{Bounded, Layer, PrivacyError};
use std::fmt;

/// Where a mean-field q stands: θⱼ ~ N(meanⱼ, deviationⱼ²). Optimisers move (mean, log deviation).
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// μ.
    pub mean: &'a [f64],
    /// s.
    pub deviation: &'a [f64],
}

/// Takes one gradient for each row, by the means and by the log deviations.
///
/// Values are sparse: the numbers of a row come first, in their order, then the values at `positions`.
pub trait Sink {
    /// Adds the gradient of one row. Half of the values are by the means: one for each dense input, one for each of these
    /// positions; the other half likewise by the log deviations. All else is zero.
    fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError>;

    /// Whether gradients by the log deviations are looked at. Where they are not, the second half may hold anything.
    fn by_deviations(&self) -> bool {
        true
    }

    /// Adds the gradients of all rows of a batch, given layer by layer; those by log s are those by μ times `shift`, one by
    /// one.
    ///
    /// Unless a sink knows better, every row's gradient is formed and added by itself.
    fn add_layers(&mut self, layers: &[Layer<'_>], shift: &[f64]) -> Result<(), PrivacyError> {
        let rows = layers.first().map_or(0, |layer| layer.deltas.len() / layer.outputs.max(1));
        let (mut positions, mut values) = (Vec::new(), Vec::new());
        for i in 0..rows {
            positions.clear();
            values.clear();
            entries(layers, i, |p, v| {
                positions.push(p as u32);
                values.push(v);
            });
            for (k, &p) in positions.iter().enumerate() {
                values.push(values[k] * shift[p as usize]);
            }
            self.add(&positions, &values)?;
        }
        Ok(())
    }
}

/// Hands over one row's gradient by μ: places and values, places increasing.
fn entries(layers: &[Layer<'_>], row: usize, mut take: impl FnMut(usize, f64)) {
    let mut at = 0;
    for layer in layers {
        for (j, a) in layer.inputs.row(row) {
            for (k, d) in layer.deltas[row * layer.outputs..(row + 1) * layer.outputs].iter().enumerate() {
                take(at + j * layer.outputs + k, a * d);
            }
        }
        at += layer.inputs.width * layer.outputs;
    }
}

/// The clipped sum, on its way to a gate.
impl Sink for Bounded {
    fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        self.push_halves(positions, values)
    }

    /// A sum of as many numbers as there are weights takes the gradients by μ alone.
    fn add_layers(&mut self, layers: &[Layer<'_>], shift: &[f64]) -> Result<(), PrivacyError> {
        let aligned = self.shape().dimension() == shift.len();
        self.push_layers(layers, (!aligned).then_some(shift))
    }
}

/// The plain sum, for what is solved in the clear.
impl Sink for Vec<f64> {
    fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        let (d, stored) = (self.len() / 2, values.len() / 2);
        let dense = 0..(stored - positions.len()) as u32;
        for (half, values) in self.chunks_mut(d.max(1)).zip(values.chunks(stored.max(1))) {
            let places = dense.clone().chain(positions.iter().copied());
            places.zip(values).for_each(|(p, v)| half[p as usize] += v);
        }
        Ok(())
    }

    fn add_layers(&mut self, layers: &[Layer<'_>], shift: &[f64]) -> Result<(), PrivacyError> {
        let rows = layers.first().map_or(0, |layer| layer.deltas.len() / layer.outputs.max(1));
        let (by_mean, by_log) = self.split_at_mut(shift.len());
        for i in 0..rows {
            entries(layers, i, |p, v| {
                by_mean[p] += v;
                by_log[p] += v * shift[p];
            });
        }
        Ok(())
    }
}

/// Buffers that a model may use and keep between calls, so that a step does not allocate. Their `Debug` shows no value.
#[derive(Default)]
pub struct Scratch {
    /// Numbers for each row of a batch.
    pub per_row: [Vec<f64>; 6],
    /// Positions of one row's gradient, where they are not the row's own.
    pub positions: Vec<u32>,
    /// Values of one row's gradient.
    pub values: Vec<f64>,
    /// One number for each parameter.
    pub per_parameter: Vec<f64>,
    /// What passes through a network.
    pub pass: Pass,
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch")
    }
}

/// What a model says about a new row.
#[derive(Debug, Clone, PartialEq)]
pub enum Prediction {
    /// P(y = 1).
    Probability(f64),
    /// P(y = k) for every class k.
    Classes(Vec<f64>),
    /// Mean and deviation of y.
    Normal {
        /// Mean.
        mean: f64,
        /// Deviation.
        deviation: f64,
    },
}

/// A sum over rows, and where it rises: private, so that its `Debug` shows no value.
#[derive(Clone, PartialEq)]
pub struct Slopes {
    /// The sum.
    pub value: f64,
    /// Its gradient by the mean parameters of the full family. Layout as in [`Family`].
    pub natural: Vec<f64>,
}

impl fmt::Debug for Slopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slopes({} numbers)", self.natural.len())
    }
}

/// The variance of a q that stands for one θ: nothing beside any other number, and its inverse is finite.
const NO_SPREAD: f64 = 1e-300;

/// A likelihood p(y | x, θ).
///
/// Required are the number of parameters, the offers, log-likelihoods, gradients under a mean-field q,
/// natural statistics, and predictions. The other methods have defaults that say "not offered"; a model
/// overrides those that its offers promise. A model sees rows, and returns numbers that are private
/// until a gate has noised them.
pub trait Model: fmt::Debug + Send + Sync {
    /// Number of parameters for rows of this width.
    fn parameters(&self, width: usize) -> usize;

    /// What it offers to methods.
    fn offers(&self) -> &'static [Offer];

    /// log p(yᵢ | xᵢ, θ) of each row of `which`, one by one.
    fn log_likelihoods(&self, rows: &Rows, which: &[usize], theta: &[f64], scratch: &mut Scratch, into: &mut Vec<f64>);

    /// log p(yᵢ | xᵢ, to) − log p(yᵢ | xᵢ, from) of each row of `which`, one by one.
    fn log_ratios(
        &self,
        rows: &Rows,
        which: &[usize],
        (from, to): (&[f64], &[f64]),
        scratch: &mut Scratch,
        into: &mut Vec<f64>,
    ) {
        let mut before = Vec::new();
        self.log_likelihoods(rows, which, from, scratch, &mut before);
        self.log_likelihoods(rows, which, to, scratch, into);
        into.iter_mut().zip(&before).for_each(|(after, before)| *after -= before);
    }

    /// log p(y | x, θ) of every row, added up.
    fn log_likelihood(&self, rows: &Rows, theta: &[f64]) -> f64 {
        let (all, mut each): (Vec<usize>, _) = ((0..rows.len()).collect(), Vec::new());
        self.log_likelihoods(rows, &all, theta, &mut Scratch::default(), &mut each);
        each.into_iter().sum()
    }

    /// Hands the sink, for each row i of `which`, the gradient of E_q[log p(yᵢ | xᵢ, θ)] by (μ, log s).
    ///
    /// Position j is μⱼ, position d + j is log sⱼ. Draws, where the model needs any, are a function of `seed` alone, and
    /// the same number of them is made whatever the rows hold.
    fn gradients(
        &self,
        rows: &Rows,
        which: &[usize],
        at: Point<'_>,
        seed: u64,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), PrivacyError>;

    /// The gradient of Σ E_q[log p(yᵢ | xᵢ, θ)], over i in `which`, by the mean parameters of the family.
    ///
    /// It is the natural parameter of the Gaussian factor that the rows would get at q: exact, whatever q is, where the
    /// likelihood is Gaussian; a step of natural-gradient (conjugate-computation) VI elsewhere (Khan and Lin 2017,
    /// arXiv:1703.04265). Layout as in [`Family`].
    fn statistics(&self, rows: &Rows, which: &[usize], q: &Gaussian, family: Family) -> Vec<f64>;

    /// Σ log p(yᵢ | xᵢ, θ) at one θ, and the natural parameters of the factor that follows from its gradient and curvature
    /// there: what a step of Newton's takes. Of all rows, in the full family.
    fn at(&self, rows: &Rows, theta: &[f64]) -> Slopes {
        let all: Vec<usize> = (0..rows.len()).collect();
        let family = Family::Full { dimension: theta.len() };
        let point = Gaussian::new_diagonal(theta.to_vec(), vec![NO_SPREAD; theta.len()]);
        let natural = point.map(|q| self.statistics(rows, &all, &q, family));
        let natural = natural.unwrap_or_else(|| vec![f64::NAN; family.len()]);
        Slopes { value: self.log_likelihood(rows, theta), natural }
    }

    /// Σ E_q[log p(yᵢ | xᵢ, θ)] and [`Model::statistics`] at one q, of all rows, in the full family; none where statistics are
    /// not the gradient of such an expectation, or q's width does not matter to them.
    fn expected(&self, _rows: &Rows, _q: &Gaussian) -> Option<Slopes> {
        None
    }

    /// Whether [`Model::expected`] has an answer.
    fn has_expectations(&self) -> bool {
        false
    }

    /// Where learning starts, if not at the prior: a constant of the study.
    fn initial(&self, _dimension: usize) -> Option<Gaussian> {
        None
    }

    /// What values each of d parameters may have; any number, unless a model says otherwise.
    fn supports(&self, dimension: usize) -> Vec<Support> {
        vec![Support::Real; dimension]
    }

    /// The prior's precision of each of d parameters, where that of the study is `precision`.
    fn precisions(&self, dimension: usize, precision: f64) -> Vec<f64> {
        vec![precision; dimension]
    }

    /// Whether gradients are those at one draw θ = μ + s∘ε ([`shifts`] of the seed): by log s they are then s∘ε times those
    /// by μ, and need not be released (aligned gradients).
    fn draws_once(&self) -> bool {
        false
    }

    /// E h(a) for a ~ N(0, variance), where h is the curvature −∂² log p/∂a² of a likelihood of a = xᵀθ: the mean curvature
    /// of rows of which only second moments are known. None for models of another form.
    fn mean_curvature(&self, _variance: f64) -> Option<f64> {
        None
    }

    /// The variance of y around xᵀθ where the likelihood is Gaussian, hence conjugate; none elsewhere.
    fn outcome_variance(&self) -> Option<f64> {
        None
    }

    /// Whether that variance is part of the model, and not where a search for it begins.
    fn knows_outcome_variance(&self) -> bool {
        true
    }

    /// What all rows say of that variance, given the posterior q of the coefficients; none where it is known, or there is none.
    fn learnt_variance(&self, _rows: &Rows, _q: &Gaussian) -> Option<f64> {
        None
    }

    /// Mean and variances of p(θ)·p(rows | θ)^temper, where they can be had to many digits but not as a Gaussian. θ has the
    /// prior N(0, 1/precision), parameter by parameter.
    fn exact(&self, _rows: &Rows, _precisions: &[f64], _temper: f64) -> Option<Exact> {
        None
    }

    /// Its conjugate family, where the posterior given sums of sufficient statistics has a closed form.
    fn conjugate(&self) -> Option<&dyn ConjugateFamily> {
        None
    }

    /// Adds scale·x² of each row of `which` to the sum, where parameter j is the coefficient of input j.
    fn moments(&self, rows: &Rows, which: &[usize], scale: f64, sum: &mut Bounded) -> Result<(), PrivacyError> {
        let (mut positions, mut values) = (Vec::new(), Vec::new());
        for &i in which {
            positions.clear();
            values.clear();
            for (j, x) in rows.row(i).entries() {
                positions.push(j as u32);
                values.push(scale * x * x);
            }
            sum.push_sparse(&positions, &values)?;
        }
        Ok(())
    }

    /// The interval of each row's predicted probability under the posterior, `reach` standard deviations to both sides; none
    /// where there is no such interval.
    fn probability_intervals(&self, _rows: &Rows, _q: &Gaussian, _reach: f64) -> Option<Vec<(f64, f64)>> {
        None
    }

    /// The posterior predictive of each row.
    fn predict(&self, rows: &Rows, q: &Gaussian) -> Vec<Prediction>;
}

#[cfg(test)]
mod tests;
