//! The secure sum: additive shares to K compute nodes, which open the noised total of enough clients and nothing else.
//!
//! ```text
//! Contributor ──seeds──► every node but one ──held──► Contributor ──vector──► the remaining node
//! Node ──holdings──► all nodes ──confirmation of one set──► all nodes ──partial sum──► Opener ──► Released
//! ```
//!
//! Three state machines without I/O ([`Contributor`], [`Node`], [`Opener`]) take a [`Message`] and the [`SumParty`] that it came
//! from, and give [`SumEffect`]s back: what to keep durably and what to send, in this order. Who a message came from is for
//! the transport to authenticate; one that claims another sender is refused. [`SecureSum`] runs them in one process. Who
//! learns what, and why the noise suffices, is in `docs/maths/secure-sum.md`.
//!
//! Not promised: integrity. A client or a node that sends made-up words changes the total, unnoticed.

mod assembly;
mod client_set;
mod contributor;
mod error;
mod in_process;
mod mask;
mod message;
mod node;
mod opener;
mod received;
mod record;

pub use assembly::{Assembly, SumNoise, SumSession};
pub use client_set::ClientSet;
pub use contributor::Contributor;
pub use error::SumError;
pub use in_process::SecureSum;
pub use mask::Seed;
pub use message::{Body, Message, SumEffect, SumParty, WordVector};
pub use node::{Node, node_noise};
pub use opener::Opener;
pub use record::{NodeProgress, NodeRecord, Partial, Renunciation};
