//! From a study file to plans, runs, results, predictions and draws.
//!
//! A study is a text: data, a partition into clients, a model, methods. [`Study::open`] reads and checks it, [`Study::plan`] says
//! what it will cost without touching a row, [`Study::load`] opens its rows, and [`Loaded::simulate`] plays it in one process.
//! [`Posterior`] predicts new rows from what a run left. Beside studies that learn there are figures of accounting
//! ([`curves`]) and histograms through a shuffler ([`histogram`]); [`account`] answers single questions about costs.
//!
//! This room reads and writes files at paths that it is given. It has no terminal, no environment, no clock for people and no
//! network; the one exception is [`datasets::fetch`](fn@datasets::fetch), which starts the system's `curl`. A run is watched,
//! and stopped, through a [`RunObserver`].

pub mod account;
mod agreement;
mod chart;
mod check;
mod clock;
pub mod codes;
pub mod columns;
mod coverage;
pub mod curves;
mod data;
pub mod datasets;
mod dealt;
pub mod digits;
pub mod draws;
mod earlier;
mod engine;
mod epsilon_steps;
mod error;
mod expected_intervals;
pub mod export;
mod fault;
mod figure;
mod fit_results;
mod forecast;
mod guidance;
pub mod histogram;
mod init;
pub mod json_schema;
mod keys;
mod kind;
mod labels;
mod load;
mod meant;
mod observer;
mod own_column;
mod own_table;
mod pairs;
mod partition;
mod party_name;
mod plain;
mod posterior;
mod predict;
mod predictor;
pub mod reference;
mod regret;
mod reproduce;
mod run;
pub mod run_comparison;
mod run_results;
mod sample;
mod schema_rows;
mod served;
mod short;
mod simulator;
mod sites;
mod state;
mod store;
mod summary;
mod synthetic;
mod tables;
mod typed;
mod unroll;
mod unzipped;
mod warning_codes;
pub mod warnings;
pub mod words;

pub use agreement::{Agreement, differing};
pub use chart::{Chart, DrawsChart, HeatChart, Quantity, RunChart, Traced, traced};
pub use check::Check;
pub use coverage::{CoverageCell, CoverageShare, JUDGED, coverage_cells, coverage_count};
pub use data::{Data, DeclaredRows, ScoresIn};
pub use earlier::study_text;
pub use engine::{Predicted, Predictions};
pub use epsilon_steps::{EpsilonStep, epsilon_steps, steps_count};
pub use error::{ROOM, StudyError, is_full};
pub use fault::{Fault, Faults};
pub use figure::{Figure, FigurePoint, FigureScore, Line};
pub use fit_results::{FIT, FIT_SCHEMA, FitDraws, FitLifetime, FitPrivacy, FitResults};
pub use forecast::Forecast;
pub use inference::results::Results;
pub use init::{Skeleton, SkeletonRequest, init};
pub use keys::STUDY_KEYS;
pub use kind::{StudyKind, not_for};
pub use load::{Folders, Loaded};
pub use meant::{Study, TableColumn};
pub use observer::{Piece, RunObserver};
pub use party_name::PartyName;
pub use posterior::SCHEMA as POSTERIOR_SCHEMA;
pub use posterior::{Intercepts, Marginals, OwnIntercept, Posterior, RELEASED_BY, levels, stored_model};
pub use regret::{Regret, RegretCell, regret_cells};
pub use reproduce::{Cell, DIVERGENCE, cells, remarks, written};
pub use run::{Made, read_results};
pub use run_results::RunResults;
pub use sample::{DIAGNOSTICS, Sampled, sample_run};
pub use served::{Served, ServedSite};
pub use simulator::marginals;
pub use store::{EXPORTED, REVISION, file_name, unfinished, write_whole};
pub use tables::{FEDERATION_DEMO, TABLES};
pub use typed::ShownTable;
pub use unzipped::unzipped;

pub(crate) use fault::StudyText;
pub(crate) use meant::{check_name, check_seeds, check_version};
