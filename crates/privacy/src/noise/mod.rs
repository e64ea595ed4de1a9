//! Exact noise on the integers: what each sampler draws is its stated distribution, given ideal random bits.
//!
//! All samplers are generic over `rand_core::Rng`; none is constant in time. Parameters given as f64 are taken as the
//! dyadic rationals that they are.

mod dyadic;
mod exact;
mod fixed_point;
mod rounded_gaussian;
mod ziggurat_table;

pub use rounded_gaussian::RoundedGaussian;
