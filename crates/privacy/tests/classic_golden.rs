//! Golden values for the classic accountants: calibration, Rényi divergence, composition, randomised response.

use privacy::accounting::rdp::without_replacement::{FixedBatch, Theorem};
use privacy::accounting::rdp::{Conversion, Rdp, renyi_divergence};
use privacy::{
    Accountant, Adjacency, Delta, Event, Mechanism, NoiseMultiplier, Order, Sampling, SamplingRate, Steps, Unit,
};
use serde_json::Value;

/// All cases whose id begins with the family's name.
fn family(name: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(include_str!("vectors/accounting.json")).unwrap();
    let of_family = |case: &&Value| case["id"].as_str().unwrap().split('-').next() == Some(name);
    let cases: Vec<Value> = all["cases"].as_array().unwrap().iter().filter(of_family).cloned().collect();
    assert!(!cases.is_empty(), "no cases of {name}");
    cases
}

fn number(case: &Value, field: &str) -> f64 {
    match &case[field] {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap_or_else(|| panic!("{} has no {field}", case["id"])),
    }
}

/// An upper bound that is not above the value by more than a relative tolerance, nor below it by more.
#[track_caller]
fn assert_close(case: &Value, found: f64, expected: f64, relative: f64) {
    assert!((found - expected).abs() <= relative * expected.abs(), "{}: {found} against {expected}", case["id"]);
}

fn poisson(case: &Value, steps: u64) -> Event {
    Event::new(
        Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(number(case, "sigma")).unwrap() },
        Adjacency::AddRemove,
        Unit::Example,
        Sampling::Poisson { rate: SamplingRate::new(number(case, "q")).unwrap() },
        Steps::new(steps).unwrap(),
    )
    .unwrap()
}

/// 1.1, 1.2, … 10.9, then 11 to 63, then 128, 256, 512, 1024.
fn listed_orders() -> Vec<Order> {
    let fine = (11..=109).map(|k| f64::from(k) / 10.0);
    let whole = (11..64).chain([128, 256, 512, 1024]).map(f64::from);
    fine.chain(whole).map(|x| Order::new(x).unwrap()).collect()
}

#[test]
fn renyi_divergence_of_poisson_sampling_at_integer_and_real_orders() {
    for case in family("rdp") {
        let order = Order::new(number(&case, "order")).unwrap();
        assert_close(&case, renyi_divergence(&poisson(&case, 1), order).unwrap(), number(&case, "rdp"), 1e-9);
    }
}

#[test]
fn renyi_divergence_of_fixed_batches_by_both_theorems() {
    for case in family("worrdp") {
        let q = SamplingRate::new(number(&case, "q")).unwrap();
        let batch = FixedBatch::new(q, NoiseMultiplier::new(number(&case, "sigma")).unwrap());
        let order = number(&case, "order") as u64;
        let nine = batch.divergence(order, Theorem::Nine);
        let better = batch.divergence(order, Theorem::TwentySeven);
        assert_close(&case, nine, number(&case, "wang2019_theorem9"), 1e-9);
        assert_close(&case, better, number(&case, "wang2019_theorem27_ternary_tightened"), 1e-9);
        let event = Event::new(
            Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(number(&case, "sigma")).unwrap() },
            Adjacency::Substitute,
            Unit::Example,
            Sampling::without_replacement_at(q).unwrap(),
            Steps::ONE,
        )
        .unwrap();
        let by_event = renyi_divergence(&event, Order::new(order as f64).unwrap()).unwrap();
        assert_close(&case, by_event, nine.min(better), 1e-12);
    }
}

#[test]
fn epsilon_by_both_conversions_and_at_the_best_order() {
    for case in family("rdpeps") {
        let plan = [poisson(&case, number(&case, "T") as u64)];
        let delta = Delta::new(number(&case, "delta")).unwrap();
        let epsilon = |rdp: Rdp| rdp.epsilon(&plan, delta).unwrap().upper;
        for (conversion, field, order) in [
            (Conversion::Mironov2017, "epsilon_mironov2017", "order_mironov"),
            (Conversion::Canonne2020, "epsilon_canonne2020", "order_canonne"),
        ] {
            let (found, expected) = (epsilon(Rdp::with_orders(listed_orders(), conversion)), number(&case, field));
            // At fractional orders the peer's series is too large (rdp-09 to rdp-12); the exact value is below it.
            let exact_peer = number(&case, order).fract() == 0.0;
            assert_close(&case, found, expected, if exact_peer { 1e-8 } else { 3e-4 });
            assert!(found <= expected * (1.0 + 1e-9));
        }
        let best = epsilon(Rdp::default());
        assert_close(&case, best, number(&case, "epsilon_canonne_continuous_order"), 1e-8);
    }
}
