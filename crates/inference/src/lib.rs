#![forbid(unsafe_code)]
//! What is learnt: data encoding, models, families, local solvers, algorithms, schedules, the round loop, scores.

mod data;
mod draws;
mod error;
mod family;
mod linalg;
mod model;
mod optimiser;
mod record;
pub mod results;
mod score;
pub mod settings;
mod special;

pub use data::{Row, Rows, Shard};
pub use error::{DataError, RunError};
pub use family::{Family, Gaussian, Projections};
pub use model::{Expectation, Linear, Logistic, Model, Point, Prediction, Predictive, Scratch, Sink};
pub use optimiser::{Descent, Moments, kl_gradient};
pub use record::{Observer, Record, Scores};
pub use score::{calibration, scores};
