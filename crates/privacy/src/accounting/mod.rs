//! What events cost: accountants are functions of a plan, and a reported cost is a certified bound.

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
pub use interval::Interval;
pub use pld::Pld;

use crate::{Delta, Epsilon, Event, Mechanism, PrivacyError};
use serde::Serialize;

/// A certified enclosure of a true value: lower ≤ value ≤ upper, both rounded outwards.
///
/// An accountant that proves an upper bound only has a lower end of 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// Not above the true value.
    pub lower: f64,
    /// Not below the true value.
    pub upper: f64,
}

impl Bounds {
    /// Nothing happened.
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

/// A function from plans to costs.
///
/// Laws that every accountant keeps (`tests/laws.rs`): an empty plan costs nothing; T steps agree with T single
/// ones; no certified contradiction in monotonicity; an event it does not know is refused.
pub trait Accountant {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// The ε at which the plan is (ε, δ)-differentially private.
    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError>;

    /// The δ at which the plan is (ε, δ)-differentially private.
    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError>;

    /// True if the lower ends for this plan are proved; else they are 0 and say nothing.
    ///
    /// It depends on the method and the plan, never on ε or δ. A method that is not named here proves upper ends only.
    fn two_sided(&self, plan: &[Event]) -> bool {
        let all = |known: fn(&Mechanism) -> bool| plan.iter().all(|event| known(event.mechanism()));
        match self.name() {
            "pld" => all(|mechanism| {
                !matches!(mechanism, Mechanism::DiscreteGaussianSum { .. } | Mechanism::BarkerTest { .. })
            }),
            "gdp" => all(|mechanism| matches!(mechanism, Mechanism::Gaussian { .. })),
            "optimal" => all(|mechanism| matches!(mechanism, Mechanism::Approximate { .. })),
            _ => false,
        }
    }
}

/// Checks that all events of a plan speak of one relation and one unit, so that their costs add up.
pub fn check_one_relation(plan: &[Event]) -> Result<(), PrivacyError> {
    let Some(first) = plan.first() else { return Ok(()) };
    let words = |e: &Event| format!("{} of {}s", e.adjacency(), e.unit());
    match plan.iter().find(|e| (e.adjacency(), e.unit()) != (first.adjacency(), first.unit())) {
        Some(other) => Err(PrivacyError::MixedRelations { first: words(first), second: words(other) }),
        None => Ok(()),
    }
}

/// Every accountant by its name, those of single papers included.
pub fn by_name(name: &str) -> Option<Box<dyn Accountant>> {
    let published: [Box<dyn Accountant>; 1] = [Box::new(published::Barker2019::default())];
    all().into_iter().chain(published).find(|accountant| accountant.name() == name)
}

/// All accountants of more than one paper, by their names on the command line.
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
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, NoiseMultiplier, Sampling, Steps, Unit, VarianceSlack};

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
