//! The NaN-taint test: with noise that is not a number, no number that leaves a site is one; and what a gate did not make
//! does not leave.

use crate::common::redescribed::RedescribedSolver;
use crate::common::{adam, first_task, natural, private_methods, problem, rows, simulation, site, sites};
use inference::settings::{Local, Optimiser};
use inference::solve::{Descend, Kept, LocalSolve, Solved, Virtual};
use inference::{Built, ClientView, Method, Shard, Terms};
use privacy::{Batch, Bounded, Gate, Grid, Mechanism, OpenGate, Outgoing, PrivacyError, Released, Shape};

/// A number that only the tainted gate makes.
const MARK: f64 = 0.777_123;

/// A mark as a constant.
struct Mark(f64);

impl privacy::StudyConstant for Mark {}

/// Marks of one sign for the means and of the other for the spreads, so that precision grows.
fn marks(values: Vec<f64>, mark: &Mark) -> Vec<f64> {
    (0..values.len()).map(|i| if 2 * i < values.len() { mark.0 } else { -mark.0 }).collect()
}

/// Releases and sends marks, whatever goes in.
struct Tainted {
    shape: Shape,
    inner: Box<dyn Gate>,
    mark: f64,
}

impl Gate for Tainted {
    fn shape(&self) -> &Shape {
        &self.shape
    }
    fn batch(&mut self, rows: usize, into: &mut Batch) -> Result<(), PrivacyError> {
        self.inner.batch(rows, into)
    }
    fn release(&mut self, sum: &Bounded, into: &mut Released<Vec<f64>>) -> Result<(), PrivacyError> {
        self.inner.release(sum, into)?;
        *into = into.clone().map(&Mark(self.mark), marks);
        Ok(())
    }
    fn send(&mut self, sum: &Bounded) -> Result<Outgoing, PrivacyError> {
        let sent = Released::zeros(sum.shape().dimension()).map(&Mark(self.mark), marks);
        Outgoing::post_processed(&sent, Grid::new(20)?)
    }
}

/// A tainted gate on the same terms as a client's: open inside, since what it lets through is overwritten.
fn tainted(shape: Shape, mark: f64) -> Tainted {
    Tainted { shape, inner: Box::new(open_gate(shape)), mark }
}

fn open_gate(shape: Shape) -> OpenGate {
    let event = privacy::Event::new(
        Mechanism::Open,
        privacy::Adjacency::Substitute,
        privacy::Unit::Example,
        privacy::Sampling::None,
        privacy::Steps::new(100).unwrap(),
    )
    .unwrap();
    let mut journal = privacy::MemoryJournal::default();
    let mut ledger = privacy::Ledger::open(privacy::Grant::Unlimited, &mut journal).unwrap();
    let receipt = ledger.charge(&event, &mut journal).unwrap();
    let context = privacy::noise::NoiseContext::default();
    OpenGate::new(receipt, shape, &mut privacy::noise::Seeded::new(1), &context).unwrap()
}

/// True if every number that the solver lets out is NaN, or the gate's own mark.
fn all_tainted(solver: &dyn LocalSolve, shape: Shape, method: &Method) -> bool {
    let (sites, test) = (sites(), rows(2, 1));
    let built = simulation(method, &sites, &test).build().unwrap();
    let seat = ClientView { index: 0, shard: &sites[0].shard, terms: &built.terms[0] };
    let problem = problem();
    let none = Released::zeros(0).map(&(), |_, ()| Kept::Nothing);
    let mut gate = tainted(shape, f64::NAN);
    match solver.solve(&problem, &first_task(&problem), &none, &seat, &mut gate).unwrap() {
        Solved::Released { change, kept } => {
            let kept = serde_json::to_value(&kept).unwrap();
            change.get().iter().all(|v| v.is_nan()) && !holds_a_number(&kept)
        }
        Solved::Sum(_) => true, // it has not left
    }
}

/// Whether a JSON value holds a fraction: NaN is written as null, and step counts are whole.
fn holds_a_number(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Number(n) => n.as_f64().is_some_and(|f| f != f.trunc()),
        serde_json::Value::Array(items) => items.iter().any(holds_a_number),
        serde_json::Value::Object(fields) => fields.values().any(holds_a_number),
        _ => false,
    }
}

#[test]
fn dp_optimisation_lets_out_nothing_but_what_the_gate_released() {
    let method = private_methods().remove(0);
    let test = rows(2, 1);
    let shape = simulation(&method, &sites(), &test).build().unwrap().terms[0].shape;
    for optimiser in [Optimiser::Sgd, Optimiser::Adagrad, Optimiser::Adam] {
        let local = Local { optimiser, keep_state: true, ..adam(3) };
        assert!(all_tainted(&Descend { local }, shape, &method), "{optimiser:?}");
    }
}

/// What a client sends and drafts to remember in its first answer, at a gate that makes marks of everything; and what it
/// sends for free after that, if it does.
fn answer_of(built: &Built, shard: &Shard, terms: &Terms) -> (Vec<i64>, Vec<u8>, Option<Vec<i64>>) {
    let seat = ClientView { index: 0, shard, terms };
    let query = built.protocol.ask(&built.protocol.start().unwrap()).unwrap();
    let mut gate = tainted(terms.shape, MARK);
    let (outgoing, draft) = built.protocol.answer(&query, &[], &seat, &mut gate).unwrap();
    let units = |outgoing: Outgoing| outgoing.released().unwrap().get().units().to_vec();
    let free = built.protocol.answer_from_memory(&query, &draft, &seat).unwrap();
    (units(outgoing), draft, free.map(|(outgoing, _)| units(outgoing)))
}

#[test]
fn what_every_method_sends_and_remembers_is_a_function_of_what_its_gate_made() {
    let (sites, test) = (sites(), rows(2, 1));
    let alike = site("of as many rows", rows(sites[0].shard.len(), 77));
    for method in private_methods() {
        let built = simulation(&method, &sites, &test).build().unwrap();
        let opening = built.openings[0].as_ref().map(|opening| &opening.terms);
        let query = built.protocol.ask(&built.protocol.start().unwrap()).unwrap();
        let stage = built.protocol.stage(&query).unwrap();
        // The terms of one client for both: only the rows differ, where their number is not what is sent.
        for terms in opening.into_iter().chain([&built.terms[0]]) {
            if stage.is_some_and(|stage| stage != terms.stage) {
                continue;
            }
            let other = if method.name.ends_with("inputs") { &alike.shard } else { &sites[1].shard };
            let first = answer_of(&built, &sites[0].shard, terms);
            assert!(first.0.iter().any(|&u| u != 0), "{}: nothing was sent", method.name);
            assert!(first == answer_of(&built, other, terms), "{}: other rows, other answer", method.name);
            assert_eq!(first.2.is_some(), method.algorithm.releases(1).reused, "{}", method.name);
        }
    }
}

/// M19: one coordinate of the answer is computed from the rows, past the gate.
fn one_field_unnoised(inner: Descend) -> RedescribedSolver {
    RedescribedSolver::solving(inner, |inner, problem, task, kept, seat, gate| {
        match inner.solve(problem, task, kept, seat, gate)? {
            Solved::Released { change, kept } => {
                let mut values = change.into_inner();
                values[3] = seat.shard.len() as f64;
                // Read back as released: the forgery that an auditor looks for.
                let written: Vec<Option<f64>> = values.iter().map(|v| v.is_finite().then_some(*v)).collect();
                let forged: Released<Vec<Option<f64>>> =
                    serde_json::from_value(serde_json::to_value(written).unwrap()).unwrap();
                let change = forged.map(&(), |v, ()| v.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect());
                Ok(Solved::Released { change, kept })
            }
            sum => Ok(sum),
        }
    })
}

#[test]
fn mutant_m19_one_field_unnoised_is_caught() {
    let method = private_methods().remove(0);
    let test = rows(2, 1);
    let shape = simulation(&method, &sites(), &test).build().unwrap().terms[0].shape;
    assert!(!all_tainted(&one_field_unnoised(Descend { local: adam(3) }), shape, &method));
}

/// Part factors that are private leave with the reply: the parts' changes as they were before any noise.
fn part_factors_in_the_reply(inner: Virtual) -> RedescribedSolver {
    RedescribedSolver::solving(inner, |inner, problem, task, kept, seat, gate| {
        let Solved::Sum(parts) = inner.solve(problem, task, kept, seat, gate)? else {
            return Err(PrivacyError::Diverged);
        };
        let mut change = Released::zeros(0);
        open_gate(*gate.shape()).release(&parts, &mut change)?;
        Ok(Solved::Released { change, kept: kept.clone() })
    })
}

#[test]
fn mutant_part_factors_that_leave_with_the_reply_are_caught() {
    let method = private_methods().into_iter().find(|m| m.name == "virtual").unwrap();
    let (sites, test) = (sites(), rows(2, 1));
    let shape = simulation(&method, &sites, &test).build().unwrap().terms[0].shape;
    let parts = || Virtual { parts: 6, local: natural(2) };
    assert!(all_tainted(&parts(), shape, &method));
    assert!(!all_tainted(&part_factors_in_the_reply(parts()), shape, &method));
}
