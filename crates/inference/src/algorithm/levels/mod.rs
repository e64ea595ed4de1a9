//! Noise-aware logistic regression by levels: the mathematics of its releases and of its readout, without gates.
//!
//! Every release is a sum over rows, or over the means of persons' rows. Two looks describe the inputs; eleven levels give scores at a point that moves. The readout
//! takes all levels as observations of one statistic t = Σ c x y and gives a Gaussian posterior that counts the noise.
//!
//! | symbol | code | file |
//! |---|---|---|
//! | n, m, μ | [`PublicNumbers`]: declared rows, sources of noise, parameter of Gaussian differential privacy | `design.rs` |
//! | φ | [`LevelPlan`]: shares of μ² | `design.rs` |
//! | x, z = (x − m̂, 1), s, ρ | [`CentredInputs`]: a row, its centred form, scales, expected norm of s∘z | `looks.rs` |
//! | θ | coefficients of x; in centred coordinates those of z, θ = Tᵀθ_z with T = I − (m̂, 0)·e_interceptᵀ | `looks.rs` |
//! | C, V, τ² | [`InputBelief`]: covariance of the inputs, variance of each of its entries, variance of correlations | `belief.rs` |
//! | G, H, J | [`InputMoments`]: expected score sum, its slope, a curvature that bounds it | `moments.rs` |
//! | u_k, n_k, κ_k | [`Evidence`]: scores, their noise, mean weights of the levels | `readout.rs` |
//! | P₀, P, ν, t̄ | [`PriorPrecision`], [`Solution`]: precisions, noise and mean of the statistic t | `solve.rs` |
//!
//! Matrices are symmetric and packed: the lower triangle row by row. The intercept is the last input.
//!
//! Not supported: inputs without an intercept, a prior mean other than 0, outcomes other than 0 and 1, clients as the unit.
//! Where persons are the unit, a person counts as one row: the mean of its rows.

mod belief;
pub mod classes;
mod descent;
mod design;
mod forecast;
mod gaps;
mod looks;
mod moments;
mod protocol;
mod question;
mod readout;
mod settings;
mod solve;
mod weights;

pub use belief::InputBelief;
pub use design::{InputDesign, LEVELS, LevelPlan, PublicNumbers, SumBound, VectorSet, level_bound, second_look_bound};
pub use looks::{CentredInputs, FirstLook, InputSummary, LevelPoint, SparseEntries};
pub use moments::{Expectations, InputMoments};
pub use protocol::{LevelsState, NoiseAwareLevels};
pub use question::{AskedInputs, LevelsQuestion};
pub use readout::{DRAWS, Evidence, LevelPosterior, LevelReadout, NextLevel};
pub(crate) use settings::DESCRIPTOR;
pub use settings::{LevelsSettings, ServedPrior};
pub use solve::{Doubts, Effort, PriorPrecision, ReleasedLevel, Solution, solve};
