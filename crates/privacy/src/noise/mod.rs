//! Exact noise on the integers: what each sampler draws is its stated distribution, given ideal random bits.
//!
//! All samplers are generic over `rand_core::Rng`; none is constant in time. Parameters given as f64 are taken as the
//! dyadic rationals that they are.

mod bernoulli;
mod discrete_gaussian;
mod discrete_laplace;
mod dyadic;
mod exact;
mod fixed_point;
#[cfg(test)]
pub(crate) mod fixed_words;
mod poisson;
mod randomised_response;
mod rounded_gaussian;
mod skellam;
mod source;
mod ziggurat_table;

pub use discrete_gaussian::DiscreteGaussian;
pub use discrete_laplace::DiscreteLaplace;
pub use poisson::Poisson;
pub use randomised_response::RandomisedResponse;
pub use rounded_gaussian::RoundedGaussian;
pub use skellam::Skellam;
pub use source::{Digest, NoiseContext, NoiseSource, NoiseStream, OsKeyed, Seeded};
