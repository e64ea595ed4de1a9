//! Histograms of randomised answers that went through a shuffler: the survey simulated, and what its counts say.

mod estimate;
mod survey;

pub use estimate::{Design, Share, estimate};
pub use survey::{Surveyed, apportioned, survey};
