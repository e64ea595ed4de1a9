//! The moments accountant as the DP-PVI workshop paper used it: few integer orders and the older conversion.
//!
//! The moments accountant of 2016 is Rényi accounting at integer orders up to 33 with an older conversion. Published numbers can be
//! reproduced with it.

use super::rdp::{Conversion, Orders, answered, gaussian::concentration, poisson, positive_delta};
use super::{AboutAccountant, Accountant, Bounds, Interval, check_one_relation};
use crate::{Adjacency, Delta, Epsilon, Event, Mechanism, Order, PrivacyError, Sampling};

/// λ ≤ 32: moments of the privacy loss up to this one, that is Rényi orders λ + 1.
const LARGEST_MOMENT: u32 = 32;

/// Log moments at λ = 1 … 32 (Abadi et al. 2016, Theorem 2), with the exact binomial sum for the moments.
///
/// α_M(λ) = λ·D_{λ+1} adds up over steps, and δ = min_λ e^{α_M(λ) − λε}, which is Mironov's conversion at order λ + 1.
/// Kept for comparison with published numbers: `rdp` is never worse.
///
/// Supports Gaussian noise without sampling and with Poisson batches under add-remove; discrete Gaussian noise.
/// Does not support: any other mechanism or sampling; substitution with sampling; δ = 0.
///
/// # Examples
///
/// ```
/// use privacy::accounting::moments::Moments;
/// use privacy::{Accountant, Adjacency, Delta, Event, NoiseMultiplier, Steps};
///
/// let plan = [Event::gaussian(NoiseMultiplier::new(8.0)?, Adjacency::Substitute, Steps::new(10)?)];
/// assert!(Moments.epsilon(&plan, Delta::new(1e-5)?)?.upper > 1.7);
/// # Ok::<(), privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moments;

/// Upper bound of (α−1)·D_α of one step, at integer order.
fn cumulant(event: &Event, order: u64) -> Result<f64, PrivacyError> {
    if let Some(rho) = concentration(event) {
        return Ok((Interval::exact(rho) * Interval::exact(order as f64) * Interval::exact((order - 1) as f64)).hi);
    }
    match (event.mechanism(), event.sampling(), event.adjacency()) {
        (Mechanism::Gaussian { noise_multiplier: z }, Sampling::Poisson { rate }, Adjacency::AddRemove) => {
            Ok(poisson::cumulant(rate.get(), z.get(), order))
        }
        _ => Err(PrivacyError::Unsupported {
            accountant: "moments",
            event: event.to_string(),
            hint: "it supports Gaussian noise, unsampled or with Poisson batches under add-remove; use `rdp` or `pld`",
        }),
    }
}

/// The plan's log moments: (α, upper bound of (α−1)·D_α), α = 2 … 33.
fn log_moments(plan: &[Event]) -> Result<Vec<(f64, f64)>, PrivacyError> {
    check_one_relation(plan)?;
    let mut table = Vec::new();
    for lambda in 1..=LARGEST_MOMENT {
        let order = u64::from(lambda) + 1;
        let mut sum = Interval::exact(0.0);
        for event in plan {
            sum = sum + Interval::exact(cumulant(event, order)?) * Interval::exact(event.steps().get() as f64);
        }
        table.push((order as f64, sum.hi));
    }
    Ok(table)
}

/// Those orders, and the table as a function of them.
pub(super) fn listed(table: Vec<(f64, f64)>) -> Result<(Orders, impl Fn(f64) -> f64), PrivacyError> {
    let orders = table.iter().map(|&(order, _)| Order::new(order)).collect::<Result<_, _>>()?;
    let curve = move |x: f64| table.iter().find(|&&(order, _)| order == x).map_or(f64::INFINITY, |&(_, k)| k);
    Ok((Orders::Listed(orders), curve))
}

impl Accountant for Moments {
    fn about(&self) -> AboutAccountant {
        AboutAccountant {
            name: "moments",
            method: "moments at integer orders up to 32",
            use_for: "to compare with papers of 2016 to 2019",
            published_only: true,
        }
    }

    fn epsilon(&self, plan: &[Event], delta: Delta) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let (orders, curve) = listed(log_moments(plan)?)?;
        answered("moments", orders.epsilon(&curve, Conversion::Mironov2017, positive_delta("moments", delta)?))
    }

    fn delta(&self, plan: &[Event], epsilon: Epsilon) -> Result<Bounds, PrivacyError> {
        if plan.is_empty() {
            return Ok(Bounds::ZERO);
        }
        let (orders, curve) = listed(log_moments(plan)?)?;
        answered("moments", orders.delta(&curve, Conversion::Mironov2017, epsilon))
    }

    fn two_sided(&self, _: &[Event]) -> bool {
        false
    }
}
