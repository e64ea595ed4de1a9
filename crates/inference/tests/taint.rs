//! The NaN-taint test: with noise that is not a number, no number that leaves a site is one; and what a gate did not make
//! does not leave.

use crate::common::redescribed::RedescribedSolver;
use crate::common::{adam, first_task, model_of, natural, private_methods, problem, rows, simulation, sites};
use inference::settings::{Local, Optimiser};
use inference::solve::{Descend, Kept, LocalSolve, Solved, Virtual};
use inference::testing::{open_gate, sends_what_its_gate_made, tainted};
use inference::{ClientView, Method};
use privacy::{Gate, PrivacyError, Released, Shape};

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

#[test]
fn what_every_method_sends_and_remembers_is_a_function_of_what_its_gate_made() {
    private_methods().iter().for_each(|method| sends_what_its_gate_made(method, &model_of(method)));
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
