//! What one client will be charged: its events, stage by stage, and the grant that covers them.

use super::opening::PlannedStage;
use super::{certified, shares, times};
use crate::results::OwnPromise;
use privacy::{CertifiedPlan, Delta, Epsilon, Event, Filter, Grant, Mechanism, NoiseMultiplier, PrivacyError, Shape};

/// What one client will be charged.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientPlan {
    /// Updates before all others, where these are charged otherwise, kind by kind in their order.
    pub openings: Vec<PlannedStage>,
    /// Whether updates of the two kinds alternate, in place of the one after the other.
    pub alternates: bool,
    /// One update, after the openings if there are any.
    pub event: Event,
    /// Shape of each sum that is released in it.
    pub shape: Shape,
    /// Updates that are planned after the openings: all of them together cost at most what is granted.
    pub updates: u64,
    /// ε that the client grants the run.
    pub epsilon: Epsilon,
    /// δ of this client.
    pub delta: Delta,
    /// Certified upper bound of ε of all updates at δ.
    pub certified: f64,
    /// ε of all updates by the accountant of the claim.
    pub claimed: f64,
    /// The cost of all updates as a ledger takes it; none where that is not of the loss distribution.
    pub certified_plan: Option<CertifiedPlan>,
    /// Among how many units one is hidden: the client's rows, or the clients.
    pub among: u64,
}

impl ClientPlan {
    /// Updates that are charged, those of the openings included.
    pub fn charges(&self) -> u64 {
        self.planned().into_iter().fold(0, u64::saturating_add)
    }

    /// How many updates are planned of each stage.
    pub(crate) fn planned(&self) -> Vec<u64> {
        self.openings.iter().map(|opening| opening.updates).chain([self.updates]).collect()
    }

    /// All updates in order, stage by stage: the openings, and what comes after them.
    pub fn stages(&self) -> Vec<PlannedStage> {
        let after = PlannedStage { updates: self.updates, event: self.event.clone(), shape: self.shape };
        self.openings.iter().cloned().chain([after]).collect()
    }

    /// The first so many updates as events, one for each stage of the plan.
    pub fn first(&self, charges: u64) -> Result<Vec<Event>, PrivacyError> {
        self.of_each_stage(&self.in_order(charges))
    }

    /// The first so many updates, stage by stage. More than are planned would be of the last.
    fn in_order(&self, charges: u64) -> Vec<u64> {
        let mut left = charges;
        let mut take = |most: u64| {
            let taken = left.min(most);
            left -= taken;
            taken
        };
        let mut counts: Vec<u64> = self.openings.iter().map(|opening| take(opening.updates)).collect();
        counts.push(left);
        counts
    }

    /// Certified upper bound of ε after so many updates, at this client's δ.
    ///
    /// Where updates of two kinds alternate, their number alone does not say how many were of which: it is the largest of
    /// what it could be. Costs of such updates add up in μ², so that the largest has as many as can be of one kind.
    pub fn spent(&self, charges: u64) -> Result<f64, PrivacyError> {
        let cost = |counts: &[u64]| certified(&self.of_each_stage(counts)?, self.delta);
        let first = cost(&self.in_order(charges))?;
        match (self.alternates, self.openings.as_slice()) {
            (true, [opening]) => {
                let opened = charges.saturating_sub(self.updates).min(opening.updates.min(charges));
                Ok(first.max(cost(&[opened, charges - opened])?))
            }
            _ => Ok(first),
        }
    }

    /// How many of these charges are of each stage: by what they are where kinds alternate, else by their order.
    pub(crate) fn counts(&self, charged: &[Event]) -> Vec<u64> {
        let made = charged.len() as u64;
        match (self.alternates, self.openings.as_slice()) {
            (true, [opening]) => {
                let opened = charged.iter().filter(|event| **event == opening.event).count() as u64;
                vec![opened, made - opened]
            }
            _ => self.in_order(made),
        }
    }

    /// So many updates of each stage as events.
    pub(crate) fn of_each_stage(&self, counts: &[u64]) -> Result<Vec<Event>, PrivacyError> {
        let events = self.openings.iter().map(|opening| &opening.event).chain([&self.event]);
        let made = events.zip(counts).filter(|(_, updates)| **updates > 0);
        made.map(|(event, &updates)| times(event, updates)).collect()
    }

    /// Whether another client is charged on the same terms, however many rows it has.
    pub fn is_charged_like(&self, other: &Self) -> bool {
        let stages = self.openings == other.openings && self.event == other.event;
        stages && self.delta == other.delta && self.alternates == other.alternates
    }

    /// The grant with which the client's ledger is opened.
    ///
    /// Skellam shares have no certified loss distribution: their ledger adds up divergences of one Rényi order.
    ///
    /// # Errors
    /// A plan without a Rényi order, for Skellam shares.
    pub fn grant(&self) -> Result<Grant, PrivacyError> {
        let plan = self.first(self.charges())?;
        let filter = match self.event.mechanism() {
            _ if self.alternates => Filter::Gdp,
            Mechanism::SkellamSum { .. } => Filter::Renyi { order: shares::best_order(&plan, self.delta)? },
            _ => Filter::Plan(plan),
        };
        Ok(Grant::Limited { epsilon: self.epsilon, delta: self.delta, filter })
    }

    /// What the client promises, where others promise something else.
    pub fn own_promise(&self) -> OwnPromise {
        let (epsilon, clip) = (self.epsilon.get(), self.shape.bound().get());
        OwnPromise { epsilon, clip, noise_multiplier: self.noise_multiplier() }
    }

    /// Noise deviation divided by sensitivity, at least.
    pub fn noise_multiplier(&self) -> f64 {
        least_multiplier(&self.event)
    }

    /// True if δ ≥ 1/n: the promise would allow to publish one unit in full.
    pub fn delta_is_loose(&self) -> bool {
        self.delta.get() * self.among as f64 >= 1.0
    }
}

/// Noise deviation divided by sensitivity; of a Barker test, whose noise goes by its batch, the least: √(bL)·B over 2B.
pub(super) fn least_multiplier(event: &Event) -> f64 {
    match event.mechanism() {
        Mechanism::BarkerTest { batch, slack } => 0.5 * (batch.get() as f64 * slack.get()).sqrt(),
        _ => event.noise_multiplier().map_or(0.0, NoiseMultiplier::get),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use privacy::{Adjacency, Grain, Grid, NormBound, Steps};

    fn stage(z: f64, updates: u64) -> PlannedStage {
        let z = NoiseMultiplier::new(z).unwrap();
        let shape = Shape::new(1, NormBound::new(1.0).unwrap(), Grain::Example, Grid::new(20).unwrap()).unwrap();
        PlannedStage { updates, event: Event::gaussian(z, Adjacency::Substitute, Steps::ONE), shape }
    }

    fn planned(openings: Vec<PlannedStage>, alternates: bool) -> ClientPlan {
        let PlannedStage { updates, event, shape } = stage(8.0, 6);
        let delta = Delta::new(1e-5).unwrap();
        ClientPlan {
            openings,
            alternates,
            event,
            shape,
            updates,
            epsilon: Epsilon::new(1.0).unwrap(),
            delta,
            certified: 0.0,
            claimed: 0.0,
            certified_plan: None,
            among: 9,
        }
    }

    #[test]
    fn what_was_spent_grows_with_every_answer_and_begins_with_nothing() {
        let plan = planned(vec![stage(4.0, 3)], false);
        let spent: Vec<f64> = (0..=9).map(|charges| plan.spent(charges).unwrap()).collect();
        assert_eq!(spent[0], 0.0);
        assert!(spent.windows(2).all(|two| two[0] < two[1]), "{spent:?}");
        assert_eq!(spent[9], certified(&plan.first(9).unwrap(), plan.delta).unwrap());
    }

    #[test]
    fn of_kinds_that_alternate_the_dearer_is_taken_to_have_come() {
        let (cheap, dear) = (planned(vec![stage(16.0, 3)], true), planned(vec![stage(4.0, 3)], true));
        let alone = planned(Vec::new(), false);
        assert_eq!(cheap.spent(2).unwrap(), alone.spent(2).unwrap(), "both of the dearer kind after it");
        assert!(dear.spent(2).unwrap() > alone.spent(2).unwrap());
        assert!(cheap.spent(9).unwrap() > alone.spent(6).unwrap(), "all of both");
    }
}
