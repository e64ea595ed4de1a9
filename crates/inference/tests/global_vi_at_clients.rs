//! Global VI with an optimiser at every client: the law of its state, its steps by hand, and where it loses.

use crate::common;
use crate::common::{Losing, adam, global_vi, global_vi_at_clients, rows, simulation, site};
use inference::algorithm::{GlobalViAtClientsSettings, GlobalViSettings, Protocol};
use inference::message::{Ask, Delivery, Direct, Link, Receipt};
use inference::settings::{Batching, Chart, Damping, Local, Optimiser, Rates, Rounds, Schedule};
use inference::{Client, Drive, Method, OptimiserState, Row, Rows, RunError, SimulationContext, Site, Total};
use privacy::{GridVector, Released};
use std::sync::Mutex;

const RATE: f64 = 0.05;

/// The workshop paper's settings, on all rows.
fn local() -> Local {
    let (optimiser, chart) = (Optimiser::Adagrad, Chart::LogVariance);
    Local { batch: Batching::All, optimiser, learning_rate: RATE, chart, ..adam(1) }
}

fn at_clients(rounds: u64, damping: Damping, schedule: Schedule) -> Method {
    let settings = global_vi_at_clients(local(), damping);
    let settings = GlobalViAtClientsSettings { rounds: Rounds::Count(rounds), ..settings };
    common::method("at clients", settings, schedule, None)
}

fn at_server(rounds: u64, schedule: Schedule) -> Method {
    let settings = GlobalViSettings { rounds: Rounds::Count(rounds), ..global_vi(local()) };
    common::method("at the server", settings, schedule, None)
}

/// Keeps the answers that are not lost.
struct Listening {
    heard: Mutex<Vec<(usize, GridVector)>>,
    loses: fn(u64, usize) -> bool,
}

impl Link for Listening {
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Delivery, RunError> {
        let lost = Losing(self.loses);
        let delivery = lost.ask(client, protocol, ask, workshop)?;
        if let Delivery::Clear(step, _) = &delivery {
            self.heard.lock().unwrap().push((client.index(), step.clone()));
        }
        Ok(delivery)
    }

    fn settle(&self, client: &mut Client<'_>, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError> {
        Direct.settle(client, protocol, receipt)
    }
}

fn squares(client: &Client<'_>) -> Vec<f64> {
    let memory: Option<Released<OptimiserState>> = postcard::from_bytes(client.memory()).unwrap();
    match memory.unwrap().into_inner() {
        OptimiserState::Adagrad { squares } => squares,
        other => panic!("{other:?}"),
    }
}

fn state(drive: &Drive<'_>) -> Total {
    postcard::from_bytes(drive.state()).unwrap()
}

#[test]
fn the_state_is_the_sum_of_the_steps_that_arrived() {
    let (sites, test) = ([site("small", rows(20, 1)), site("large", rows(90, 2))], rows(5, 9));
    for kept in [Damping::NONE, Damping::new(0.3).unwrap()] {
        let method = at_clients(6, kept, Schedule::Asynchronous(Rates::InverseRows));
        let simulation = simulation(&method, &sites, &test);
        let loses = |round: u64, client: usize| (round + client as u64).is_multiple_of(3);
        let (built, link) = (simulation.build().unwrap(), Listening { heard: Mutex::default(), loses });
        let mut drive = simulation.start(&built, &link, None).unwrap();
        let nothing = state(&drive);
        for _ in 0..6 {
            drive.round().unwrap();
        }
        let steps = std::mem::take(&mut *link.heard.lock().unwrap());
        assert!(steps.len() > 4 && steps.len() < 12, "{} arrived", steps.len());
        let sum = steps.iter().fold(nothing.clone(), |mut sum, (_, step)| {
            sum.add(&nothing.damped(step, kept).unwrap());
            sum
        });
        assert_eq!(state(&drive), sum);
    }
}

#[test]
fn the_first_step_is_as_long_whatever_the_rows_and_each_client_keeps_moments_of_its_own() {
    let (sites, test) = ([site("small", rows(20, 1)), site("large", rows(900, 2))], rows(5, 9));
    let method = at_clients(2, Damping::NONE, Schedule::Synchronous);
    let simulation = simulation(&method, &sites, &test);
    let (built, link) = (simulation.build().unwrap(), Listening { heard: Mutex::default(), loses: |_, _| false });
    let mut drive = simulation.start(&built, &link, None).unwrap();
    for _ in 0..2 {
        drive.round().unwrap();
    }
    let steps = std::mem::take(&mut *link.heard.lock().unwrap());
    // Adagrad's first step is the rate, in the direction of the gradient's sign; a level that no row has does not move.
    for client in [0, 1] {
        let (_, first) = steps.iter().find(|(from, _)| *from == client).unwrap();
        assert!(first.values().iter().filter(|v| **v == 0.0).count() <= 1);
        assert!(
            first.values().iter().all(|v| *v == 0.0 || (v.abs() - RATE).abs() < 1e-6),
            "{client}: {:?}",
            first.values()
        );
    }
    let (small, large) = (squares(&drive.clients()[0]), squares(&drive.clients()[1]));
    // Both stand for all 920 rows: mean gradients differ, not the numbers of rows in them.
    assert!(small != large);
    let ratio = small.iter().sum::<f64>() / large.iter().sum::<f64>();
    assert!((0.04..25.0).contains(&ratio), "{small:?} {large:?}");
}

/// Rows with one input and a bias, of which so many of a hundred are positive whatever the input.
fn leaning(count: usize, positive: usize, seed: u64) -> Rows {
    let mut all = Rows::new(5, 2).unwrap();
    let drawn = rows(count, seed);
    for i in 0..count {
        let row = drawn.row(i);
        let outcome = f64::from(i * 100 < positive * count);
        all.push(Row { numbers: row.numbers, ones: row.ones, outcome }).unwrap();
    }
    all
}

/// The flaw that Table 5 of the workshop paper shows, and that an optimiser at the server does not have: a step of each of five
/// small clients, of mostly positive rows, is as long as that of five large ones, of mostly negative rows.
#[test]
fn where_small_clients_are_unlike_the_large_ones_an_optimiser_at_every_client_loses() {
    let of = |name: &str, k: u64, count, positive| site(&format!("{name} {k}"), leaning(count, positive, k));
    let sites: Vec<Site> = (1..=5).flat_map(|k| [of("small", k, 20, 95), of("large", k + 5, 180, 10)]).collect();
    let test = leaning(400, 18, 99);
    let accuracy =
        |method: Method| *simulation(&method, &sites, &test).run(&mut ()).unwrap().scores.get("accuracy").unwrap();
    let server = accuracy(at_server(150, Schedule::Synchronous));
    let clients = accuracy(at_clients(150, Damping::NONE, Schedule::Synchronous));
    assert!(server > 0.75 && clients < server - 0.3, "{server} {clients}");
}
