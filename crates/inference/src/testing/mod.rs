//! Laws that every method and every model inherits, as functions: a method or a model of one's own is tried with the same ones
//! as those of this crate.
//!
//! [`laws`] tries all of them; each is also there by itself. They run on small made-up federations of three sites, with two
//! numbers, a category of two levels and an intercept as inputs, and outcomes 0 or 1. A law that does not hold panics, with the
//! name of the method in its message. What a law needs of a method, it finds in the method's own description.
//!
//! # Examples
//! ```
//! use inference::describe::Registry;
//! use inference::{Logistic, Method, Model, testing};
//! use std::sync::Arc;
//!
//! let text = r#"
//!     name = "perturb"
//!     algorithm = "pvi"
//!     solver = "perturb"
//!     rounds = 2
//!     damping = 0.5
//!     local = { optimiser = "natural", steps = 1, learning_rate = 1.0 }
//!     privacy = { unit = "example", adjacency = "substitute", epsilon = 2.0, delta = 1e-5, clip = 1.0 }
//! "#;
//! let method = Method::read(&text.parse().unwrap(), &Registry::standard()).unwrap();
//! let model: Arc<dyn Model> = Arc::new(Logistic::default());
//! testing::stays_within_its_sensitivity(&method, &model, 5);
//! ```

mod altered;
mod descriptions;
mod factors;
mod federation;
mod questions;
mod record_play;
mod runs;
mod taint;

pub use altered::{Altered, Answering, Folding, Reply, Shutting};
pub use descriptions::releases_what_it_describes;
pub use factors::{has_own_factors, the_total_is_the_sum_of_the_factors, total_is_the_sum_of_factors};
pub use federation::{
    built, person, rng, rows, simulation, site, site_of_persons, site_of_records, sites, uniform, unlimited,
};
pub use questions::{
    first_terms, refuses_other_terms, refuses_questions_before_the_charge, refuses_spoilt_questions, reply,
    right_question,
};
pub use record_play::{
    Transcript, Worlds, declared, neighbours_of, play, replaced, small, stays_within_its_sensitivity, strange_row,
};
pub use runs::{
    an_answer_fits_if_it_has_the_shape_that_is_folded, goes_on_after_a_gate_that_shut, is_refused_a_release_short,
    retries_with_other_noise, same_bits_over_the_loopback, same_seed_same_bits, stops_when_the_budget_is_spent,
};
pub use taint::{MARK, Tainted, open_gate, sends_what_its_gate_made, tainted};

use crate::{Method, Model};
use privacy::Adjacency;
use std::sync::Arc;

/// Pairs of neighbouring data sets that [`laws`] plays.
const PAIRS: u64 = 200;

/// Tries every law on a method with a model.
///
/// Neighbouring data sets are played under the method's own relation, and under the other one where a plan allows it.
///
/// # Panics
/// Where a law does not hold.
pub fn laws(method: &Method, model: &Arc<dyn Model>) {
    same_seed_same_bits(method, model);
    same_bits_over_the_loopback(method, model);
    releases_what_it_describes(method, model);
    the_total_is_the_sum_of_the_factors(method, model);
    an_answer_fits_if_it_has_the_shape_that_is_folded(method, model);
    refuses_spoilt_questions(method, model);
    if method.promise.is_none() {
        return;
    }
    is_refused_a_release_short(method, model);
    refuses_other_terms(method, model);
    goes_on_after_a_gate_that_shut(method, model);
    retries_with_other_noise(method, model);
    stops_when_the_budget_is_spent(method, model);
    sends_what_its_gate_made(method, model);
    for method in relations(method, model) {
        stays_within_its_sensitivity(&method, model, PAIRS);
    }
}

/// The method as it is, and under the other neighbouring relation where a plan allows that.
fn relations(method: &Method, model: &Arc<dyn Model>) -> Vec<Method> {
    let under = |adjacency: Adjacency| {
        let promise = method.promise.map(|promise| crate::settings::Promise { adjacency, ..promise });
        Method { name: format!("{}, {adjacency:?}", method.name), promise, ..method.clone() }
    };
    let own = method.promise.map(|promise| promise.adjacency);
    let all = [Adjacency::Substitute, Adjacency::AddRemove].map(under).into_iter();
    let (sites, test) = (small(), rows(2, 1));
    let planned = |method: &Method| simulation(method, model, &sites, &test).build().is_ok();
    all.filter(|method| method.promise.map(|promise| promise.adjacency) == own || planned(method)).collect()
}
