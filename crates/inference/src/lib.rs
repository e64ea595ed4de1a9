#![forbid(unsafe_code)]
//! What is learnt: data encoding, models, families, local solvers, algorithms, schedules, the round
//! loop, scores.
//!
//! This crate turns tables into posteriors. It never reads a clock, a file or a socket, and it has
//! no random generator of its own: rows, seeds and noise come in as arguments, so that the same
//! inputs give the same bits on every machine. What may leave a site, and at what price, is decided
//! by the crate `privacy`; this crate only hands it clipped sums.
//!
//! # How the parts fit together
//!
//! A method of a study is a value of [`Method`]. It combines five choices that vary independently:
//!
//! | choice | type | module |
//! |---|---|---|
//! | what the server asks, and how it folds the answers | [`algorithm::Algorithm`] | [`algorithm`] |
//! | how a client solves its local problem | [`solve::LocalSolve`] | [`solve`] |
//! | what is promised to whom, and who adds up | [`settings::Promise`] | [`settings`] |
//! | who is asked when | [`settings::Schedule`] | [`settings`] |
//! | the likelihood | [`Model`] | crate root |
//!
//! Each algorithm, solver, sampler, rule and model describes itself in its own file by a
//! [`describe::Descriptor`]; a [`describe::Registry`] lists them. A study names them, and
//! [`describe::validate`] checks the study against the descriptions.
//!
//! A run then takes these steps:
//!
//! 1. [`Schema::from_toml`] and [`read`] turn a table into [`Encoded`] rows; [`Federation::new`]
//!    splits them and deals them to [`Site`]s.
//! 2. [`plan::plan`] costs the method from public constants alone: noise, number of updates, ε.
//! 3. [`build`] makes the [`algorithm::Protocol`] and the terms of every client.
//! 4. [`Drive`] runs the rounds in one process. A federation drives the same protocol over a
//!    network.
//! 5. [`Simulation::run`] does 2 to 4, scores the served posterior and returns a [`Record`].
//!
//! # Notation
//!
//! `NOTATION.md` at the top of the repository has the full table. In this crate:
//!
//! | symbol | code | meaning |
//! |---|---|---|
//! | q | [`Gaussian`], [`Family`] | the approximate posterior that is served |
//! | η | `Vec<f64>` of [`Family::len`] numbers | natural parameters of q: Λμ, then −½Λ |
//! | t_m | [`algorithm::Remembered::factor`] | the factor of client m: q ∝ p · Π t_m |
//! | λ | [`solve::Task::start`] | natural parameters from which a local search starts |
//! | ρ | [`settings::Damping`] | how much of a change is kept |
//! | C | [`settings::Clip`] | bound of the norm of one clipped vector |
//! | z | `privacy::NoiseMultiplier` | standard deviation of the noise divided by the sensitivity |
//! | K | [`solve::Average::parts`] | parts that a client's rows are dealt to |
//! | T | [`settings::Local::steps`] | local steps of one update |
//!
//! # What is not supported
//!
//! - Families other than Gaussians, mean-field or with full covariance.
//! - Gradient steps on a full covariance: it is moved by natural steps without noise.
//! - Clipping of single rows where the unit of privacy is a client. [`Method::check`] refuses this and
//!   every other combination that no theorem covers, and says why.
//!
//! # Examples
//!
//! A method as a study states it, checked and planned for three clients of 1,000 rows each, with a
//! model of 10 coefficients:
//!
//! ```
//! use inference::describe::Registry;
//! use inference::{Method, plan::plan};
//!
//! let table = r#"
//!     name = "DP optimisation"
//!     algorithm = "pvi"
//!     solver = "dp-optimisation"
//!     rounds = 5
//!     damping = 0.4
//!     local = { steps = 10, rate = 0.05, optimiser = "adam", learning_rate = 0.05 }
//!     privacy = { unit = "example", adjacency = "substitute", epsilon = 1.0, delta = 1e-5, clip = 2.0 }
//! "#;
//! let method = Method::read(&toml::from_str(table)?, &Registry::standard()).map_err(|all| all[0].what.clone())?;
//! let planned = plan(&method, &[1000, 1000, 1000], 10)?;
//! assert_eq!((planned.clients.len(), planned.rounds, planned.messages), (3, 5, 15));
//! assert!(planned.clients[0].certified <= 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod algorithm;
mod baseline;
mod build;
pub mod chain;
mod client;
pub mod comparison;
mod conjugate;
mod data;
pub mod describe;
mod draws;
mod drive;
pub mod effects;
mod error;
pub mod expected;
mod family;
mod fit;
mod fits;
pub mod histogram;
mod intervals;
mod last_rounds;
mod linalg;
mod member;
pub mod message;
pub mod method;
mod model;
mod normal_quantile;
mod optimiser;
pub mod plan;
mod prior;
pub mod public;
mod record;
pub mod recovery;
pub mod regression;
pub mod release;
pub mod results;
pub mod score;
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
pub use conjugate::{ConjugateFamily, ExactMarginal, NoisyTotals, QUANTILE_LEVELS, Quantiles, RowStatistics};
pub use data::{
    Column, ColumnExam, Dealt, Design, Drawn, DrawnConjugate, DrawnLogistic, Encoded, Federation, InputLayout, Kind,
    Missing, NUMBER_BOUNDS, Numeric, Only, Outcome, OutcomeKind, Partition, PersonKey, RecordId, Row, RowKeys, RowLaw,
    RowReading, Rows, SCHEMA_KEYS, Schema, Shard, Site, Skew, Split, SyntheticConjugate, SyntheticLinear,
    SyntheticLogistic, SyntheticMixture, TableExam, ToldEffect, UnitBatch, agree, drawn_coefficients, examine, header,
    nearest, persons_at_one_site, read, read_inputs,
};
pub use drive::{Drive, Progress};
pub use error::{DataError, RunError};
pub use family::{Family, Gaussian, Projections};
pub use fit::{Fit, Fitted, mode};
pub use fits::Fits;
pub use intervals::{Intervals, LEAST_HELD, MeasuredCoverage};
pub use last_rounds::OneParameter;
pub use member::{ChargeAndGate, Member};
pub use method::Method;
pub use model::{
    BetaBinomial, ConjugateModel, DefaultSetting, DirichletMultinomial, DirichletSettings, Exact, Expectation,
    GammaPoisson, GeneralisedLinear, Linear, LinearPredictor, LinearSettings, Logistic, LogisticSettings, MODEL_KEYS,
    Mixture, MixtureSettings, Model, ModelSettings, Network, NetworkSettings, Normal, OpenedAnswers, OutcomeNeed,
    Output, Pass, Point, Prediction, Predictive, Pull, ResponseDistribution, Scratch, Sink, Slopes, Softmax,
    SoftmaxSettings, StudyModel, Support, credible, holding, restored, stored,
};
pub use optimiser::{Descent, OptimiserState, kl_gradient};
pub use prior::{
    CoefficientPrior, ConvertedPrior, EarlierPosterior, EncodedPrior, PriorTerm, StatedRange, StudyPrior, encodings,
};
pub use record::{Observer, Record, SiteIntercept, SiteScores};
pub use recovery::Recovery;
pub use score::{Score, Scores, calibration, scores};
pub use seat::{ClientView, Opening, Stage, SumTerms, Terms};
pub use simulate::Simulation;
pub use total::Total;
