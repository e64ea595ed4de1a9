//! What events cost: ε, δ, the noise for a budget, the steps within one.

use crate::event::Event;
use crate::failure::Failure;
use posterity::account::{self, AccountAnswer, AccountCosts, Found, Plan, number};
use posterity::digits::{down, up};
use posterity::{Delta, Epsilon, NoiseMultiplier, PrivacyError, StudyError};
use pyo3::prelude::*;
use std::sync::Mutex;

/// A certified number with both ends. `float()` of it is the upper end, which is the one to report.
///
/// >>> import posterity as ps
/// >>> ps.epsilon(ps.Event.gaussian(1.0, steps=10_000, rate=0.01, adjacency="add-remove"), delta=1e-5)
/// Bounds(lower=6.18771, upper=6.18772, accountant='pld')
#[pyclass(frozen, eq, module = "posterity")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bounds {
    /// The lower end: 0 where the accountant proves none.
    #[pyo3(get)]
    lower: f64,
    /// The upper end.
    #[pyo3(get)]
    upper: f64,
    /// The method of accounting.
    #[pyo3(get)]
    accountant: &'static str,
    /// True if the lower end was proved too.
    #[pyo3(get)]
    two_sided: bool,
    /// True if two evaluators were asked, and their intervals meet.
    #[pyo3(get)]
    verified: bool,
}

impl Bounds {
    /// What an answer has computed.
    fn of(answer: &AccountAnswer) -> Self {
        let cost = answer.cost();
        Self {
            lower: if answer.two_sided { cost.lower } else { 0.0 },
            upper: cost.upper,
            accountant: answer.accountant.name,
            two_sided: answer.two_sided,
            verified: answer.verified,
        }
    }
}

#[pymethods]
impl Bounds {
    fn __float__(&self) -> f64 {
        self.upper
    }

    fn __repr__(&self) -> String {
        let lower = if self.two_sided { format!("lower={}, ", down(self.lower)) } else { String::new() };
        format!("Bounds({lower}upper={}, accountant='{}')", up(self.upper), self.accountant)
    }
}

/// The least noise within a budget, and what it costs. `float()` of it is the noise multiplier.
#[pyclass(frozen, eq, module = "posterity")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Calibration {
    /// Standard deviation (Laplace: scale) of the noise divided by the sensitivity.
    #[pyo3(get)]
    noise_multiplier: f64,
    /// The ε with this noise; its upper end is within the budget.
    #[pyo3(get)]
    epsilon: Bounds,
}

#[pymethods]
impl Calibration {
    fn __float__(&self) -> f64 {
        self.noise_multiplier
    }

    fn __repr__(&self) -> String {
        format!("Calibration(noise_multiplier={}, epsilon={})", up(self.noise_multiplier), self.epsilon.__repr__())
    }
}

/// The most steps within a budget, and what they cost. `int()` of it is their number.
#[pyclass(frozen, eq, module = "posterity")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StepCount {
    /// How often.
    #[pyo3(get)]
    steps: u64,
    /// The ε of so many steps; its upper end is within the budget.
    #[pyo3(get)]
    epsilon: Bounds,
}

#[pymethods]
impl StepCount {
    fn __int__(&self) -> u64 {
        self.steps
    }

    fn __index__(&self) -> u64 {
        self.steps
    }

    fn __repr__(&self) -> String {
        format!("StepCount(steps={}, epsilon={})", self.steps, self.epsilon.__repr__())
    }
}

/// One event, or a list of them.
#[derive(FromPyObject)]
pub(crate) enum Events<'py> {
    /// One.
    One(PyRef<'py, Event>),
    /// Several.
    Many(Vec<PyRef<'py, Event>>),
}

impl Events<'_> {
    /// The plan of these events.
    pub(crate) fn plan(&self, overlap: i64, group: i64) -> Result<Plan, StudyError> {
        let events = match self {
            Self::One(event) => vec![event.inner.clone()],
            Self::Many(events) => events.iter().map(|event| event.inner.clone()).collect(),
        };
        let mut plan = Plan::new(events)?;
        plan.overlap = number("overlap", &overlap.to_string())?;
        plan.group = number("group", &group.to_string())?;
        Ok(plan)
    }
}

/// The accountant of this name; with `verify`, two evaluators of it.
fn costs(accountant: &str, verify: bool) -> Result<AccountCosts, StudyError> {
    let costs = AccountCosts::new(accountant)?;
    if verify { costs.verified() } else { Ok(costs) }
}

/// A checked ε.
pub(crate) fn checked_epsilon(epsilon: f64) -> Result<Epsilon, StudyError> {
    number("epsilon", &epsilon.to_string())
}

/// A checked δ.
fn checked_delta(delta: f64) -> Result<Delta, StudyError> {
    number("delta", &delta.to_string())
}

/// The ε of an event, or of a list of events that happen to the same rows.
///
/// `overlap`: the same person may be at so many clients that each run the events. `group`: so many units are protected
/// together. `verify=True` compares two evaluators of "pld".
///
/// >>> import posterity as ps
/// >>> event = ps.Event.gaussian(4.0, steps=10, adjacency="substitute")
/// >>> cost = ps.epsilon([event, event], delta=1e-5)
/// >>> cost.lower <= float(cost) < 5
/// True
#[pyfunction]
#[pyo3(signature = (events, *, delta, accountant="pld", overlap=1, group=1, verify=false))]
pub(crate) fn epsilon(
    py: Python<'_>,
    events: Events<'_>,
    delta: f64,
    accountant: &str,
    overlap: i64,
    group: i64,
    verify: bool,
) -> Result<Bounds, Failure> {
    let (plan, delta) = (events.plan(overlap, group)?, checked_delta(delta)?);
    let answer = py.detach(|| account::epsilon(plan, delta, &costs(accountant, verify)?))?;
    Ok(Bounds::of(&answer))
}

/// The δ of an event, or of a list of events, at this ε.
///
/// >>> import posterity as ps
/// >>> event = ps.Event.gaussian(4.0, steps=10, adjacency="substitute")
/// >>> float(ps.delta(event, epsilon=5)) < 1e-6
/// True
#[pyfunction]
#[pyo3(signature = (events, *, epsilon, accountant="pld", overlap=1, group=1, verify=false))]
pub(crate) fn delta(
    py: Python<'_>,
    events: Events<'_>,
    epsilon: f64,
    accountant: &str,
    overlap: i64,
    group: i64,
    verify: bool,
) -> Result<Bounds, Failure> {
    let (plan, epsilon) = (events.plan(overlap, group)?, checked_epsilon(epsilon)?);
    let answer = py.detach(|| account::delta(plan, epsilon, &costs(accountant, verify)?))?;
    Ok(Bounds::of(&answer))
}

/// The least noise multiplier within a budget.
///
/// `plan` is a function of the noise multiplier and returns an event or a list of events. More noise must not cost more.
///
/// >>> import posterity as ps
/// >>> found = ps.calibrate(
/// ...     lambda z: ps.Event.gaussian(z, steps=200, rate=0.05, adjacency="substitute"), epsilon=1, delta=1e-5)
/// >>> found.epsilon.upper <= 1
/// True
#[pyfunction]
#[pyo3(signature = (plan, *, epsilon, delta, accountant="pld", overlap=1, group=1, verify=false))]
#[expect(clippy::too_many_arguments, reason = "named arguments of Python")]
pub(crate) fn calibrate(
    py: Python<'_>,
    plan: Py<PyAny>,
    epsilon: f64,
    delta: f64,
    accountant: &str,
    overlap: i64,
    group: i64,
    verify: bool,
) -> Result<Calibration, Failure> {
    let (epsilon, delta) = (checked_epsilon(epsilon)?, checked_delta(delta)?);
    // What the function raised, which is told in the place of the search's own refusal.
    let raised: Mutex<Option<Failure>> = Mutex::new(None);
    let plan_of = |z: NoiseMultiplier| {
        let made: Result<Plan, Failure> = Python::attach(|py| {
            py.check_signals()?;
            let made = plan.call1(py, (z.get(),))?.into_bound(py);
            Ok(made.extract::<Events<'_>>()?.plan(overlap, group)?)
        });
        made.map_err(|failure| {
            if let Ok(mut raised) = raised.lock() {
                *raised = Some(failure);
            }
            PrivacyError::Parameter { name: "plan", found: "an exception".into(), expected: "an event, or a list" }
        })
    };
    let answer = py.detach(|| account::calibrate_plan(&plan_of, epsilon, delta, &costs(accountant, verify)?));
    if let Ok(Some(failure)) = raised.into_inner() {
        return Err(failure);
    }
    let answer = answer?;
    match answer.found {
        Found::NoiseMultiplier(z, _) => Ok(Calibration { noise_multiplier: z.get(), epsilon: Bounds::of(&answer) }),
        _ => Err(StudyError::usage("no noise multiplier was found", "report this as a bug").into()),
    }
}

/// The most steps of one event within a budget. The event's own number of steps does not count.
///
/// >>> import posterity as ps
/// >>> event = ps.Event.gaussian(4.0, adjacency="substitute")
/// >>> int(ps.steps(event, epsilon=1, delta=1e-4)) >= 1
/// True
#[pyfunction]
#[pyo3(signature = (event, *, epsilon, delta, accountant="pld", overlap=1, group=1, verify=false))]
#[expect(clippy::too_many_arguments, reason = "named arguments of Python")]
pub(crate) fn steps(
    py: Python<'_>,
    event: PyRef<'_, Event>,
    epsilon: f64,
    delta: f64,
    accountant: &str,
    overlap: i64,
    group: i64,
    verify: bool,
) -> Result<StepCount, Failure> {
    let (epsilon, delta) = (checked_epsilon(epsilon)?, checked_delta(delta)?);
    let plan = Events::One(event).plan(overlap, group)?;
    let answer = py.detach(|| account::steps_of_plan(&plan, epsilon, delta, &costs(accountant, verify)?))?;
    Ok(StepCount { steps: answer.plan.steps(), epsilon: Bounds::of(&answer) })
}

/// The methods of accounting: for each name, when to use it.
///
/// >>> import posterity as ps
/// >>> "pld" in ps.accountants()
/// True
#[pyfunction]
pub(crate) fn accountants() -> std::collections::BTreeMap<&'static str, String> {
    account::accountants().into_iter().map(|about| (about.name, about.to_string())).collect()
}
