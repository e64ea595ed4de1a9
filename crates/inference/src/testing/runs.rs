//! Laws of whole runs: repeatable, the same over a wire, never without a charge, ended by the budget.

use super::{
    Altered, Reply, Shutting, built, has_own_factors, rows, simulation, sites, total_is_the_sum_of_factors, unlimited,
};
use crate::algorithm::{Answers, Protocol};
use crate::message::{Direct, Link, Loopback};
use crate::settings::Schedule;
use crate::{Built, ClientView, Drive, Method, Model, Progress, RunError, Simulation};
use privacy::record::Tape;
use privacy::{Gate, GridVector, PrivacyError, Steps};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a run leaves: state, memories, messages and bytes.
type Trace = (Vec<u8>, Vec<Vec<u8>>, u64, u64);

/// Four rounds at most, over this link.
fn trace(simulation: &Simulation<'_>, built: &Built, link: &dyn Link) -> Trace {
    let mut drive = simulation.start(built, link, None).unwrap();
    while drive.rounds() < 4 && drive.round().unwrap() == Progress::Moved {}
    assert!(drive.rounds() > 0, "{}: no round", simulation.method.name);
    let memories = drive.clients().iter().map(|c| c.memory().to_vec()).collect();
    (drive.state().to_vec(), memories, drive.messages(), drive.bytes())
}

/// Runs with a pool of so many threads.
fn on_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

/// Same seed, same bits, on one thread and on two; and another seed makes other noise.
///
/// # Panics
/// Where the law does not hold.
pub fn same_seed_same_bits(method: &Method, model: &Arc<dyn Model>) {
    let (sites, test) = (sites(), rows(30, 9));
    let simulation = simulation(method, model, &sites, &test);
    let built = unlimited(&simulation);
    let one = on_threads(1, || trace(&simulation, &built, &Direct));
    let two = on_threads(2, || trace(&simulation, &built, &Direct));
    assert!(one == two, "{}: two threads, other bits", method.name);
    // The same few proposals of a chain may be accepted under the noise of two seeds, but not under that of all.
    let mut others = (12..20).map(|seed| Simulation { seed, ..simulation.clone() });
    if method.promise.is_some() {
        let moved = others.any(|other| one.0 != trace(&other, &built, &Direct).0);
        assert!(moved, "{}: the seed does nothing", method.name);
    }
}

/// In process and over the serialised loopback, state, memories, messages and bytes are the same.
///
/// # Panics
/// Where the law does not hold.
pub fn same_bits_over_the_loopback(method: &Method, model: &Arc<dyn Model>) {
    let (sites, test) = (sites(), rows(30, 9));
    let simulation = simulation(method, model, &sites, &test);
    let built = unlimited(&simulation);
    assert!(trace(&simulation, &built, &Direct) == trace(&simulation, &built, &Loopback), "{}", method.name);
}

/// A spent budget ends the run: nothing moves any more, and every ledger holds what was planned and no more. Methods whose first
/// release answers all later questions go on for ever, and have nothing to hold.
///
/// # Panics
/// Where the law does not hold.
pub fn stops_when_the_budget_is_spent(method: &Method, model: &Arc<dyn Model>) {
    let Some(promise) = method.promise.filter(|_| !method.algorithm.releases(1).reused) else { return };
    let (sites, test) = (sites(), rows(30, 9));
    let simulation = simulation(method, model, &sites, &test);
    let built = built(&simulation);
    let mut drive = simulation.start(&built, &Direct, None).unwrap();
    let most = 100.max(10 * method.most_rounds());
    while drive.round().unwrap() == Progress::Moved {
        assert!(drive.rounds() < most, "{}: the budget never ends", method.name);
    }
    let state = drive.state().to_vec();
    assert_eq!(drive.round().unwrap(), Progress::Spent, "{}", method.name);
    assert_eq!(drive.state(), state, "{}", method.name);
    for (client, plan) in drive.clients().iter().zip(&built.plan.clients) {
        assert!(plan.certified <= promise.epsilon.get(), "{}: more than was promised", method.name);
        assert_eq!(client.ledger().events().len() as u64, plan.charges(), "{}", method.name);
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

/// Terms that cover one release too few end the round before the charge, with a message and a consistent state. False where an
/// answer has one release only, and there are no such terms.
///
/// # Panics
/// Where the law does not hold.
pub fn is_refused_a_release_short(method: &Method, model: &Arc<dyn Model>) -> bool {
    let (sites, test) = (sites(), rows(30, 9));
    let simulation = simulation(method, model, &sites, &test);
    let mut built = unlimited(&simulation);
    // The last client's receipts would cover all releases of an answer but one.
    let (last, releases) = (sites.len() - 1, built.terms[0].event.steps().get());
    let Ok(short) = Steps::new(releases - 1) else { return false };
    built.terms[last].event = built.terms[last].event.repeated(short);
    let mut drive = simulation.start(&built, &Direct, None).unwrap();
    let (error, before, rounds) = until_refused(&mut drive);
    assert!(error.to_string().contains(&format!("in {} agreed releases", releases - 1)), "{error}");
    is_consistent(&drive, &built, method, &before, rounds);
    let charges = drive.clients()[last].ledger().events().len() as u64;
    let opened = built.openings[last].iter().map(|opening| opening.answers).sum::<u64>();
    assert_eq!(charges, opened, "{}: charged", method.name);
    true
}

/// A gate that shuts before the last release ends the round; what was charged stays charged, and the next round goes on.
///
/// # Panics
/// Where the law does not hold.
pub fn goes_on_after_a_gate_that_shut(method: &Method, model: &Arc<dyn Model>) {
    let (sites, test) = (sites(), rows(30, 9));
    let simulation = simulation(method, model, &sites, &test);
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
    is_consistent(&drive, &built, method, &before, rounds);
    let charges = drive.clients()[1].ledger().events().len();
    assert_eq!(charges, 1, "{}: what was charged stays charged", method.name);
    assert_eq!(drive.round().unwrap(), Progress::Moved, "{}", method.name);
    assert!(!has_own_factors(method) || total_is_the_sum_of_factors(&drive), "{}", method.name);
}

/// An answer fits if it has the shape that is folded, and does not if it has one number more.
///
/// # Panics
/// Where the law does not hold.
pub fn an_answer_fits_if_it_has_the_shape_that_is_folded(method: &Method, model: &Arc<dyn Model>) {
    let (sites, test) = (sites(), rows(30, 9));
    let simulation = simulation(method, model, &sites, &test);
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
        let folded = inner.fold(state, answers)?;
        if let Answers::Each(each) = answers {
            assert_eq!(folded.applied.len(), each.len(), "{}: an answer without a receipt", method.name);
        }
        Ok(folded)
    };
    let protocol = Altered::folding(built.protocol.as_ref(), &checked);
    let mut drive = simulation.start_with(&protocol, &built, &Direct, None).unwrap();
    while drive.rounds() < 3 && drive.round().unwrap() == Progress::Moved {}
}

/// A round that failed is asked again with other noise.
///
/// # Panics
/// Where the law does not hold.
pub fn retries_with_other_noise(method: &Method, model: &Arc<dyn Model>) {
    let (sites, test) = (sites(), rows(30, 9));
    let simulation = simulation(method, model, &sites, &test);
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
