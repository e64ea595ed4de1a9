//! An agent's gates: a charge in a durable journal and keys from the operating system, by their types.
//!
//! A production gate differs from a simulated one in what its constructor takes: a receipt of a durable journal and keys of the
//! operating system. Seeded noise or a charge in memory is a type error here, not a setting
//! (`tests/ui/agent_gate_needs_*`).

use super::{BarkerGate, Cohort, CuratorGate, Gate, LocalGate, ShareGate};
use crate::batch::Batch;
use crate::journal::Durable;
use crate::ledger::ChargeReceipt;
use crate::noise::{NoiseContext, NoiseSource, OsKeyed};
use crate::{Bounded, Outgoing, PrivacyError, Released, Shape};

/// The gate of one release attempt at a site.
///
/// There is none that is open, recorded or simulated, and none for a curator who would see a single site's sum: what an agent
/// seals, only a secure sum takes.
pub struct AgentGate(Box<dyn Gate>);

impl AgentGate {
    /// Noise is added here: anybody may see what is sent.
    pub fn local(
        receipt: ChargeReceipt<Durable>,
        shape: Shape,
        source: &mut OsKeyed,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        Ok(Self(Box::new(LocalGate::new(receipt.into_allowance(), shape, source.stream(context)?, None)?)))
    }

    /// The noise of a Barker test is added here.
    pub fn test(
        receipt: ChargeReceipt<Durable>,
        shape: Shape,
        source: &mut OsKeyed,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        Ok(Self(Box::new(BarkerGate::new(receipt.into_allowance(), shape, source.stream(context)?, None)?)))
    }

    /// The nodes of a secure sum add the noise: what is sent leaves as shares only.
    pub fn sealed(
        receipt: ChargeReceipt<Durable>,
        shape: Shape,
        source: &mut OsKeyed,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        Ok(Self(Box::new(CuratorGate::sealing(receipt.into_allowance(), shape, source, context)?)))
    }

    /// A share of the noise is added here, and what is sent leaves as shares only.
    pub fn share(
        receipt: ChargeReceipt<Durable>,
        shape: Shape,
        cohort: &Cohort,
        source: &mut OsKeyed,
        context: &NoiseContext,
    ) -> Result<Self, PrivacyError> {
        Ok(Self(Box::new(ShareGate::sharing(receipt.into_allowance(), shape, cohort, source, context)?)))
    }
}

impl Gate for AgentGate {
    fn shape(&self) -> &Shape {
        self.0.shape()
    }
    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        self.0.batch(rows, into)
    }
    fn release(&mut self, sum: &Bounded, into: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        self.0.release(sum, into)
    }
    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        self.0.send(sum)
    }
}
