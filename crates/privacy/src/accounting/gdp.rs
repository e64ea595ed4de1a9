//! Gaussian differential privacy: exact for Gaussian noise, one number μ whose squares add up.
//!
//! Unsampled Gaussian noise composes to Gaussian noise, so its δ has a closed form and nothing is lost. It is the exact answer that
//! other accountants are compared with, and a filter for adaptively chosen Gaussian releases.

use super::composition::pure_epsilon;
use super::{AboutAccountant, Accountant, Bounds, Interval, check_one_relation};
use crate::{Delta, Epsilon, Event, Mechanism, PrivacyError, Sampling};

/// μ-GDP (Dong, Roth, Su 2022): T steps of Gaussian noise of multiplier z have μ² = T/z², and nothing is lost.
///
/// Supports Gaussian noise without sampling, exactly from both sides; and mechanisms with a pure ε, from above:
/// Laplace noise, randomised response, finite pairs, (ε, 0) mechanisms.
/// Does not support: sampling (the central limit theorem for sampled Gaussian noise is an approximation, not a bound);
/// discrete Gaussian noise, which is not dominated by a Gaussian of the same z; (ε, δ) mechanisms; δ = 0.
///
/// # Examples
///
/// ```
/// use privacy::accounting::gdp::Gdp;
/// use privacy::{Accountant, Adjacency, Delta, Event, NoiseMultiplier, Steps};
///
/// let plan = [Event::gaussian(NoiseMultiplier::new(8.0)?, Adjacency::Substitute, Steps::new(10)?)];
/// let epsilon = Gdp.epsilon(&plan, Delta::new(1e-5)?)?;
/// assert!(epsilon.lower > 1.4 && epsilon.relative_width() < 1e-9);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gdp;

/// μ² of a plan, and whether its ends are both certified.
struct MuSquared {
    square: Interval,
    exact: bool,
}

/// μ² of the plan: squares add up (Dong, Roth, Su 2022, Corollary 3.3).
fn total(plan: &[Event]) -> Result<MuSquared, PrivacyError> {
    check_one_relation(plan)?;
    let mut total = MuSquared { square: Interval::exact(0.0), exact: true };
    for event in plan {
        let steps = Interval::exact(event.steps().get() as f64);
        let square = match (event.mechanism(), event.sampling().rate() >= 1.0) {
            (Mechanism::Gaussian { noise_multiplier: z }, true) => {
                Interval::exact(1.0) / (Interval::exact(z.get()) * Interval::exact(z.get()))
            }
            (_, true) => {
                total.exact = false;
                let mu = pure_epsilon(event)?.and_then(mu_of_pure).ok_or_else(|| refuse(event))?;
                Interval::exact(mu) * Interval::exact(mu)
            }
            _ => return Err(refuse(event)),
        };
        total.square = total.square + steps * square;
    }
    Ok(total)
}

/// μ² of a plan, from above.
pub fn mu_squared(plan: &[Event]) -> Result<f64, PrivacyError> {
    Ok(total(plan)?.square.hi)
}

/// A refusal, with the reason that applies to the sampling of the event.
fn refuse(event: &Event) -> PrivacyError {
    let hint = match event.sampling() {
        Sampling::None => "it supports Gaussian noise and mechanisms with a pure ε; use `pld`, `rdp` or `zcdp`",
        _ => "the central limit theorem for sampled noise is an approximation, not a bound: use `pld` or `rdp`",
    };
    PrivacyError::Unsupported { accountant: "gdp", event: event.to_string(), hint }
}

/// μ with which every ε-DP mechanism is μ-GDP: μ = −2Φ⁻¹(1/(1 + e^ε)), rounded up; `None` above ε = 700.
///
/// The trade-off curve of ε-DP has its corner at (c, c), c = 1/(1 + e^ε), and is linear on both sides of it; that of
/// μ-GDP is convex, ends in the same points and meets the diagonal at Φ(−μ/2). So it lies below as soon as
/// Φ(−μ/2) ≤ c (Dong, Roth, Su 2022, section 2).
fn mu_of_pure(epsilon: f64) -> Option<f64> {
    if epsilon > 700.0 {
        return None;
    }
    let corner = (Interval::exact(1.0) / (Interval::exact(1.0) + Interval::exact(epsilon).exp())).lo;
    let enough = |mu: f64| Interval::exact(-0.5 * mu).phi().hi <= corner;
    Some(smallest(&enough, 80.0))
}

/// Smallest float found between 0 and `high` with the monotone property, which holds at `high`.
fn smallest(holds: &dyn Fn(f64) -> bool, mut high: f64) -> f64 {
    let mut low = 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) (Balle, Wang 2018, Theorem 8; Dong, Roth, Su 2022, Corollary 2.13).
pub(crate) fn gaussian_delta(square: Interval, epsilon: f64) -> Interval {
    let (mu, epsilon) = (square.sqrt(), Interval::exact(epsilon));
    let (ratio, half) = (epsilon / mu, mu * Interval::exact(0.5));
    let first = (half - ratio).phi();
    let difference = first - epsilon.exp() * (-(half + ratio)).phi();
    Interval::new(difference.lo, difference.hi.min(first.hi)).clamp_positive()
}

/// ε(δ), by bisection on certified signs: above the upper end δ(ε) is under δ for certain, below the lower end over it.
pub(crate) fn gaussian_epsilon(square: Interval, delta: f64) -> Result<Bounds, PrivacyError> {
    let mut high = 1.0;
    while gaussian_delta(square, high).hi > delta {
        high *= 2.0;
        if high > 1e30 {
            return Err(PrivacyError::Uncertified {
                accountant: "gdp",
                why: format!("δ = {delta} is too small for the arithmetic"),
                hint: "choose a larger δ, or use `pld`",
            });
        }
    }
    let upper = smallest(&|epsilon| gaussian_delta(square, epsilon).hi <= delta, high);
    let lower = smallest(&|epsilon| gaussian_delta(square, epsilon).lo < delta, high);
    let at_zero = gaussian_delta(square, 0.0);
    Ok(Bounds::between(
        if at_zero.lo < delta { 0.0 } else { lower.next_down() },
        if at_zero.hi <= delta { 0.0 } else { upper },
    ))
}

/// Keeps the lower end only where it was proved.
fn ends(bounds: Bounds, exact: bool) -> Bounds {
    if exact { bounds } else { Bounds::at_most(bounds.upper) }
}

impl Accountant for Gdp {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: "gdp",
            method: "Gaussian differential privacy",
            use_for: "exact for unsampled Gaussian noise",
            published_only: false,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let total = total(plan)?;
        let delta = super::rdp::positive_delta("gdp", delta)?;
        Ok(ends(gaussian_epsilon(total.square, delta.get())?, total.exact))
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let total = total(plan)?;
        let delta = gaussian_delta(total.square, epsilon.get());
        Ok(ends(Bounds::between(delta.lo, delta.hi).at_most_one(), total.exact))
    }

    fn two_sided(&self, plan: &[Event]) -> bool {
        plan.iter().all(|event| matches!(event.mechanism(), Mechanism::Gaussian { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_epsilon_are_certified_and_close() {
        for (mu, delta) in [(1.0, 1e-5), (0.01, 1e-9), (10.0, 1e-12), (3.0, 0.3), (1e-5, 1e-7)] {
            let square = Interval::exact(mu) * Interval::exact(mu);
            let bounds = gaussian_epsilon(square, delta).unwrap();
            assert!(gaussian_delta(square, bounds.upper).hi <= delta);
            assert!(gaussian_delta(square, bounds.lower).lo >= delta);
            assert!(bounds.relative_width() < 1e-6, "{bounds:?}");
        }
    }

    #[test]
    fn a_large_delta_costs_nothing() {
        let bounds = gaussian_epsilon(Interval::exact(1e-4), 0.9).unwrap();
        assert_eq!(bounds, Bounds::ZERO);
    }

    #[test]
    fn pure_mechanisms_meet_their_corner() {
        for epsilon in [0.01, 1.0, 5.0, 600.0] {
            let mu = mu_of_pure(epsilon).unwrap();
            let corner = 1.0 / (1.0 + f64::exp(epsilon));
            let reached = libm::erfc(0.5 * mu * std::f64::consts::FRAC_1_SQRT_2) * 0.5;
            assert!(reached <= corner * (1.0 + 1e-12) && (reached / corner - 1.0).abs() < 1e-9, "{epsilon}");
            let one = Interval::exact(1.0);
            let certified = one / (one + Interval::exact(epsilon).exp());
            assert!(Interval::exact(-0.5 * mu).phi().hi <= certified.lo, "{epsilon}: certified from above");
        }
        assert_eq!(mu_of_pure(701.0), None);
    }
}
