//! The shuffle model: dominating pairs of shuffled reports, written out between two certified laws.
//!
//! All three pairs have one shape (`fair`): of m messages that are alike, each is a fair coin, except one, which leans
//! to heads under P and to tails under Q. Heads a and tails b = m − a are seen. What differs is the law of m and how
//! far the odd coin leans. Each pair is symmetric: (Q, P) has the same loss. `docs/maths/shuffle.md` has the proofs.

mod clones;
mod fair;
mod randomised_response;
mod tally;

pub(super) use clones::clones;
pub(super) use randomised_response::{strong, weak};

/// The probability that may be cut from each row of outcomes. Even 10⁶ rows cut less than 1e-25 altogether.
const TAIL: f64 = 1e-32;

/// The relative error of an outcome's probability that is the product of binomial ones so many steps from their means,
/// and of one of fair coins that came from its own mean by a recurrence.
///
/// Logarithms of binomial probabilities are right to 3e-14 (tested in `binomial`), and at most five are used. A relative
/// error of 9u in each of the parameters p and 1 − p is worth 18u for each step from the mean; a recurrence adds 3u.
fn rounding(steps: u64, recurrence: u64) -> f64 {
    2e-13 + 2e-15 * steps as f64 + 3.4e-16 * recurrence as f64
}
