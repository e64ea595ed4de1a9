//! The law of partitioned VI at local gates: the server's total is the sum of the clients' factors, as
//! integers.
//!
//! It holds at all times, whatever was damped, noised, lost or told twice: a link that loses every third
//! answer and repeats every receipt is used to try it.

use super::{rows, simulation, sites, unlimited};
use crate::algorithm::{Protocol, PviState, Remembered};
use crate::message::{Ask, Delivery, Direct, Link, Receipt};
use crate::settings::Aggregator;
use crate::{Client, Drive, Method, Model, Progress, RunError, SimulationContext, Total};
use privacy::Released;
use std::sync::Arc;

/// Loses every third answer after it was charged, and every receipt arrives twice.
struct Lossy;

impl Link for Lossy {
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Delivery, RunError> {
        let delivery = Direct.ask(client, protocol, ask, workshop)?;
        Ok(if (ask.round + client.index() as u64).is_multiple_of(3) { Delivery::Lost } else { delivery })
    }

    fn settle(&self, client: &mut Client<'_>, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError> {
        Direct.settle(client, protocol, receipt)?;
        Direct.settle(client, protocol, receipt)
    }
}

/// The factors that clients remember.
fn factors(drive: &Drive<'_>) -> Vec<Total> {
    let factor = |client: &Client<'_>| {
        let memory: Option<Released<Remembered>> = postcard::from_bytes(client.memory()).ok()?;
        memory?.into_inner().factor
    };
    drive.clients().iter().filter_map(factor).collect()
}

/// Whether the method's clients have factors of their own.
pub fn has_own_factors(method: &Method) -> bool {
    method.algorithm.keeps_factors() && method.promise.is_none_or(|p| p.aggregator == Aggregator::None)
}

/// Whether the total is the sum of the factors, in a run whose clients have some.
pub fn total_is_the_sum_of_factors(drive: &Drive<'_>) -> bool {
    let state: PviState = postcard::from_bytes(drive.state()).unwrap();
    match Total::sum(&factors(drive)) {
        Some(sum) => sum == state.total,
        None => state.total.values().iter().all(|v| *v == 0.0),
    }
}

/// The total is the sum of the factors, after damped, noisy, lost and repeated messages. Says whether every client had one at the
/// end; methods without factors have nothing to hold.
///
/// # Panics
/// Where the law does not hold.
pub fn the_total_is_the_sum_of_the_factors(method: &Method, model: &Arc<dyn Model>) -> bool {
    if !has_own_factors(method) {
        return false;
    }
    let (sites, test) = (sites(), rows(30, 9));
    let simulation = simulation(method, model, &sites, &test);
    let built = unlimited(&simulation);
    let mut drive = simulation.start(&built, &Lossy, None).unwrap();
    while drive.rounds() < 4 && drive.round().unwrap() == Progress::Moved {
        assert!(total_is_the_sum_of_factors(&drive), "{}", method.name);
    }
    factors(&drive).len() == sites.len()
}
