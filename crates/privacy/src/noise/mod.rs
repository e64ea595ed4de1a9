//! Exact noise on the integers: what each sampler draws is its stated distribution, given ideal random bits.
//!
//! All samplers are generic over `rand_core::Rng`; none is constant in time. Parameters given as f64 are taken as the
//! dyadic rationals that they are.
//!
//! | sampler | distribution | used by |
//! |---|---|---|
//! | [`RoundedGaussian`] | round(Z), Z ~ N(0, s²) | local gates, curators, nodes |
//! | [`DiscreteGaussian`] | ∝ e^{−k²/2σ²} | shares of clients |
//! | [`Skellam`] | difference of two Poisson variables | shares of clients |
//! | [`DiscreteLaplace`] | ∝ e^{−|k|/t} | proposal of other samplers |
//! | [`Poisson`] | counts of mean λ | Skellam noise |
//! | [`RandomisedResponse`] | truth, or uniform with probability γ | shuffled answers |
//!
//! A sampler decides by comparing random bits with digits that are computed exactly, as far as they are needed. Floating point
//! is used where a margin proves the decision; otherwise big integers decide. `tests/noise_statistics.rs` and
//! `examples/noise_chi_square.rs` compare draws with the stated laws.

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
