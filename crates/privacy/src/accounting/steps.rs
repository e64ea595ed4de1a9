//! The most steps that stay within (ε, δ).
//!
//! The question of a study that has its noise and asks how long it may run. Like calibration, it relies on monotonicity alone.

use super::Accountant;
use crate::{Delta, Epsilon, Event, PrivacyError, Steps};

/// True if the plan is certified to be within (ε, δ).
///
/// Where ε at this δ is not found, δ at this ε may be: no root needs to be looked for. A plan of which neither is certified
/// counts as too dear.
pub fn is_within(
    accountant: &dyn Accountant,
    plan: &[Event],
    epsilon: Epsilon,
    delta: Delta,
) -> Result<bool, PrivacyError> {
    match accountant.epsilon(plan, delta) {
        Err(PrivacyError::Uncertified { .. }) => match accountant.delta(plan, epsilon) {
            Err(PrivacyError::Uncertified { .. }) => Ok(false),
            found => Ok(found?.upper <= delta.get()),
        },
        found => Ok(found?.upper <= epsilon.get()),
    }
}

/// Largest number of steps that is tried.
const MOST_STEPS: u64 = 1_000_000_000_000;

/// The largest T, up to 10^12, whose *upper* ε is at most the target.
///
/// `plan_of` maps T to the plan it would give; more steps must not cost less. A cost that the accountant refuses to
/// certify (`Uncertified`) counts as too large, except at T = 1, where the refusal is passed on. Error if one step is
/// too many.
///
/// # Examples
///
/// ```
/// use privacy::accounting::{Pld, steps::steps};
/// use privacy::{Adjacency, Delta, Epsilon, Event, NoiseMultiplier};
///
/// let z = NoiseMultiplier::new(12.0)?;
/// let most = steps(&Pld, &|t| Ok(vec![Event::gaussian(z, Adjacency::Substitute, t)]), Epsilon::new(1.0)?, Delta::new(1e-5)?)?;
/// assert!((9..=12).contains(&most.get()));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
///
/// # Errors
///
/// [`PrivacyError::Budget`] if one step is too many, and errors of `plan_of` or of the accountant.
pub fn steps(
    accountant: &dyn Accountant,
    plan_of: &dyn Fn(Steps) -> Result<Vec<Event>, PrivacyError>,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Steps, PrivacyError> {
    let one = plan_of(Steps::ONE)?;
    let cost = accountant.epsilon(&one, delta)?.upper;
    if cost > epsilon.get() {
        return Err(PrivacyError::Budget {
            event: one.last().map_or_else(String::new, Event::to_string),
            cost: format!("ε = {cost} at δ = {delta}"),
            granted: format!("ε = {epsilon}"),
            fits: 0,
        });
    }
    let fits = |t: u64| is_within(accountant, &plan_of(Steps::new(t)?)?, epsilon, delta);
    let (mut most, mut too_many) = (1, 2);
    while fits(too_many)? {
        most = too_many;
        if most == MOST_STEPS {
            return Steps::new(most);
        }
        too_many = (2 * too_many).min(MOST_STEPS);
    }
    while too_many - most > 1 {
        let middle = most + (too_many - most) / 2;
        if fits(middle)? { most = middle } else { too_many = middle }
    }
    Steps::new(most)
}
