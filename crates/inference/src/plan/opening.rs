//! Updates before all others, on terms of their own: what of the budget they may cost.

use super::{ClientTerms, Costing, times};
use crate::RunError;
use crate::release::BudgetShare;
use crate::settings::Noise;
use privacy::accounting::calibrate;
use privacy::{Delta, Epsilon, Event, NoiseMultiplier, PrivacyError, Shape, Steps};

/// Updates of one kind, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStage {
    /// How many.
    pub updates: u64,
    /// One of them.
    pub event: Event,
    /// Shape of the sum that is released in it.
    pub shape: Shape,
}

impl PlannedStage {
    /// Noise deviation divided by sensitivity.
    pub fn noise_multiplier(&self) -> f64 {
        super::client::least_multiplier(&self.event)
    }

    /// All of them as one event.
    pub(super) fn whole(&self) -> Result<Event, PrivacyError> {
        times(&self.event, self.updates)
    }
}

impl Costing<'_> {
    /// The opening on these terms, if there is one, and the noise of what follows.
    pub(super) fn noise(&self, terms: &ClientTerms) -> Result<(Option<PlannedStage>, NoiseMultiplier), RunError> {
        let Some(opening) = &self.releases.opening else { return Ok((None, self.after(terms, &[])?)) };
        let opening_terms = self.opening_terms(opening, terms)?;
        let sums = Steps::new(opening.release.sums)?;
        let update = |z: NoiseMultiplier| self.update(&opening_terms, z, sums);
        let staged = |z: NoiseMultiplier| -> Result<PlannedStage, PrivacyError> {
            let (event, shape) = update(z)?;
            Ok(PlannedStage { updates: opening.answers, event, shape })
        };
        match (opening.share, self.promise.noise) {
            (BudgetShare::OfMu(share), noise) => {
                // Releases of one kind share what it may cost.
                let (first, rest) = (share / opening.answers as f64, (1.0 - share) / self.asked as f64);
                let both = |z: NoiseMultiplier| Ok::<_, PrivacyError>((weaker(z, first)?, weaker(z, rest)?));
                let plan_of = |z| {
                    let (first, rest) = both(z)?;
                    Ok(vec![staged(first)?.whole()?, times(&self.update(terms, rest, self.sums)?.0, self.asked)?])
                };
                let z = match noise {
                    Noise::Multiplier(z) => z,
                    Noise::Calibrated => self.calibrated(&plan_of, terms.delta)?,
                };
                let (first, rest) = both(z)?;
                Ok((Some(staged(first)?), rest))
            }
            (BudgetShare::OfBudget(_), Noise::Multiplier(z)) => Ok((Some(staged(z)?), z)),
            (BudgetShare::OfBudget(share), Noise::Calibrated) => {
                let plan_of = |z| Ok(vec![staged(z)?.whole()?]);
                let epsilon = Epsilon::new(share * self.promise.epsilon.get())?;
                let delta = Delta::new(share * terms.delta.get())?;
                let (event, _) = update(NoiseMultiplier::new(1.0)?)?;
                let opened = staged(calibrate::calibrate(self.claimant(&event), &plan_of, epsilon, delta)?)?;
                let rest = self.after(terms, &[opened.whole()?])?;
                Ok((Some(opened), rest))
            }
        }
    }

    /// The noise of what follows these events.
    fn after(&self, terms: &ClientTerms, before: &[Event]) -> Result<NoiseMultiplier, PrivacyError> {
        match self.promise.noise {
            // The noise of a test is what it is; how many of them fit is another question.
            _ if self.releases.completes => NoiseMultiplier::new(1.0),
            Noise::Multiplier(z) => Ok(z),
            Noise::Calibrated => {
                let plan_of = |z| Ok(super::after(before, times(&self.update(terms, z, self.sums)?.0, self.asked)?));
                self.calibrated(&plan_of, terms.delta)
            }
        }
    }
}

/// z/√share: the noise of a release that may cost this share of μ².
fn weaker(z: NoiseMultiplier, share: f64) -> Result<NoiseMultiplier, PrivacyError> {
    NoiseMultiplier::new(z.get() / share.sqrt())
}
