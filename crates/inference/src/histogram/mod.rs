//! Histograms of randomised answers that went through a shuffler: the survey simulated, and what its
//! counts say.
//!
//! Every user randomises its own answer (k-randomised response with γ), a shuffler mixes the answers of a
//! round and publishes how often each category came. [`survey`] plays this with one ledger for each user;
//! [`estimate`] turns counts into shares with standard errors. `docs/maths/shuffle.md` has the accounting
//! (Paper III).

mod estimate;
mod survey;

pub use estimate::{Design, Share, estimate};
pub use survey::{Surveyed, apportioned, survey};
