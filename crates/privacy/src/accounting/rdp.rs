//! The Rényi accountant: divergences of every order add up, and the best order gives ε.
//!
//! Rényi divergence adds up over steps, for each order by itself, and a filter may stop at a fixed order. A conversion turns the curve
//! into (ε, δ). Curves of single events are in `rdp/`; formulas and sources are in `docs/maths/renyi.md`.

mod barker;
mod convert;
mod curve;
mod enclosed;
mod fixed_pair;
pub(crate) mod gaussian;
mod mixture;
pub(crate) mod poisson;
mod skellam;
pub mod without_replacement;

pub use convert::Conversion;
pub(crate) use convert::Orders;

use super::{AboutAccountant, Accountant, Bounds, Interval, check_one_relation};
use crate::{Delta, Epsilon, Event, Order, PrivacyError};
use curve::RenyiCurve;

/// Rényi differential privacy, at all real orders unless a list is given.
///
/// Supports Gaussian noise without sampling, with Poisson batches under both relations (quadrature of the dominating
/// pair, with its error added) and with batches of fixed size (the same, or Wang et al. 2019 where less); discrete Gaussian noise and its sums;
/// sums of Skellam shares (at integer orders, with chords between them); Barker tests (`docs/maths/dp-mcmc.md`, Theorem 1; in batches by Wang et al. 2019); Laplace noise, randomised response, finite pairs and pure (ε, 0) mechanisms;
/// shuffles whose largest loss is finite (clones, and randomised response against all but the strong adversary).
/// Does not support: sampled Laplace noise; (ε, δ) mechanisms and finite pairs with impossible outcomes, whose
/// divergence is infinite; δ = 0; an answer without noise.
///
/// The best order is chosen for the plan as a whole. Only the upper end is certified: the lower end is 0.
///
/// # Examples
///
/// ```
/// use privacy::accounting::rdp::{Conversion, Rdp};
/// use privacy::{Accountant, Adjacency, Delta, Event, NoiseMultiplier, Order, Steps};
///
/// let plan = [Event::gaussian(NoiseMultiplier::new(8.0)?, Adjacency::Substitute, Steps::new(10)?)];
/// let delta = Delta::new(1e-5)?;
/// let best = Rdp::default().epsilon(&plan, delta)?.upper;
/// let listed = Rdp::with_orders(vec![Order::new(8.0)?], Conversion::Canonne2020).epsilon(&plan, delta)?.upper;
/// assert!(best <= listed);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rdp {
    orders: Orders,
    conversion: Conversion,
}

impl Rdp {
    /// All real orders, with the given conversion.
    pub fn with_conversion(conversion: Conversion) -> Self {
        Self { orders: Orders::Continuous, conversion }
    }

    /// The listed orders only, with the given conversion.
    pub fn with_orders(orders: Vec<Order>, conversion: Conversion) -> Self {
        Self { orders: Orders::Listed(orders), conversion }
    }
}

/// Upper bound of the Rényi divergence of order α between the event's neighbours, for one step.
///
/// α: order, over one. The larger of both directions.
///
/// # Errors
///
/// [`PrivacyError::Unsupported`] for events whose divergence is infinite or not known.
pub fn renyi_divergence(event: &Event, order: Order) -> Result<f64, PrivacyError> {
    let (forward, backward) = RenyiCurve::both(event)?;
    let at = |curve: &RenyiCurve| curve.cumulant(order.get());
    let cumulant = at(&forward).max(backward.as_ref().map_or(0.0, at));
    Ok((Interval::exact(cumulant) / Interval::exact(order.get() - 1.0)).hi)
}

/// A plan's curves in one direction, with the number of steps of each.
type CurveComposition = Vec<(RenyiCurve, f64)>;

/// The plan in its two directions, or in one where both are the same.
fn compositions(plan: &[Event]) -> Result<Vec<CurveComposition>, PrivacyError> {
    check_one_relation(plan)?;
    let (mut forward, mut backward, mut differ) = (CurveComposition::new(), CurveComposition::new(), false);
    for event in plan {
        let (first, second) = RenyiCurve::both(event)?;
        let steps = event.steps().get() as f64;
        differ |= second.is_some();
        backward.push((second.unwrap_or_else(|| first.clone()), steps));
        forward.push((first, steps));
    }
    Ok(if differ { vec![forward, backward] } else { vec![forward] })
}

/// Upper bound of the sum over all steps of a number of each curve.
fn over_steps(composition: &CurveComposition, of: impl Fn(&RenyiCurve) -> f64) -> f64 {
    let add =
        |sum: Interval, (curve, steps): &(RenyiCurve, f64)| sum + Interval::exact(of(curve)) * Interval::exact(*steps);
    composition.iter().fold(Interval::exact(0.0), add).hi
}

/// Upper bound of (α−1)·D_α of the whole plan: divergences add up (Mironov 2017, Proposition 1).
fn total(composition: &CurveComposition, order: f64) -> f64 {
    over_steps(composition, |curve| curve.cumulant(order))
}

/// The same of all outcomes but those that were cut in some step. Their probability is at most `cut` of the plan, and is
/// added to δ: H_α of the product is at most that of the kept outcomes plus it, and the conversions hold outcome by outcome,
/// hence for measures of any mass. At large orders what was cut would otherwise outweigh all that was kept.
fn kept(composition: &CurveComposition, order: f64) -> f64 {
    over_steps(composition, |curve| curve.kept(order))
}

/// Probability of what `kept` leaves out; 0 for most plans.
fn cut(composition: &CurveComposition) -> f64 {
    composition.iter().map(|(curve, steps)| curve.cut() * steps).sum::<f64>() * (1.0 + 1e-12)
}

/// δ = 0 asks for a bound on the largest loss, which divergences of finite order do not give.
pub(crate) fn positive_delta(accountant: &'static str, delta: Delta) -> Result<Delta, PrivacyError> {
    if delta.get() > 0.0 {
        return Ok(delta);
    }
    Err(PrivacyError::Uncertified {
        accountant,
        why: "δ is 0".into(),
        hint: "choose δ greater than 0; for mechanisms with a pure ε, `basic` reports it at δ = 0",
    })
}

/// The answer, unless no order gave one.
pub(crate) fn answered(accountant: &'static str, upper: f64) -> Result<Bounds, PrivacyError> {
    if upper.is_finite() {
        return Ok(Bounds::at_most(upper));
    }
    Err(PrivacyError::Uncertified {
        accountant,
        why: "no order gives a finite bound".into(),
        hint: "raise the noise multiplier or δ, or use `pld`",
    })
}

impl Accountant for Rdp {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: "rdp",
            method: "Rényi divergences",
            use_for: "where pld refuses, or to compare with papers that use it",
            published_only: false,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let compositions = compositions(plan)?;
        let delta = positive_delta("rdp", delta)?;
        let of = |c: &CurveComposition| {
            let cut = cut(c);
            match Delta::new((delta.get() - cut).next_down()) {
                Ok(left) if cut > 0.0 && cut < 0.5 * delta.get() => {
                    self.orders.epsilon(&|order| kept(c, order), self.conversion, left)
                }
                _ => self.orders.epsilon(&|order| total(c, order), self.conversion, delta),
            }
        };
        answered("rdp", compositions.iter().map(of).fold(0.0, f64::max))
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let of = |c: &CurveComposition| {
            let delta = self.orders.delta(&|order| kept(c, order), self.conversion, epsilon);
            let cut = cut(c);
            if cut > 0.0 { (delta + cut).next_up().min(1.0) } else { delta }
        };
        answered("rdp", compositions(plan)?.iter().map(of).fold(0.0, f64::max))
    }

    fn two_sided(&self, _: &[Event]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Mechanism, Sampling, Steps, Unit};

    /// Where ε is so large that what was kept costs nothing, what was cut is still a part of δ.
    #[test]
    fn what_was_cut_is_a_part_of_delta_at_every_epsilon() {
        let (users, local_epsilon) = (Steps::new(1000).unwrap(), Epsilon::new(2.0).unwrap());
        let mechanism = Mechanism::ShuffleClones { users, local_epsilon };
        let steps = Steps::new(3).unwrap();
        let event = Event::new(mechanism, Adjacency::Substitute, Unit::Example, Sampling::None, steps).unwrap();
        let plan = [event];
        let cut = cut(&compositions(&plan).unwrap()[0]);
        let delta = Rdp::default().delta(&plan, Epsilon::new(100.0).unwrap()).unwrap().upper;
        assert!(cut > 0.0 && delta >= cut && delta < 2.0 * cut, "{delta} of {cut}");
    }
}
