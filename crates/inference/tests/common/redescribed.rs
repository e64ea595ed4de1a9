//! Solvers and algorithms that do what another one does, but describe it otherwise: what they release, what they go with.

use inference::algorithm::{Protocol, StepNoise};
use inference::describe::{Conflict, Descriptor, Limits, PrivacyNeed};
use inference::method::{AlgorithmSettings, BoundWords, Description, DrawPlan, Method, Parts};
use inference::release::Releases;
use inference::settings::{Covariance, Promise, Rounds};
use inference::solve::{Kept, LocalSolve, Problem, Solved, Task};
use inference::{ClientView, Family, Intervals, RunError, Terms};
use privacy::{Adjacency, Event, Gate, PrivacyError, Released, Shape};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// What is said in place of what is so.
pub(crate) type Saying = fn(Releases) -> Releases;

/// How a task is solved in place of the inner solver.
pub(crate) type Solving = fn(
    &dyn LocalSolve,
    &Problem,
    &Released<Task>,
    &Released<Kept>,
    &ClientView<'_>,
    &mut dyn Gate,
) -> Result<Solved, PrivacyError>;

/// A solver that says otherwise, or does otherwise.
#[derive(Debug, Clone)]
pub(crate) struct RedescribedSolver {
    inner: Arc<dyn LocalSolve>,
    releases: Saying,
    privacy: Option<PrivacyNeed>,
    solving: Solving,
}

impl RedescribedSolver {
    fn of(inner: impl LocalSolve + 'static) -> Self {
        Self {
            inner: Arc::new(inner),
            releases: |releases| releases,
            privacy: None,
            solving: |inner, problem, task, kept, seat, gate| inner.solve(problem, task, kept, seat, gate),
        }
    }

    /// The solver with another description of what it releases.
    pub(crate) fn saying(inner: impl LocalSolve + 'static, releases: Saying) -> Self {
        Self { releases, ..Self::of(inner) }
    }

    /// The solver with another way to solve.
    pub(crate) fn solving(inner: impl LocalSolve + 'static, solving: Solving) -> Self {
        Self { solving, ..Self::of(inner) }
    }

    /// A private solver that goes without a promise too: at an open gate its limit without noise can be seen.
    pub(crate) fn without_privacy(inner: impl LocalSolve + 'static) -> Self {
        Self { privacy: Some(PrivacyNeed::Optional), ..Self::of(inner) }
    }
}

impl Serialize for RedescribedSolver {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.canonical().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl LocalSolve for RedescribedSolver {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        self.inner.descriptor()
    }

    fn describe_local(&self) -> String {
        self.inner.describe_local()
    }

    fn releases(&self, family: Family) -> Releases {
        (self.releases)(self.inner.releases(family))
    }

    fn limits(&self) -> Limits {
        let limits = self.inner.limits();
        Limits { privacy: self.privacy.unwrap_or(limits.privacy), ..limits }
    }

    fn check(&self, most_rounds: u64) -> Result<(), Conflict> {
        self.inner.check(most_rounds)
    }

    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        (self.solving)(self.inner.as_ref(), problem, task, kept, seat, gate)
    }

    fn solve_from_memory(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
    ) -> Option<Released<Vec<f64>>> {
        self.inner.solve_from_memory(problem, task, kept)
    }

    fn weight(&self) -> f64 {
        self.inner.weight()
    }

    fn noise_of_means(&self, terms: &Terms) -> Option<StepNoise> {
        self.inner.noise_of_means(terms)
    }

    fn tracks_noise(&self) -> bool {
        self.inner.tracks_noise()
    }

    fn takes_noisy_steps(&self) -> bool {
        self.inner.takes_noisy_steps()
    }
}

/// An algorithm that says otherwise what it releases.
#[derive(Debug, Clone)]
pub(crate) struct RedescribedAlgorithm {
    pub(crate) inner: Arc<dyn AlgorithmSettings>,
    pub(crate) releases: Saying,
}

impl Serialize for RedescribedAlgorithm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.canonical().map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl AlgorithmSettings for RedescribedAlgorithm {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        self.inner.descriptor()
    }

    fn part(&self) -> &'static str {
        self.inner.part()
    }

    fn describe(&self) -> Description {
        self.inner.describe()
    }

    fn intervals(&self) -> Intervals {
        self.inner.intervals()
    }

    fn rounds(&self) -> Rounds {
        self.inner.rounds()
    }

    fn covariance(&self) -> Covariance {
        self.inner.covariance()
    }

    fn releases(&self, dimension: usize) -> Releases {
        (self.releases)(self.inner.releases(dimension))
    }

    fn limits(&self) -> Vec<(&'static str, Limits)> {
        self.inner.limits()
    }

    fn check(&self, method: &Method) -> Result<(), Conflict> {
        self.inner.check(method)
    }

    fn check_size(&self, method: &Method, rows: &[u64], dimension: usize) -> Result<(), Conflict> {
        self.inner.check_size(method, rows, dimension)
    }

    fn check_shape(&self, shape: &Shape, adjacency: Adjacency) -> Result<(), PrivacyError> {
        self.inner.check_shape(shape, adjacency)
    }

    fn site_intercept(&self) -> Option<f64> {
        self.inner.site_intercept()
    }

    fn draws(&self) -> Option<DrawPlan> {
        self.inner.draws()
    }

    fn keeps_factors(&self) -> bool {
        self.inner.keeps_factors()
    }

    fn conditions(&self, event: &Event) -> Vec<String> {
        self.inner.conditions(event)
    }

    fn bounded(&self, promise: &Promise) -> BoundWords {
        self.inner.bounded(promise)
    }

    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        self.inner.build(parts)
    }
}
