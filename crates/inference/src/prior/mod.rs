//! Priors of coefficients: as a study states them, in the units of inputs and outcome, and as inference uses them.
//!
//! A study states a [`StudyPrior`]: one precision for every coefficient, numbers of its own for some of them, or an earlier
//! posterior. With the schema it becomes an [`EncodedPrior`], the prior of the coefficients of encoded inputs, which the methods of
//! the study and its baselines add to the likelihood as a [`PriorTerm`]. All of it is public.

mod earlier;
mod stated;
mod term;
mod units;

pub use earlier::{EarlierPosterior, encodings};
pub(crate) use stated::PRIOR_KEYS;
pub use stated::StudyPrior;
pub use term::PriorTerm;
pub use units::{CoefficientPrior, ConvertedPrior, StatedRange};

use crate::describe::{Conflict, NOT_TOGETHER};
use crate::settings::Covariance;
use crate::{Family, Model, Support};
use serde::Serialize;

/// The prior of encoded coefficients.
///
/// One precision is that of every coefficient in the units of the model, which may weigh its parameters differently
/// ([`Model::precisions`]).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum EncodedPrior {
    /// N(0, 1/precision) for every coefficient.
    Same(f64),
    /// A Gaussian of its own.
    Stated(PriorTerm),
}

impl From<f64> for EncodedPrior {
    fn from(precision: f64) -> Self {
        Self::Same(precision)
    }
}

impl EncodedPrior {
    /// The prior of d parameters of a model; none where it was stated for another number of them.
    pub fn term(&self, model: &dyn Model, dimension: usize) -> Option<PriorTerm> {
        match self {
            Self::Same(precision) => Some(PriorTerm::about_zero(model.precisions(dimension, *precision))),
            Self::Stated(term) => Some(term.clone()).filter(|term| term.dimension() == dimension),
        }
    }

    /// Natural parameters in a family.
    ///
    /// # Errors
    /// A prior of another number of coefficients, one that is stated for single parameters of which some have finitely many values,
    /// and one with correlations in a mean-field family.
    pub(crate) fn natural(&self, model: &dyn Model, family: Family) -> Result<Vec<f64>, Conflict> {
        let d = family.dimension();
        let counted = |support: &Support| matches!(support, Support::UpTo(_));
        if let (Self::Stated(_), Some(at)) = (self, model.supports(d).iter().position(counted)) {
            let what = format!(
                "the prior is stated for single parameters, and parameter {} has finitely many values, where it would be ignored",
                at + 1
            );
            return Err(Conflict::new("prior", NOT_TOGETHER, what, "state one precision: prior = { precision = 1.0 }"));
        }
        let Some(term) = self.term(model, d) else {
            let found = if let Self::Stated(term) = self { term.dimension() } else { d };
            let what = format!("the prior is stated for {found} coefficients, and the method has {d}");
            return Err(Conflict::new("prior", NOT_TOGETHER, what, "state the prior by a precision"));
        };
        term.natural(family).ok_or_else(correlated)
    }

    /// Refuses a prior with correlations where a method keeps no covariances.
    ///
    /// # Errors
    /// A conflict that names `covariance`: the correlations would be ignored.
    pub fn check(&self, covariance: Covariance) -> Result<(), Conflict> {
        match (self, covariance) {
            (Self::Stated(term), Covariance::MeanField) if term.off_diagonal().is_some() => Err(correlated()),
            _ => Ok(()),
        }
    }
}

/// The refusal of correlations that a mean-field method would ignore.
fn correlated() -> Conflict {
    let what =
        "the prior has correlations between coefficients, and a mean-field posterior has none: they would be ignored";
    let hint = "use a method with a full covariance, or keep each coefficient's mean and standard deviation alone: prior = { …, \
                correlations = false }";
    Conflict::new("covariance", NOT_TOGETHER, what, hint)
}
