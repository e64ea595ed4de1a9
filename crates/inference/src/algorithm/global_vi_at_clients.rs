//! Global variational inference with an optimiser at every client: a client sends the step that it would take itself.

use super::global_vi::{
    GRADIENT_KEY, GlobalPoint, STEP_KEY, STEPS_KEY, check_local, check_solver, derived, gradients, is_answerable,
    starting, sum_of_gradients,
};
use super::pvi::GAUSSIAN;
use super::{Algorithm, Answer, Answers, Protocol, Step, misfit};
use crate::describe::{ANY_UNIT, Allowed, Conflict, Descriptor, Limits, TrustedParty};
use crate::method::{AlgorithmSettings, Description, Method, Parts};
use crate::optimiser::{Descent, OptimiserState, kl_gradient};
use crate::public::{Derived, PublicNumbers};
use crate::release::Releases;
use crate::settings::{DAMPING_KEY, Damping, Local, MOST_ROUNDS_KEY, Rounds};
use crate::solve::{Prior, Problem};
use crate::{ClientView, Gaussian, Intervals, RunError, Total};
use privacy::{Gate, Grid, GridVector, Outgoing, PrivacyError, Released, StudyConstant};
use serde::Serialize;
use std::sync::Arc;

/// Global VI as Sharma et al. 2019 ran it (appendix D.3 and Table 5, and their public code).
///
/// A client estimates the gradient of the *global* free energy from a batch of its own, as if all N rows were like these:
/// (N/L) Σ̃ + ∇(−KL), where L is the expected size of the batch. It moves by an optimiser of its own, whose moments it keeps,
/// and sends the step. The size of a step then depends neither on how many rows the client has nor on what the others send:
/// who comes often counts often, and where small clients come often and are unlike the large ones the result is theirs. That
/// is what their Table 5 shows on splits B and C. [`super::GlobalVi`] has one optimiser, at the server, and weighs by rows.
///
/// One release an answer. Moments and step are functions of released sums and public constants, by their types:
/// post-processing, with a budget as without one. An aggregator releases no sum of one client, so there is none here.
///
/// Its law: the state is the sum of the steps that arrived, as integers.
#[derive(Debug)]
pub struct GlobalViAtClients {
    /// What is learnt.
    pub problem: Problem,
    /// The clients' optimisation.
    pub local: Local,
    /// What is kept of a step.
    pub kept: Damping,
    /// The grid on which steps travel.
    pub sending: Grid,
}

/// Constants of a step.
struct ClientStepConstants {
    /// The client's optimisation.
    local: Local,
    /// p, for the gradient of the KL term.
    prior: Prior,
    /// N/L.
    scale: f64,
}

impl StudyConstant for ClientStepConstants {}

/// A step under way: where it began, where it stands. All of it is a function of released values.
#[derive(Clone)]
struct StepPath {
    /// Where q stood when it was asked.
    begin: Descent,
    /// Where it stands after the step, with the optimiser's moments.
    now: Descent,
}

impl GlobalViAtClients {
    /// q after the steps of this state.
    fn at(&self, state: &Total) -> Descent {
        let d = self.problem.family.dimension();
        let mut q = match self.problem.family.gaussian(&self.problem.start().0) {
            Some(q) => Descent::new(q.mean(), &q.deviations(), &self.local),
            None => Descent::new(&vec![0.0; d], &vec![1.0; d], &self.local),
        };
        q.go(&state.values(), self.local.chart);
        q
    }

    /// No steps yet, on the grid of steps.
    fn none(&self) -> Total {
        Total::zeros(2 * self.problem.family.dimension(), self.sending)
    }
}

/// `algorithm = "global-vi-at-clients"`: the workshop paper's global VI, for reproductions.
#[derive(Debug, Clone, Serialize)]
pub struct GlobalViAtClientsSettings {
    /// The optimisation of every client.
    pub local: Local,
    /// When it ends.
    pub rounds: Rounds,
    /// How much of a step is kept.
    pub damping: Damping,
}

/// `algorithm = "global-vi-at-clients"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "global-vi-at-clients",
    also: &["fedsgd"],
    about: "Global VI with an optimiser at every client, which sends its steps (Sharma et al. 2019).",
    keys: &[GRADIENT_KEY, STEP_KEY, STEPS_KEY, MOST_ROUNDS_KEY, DAMPING_KEY],
    limits: Limits {
        trust: Allowed {
            values: &[TrustedParty::Nobody],
            because: "every client sends a step that its own optimiser made: there is no sum for an aggregator to noise",
        },
        units: ANY_UNIT,
        needs: &[GAUSSIAN],
        site_intercept: false,
        ..Limits::NONE
    },
    read: |reading| {
        check_solver(reading)?;
        let (local, rounds) = starting(reading)?;
        Ok(Arc::new(GlobalViAtClientsSettings { local, rounds, damping: Damping::read(&reading.keys, None)? }))
    },
};

impl AlgorithmSettings for GlobalViAtClientsSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        "gradients"
    }

    fn describe(&self) -> Description {
        Description {
            algorithm: "global VI, an optimiser at every client".into(),
            details: vec![self.damping.words()],
            local: self.local.words(),
            readout: None,
        }
    }

    fn intervals(&self) -> Intervals {
        Intervals::IgnoreNoise
    }

    fn rounds(&self) -> Rounds {
        self.rounds
    }

    fn releases(&self, dimension: usize) -> Releases {
        gradients(&self.local, dimension).into()
    }

    fn check(&self, _: &Method) -> Result<(), Conflict> {
        check_local(&self.local)
    }

    fn derived(&self, method: &Method, public: &PublicNumbers) -> Vec<Derived> {
        derived(&self.local, method.promise.as_ref(), public)
    }

    fn derives_clip(&self) -> bool {
        true
    }

    /// N/L goes by the declared rows of all clients.
    fn weighs_by_rows(&self, _: bool) -> bool {
        true
    }

    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        let (problem, sending) = (parts.problem.clone(), parts.sending()?);
        Ok(Box::new(GlobalViAtClients { problem, local: self.local, kept: self.damping, sending }))
    }
}

impl Algorithm for GlobalViAtClients {
    type State = Total;
    type Query = GlobalPoint;
    type Memory = Option<Released<OptimiserState>>;

    fn start(&self) -> Total {
        self.none()
    }

    fn ask(&self, state: &Total) -> GlobalPoint {
        GlobalPoint::of(&self.at(state))
    }

    /// What global VI checks, and moments of this optimiser, one for each number of a gradient.
    fn check(&self, query: &GlobalPoint, memory: &Self::Memory, seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        let d = self.problem.family.dimension();
        gradients(&self.local, d).check(seat)?;
        is_answerable(query, d)?;
        let own = |memory: &Released<OptimiserState>| memory.get().fit(self.local.optimiser, 2 * d);
        memory.as_ref().is_none_or(own).then_some(()).ok_or_else(|| PrivacyError::Shape {
            found: "a memory of another optimiser or of other numbers".into(),
            expected: "the moments of this method's optimiser, one for each number of a gradient".into(),
        })
    }

    /// One release; the step and the moments follow from it by post-processing.
    fn answer(
        &self,
        query: &Released<GlobalPoint>,
        memory: &Self::Memory,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<Self::Memory>, PrivacyError> {
        let sum = sum_of_gradients(&self.problem, query.get(), seat, gate)?;
        let mut noised = Released::zeros(0);
        gate.release(&sum, &mut noised)?;
        let scale = seat.terms.inverse_rate() / seat.terms.weight;
        let stepping = ClientStepConstants { local: self.local, prior: self.problem.prior.clone(), scale };
        let mut walk = query.clone().map(&stepping, set_out);
        if let Some(moments) = memory {
            walk.update(moments, &stepping, |walk, moments, by| walk.now.take_up(moments, &by.local));
        }
        walk.update(&noised, &stepping, one_step);
        let moments = walk.clone().map(&(), |walk, ()| walk.now.into_moments());
        let step = walk.map(&(), |walk, ()| walk.now.way_from(&walk.begin));
        Ok(Answer { outgoing: Outgoing::post_processed(&step, self.sending)?, draft: Some(moments) })
    }

    /// Steps add, each damped, as integers.
    fn fold(&self, mut state: Total, answers: &Answers) -> Result<Step<Total>, RunError> {
        let Answers::Each(each) = answers else {
            return Err(RunError::Message { what: "a sum of steps, where every client sends its own" });
        };
        let damped = |(_, step): &(usize, _)| state.damped(step, self.kept).ok_or_else(misfit);
        let applied: Vec<Total> = each.iter().map(damped).collect::<Result<_, _>>()?;
        applied.iter().for_each(|step| state.add(step));
        Ok(Step { state, applied })
    }

    fn fits(&self, state: &Total, _: usize, answer: &GridVector) -> bool {
        state.takes(answer)
    }

    /// The moments, whatever was kept of the step.
    fn settle(&self, draft: Self::Memory, applied: &Released<Total>) -> Result<Self::Memory, PrivacyError> {
        applied.get().is_like(&self.none()).then_some(draft).ok_or_else(|| PrivacyError::Shape {
            found: "a receipt of other numbers or another grid".into(),
            expected: "one number for each mean and each spread, on the grid of the steps".into(),
        })
    }

    fn posterior(&self, state: &Total) -> Vec<f64> {
        let q = self.at(state);
        let variances = q.point().deviation.iter().map(|s| s * s).collect();
        Gaussian::new_diagonal(q.point().mean.to_vec(), variances)
            .map_or_else(|| self.problem.prior.0.clone(), |q| self.problem.family.natural(&q))
    }
}

/// A step that has not moved yet.
fn set_out(standing: GlobalPoint, stepping: &ClientStepConstants) -> StepPath {
    let begin = standing.descent(&stepping.local);
    StepPath { now: begin.clone(), begin }
}

/// q moves along (N/L) Σ̃ + ∇(−KL), where Σ̃ is the noised sum of clipped gradients.
fn one_step(walk: &mut StepPath, noised: &Vec<f64>, stepping: &ClientStepConstants) {
    let mut slope = vec![0.0; noised.len()];
    kl_gradient(walk.now.point(), &stepping.prior.0, &mut slope);
    slope.iter_mut().zip(noised).for_each(|(s, g)| *s += stepping.scale * g);
    walk.now.step(&slope, &stepping.local);
}
