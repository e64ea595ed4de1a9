//! Rényi orders at which sums of Skellam shares are accounted: integers, where the theorem holds.

use privacy::accounting::rdp::{Conversion, Rdp};
use privacy::{Accountant, Delta, Event, Order, PrivacyError};
use std::sync::LazyLock;

/// The largest order that is looked at, and up to which all integers are.
const LARGEST: f64 = 16_384.0;
const ALL_UP_TO: u32 = 64;

/// Every small integer, then integers an eighth apart.
fn orders() -> impl Iterator<Item = f64> {
    let far = std::iter::successors(Some(f64::from(ALL_UP_TO)), |order| Some((order * 1.125).ceil()));
    (2..ALL_UP_TO).map(f64::from).chain(far.take_while(|order| *order <= LARGEST))
}

/// Divergences of these orders.
static RENYI: LazyLock<Rdp> = LazyLock::new(|| {
    let orders = orders().filter_map(|order| Order::new(order).ok()).collect();
    Rdp::with_orders(orders, Conversion::default())
});

/// The accountant of Skellam shares: the best of these orders.
pub(super) fn renyi() -> &'static dyn Accountant {
    &*RENYI
}

/// The order at which a plan costs least.
pub(super) fn best_order(plan: &[Event], delta: Delta) -> Result<Order, PrivacyError> {
    let mut best = (f64::INFINITY, Order::new(2.0)?);
    for order in orders() {
        let order = Order::new(order)?;
        let cost = Rdp::with_orders(vec![order], Conversion::default()).epsilon(plan, delta)?.upper;
        if cost < best.0 {
            best = (cost, order);
        }
    }
    Ok(best.1)
}
