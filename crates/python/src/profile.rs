//! Privacy profiles: δ as a function of ε, by one or several accountants.

use crate::accounting::{Events, checked_epsilon};
use crate::failure::Failure;
use posterity::{StudyError, account, report};
use pyo3::prelude::*;

/// δ at every ε, by each accountant. `posterity.Profile` makes arrays of it.
#[pyclass(frozen, module = "posterity._native")]
#[derive(Debug)]
pub(crate) struct Profile {
    inner: account::Profile,
}

#[pymethods]
impl Profile {
    /// The places.
    #[getter]
    fn epsilons(&self) -> Vec<f64> {
        self.inner.epsilons.iter().map(|epsilon| epsilon.get()).collect()
    }

    /// For each accountant, its upper and lower bounds; None where nothing can be certified, and no lower bounds where the
    /// accountant proves none.
    #[getter]
    #[expect(clippy::type_complexity, reason = "two columns of each accountant")]
    fn columns(&self) -> Vec<(String, Vec<Option<f64>>, Option<Vec<Option<f64>>>)> {
        let ends = |column: &account::ProfileColumn| {
            let lower = column.two_sided.then(|| column.ends(|bounds| bounds.lower).collect());
            (column.accountant.clone(), column.ends(|bounds| bounds.upper).collect(), lower)
        };
        self.inner.columns.iter().map(ends).collect()
    }

    /// The plan in words.
    fn words(&self) -> String {
        self.inner.plan.words()
    }

    /// One line for each ε.
    fn csv(&self) -> String {
        self.inner.csv()
    }

    /// A picture.
    fn svg(&self) -> String {
        report::profile_svg(&self.inner)
    }
}

/// δ of these events at every ε, by each accountant.
#[pyfunction]
pub(crate) fn profile(
    py: Python<'_>,
    events: Events<'_>,
    epsilons: Vec<f64>,
    accountants: Vec<String>,
    overlap: i64,
    group: i64,
) -> Result<Profile, Failure> {
    let plan = events.plan(overlap, group)?;
    let epsilons = epsilons.into_iter().map(checked_epsilon).collect::<Result<Vec<_>, StudyError>>()?;
    let inner = py.detach(|| account::Profile::of(plan, epsilons, &accountants))?;
    Ok(Profile { inner })
}
