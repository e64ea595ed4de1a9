//! What travels between server and client, and the two links of a simulation: values handed over, or
//! bytes.
//!
//! [`Direct`] is what simulations use. [`Loopback`] encodes and decodes every message, as a wire would; a
//! law holds both to the same bits.

use crate::algorithm::{Protocol, decode, encode};
use crate::client::{Client, SimulationContext};
use crate::{RunError, Total};
use privacy::noise::{Digest, NoiseContext};
use privacy::{GridVector, Outgoing};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The server asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Round, from 0.
    pub round: u64,
    /// Counts the asks of one client in one round, from 0.
    pub attempt: u64,
    /// The algorithm's question, in canonical bytes.
    pub query: Vec<u8>,
}

/// The client answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// Who.
    pub client: u64,
    /// To which round's ask.
    pub round: u64,
    /// What its gate let through.
    pub answer: GridVector,
}

/// The server says what it applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// A [`Total`] in canonical bytes.
    pub applied: Vec<u8>,
}

impl Ask {
    /// What the noise of the answer is bound to.
    pub fn context(&self, run: [u8; 16], site: u64, ledger_head: Digest) -> NoiseContext {
        NoiseContext {
            run,
            site,
            round: self.round,
            attempt: self.attempt,
            query: Sha256::digest(&self.query).into(),
            ledger_head,
            data_version: Digest::default(),
        }
    }
}

impl Receipt {
    /// A receipt for what was applied.
    pub fn of(applied: &Total) -> Result<Self, RunError> {
        Ok(Self { applied: encode(applied, "a receipt")? })
    }
}

/// How an answer arrived.
#[derive(Debug)]
pub enum Delivery {
    /// Released at its gate, and the bytes that it took.
    Clear(GridVector, u64),
    /// Sealed: only a sum can use it. It is handed over in the process; a protocol will carry it as shares.
    Sealed(Outgoing),
    /// It never arrived.
    Lost,
}

/// Carries messages between server and clients.
pub trait Link: Sync {
    /// Asks a client.
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Delivery, RunError>;

    /// Brings a receipt to a client.
    fn settle(&self, client: &mut Client<'_>, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError>;
}

/// Hands values over.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direct;

impl Link for Direct {
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Delivery, RunError> {
        let outgoing = client.answer(protocol, ask, workshop)?;
        if workshop.summing != crate::client::Summing::Nobody {
            return Ok(Delivery::Sealed(outgoing));
        }
        let reply =
            Reply { client: client.index() as u64, round: ask.round, answer: outgoing.released()?.into_inner() };
        let bytes = encode(&reply, "a reply")?.len() as u64;
        Ok(Delivery::Clear(reply.answer, bytes))
    }

    fn settle(&self, client: &mut Client<'_>, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError> {
        client.settle(protocol, receipt)
    }
}

/// Turns every message into bytes and back, as a wire would.
#[derive(Debug, Clone, Copy, Default)]
pub struct Loopback;

impl Link for Loopback {
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Delivery, RunError> {
        let received: Ask = decode(&encode(ask, "an ask")?, "an ask")?;
        match Direct.ask(client, protocol, &received, workshop)? {
            Delivery::Clear(answer, _) => {
                let wire = encode(&Reply { client: client.index() as u64, round: received.round, answer }, "a reply")?;
                let reply: Reply = decode(&wire, "a reply")?;
                Ok(Delivery::Clear(reply.answer, wire.len() as u64))
            }
            other => Ok(other),
        }
    }

    fn settle(&self, client: &mut Client<'_>, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError> {
        let received: Receipt = decode(&encode(receipt, "a receipt")?, "a receipt")?;
        client.settle(protocol, &received)
    }
}
