//! A fixed plan with its certified cost: whoever holds one need not have the plan costed again.
//!
//! Opening a ledger for a fixed plan costs a full accounting. A federation opens many ledgers for one plan, and a server
//! restarts: this certificate carries the answer, and the type system carries the proof that it was computed.

use crate::accounting::pld::Pld;
use crate::{Accountant, Delta, Event, Filter, Grant, PrivacyError};

/// What a plan costs at one δ, by the certified accountant.
///
/// There is no other way to make one, so that a ledger can take its word for the cost ([`crate::Ledger::open_certified`]): to
/// cost a plan may take longer than to carry it out, and many sites may have the same.
///
/// # Examples
///
/// ```
/// use privacy::{
///     Adjacency, CertifiedPlan, Delta, Epsilon, Event, Filter, Grant, Ledger, MemoryJournal, NoiseMultiplier, Steps,
/// };
///
/// let plan = vec![Event::gaussian(NoiseMultiplier::new(8.0)?, Adjacency::Substitute, Steps::new(4)?)];
/// let delta = Delta::new(1e-5)?;
/// let certified = CertifiedPlan::of(plan.clone(), delta)?;
/// let grant = Grant::Limited { epsilon: Epsilon::new(2.0)?, delta, filter: Filter::Plan(plan) };
/// assert!(certified.is_for(&grant));
/// // Every site opens its ledger with the same certificate.
/// Ledger::open_certified(grant, &certified, &mut MemoryJournal::default())?;
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CertifiedPlan {
    plan: Vec<Event>,
    delta: Delta,
    epsilon: f64,
}

impl CertifiedPlan {
    /// Has the plan costed.
    ///
    /// # Errors
    ///
    /// Whatever the certified accountant refuses: see [`crate::accounting::Pld`].
    pub fn of(plan: Vec<Event>, delta: Delta) -> Result<Self, PrivacyError> {
        let epsilon = Pld.epsilon(&plan, delta)?.upper;
        Ok(Self { plan, delta, epsilon })
    }

    /// The certified upper bound of ε at the δ of this certificate.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// True if it is the cost of the very plan of this grant, at its δ, and within its ε.
    pub fn is_for(&self, grant: &Grant) -> bool {
        match grant {
            Grant::Limited { epsilon, delta, filter: Filter::Plan(plan) } => {
                self.plan == *plan && self.delta == *delta && self.epsilon <= epsilon.get()
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Epsilon, Ledger, MemoryJournal, NoiseMultiplier, Steps};

    fn plan(z: f64, steps: u64) -> Vec<Event> {
        let z = NoiseMultiplier::new(z).unwrap();
        vec![Event::gaussian(z, Adjacency::Substitute, Steps::new(steps).unwrap())]
    }

    fn grant(epsilon: f64, delta: f64, plan: Vec<Event>) -> Grant {
        let (epsilon, delta) = (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap());
        Grant::Limited { epsilon, delta, filter: Filter::Plan(plan) }
    }

    fn opened(grant: &Grant, by: &CertifiedPlan) -> Result<(Ledger, MemoryJournal), PrivacyError> {
        let mut journal = MemoryJournal::default();
        Ok((Ledger::open_certified(grant.clone(), by, &mut journal)?, journal))
    }

    #[test]
    fn a_ledger_of_a_certified_plan_is_the_one_that_costs_it_anew() {
        let certified = CertifiedPlan::of(plan(8.0, 4), Delta::new(1e-5).unwrap()).unwrap();
        let cost = Pld.epsilon(&plan(8.0, 4), Delta::new(1e-5).unwrap()).unwrap().upper;
        assert_eq!(certified.epsilon(), cost);
        let grant = grant(cost, 1e-5, plan(8.0, 4));
        let mut journal = MemoryJournal::default();
        let anew = Ledger::open(grant.clone(), &mut journal).unwrap();
        let (ledger, kept) = opened(&grant, &certified).unwrap();
        assert_eq!((ledger.head(), ledger.length(), ledger.grant()), (anew.head(), anew.length(), anew.grant()));
        assert_eq!(kept.records(), journal.records());
    }

    /// The cost of another plan, at another δ, or over the grant is worth nothing: the plan is costed.
    #[test]
    fn the_certified_cost_of_something_else_opens_nothing() {
        let delta = |delta| Delta::new(delta).unwrap();
        let cheap = CertifiedPlan::of(plan(8.0, 1), delta(1e-5)).unwrap();
        let looser = CertifiedPlan::of(plan(8.0, 4), delta(1e-2)).unwrap();
        let dear = CertifiedPlan::of(plan(8.0, 4), delta(1e-5)).unwrap();
        let most = dear.epsilon() * 0.99;
        assert!(cheap.epsilon() < most && looser.epsilon() < most);
        let grant = grant(most, 1e-5, plan(8.0, 4));
        for certified in [cheap, looser, dear] {
            assert!(!certified.is_for(&grant));
            assert!(matches!(opened(&grant, &certified), Err(PrivacyError::Budget { .. })), "{certified:?}");
        }
        let other = Grant::Limited { epsilon: Epsilon::new(1.0).unwrap(), delta: delta(1e-5), filter: Filter::Zcdp };
        let certified = CertifiedPlan::of(plan(8.0, 1), delta(1e-5)).unwrap();
        assert!(!certified.is_for(&other) && !certified.is_for(&Grant::Unlimited));
    }
}
