#![forbid(unsafe_code)]
//! stub
pub mod accounting;
mod error;
mod event;
mod finite;
mod parameters;
mod relation;

pub use accounting::{Accountant, Bounds};
pub use error::PrivacyError;
pub use event::{Adversary, Event, Mechanism};
pub use finite::FinitePair;
pub use parameters::{
    Categories, Delta, Epsilon, Gamma, Mu, NoiseMultiplier, NormBound, Order, Rho, SamplingRate, Steps,
};
pub use relation::{Adjacency, Grain, Sampling, Trust, Unit, sensitivity_factor};
