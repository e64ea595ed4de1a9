//! The four questions: the ε of a plan, its δ, the noise for a budget, and the steps within a budget.
//!
//! A [`Plan`] is a list of events with an overlap and a group; [`PlanAsTyped`] is the same before it is
//! checked, with numbers as text and some of them left out, so that they can be looked for.
//! [`AccountCosts`] is the accountant that is asked.
//!
//! # Examples
//! ```
//! use privacy::{Adjacency, Delta, Epsilon, Event, NoiseMultiplier, Steps};
//! use study::account::{self, AccountCosts, Found, Plan, PlanAsTyped, read_events};
//!
//! let (delta, costs) = (Delta::new(1e-5)?, AccountCosts::new("pld")?);
//! let event = Event::gaussian(NoiseMultiplier::new(4.0)?, Adjacency::Substitute, Steps::new(10)?);
//! let answer = account::epsilon(Plan::new(vec![event])?, delta, &costs)?;
//! assert!(answer.two_sided && answer.epsilon.lower <= answer.epsilon.upper);
//!
//! // Without a noise multiplier it is looked for: the least with which ten steps cost ε = 1.
//! let list = r#"[{"mechanism": "gaussian", "steps": 10, "adjacency": "substitute"}]"#;
//! let typed = PlanAsTyped { mechanisms: read_events("plan.json", list)?, ..PlanAsTyped::default() };
//! let answer = account::calibrate(&typed, Epsilon::new(1.0)?, delta, &costs)?;
//! assert!(answer.epsilon.upper <= 1.0);
//! assert!(matches!(answer.found, Found::NoiseMultiplier(z, _) if z.get() > 4.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod mechanism;
mod plan;
mod profile;
mod typed;

pub use mechanism::{cut, number};
pub use plan::{Plan, words};
pub use profile::{Profile, ProfileColumn, epsilons};
pub use typed::{
    AdjacencyAsTyped, AdversaryAsTyped, Choice, MechanismAsTyped, MechanismKind, PlanAsTyped, SamplingAsTyped,
    UnitAsTyped, read_events,
};

use crate::error::StudyError;
use plan::{mechanism_name, sampled_rate, sampling_name};
use privacy::accounting::{self, pld::VerifiedPld};
use privacy::{
    AboutAccountant, Accountant, Adjacency, Bounds, Delta, Epsilon, Event, Mechanism, NoiseMultiplier, PrivacyError,
    Unit,
};
use serde::Serialize;

/// The methods of accounting: their names and what they say of themselves.
pub fn accountants() -> Vec<AboutAccountant> {
    accounting::all().iter().map(|accountant| accountant.about()).collect()
}

/// The names of the methods of accounting.
pub fn accountant_names() -> Vec<&'static str> {
    accountants().iter().map(|about| about.name).collect()
}

/// The most steps that the library looks for.
const MOST_STEPS: u64 = 1_000_000_000_000;

/// Which number was looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// ε, given δ.
    Epsilon,
    /// δ, given ε.
    Delta,
    /// This noise multiplier, given a budget with this ε.
    NoiseMultiplier(NoiseMultiplier, Epsilon),
    /// The steps, given a budget with this ε.
    Steps(Epsilon),
}

/// A plan with its cost.
#[derive(Debug, Clone)]
pub struct AccountAnswer {
    /// What was asked.
    pub found: Found,
    /// The plan, with what was found put in.
    pub plan: Plan,
    /// Its ε, or that which was given.
    pub epsilon: Bounds,
    /// Its δ, or that which was given.
    pub delta: Bounds,
    /// The method of accounting.
    pub accountant: AboutAccountant,
    /// The lower end was proved too.
    pub two_sided: bool,
    /// Two evaluators were asked, and their intervals meet.
    pub verified: bool,
}

/// The JSON object: these names are a contract.
#[derive(Serialize)]
struct AccountReport<'a> {
    epsilon: f64,
    epsilon_lower: f64,
    delta: f64,
    delta_lower: f64,
    noise_multiplier: Option<f64>,
    steps: u64,
    accountant: &'a str,
    adjacency: Option<Adjacency>,
    sampling: &'a str,
    unit: Unit,
    mechanism: &'a str,
    rate: Option<f64>,
    overlap: u64,
    group: u64,
    certified: &'a str,
    of: &'a str,
    verified: bool,
}

/// The ε of a plan, given δ.
pub fn epsilon(plan: Plan, delta: Delta, costs: &AccountCosts) -> Result<AccountAnswer, StudyError> {
    AccountAnswer::at_delta(Found::Epsilon, plan, costs, delta)
}

/// The δ of a plan, given ε.
pub fn delta(plan: Plan, epsilon: Epsilon, costs: &AccountCosts) -> Result<AccountAnswer, StudyError> {
    let delta = costs.delta(&plan, epsilon)?;
    let epsilon = Bounds { lower: epsilon.get(), upper: epsilon.get() };
    AccountAnswer::of(Found::Delta, plan, costs, epsilon, delta)
}

/// The least noise multiplier within a budget, of the noise whose multiplier is left out, and the cost with it.
pub fn calibrate(
    typed: &PlanAsTyped,
    epsilon: Epsilon,
    delta: Delta,
    costs: &AccountCosts,
) -> Result<AccountAnswer, StudyError> {
    let mut typed = typed.clone();
    let open: Vec<bool> = typed.mechanisms.iter().map(MechanismAsTyped::lacks_noise).collect();
    if !open.contains(&true) {
        let hint = "calibrate finds the multiplier of gaussian or laplace where `noise_multiplier` is left out";
        return Err(StudyError::usage("there is no noise multiplier to find", hint));
    }
    for (entry, _) in typed.mechanisms.iter_mut().zip(&open).filter(|(_, open)| **open) {
        entry.noise_multiplier = Some("1".into());
    }
    let plan = Plan::of(&typed)?;
    calibrate_plan(&|z| plan.with_noise(&open, z), epsilon, delta, costs)
}

/// The least noise multiplier within a budget of the plans that follow from one, and the cost with it.
pub fn calibrate_plan(
    plan_of: &dyn Fn(NoiseMultiplier) -> Result<Plan, PrivacyError>,
    epsilon: Epsilon,
    delta: Delta,
    costs: &AccountCosts,
) -> Result<AccountAnswer, StudyError> {
    meaningful(delta, &plan_of(NoiseMultiplier::new(1.0)?)?)?;
    let at = |z: NoiseMultiplier| plan_of(z)?.charged();
    let z = accounting::calibrate::calibrate(costs.accountant(), &at, epsilon, delta)?;
    AccountAnswer::at_delta(Found::NoiseMultiplier(z, epsilon), plan_of(z)?, costs, delta)
}

/// The most steps of one mechanism within a budget, and the cost of them. Its number of steps is left out.
pub fn steps(
    typed: &PlanAsTyped,
    epsilon: Epsilon,
    delta: Delta,
    costs: &AccountCosts,
) -> Result<AccountAnswer, StudyError> {
    let [MechanismAsTyped { steps: None, .. }] = typed.mechanisms.as_slice() else {
        let hint = "name one mechanism and leave `steps` out";
        return Err(StudyError::usage("there is no number of steps to find", hint));
    };
    let mut once = typed.clone();
    once.mechanisms.iter_mut().for_each(|mechanism| mechanism.steps = Some("1".into()));
    steps_of_plan(&Plan::of(&once)?, epsilon, delta, costs)
}

/// The most steps within a budget, where every event of the plan has as many; their own numbers of steps do not count.
pub fn steps_of_plan(
    plan: &Plan,
    epsilon: Epsilon,
    delta: Delta,
    costs: &AccountCosts,
) -> Result<AccountAnswer, StudyError> {
    meaningful(delta, plan)?;
    let steps = accounting::steps::steps(costs.accountant(), &|steps| plan.repeated(steps).charged(), epsilon, delta)?;
    AccountAnswer::at_delta(Found::Steps(epsilon), plan.repeated(steps), costs, delta)
}

/// δ of 0 asks for the largest privacy loss, and Gaussian noise has none.
fn meaningful(delta: Delta, plan: &Plan) -> Result<(), PrivacyError> {
    let gaussian = plan.events.iter().any(|event| matches!(event.mechanism(), Mechanism::Gaussian { .. }));
    if delta.get() > 0.0 || !gaussian {
        return Ok(());
    }
    let expected = "a number over 0, because the privacy loss of Gaussian noise has no largest value";
    Err(PrivacyError::Parameter { name: "delta", found: "0".into(), expected })
}

impl AccountAnswer {
    /// The plan with its ε at this δ.
    fn at_delta(found: Found, plan: Plan, costs: &AccountCosts, delta: Delta) -> Result<Self, StudyError> {
        meaningful(delta, &plan)?;
        let epsilon = costs.epsilon(&plan, delta)?;
        let delta = Bounds { lower: delta.get(), upper: delta.get() };
        Self::of(found, plan, costs, epsilon, delta)
    }

    /// The plan with both numbers, and what is proved of them.
    fn of(found: Found, plan: Plan, costs: &AccountCosts, epsilon: Bounds, delta: Bounds) -> Result<Self, StudyError> {
        let (accountant, two_sided, verified) = (costs.accountant().about(), costs.two_sided(&plan)?, costs.verified);
        Ok(Self { found, plan, epsilon, delta, accountant, two_sided, verified })
    }

    /// True if an interval is printed that belongs to the pair of a theorem, which the mechanism itself may not reach.
    pub fn of_worst_pair(&self) -> bool {
        self.two_sided && !self.plan.reaches_its_pair()
    }

    /// True if no more steps were asked for: the budget may hold more.
    pub fn is_most_asked(&self) -> bool {
        matches!(self.found, Found::Steps(_)) && self.plan.steps() >= MOST_STEPS
    }

    /// The bounds that were computed, not given.
    pub fn cost(&self) -> Bounds {
        if self.found == Found::Delta { self.delta } else { self.epsilon }
    }

    /// The noise multiplier that was found, or that all events share.
    fn noise_multiplier(&self) -> Option<NoiseMultiplier> {
        match self.found {
            Found::NoiseMultiplier(z, _) => Some(z),
            _ => self.plan.common(Event::noise_multiplier).flatten(),
        }
    }

    /// The answer as one JSON object.
    pub fn json(&self) -> String {
        let plan = &self.plan;
        let report = AccountReport {
            epsilon: self.epsilon.upper,
            epsilon_lower: self.epsilon.lower,
            delta: self.delta.upper,
            delta_lower: self.delta.lower,
            noise_multiplier: self.noise_multiplier().map(NoiseMultiplier::get),
            steps: plan.steps(),
            accountant: self.accountant.name,
            adjacency: plan.adjacency(),
            sampling: plan.common(sampling_name).unwrap_or("mixed"),
            unit: plan.unit(),
            mechanism: plan.common(mechanism_name).unwrap_or("mixed"),
            rate: plan.common(sampled_rate).flatten(),
            overlap: plan.overlap.get(),
            group: plan.group.get(),
            certified: match (self.two_sided, self.accountant.published_only) {
                (true, _) => "two-sided",
                (false, false) => "upper",
                (false, true) => "as-published",
            },
            of: if self.of_worst_pair() { "worst pair" } else { "mechanism" },
            verified: self.verified,
        };
        let text = serde_json::to_string(&report).unwrap_or_default();
        format!("{text}\n")
    }
}

/// What to do where there is nothing to compare.
const ONE_EVALUATOR: &str = "this plan has one evaluator only; leave `verify` out";

/// The same refusal, with the hint for a second evaluator that is missing.
fn unverified(error: PrivacyError) -> PrivacyError {
    match error {
        PrivacyError::Uncertified { accountant, why, .. } if why.starts_with("only one evaluator answers") => {
            PrivacyError::Uncertified { accountant, why, hint: ONE_EVALUATOR }
        }
        other => other,
    }
}

/// One accountant, asked about plans with their overlap and group.
pub struct AccountCosts {
    accountant: Box<dyn Accountant>,
    /// Answers are those of two evaluators of `pld`.
    verified: bool,
}

impl AccountCosts {
    /// The accountant of that name.
    pub fn new(name: &str) -> Result<Self, StudyError> {
        let hint = || format!("one of {}", accountant_names().join(", "));
        let unknown = || StudyError::usage(format!("there is no accountant {name}"), hint());
        let accountant = accounting::by_name(name).ok_or_else(unknown)?;
        Ok(Self { accountant, verified: false })
    }

    /// The same, where every answer has to be that of two evaluators: only `pld` has two.
    pub fn verified(self) -> Result<Self, StudyError> {
        match self.name() {
            "pld" => Ok(Self { verified: true, ..self }),
            name => {
                Err(StudyError::usage(format!("`verify` has no meaning for {name}"), "only `pld` has two evaluators"))
            }
        }
    }

    fn name(&self) -> &'static str {
        self.accountant.name()
    }

    /// The accountant that searches ask: verified is the answer that they find, not every step to it.
    fn accountant(&self) -> &dyn Accountant {
        &*self.accountant
    }

    /// The accountant that answers.
    fn answering(&self) -> &dyn Accountant {
        if self.verified { &VerifiedPld } else { self.accountant() }
    }

    /// True if this accountant proves lower ends for this plan.
    pub fn two_sided(&self, plan: &Plan) -> Result<bool, PrivacyError> {
        Ok(self.accountant.two_sided(&plan.charged()?))
    }

    /// ε of the plan, or a refusal where there is no finite bound.
    pub fn epsilon(&self, plan: &Plan, delta: Delta) -> Result<Bounds, PrivacyError> {
        if self.verified && delta.get() == 0.0 {
            return Err(PrivacyError::Uncertified {
                accountant: self.name(),
                why: "the largest privacy loss has one evaluator only".into(),
                hint: ONE_EVALUATOR,
            });
        }
        self.finite(self.answering().epsilon(&plan.charged()?, delta).map_err(unverified)?)
    }

    /// δ of the plan, or a refusal where there is no finite bound.
    pub fn delta(&self, plan: &Plan, epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        self.finite(self.answering().delta(&plan.charged()?, epsilon).map_err(unverified)?)
    }

    /// A bound that is no number is no answer.
    fn finite(&self, bounds: Bounds) -> Result<Bounds, PrivacyError> {
        if bounds.upper.is_finite() && bounds.lower <= bounds.upper {
            return Ok(bounds);
        }
        let why = format!("its bounds are {} and {}", bounds.lower, bounds.upper);
        Err(PrivacyError::Uncertified {
            accountant: self.name(),
            why,
            hint: "use more noise, fewer steps or a larger δ",
        })
    }
}
