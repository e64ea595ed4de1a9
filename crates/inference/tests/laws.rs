//! Laws that every algorithm inherits, in every schedule and at every gate.

mod common;

use common::{methods, open_pvi, private_methods, rows, simulation, sites};
use inference::algorithm::{Answers, Folded, Protocol, PviState, Remembered};
use inference::message::{Ask, Delivery, Direct, Link, Loopback, Receipt};
use inference::settings::{Aggregator, Covariance, Method, Rates, Schedule, Scheme, Solver};
use inference::{Built, Client, Drive, Progress, Row, Rows, RunError, Seat, Simulation, Terms, Total, Workshop};
use privacy::record::Tape;
use privacy::{Gate, Grant, Outgoing, PrivacyError, Released};

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
        let other = Simulation { seed: 12, ..simulation.clone() };
        if method.promise.is_some() {
            assert!(one.0 != trace(&other, &built, &Direct).0, "{}: the seed does nothing", method.name);
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
        workshop: &Workshop,
    ) -> Result<Delivery, RunError> {
        let delivery = Direct.ask(client, protocol, ask, workshop)?;
        let lost = (ask.round + client.index() as u64).is_multiple_of(3);
        Ok(if lost { Delivery::Lost } else { delivery })
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

#[test]
fn the_total_is_the_sum_of_the_factors_after_damped_noisy_lost_and_repeated_messages() {
    let (sites, test) = (sites(), rows(30, 9));
    let own_factor = |m: &Method| m.scheme == Scheme::Pvi && m.promise.is_none_or(|p| p.aggregator == Aggregator::None);
    let mut seen = 0;
    for method in methods().iter().filter(|m| own_factor(m)) {
        let simulation = simulation(method, &sites, &test);
        let built = unlimited(&simulation);
        let mut drive = simulation.start(&built, &Lossy, None).unwrap();
        while drive.rounds() < 4 && drive.round().unwrap() == Progress::Moved {
            let state: PviState = postcard::from_bytes(drive.state()).unwrap();
            let factors = factors(&drive);
            match Total::sum(&factors) {
                Some(sum) => assert_eq!(sum, state.total, "{}", method.name),
                None => assert!(state.total.values().iter().all(|v| *v == 0.0), "{}", method.name),
            }
        }
        seen += usize::from(factors(&drive).len() == sites.len());
    }
    assert!(seen >= 6, "the law was tried on {seen} methods only");
}

#[test]
fn under_an_aggregator_no_client_remembers_anything_of_its_own() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in private_methods().iter().filter(|m| m.promise.unwrap().aggregator != Aggregator::None) {
        let simulation = simulation(method, &sites, &test);
        let built = simulation.build().unwrap();
        let mut drive = simulation.start(&built, &Direct, None).unwrap();
        drive.round().unwrap();
        drive.round().unwrap();
        assert!(factors(&drive).is_empty(), "{}", method.name);
        assert!(drive.clients().iter().all(|c| c.memory().is_empty()), "{}", method.name);
    }
}

#[test]
fn a_spent_budget_ends_the_rounds_and_nothing_moves_any_more() {
    let (sites, test) = (sites(), rows(30, 9));
    // A likelihood that was paid for answers for ever (tests/conjugate.rs).
    for method in private_methods().into_iter().filter(|m| m.solver != Solver::Likelihood) {
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

/// A link to clients whose gates refuse: it charges an event whose receipt is used up before the answer.
#[test]
fn a_shut_gate_ends_the_round_with_a_message_and_leaves_the_state_alone() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in private_methods() {
        let simulation = simulation(&method, &sites, &test);
        let mut built = simulation.build().unwrap();
        // Gates that were promised one release fewer than the solver makes, or another shape.
        let openings = built.openings.iter_mut().flatten().map(|opening| &mut opening.terms);
        for terms in built.terms.iter_mut().chain(openings) {
            let narrow = privacy::Shape::new(1, terms.shape.bound(), terms.shape.grain(), terms.shape.grid()).unwrap();
            terms.shape = narrow;
        }
        let mut drive = match simulation.start(&built, &Direct, None) {
            Ok(drive) => drive,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        let before = drive.state().to_vec();
        let error = drive.round().expect_err(&method.name);
        assert!(matches!(error, RunError::Privacy(_)), "{}: {error}", method.name);
        assert!(!error.to_string().is_empty());
        assert_eq!(drive.state(), before, "{}", method.name);
    }
}

/// Fails to fold the first answers that it is given.
struct FailsOnce<'a>(&'a dyn Protocol, std::sync::atomic::AtomicBool);

impl Protocol for FailsOnce<'_> {
    fn start(&self) -> Result<Vec<u8>, RunError> {
        self.0.start()
    }
    fn ask(&self, state: &[u8]) -> Result<Vec<u8>, RunError> {
        self.0.ask(state)
    }
    fn answer(
        &self,
        query: &[u8],
        memory: &[u8],
        seat: &Seat<'_>,
        gate: &mut dyn Gate,
    ) -> Result<(Outgoing, Vec<u8>), RunError> {
        self.0.answer(query, memory, seat, gate)
    }
    fn answer_from_memory(
        &self,
        query: &[u8],
        memory: &[u8],
        terms: &Terms,
    ) -> Result<Option<(Outgoing, Vec<u8>)>, RunError> {
        self.0.answer_from_memory(query, memory, terms)
    }
    fn fold(&self, state: &[u8], answers: &Answers) -> Result<Folded, RunError> {
        if self.1.swap(false, std::sync::atomic::Ordering::SeqCst) {
            return Err(RunError::Message { what: "the power went out" });
        }
        self.0.fold(state, answers)
    }
    fn settle(&self, draft: &[u8], applied: &[u8]) -> Result<Vec<u8>, RunError> {
        self.0.settle(draft, applied)
    }
    fn posterior(&self, state: &[u8]) -> Result<Vec<f64>, RunError> {
        self.0.posterior(state)
    }
}

/// What a client says to a question of so many coordinates: the error's text, or "ok".
fn reply_to(method: &Method, built: &inference::Built, client: &inference::Site, coordinates: usize) -> String {
    let standing = (vec![0.1; coordinates], vec![1.0; coordinates]);
    let query = postcard::to_allocvec(&standing).unwrap();
    let mut ledger = Client::new(0, &client.shard, built.terms[0].clone(), Grant::Unlimited).unwrap();
    let workshop = Workshop { seed: 1, run: [0; 16], summing: built.summing, tape: None };
    let ask = Ask { round: 0, attempt: 0, query };
    let reply = ledger.answer(built.protocol.as_ref(), &ask, &workshop);
    reply.map_or_else(|error| error.to_string(), |_| format!("{} ok", method.name))
}

#[test]
fn a_question_of_another_dimension_is_answered_alike_whatever_the_rows_hold() {
    let (sites, test) = (sites(), rows(30, 9));
    // One row without any one, beside rows that have some.
    let mut bare = Rows::new(5, 2).unwrap();
    bare.push(Row { numbers: &[0.0, 0.0], ones: &[], outcome: 0.0 }).unwrap();
    let bare = common::site("bare", bare);
    for method in private_methods().iter().filter(|m| m.scheme == Scheme::GlobalVi) {
        let built = unlimited(&simulation(method, &sites, &test));
        for coordinates in 0..=11 {
            let replies = [&sites[0], &sites[1], &bare].map(|site| reply_to(method, &built, site, coordinates));
            assert!(replies.iter().all(|r| *r == replies[0]), "{coordinates}: {replies:?}");
            assert_eq!(replies[0].ends_with("ok"), coordinates == 5, "{replies:?}");
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
    let mut method = private_methods().remove(0);
    method.local.learning_rate = 1e300;
    let error = simulation(&method, &sites, &test).run(&mut ()).unwrap_err();
    assert!(matches!(error, RunError::Privacy(PrivacyError::Diverged)), "{error}");
}

#[test]
fn a_round_that_failed_is_asked_again_with_other_noise() {
    let (sites, test) = (sites(), rows(30, 9));
    for method in private_methods() {
        let simulation = simulation(&method, &sites, &test);
        let mut built = unlimited(&simulation);
        let inner = std::mem::replace(&mut built.protocol, unlimited(&simulation).protocol);
        let failing = FailsOnce(inner.as_ref(), true.into());
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
    let solvers = [
        Solver::Clear,
        Solver::Average { parts: 1 },
        Solver::Average { parts: 7 },
        Solver::Virtual { parts: 7 },
        Solver::Analytic,
        Solver::Likelihood,
    ];
    for schedule in schedules {
        for solver in solvers {
            let method = Method {
                name: format!("{solver:?}, {schedule:?}"),
                solver,
                covariance: Covariance::Full,
                rounds: inference::settings::Rounds::Count(120),
                ..open_pvi(schedule)
            };
            common::reaches_the_exact_posterior(&method);
        }
    }
    let committee = Method {
        name: "committee, split prior".into(),
        scheme: Scheme::Committee(inference::settings::CommitteePrior::Split),
        covariance: Covariance::Full,
        ..open_pvi(Schedule::Synchronous)
    };
    common::reaches_the_exact_posterior(&committee);
}
