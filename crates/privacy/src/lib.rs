#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
//! What may leave a site, and at what cost.
//!
//! Read in this order: [`relation`](sensitivity_factor) (who is protected from what), [`Bounded`] (private sums that
//! cannot be read), [`Ledger`] (charges), [`Gate`] (the only way out), [`secure_sum`] (totals that nobody but
//! all nodes together could take apart), [`noise`] (exact samplers), [`accounting`]
//! (what events cost).
//!
//! ```text
//! rows ─► Bounded ─► Gate ◄─ ChargeReceipt ◄─ Ledger ◄─ Journal
//!                     │
//!                     ▼
//!                 Released / Outgoing
//! ```
//!
//! A release needs a gate, a gate needs a receipt, a receipt needs an appended charge: a release without a charge does
//! not compile.
//!
//! # Not supported
//!
//! - Unit client with a sum that clips examples or parts; add-remove of a client at a local gate.
//! - Amplification by sampling for anything but Gaussian and Laplace noise, and for sums that are opened as shares.
//! - Batches without replacement under add-remove.
//! - Noise in constant time: 2 % of draws take a slower path. Noise is drawn before the sum is touched instead.
//! - Integrity: a site that lies about its rows is bounded by the clip, not detected.
//!
#![doc = include_str!("../NOTATION.md")]

pub mod accounting;
mod batch;
mod bounded;
mod budget;
mod certified_plan;
mod error;
mod event;
mod finite;
mod gate;
mod journal;
mod ledger;
pub mod noise;
mod outgoing;
mod parameters;
pub mod record;
mod relation;
mod released;
pub mod secure_sum;
mod shape;

pub use accounting::{Accountant, Bounds};
pub use batch::Batch;
pub use bounded::{Bounded, Inputs, Layer};
pub use budget::{Filter, Grant};
pub use certified_plan::CertifiedPlan;
pub use error::PrivacyError;
pub use event::{Adversary, Event, Mechanism};
pub use finite::FinitePair;
pub use gate::{
    AgentGate, BarkerGate, Cohort, Curator, CuratorGate, Gate, LocalGate, OpenGate, Report, ResponseGate, ShareGate,
    ShareNoise, ShuffledRound, Shuffler,
};
pub use journal::{Durable, InMemory, Journal, Keeping, MemoryJournal};
pub use ledger::{ChargeReceipt, Entry, Ledger, PendingCharge, Record};
pub use outgoing::{GridVector, Outgoing};
pub use parameters::{
    Categories, Delta, Deviation, Epsilon, Gamma, Mu, NoiseMultiplier, NormBound, Order, Rho, SamplingRate, Steps,
    VarianceSlack,
};
pub use relation::{Adjacency, Grain, Sampling, Trust, Unit, sensitivity_factor};
pub use released::{Released, StudyConstant};
pub use secure_sum::{Assembly, SecureSum, SumError, SumNoise};
pub use shape::{Grid, Shape};
