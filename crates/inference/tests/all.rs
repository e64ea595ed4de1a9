//! Every file of tests, as one program: what they share is built and linked once.

mod common;
#[allow(dead_code)] // its main and what only its main uses
#[path = "../examples/fit_correction.rs"]
mod fit_correction;

mod baselines;
mod chains;
mod conjugate;
mod conjugate_families;
mod correction;
mod costs;
mod descriptions;
mod diagnostics;
mod discrete;
mod findings;
mod global_vi_at_clients;
mod histogram;
mod laws;
mod levels;
mod levels_classes;
mod levels_coverage;
mod lying_descriptions;
mod mutants;
mod noise_aware;
mod own_sampler;
mod persons;
mod priors;
mod questions;
mod record_play;
mod seeded;
mod site_intercept;
mod site_promises;
mod statistics;
mod taint;
mod warnings;
