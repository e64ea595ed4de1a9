//! The open gate: no noise and an infinite cost, chosen by name and written into the ledger.
//!
//! Baselines without privacy run through the same code as everything else, with this gate in the place of a noisy one. The charge
//! needs an unlimited grant, and an agent has no such gate.

use super::{Gate, Tickets, check_sum};
use crate::batch::{Batch, BatchSampler};
use crate::journal::InMemory;
use crate::ledger::{Allowance, ChargeReceipt};
use crate::noise::{NoiseContext, NoiseSource, NoiseStream};
use crate::outgoing::GridVector;
use crate::{Bounded, Event, Mechanism, Outgoing, PrivacyError, Released, Shape};
use rand_core::Rng;

/// Lets sums through as they are. Only a ledger without limit gives the receipt for it.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, Seeded};
/// use privacy::{
///     Adjacency, Bounded, Event, Gate, Grain, Grant, Grid, Ledger, Mechanism, MemoryJournal, NormBound, OpenGate,
///     Sampling, Shape, Steps, Unit,
/// };
///
/// let event = Event::new(Mechanism::Open, Adjacency::Substitute, Unit::Example, Sampling::None, Steps::ONE)?;
/// let shape = Shape::new(1, NormBound::new(1.0)?, Grain::Whole, Grid::new(4)?)?;
/// let mut journal = MemoryJournal::default();
/// let receipt = Ledger::open(Grant::Unlimited, &mut journal)?.charge(&event, &mut journal)?;
/// let mut gate = OpenGate::new(receipt, shape, &mut Seeded::new(1), &NoiseContext::default())?;
/// let sent = gate.send(&Bounded::whole(shape, &[0.5])?)?;
/// assert_eq!(sent.released()?.get().values(), [0.5]);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub struct OpenGate {
    shape: Shape,
    allowance: Allowance,
    sampler: BatchSampler,
    stream: NoiseStream,
    tickets: Tickets,
}

impl OpenGate {
    /// Refuses an event that promises noise.
    pub fn check(event: &Event) -> Result<(), PrivacyError> {
        if *event.mechanism() == Mechanism::Open {
            return Ok(());
        }
        Err(PrivacyError::WrongGate {
            what: "an event that promises noise",
            gate: "open",
            hint: "charge an open event to a ledger with an unlimited grant",
        })
    }

    /// A gate for a charged [`Mechanism::Open`].
    pub fn new(
        receipt: ChargeReceipt<InMemory>,
        shape: Shape,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        let allowance = receipt.into_allowance();
        Self::check(&allowance.event)?;
        let mut stream = source.stream(context)?;
        let sampler = BatchSampler::new(allowance.event.sampling());
        let tickets = Tickets::starting_at(stream.next_u64());
        Ok(Self { shape, allowance, sampler, stream, tickets })
    }

    /// Checks the sum as a noisy gate would and uses up one step: open releases are counted too.
    fn pay(&mut self, sum: &Bounded) -> Result<(), PrivacyError> {
        check_sum(sum, &self.shape, &self.allowance.event, &mut self.tickets)?;
        self.allowance.take_one()
    }
}

impl Gate for OpenGate {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        let ticket = self.tickets.issue(rows)?;
        self.sampler.draw(&mut self.stream.branch(), rows, ticket, into)
    }

    fn release(&mut self, sum: &Bounded, into: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        self.pay(sum)?;
        let (grid, values) = (self.shape.grid(), into.slot());
        values.clear();
        values.extend(sum.units().iter().map(|&u| grid.value(u)));
        Ok(())
    }

    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        self.pay(sum)?;
        Ok(Outgoing::clear(GridVector::new(self.shape.grid(), sum.units().to_vec())))
    }
}
