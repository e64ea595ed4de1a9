//! How many updates of a client fit its budget, and what they cost in all.
//!
//! Two cases. With calibrated noise all updates that are asked for fit, by the choice of z. With a given
//! multiplier, or a test whose noise is fixed by its batch, the number of updates is searched for: the
//! largest whose certified (or claimed) ε is at most what is granted.

use super::{ClientPlan, ClientTerms, Costing, PlannedStage, after, certifier, times};
use crate::RunError;
use crate::describe::{Conflict, NOT_TOGETHER};
use crate::settings::{Claim, Noise};
use privacy::accounting::steps;
use privacy::{CertifiedPlan, Event, Mechanism, PrivacyError, Steps};

impl Costing<'_> {
    /// The plan of one client on these terms.
    pub(super) fn client(&self, terms: &ClientTerms) -> Result<ClientPlan, RunError> {
        let (openings, multiplier) = self.noise(terms)?;
        let before: Vec<Event> = openings.iter().map(PlannedStage::whole).collect::<Result<_, _>>()?;
        let (event, shape) = self.update(terms, self.releases.main.grain, multiplier, self.sums)?;
        let plan = ClientPlan {
            openings,
            alternates: self.releases.alternates,
            event,
            shape,
            updates: self.asked,
            epsilon: terms.epsilon,
            delta: terms.delta,
            certified: 0.0,
            claimed: 0.0,
            certified_plan: None,
            among: 0,
        };
        if self.promise.noise == Noise::Calibrated && !self.releases.completes {
            return Ok(self.costed(plan)?);
        }
        let updates = match self.promise.accountant {
            // Mostly all that is asked for fits, and costing it says what it costs too.
            Claim::Certified => match self.costed(plan.clone()) {
                Ok(costed) if costed.claimed <= terms.epsilon.get() => return Ok(costed),
                Ok(_) => self.most(&plan.event, terms, &before)?,
                Err(_) => self.fitting(&plan.event, terms, &before)?,
            },
            Claim::Moments => self.fitting(&plan.event, terms, &before)?,
        };
        if self.releases.completes && updates < self.asked {
            let (epsilon, asked) = (terms.epsilon, self.asked);
            let what =
                format!("ε = {epsilon} pays for {updates} tests, expected {asked}, the iterations of all chains");
            let hint = "use fewer iterations, smaller batches or a larger ε";
            return Err(Conflict::new("chain.iterations", NOT_TOGETHER, what, hint).into());
        }
        Ok(self.costed(ClientPlan { updates, ..plan })?)
    }

    /// The plan with its cost by both accountants.
    pub(super) fn costed(&self, plan: ClientPlan) -> Result<ClientPlan, PrivacyError> {
        let whole = plan.first(plan.charges())?;
        let by_loss = !matches!(plan.event.mechanism(), Mechanism::SkellamSum { .. });
        let certified_plan = by_loss.then(|| CertifiedPlan::of(whole.clone(), plan.delta)).transpose()?;
        let certified = match &certified_plan {
            Some(known) => known.epsilon(),
            None => certifier(&plan.event).epsilon(&whole, plan.delta)?.upper,
        };
        let claimed = match self.promise.accountant {
            Claim::Certified => certified,
            Claim::Moments => self.claimant(&plan.event).epsilon(&whole, plan.delta)?.upper,
        };
        Ok(ClientPlan { certified, claimed, certified_plan, ..plan })
    }

    /// How many updates fit after what came before, up to what is asked.
    fn fitting(&self, event: &Event, terms: &ClientTerms, before: &[Event]) -> Result<u64, PrivacyError> {
        let all = after(before, times(event, self.asked)?);
        match steps::is_within(self.claimant(event), &all, terms.epsilon, terms.delta)? {
            true => Ok(self.asked),
            false => self.most(event, terms, before),
        }
    }

    /// The same, where what is asked is known to be too much.
    fn most(&self, event: &Event, terms: &ClientTerms, before: &[Event]) -> Result<u64, PrivacyError> {
        let plan_of = |updates: Steps| Ok(after(before, times(event, updates.get())?));
        let most = steps::steps(self.claimant(event), &plan_of, terms.epsilon, terms.delta)?;
        Ok(most.get().min(self.asked))
    }
}
