#![forbid(unsafe_code)]
//! What is learnt: data encoding, models, families, local solvers, algorithms, schedules, the round loop, scores.

mod data;
mod error;
mod family;
mod model;
mod record;
pub mod results;
pub mod settings;

pub use data::{
    Client, Column, Encoded, Federation, Kind, Missing, Numeric, Outcome, OutcomeKind, Partition, Reading, Row, Rows,
    Schema, Shard, Site, Skew, Split, header, nearest, read,
};
pub use error::{DataError, RunError};
pub use family::{Family, Gaussian};
pub use model::{Model, Point, Prediction, Scratch, Sink};
pub use record::{Observer, Record, Scores};
