#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
//! What may leave a site, and at what cost.
//!
//! Posterity learns one posterior from rows that stay with their owners. This crate is the part that an auditor
//! reads: it decides which numbers may leave a site, adds the noise, and writes down what each release costs. It
//! knows no model, no clock, no file and no socket; whatever it needs from outside comes in as an argument.
//!
//! # The promise
//!
//! A plan of events is (ε, δ)-differentially private for one named unit under one named relation:
//!
//! - **Relation** ([`Adjacency`]): either one unit more or less (`add-remove`), or one unit replaced by any other
//!   (`substitute`).
//! - **Unit** ([`Unit`]): one row, or all rows of one client.
//! - **Trust** ([`Trust`]): noise is added at the site (anyone may see a message), or by a curator or a secure sum
//!   (only the total may be seen).
//!
//! A reported ε or δ is an upper bound that includes every rounding error ([`Bounds`]); where a bound cannot be
//! certified, the answer is a refusal ([`PrivacyError`]) and never a guess. A combination of mechanism, relation and
//! sampling that no theorem covers cannot be constructed ([`Event::new`]).
//!
//! # The path of one number
//!
//! ```text
//! rows ─► Bounded ─► Gate ◄─ ChargeReceipt ◄─ Ledger ◄─ Journal
//!                     │
//!                     ▼
//!                 Released / Outgoing
//! ```
//!
//! 1. A row's vector is clipped and added to a [`Bounded`] sum on an integer grid. The sum cannot be read, printed or
//!    serialised.
//! 2. The [`Ledger`] checks that the [`Event`] fits what the site has granted ([`Grant`]) and appends the charge to a
//!    [`Journal`]. Only then does it give a [`ChargeReceipt`].
//! 3. The receipt opens a [`Gate`]. The gate draws the batch, knows the sensitivity ([`sensitivity_factor`]), adds
//!    integer noise that was drawn exactly ([`noise`]), and counts down the steps that were charged.
//! 4. What comes out is a [`Released`] value, which may be used freely, or an [`Outgoing`] contribution that only a
//!    [`SecureSum`] or a [`Curator`] can open, as a total.
//!
//! A release needs a gate, a gate needs a receipt, and a receipt needs an appended charge: *a release without a charge
//! does not compile*. The tests in `tests/ui` hold the compiler to that.
//!
//! # Examples
//!
//! One noisy sum of three rows, from the grant to the released vector:
//!
//! ```
//! use privacy::noise::{NoiseContext, Seeded};
//! use privacy::{
//!     Adjacency, Batch, Bounded, Delta, Epsilon, Event, Filter, Gate, Grain, Grant, Grid, Ledger, LocalGate,
//!     MemoryJournal, NoiseMultiplier, NormBound, Released, Shape, Steps,
//! };
//!
//! // What happens: one release of Gaussian noise, of twice the sensitivity.
//! let z = NoiseMultiplier::new(2.0)?;
//! let event = Event::gaussian(z, Adjacency::Substitute, Steps::ONE);
//!
//! // What the site allows, and the charge.
//! let (epsilon, delta) = (Epsilon::new(3.0)?, Delta::new(1e-5)?);
//! let grant = Grant::Limited { epsilon, delta, filter: Filter::Plan(vec![event.clone()]) };
//! let mut journal = MemoryJournal::default();
//! let mut ledger = Ledger::open(grant, &mut journal)?;
//! let receipt = ledger.charge(&event, &mut journal)?;
//!
//! // The sum: two coordinates, each row clipped to norm 1, on a grid that suits the noise.
//! let bound = NormBound::new(1.0)?;
//! let shape = Shape::new(2, bound, Grain::Example, Grid::for_noise(bound, 4.0)?)?;
//! let mut gate = LocalGate::simulated(receipt, shape, &mut Seeded::new(7), &NoiseContext::default())?;
//! let mut batch = Batch::default();
//! gate.batch(3, &mut batch)?;
//! let mut sum = Bounded::examples(shape, &batch)?;
//! for row in [[0.6, 0.8], [3.0, 4.0], [-1.0, 0.0]] {
//!     sum.push(&row)?;
//! }
//!
//! // The release. A second one is not covered by the charge.
//! let mut released = Released::zeros(2);
//! gate.release(&sum, &mut released)?;
//! assert_eq!(released.get().len(), 2);
//! assert!(gate.release(&sum, &mut released).is_err());
//! # Ok::<(), privacy::PrivacyError>(())
//! ```
//!
//! What a plan costs, without any data:
//!
//! ```
//! use privacy::accounting::Pld;
//! use privacy::{Accountant, Adjacency, Delta, Event, NoiseMultiplier, Steps};
//!
//! let plan = [Event::gaussian(NoiseMultiplier::new(8.0)?, Adjacency::Substitute, Steps::new(10)?)];
//! let cost = Pld.epsilon(&plan, Delta::new(1e-5)?)?;
//! assert!(1.4 < cost.lower && cost.upper < 1.6);
//! # Ok::<(), privacy::PrivacyError>(())
//! ```
//!
//! # Where to read
//!
//! | question | module |
//! |---|---|
//! | Who is protected from what, and how far can one unit move a sum? | `relation.rs`: [`Adjacency`], [`Unit`], [`Sampling`], [`sensitivity_factor`] |
//! | Which numbers are valid? | `parameters.rs`: [`Epsilon`], [`Delta`], [`NoiseMultiplier`], … |
//! | What happened? | `event.rs`: [`Event`]; `mechanism.rs`: [`Mechanism`] and the table of theorems |
//! | How are rows clipped and added? | `shape.rs`, `bounded.rs`, `bounded/` |
//! | Which rows take part in a step? | `batch.rs` |
//! | Who may spend how much, and where is it written down? | `budget.rs`, `ledger.rs`, `journal.rs`, `certified_plan.rs` |
//! | What do all runs at a site cost together? | `portfolio/`: [`Portfolio`], [`PromisePair`] |
//! | Where does noise enter? | `gate/`: local, curator, share, Barker test, randomised response, open, agent |
//! | How is noise drawn? | [`noise`]: exact samplers and keyed streams |
//! | What does it cost? | [`accounting`]: one file for each accountant, `pair.rs` for dominating pairs |
//! | How is a total opened without opening its parts? | [`secure_sum`] |
//! | What may be done with released values? | `released.rs`, `outgoing.rs` |
//! | How is a declared sensitivity tested? | [`record`]: the same releases on neighbouring data |
//!
//! Proofs are in `docs/maths`, one page for each theorem; code names the page. `docs/mutants.md` lists deliberate faults
//! and the test that notices each. `SECURITY.md` says what an attacker of each kind can and cannot do.
//!
//! # For auditors
//!
//! Read in the order of the table. Private numbers enter through the `push` methods of [`Bounded`] and through
//! [`ResponseGate::report`] only. They leave through implementations of [`Gate`], [`Curator::open`],
//! [`ShuffledRound::open`] and [`secure_sum::Opener`] only: `Released::by_gate` and `Released::slot` are private to this
//! crate, and a search for the two finds every exit. Sums without noise also reach a [`record::Tape`], which simulated gates
//! take and an agent's cannot, and masked shares leave through [`secure_sum::Contributor`]. Outside this crate, search for
//! `impl StudyConstant` (what post-processing may see) and for what is deserialised into [`Released`] (what is taken to be
//! public).
//!
//! Assumed, not proved here: IEEE 754 arithmetic, the stated accuracy of `libm`, the operating system's random
//! numbers, SHA-256, HKDF, ChaCha20 and AES-128, and that a journal which calls itself [`Durable`] is.
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
#[cfg(test)]
mod exact_float;
mod finite;
mod gate;
mod journal;
mod ledger;
mod mechanism;
pub mod noise;
mod outgoing;
mod parameters;
mod portfolio;
pub mod record;
mod relation;
mod released;
pub mod secure_sum;
mod shape;

pub use accounting::{AboutAccountant, Accountant, Bounds};
pub use batch::Batch;
pub use bounded::{Bounded, Inputs, Layer};
pub use budget::{Filter, Grant};
pub use certified_plan::CertifiedPlan;
pub use error::PrivacyError;
pub use event::Event;
pub use finite::FinitePair;
pub use gate::{
    AgentGate, BarkerGate, Cohort, Curator, CuratorGate, Gate, LocalGate, OpenGate, ResponseGate, ShareGate,
    ShareNoise, ShuffledRound, Shuffler, UserReport, event_under_bound,
};
pub use journal::{Durability, Durable, InMemory, Journal, MemoryJournal};
pub use ledger::{ChargeReceipt, Ledger, LedgerEntry, LedgerRecord, PendingCharge};
pub use mechanism::{Adversary, Mechanism};
pub use outgoing::{GridVector, Outgoing};
pub use parameters::{
    Categories, Delta, Epsilon, Gamma, Mu, NoiseMultiplier, NormBound, Order, Rho, SamplingRate, ShareDeviation, Steps,
    VarianceSlack,
};
pub use portfolio::{FilterMember, LifetimeCap, MemberGauge, Portfolio, PortfolioAccount, PromisePair, RunUse};
pub use relation::{Adjacency, Grain, Sampling, Trust, Unit, sensitivity_factor};
pub use released::{Released, StudyConstant};
pub use secure_sum::{Assembly, SecureSum, SumError, SumNoise};
pub use shape::{Grid, Shape};
