//! The local gate: noise is added at the site, and every message may be seen by anyone.
//!
//! This is the gate of a study that trusts nobody: what leaves the site is already noised. The ledger's event is Gaussian, with
//! the batch drawn as the event says.

use super::{CalibratedNoise, Gate, Tickets, check_sum};
use crate::batch::{Batch, BatchSampler};
use crate::journal::InMemory;
use crate::ledger::{Allowance, ChargeReceipt};
use crate::noise::{NoiseContext, NoiseSource, NoiseStream, RoundedGaussian};
use crate::outgoing::GridVector;
use crate::record::{NoiseCall, Tape};
use crate::{Bounded, Event, Outgoing, PrivacyError, Released, Shape, Trust};
use rand_core::Rng;

/// Adds rounded Gaussian noise of deviation z·sensitivity to integer sums.
///
/// The sum is an integer vector x, so x + round(Z) = round(x + Z) is post-processing of the continuous Gaussian
/// mechanism, and every accountant of that mechanism holds exactly (`docs/maths/rounded-gaussian.md`).
/// Noise for the next release is drawn before its sum is handed over, so its timing says nothing about the sum.
///
/// # Examples
///
/// ```
/// use privacy::noise::{NoiseContext, Seeded};
/// use privacy::{
///     Adjacency, Bounded, Event, Gate, Grain, Grant, Grid, Ledger, LocalGate, MemoryJournal, NoiseMultiplier, NormBound,
///     Shape, Steps,
/// };
///
/// let shape = Shape::new(1, NormBound::new(1.0)?, Grain::Whole, Grid::new(20)?)?;
/// let event = Event::gaussian(NoiseMultiplier::new(1.0)?, Adjacency::Substitute, Steps::ONE);
/// LocalGate::check(&event, &shape)?;
///
/// let mut journal = MemoryJournal::default();
/// let receipt = Ledger::open(Grant::Unlimited, &mut journal)?.charge(&event, &mut journal)?;
/// let mut gate = LocalGate::simulated(receipt, shape, &mut Seeded::new(1), &NoiseContext::default())?;
/// let sent = gate.send(&Bounded::whole(shape, &[0.5])?)?;
/// assert_eq!(sent.released()?.get().units().len(), 1);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
pub struct LocalGate {
    shape: Shape,
    allowance: Allowance,
    sensitivity: u64,
    deviation: f64,
    gaussian: RoundedGaussian,
    sampler: BatchSampler,
    stream: NoiseStream,
    tickets: Tickets,
    noise: Vec<i64>,
    tape: Option<Tape>,
}

impl LocalGate {
    /// Refuses an event and a shape that this gate, or an agent's, could not serve.
    ///
    /// # Errors
    ///
    /// [`PrivacyError::WrongGate`] for noise other than Gaussian and [`PrivacyError::NoTheorem`] for a sum whose sensitivity is not
    /// proved. The constructors check the same.
    pub fn check(event: &Event, shape: &Shape) -> Result<(), PrivacyError> {
        CalibratedNoise::new(shape, event, Trust::Local).map(drop)
    }

    /// A gate for simulations: a charge in memory, any noise source. A durable charge opens an agent's gate only.
    pub fn simulated(
        receipt: ChargeReceipt<InMemory>,
        shape: Shape,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        Self::new(receipt.into_allowance(), shape, source.stream(context)?, None)
    }

    /// A simulated gate that reports every noise call to a tape.
    pub fn recorded(
        receipt: ChargeReceipt<InMemory>,
        shape: Shape,
        source: &mut dyn NoiseSource,
        context: &NoiseContext,
        tape: &Tape,
    ) -> Result<Self, PrivacyError> {
        Self::new(receipt.into_allowance(), shape, source.stream(context)?, Some(tape.clone()))
    }

    /// A gate for an allowance from any journal. The noise of the first release is drawn here, before any sum exists.
    pub(super) fn new(
        allowance: Allowance,
        shape: Shape,
        mut stream: NoiseStream,
        tape: Option<Tape>,
    ) -> Result<Self, PrivacyError> {
        let CalibratedNoise { sensitivity, deviation, gaussian } =
            CalibratedNoise::new(&shape, &allowance.event, Trust::Local)?;
        let sampler = BatchSampler::new(allowance.event.sampling());
        let tickets = Tickets::starting_at(stream.next_u64());
        let mut noise = vec![0; shape.dimension()];
        gaussian.fill(&mut stream, &mut noise);
        Ok(Self { shape, allowance, sensitivity, deviation, gaussian, sampler, stream, tickets, noise, tape })
    }

    /// Checks and pays, then leaves sum + noise in the noise buffer.
    fn noised(&mut self, sum: &Bounded) -> Result<(), PrivacyError> {
        check_sum(sum, &self.shape, &self.allowance.event, &mut self.tickets)?;
        self.allowance.take_one()?;
        if let Some(tape) = &self.tape {
            let call = NoiseCall {
                input: sum.units().to_vec(),
                noise: vec![self.noise.clone()],
                sensitivity: self.sensitivity,
                deviation: self.deviation,
                event: self.allowance.event.clone(),
            };
            self.noise = tape.note(call).swap_remove(0);
        }
        self.noise.iter_mut().zip(sum.units()).for_each(|(n, s)| *n = n.wrapping_add(*s));
        Ok(())
    }

    /// Draws the noise of the next release, if one is left.
    fn prepare_next(&mut self) {
        if self.allowance.left() > 0 {
            self.gaussian.fill(&mut self.stream, &mut self.noise);
        }
    }
}

impl Gate for LocalGate {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        let ticket = self.tickets.issue(rows)?;
        self.sampler.draw(&mut self.stream.branch(), rows, ticket, into)
    }

    fn release(&mut self, sum: &Bounded, into: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        self.noised(sum)?;
        let grid = self.shape.grid();
        let values = into.slot();
        values.clear();
        values.extend(self.noise.iter().map(|&u| grid.value(u)));
        self.prepare_next();
        Ok(())
    }

    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        self.noised(sum)?;
        let sent = GridVector::new(self.shape.grid(), self.noise.clone());
        self.prepare_next();
        Ok(Outgoing::clear(sent))
    }
}
