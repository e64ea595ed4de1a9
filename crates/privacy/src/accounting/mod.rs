//! What events cost: accountants are functions of a plan, and a reported cost is a certified bound.
//!
//! An accountant answers two questions about a plan: ε at a given δ, and δ at a given ε. All of them are listed by [`all`], and each
//! says of itself what it is for ([`Accountant::about`]). Start with [`Pld`]: it is certified from both sides and as tight as
//! the theorem of the event allows.
//!
//! Numbers are rounded outwards throughout ([`Interval`], [`Bounds`]). [`calibrate`] and [`steps`] search with any accountant
//! for the noise or the number of steps that fits a budget, and [`group`] treats groups of rows and rows at several clients.

mod barker;
mod binomial;
pub mod calibrate;
pub mod classical;
pub mod composition;
pub mod contour;
mod enclosure;
pub mod gdp;
pub mod group;
mod interval;
pub mod moments;
pub mod normal;
pub mod optimal;
pub mod pair;
pub mod pld;
pub mod published;
pub mod rdp;
mod shuffle;
pub mod special;
pub mod steps;
mod sum;
mod symmetric;
pub mod zcdp;

#[cfg(test)]
mod double;

pub use enclosure::Enclosure;
pub use interval::{Interval, add_up};
pub use pld::Pld;

use crate::{Delta, Epsilon, Event, PrivacyError};
use serde::Serialize;

/// A certified enclosure of a true value: lower ≤ value ≤ upper, both rounded outwards.
///
/// An accountant that proves an upper bound only has a lower end of 0.
///
/// # Examples
///
/// ```
/// use privacy::Bounds;
///
/// let (a, b) = (Bounds::between(1.0, 1.1), Bounds::at_most(2.0));
/// assert!(a.intersects(&b));
/// assert_eq!(a.max(b).upper, 2.0);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// Not above the true value.
    pub lower: f64,
    /// Not below the true value.
    pub upper: f64,
}

impl Bounds {
    /// The cost of an empty plan: nothing happened.
    pub const ZERO: Self = Self { lower: 0.0, upper: 0.0 };

    /// A bound proved from above only.
    pub fn at_most(upper: f64) -> Self {
        Self { lower: 0.0, upper }
    }

    /// Both ends, not negative.
    pub fn between(lower: f64, upper: f64) -> Self {
        Self { lower: lower.max(0.0), upper: upper.max(0.0) }
    }

    /// The same for a value that is known to be a probability.
    pub fn at_most_one(self) -> Self {
        Self { lower: self.lower.min(1.0), upper: self.upper.min(1.0) }
    }

    /// The enclosure of the larger of two enclosed values.
    pub fn max(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.max(other.upper) }
    }

    /// True if some value lies in both.
    pub fn intersects(&self, other: &Self) -> bool {
        self.lower <= other.upper && other.lower <= self.upper
    }

    /// (upper − lower) / upper, or 0 for the enclosure of zero.
    pub fn relative_width(&self) -> f64 {
        if self.upper > 0.0 { (self.upper - self.lower) / self.upper } else { 0.0 }
    }
}

/// How an accountant introduces itself, in its own file.
///
/// The command line lists accountants, explains them and answers by these words; nothing else names them.
///
/// # Examples
///
/// ```
/// use privacy::{Accountant, accounting::Pld};
///
/// let about = Pld.about();
/// assert_eq!(about.name, "pld");
/// assert!(!about.published_only);
/// println!("{}: {about}", about.name);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AboutAccountant {
    /// The name by which [`by_name`] finds it: lower case, one word.
    pub name: &'static str,
    /// The method, in a few words.
    pub method: &'static str,
    /// When a user should choose it.
    pub use_for: &'static str,
    /// True if it is kept only to reproduce the numbers that a paper printed: another accountant is never worse.
    pub published_only: bool,
}

impl std::fmt::Display for AboutAccountant {
    /// The method and when to choose it, as one line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.method, self.use_for)
    }
}

/// A function from plans to costs: what happened is a value, and what it costs is an accountant's answer.
///
/// Laws that every accountant keeps (`tests/laws.rs` runs them on everything that [`all`] lists):
///
/// - an empty plan costs nothing;
/// - T steps of an event agree with T events of one step;
/// - more steps, less noise or a larger sampling rate never give a certified contradiction;
/// - δ at the ε that was found is at most the δ that was asked for;
/// - an event that it does not know is refused ([`PrivacyError::Unsupported`]) with a hint, never guessed.
///
/// # Examples
///
/// Every accountant answers the same two questions. For Gaussian noise `gdp` is exact, and `rdp` an upper bound:
///
/// ```
/// use privacy::accounting::{gdp::Gdp, rdp::Rdp};
/// use privacy::{Accountant, Adjacency, Delta, Event, NoiseMultiplier, Steps};
///
/// let plan = [Event::gaussian(NoiseMultiplier::new(4.0)?, Adjacency::Substitute, Steps::new(10)?)];
/// let delta = Delta::new(1e-5)?;
/// let exact = Gdp.epsilon(&plan, delta)?;
/// let bound = Rdp::default().epsilon(&plan, delta)?;
/// assert!(exact.upper < bound.upper);
/// assert!(Gdp.two_sided(&plan) && !Rdp::default().two_sided(&plan));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub trait Accountant {
    /// Its name, its method and when to choose it.
    fn about(&self) -> AboutAccountant;

    /// The name by which [`by_name`] finds it.
    fn name(&self) -> &'static str {
        self.about().name
    }

    /// The smallest ε, enclosed, at which the plan is certified to be (ε, δ)-differentially private.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Unsupported`] for an event that the method does not cover, [`PrivacyError::Uncertified`] where it covers the
    /// event but cannot bound this number, and [`PrivacyError::MixedRelations`] for a plan of several relations or units.
    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError>;

    /// The smallest δ, enclosed, at which the plan is certified to be (ε, δ)-differentially private.
    ///
    /// # Errors
    ///
    /// As for [`Accountant::epsilon`].
    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError>;

    /// True if the lower ends of its answers for this plan are proved; else they are 0 and say nothing.
    ///
    /// It depends on the method and the plan, never on ε or δ.
    fn two_sided(&self, plan: &[Event]) -> bool;
}

/// Checks that all events of a plan speak of one relation and one unit, so that their costs add up.
///
/// # Errors
///
/// [`PrivacyError::MixedRelations`], naming the two that differ.
pub fn check_one_relation(plan: &[Event]) -> Result<(), PrivacyError> {
    let Some(first) = plan.first() else { return Ok(()) };
    let words = |e: &Event| format!("{} of {}s", e.adjacency(), e.unit());
    match plan.iter().find(|e| (e.adjacency(), e.unit()) != (first.adjacency(), first.unit())) {
        Some(other) => Err(PrivacyError::MixedRelations { first: words(first), second: words(other) }),
        None => Ok(()),
    }
}

/// The accountant of this name, or none if no accountant has it.
///
/// # Examples
///
/// ```
/// use privacy::accounting::by_name;
///
/// assert_eq!(by_name("rdp").map(|accountant| accountant.name()), Some("rdp"));
/// assert!(by_name("magic").is_none());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub fn by_name(name: &str) -> Option<Box<dyn Accountant>> {
    all().into_iter().find(|accountant| accountant.name() == name)
}

/// Every accountant, in the order in which the command line lists them. A new accountant is its own file and a line here.
pub fn all() -> Vec<Box<dyn Accountant>> {
    vec![
        Box::new(pld::Pld),
        Box::new(rdp::Rdp::default()),
        Box::new(moments::Moments),
        Box::new(zcdp::Zcdp),
        Box::new(gdp::Gdp),
        Box::new(classical::Classical),
        Box::new(composition::Basic),
        Box::new(composition::Advanced),
        Box::new(optimal::Optimal),
        Box::new(published::Barker2019::default()),
        Box::new(published::Girgis2021),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Mechanism, NoiseMultiplier, Sampling, Steps, Unit, VarianceSlack};

    /// What an accountant says of its lower ends is what they are, for a cost that is not small.
    #[test]
    fn an_accountant_is_two_sided_where_its_lower_end_is_over_nought() {
        let z = NoiseMultiplier::new(2.0).unwrap();
        let mechanisms = [
            Mechanism::Gaussian { noise_multiplier: z },
            Mechanism::Laplace { noise_multiplier: z },
            Mechanism::Approximate { epsilon: Epsilon::new(0.5).unwrap(), delta: Delta::new(0.0).unwrap() },
            Mechanism::BarkerTest { batch: Steps::new(100).unwrap(), slack: VarianceSlack::new(1.0).unwrap() },
        ];
        for mechanism in mechanisms {
            let steps = Steps::new(3).unwrap();
            let plan = [Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, steps).unwrap()];
            for accountant in all() {
                let Ok(bounds) = accountant.delta(&plan, Epsilon::new(0.1).unwrap()) else { continue };
                let said = accountant.two_sided(&plan);
                assert_eq!(said, bounds.lower > 0.0, "{} of {}: {bounds:?}", accountant.name(), plan[0]);
            }
        }
    }
}
