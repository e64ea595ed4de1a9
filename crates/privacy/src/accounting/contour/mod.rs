//! δ(ε) and ε(δ) of a composition by a contour integral, with a rigorous bound of every error.
//!
//! The evaluator is for many steps of laws with a density: its work falls as steps are added. It refuses where the
//! integrand decays too slowly, that is few steps and laws that are mostly atoms, purely finite ones among them.
//! `docs/maths/contour.md` derives every term.

mod choose;
mod cumulant;
mod evaluate;
mod factor;
mod law;
mod quadrature;
mod rotate;
mod segment;
mod slices;
mod solve;

pub use solve::{delta, epsilon, within};
