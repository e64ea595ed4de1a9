//! DP optimisation: the gate stands inside the loop; the answer is post-processing.

use super::optimum::natural_of;
use super::{Kept, LocalSolve, Problem, Solved, Task};
use crate::algorithm::StepNoise;
use crate::describe::{ANY_UNIT, Allowed, Conflict, Descriptor, Limits, Need, Offer, PrivacyNeed, TrustedParty};
use crate::model::{Scratch, seed_of, shifts};
use crate::optimiser::{Descent, kl_gradient};
use crate::public::{Derived, PublicNumbers};
use crate::release::{Bound, Clipped, Numbers, Release, Releases};
use crate::settings::{Covariance, DERIVED_LOCAL_KEY, Gradients, Local, Optimiser, Promise};
use crate::{ClientView, Family, Terms, UnitBatch};
use privacy::{Gate, Grain, PrivacyError, Released, StudyConstant};
use serde::Serialize;
use std::sync::Arc;

/// Section 3.1 of Heikkilä et al. 2022 and Algorithm 1 of Sharma et al. 2019: T steps of DP-SGD on the local free energy.
///
/// Only the likelihood's gradient is clipped and noised. The gradient of the KL term is a function of released values,
/// and is added after the gate. With an open gate this is stochastic PVI without privacy.
///
/// Step k moves q along
///
/// ```text
/// Σ̃_k / rate + ∇(−KL(q ‖ cavity)),    Σ̃_k = Σ_{i in batch} clip_C(∇ E_q log p(yᵢ | xᵢ, θ)) + noise
/// ```
///
/// - T: [`Local::steps`], the number of noisy sums that one update releases.
/// - rate: the probability with which a row is in a batch ([`Local::batch`]).
/// - C: the promise's bound of one row's gradient by (μ, log s), or by μ alone where gradients are
///   aligned ([`Gradients::Aligned`]).
#[derive(Debug, Clone, Serialize)]
pub struct Descend {
    /// The optimisation.
    pub local: Local,
}

/// Constants of a step: what a function between two releases may know beside released values.
struct StepConstants {
    local: Local,
    family: Family,
    /// 1/rate: what turns a batch's sum into an estimate of all rows'.
    inverse_rate: f64,
    /// Of the step's draws.
    seed: u64,
}

impl StudyConstant for StepConstants {}

/// Everything that moves in an update, all of it a function of released values.
#[derive(Clone)]
struct DescentPath {
    /// What is solved.
    task: Task,
    /// Where q stands, with the optimiser's moments.
    descent: Descent,
    /// Room for the gradient of a step.
    slope: Vec<f64>,
    /// s∘ε of a step, for aligned gradients.
    shift: Vec<f64>,
}

/// Gradients move standard deviations, and no correlations.
pub(super) const MEAN_FIELD: Allowed<Covariance> = Allowed {
    values: &[Covariance::MeanField],
    because: "a full covariance is moved by natural steps without noise: gradients move standard deviations only",
};

/// What gradients by the means alone need.
const ONE_DRAW: Need = Need {
    offer: Offer::OneDrawPerBatch,
    key: "local.gradients",
    whose: "aligned gradients need",
    hint: "use gradients = \"full\"",
};

/// Rounds where a study leaves them out.
const ROUNDS: u64 = 10;

/// The local optimisation where a study leaves it out.
fn starting() -> Local {
    Local::starting(40, true)
}

/// `solver = "dp-optimisation"`
pub(crate) const DESCRIPTOR: Descriptor<dyn LocalSolve> = Descriptor {
    name: "dp-optimisation",
    also: &["dp-sgd", "dpsgd", "dp-adam", "dp-optimization"],
    about: "DP-SGD on the local free energy: every step's clipped gradients are noised.",
    keys: &[DERIVED_LOCAL_KEY],
    limits: Limits {
        privacy: PrivacyNeed::Required,
        covariances: MEAN_FIELD,
        units: ANY_UNIT,
        trust: Allowed {
            values: &[TrustedParty::Nobody],
            because: "it releases every local step at the client, so there is no sum for an aggregator to noise",
        },
        ..Limits::NONE
    },
    read: |reading| Ok(Arc::new(Descend { local: Local::read_or(&reading.keys, Some(starting()))? })),
};

impl LocalSolve for Descend {
    fn descriptor(&self) -> &'static Descriptor<dyn LocalSolve> {
        &DESCRIPTOR
    }

    fn describe_local(&self) -> String {
        self.local.words()
    }

    /// T sums of an update, each of gradients by means and log deviations, or by means alone.
    fn releases(&self, family: Family) -> Releases {
        let numbers = Numbers::Fixed(self.local.gradients.numbers(family.dimension()));
        let (sums, batch) = (self.local.steps, self.local.batch);
        Release { grain: Grain::Example, sums, numbers, batch, clipped: Clipped::Gradients, bound: Bound::Clip }.into()
    }

    fn limits(&self) -> Limits {
        match self.local.gradients {
            Gradients::Full => DESCRIPTOR.limits,
            Gradients::Aligned => Limits { needs: &[ONE_DRAW], ..DESCRIPTOR.limits },
        }
    }

    fn check(&self, _: u64) -> Result<(), Conflict> {
        self.local.check_gradients()
    }

    /// Known for Adam, whose steps have a size that does not depend on the gradient's.
    fn noise_of_means(&self, terms: &Terms) -> Option<StepNoise> {
        self.tracks_noise().then(|| StepNoise::of(terms, &self.local))
    }

    fn tracks_noise(&self) -> bool {
        self.local.optimiser == Optimiser::Adam
    }

    fn takes_noisy_steps(&self) -> bool {
        true
    }

    fn starting_rounds(&self) -> Option<u64> {
        Some(ROUNDS)
    }

    /// Rules of thumb whose regret was measured (`docs/explanation/settings.md`).
    fn derived(&self, promise: &Promise, public: &PublicNumbers) -> Vec<Derived> {
        let clip = public.clip_of_steps(promise);
        let rounds = Derived::new("rounds", ROUNDS as i64, "few rounds of long updates");
        let damping =
            Derived::new("damping", 0.3, "a factor keeps a part of each noisy change").unless(&["privacy.clip"]);
        let average =
            Derived::new("readout.average", 4, "the noise of the last rounds averages out").unless(&["privacy.clip"]);
        clip.into_iter().chain([rounds, damping, average]).chain(self.local.derived(&starting(), public)).collect()
    }

    /// The gate draws the batch of every step and noises its sum; between two sums only released values are
    /// touched.
    fn solve(
        &self,
        problem: &Problem,
        task: &Released<Task>,
        kept: &Released<Kept>,
        seat: &ClientView<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Solved, PrivacyError> {
        let numbers = self.local.gradients.numbers(problem.family.dimension());
        if gate.shape().dimension() != numbers {
            return Err(PrivacyError::Shape {
                found: format!("a gate for sums of {} numbers", gate.shape().dimension()),
                expected: format!("{numbers}, one for each gradient that is released"),
            });
        }
        let inverse_rate = seat.terms.inverse_rate();
        let seed = seed_of(&task.get().start);
        let mut constants = StepConstants { local: self.local, family: problem.family, inverse_rate, seed };
        let mut walk = task.clone().map(&constants, set_out);
        walk.update(kept, &constants, take_up);
        let rows = seat.shard.rows();
        let (mut units, mut scratch) = (UnitBatch::default(), Scratch::default());
        let mut noised = Released::zeros(gate.shape().dimension());
        seat.draw(gate, &mut units)?;
        let mut sum = units.sum(*gate.shape())?;
        for step in 0..self.local.steps {
            if step > 0 {
                seat.draw(gate, &mut units)?;
                units.begin(&mut sum)?;
            }
            let point = walk.get().descent.point();
            problem.model.gradients(rows, units.rows(), point, constants.seed, &mut scratch, &mut sum)?;
            gate.release(&sum, &mut noised)?;
            walk.update(&noised, &constants, one_step);
            constants.seed = constants.seed.wrapping_add(1);
        }
        let kept = walk.clone().map(&constants, keep);
        Ok(Solved::Released { change: walk.map(&constants, change), kept })
    }
}

/// The path before its first step. A start that is not proper gives NaN, which no sum takes up.
fn set_out(task: Task, constants: &StepConstants) -> DescentPath {
    let d = constants.family.dimension();
    let descent = match constants.family.gaussian(&task.start) {
        Some(q) => Descent::new(q.mean(), &q.deviations(), &constants.local),
        None => Descent::new(&vec![f64::NAN; d], &vec![f64::NAN; d], &constants.local),
    };
    DescentPath { task, descent, slope: vec![0.0; 2 * d], shift: Vec::new() }
}

/// Goes on with the optimiser's moments of the client's last update, where the study keeps them.
fn take_up(walk: &mut DescentPath, kept: &Kept, constants: &StepConstants) {
    if let Kept::Moments(moments) = kept {
        walk.descent.take_up(moments, &constants.local);
    }
}

/// What the client keeps for its next update.
fn keep(walk: DescentPath, constants: &StepConstants) -> Kept {
    if constants.local.keep_state { Kept::Moments(walk.descent.into_moments()) } else { Kept::Nothing }
}

/// q moves along Σ̃/rate + ∇(−KL), where Σ̃ is the noised sum of clipped gradients. Aligned gradients by log s are s∘ε∘Σ̃.
fn one_step(walk: &mut DescentPath, noised: &Vec<f64>, constants: &StepConstants) {
    kl_gradient(walk.descent.point(), &walk.task.cavity, &mut walk.slope);
    walk.slope.iter_mut().zip(noised).for_each(|(s, g)| *s += constants.inverse_rate * g);
    if constants.local.gradients == Gradients::Aligned {
        shifts(walk.descent.point(), constants.seed, 1, &mut walk.shift);
        let by_log = walk.slope[noised.len()..].iter_mut();
        by_log.zip(&walk.shift).zip(noised).for_each(|((s, e), g)| *s += constants.inverse_rate * e * g);
    }
    walk.descent.step(&walk.slope, &constants.local);
}

/// η at the end minus η at the start.
fn change(walk: DescentPath, constants: &StepConstants) -> Vec<f64> {
    let end = natural_of(&walk.descent, constants.family);
    end.iter().zip(&walk.task.start).map(|(end, start)| end - start).collect()
}
