//! The curator's gate: clients hand their clipped sums to one trusted party, which adds noise to the total once.
//!
//! The curator sees every site's clipped sum; in a simulation that is a choice of trust, in production it does not exist. The same
//! client gate seals contributions for a secure sum, where nobody sees a single one.

use super::shared_noise::covers;
use super::{CalibratedNoise, Gate, Tickets, check_sum, sensitivity_units};
use crate::batch::{Batch, BatchSampler};
use crate::journal::InMemory;
use crate::ledger::{Allowance, ChargeReceipt};
use crate::noise::{NoiseContext, NoiseSource, NoiseStream};
use crate::outgoing::{Contribution, ContributionPlace, GridVector};
use crate::record::{NoiseCall, Tape};
use crate::{Bounded, Event, Outgoing, PrivacyError, Released, Shape, Trust};
use rand_core::Rng;
use zeroize::Zeroizing;

/// A client's side: pays for the event, and seals the sum for the curator.
pub struct CuratorGate {
    shape: Shape,
    allowance: Allowance,
    sampler: BatchSampler,
    stream: NoiseStream,
    tickets: Tickets,
    place: ContributionPlace,
}

impl CuratorGate {
    /// Refuses an event and a shape that no [`Curator`] could noise.
    pub fn check(event: &Event, shape: &Shape) -> Result<(), PrivacyError> {
        CalibratedNoise::new(shape, event, Trust::Aggregate).map(drop)
    }

    /// A gate whose sums only a [`Curator`] of the same event and shape can open.
    pub fn new(
        receipt: ChargeReceipt<InMemory>,
        shape: Shape,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        Self::sealing(receipt.into_allowance(), shape, source, context)
    }

    /// A gate for an allowance from any journal. It adds no noise: the curator or the nodes do.
    pub(super) fn sealing(
        allowance: Allowance,
        shape: Shape,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        Self::check(&allowance.event, &shape)?;
        let mut stream = source.stream(context)?;
        let sampler = BatchSampler::new(allowance.event.sampling());
        let tickets = Tickets::starting_at(stream.next_u64());
        Ok(Self { shape, allowance, sampler, stream, tickets, place: ContributionPlace::of(context) })
    }
}

impl Gate for CuratorGate {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        let ticket = self.tickets.issue(rows)?;
        self.sampler.draw(&mut self.stream.branch(), rows, ticket, into)
    }

    fn release(&mut self, _: &Bounded, _: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        Err(PrivacyError::WrongGate {
            what: "a release at the client",
            gate: "curator",
            hint: "send the sum; the curator releases the total",
        })
    }

    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        check_sum(sum, &self.shape, &self.allowance.event, &mut self.tickets)?;
        self.allowance.take_one()?;
        Ok(Outgoing::contribution(Contribution {
            event: self.allowance.event.clone(),
            shape: self.shape,
            input: Zeroizing::new(sum.units().to_vec()),
            noise: Zeroizing::default(),
            place: self.place,
            cohort: None,
        }))
    }
}

/// The trusted party: adds up contributions, adds noise once, and opens the total once.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, Seeded};
/// use privacy::{
///     Adjacency, Bounded, Curator, CuratorGate, Event, Gate, Grain, Grant, Grid, Ledger, MemoryJournal, NoiseMultiplier,
///     NormBound, Shape, Steps,
/// };
///
/// let shape = Shape::new(1, NormBound::new(1.0)?, Grain::Whole, Grid::new(20)?)?;
/// let event = Event::gaussian(NoiseMultiplier::new(1.0)?, Adjacency::Substitute, Steps::ONE);
/// let (mut source, round) = (Seeded::new(1), NoiseContext::default());
/// let mut curator = Curator::new(&event, shape, &mut source, &round, None)?;
/// for site in 0..2 {
///     let mut journal = MemoryJournal::default();
///     let receipt = Ledger::open(Grant::Unlimited, &mut journal)?.charge(&event, &mut journal)?;
///     let context = NoiseContext { site, ..round };
///     let mut gate = CuratorGate::new(receipt, shape, &mut source, &context)?;
///     // The site sends a contribution that only the sum can use.
///     curator.add(gate.send(&Bounded::whole(shape, &[0.5])?)?)?;
/// }
/// assert_eq!(curator.open().get().units().len(), 1);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub struct Curator {
    shape: Shape,
    event: Event,
    /// How far one unit of a site moves the sum at most, and what that site was charged for: for records.
    sensitivity: u64,
    recorded: Event,
    deviation: f64,
    /// The sum before noise, and the noise: wiped when the curator is dropped.
    total: Zeroizing<Vec<i64>>,
    noise: Zeroizing<Vec<i64>>,
    tape: Option<Tape>,
    place: ContributionPlace,
    sites: Vec<ContributionPlace>,
}

impl Curator {
    /// A curator for one round of the event: the round of the context.
    pub fn new(
        event: &Event,
        shape: Shape,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
        tape: Option<&Tape>,
    ) -> Result<Self, PrivacyError> {
        let CalibratedNoise { sensitivity, deviation, gaussian } =
            CalibratedNoise::new(&shape, event, Trust::Aggregate)?;
        let zeros = || Zeroizing::new(vec![0; shape.dimension()]);
        let (total, mut noise) = (zeros(), zeros());
        gaussian.fill(&mut source.stream(context)?, &mut noise);
        let (event, tape, place) = (event.clone(), tape.cloned(), ContributionPlace::of(context));
        Ok(Self {
            shape,
            recorded: event.clone(),
            event,
            sensitivity,
            deviation,
            total,
            noise,
            tape,
            place,
            sites: Vec::new(),
        })
    }

    /// Adds one client's contribution: one of each site, for this round.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::Shape`] for a contribution of another event, shape or round, and for a second one of the same site.
    pub fn add(&mut self, outgoing: Outgoing) -> Result<(), PrivacyError> {
        let one = outgoing.into_contribution()?;
        check_match(&one, &self.event, &self.shape)?;
        check_place(&one, &self.place, &mut self.sites)?;
        let own = sensitivity_units(&one.shape, &one.event, Trust::Aggregate)?;
        if own > self.sensitivity {
            (self.sensitivity, self.recorded) = (own, one.event.repeated(self.event.steps()));
        }
        self.total.iter_mut().zip(one.input.iter()).for_each(|(t, u)| *t = t.wrapping_add(*u));
        Ok(())
    }

    /// Opens the noised total.
    pub fn open(self) -> Released<GridVector> {
        let noise = match self.tape {
            None => self.noise,
            Some(tape) => Zeroizing::new(
                tape.note(NoiseCall {
                    input: self.total.to_vec(),
                    noise: vec![self.noise.to_vec()],
                    sensitivity: self.sensitivity,
                    deviation: self.deviation,
                    event: self.recorded,
                })
                .swap_remove(0),
            ),
        };
        let total = self.total.iter().zip(noise.iter()).map(|(t, n)| t.wrapping_add(*n)).collect();
        Released::by_gate(GridVector::new(self.shape.grid(), total))
    }
}

/// A round's sum takes one contribution of each site: a second one would double what a unit can move.
fn check_place(
    one: &Contribution,
    round: &ContributionPlace,
    sites: &mut Vec<ContributionPlace>,
) -> Result<(), PrivacyError> {
    if !one.place.same_round(round) || sites.contains(&one.place) {
        return Err(PrivacyError::Shape {
            found: "a contribution of another round, or a second one of the same site".into(),
            expected: "one contribution of each site for this round".into(),
        });
    }
    sites.push(one.place);
    Ok(())
}

/// A contribution must be charged for the very event, and have the very shape, that the sum was announced with; or for a bound of its
/// own, by an event that the sum's noise covers.
pub(crate) fn check_match(one: &Contribution, event: &Event, shape: &Shape) -> Result<(), PrivacyError> {
    let same = one.shape == *shape && one.event.repeated(event.steps()) == *event;
    if !same && !covers(event, shape, one) {
        return Err(PrivacyError::Shape {
            found: format!("{} for {}", one.shape, one.event),
            expected: format!("{shape} for {event}"),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does not compile with buffers that are left as they are.
    #[test]
    fn a_curators_sum_and_noise_are_wiped_when_it_is_dropped() {
        fn wiped<T: zeroize::ZeroizeOnDrop>(_: &T) {}
        let _: fn(&Curator) = |curator| {
            wiped(&curator.total);
            wiped(&curator.noise);
        };
    }
}
