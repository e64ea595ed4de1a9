//! The least noise that keeps a plan within (ε, δ).
//!
//! The search trusts no model of the accountant but monotonicity: more noise must not cost more. What it returns was itself
//! accounted and found to be within the budget.

use super::Accountant;
use crate::{Delta, Epsilon, Event, NoiseMultiplier, PrivacyError};

/// Range of noise multipliers, as natural logarithms: 1e-6 to 1e12.
const RANGE: (f64, f64) = (-13.815_510_557_964_274, 27.631_021_115_928_547);

/// Width of log z at which the search stops.
const RESOLUTION: f64 = 1e-9;

/// Most evaluations of the accountant after bracketing.
const MOST_TRIALS: usize = 100;

/// A multiplier that was tried: log z, z, and log(ε/target), infinite where the accountant could not certify a cost.
#[derive(Debug, Clone, Copy)]
struct Trial {
    log: f64,
    z: NoiseMultiplier,
    excess: f64,
}

/// The smallest noise multiplier, to a relative 1e-9, whose *upper* ε is at most the target.
///
/// `plan_of` maps a multiplier to the plan it would give; more noise must not cost more. The multiplier that comes back
/// was itself accounted, and its upper ε is within the target. A cost that the accountant refuses to certify
/// (`Uncertified`) counts as too large; other errors are passed on. Error if no multiplier up to 1e12 suffices.
///
/// # Examples
///
/// ```
/// use privacy::accounting::{Pld, calibrate::calibrate};
/// use privacy::{Adjacency, Delta, Epsilon, Event, NoiseMultiplier, Steps};
///
/// let steps = Steps::new(10)?;
/// let plan = |z: NoiseMultiplier| Ok(vec![Event::gaussian(z, Adjacency::Substitute, steps)]);
/// let z = calibrate(&Pld, &plan, Epsilon::new(1.0)?, Delta::new(1e-5)?)?;
/// assert!((11.0..13.0).contains(&z.get()));
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
///
/// # Errors
///
/// [`PrivacyError::Uncertified`] if no multiplier up to 1e12 suffices, and errors of `plan_of` or of the accountant.
pub fn calibrate(
    accountant: &dyn Accountant,
    plan_of: &dyn Fn(NoiseMultiplier) -> Result<Vec<Event>, PrivacyError>,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<NoiseMultiplier, PrivacyError> {
    let trial = |log: f64| -> Result<Trial, PrivacyError> {
        let z = NoiseMultiplier::new(libm::exp(log).clamp(1e-6, 1e12))?;
        let excess = match accountant.epsilon(&plan_of(z)?, delta) {
            Ok(bounds) if bounds.upper <= epsilon.get() => {
                libm::log(bounds.upper / epsilon.get()).min(-f64::MIN_POSITIVE)
            }
            Ok(bounds) => libm::log(bounds.upper / epsilon.get()),
            // ε was not found; whether it is within the target may be known all the same.
            Err(PrivacyError::Uncertified { .. }) => match accountant.delta(&plan_of(z)?, epsilon) {
                Ok(bounds) if bounds.upper <= delta.get() => -1.0,
                Ok(_) | Err(PrivacyError::Uncertified { .. }) => f64::INFINITY,
                Err(other) => return Err(other),
            },
            Err(other) => return Err(other),
        };
        Ok(Trial { log, z, excess })
    };
    let (low, high) = bracket(&trial)?;
    match (low, high) {
        (_, None) => Err(PrivacyError::Uncertified {
            accountant: accountant.name(),
            why: format!("no noise multiplier up to 1e12 reaches ε = {epsilon} at δ = {delta}"),
            hint: "choose a larger ε or δ, or fewer steps",
        }),
        (None, Some(high)) => Ok(high.z),
        (Some(low), Some(high)) => narrow(&trial, low, high).map(|found| found.z),
    }
}

/// A multiplier that is too small and one that suffices, near each other; either is missing if the range has none.
fn bracket(trial: &dyn Fn(f64) -> Result<Trial, PrivacyError>) -> Result<(Option<Trial>, Option<Trial>), PrivacyError> {
    let (mut low, mut high) = (None, None);
    let (mut log, mut stride) = (0.0_f64, 0.7);
    loop {
        let here = trial(log)?;
        if here.excess < 0.0 {
            high = Some(here)
        } else {
            low = Some(here)
        }
        let at_end = if here.excess < 0.0 { log <= RANGE.0 } else { log >= RANGE.1 };
        if at_end || (low.is_some() && high.is_some()) {
            return Ok((low, high));
        }
        log = (if here.excess < 0.0 { log - stride } else { log + stride }).clamp(RANGE.0, RANGE.1);
        stride *= 2.0;
    }
}

/// False position with the Illinois rule on (log z, log ε): an end that stays twice has its weight halved. A bisection
/// every eighth time, and a probe just inside the bracket once the root is located.
fn narrow(
    trial: &dyn Fn(f64) -> Result<Trial, PrivacyError>,
    mut low: Trial,
    mut high: Trial,
) -> Result<Trial, PrivacyError> {
    let mut last_enough = None;
    for round in 1..=MOST_TRIALS {
        let width = high.log - low.log;
        if width <= RESOLUTION {
            break;
        }
        let secant = low.log + width * low.excess / (low.excess - high.excess);
        let middle = low.log + 0.5 * width;
        let guess = if secant.is_finite() && round % 8 != 0 { secant } else { middle };
        let here = trial(guess.clamp(low.log + 0.4 * RESOLUTION, high.log - 0.4 * RESOLUTION))?;
        let enough = here.excess < 0.0;
        let again = last_enough == Some(enough);
        if enough {
            high = here;
            low.excess *= if again { 0.5 } else { 1.0 };
        } else {
            low = here;
            high.excess *= if again { 0.5 } else { 1.0 };
        }
        last_enough = Some(enough);
    }
    Ok(high)
}
