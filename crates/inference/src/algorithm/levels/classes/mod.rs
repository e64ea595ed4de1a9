//! Noise-aware inference by levels for outcomes of K classes: softmax regression.
//!
//! The looks are those of two outcomes. A level releases K − 1 contrasts of the scores, Σ c U(e_y − p) ⊗ z, where c is the largest weight
//! with which no label's score is over the bound. The readout is in contrasts of the coefficients too.
//!
//! | symbol | code | file |
//! |---|---|---|
//! | U | [`Contrasts`] | `contrasts.rs` |
//! | g | [`NormalPoints`]: points for expectations over the logits | `cubature.rs` |
//! | G, H, w | [`ClassMoments`]: expected score sum, its slope, curvature of the logits | `moments.rs` |
//! | c, C | [`ClassPoint`]: weight and clip of a row | `row.rs` |
//! | P | [`ClassSolution`]: precision of the contrasts | `solve.rs` |
//!
//! Not supported: priors that differ between classes, beside what two outcomes do not support.

mod contrasts;
mod cubature;
mod moments;
mod readout;
mod row;
mod settings;
mod solve;

pub use contrasts::Contrasts;
pub use cubature::NormalPoints;
pub use moments::{ClassExpectations, ClassLogits, ClassMoments, ClassSlope};
pub use readout::{ClassPosterior, ClassReadout};
pub use row::{ClassPoint, ClassScratch, class_clip, class_level_bound};
pub(crate) use settings::DESCRIPTOR;
pub use settings::{ClassLevelsSettings, class_first_share};
pub use solve::{ClassSolution, solve_classes};
