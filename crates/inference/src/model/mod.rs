//! Models: a likelihood, its gradients under a Gaussian q, and its predictions.

mod credible;
mod factor;
mod hand_over;
mod linear;
mod logistic;
mod sigmoid;

pub use credible::credible;
pub use linear::Linear;
pub use logistic::{Expectation, Logistic, Predictive};

use crate::{Family, Gaussian, Rows};
use privacy::{Bounded, PrivacyError};
use std::fmt;

/// Where a mean-field q stands: θⱼ ~ N(meanⱼ, deviationⱼ²). Optimisers move (mean, log deviation).
#[derive(Debug, Clone, Copy)]
pub struct Point<'a> {
    /// μ.
    pub mean: &'a [f64],
    /// s.
    pub deviation: &'a [f64],
}

/// Takes one sparse vector for each row: positions, increasing within each half, and values.
pub trait Sink {
    /// Adds the gradient of one row.
    fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError>;
}

/// The clipped sum, on its way to a gate.
impl Sink for Bounded {
    fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        self.push_sparse(positions, values)
    }
}

/// The plain sum, for what is solved in the clear.
impl Sink for Vec<f64> {
    fn add(&mut self, positions: &[u32], values: &[f64]) -> Result<(), PrivacyError> {
        positions.iter().zip(values).for_each(|(p, v)| self[*p as usize] += v);
        Ok(())
    }
}

/// Buffers that a model may use and keep between calls, so that a step does not allocate.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Numbers for each row of a batch.
    pub per_row: [Vec<f64>; 6],
    /// Positions of one row's gradient.
    pub positions: Vec<u32>,
    /// Values of one row's gradient.
    pub values: Vec<f64>,
    /// One number for each parameter.
    pub per_parameter: Vec<f64>,
}

/// What a model says about a new row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prediction {
    /// P(y = 1).
    Probability(f64),
    /// Mean and deviation of y.
    Normal {
        /// Mean.
        mean: f64,
        /// Deviation.
        deviation: f64,
    },
}

/// A likelihood p(y | x, θ).
pub trait Model: fmt::Debug + Send + Sync {
    /// Number of parameters for rows of this width.
    fn parameters(&self, width: usize) -> usize;

    /// log p(y | x, θ) of every row, added up.
    fn log_likelihood(&self, rows: &Rows, theta: &[f64]) -> f64;

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

    /// E h(a) for a ~ N(0, variance), where h is the curvature −∂² log p/∂a² of a likelihood of a = xᵀθ: the mean curvature
    /// of rows of which only second moments are known. None for models of another form.
    fn mean_curvature(&self, _variance: f64) -> Option<f64> {
        None
    }

    /// The variance of y around xᵀθ where the likelihood is Gaussian, hence conjugate; none elsewhere.
    fn outcome_variance(&self) -> Option<f64> {
        None
    }

    /// Hands the sink scale·x² of each row of `which`, where parameter j is the coefficient of input j.
    fn moments(&self, rows: &Rows, which: &[usize], scale: f64, sink: &mut dyn Sink) -> Result<(), PrivacyError> {
        let (mut positions, mut values) = (Vec::new(), Vec::new());
        for &i in which {
            positions.clear();
            values.clear();
            for (j, x) in rows.row(i).entries() {
                positions.push(j as u32);
                values.push(scale * x * x);
            }
            sink.add(&positions, &values)?;
        }
        Ok(())
    }

    /// The posterior predictive of each row.
    fn predict(&self, rows: &Rows, q: &Gaussian) -> Vec<Prediction>;
}

#[cfg(test)]
mod tests;
