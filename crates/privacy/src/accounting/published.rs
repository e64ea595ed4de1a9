//! Bounds as their authors published them, kept under their names for comparison with printed numbers.
//!
//! A bound that is needed only to reproduce one paper's table belongs here. It says `published_only` of itself, and its law tests run
//! like those of every accountant.

mod girgis;

pub use girgis::Girgis2021;

use super::moments::listed;
use super::rdp::without_replacement::{amplified, ln_bound_of_any};
use super::rdp::{Conversion, Orders, answered, gaussian::concentration, positive_delta};
use super::{AboutAccountant, Accountant, Bounds, Interval, check_one_relation};
use crate::{Delta, Epsilon, Event, Mechanism, PrivacyError, Sampling};

/// The name under which it is found.
const NAME: &str = "barker2019";

/// Largest order that is tried, where the theorem has no end.
const LARGEST_ORDER: u64 = 1024;

/// Differentially private MCMC as Heikkilä, Jälkö, Dikmen, Honkela 2019 (NeurIPS) account for it.
///
/// All data (Theorem 1, Corollary 1): D_α = 2αB²/C a step for log-likelihood ratios within B and noise of variance C, which
/// is Gaussian noise of multiplier √C/2B. Batches (Theorem 2, Corollary 2): `theorem_2`, amplified by the theorem of Wang et al. 2019, at
/// integer orders under b/5. ε by the conversion of Mironov 2017, as printed.
///
/// The theorem is for L = 1. A larger L adds independent noise of variance L − 1 to the release, which is post-processing, so it
/// holds there too; it takes no advantage of it. `rdp` and `pld` are never worse (`docs/maths/dp-mcmc.md`).
///
/// Does not support: any other mechanism; batches under 11 rows; δ = 0. Only the upper end is certified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Barker2019 {
    conversion: Conversion,
}

impl Default for Barker2019 {
    fn default() -> Self {
        Self::with_conversion(Conversion::Mironov2017)
    }
}

impl Barker2019 {
    /// The same divergences with another conversion than the paper's.
    pub fn with_conversion(conversion: Conversion) -> Self {
        Self { conversion }
    }
}

/// (α−1)·ε(α) with ε(α) = 5/2b + log(2b/(b − 5α))/2(α−1) + 2α/(b − 5α), for α < b/5.
///
/// Theorem 2, eq. 21. The logarithm is of 2/(1 − 5α/b): the paper bounds one variance by 2 and the other from below, although
/// they differ by less than 5/b; that is what makes it loose.
fn theorem_2(batch: u64, order: u64) -> Interval {
    let (exact, b, alpha) = (Interval::exact, Interval::exact(batch as f64), Interval::exact(order as f64));
    let less = exact((order - 1) as f64);
    let below = b - exact(5.0) * alpha;
    let logarithm = (exact(2.0) * b / below).ln() * exact(0.5);
    less * exact(2.5) / b + logarithm + less * exact(2.0) * alpha / below
}

/// The largest integer order of the event: under b/5 for a Barker test. None if there is none from 2 on, or no theorem.
fn largest_order(event: &Event) -> Option<u64> {
    let largest = match (event.mechanism(), event.sampling()) {
        (Mechanism::BarkerTest { batch, .. }, _) => batch.get().div_ceil(5) - 1,
        (Mechanism::Gaussian { .. }, Sampling::None) => LARGEST_ORDER,
        _ => 0,
    };
    (largest >= 2).then(|| largest.min(LARGEST_ORDER))
}

/// Upper bound of (α−1)·D_α of one step, at an order that the theorem covers: an integer for a Barker test.
fn cumulant(event: &Event, order: f64) -> f64 {
    let rate = event.sampling().rate();
    match (event.mechanism(), concentration(event)) {
        (_, Some(rho)) => (Interval::exact(rho) * Interval::exact(order) * Interval::exact(order - 1.0)).hi,
        (Mechanism::BarkerTest { batch, .. }, _) if rate < 1.0 => {
            amplified(rate, order as u64, &|j| ln_bound_of_any(j, theorem_2(batch.get(), j)))
        }
        (Mechanism::BarkerTest { batch, .. }, _) => theorem_2(batch.get(), order as u64).hi,
        _ => f64::INFINITY,
    }
}

/// α ↦ upper bound of (α−1)·D_α.
type CumulantBound = Box<dyn Fn(f64) -> f64>;

/// The orders of the plan, and its divergences from above: (α−1)·D_α at integer orders that all its events have, or, where there
/// is no Barker test, at all orders.
fn curve(plan: &[Event]) -> Result<(Orders, CumulantBound), PrivacyError> {
    check_one_relation(plan)?;
    let mut largest = LARGEST_ORDER;
    for event in plan {
        largest = largest.min(largest_order(event).ok_or_else(|| PrivacyError::Unsupported {
            accountant: NAME,
            event: event.to_string(),
            hint: "it supports Barker tests on at least 11 rows and unsampled Gaussian noise; use `pld` or `rdp`",
        })?);
    }
    let gaussian = plan.iter().all(|event| matches!(event.mechanism(), Mechanism::Gaussian { .. }));
    let plan = plan.to_vec();
    let total = move |order: f64| {
        let step =
            |event: &Event| Interval::exact(cumulant(event, order)) * Interval::exact(event.steps().get() as f64);
        plan.iter().fold(Interval::exact(0.0), |sum, event| sum + step(event)).hi
    };
    if gaussian {
        return Ok((Orders::Continuous, Box::new(total)));
    }
    let (orders, curve) = listed((2..=largest).map(|order| (order as f64, total(order as f64))).collect())?;
    Ok((orders, Box::new(curve)))
}

impl Accountant for Barker2019 {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: NAME,
            method: "Heikkilä et al. 2019 as printed, for Barker tests",
            use_for: "to compare with that paper, never better than rdp",
            published_only: true,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let (orders, curve) = curve(plan)?;
        answered(NAME, orders.epsilon(&curve, self.conversion, positive_delta(NAME, delta)?))
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let (orders, curve) = curve(plan)?;
        answered(NAME, orders.delta(&curve, self.conversion, epsilon))
    }

    fn two_sided(&self, _: &[Event]) -> bool {
        false
    }
}
