#![forbid(unsafe_code)]
//! What is learnt: data encoding, models, families, local solvers, algorithms, schedules, the round loop, scores.

pub mod algorithm;
mod baseline;
mod build;
pub mod chain;
mod client;
pub mod comparison;
mod data;
pub mod describe;
mod draws;
mod drive;
mod error;
mod family;
mod fit;
mod fits;
pub mod histogram;
mod linalg;
mod member;
pub mod message;
pub mod method;
mod model;
mod optimiser;
pub mod plan;
pub mod public;
mod record;
pub mod regression;
pub mod release;
pub mod results;
mod score;
mod seat;
pub mod settings;
mod simulate;
pub mod solve;
mod special;
mod spending;
#[cfg(feature = "testing")]
pub mod testing;
mod total;
pub mod warning;

pub use build::{Built, build};
pub use client::{Client, SimulationContext, Summing};
pub use data::{
    Column, Dealt, Drawn, Encoded, Federation, InputLayout, Kind, Missing, Numeric, Only, Outcome, OutcomeKind,
    Partition, RecordId, Row, RowKeys, RowReading, Rows, SCHEMA_KEYS, Schema, Shard, Site, Skew, Split,
    SyntheticLinear, SyntheticMixture, agree, header, nearest, read, read_inputs,
};
pub use drive::{Drive, Progress};
pub use error::{DataError, RunError};
pub use family::{Family, Gaussian, Projections};
pub use fit::{Fit, Fitted, mode};
pub use fits::Fits;
pub use member::{ChargeAndGate, Member};
pub use method::Method;
pub use model::{
    Exact, Expectation, GeneralisedLinear, Linear, LinearPredictor, LinearSettings, Logistic, LogisticSettings,
    MODEL_KEYS, Mixture, MixtureSettings, Model, ModelSettings, Network, NetworkSettings, OutcomeNeed, Output, Pass,
    Point, Prediction, Predictive, Pull, ResponseDistribution, Scratch, Sink, Slopes, Softmax, SoftmaxSettings,
    StudyModel, Support, credible, holding, restored, stored,
};
pub use optimiser::{Descent, OptimiserState, kl_gradient};
pub use record::{Observer, Record, Scores, SiteIntercept, SiteScores};
pub use score::{calibration, scores};
pub use seat::{ClientView, Opening, Stage, Terms};
pub use simulate::Simulation;
pub use total::Total;
