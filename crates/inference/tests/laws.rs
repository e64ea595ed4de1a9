//! Laws that every algorithm inherits, in every schedule and at every gate.

use crate::common;
use crate::common::altered::{Altered, Reply, Shutting};
use crate::common::redescribed::RedescribedSolver;
use crate::common::{
    Losing, PARTS, algorithm_of, committee, damping, full_pvi, method, methods, natural, private_methods, promise, pvi,
    rows, simulation, site, sites, whole_step,
};
use inference::algorithm::{
    Answers, CommitteePrior, CommitteeSettings, InterceptState, Protocol, PviSettings, PviState, Remembered,
};
use inference::message::{Ask, Delivery, Direct, Link, Loopback, Receipt};
use inference::settings::{
    Aggregator, Covariance, Damping, Local, NoiseReading, Rates, Readout, Repair, Rounds, Schedule,
};
use inference::solve::{Analytic, Average, Clear, Descend, Likelihood, Perturb, Virtual};
use inference::{
    Built, Client, ClientView, Drive, Expectation, Logistic, Method, Progress, RunError, Simulation, SimulationContext,
    Total,
};
use privacy::record::{NoiseCall, Tape};
use privacy::{Gate, Grant, Grid, GridVector, PrivacyError, Released, Steps};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// State, memories, messages and bytes after all rounds.
fn trace(simulation: &Simulation<'_>, built: &Built, link: &dyn Link) -> (Vec<u8>, Vec<Vec<u8>>, u64, u64) {
    let mut drive = simulation.start(built, link, None).unwrap();
    while drive.rounds() < 4 && drive.round().unwrap() == Progress::Moved {}
    assert!(drive.rounds() > 0, "{}", simulation.method.name);
    let memories = drive.clients().iter().map(|c| c.memory().to_vec()).collect();
    (drive.state().to_vec(), memories, drive.messages(), drive.bytes())
}

/// The method's parts, with ledgers that take any number of charges: opening one costs more than a round.
fn unlimited(simulation: &Simulation<'_>) -> Built {
    let mut built = simulation.build().unwrap();
    built.grants.fill(Grant::Unlimited);
    built
}

fn on_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

#[test]
fn same_seed_same_bits_on_one_thread_and_on_two() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in methods() {
        let simulation = simulation(&method, &sites, &test);
        let built = unlimited(&simulation);
        let one = on_threads(1, || trace(&simulation, &built, &Direct));
        let two = on_threads(2, || trace(&simulation, &built, &Direct));
        assert!(one == two, "{}", method.name);
        // The same few proposals of a chain may be accepted under the noise of two seeds, but not under that of all.
        let mut others = (12..20).map(|seed| Simulation { seed, ..simulation.clone() });
        if method.promise.is_some() {
            let moved = others.any(|other| one.0 != trace(&other, &built, &Direct).0);
            assert!(moved, "{}: the seed does nothing", method.name);
        }
    }
}

#[test]
fn same_bits_in_process_and_over_the_serialised_loopback() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in methods() {
        let simulation = simulation(&method, &sites, &test);
        let built = unlimited(&simulation);
        assert!(trace(&simulation, &built, &Direct) == trace(&simulation, &built, &Loopback), "{}", method.name);
    }
}

/// Loses every third answer after it was charged, and every fifth receipt arrives twice.
struct Lossy;

impl Link for Lossy {
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Delivery, RunError> {
        Losing(|round, client| (round + client as u64).is_multiple_of(3)).ask(client, protocol, ask, workshop)
    }

    fn settle(&self, client: &mut Client<'_>, protocol: &dyn Protocol, receipt: &Receipt) -> Result<(), RunError> {
        Direct.settle(client, protocol, receipt)?;
        Direct.settle(client, protocol, receipt)
    }
}

fn factors(drive: &Drive<'_>) -> Vec<Total> {
    let factor = |client: &Client<'_>| {
        let memory: Option<Released<Remembered>> = postcard::from_bytes(client.memory()).ok()?;
        memory?.into_inner().factor
    };
    drive.clients().iter().filter_map(factor).collect()
}

/// Whether the method's clients have factors of their own.
fn has_own_factors(method: &Method) -> bool {
    algorithm_of(method) == "pvi" && method.promise.is_none_or(|p| p.aggregator == Aggregator::None)
}

/// The law of PVI at local gates: the total is the sum of the factors, as integers.
fn total_is_the_sum_of_factors(drive: &Drive<'_>) -> bool {
    let state: PviState = postcard::from_bytes(drive.state()).unwrap();
    match Total::sum(&factors(drive)) {
        Some(sum) => sum == state.total,
        None => state.total.values().iter().all(|v| *v == 0.0),
    }
}

#[test]
fn the_total_is_the_sum_of_the_factors_after_damped_noisy_lost_and_repeated_messages() {
    let (sites, test) = (sites(), rows(30, 9));
    let mut seen = 0;
    for method in methods().iter().filter(|m| has_own_factors(m)) {
        let simulation = simulation(method, &sites, &test);
        let built = unlimited(&simulation);
        let mut drive = simulation.start(&built, &Lossy, None).unwrap();
        while drive.rounds() < 4 && drive.round().unwrap() == Progress::Moved {
            assert!(total_is_the_sum_of_factors(&drive), "{}", method.name);
        }
        seen += usize::from(factors(&drive).len() == sites.len());
    }
    assert!(seen >= 6, "the law was tried on {seen} methods only");
}

/// Gives every client a receipt for its answer, as if the answer had been folded by itself.
struct Settling;

impl Link for Settling {
    fn ask(
        &self,
        client: &mut Client<'_>,
        protocol: &dyn Protocol,
        ask: &Ask,
        workshop: &SimulationContext,
    ) -> Result<Delivery, RunError> {
        let delivery = Direct.ask(client, protocol, ask, workshop)?;
        let applied = Total::zeros(client.terms().shape.dimension(), Grid::new(24)?);
        Direct.settle(client, protocol, &Receipt::of(&applied)?)?;
        Ok(delivery)
    }

    fn settle(&self, _: &mut Client<'_>, _: &dyn Protocol, _: &Receipt) -> Result<(), RunError> {
        Err(RunError::Message { what: "only sums were opened, and a client got a receipt" })
    }
}

/// What was opened: the sum and its noise.
fn opened(call: &NoiseCall, grid: Grid) -> GridVector {
    let mut units = call.input.clone();
    call.noise.iter().for_each(|noise| units.iter_mut().zip(noise).for_each(|(u, n)| *u += n));
    serde_json::from_value(serde_json::json!({ "grid": grid, "units": units })).unwrap()
}

#[test]
fn under_an_aggregator_no_client_has_a_factor_and_the_posterior_is_made_of_opened_sums() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in private_methods().iter().filter(|m| m.promise.unwrap().aggregator != Aggregator::None) {
        let simulation = simulation(method, &sites, &test);
        let built = unlimited(&simulation);
        let tape = Tape::record();
        let mut drive = simulation.start(&built, &Settling, Some(&tape)).unwrap();
        let first: Option<PviState> =
            (algorithm_of(method) == "pvi").then(|| postcard::from_bytes(drive.state()).unwrap());
        drive.round().unwrap();
        drive.round().unwrap();
        for client in drive.clients() {
            let nothing = match algorithm_of(method) {
                "pvi" => postcard::to_allocvec(&Some(Remembered::default())).unwrap(),
                "noise-aware" => postcard::to_allocvec(&None::<InterceptState>).unwrap(),
                _ => Vec::new(),
            };
            assert_eq!(client.memory(), nothing, "{}: something is remembered", method.name);
        }
        let Some(first) = first else { continue };
        let share = if method.name.starts_with("average") { 1.0 / f64::from(PARTS) } else { 1.0 };
        let kept = Damping::new(damping().get() * share).unwrap();
        let mut total = first.total.clone();
        for call in tape.calls() {
            total.add(&first.total.damped(&opened(&call, built.terms[0].shape.grid()), kept).unwrap());
        }
        let last: PviState = postcard::from_bytes(drive.state()).unwrap();
        assert!(total != first.total && total == last.total, "{}: not the opened sums", method.name);
        let prior = &built.problem.prior.0;
        let raw: Vec<f64> = prior.iter().zip(total.values()).map(|(p, t)| p + t).collect();
        let served = built.problem.family.repair(&raw, prior, Repair::Project);
        assert_eq!(drive.posterior().unwrap(), served, "{}", method.name);
    }
}

#[test]
fn a_spent_budget_ends_the_rounds_and_nothing_moves_any_more() {
    let (sites, test) = (sites(), rows(30, 9));
    // A likelihood that was paid for answers for ever (tests/conjugate.rs).
    for method in private_methods().into_iter().filter(|m| !m.algorithm.releases(1).reused) {
        let simulation = simulation(&method, &sites, &test);
        let built = simulation.build().unwrap();
        let mut drive = simulation.start(&built, &Direct, None).unwrap();
        let mut rounds = 0;
        while drive.round().unwrap() == Progress::Moved {
            rounds += 1;
            assert!(rounds < 100, "{}: the budget never ends", method.name);
        }
        let state = drive.state().to_vec();
        assert_eq!(drive.round().unwrap(), Progress::Spent, "{}", method.name);
        assert_eq!(drive.state(), state, "{}", method.name);
        for (client, plan) in drive.clients().iter().zip(&built.plan.clients) {
            assert!(plan.certified <= 2.0, "{}", method.name);
            assert_eq!(client.ledger().events().len() as u64, plan.charges(), "{}", method.name);
        }
    }
}

/// Rounds until one ends with an error, and the state and the rounds before that one.
fn until_refused(drive: &mut Drive<'_>) -> (RunError, Vec<u8>, u64) {
    for _ in 0..10 {
        let before = (drive.state().to_vec(), drive.rounds());
        if let Err(error) = drive.round() {
            return (error, before.0, before.1);
        }
    }
    panic!("no gate refused");
}

/// What holds after a round that failed: it is not counted, the served q is proper, a synchronous round left no trace,
/// and elsewhere what was folded before the failure is what clients remember.
fn is_consistent(drive: &Drive<'_>, built: &Built, method: &Method, before: &[u8], rounds: u64) {
    let name = &method.name;
    assert_eq!(drive.rounds(), rounds, "{name}");
    assert!(built.problem.family.gaussian(&drive.posterior().unwrap()).is_some(), "{name}");
    assert!(method.schedule != Schedule::Synchronous || drive.state() == before, "{name}");
    assert!(!has_own_factors(method) || total_is_the_sum_of_factors(drive), "{name}");
}

#[test]
fn terms_one_release_short_end_the_round_before_the_charge_with_a_message_and_a_consistent_state() {
    let (sites, test) = (sites(), rows(30, 9));
    let mut tried = 0;
    for method in private_methods() {
        let simulation = simulation(&method, &sites, &test);
        let mut built = unlimited(&simulation);
        // The last client's receipts would cover all releases of an answer but one.
        let (last, releases) = (sites.len() - 1, built.terms[0].event.steps().get());
        let Ok(short) = Steps::new(releases - 1) else { continue };
        built.terms[last].event = built.terms[last].event.repeated(short);
        let mut drive = simulation.start(&built, &Direct, None).unwrap();
        let (error, before, rounds) = until_refused(&mut drive);
        assert!(error.to_string().contains(&format!("in {} agreed releases", releases - 1)), "{error}");
        is_consistent(&drive, &built, &method, &before, rounds);
        let charges = drive.clients()[last].ledger().events().len() as u64;
        let opened = built.openings[last].as_ref().map_or(0, |opening| opening.answers);
        assert_eq!(charges, opened, "{}: charged", method.name);
        tried += 1;
    }
    assert!(tried >= 5, "{tried} methods only");
}

#[test]
fn a_gate_that_shuts_before_the_last_release_ends_the_round_and_the_next_one_goes_on() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in private_methods() {
        let simulation = simulation(&method, &sites, &test);
        let built = unlimited(&simulation);
        let open = AtomicBool::new(false);
        let shut_once =
            |inner: &dyn Protocol, query: &[u8], memory: &[u8], seat: &ClientView<'_>, gate: &mut dyn Gate| -> Reply {
                if seat.index != 1 || open.swap(true, Ordering::SeqCst) {
                    return inner.answer(query, memory, seat, gate);
                }
                let left = seat.terms.event.steps().get() - 1;
                inner.answer(query, memory, seat, &mut Shutting { inner: gate, left })
            };
        let protocol = Altered::answering(built.protocol.as_ref(), &shut_once);
        let mut drive = simulation.start_with(&protocol, &built, &Direct, None).unwrap();
        let (error, before, rounds) = until_refused(&mut drive);
        assert_eq!(error, PrivacyError::ReceiptSpent { covered: 0 }.into(), "{}", method.name);
        is_consistent(&drive, &built, &method, &before, rounds);
        let charges = drive.clients()[1].ledger().events().len();
        assert_eq!(charges, 1, "{}: what was charged stays charged", method.name);
        assert_eq!(drive.round().unwrap(), Progress::Moved, "{}", method.name);
        assert!(!has_own_factors(&method) || total_is_the_sum_of_factors(&drive), "{}", method.name);
    }
}

/// The noise of the first round.
fn noise_of(simulation: &Simulation<'_>) -> Vec<i64> {
    let built = unlimited(simulation);
    let tape = Tape::record();
    simulation.start(&built, &Direct, Some(&tape)).unwrap().round().unwrap();
    tape.calls().into_iter().flat_map(|call| call.noise).flatten().collect()
}

#[test]
fn runs_that_differ_in_anything_share_no_noise() {
    let (sites, test) = (sites(), rows(30, 9));
    let renamed: Vec<_> = [40, 25, 60].iter().zip(1..).map(|(&n, seed)| site("renamed", rows(n, seed))).collect();
    let perturb = |local| pvi(Perturb { local });
    let readout = Readout { repair: Repair::Project, average: 2, noise: NoiseReading::Plain };
    let of = |settings| method("perturb", settings, Schedule::Sequential, promise(2.0, Aggregator::None));
    let method = of(perturb(natural(2)));
    // Of one name, and of noise of one size: only the key can tell them apart.
    let edits = [
        PviSettings { damping: Damping::new(0.4).unwrap(), ..perturb(natural(2)) },
        perturb(Local { learning_rate: 0.6, ..natural(2) }),
        PviSettings { readout, ..perturb(natural(2)) },
        perturb(natural(3)),
    ]
    .map(of);
    let base = simulation(&method, &sites, &test);
    let draws = Logistic { expectation: Expectation::MonteCarlo { draws: 3 }, ..Logistic::default() };
    let others = [
        Simulation { seed: 12, ..base.clone() },
        Simulation { data: [1; 32], ..base.clone() },
        Simulation { prior_precision: 2.0, ..base.clone() },
        Simulation { model: Arc::new(draws), ..base.clone() },
        Simulation { sites: &renamed, ..base.clone() },
    ];
    let edited = edits.iter().map(|method| Simulation { method, ..base.clone() });
    let all: Vec<Vec<i64>> = std::iter::once(base.clone()).chain(others).chain(edited).map(|s| noise_of(&s)).collect();
    assert_eq!(all[0], noise_of(&base), "one run is repeatable");
    for (i, a) in all.iter().enumerate() {
        for (k, b) in all.iter().enumerate().skip(i + 1) {
            assert!(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a != b), "runs {i} and {k} share noise");
        }
    }
}

#[test]
fn epsilon_of_a_curve_is_the_largest_of_the_ledgers() {
    let (sites, test) = (sites(), rows(30, 9));
    let came = |m: &&Method| m.schedule == Schedule::Asynchronous(Rates::InverseRows);
    for method in private_methods().iter().filter(came) {
        let record = simulation(method, &sites, &test).run(&mut ()).unwrap();
        let most = record.spending.iter().map(|c| c.certified).fold(0.0, f64::max);
        assert_eq!(record.curve.last().unwrap().epsilon, Some(most), "{}", method.name);
    }
}

#[test]
fn a_descent_that_diverges_is_an_error_of_its_own() {
    let (sites, test) = (sites(), rows(30, 9));
    let local = Local { learning_rate: 1e300, ..common::adam(5) };
    let settings = pvi(Descend { local });
    let method = method("diverging", settings, Schedule::Sequential, promise(1.0, Aggregator::None));
    let error = simulation(&method, &sites, &test).run(&mut ()).unwrap_err();
    assert!(matches!(error, RunError::Privacy(PrivacyError::Diverged)), "{error}");
}

#[test]
fn an_answer_fits_if_and_only_if_it_has_the_shape_that_is_folded() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in methods() {
        let simulation = simulation(&method, &sites, &test);
        let built = unlimited(&simulation);
        let checked = |inner: &dyn Protocol, state: &[u8], answers: &Answers| {
            if let Answers::Each(each) = answers {
                for (client, answer) in each {
                    let fits = |answer: &GridVector| inner.fits(state, *client, answer).unwrap();
                    let longer = [answer.units(), &[1]].concat();
                    assert!(fits(answer), "{}", method.name);
                    assert!(!fits(&GridVector::new(answer.grid(), longer)), "{}: one number more", method.name);
                }
            }
            inner.fold(state, answers)
        };
        let protocol = Altered::folding(built.protocol.as_ref(), &checked);
        let mut drive = simulation.start_with(&protocol, &built, &Direct, None).unwrap();
        while drive.rounds() < 3 && drive.round().unwrap() == Progress::Moved {}
    }
}

#[test]
fn a_round_that_failed_is_asked_again_with_other_noise() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in private_methods() {
        let simulation = simulation(&method, &sites, &test);
        let built = unlimited(&simulation);
        let failed = AtomicBool::new(false);
        let fails_once = |inner: &dyn Protocol, state: &[u8], answers: &Answers| {
            if !failed.swap(true, Ordering::SeqCst) {
                return Err(RunError::Message { what: "the power went out" });
            }
            inner.fold(state, answers)
        };
        let failing = Altered::folding(built.protocol.as_ref(), &fails_once);
        let tape = Tape::record();
        let mut drive = simulation.start_with(&failing, &built, &Direct, Some(&tape)).unwrap();
        assert!(drive.round().is_err(), "{}", method.name);
        assert_eq!(drive.round().unwrap(), Progress::Moved, "{}", method.name);
        let noise: Vec<Vec<i64>> = tape.calls().into_iter().flat_map(|c| c.noise).collect();
        let fresh = noise.iter().enumerate().all(|(i, a)| noise[i + 1..].iter().all(|b| a != b));
        assert!(noise.len() > 1 && fresh, "{}", method.name);
    }
}

#[test]
fn with_an_open_gate_every_schedule_reaches_the_exact_posterior_of_conjugate_regression() {
    let schedules = [Schedule::Sequential, Schedule::Synchronous, Schedule::Asynchronous(Rates::InverseRows)];
    let clear = || Clear { local: whole_step() };
    for schedule in schedules {
        let solvers = [
            full_pvi(clear()),
            full_pvi(RedescribedSolver::without_privacy(Average { parts: 1, local: whole_step() })),
            full_pvi(RedescribedSolver::without_privacy(Average { parts: 7, local: whole_step() })),
            full_pvi(RedescribedSolver::without_privacy(Virtual { parts: 7, local: whole_step() })),
            full_pvi(RedescribedSolver::without_privacy(Analytic)),
            full_pvi(RedescribedSolver::without_privacy(Likelihood)),
        ];
        for settings in solvers {
            let name = format!("{}, {schedule:?}", settings.solver.describe());
            let settings = PviSettings { rounds: Rounds::Count(120), ..settings };
            common::reaches_the_exact_posterior(&method(&name, settings, schedule, None));
        }
    }
    let split = CommitteeSettings { covariance: Covariance::Full, ..committee(CommitteePrior::Split, clear()) };
    common::reaches_the_exact_posterior(&method("committee, split prior", split, Schedule::Synchronous, None));
}
