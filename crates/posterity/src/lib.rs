//! Posterity learns one Bayesian posterior from data that never leave their owners.
//!
//! Hospitals, banks or devices each keep their rows. Every number that leaves a site has passed a gate that adds noise, and its
//! cost stands in that site's own ledger. This crate is what a Rust program imports; it has no logic of its own.
//!
//! | you want to | use |
//! |---|---|
//! | read and check a study | [`Study::open`], [`Study::read`], [`Study::check`] |
//! | know what it will cost, before a row is read | [`Study::plan`] |
//! | play it in one process, watch it, stop it, go on | [`Study::load`], [`Loaded::simulate`], [`RunObserver`] |
//! | fit one owner's table, with noise that protects its rows | `federation::fit` |
//! | look at what came out | [`Results`], [`report::html`], [`report::table`] |
//! | predict new rows | [`Posterior::open`], [`Posterior::predict`] |
//! | know what events cost, or how much noise a budget needs | [`account`], [`Event`] |
//! | know what data sets there are | [`datasets`] |
//! | write a method or a model of your own | [`inference`]; `examples/own_method.rs`, `examples/own_model.rs` |
//! | try the laws that every method inherits on it | `testing`, with the feature of that name |
//! | see what may leave, and at what cost | [`privacy`] |
//! | run sites, compute nodes and a server | `federation`, with the feature of that name, which is on by default |
//!
//! # Examples
//!
//! Four hospitals learn who has heart disease.
//!
//! ```
#![doc = include_str!("../examples/heart.rs")]
//! ```
//!
//! # What this is not
//!
//! A simulation is not a release: its noise follows from a seed, so that its results protect nobody. Agents at real sites draw
//! noise from their operating systems and charge ledgers on their disks; `posterity serve` and `posterity agent` run them.

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

#[cfg(feature = "federation")]
pub use federation;
pub use inference;
#[cfg(feature = "testing")]
pub use inference::testing;
pub use privacy;
pub use report;

pub use inference::results::{MethodResult, Summary};
pub use privacy::{
    Accountant, Adjacency, Adversary, Bounds, Delta, Epsilon, Event, Gamma, Mechanism, NoiseMultiplier, NormBound,
    PrivacyError, Sampling, SamplingRate, Steps, Unit,
};
pub use study::{
    Check, Fault, Folders, Forecast, Loaded, Made, Piece, Posterior, Predicted, Predictions, Results, RunObserver,
    Sampled, Skeleton, SkeletonRequest, Study, StudyError, StudyKind, account, codes, curves, datasets, digits, draws,
    histogram, init, read_results,
};
