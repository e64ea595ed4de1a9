//! The classical Gaussian mechanism, for ε under 1 and one release, by name only.
//!
//! Textbooks print this formula, and tools still use it outside its range. It is kept for comparison and refuses what the theorem
//! does not cover.

use super::{AboutAccountant, Accountant, Bounds, Interval, check_one_relation};
use crate::{Delta, Epsilon, Event, Mechanism, NoiseMultiplier, PrivacyError};

/// Dwork, Roth 2014, Theorem A.1 (3.22): z ≥ √(2 log(1.25/δ))/ε gives (ε, δ) for 0 < ε < 1.
///
/// Its proof needs √(2 log(1.25/δ)) ≥ 3/2, so δ ≤ 0.4 here. At ε ≥ 1 it is false for small enough z, and refused.
/// Supports one step of unsampled Gaussian noise. Does not support: anything else; use `gdp`, which is exact.
///
/// # Examples
///
/// ```
/// use privacy::accounting::classical::Classical;
/// use privacy::{Accountant, Adjacency, Delta, Event, NoiseMultiplier, Steps};
///
/// let once = |z| Ok::<_, privacy::PrivacyError>([Event::gaussian(NoiseMultiplier::new(z)?, Adjacency::Substitute, Steps::ONE)]);
/// let delta = Delta::new(1e-5)?;
/// assert!(Classical.epsilon(&once(10.0)?, delta)?.upper < 0.5);
/// assert!(Classical.epsilon(&once(1.0)?, delta).is_err(), "the theorem is false for ε of 1 and more");
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Classical;

/// Up to this δ, √(2 log(1.25/δ)) is at least 3/2, as the proof needs.
const LARGEST_DELTA: f64 = 0.4;

/// z of the only event.
fn multiplier(plan: &[Event]) -> Result<NoiseMultiplier, PrivacyError> {
    check_one_relation(plan)?;
    let refuse = |event: &Event| PrivacyError::Unsupported {
        accountant: "classical",
        event: event.to_string(),
        hint: "it supports one release of unsampled Gaussian noise; use `gdp` or `pld`",
    };
    let steps: u64 = plan.iter().map(|event| event.steps().get()).sum();
    let mut found = Err(PrivacyError::Parameter {
        name: "plan",
        found: "no event".into(),
        expected: "one release of Gaussian noise",
    });
    for event in plan {
        found = match event.mechanism() {
            Mechanism::Gaussian { noise_multiplier } if event.sampling().rate() >= 1.0 && steps == 1 => {
                Ok(*noise_multiplier)
            }
            _ => return Err(refuse(event)),
        };
    }
    found
}

/// A refusal of numbers that the theorem does not cover.
fn outside(why: String) -> PrivacyError {
    PrivacyError::Uncertified { accountant: "classical", why, hint: "use `gdp`, which is exact for every ε and δ" }
}

impl Accountant for Classical {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: "classical",
            method: "the classical Gaussian mechanism, for ε under 1",
            use_for: "to compare with textbooks",
            published_only: true,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let z = multiplier(plan)?;
        if !(delta.get() > 0.0 && delta.get() <= LARGEST_DELTA) {
            return Err(outside(format!("the theorem needs δ over 0 and at most 0.4, not {delta}")));
        }
        let root = (Interval::exact(2.0) * (Interval::exact(1.25) / Interval::exact(delta.get())).ln()).sqrt();
        let epsilon = (root / Interval::exact(z.get())).hi;
        if epsilon < 1.0 {
            return Ok(Bounds::at_most(epsilon));
        }
        Err(outside(format!("the theorem needs ε under 1, and would give {epsilon}")))
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let z = multiplier(plan)?;
        if !(epsilon.get() > 0.0 && epsilon.get() < 1.0) {
            return Err(outside(format!("the theorem needs ε over 0 and under 1, not {epsilon}")));
        }
        let product = Interval::exact(z.get()) * Interval::exact(epsilon.get());
        let delta = (Interval::exact(1.25) * (-(product * product * Interval::exact(0.5))).exp()).hi;
        if delta <= LARGEST_DELTA {
            return Ok(Bounds::at_most(delta));
        }
        Err(outside(format!("the theorem needs δ of at most 0.4, and would give {delta}")))
    }

    fn two_sided(&self, _: &[Event]) -> bool {
        false
    }
}
