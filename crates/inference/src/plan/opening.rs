//! Updates before all others, on terms of their own: what of the budget they may cost.

use super::{Costing, Terms, refuse, times};
use crate::RunError;
use crate::settings::{
    Chain, Clip, Deviations, Hybrid, Method, Noise, Promise, Sampler, Scheme, Solver, Start, Statistics, StatisticsRule,
};
use privacy::accounting::calibrate;
use privacy::{Delta, Epsilon, Event, NoiseMultiplier, NormBound, PrivacyError, Sampling, Shape, Steps};

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

/// An opening before it is costed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Opening {
    pub(super) updates: u64,
    share: Share,
    bound: NormBound,
    numbers: usize,
}

/// What of the budget an opening may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Share {
    /// Of ε and δ, by itself: by simple composition the rest is left for what follows. The whole is then costed together.
    OfBudget(f64),
    /// Of μ² (Gaussian differential privacy): n releases with noise z·√(n/f) and m with z·√(m/(1 − f)) cost what one at z does.
    OfMu(f64),
}

impl Opening {
    /// The opening that a method with d parameters has, whose other sums are of so many numbers.
    pub(super) fn of(
        method: &Method,
        promise: &Promise,
        dimension: usize,
        numbers: usize,
    ) -> Result<Option<Self>, RunError> {
        if let Solver::Hybrid(Hybrid { updates, share, clip: bound }) = method.solver {
            return Ok(Some(Self { updates, share: Share::OfBudget(share), bound, numbers }));
        }
        if let Scheme::Chain(chain) = method.scheme {
            return Self::of_chain(&chain, promise, dimension);
        }
        let Scheme::Statistics(Statistics { rule, .. }) = method.scheme else { return Ok(None) };
        let share = match rule {
            StatisticsRule::Projected { share, .. } => Share::OfBudget(share),
            StatisticsRule::RowNorm { deviations: Deviations::Asked { share, .. }, .. } => Share::OfMu(share),
            _ => return Ok(None),
        };
        let Clip::Fixed(bound) = promise.clip else {
            return refuse("sums of sufficient statistics have a bound that does not go by a rate");
        };
        Ok(Some(Self { updates: 1, share, bound, numbers: dimension + 1 }))
    }
}

impl Opening {
    /// Slopes on a chain's way, of which log-ratios follow; or the variational posterior that it starts from.
    fn of_chain(chain: &Chain, promise: &Promise, dimension: usize) -> Result<Option<Self>, RunError> {
        let Clip::Fixed(bound) = promise.clip else {
            return refuse("gradients of all rows have a bound that does not go by a rate");
        };
        Ok(match (chain.sampler, chain.start) {
            (Sampler::Hamiltonian { leaps, share, .. }, _) => {
                let leaps = chain.iterations.saturating_mul(u64::from(chain.chains)).saturating_mul(u64::from(leaps));
                let before = if let Start::Climbed { rounds, .. } = chain.start { rounds } else { 0 };
                let updates = leaps.saturating_add(before);
                Some(Self { updates, share: Share::OfMu(1.0 - share), bound, numbers: dimension })
            }
            (_, Start::Variational { rounds, share, .. }) => {
                Some(Self { updates: rounds, share: Share::OfBudget(share), bound, numbers: 2 * dimension })
            }
            _ => None,
        })
    }
}

impl Costing<'_> {
    /// The opening on these terms, if there is one, and the noise of what follows.
    pub(super) fn noise(&self, terms: &Terms) -> Result<(Option<PlannedStage>, NoiseMultiplier), RunError> {
        let Some(opening) = &self.opening else { return Ok((None, self.after(terms, &[])?)) };
        let opening_terms =
            Terms { sampling: Sampling::None, bound: opening.bound, numbers: opening.numbers, ..*terms };
        let update = |z: NoiseMultiplier| self.update(&opening_terms, z, Steps::ONE);
        let staged = |z: NoiseMultiplier| -> Result<PlannedStage, PrivacyError> {
            let (event, shape) = update(z)?;
            Ok(PlannedStage { updates: opening.updates, event, shape })
        };
        match (opening.share, self.promise.noise) {
            (Share::OfMu(share), noise) => {
                // Releases of one kind share what it may cost.
                let (first, rest) = (share / opening.updates as f64, (1.0 - share) / self.asked as f64);
                let both = |z: NoiseMultiplier| Ok::<_, PrivacyError>((weaker(z, first)?, weaker(z, rest)?));
                let plan_of = |z| {
                    let (first, rest) = both(z)?;
                    Ok(vec![staged(first)?.whole()?, times(&self.update(terms, rest, self.releases)?.0, self.asked)?])
                };
                let z = match noise {
                    Noise::Multiplier(z) => z,
                    Noise::Calibrated => self.calibrated(&plan_of, terms.delta)?,
                };
                let (first, rest) = both(z)?;
                Ok((Some(staged(first)?), rest))
            }
            (Share::OfBudget(_), Noise::Multiplier(z)) => Ok((Some(staged(z)?), z)),
            (Share::OfBudget(share), Noise::Calibrated) => {
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
    fn after(&self, terms: &Terms, before: &[Event]) -> Result<NoiseMultiplier, PrivacyError> {
        match self.promise.noise {
            // The noise of a test is what it is; how many of them fit is another question.
            _ if self.completed => NoiseMultiplier::new(1.0),
            Noise::Multiplier(z) => Ok(z),
            Noise::Calibrated => {
                let plan_of =
                    |z| Ok(super::after(before, times(&self.update(terms, z, self.releases)?.0, self.asked)?));
                self.calibrated(&plan_of, terms.delta)
            }
        }
    }
}

/// z/√share: the noise of a release that may cost this share of μ².
fn weaker(z: NoiseMultiplier, share: f64) -> Result<NoiseMultiplier, PrivacyError> {
    NoiseMultiplier::new(z.get() / share.sqrt())
}
