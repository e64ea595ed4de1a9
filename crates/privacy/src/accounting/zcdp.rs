//! Zero-concentrated differential privacy: one number ρ that adds up.
//!
//! One number for all orders at once: simple to add up, exact for the shape of Gaussian noise, and valid for discrete Gaussian noise
//! in any dimension. It takes no advantage of sampling.

use super::composition::pure_epsilon;
use super::rdp::{Conversion, Orders, answered, gaussian::concentration, positive_delta};
use super::{AboutAccountant, Accountant, Bounds, Interval, check_one_relation};
use crate::{Delta, Epsilon, Event, Mechanism, PrivacyError, Rho};

/// ρ-zCDP (Bun, Steinke 2016, Definition 1.1): D_α ≤ ρα for all α > 1; ρ adds up (their Lemma 1.7).
///
/// Supports Gaussian and discrete Gaussian noise and sums of discrete Gaussian shares, unsampled, and mechanisms with a
/// pure ε at ρ = ½ε² (their Proposition 1.4): Laplace noise, randomised response, finite pairs, (ε, 0) mechanisms.
/// Does not support: sums of Skellam shares, whose bound is one of integer orders and no line in α; sampling, which zCDP
/// does not amplify; (ε, δ) mechanisms; δ = 0; an answer without noise.
///
/// Converted to (ε, δ) at the best real order (Canonne, Kamath, Steinke 2020, Proposition 12). ρ may be spent
/// adaptively up to a fixed total (Feldman, Zrnic 2021). Only the upper end is certified: the lower end is 0.
///
/// # Examples
///
/// ```
/// use privacy::accounting::zcdp::Zcdp;
/// use privacy::{Accountant, Adjacency, Delta, Event, NoiseMultiplier, Steps};
///
/// let plan = [Event::gaussian(NoiseMultiplier::new(8.0)?, Adjacency::Substitute, Steps::new(10)?)];
/// assert!(Zcdp.epsilon(&plan, Delta::new(1e-5)?)?.upper > 1.6);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Zcdp;

/// ρ of a plan, from above.
///
/// # Errors
///
/// [`PrivacyError::Unsupported`] for sampled events and others without a ρ.
pub fn rho(plan: &[Event]) -> Result<Rho, PrivacyError> {
    check_one_relation(plan)?;
    let mut total = Interval::exact(0.0);
    for event in plan {
        total = total + Interval::exact(step(event)?) * Interval::exact(event.steps().get() as f64);
    }
    Rho::new(total.hi.max(0.0))
}

/// ρ of one step, from above.
fn step(event: &Event) -> Result<f64, PrivacyError> {
    if let Some(rho) = concentration(event) {
        return Ok(rho);
    }
    if let (Some(epsilon), true) = (pure_epsilon(event)?, event.sampling().rate() >= 1.0) {
        return Ok((Interval::exact(epsilon) * Interval::exact(epsilon) * Interval::exact(0.5)).hi);
    }
    let hint = match event.mechanism() {
        Mechanism::SkellamSum { .. } => {
            "the theorem on Skellam noise holds at integer orders only and gives no single ρ: use `rdp`"
        }
        _ => "sampled batches and (ε, δ) mechanisms are accounted by `pld`, sampled Gaussian noise also by `rdp`",
    };
    Err(PrivacyError::Unsupported { accountant: "zcdp", event: event.to_string(), hint })
}

/// ε of ρ-zCDP at δ > 0, from above: the best real order of Canonne, Kamath, Steinke 2020, Proposition 12.
pub fn epsilon_at(rho: Rho, delta: Delta) -> Result<f64, PrivacyError> {
    let delta = positive_delta("zcdp", delta)?;
    Ok(answered("zcdp", Orders::Continuous.epsilon(&curve(rho), Conversion::Canonne2020, delta))?.upper)
}

/// α ↦ (α−1)·ρα, from above.
fn curve(rho: Rho) -> impl Fn(f64) -> f64 {
    move |order| (Interval::exact(rho.get()) * Interval::exact(order) * Interval::exact(order - 1.0)).hi
}

impl Accountant for Zcdp {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: "zcdp",
            method: "zero-concentrated differential privacy",
            use_for: "for unsampled noise, discrete noise included",
            published_only: false,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        Ok(Bounds::at_most(epsilon_at(rho(plan)?, delta)?))
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let curve = curve(rho(plan)?);
        answered("zcdp", Orders::Continuous.delta(&curve, Conversion::Canonne2020, epsilon))
    }

    fn two_sided(&self, _: &[Event]) -> bool {
        false
    }
}
