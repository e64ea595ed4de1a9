//! Every file of tests that needs no program of its own, as one: what they share is built and linked once.

#[path = "common/batches.rs"]
mod batches;
mod common;
#[path = "common/rounded_gaussian.rs"]
mod rounded_gaussian;
#[path = "common/statistics.rs"]
mod statistics;
#[path = "common/sums.rs"]
mod sums;

mod barker;
mod barker_gate;
mod barker_lemmas;
mod classic_golden;
mod contour;
mod findings;
mod gate;
mod golden;
mod laws;
mod ledger;
mod noise_statistics;
mod orthant;
mod pld;
mod portfolio;
mod record_play;
mod secure_sum;
mod secure_sum_faults;
mod secure_sum_findings;
mod secure_sum_refusals;
mod secure_sum_schedules;
mod shuffle;
mod special;
