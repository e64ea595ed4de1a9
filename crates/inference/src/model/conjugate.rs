//! Models of an outcome without inputs that are learnt from sums of sufficient statistics alone.
//!
//! Their parameters are those that a reader knows: probabilities, a rate, a mean and a variance. The posterior is no Gaussian of these;
//! its mean and its variances are exact, and so are predictions, which depend on no more than them.

use super::{Model, Point, Prediction, Scratch, Sink};
use crate::conjugate::ConjugateFamily;
use crate::describe::Offer;
use crate::{Exact, Family, Gaussian, Rows};
use privacy::PrivacyError;

/// A conjugate family as a model: a likelihood of the outcome alone.
///
/// It has no gradients and no natural statistics of a Gaussian factor; methods that need them are refused by what it offers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConjugateModel<F>(pub F);

impl<F: ConjugateFamily> Model for ConjugateModel<F> {
    fn offers(&self) -> &'static [Offer] {
        &[Offer::ConjugatePosterior]
    }

    fn parameters(&self, _: usize) -> usize {
        self.0.prior().len()
    }

    fn log_likelihoods(&self, rows: &Rows, which: &[usize], theta: &[f64], _: &mut Scratch, into: &mut Vec<f64>) {
        into.clear();
        into.extend(which.iter().map(|&i| self.0.log_likelihood(rows.outcomes()[i], theta)));
    }

    /// There are none: a parameter has bounds, and no Gaussian q is moved.
    fn gradients(
        &self,
        _: &Rows,
        _: &[usize],
        _: Point<'_>,
        _: u64,
        _: &mut Scratch,
        _: &mut dyn Sink,
    ) -> Result<(), PrivacyError> {
        let (found, expected) = ("gradients of a conjugate family".to_owned(), "sums of its statistics".to_owned());
        Err(PrivacyError::Shape { found, expected })
    }

    /// No numbers, which no later step takes for a factor.
    fn statistics(&self, _: &Rows, _: &[usize], _: &Gaussian, family: Family) -> Vec<f64> {
        vec![f64::NAN; family.len()]
    }

    fn exact(&self, rows: &Rows, _: &[f64], temper: f64) -> Option<Exact> {
        let marginals = self.0.exact(rows.outcomes()).filter(|_| temper == 1.0)?;
        let variances = marginals.iter().map(|one| one.deviation * one.deviation).collect();
        Some(Exact { mean: marginals.iter().map(|one| one.mean).collect(), variances })
    }

    fn conjugate(&self) -> Option<&dyn ConjugateFamily> {
        Some(&self.0)
    }

    fn predict(&self, rows: &Rows, q: &Gaussian) -> Vec<Prediction> {
        vec![self.0.predict(q.mean(), &q.variances()); rows.len()]
    }
}
