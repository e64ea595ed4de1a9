//! Global variational inference: clients send sums of clipped gradients, and the server moves q.
//!
//! All rows of all sites are one data set, and q moves as if they were in one place. It needs many
//! rounds, one for each step, and no local work to speak of. Under an aggregator it is DP variational
//! inference over a secure sum (section 3.2 of Heikkilä et al. 2017).

use super::pvi::GAUSSIAN;
use super::{Algorithm, Answer, Answers, Protocol, Step, unlike};
use crate::describe::{
    ANY_UNIT, Conflict, Descriptor, Key, Limits, NOT_TOGETHER, Otherwise, PRIVACY_OR_NOT, Reading, ValueKind,
};
use crate::method::{AlgorithmSettings, Description, Method, Parts};
use crate::model::{Point, Scratch, seed_of};
use crate::optimiser::{Descent, is_within_limits, kl_gradient};
use crate::public::{Derived, PublicNumbers};
use crate::release::{Bound, Clipped, Numbers, Release, Releases};
use crate::settings::{DERIVED_LOCAL_KEY, Local, MOST_ROUNDS_KEY, Promise, ROUNDS_KEY, Rounds};
use crate::solve::Problem;
use crate::{ClientView, Gaussian, Intervals, RunError, Terms, Total, UnitBatch};
use privacy::{Bounded, Gate, Grain, GridVector, PrivacyError, Released};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The centralised baseline of Sharma et al. 2019 and Heikkilä et al. 2022 (after Jälkö et al. 2017).
///
/// One release an answer. Its law: the state is the descent along the sums that were released, in order; a client has no
/// memory.
///
/// A round moves q along
///
/// ```text
/// Σ_m Σ̃_m / rate_m + ∇(−KL(q ‖ p)),    Σ̃_m = clipped gradients of a batch of client m + noise
/// ```
///
/// If only some clients answered, the gradient of the KL term counts by their share.
#[derive(Debug)]
pub struct GlobalVi {
    /// What is learnt.
    pub problem: Problem,
    /// The server's optimisation.
    pub local: Local,
    /// 1/rate of each client, public: batches stand for all rows.
    pub inverse_rates: Vec<f64>,
}

/// `algorithm = "global-vi"`: one optimiser at the server, one step a round.
#[derive(Debug, Clone, Serialize)]
pub struct GlobalViSettings {
    /// The server's optimisation.
    pub local: Local,
    /// When it ends.
    pub rounds: Rounds,
}

/// `solver`, which may be stated for clarity.
pub(super) const GRADIENT_KEY: Key =
    Key::new("solver", ValueKind::Word(&["clear", "dp-optimisation"]), "\"dp-optimisation\"")
        .about("may be stated: \"clear\" without privacy, \"dp-optimisation\" with it")
        .otherwise(Otherwise::Follows("by whether there is privacy"));

/// `local`, of which a round makes one step.
pub(super) const STEP_KEY: Key =
    Key { example: "{ rate = 0.05, optimiser = \"adam\", learning_rate = 0.05 }", ..DERIVED_LOCAL_KEY };

/// `algorithm = "global-vi"`
pub(crate) const DESCRIPTOR: Descriptor<dyn AlgorithmSettings> = Descriptor {
    name: "global-vi",
    also: &["vi", "dp-vi", "dpvi"],
    about: "Global VI: clients send clipped gradients, and one optimiser at the server moves q (Jälkö et al. 2017).",
    keys: &[GRADIENT_KEY, STEP_KEY, STEPS_KEY, MOST_ROUNDS_KEY],
    limits: Limits { units: ANY_UNIT, needs: &[GAUSSIAN], site_intercept: false, ..Limits::NONE },
    read: |reading| {
        check_solver(reading)?;
        let (local, rounds) = starting(reading)?;
        Ok(Arc::new(GlobalViSettings { local, rounds }))
    },
};

/// Rounds where a study leaves them out.
const ROUNDS: u64 = 500;

/// `rounds`, each of them one step.
pub(super) const STEPS_KEY: Key = ROUNDS_KEY.otherwise(Otherwise::Follows("500 with privacy; required without"));

/// Step size of Adam: q is where the last of many steps ends, and with larger steps the noise of the last ones stays in it.
const LEARNING_RATE: f64 = 0.01;

/// The step of a round where a study leaves it out.
fn one_step() -> Local {
    Local { learning_rate: LEARNING_RATE, ..Local::starting(1, false) }
}

/// `local` and `rounds`, with starting values where privacy is promised.
pub(super) fn starting(reading: &Reading<'_>) -> Result<(Local, Rounds), Conflict> {
    let private = reading.promise.is_some();
    let local = Local::read_or(&reading.keys, private.then(one_step))?;
    Ok((local, Rounds::read_or(&reading.keys, private.then_some(ROUNDS))?))
}

/// Settings of global VI for public numbers: rules of thumb whose regret was measured (`docs/explanation/settings.md`).
pub(super) fn derived(local: &Local, promise: Option<&Promise>, public: &PublicNumbers) -> Vec<Derived> {
    let Some(promise) = promise else { return Vec::new() };
    let rounds =
        Derived::new("rounds", ROUNDS as i64, "many small steps: the noise of a step is averaged by those that follow");
    public.clip_of_steps(promise).into_iter().chain([rounds]).chain(local.derived(&one_step(), public)).collect()
}

/// Refuses a stated solver that does not agree with the promise.
pub(super) fn check_solver(reading: &Reading<'_>) -> Result<(), Conflict> {
    let expected = if reading.promise.is_some() { "dp-optimisation" } else { "clear" };
    match reading.keys.maybe_word("solver") {
        Some(stated) if stated != expected => {
            let (noise, promised) = if reading.promise.is_some() {
                ("adds no noise", "privacy is")
            } else {
                ("adds noise", "no privacy is")
            };
            let what = format!("solver = {stated:?} {noise}, but {promised} promised");
            Err(Conflict::new("solver", PRIVACY_OR_NOT, what, format!("use solver = {expected:?}, or leave it out")))
        }
        _ => Ok(()),
    }
}

/// One sum of gradients over the rows of a batch.
pub(super) fn gradients(local: &Local, dimension: usize) -> Release {
    let (grain, numbers) = (Grain::Example, Numbers::Fixed(2 * dimension));
    Release { grain, sums: 1, numbers, batch: local.batch, clipped: Clipped::Gradients, bound: Bound::Clip }
}

/// Refuses steps that one sum of gradients a round cannot make.
pub(super) fn check_local(local: &Local) -> Result<(), Conflict> {
    local.check_gradients()?;
    local.check_full_gradients()?;
    if local.steps != 1 {
        let what = format!("local.steps is {}, but global VI makes one step a round", local.steps);
        return Err(Conflict::new("local.steps", NOT_TOGETHER, what, "leave steps out, and set rounds"));
    }
    Ok(())
}

impl AlgorithmSettings for GlobalViSettings {
    fn descriptor(&self) -> &'static Descriptor<dyn AlgorithmSettings> {
        &DESCRIPTOR
    }

    fn part(&self) -> &'static str {
        "gradients"
    }

    fn describe(&self) -> Description {
        let local = self.local.words();
        Description { algorithm: "global VI, optimiser at the server".into(), local, ..Description::default() }
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

    fn approaches(&self) -> bool {
        true
    }

    fn clips_rows(&self) -> bool {
        true
    }

    fn derived(&self, method: &Method, public: &PublicNumbers) -> Vec<Derived> {
        derived(&self.local, method.promise.as_ref(), public)
    }

    fn derives_clip(&self) -> bool {
        true
    }

    /// Sums over batches are scaled by 1/rate of each client.
    fn build(&self, parts: &Parts<'_>) -> Result<Box<dyn Protocol>, RunError> {
        let inverse_rates = parts.terms.iter().map(Terms::inverse_rate).collect();
        Ok(Box::new(GlobalVi { problem: parts.problem.clone(), local: self.local, inverse_rates }))
    }
}

/// Where q stands, as it is asked: the mean and the deviation of each parameter. Public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GlobalPoint {
    /// μ.
    mean: Vec<f64>,
    /// s.
    deviation: Vec<f64>,
}

impl GlobalPoint {
    /// Where a descent stands.
    pub(super) fn of(descent: &Descent) -> Self {
        let point = descent.point();
        Self { mean: point.mean.to_vec(), deviation: point.deviation.to_vec() }
    }

    /// A descent that begins here.
    pub(super) fn descent(&self, local: &Local) -> Descent {
        Descent::new(&self.mean, &self.deviation, local)
    }
}

/// Refuses what is not a finite mean and a deviation within the descent's limits for each of d parameters.
pub(super) fn is_answerable(query: &GlobalPoint, d: usize) -> Result<(), PrivacyError> {
    let mean = query.mean.len() == d && query.mean.iter().all(|m| m.is_finite());
    let spread = query.deviation.len() == d && query.deviation.iter().all(|s| is_within_limits(*s));
    (mean && spread).then_some(()).ok_or_else(|| unlike("a finite mean and a positive deviation of each parameter"))
}

/// The clipped gradients of a batch at q, which have yet to pass the gate that drew it.
pub(super) fn sum_of_gradients(
    problem: &Problem,
    at: &GlobalPoint,
    seat: &ClientView<'_>,
    gate: &mut dyn Gate,
) -> Result<Bounded, PrivacyError> {
    let mut units = UnitBatch::default();
    seat.draw(gate, &mut units)?;
    let mut sum = units.sum(*gate.shape())?;
    let at = Point { mean: &at.mean, deviation: &at.deviation };
    let (rows, which) = (seat.shard.rows(), units.rows());
    problem.model.gradients(rows, which, at, seed_of(at.mean), &mut Scratch::default(), &mut sum)?;
    Ok(sum)
}

impl GlobalVi {
    /// Σ over answers of gradient/rate, and the share of the KL term that goes with them.
    fn likelihood_slope(&self, answers: &Answers, dimension: usize) -> Result<(Vec<f64>, f64), RunError> {
        let unknown = || RunError::Message { what: "an answer of an unknown client or another dimension" };
        let mut slope = vec![0.0; dimension];
        let mut add = |scale: f64, values: Vec<f64>| {
            slope.iter_mut().zip(&values).for_each(|(s, g)| *s += scale * g);
            (values.len() == dimension).then_some(()).ok_or_else(unknown)
        };
        let share = match answers {
            Answers::Sum { total, from } => {
                add(self.inverse_rates.first().copied().ok_or_else(unknown)?, total.values())?;
                from.len() as f64 / self.inverse_rates.len() as f64
            }
            Answers::Each(each) => {
                for (client, gradient) in each {
                    add(self.inverse_rates.get(*client).copied().ok_or_else(unknown)?, gradient.values())?;
                }
                each.len() as f64 / self.inverse_rates.len() as f64
            }
        };
        Ok((slope, share))
    }
}

impl GlobalVi {
    /// The clipped gradients of a batch at q, through the gate.
    pub(super) fn answer_at(
        &self,
        at: &GlobalPoint,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<()>, PrivacyError> {
        let sum = sum_of_gradients(&self.problem, at, seat, gate)?;
        Ok(Answer { outgoing: gate.send(&sum)?, draft: () })
    }
}

impl Algorithm for GlobalVi {
    type State = Descent;
    type Query = GlobalPoint;
    type Memory = ();

    /// At the model's start, or at the prior.
    fn start(&self) -> Descent {
        let d = self.problem.family.dimension();
        match self.problem.family.gaussian(&self.problem.start().0) {
            Some(q) => Descent::new(q.mean(), &q.deviations(), &self.local),
            None => Descent::new(&vec![0.0; d], &vec![1.0; d], &self.local),
        }
    }

    fn ask(&self, state: &Descent) -> GlobalPoint {
        GlobalPoint::of(state)
    }

    /// A finite mean and a deviation within the descent's limits for each parameter; sums of clipped examples.
    fn check(&self, query: &GlobalPoint, (): &(), seat: &ClientView<'_>) -> Result<(), PrivacyError> {
        gradients(&self.local, self.problem.family.dimension()).check(seat)?;
        is_answerable(query, self.problem.family.dimension())
    }

    fn answer(
        &self,
        query: &Released<GlobalPoint>,
        (): &(),
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Answer<()>, PrivacyError> {
        self.answer_at(query.get(), seat, gate)
    }

    /// One step along the likelihood's slope and the share of the KL term that goes with those who answered.
    fn fold(&self, mut state: Descent, answers: &Answers) -> Result<Step<Descent>, RunError> {
        let dimension = 2 * self.problem.family.dimension();
        let (likelihood, share) = self.likelihood_slope(answers, dimension)?;
        let mut slope = vec![0.0; dimension];
        kl_gradient(state.point(), &self.problem.prior.0, &mut slope);
        slope.iter_mut().zip(&likelihood).for_each(|(s, l)| *s = share * *s + l);
        state.step(&slope, &self.local);
        Ok(Step { state, applied: answers.noted() })
    }

    fn fits(&self, _: &Descent, client: usize, answer: &GridVector) -> bool {
        client < self.inverse_rates.len() && answer.units().len() == 2 * self.problem.family.dimension()
    }

    fn settle(&self, (): (), _: &Released<Total>) -> Result<(), PrivacyError> {
        Ok(())
    }

    fn posterior(&self, state: &Descent) -> Vec<f64> {
        let point = state.point();
        let variances = point.deviation.iter().map(|s| s * s).collect();
        Gaussian::new_diagonal(point.mean.to_vec(), variances)
            .map_or_else(|| self.problem.prior.0.clone(), |q| self.problem.family.natural(&q))
    }
}
