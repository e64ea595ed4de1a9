//! The share gate: every client adds a part of the noise, and only a secure sum over enough clients is opened.
//!
//! Each of N clients adds noise of variance σ²/(N − T_c − T_d − 1): whoever colludes with T_c clients, is one of them and sees T_d
//! drop out still faces σ². The event carries the number of shares and the grid, because sums of discrete noise are only
//! nearly of the same family (`docs/maths/discrete-noise.md`, `docs/maths/secure-sum.md`).

use super::{Gate, Tickets, check_sum};
use crate::batch::{Batch, BatchSampler};
use crate::journal::InMemory;
use crate::ledger::{Allowance, ChargeReceipt};
use crate::noise::{DiscreteGaussian, NoiseContext, NoiseSource, NoiseStream, Skellam};
use crate::outgoing::{Contribution, ContributionPlace};
use crate::{
    Adjacency, Bounded, Event, Mechanism, NoiseMultiplier, Outgoing, PrivacyError, Released, Sampling, Shape,
    ShareDeviation, Steps, Trust, Unit, sensitivity_factor,
};
use rand_core::Rng;
use serde::Serialize;
use zeroize::Zeroizing;

/// How each client's share of the noise is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareNoise {
    /// Discrete Gaussian: the sum is nearly one, and costs what Gaussian noise costs and a little in δ.
    DiscreteGaussian,
    /// Skellam: the sum is Skellam exactly, and Rényi divergences of integer orders add up.
    Skellam,
}

/// Who takes part in a sum, and how many of them the noise must do without.
///
/// # Examples
///
/// ```
/// use privacy::Cohort;
///
/// // Ten clients: one may tell its noise to the adversary, two may be missing.
/// let cohort = Cohort::new(10, 1, 2)?;
/// assert_eq!((cohort.quorum(), cohort.honest_shares()), (8, 6));
/// assert!(Cohort::new(3, 1, 1).is_err());
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cohort {
    clients: u64,
    colluders: u64,
    dropouts: u64,
}

impl Cohort {
    /// N clients of which up to `colluders` tell the adversary their noise and up to `dropouts` never arrive.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Parameter`] if no honest share of noise would be left.
    pub fn new(clients: u64, colluders: u64, dropouts: u64) -> Result<Self, PrivacyError> {
        let honest =
            clients.checked_sub(colluders).and_then(|n| n.checked_sub(dropouts)).and_then(|n| n.checked_sub(1));
        match honest {
            Some(1..) => Ok(Self { clients, colluders, dropouts }),
            _ => Err(PrivacyError::Parameter {
                name: "cohort",
                found: format!("clients: {clients}, colluders: {colluders}, drop-outs: {dropouts}"),
                expected: "at least two clients more than colluders and drop-outs together",
            }),
        }
    }

    /// N: how many clients there are.
    pub fn clients(&self) -> u64 {
        self.clients
    }

    /// N − T_c − T_d − 1: the noise shares that an adversary who is a client too cannot subtract.
    pub fn honest_shares(&self) -> u64 {
        self.clients - self.colluders - self.dropouts - 1
    }

    /// The fewest contributions with which the sum may be opened.
    pub fn quorum(&self) -> u64 {
        self.clients - self.dropouts
    }

    /// The event of T rounds in which every client adds a share of noise of variance σ²/(N − T_c − T_d − 1).
    ///
    /// `multiplier` is σ / sensitivity of the sum. Full batch only: no amplification is claimed for shares.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::NoTheorem`] as by [`sensitivity_factor`], and [`PrivacyError::Parameter`] where a share would be smaller
    /// than half a grid unit: choose a finer grid.
    pub fn event(
        &self,
        noise: ShareNoise,
        shape: &Shape,
        multiplier: NoiseMultiplier,
        adjacency: Adjacency,
        unit: Unit,
        steps: Steps,
    ) -> Result<Event, PrivacyError> {
        let factor = sensitivity_factor(shape.grain(), unit, adjacency, Trust::Aggregate)?;
        let sensitivity = (factor * shape.bound_units()) as f64;
        let share = multiplier.get() * sensitivity / (self.honest_shares() as f64).sqrt();
        let shares = Steps::new(self.honest_shares())?;
        let share_deviation = ShareDeviation::new(share * (1.0 + 4.0 * f64::EPSILON))?;
        let (noise_multiplier, dimension) = (multiplier, Steps::new(shape.dimension() as u64)?);
        let mechanism = match noise {
            ShareNoise::DiscreteGaussian => {
                Mechanism::DiscreteGaussianSum { noise_multiplier, shares, share_deviation, dimension }
            }
            ShareNoise::Skellam => Mechanism::SkellamSum { noise_multiplier, shares, share_deviation, dimension },
        };
        Event::new(mechanism, adjacency, unit, Sampling::None, steps)
    }
}

/// A client's side of a noised sum, which a [`crate::SecureSum`] of the same event, shape and cohort opens.
pub struct ShareGate {
    shape: Shape,
    allowance: Allowance,
    sampler: ShareSampler,
    stream: NoiseStream,
    tickets: Tickets,
    noise: Zeroizing<Vec<i64>>,
    place: ContributionPlace,
    cohort: Cohort,
}

impl ShareGate {
    /// Refuses an event that is not this cohort's own for the shape.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::WrongGate`] for any event but the one that [`Cohort::event`] gives.
    pub fn check(event: &Event, shape: &Shape, cohort: &Cohort) -> Result<(), PrivacyError> {
        share_noise(event, shape, cohort).map(drop)
    }

    /// A gate for an event that [`Cohort::event`] made for this shape.
    pub fn new(
        receipt: ChargeReceipt<InMemory>,
        shape: Shape,
        cohort: &Cohort,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        Self::sharing(receipt.into_allowance(), shape, cohort, source, context)
    }

    /// A gate for an allowance from any journal. The first share of noise is drawn here, before any sum exists.
    pub(super) fn sharing(
        allowance: Allowance,
        shape: Shape,
        cohort: &Cohort,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        let sampler = share_noise(&allowance.event, &shape, cohort)?;
        let mut stream = source.stream(context)?;
        let tickets = Tickets::starting_at(stream.next_u64());
        let mut noise = Zeroizing::new(vec![0; shape.dimension()]);
        sampler.fill(&mut stream, &mut noise);
        Ok(Self {
            shape,
            allowance,
            sampler,
            stream,
            tickets,
            noise,
            place: ContributionPlace::of(context),
            cohort: *cohort,
        })
    }
}

/// The sampler of one share.
enum ShareSampler {
    DiscreteGaussian(DiscreteGaussian),
    Skellam(Skellam),
}

impl ShareSampler {
    /// Fills a vector with independent draws of one share.
    fn fill(&self, stream: &mut NoiseStream, noise: &mut [i64]) {
        match self {
            Self::DiscreteGaussian(gaussian) => gaussian.fill(stream, noise),
            Self::Skellam(skellam) => skellam.fill(stream, noise),
        }
    }
}

/// The noise of one share, after checking that the event is the cohort's own for this shape.
fn share_noise(event: &Event, shape: &Shape, cohort: &Cohort) -> Result<ShareSampler, PrivacyError> {
    let mismatch = PrivacyError::WrongGate {
        what: "an event that is not this cohort's",
        gate: "share",
        hint: "charge the event that `Cohort::event` returns for this shape",
    };
    let (noise, z, deviation) = match event.mechanism() {
        Mechanism::DiscreteGaussianSum { noise_multiplier, share_deviation, .. } => {
            (ShareNoise::DiscreteGaussian, noise_multiplier, share_deviation.get())
        }
        Mechanism::SkellamSum { noise_multiplier, share_deviation, .. } => {
            (ShareNoise::Skellam, noise_multiplier, share_deviation.get())
        }
        _ => return Err(mismatch),
    };
    if cohort.event(noise, shape, *z, event.adjacency(), event.unit(), event.steps())? != *event {
        return Err(mismatch);
    }
    let variance = share_variance(deviation);
    Ok(match noise {
        ShareNoise::DiscreteGaussian => ShareSampler::DiscreteGaussian(DiscreteGaussian::new(variance)?),
        ShareNoise::Skellam => ShareSampler::Skellam(Skellam::new(variance)?),
    })
}

/// s², rounded up.
fn share_variance(deviation: f64) -> f64 {
    (deviation * deviation).next_up()
}

impl Gate for ShareGate {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    /// All rows: no amplification by sampling is claimed for shares.
    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        let ticket = self.tickets.issue(rows)?;
        BatchSampler::All.draw(&mut self.stream.branch(), rows, ticket, into)
    }

    fn release(&mut self, _: &Bounded, _: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        Err(PrivacyError::WrongGate {
            what: "a release at the client",
            gate: "share",
            hint: "send the share; the sum is opened once enough shares have arrived",
        })
    }

    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        check_sum(sum, &self.shape, &self.allowance.event, &mut self.tickets)?;
        self.allowance.take_one()?;
        let contribution = Contribution {
            event: self.allowance.event.clone(),
            shape: self.shape,
            input: Zeroizing::new(sum.units().to_vec()),
            noise: self.noise.clone(),
            place: self.place,
            cohort: Some(self.cohort),
        };
        self.sampler.fill(&mut self.stream, &mut self.noise);
        Ok(Outgoing::contribution(contribution))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact_float::{ONE, fixed};
    use crate::{Grain, Grid, NormBound};

    /// n·s² ≥ (z·sensitivity)² without rounding, for the deviation s of the event, and for the variance that is drawn.
    #[test]
    fn shares_are_rounded_up_to_the_noise_of_the_total() {
        for k in 0..1000_u32 {
            let (z, bound) = (0.7 + f64::from(k) * 0.003_7, NormBound::new(1.0 + f64::from(k) * 0.017).unwrap());
            let shape = Shape::new(1, bound, Grain::Whole, Grid::new(12).unwrap()).unwrap();
            let cohort = Cohort::new(4 + u64::from(k), 1, 1).unwrap();
            let multiplier = NoiseMultiplier::new(z).unwrap();
            let (noise, unit) = (ShareNoise::Skellam, Unit::Client);
            let event = cohort.event(noise, &shape, multiplier, Adjacency::Substitute, unit, Steps::ONE).unwrap();
            let Mechanism::SkellamSum { share_deviation, shares, .. } = event.mechanism() else { panic!("{event}") };
            let (s, n) = (share_deviation.get(), shares.get());
            let promised = (fixed(z) * (2 * shape.bound_units())).pow(2);
            assert!(fixed(s).pow(2) * n >= promised, "{n} shares of {s}");
            assert!(fixed(s * (1.0 - 2e-15)).pow(2) * n < promised, "{n} shares of {s}");
            assert!((fixed(share_variance(s)) << ONE) >= fixed(s).pow(2), "{s}");
        }
    }
}
