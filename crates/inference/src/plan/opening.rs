//! Updates before all others, on terms of their own: what of the budget they may cost.
//!
//! A method with two kinds of releases has one budget. [`BudgetShare`] says how it is split: by ε and δ,
//! where the opening is calibrated alone and the rest to what is left of the whole; or by μ², where one
//! multiplier is found for the whole and each kind gets its part of it.

use super::{ClientTerms, Costing, times};
use crate::RunError;
use crate::release::{BudgetShare, OpeningRelease};
use crate::settings::Noise;
use privacy::accounting::calibrate;
use privacy::{Delta, Epsilon, Event, NoiseMultiplier, PrivacyError, Shape, Steps};

/// Updates of one kind, one after the other.
///
/// A plan has one or two of them ([`ClientPlan::stages`](super::ClientPlan::stages)).
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
    /// The openings on these terms, and the noise of what follows them.
    pub(super) fn noise(&self, terms: &ClientTerms) -> Result<(Vec<PlannedStage>, NoiseMultiplier), RunError> {
        let openings = &self.releases.openings;
        let of_mu = |opening: &OpeningRelease| match opening.share {
            BudgetShare::OfMu(share) => Some(share),
            BudgetShare::OfBudget(_) => None,
        };
        match openings.iter().map(of_mu).collect::<Option<Vec<f64>>>() {
            Some(shares) if !shares.is_empty() => self.by_shares_of_mu(&shares, terms),
            _ => self.one_by_one(terms),
        }
    }

    /// Openings that cost given shares of μ²: every stage has the noise z/√(its share of one update), and z is calibrated to all
    /// of them together. Gaussian events compose exactly (Σ 1/z²; Dong, Roth, Su 2022, Corollary 3.3), so that the promise
    /// is spent to the end.
    fn by_shares_of_mu(
        &self,
        shares: &[f64],
        terms: &ClientTerms,
    ) -> Result<(Vec<PlannedStage>, NoiseMultiplier), RunError> {
        let openings = &self.releases.openings;
        let opening_terms: Vec<ClientTerms> =
            openings.iter().map(|opening| self.opening_terms(opening, terms)).collect::<Result<_, _>>()?;
        let rest = (1.0 - shares.iter().sum::<f64>()) / self.asked as f64;
        let staged = |z: NoiseMultiplier| -> Result<Vec<PlannedStage>, PrivacyError> {
            let all = openings.iter().zip(shares).zip(&opening_terms);
            let one = |((opening, share), terms): ((&OpeningRelease, &f64), &ClientTerms)| {
                self.staged(opening, terms, weaker(z, share / opening.answers as f64)?)
            };
            all.map(one).collect()
        };
        let plan_of = |z| {
            let before: Vec<Event> = staged(z)?.iter().map(PlannedStage::whole).collect::<Result<_, _>>()?;
            let event = self.update(terms, self.releases.main.grain, weaker(z, rest)?, self.sums)?.0;
            Ok(super::after(&before, times(&event, self.asked)?))
        };
        let z = match self.promise.noise {
            Noise::Multiplier(z) => z,
            Noise::Calibrated => self.calibrated(&plan_of, terms)?,
        };
        Ok((staged(z)?, weaker(z, rest)?))
    }

    /// Openings that cost shares of (ε, δ): each is calibrated to its own, and what follows to what they leave.
    fn one_by_one(&self, terms: &ClientTerms) -> Result<(Vec<PlannedStage>, NoiseMultiplier), RunError> {
        let mut opened: Vec<PlannedStage> = Vec::new();
        for opening in &self.releases.openings {
            let own = self.opening_terms(opening, terms)?;
            let z = match (opening.share, self.promise.noise) {
                (_, Noise::Multiplier(z)) => z,
                (BudgetShare::OfBudget(share) | BudgetShare::OfMu(share), Noise::Calibrated) => {
                    let plan_of = |z| Ok(vec![self.staged(opening, &own, z)?.whole()?]);
                    let epsilon = Epsilon::new(share * terms.epsilon.get())?;
                    let delta = Delta::new(share * terms.delta.get())?;
                    let event = self.staged(opening, &own, NoiseMultiplier::new(1.0)?)?.event;
                    calibrate::calibrate(self.claimant(&event), &plan_of, epsilon, delta)?
                }
            };
            opened.push(self.staged(opening, &own, z)?);
        }
        let before: Vec<Event> = opened.iter().map(PlannedStage::whole).collect::<Result<_, _>>()?;
        let rest = self.after(terms, &before)?;
        Ok((opened, rest))
    }

    /// An opening with this noise.
    fn staged(
        &self,
        opening: &OpeningRelease,
        terms: &ClientTerms,
        z: NoiseMultiplier,
    ) -> Result<PlannedStage, PrivacyError> {
        let (event, shape) = self.update(terms, opening.release.grain, z, Steps::new(opening.release.sums)?)?;
        Ok(PlannedStage { updates: opening.answers, event, shape })
    }

    /// The noise of what follows these events.
    fn after(&self, terms: &ClientTerms, before: &[Event]) -> Result<NoiseMultiplier, PrivacyError> {
        match self.promise.noise {
            // The noise of a test is what it is; how many of them fit is another question.
            _ if self.releases.completes => NoiseMultiplier::new(1.0),
            Noise::Multiplier(z) => Ok(z),
            Noise::Calibrated => {
                let plan_of = |z| {
                    Ok(super::after(
                        before,
                        times(&self.update(terms, self.releases.main.grain, z, self.sums)?.0, self.asked)?,
                    ))
                };
                self.calibrated(&plan_of, terms)
            }
        }
    }
}

/// z/√share: the noise of a release that may cost this share of μ².
fn weaker(z: NoiseMultiplier, share: f64) -> Result<NoiseMultiplier, PrivacyError> {
    NoiseMultiplier::new(z.get() / share.sqrt())
}
