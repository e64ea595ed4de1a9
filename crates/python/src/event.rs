//! What happened to the data, as a value: the `Event` of Python.

use crate::failure::Failure;
use posterity::account::{
    AdjacencyAsTyped, AdversaryAsTyped, Choice, MechanismAsTyped, MechanismKind, Plan, PlanAsTyped, SamplingAsTyped,
    UnitAsTyped,
};
use posterity::{StudyError, account};
use pyo3::prelude::*;

/// A mechanism in its setting: what was done, how often, on which rows, and who is protected.
///
/// An event exists only where a theorem covers the combination. It is made by one of the named constructors, such as
/// `Event.gaussian`.
///
/// >>> import posterity as ps
/// >>> event = ps.Event.gaussian(1.0, steps=10_000, rate=0.01, adjacency="add-remove")
/// >>> event.steps, event.adjacency
/// (10000, 'add-remove')
#[pyclass(frozen, eq, hash, module = "posterity")]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    pub(crate) inner: posterity::Event,
}

impl std::hash::Hash for Event {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.inner.to_string().hash(state);
    }
}

/// The choice of this name.
fn choice<T: Choice>(key: &str, name: Option<&str>) -> Result<Option<T>, StudyError> {
    let Some(name) = name else { return Ok(None) };
    match T::ALL.iter().find(|(_, known, _)| *known == name) {
        Some((choice, ..)) => Ok(Some(*choice)),
        None => {
            let names: Vec<_> = T::ALL.iter().map(|(_, known, _)| format!("\"{known}\"")).collect();
            Err(StudyError::usage(
                format!("`{key}` is \"{}\"", account::cut(name)),
                format!("write one of {}", names.join(", ")),
            ))
        }
    }
}

/// A number as it would be typed.
fn typed(number: impl ToString) -> Option<String> {
    Some(number.to_string())
}

/// How rows are drawn: a rate without a word is that of Poisson batches.
fn sampling(word: Option<&str>, rate: Option<f64>) -> Result<Option<SamplingAsTyped>, StudyError> {
    Ok(choice("sampling", word)?.or(rate.map(|_| SamplingAsTyped::Poisson)))
}

impl Event {
    /// The checked event.
    fn of(mechanism: MechanismAsTyped) -> Result<Self, Failure> {
        let events = events_of(vec![mechanism])?;
        let none = || StudyError::usage("there is no event", "report this as a bug");
        Ok(events.into_iter().next().ok_or_else(none)?)
    }

    /// Noise on a clipped sum.
    fn noise(kind: MechanismKind, noise_multiplier: f64, setting: Setting<'_>) -> Result<Self, Failure> {
        Self::of(MechanismAsTyped {
            mechanism: Some(kind),
            noise_multiplier: typed(noise_multiplier),
            sampling: sampling(setting.sampling, setting.rate)?,
            rate: setting.rate.and_then(typed),
            unit: choice::<UnitAsTyped>("unit", Some(setting.unit))?,
            adjacency: choice::<AdjacencyAsTyped>("adjacency", Some(setting.adjacency))?,
            steps: typed(setting.steps),
            ..MechanismAsTyped::default()
        })
    }
}

/// What noise on a sum is joined with.
struct Setting<'a> {
    adjacency: &'a str,
    steps: i64,
    rate: Option<f64>,
    sampling: Option<&'a str>,
    unit: &'a str,
}

#[pymethods]
impl Event {
    /// Gaussian noise on a clipped sum.
    ///
    /// `noise_multiplier` is the standard deviation of the noise divided by the sensitivity of the relation. `adjacency` is
    /// "add-remove" (one unit more or less) or "substitute" (one unit replaced). With `rate`, each step draws a Poisson
    /// batch; `sampling="without-replacement"` draws batches of fixed size instead.
    ///
    /// >>> import posterity as ps
    /// >>> ps.Event.gaussian(1.1, adjacency="substitute").noise_multiplier
    /// 1.1
    #[staticmethod]
    #[pyo3(signature = (noise_multiplier, *, adjacency, steps=1, rate=None, sampling=None, unit="example"))]
    fn gaussian(
        noise_multiplier: f64,
        adjacency: &str,
        steps: i64,
        rate: Option<f64>,
        sampling: Option<&str>,
        unit: &str,
    ) -> Result<Self, Failure> {
        Self::noise(MechanismKind::Gaussian, noise_multiplier, Setting { adjacency, steps, rate, sampling, unit })
    }

    /// Laplace noise on a clipped sum; `noise_multiplier` is its scale divided by the sensitivity.
    #[staticmethod]
    #[pyo3(signature = (noise_multiplier, *, adjacency, steps=1, rate=None, sampling=None, unit="example"))]
    fn laplace(
        noise_multiplier: f64,
        adjacency: &str,
        steps: i64,
        rate: Option<f64>,
        sampling: Option<&str>,
        unit: &str,
    ) -> Result<Self, Failure> {
        Self::noise(MechanismKind::Laplace, noise_multiplier, Setting { adjacency, steps, rate, sampling, unit })
    }

    /// Randomised response: the true one of `categories`, or with probability `gamma` a uniform one. The relation is
    /// substitution.
    #[staticmethod]
    #[pyo3(signature = (categories, gamma, *, steps=1))]
    fn randomised_response(categories: i64, gamma: f64, steps: i64) -> Result<Self, Failure> {
        Self::of(MechanismAsTyped {
            mechanism: Some(MechanismKind::RandomisedResponse),
            categories: typed(categories),
            gamma: typed(gamma),
            steps: typed(steps),
            ..MechanismAsTyped::default()
        })
    }

    /// A shuffle of the reports of `users`, each of them `local_epsilon`-locally private. `rate` is the share of all users
    /// in a shuffle. The relation is substitution.
    #[staticmethod]
    #[pyo3(signature = (users, local_epsilon, *, steps=1, rate=None))]
    fn shuffle_clones(users: i64, local_epsilon: f64, steps: i64, rate: Option<f64>) -> Result<Self, Failure> {
        Self::of(MechanismAsTyped {
            mechanism: Some(MechanismKind::ShuffleClones),
            users: typed(users),
            local_epsilon: typed(local_epsilon),
            rate: rate.and_then(typed),
            steps: typed(steps),
            ..MechanismAsTyped::default()
        })
    }

    /// A shuffle of randomised responses of `users`. `adversary` is "strong", "weak" or "outside"; `rate` is the share of
    /// all users in a shuffle. The relation is substitution.
    #[staticmethod]
    #[pyo3(signature = (users, categories, gamma, *, adversary, steps=1, rate=None))]
    fn shuffle_krr(
        users: i64,
        categories: i64,
        gamma: f64,
        adversary: &str,
        steps: i64,
        rate: Option<f64>,
    ) -> Result<Self, Failure> {
        Self::of(MechanismAsTyped {
            mechanism: Some(MechanismKind::ShuffleKrr),
            users: typed(users),
            categories: typed(categories),
            gamma: typed(gamma),
            adversary: choice::<AdversaryAsTyped>("adversary", Some(adversary))?,
            rate: rate.and_then(typed),
            steps: typed(steps),
            ..MechanismAsTyped::default()
        })
    }

    /// Anything of which only (ε, δ) of one step is known.
    #[staticmethod]
    #[pyo3(signature = (epsilon, delta, *, adjacency, steps=1, unit="example"))]
    fn approximate(epsilon: f64, delta: f64, adjacency: &str, steps: i64, unit: &str) -> Result<Self, Failure> {
        Self::of(MechanismAsTyped {
            mechanism: Some(MechanismKind::Approximate),
            step_epsilon: typed(epsilon),
            step_delta: typed(delta),
            adjacency: choice::<AdjacencyAsTyped>("adjacency", Some(adjacency))?,
            unit: choice::<UnitAsTyped>("unit", Some(unit))?,
            steps: typed(steps),
            ..MechanismAsTyped::default()
        })
    }

    /// Barker tests of a Markov chain, on batches of `batch` out of `rows` rows, drawn without replacement. The relation is
    /// substitution.
    #[staticmethod]
    #[pyo3(signature = (batch, rows, *, steps=1))]
    fn barker(batch: i64, rows: i64, steps: i64) -> Result<Self, Failure> {
        Self::of(MechanismAsTyped {
            mechanism: Some(MechanismKind::Barker),
            batch: typed(batch),
            rows: typed(rows),
            steps: typed(steps),
            ..MechanismAsTyped::default()
        })
    }

    /// The same event, done this many times.
    fn repeated(&self, steps: i64) -> Result<Self, Failure> {
        Ok(Self { inner: self.inner.repeated(account::number("steps", &steps.to_string())?) })
    }

    /// The name of the mechanism, such as "gaussian".
    #[getter]
    fn mechanism(&self) -> &'static str {
        self.inner.mechanism().name()
    }

    /// How often it is done.
    #[getter]
    fn steps(&self) -> u64 {
        self.inner.steps().get()
    }

    /// Which data sets are neighbours: "add-remove" or "substitute".
    #[getter]
    fn adjacency(&self) -> String {
        self.inner.adjacency().to_string()
    }

    /// Who is protected: "example", "person" or "client".
    #[getter]
    fn unit(&self) -> String {
        self.inner.unit().to_string()
    }

    /// The share of the rows in a step; 1.0 where every row takes part.
    #[getter]
    fn rate(&self) -> f64 {
        self.inner.sampling().rate()
    }

    /// Standard deviation (Laplace: scale) of the noise divided by the sensitivity, where there is such noise.
    #[getter]
    fn noise_multiplier(&self) -> Option<f64> {
        self.inner.noise_multiplier().map(posterity::NoiseMultiplier::get)
    }

    fn __repr__(&self) -> String {
        format!("<Event: {}>", account::words(&self.inner))
    }

    fn __str__(&self) -> String {
        account::words(&self.inner)
    }

    fn __reduce__(&self, py: Python<'_>) -> Result<(Py<PyAny>, (String,)), Failure> {
        let text = serde_json::to_string(&self.inner).map_err(unreadable)?;
        Ok((py.get_type::<Self>().getattr("_stored")?.unbind(), (text,)))
    }

    /// An event from the form in which it is pickled.
    #[staticmethod]
    fn _stored(text: &str) -> Result<Self, Failure> {
        Ok(Self { inner: serde_json::from_str(text).map_err(unreadable)? })
    }
}

/// A pickle that no event was written to.
fn unreadable(error: serde_json::Error) -> StudyError {
    StudyError::Events {
        message: format!("the pickle has no event: {error}"),
        hint: "make the event again with this version of posterity".to_owned(),
    }
}

/// Checked events of mechanisms as typed.
fn events_of(mechanisms: Vec<MechanismAsTyped>) -> Result<Vec<Event>, StudyError> {
    let plan = Plan::of(&PlanAsTyped { mechanisms, ..PlanAsTyped::default() })?;
    Ok(plan.events.into_iter().map(|inner| Event { inner }).collect())
}

/// The events of a JSON list, in the form that `posterity account --events` reads.
///
/// >>> import posterity as ps
/// >>> ps.read_events('[{"mechanism": "gaussian", "noise_multiplier": 2, "steps": 3, "adjacency": "substitute"}]')[0].steps
/// 3
#[pyfunction]
pub(crate) fn read_events(text: &str) -> Result<Vec<Event>, Failure> {
    Ok(events_of(account::read_events("the text", text)?)?)
}
